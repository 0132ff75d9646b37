/* Stamped requests: their receives differ from those that the program has asked for. Some got messages that a probe
 * had taken out: the MPI received them from this process, and the status gets the true source and tag. Some have a
 * buffer of their own (short_recv.h). Some are persistent, and another receive replaces them. The calls on single
 * requests. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/reserve.h"
#include "mpi/message/made.h"
#include "mpi/message/requests.h"
#include "mpi/message/unexpected_own.h"
#include "mpi/real/errors.h"
#include "mpi/real/lent.h"
#include "mpi/real/quiet.h"
#include "mpi/real/self.h"
#include "mpi/request/request.h"
#include "progress/engine.h"

static int (*just_MPI_Wait)(MPI_Request *, MPI_Status *);
static int (*just_MPI_Test)(MPI_Request *, int *, MPI_Status *);
static int (*just_MPI_Request_get_status)(MPI_Request, int *, MPI_Status *);
static int (*just_MPI_Request_free)(MPI_Request *);
static int (*just_MPI_Cancel)(MPI_Request *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_stamped *stamped_all;
static struct tutti_stamped anchor; /* stays in the table: uthash frees and allocates an empty one */
atomic_int tutti_stamped_open;
atomic_int tutti_stamped_persistent;

struct tutti_stamped *tutti_stamped_find(MPI_Request request)
{
    struct tutti_stamped *stamped;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, stamped_all, &request, sizeof request, stamped);
    pthread_mutex_unlock(&lock);
    return stamped;
}

void tutti_stamped_back(struct tutti_stamped *stamped)
{
    if (!stamped->taken)
        return;
    stamped->taken = 0;
    pthread_mutex_lock(&lock);
    if (!stamped_all) {
        anchor.request = tutti_handles.no_request;
        HASH_ADD(hh, stamped_all, request, sizeof anchor.request, &anchor);
    }
    HASH_ADD(hh, stamped_all, request, sizeof stamped->request, stamped);
    pthread_mutex_unlock(&lock);
}

void tutti_stamped_add(struct tutti_stamped *stamped)
{
    stamped->taken = 1;
    tutti_stamped_back(stamped);
    atomic_fetch_add(stamped->persistent ? &tutti_stamped_persistent : &tutti_stamped_open, 1);
}

static void stamped_destroy(struct tutti_stamped *stamped)
{
    if (!stamped->taken) {
        pthread_mutex_lock(&lock);
        HASH_DEL(stamped_all, stamped);
        pthread_mutex_unlock(&lock);
    }
    if (stamped->persistent)
        tutti_type_release(stamped->type);
    free(stamped);
}

/* ---- receives with buffers of their own ---- */

/* A message that is too long for one of them may be an RTS, and the program may be in a call that needs the next
 * message of the same sender: in a wait for both, for example. So they count among the receives that waits look at. */
static void short_begin(struct tutti_stamped *stamped)
{
    stamped->short_open = stamped->short_recv && tutti_door_alone();
    if (stamped->short_open)
        tutti_receives_open();
}

static void short_end(struct tutti_stamped *stamped)
{
    if (stamped->short_open)
        tutti_receives_close();
    stamped->short_open = 0;
}

/* No other thread is in a call of the MPI where such a receive is open: the table stays as it is. */
void tutti_stamped_look(void)
{
    if (tutti_stamped_none() || !tutti_door_alone())
        return;
    TUTTI_INSIDE();
    for (struct tutti_stamped *stamped = stamped_all; stamped; stamped = stamped->hh.next) {
        MPI_Status status;
        int flag = 0;
        if (stamped->short_open && tutti_look(stamped->request, &flag, &status) == MPI_SUCCESS && flag &&
            !tutti_short_recv_move(stamped->short_recv, &status))
            tutti_short_recv_drop(stamped->short_recv, &status);
    }
}

int tutti_unexpected_stamp(MPI_Request request, struct tutti_unexpected *unexpected,
                           struct tutti_short_recv *short_recv)
{
    static struct tutti_reserve reserve; /* the MPI has begun to receive */
    struct tutti_stamped *stamped = tutti_reserve_take(&reserve, sizeof *stamped);
    if (!stamped) {
        tutti_error("out of memory: a message is lost");
        if (unexpected)
            tutti_unexpected_orphan(unexpected);
        return tutti_fail_comm(tutti_handles.world, MPI_ERR_NO_MEM);
    }
    stamped->request = request;
    stamped->unexpected = unexpected;
    stamped->short_recv = short_recv;
    tutti_stamped_add(stamped);
    short_begin(stamped);
    return MPI_SUCCESS;
}

