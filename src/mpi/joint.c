#include "mpi/joint.h"

#include <limits.h>
#include <stdlib.h>

#include "core/log.h"
#include "mpi/own.h"
#include "mpi/requests.h"

struct tutti_joint {
    struct tutti_joint *next;
    MPI_Request receive, send, request; /* request: the program's */
    MPI_Status status;                  /* of the receive */
    void *memory;
    int tag, code, done, freed, given_up;
};

atomic_int tutti_joints_open;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_joint *all;

int tutti_joint_new(MPI_Comm comm, MPI_Request receive, MPI_Request send, void *memory, MPI_Request *request)
{
    struct tutti_joint *joint = calloc(1, sizeof *joint);
    if (!joint || tutti_own_request(0, &joint->request, &joint->tag) != 0) {
        free(joint); /* the two calls go on by themselves, over memory that must stay */
        tutti_error("out of memory: a nonblocking call has no request");
        return tutti_fail_comm(comm, MPI_ERR_NO_MEM);
    }
    joint->receive = receive;
    joint->send = send;
    joint->memory = memory;
    joint->code = MPI_SUCCESS;
    *request = joint->request;
    int code = tutti_pending_put(joint->request, comm, &(struct tutti_pending){.joint = joint});
    pthread_mutex_lock(&lock);
    joint->next = all;
    all = joint;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add_explicit(&tutti_joints_open, 1, memory_order_relaxed);
    return code;
}

static int test(MPI_Request *request, MPI_Status *status, int *code)
{
    int flag = 1;
    if (*request == tutti_handles.no_request)
        return 1;
    int one = tutti_door_MPI_Test(request, &flag, status);
    if (one != MPI_SUCCESS)
        *code = one;
    return flag || one != MPI_SUCCESS;
}

static void destroy(struct tutti_joint *joint)
{
    if (joint->given_up)
        tutti_own_end(0, &joint->request);
    tutti_own_release(joint->tag);
    free(joint->memory);
    free(joint);
}

void tutti_joints_poll(void)
{
    if (pthread_mutex_trylock(&lock) != 0) /* also from within its own tests */
        return;
    int depth = tutti_inside;
    tutti_inside = 0; /* the parts are calls of Tutti */
    for (struct tutti_joint **at = &all; *at;) {
        struct tutti_joint *joint = *at;
        int received = test(&joint->receive, &joint->status, &joint->code);
        int sent = test(&joint->send, MPI_STATUS_IGNORE, &joint->code);
        if (!received || !sent) {
            at = &joint->next;
            continue;
        }
        *at = joint->next;
        joint->done = 1;
        atomic_fetch_sub_explicit(&tutti_joints_open, 1, memory_order_relaxed);
        tutti_own_complete(joint->tag);
        if (joint->freed)
            destroy(joint);
    }
    tutti_inside = depth;
    pthread_mutex_unlock(&lock);
}

int tutti_joint_deliver(const struct tutti_joint *joint, MPI_Status *status)
{
    *status = joint->status;
    return joint->code; /* its error handler has been called */
}

void tutti_joint_drop(struct tutti_joint *joint)
{
    pthread_mutex_lock(&lock);
    int done = joint->done;
    joint->freed = 1;
    pthread_mutex_unlock(&lock);
    if (done)
        destroy(joint);
}

int tutti_joint_free(struct tutti_joint *joint, MPI_Request *request)
{
    *request = tutti_handles.no_request;
    joint->given_up = 1;
    tutti_joint_drop(joint);
    return MPI_SUCCESS;
}

int tutti_joint_cancel(struct tutti_joint *joint)
{
    int code = MPI_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!joint->done && joint->receive != tutti_handles.no_request)
        code = tutti_real.MPI_Cancel(&joint->receive);
    pthread_mutex_unlock(&lock);
    return code;
}

/* A packed copy of what is sent, since the buffer is received into; as many elements of *given. NULL where it cannot be
 * made. */
static void *copy_of(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Datatype *given)
{
    struct tutti_layout *layout = tutti_layout_of(type);
    struct tutti_span span;
    uint64_t bytes;
    if (!layout || __builtin_mul_overflow((uint64_t)count, (uint64_t)layout->size, &bytes) ||
        (!layout->plan && layout->size > INT_MAX) || tutti_layout_packed(layout, given) != 0 ||
        tutti_span_open(&span, buffer, count, type, TUTTI_SPAN_IN) != TUTTI_OK)
        return NULL;
    TUTTI_INSIDE();
    char *packed = malloc(bytes ? bytes : 1);
    int fine = packed != NULL;
    if (fine && layout->plan)
        tutti_plan_pack_host(layout->plan, (uint64_t)count, span.host, 0, bytes, packed);
    for (MPI_Count e = 0; fine && !layout->plan && e < count; e++) {
        int position = 0;
        fine = tutti_real.MPI_Pack((const char *)span.host + e * layout->extent, 1, type, packed + e * layout->size,
                                   (int)layout->size, &position, tutti_handles.self) == MPI_SUCCESS;
    }
    tutti_span_close(&span);
    if (!fine)
        free(packed);
    return fine ? packed : NULL;
}

#define WIDTHS_OF "mpi/joint.inc"
#include "mpi/widths.inc"
