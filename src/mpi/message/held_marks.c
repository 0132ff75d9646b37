/* Marked requests: their receives differ from those that the program has asked for. Some got messages that a probe
 * had taken out: the MPI received them from this process, and the status gets the true source and tag. Some have a
 * landing. Some are persistent, and another receive replaces them. The calls on single requests. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/reserve.h"
#include "mpi/message/held_own.h"
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
static struct tutti_mark *marks;
static struct tutti_mark anchor; /* stays in the table: uthash frees and allocates an empty one */
atomic_int tutti_marks_open;
static atomic_int persistent_marks;

struct tutti_mark *tutti_mark_find(MPI_Request request)
{
    struct tutti_mark *mark;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, marks, &request, sizeof request, mark);
    pthread_mutex_unlock(&lock);
    return mark;
}

void tutti_mark_back(struct tutti_mark *mark)
{
    if (!mark->taken)
        return;
    mark->taken = 0;
    pthread_mutex_lock(&lock);
    if (!marks) {
        anchor.request = tutti_handles.no_request;
        HASH_ADD(hh, marks, request, sizeof anchor.request, &anchor);
    }
    HASH_ADD(hh, marks, request, sizeof mark->request, mark);
    pthread_mutex_unlock(&lock);
}

void tutti_mark_add(struct tutti_mark *mark)
{
    mark->taken = 1;
    tutti_mark_back(mark);
    atomic_fetch_add(mark->persistent ? &persistent_marks : &tutti_marks_open, 1);
}

static void destroy(struct tutti_mark *mark)
{
    if (!mark->taken) {
        pthread_mutex_lock(&lock);
        HASH_DEL(marks, mark);
        pthread_mutex_unlock(&lock);
    }
    if (mark->persistent)
        tutti_type_let_go(mark->type);
    free(mark);
}

int tutti_held_stamp(MPI_Request request, struct tutti_held *held, struct tutti_landing *landing)
{
    static struct tutti_reserve reserve; /* the MPI has begun to receive */
    struct tutti_mark *mark = tutti_reserve_take(&reserve, sizeof *mark);
    if (!mark) {
        tutti_error("out of memory: a message is lost");
        if (held)
            tutti_held_orphan(held);
        return tutti_fail_comm(tutti_handles.world, MPI_ERR_NO_MEM);
    }
    mark->request = request;
    mark->held = held;
    mark->landing = landing;
    tutti_mark_add(mark);
    return MPI_SUCCESS;
}

struct tutti_mark *tutti_mark_see(MPI_Request request)
{
    struct tutti_mark *mark = request == tutti_handles.no_request ? NULL : tutti_mark_find(request);
    return mark && mark->persistent && mark->instead == tutti_handles.no_request ? NULL : mark;
}

struct tutti_mark *tutti_mark_take(MPI_Request request)
{
    struct tutti_mark *mark = tutti_mark_see(request);
    if (!mark || mark->persistent)
        return mark;
    pthread_mutex_lock(&lock);
    HASH_DEL(marks, mark);
    pthread_mutex_unlock(&lock);
    mark->taken = 1;
    return mark;
}

int tutti_mark_end(struct tutti_mark *mark, MPI_Status *status, int code)
{
    struct tutti_landing *const landing = mark->landing;
    if (mark->held)
        code = tutti_held_end(mark->held, status, code);
    mark->held = NULL;
    mark->landing = NULL;
    mark->instead = tutti_handles.no_request;
    atomic_fetch_sub(&tutti_marks_open, 1);
    if (!mark->persistent)
        destroy(mark);
    return landing ? tutti_landing_end(landing, status, code) : code;
}

/* ---- requests that the program has freed: their landings wait for the message ---- */

static void sweep(void);
static struct tutti_step freed_step = {.name = "freed receives", .poll = sweep};
static pthread_mutex_t freed_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_mark *freed;

static void sweep(void)
{
    TUTTI_INSIDE();
    if (pthread_mutex_trylock(&freed_lock) != 0) /* also from within its own fetches */
        return;
    for (struct tutti_mark **at = &freed; *at;) {
        struct tutti_mark *mark = *at;
        MPI_Status status;
        int flag = 0, code = tutti_look(mark->request, &flag, &status);
        if (code == MPI_SUCCESS && !flag) {
            at = &mark->next;
            continue;
        }
        *at = mark->next;
        tutti_unraised++; /* no call of the program is there to report an error */
        tutti_landing_end(mark->landing, &status, code);
        tutti_unraised--;
        just_MPI_Request_free(&mark->request);
        tutti_step_close(&freed_step);
        free(mark);
    }
    pthread_mutex_unlock(&freed_lock);
}

static void let_go(struct tutti_mark *mark)
{
    pthread_mutex_lock(&lock);
    HASH_DEL(marks, mark);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&freed_lock);
    mark->next = freed;
    freed = mark;
    pthread_mutex_unlock(&freed_lock);
    tutti_progress_add(&freed_step);
    tutti_step_open(&freed_step);
    tutti_requests_sweep_too(&freed_step);
}