struct tutti_stamped *tutti_stamped_see(MPI_Request request)
{
    struct tutti_stamped *stamped = request == tutti_handles.no_request ? NULL : tutti_stamped_find(request);
    return stamped && stamped->persistent && stamped->instead == tutti_handles.no_request ? NULL : stamped;
}

struct tutti_stamped *tutti_stamped_take(MPI_Request request)
{
    struct tutti_stamped *stamped = tutti_stamped_see(request);
    if (!stamped || stamped->persistent)
        return stamped;
    pthread_mutex_lock(&lock);
    HASH_DEL(stamped_all, stamped);
    pthread_mutex_unlock(&lock);
    stamped->taken = 1;
    return stamped;
}

int tutti_stamped_end(struct tutti_stamped *stamped, MPI_Status *status, int code)
{
    struct tutti_short_recv *const short_recv = stamped->short_recv;
    short_end(stamped);
    if (stamped->unexpected)
        code = tutti_unexpected_end(stamped->unexpected, status, code);
    stamped->unexpected = NULL;
    stamped->short_recv = NULL;
    stamped->instead = tutti_handles.no_request;
    atomic_fetch_sub(&tutti_stamped_open, 1);
    if (!stamped->persistent)
        stamped_destroy(stamped);
    return short_recv ? tutti_short_recv_end(short_recv, status, code) : code;
}

/* ---- one request ---- */

/* A receive that replaces a persistent one. Its error is raised on its communicator, as that of the persistent one
 * would be. */
static int is_replacement(const struct tutti_stamped *stamped)
{
    return unlikely(tutti_waits_raise_elsewhere()) && stamped->persistent && !stamped->unexpected &&
           stamped->comm != tutti_handles.no_comm;
}

static int stamped_test(const struct tutti_stamped *stamped, MPI_Request *real, int *flag, MPI_Status *status)
{
    return is_replacement(stamped) ? tutti_test_on(stamped->comm, real, flag, status)
                                   : just_MPI_Test(real, flag, status);
}

struct replacement_wait {
    const struct tutti_stamped *stamped;
    MPI_Request *real;
    MPI_Status *status;
    int code;
};

static int replacement_is_done(void *with)
{
    struct replacement_wait *const wait = with;
    int flag = 0;
    wait->code = stamped_test(wait->stamped, wait->real, &flag, wait->status);
    return flag || wait->code != MPI_SUCCESS;
}

static int stamped_wait(const struct tutti_stamped *stamped, MPI_Request *real, MPI_Status *status)
{
    struct replacement_wait wait = {stamped, real, status, MPI_SUCCESS};
    if (likely(!is_replacement(stamped)))
        return just_MPI_Wait(real, status);
    tutti_progress_wait(&(const struct tutti_wait){.done = replacement_is_done, .with = &wait});
    return wait.code;
}

static __attribute__((noinline)) int stamped_one_wait(MPI_Request *request, MPI_Status *status)
{
    struct tutti_stamped *stamped = tutti_stamped_none() || !request ? NULL : tutti_stamped_take(*request);
    if (likely(!stamped))
        return just_MPI_Wait(request, status);
    MPI_Request real = tutti_stamped_real(stamped, *request);
    MPI_Status own = {0}, *where = status == MPI_STATUS_IGNORE ? &own : status;
    const int code = stamped_wait(stamped, &real, where);
    if (!stamped->persistent)
        *request = real;
    return tutti_stamped_end(stamped, where, code);
}

static int stamped_MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    return tutti_stamped_none() ? just_MPI_Wait(request, status) : stamped_one_wait(request, status);
}

static __attribute__((noinline)) int stamped_one_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct tutti_stamped *stamped = tutti_stamped_none() || !request ? NULL : tutti_stamped_take(*request);
    if (likely(!stamped))
        return just_MPI_Test(request, flag, status);
    MPI_Request real = tutti_stamped_real(stamped, *request);
    MPI_Status own = {0}, *where = status == MPI_STATUS_IGNORE ? &own : status;
    const int code = stamped_test(stamped, &real, flag, where);
    if (code == MPI_SUCCESS && !*flag) {
        tutti_stamped_back(stamped);
        return code;
    }
    if (!stamped->persistent)
        *request = real;
    return tutti_stamped_end(stamped, where, code);
}

static int stamped_MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    return tutti_stamped_none() ? just_MPI_Test(request, flag, status) : stamped_one_test(request, flag, status);
}

