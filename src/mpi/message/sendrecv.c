/* MPI_Isendrecv and its replacing form: one request for two calls of Tutti. */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/reserve.h"
#include "mpi/bounce/stage.h"
#include "mpi/message/requests.h"
#include "mpi/message/rndv.h"
#include "mpi/message/start.h"
#include "mpi/message/unexpected.h"
#include "mpi/real/errors.h"
#include "mpi/real/self.h"
#include "mpi/request/request.h"
#include "progress/engine.h"

int tutti_lacks_sendrecv;

struct pair {
    struct pair *next;
    MPI_Request receive, send, request; /* request: the program's */
    MPI_Status status;                  /* of the receive */
    void *memory;
    int tag, code, done, freed, given_up;
};

static void pair_poll(void);
static struct tutti_step step = {.name = "pairs of requests", .poll = pair_poll};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pair *all;

static int pair_test(MPI_Request *request, MPI_Status *status, int *code)
{
    int flag = 1;
    if (*request == tutti_handles.no_request)
        return 1;
    int one = tutti_door_MPI_Test(request, &flag, status);
    if (one != MPI_SUCCESS)
        *code = one;
    return flag || one != MPI_SUCCESS;
}

static void pair_destroy(struct pair *pair)
{
    if (pair->given_up)
        tutti_self_end(0, &pair->request);
    tutti_self_release(pair->tag);
    free(pair->memory);
    free(pair);
}

static void pair_poll(void)
{
    if (pthread_mutex_trylock(&lock) != 0) /* also from within its own tests */
        return;
    int depth = tutti_inside;
    tutti_inside = 0; /* the parts are calls of Tutti */
    for (struct pair **at = &all; *at;) {
        struct pair *pair = *at;
        int received = pair_test(&pair->receive, &pair->status, &pair->code);
        int sent = pair_test(&pair->send, MPI_STATUS_IGNORE, &pair->code);
        if (!received || !sent) {
            at = &pair->next;
            continue;
        }
        *at = pair->next;
        pair->done = 1;
        tutti_self_complete(pair->tag); /* before the list is empty: see self.h */
        tutti_step_close(&step);
        if (pair->freed)
            pair_destroy(pair);
    }
    tutti_inside = depth;
    pthread_mutex_unlock(&lock);
}

/* ---- the kind ---- */

struct sendrecv {
    struct pair *pair;
};

static struct pair *pair_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct sendrecv, entry)->pair;
}

static int pair_cancel(struct tutti_request *entry, MPI_Request *request)
{
    struct pair *pair = pair_of(entry);
    int code = MPI_SUCCESS;
    (void)request;
    pthread_mutex_lock(&lock);
    if (!pair->done && pair->receive != tutti_handles.no_request)
        code = tutti_door_MPI_Cancel(&pair->receive);
    pthread_mutex_unlock(&lock);
    return code;
}

static int pair_deliver(struct tutti_request *entry, MPI_Status *status)
{
    *status = pair_of(entry)->status;
    return pair_of(entry)->code; /* its error handler has been called */
}

static void pair_release(struct pair *pair)
{
    pthread_mutex_lock(&lock);
    int done = pair->done;
    pair->freed = 1;
    pthread_mutex_unlock(&lock);
    if (done)
        pair_destroy(pair);
}

static void pair_close(struct tutti_request *entry)
{
    pair_release(pair_of(entry));
}

static int sendrecv_free_request(struct tutti_request *entry, MPI_Request *request)
{
    *request = tutti_handles.no_request;
    pair_of(entry)->given_up = 1;
    pair_release(pair_of(entry));
    return MPI_SUCCESS;
}

static const struct tutti_request_kind kind = {.name = "send and receive",
                                               .stays = 1,
                                               .cancel = pair_cancel,
                                               .free = sendrecv_free_request,
                                               .deliver = pair_deliver,
                                               .close = pair_close};

/* One request for two calls of Tutti that are under way. Takes over `memory`, which is freed at the end. */
static int new_pair(MPI_Comm comm, MPI_Request receive, MPI_Request send, void *memory, MPI_Request *request)
{
    static struct tutti_reserve reserve; /* both calls have started */
    struct pair *pair = tutti_reserve_take(&reserve, sizeof *pair);
    struct tutti_request *entry = tutti_request_new(&kind, tutti_handles.no_request, comm);
    if (!pair || !entry || tutti_self_request(0, &pair->request, &pair->tag) != 0) {
        free(pair); /* the two calls continue by themselves, over memory that must be kept */
        if (entry)
            tutti_request_give(entry);
        tutti_error("out of memory: a nonblocking call has no request");
        return tutti_fail_comm(comm, MPI_ERR_NO_MEM);
    }
    pair->receive = receive;
    pair->send = send;
    pair->memory = memory;
    pair->code = MPI_SUCCESS;
    *request = entry->handle = pair->request;
    TUTTI_REQUEST_OF(struct sendrecv, entry)->pair = pair;
    int code = tutti_request_put(entry);
    pthread_mutex_lock(&lock);
    pair->next = all;
    all = pair;
    pthread_mutex_unlock(&lock);
    tutti_progress_add(&step);
    tutti_step_open(&step);
    return code;
}

/* A packed copy of the sent elements, since the buffer is received into; as many elements of *given. NULL if it
 * cannot be made. */
static void *copy_of(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Datatype *given)
{
    struct tutti_layout *layout = tutti_layout_of(type);
    struct tutti_stage stage;
    uint64_t bytes;
    if (!layout || __builtin_mul_overflow((uint64_t)count, (uint64_t)layout->size, &bytes) ||
        (!layout->plan && layout->size > INT_MAX) || tutti_layout_packed(layout, type, given) != 0 ||
        tutti_stage_open(&stage, buffer, count, type, TUTTI_STAGE_IN) != TUTTI_OK)
        return NULL;
    TUTTI_INSIDE();
    char *packed = malloc(bytes ? bytes : 1);
    int fine = packed != NULL;
    if (fine && layout->plan)
        tutti_plan_pack_host(layout->plan, (uint64_t)count, stage.host, 0, bytes, packed);
    for (MPI_Count e = 0; fine && !layout->plan && e < count; e++) {
        int position = 0;
        fine = tutti_next.MPI_Pack((const char *)stage.host + e * layout->extent, 1, type, packed + e * layout->size,
                                   (int)layout->size, &position, tutti_handles.self) == MPI_SUCCESS;
    }
    tutti_stage_close(&stage);
    if (!fine)
        free(packed);
    return fine ? packed : NULL;
}

#define WIDTHS_OF "mpi/message/sendrecv.inc"
#include "mpi/real/widths.inc"