/* ---- one request ---- */

static int held_MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct tutti_mark *mark = tutti_mark_none() || !request ? NULL : tutti_mark_take(*request);
    if (likely(!mark))
        return just_MPI_Wait(request, status);
    MPI_Request real = tutti_mark_real(mark, *request);
    MPI_Status own = {0}, *where = status == MPI_STATUS_IGNORE ? &own : status;
    const int code = just_MPI_Wait(&real, where);
    if (!mark->persistent)
        *request = real;
    return tutti_mark_end(mark, where, code);
}

static int held_MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct tutti_mark *mark = tutti_mark_none() || !request ? NULL : tutti_mark_take(*request);
    if (likely(!mark))
        return just_MPI_Test(request, flag, status);
    MPI_Request real = tutti_mark_real(mark, *request);
    MPI_Status own = {0}, *where = status == MPI_STATUS_IGNORE ? &own : status;
    const int code = just_MPI_Test(&real, flag, where);
    if (code == MPI_SUCCESS && !*flag) {
        tutti_mark_back(mark);
        return code;
    }
    if (!mark->persistent)
        *request = real;
    return tutti_mark_end(mark, where, code);
}

static int held_MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    const struct tutti_mark *mark = tutti_mark_none() ? NULL : tutti_mark_see(request);
    MPI_Status own = {0}, *where = mark && status == MPI_STATUS_IGNORE ? &own : status;
    const int code = just_MPI_Request_get_status(tutti_mark_real(mark, request), flag, where);
    if (!mark || code != MPI_SUCCESS || !*flag)
        return code;
    if (mark->held)
        tutti_held_show(mark->held, where);
    if (mark->landing) /* a message that does not fit is an error of the call that completes it */
        tutti_landing_move(mark->landing, where);
    return code;
}

static int held_MPI_Request_free(MPI_Request *request)
{
    const int any = !tutti_mark_none() || unlikely(atomic_load_explicit(&persistent_marks, memory_order_relaxed) != 0);
    struct tutti_mark *mark =
        likely(!any) || !request || *request == tutti_handles.no_request ? NULL : tutti_mark_find(*request);
    if (mark && mark->landing) {
        atomic_fetch_sub(&tutti_marks_open, 1);
        if (mark->held)
            tutti_held_orphan(mark->held);
        mark->held = NULL;
        *request = tutti_handles.no_request;
        let_go(mark);
        return MPI_SUCCESS;
    }
    if (mark) { /* another request may get the handle once it is free */
        if (!mark->persistent || mark->instead != tutti_handles.no_request)
            atomic_fetch_sub(&tutti_marks_open, 1);
        if (mark->held)
            tutti_held_orphan(mark->held);
        if (mark->persistent && mark->instead != tutti_handles.no_request)
            just_MPI_Request_free(&mark->instead);
        if (mark->persistent)
            atomic_fetch_sub(&persistent_marks, 1);
        destroy(mark);
    }
    return just_MPI_Request_free(request);
}

/* A message that has arrived is received, also after a cancel. */
static int held_MPI_Cancel(MPI_Request *request)
{
    const struct tutti_mark *mark = tutti_mark_none() || !request ? NULL : tutti_mark_see(*request);
    return mark && (mark->held || mark->persistent) ? MPI_SUCCESS : just_MPI_Cancel(request);
}

/* ---- life ---- */

/* 1 if an error may be raised on it. */
static int leave_all(MPI_Comm comm, MPI_Comm instead)
{
    int named = 0;
    pthread_mutex_lock(&lock);
    for (struct tutti_mark *mark = marks; mark; mark = mark->hh.next) {
        if (mark == &anchor)
            continue;
        if (mark->persistent && mark->comm == comm)
            mark->comm = tutti_handles.no_comm;
        if (!mark->landing || mark->landing->comm != comm)
            continue;
        named = 1;
        mark->landing->comm = instead;
    }
    pthread_mutex_unlock(&lock);
    return named;
}

void tutti_marks_leave(MPI_Comm comm)
{
    if (tutti_mark_none() && likely(atomic_load_explicit(&persistent_marks, memory_order_relaxed) == 0))
        return;
    if (leave_all(comm, comm))
        leave_all(comm, tutti_self_stand_in(comm));
}

void tutti_calls_marked(void)
{
    HOLD(MPI_Wait)
    HOLD(MPI_Test)
    HOLD(MPI_Request_get_status)
    HOLD(MPI_Request_free)
    HOLD(MPI_Cancel)
}

void tutti_marks_close(void)
{
    while (marks) {
        struct tutti_mark *mark = marks;
        if (mark == &anchor)
            HASH_DEL(marks, mark);
        else
            destroy(mark);
    }
    atomic_store(&tutti_marks_open, 0);
    atomic_store(&persistent_marks, 0);
}