static int stamped_MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    const struct tutti_stamped *stamped = tutti_stamped_none() ? NULL : tutti_stamped_see(request);
    MPI_Status own = {0}, *where = stamped && status == MPI_STATUS_IGNORE ? &own : status;
    const int code = just_MPI_Request_get_status(tutti_stamped_real(stamped, request), flag, where);
    if (!stamped || code != MPI_SUCCESS || !*flag)
        return code;
    if (stamped->unexpected)
        tutti_unexpected_show(stamped->unexpected, where);
    if (stamped->short_recv) /* a message that does not fit is an error of the call that completes it */
        tutti_short_recv_move(stamped->short_recv, where);
    return code;
}

/* Its memory waits for the message. */
static int stamped_short_free(struct tutti_stamped *stamped, MPI_Request *request)
{
    struct tutti_request *const entry = tutti_short_recv_freed(stamped->short_recv, *request);
    if (!entry)
        return tutti_fail_comm(stamped->short_recv->comm, MPI_ERR_NO_MEM);
    short_end(stamped);
    atomic_fetch_sub(&tutti_stamped_open, 1);
    if (stamped->unexpected)
        tutti_unexpected_orphan(stamped->unexpected);
    stamped_destroy(stamped);
    tutti_request_orphan(entry);
    *request = tutti_handles.no_request;
    return MPI_SUCCESS;
}

static int stamped_MPI_Request_free(MPI_Request *request)
{
    if (unlikely(tutti_made_open) && request)
        tutti_made_freed(*request);
    const int any =
        !tutti_stamped_none() || unlikely(atomic_load_explicit(&tutti_stamped_persistent, memory_order_relaxed) != 0);
    struct tutti_stamped *stamped =
        likely(!any) || !request || *request == tutti_handles.no_request ? NULL : tutti_stamped_find(*request);
    if (stamped && stamped->short_recv)
        return stamped_short_free(stamped, request);
    if (stamped) { /* another request may get the handle once it is free */
        if (!stamped->persistent || stamped->instead != tutti_handles.no_request)
            atomic_fetch_sub(&tutti_stamped_open, 1);
        if (stamped->unexpected)
            tutti_unexpected_orphan(stamped->unexpected);
        if (stamped->persistent && stamped->instead != tutti_handles.no_request)
            just_MPI_Request_free(&stamped->instead);
        if (stamped->persistent)
            atomic_fetch_sub(&tutti_stamped_persistent, 1);
        stamped_destroy(stamped);
    }
    return just_MPI_Request_free(request);
}

/* A message that has arrived is received, also after a cancel. */
static int stamped_MPI_Cancel(MPI_Request *request)
{
    const struct tutti_stamped *stamped = tutti_stamped_none() || !request ? NULL : tutti_stamped_see(*request);
    if (!stamped)
        return just_MPI_Cancel(request);
    MPI_Request real = tutti_stamped_real(stamped, *request);
    return stamped->unexpected ? MPI_SUCCESS : just_MPI_Cancel(&real);
}

/* ---- life ---- */

/* 1 if an error may be raised on it. */
static int leave_all(MPI_Comm comm, MPI_Comm instead)
{
    int named = 0;
    pthread_mutex_lock(&lock);
    for (struct tutti_stamped *stamped = stamped_all; stamped; stamped = stamped->hh.next) {
        if (stamped == &anchor)
            continue;
        if (stamped->persistent && stamped->comm == comm)
            stamped->comm = tutti_handles.no_comm;
        if (!stamped->short_recv || stamped->short_recv->comm != comm)
            continue;
        named = 1;
        stamped->short_recv->comm = instead;
    }
    pthread_mutex_unlock(&lock);
    return named;
}

void tutti_stamped_leave(MPI_Comm comm)
{
    if (unlikely(tutti_made_open))
        tutti_made_leave(comm);
    if (tutti_stamped_none() && likely(atomic_load_explicit(&tutti_stamped_persistent, memory_order_relaxed) == 0))
        return;
    if (leave_all(comm, comm))
        leave_all(comm, tutti_self_stand_in(comm));
}

void tutti_calls_stamped(void)
{
    HOLD(MPI_Wait)
    HOLD(MPI_Test)
    HOLD(MPI_Request_get_status)
    HOLD(MPI_Request_free)
    HOLD(MPI_Cancel)
}

void tutti_stamped_close(void)
{
    tutti_made_end(NULL);
    while (stamped_all) {
        struct tutti_stamped *stamped = stamped_all;
        if (stamped == &anchor)
            HASH_DEL(stamped_all, stamped);
        else {
            short_end(stamped);
            stamped_destroy(stamped);
        }
    }
    atomic_store(&tutti_stamped_open, 0);
    atomic_store(&tutti_stamped_persistent, 0);
}
