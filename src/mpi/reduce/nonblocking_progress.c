/* Open nonblocking collectives: every call of the library advances them. The ranks decide in order of start, for
 * each call of a communicator, whether the team or the MPI makes it. They read the calls in this order, the worker
 * ends them in this order, and a call that the MPI makes waits for the calls before it. Thousands may be open, so
 * each poll visits the first call of a communicator, the first call that has not been read, and some of the MPI's
 * calls. */
#include <stdatomic.h>
#include <stdio.h>

#include "core/lock.h"
#include "core/settings.h"
#include "mpi/comm/comms.h"
#include "mpi/comm/streams.h"
#include "mpi/real/self.h"
#include "mpi/reduce/deferred_call.h"
#include "mpi/reduce/nonblocking.h"

static void nonblocking_poll(void);
static void nonblocking_progress_where(char *text, size_t size);
struct tutti_step tutti_nonblocking_step = {
    .name = "nonblocking collectives", .poll = nonblocking_poll, .where = nonblocking_progress_where};

enum { LOOKS = 64 }; /* MPI calls visited by a poll */

static struct tutti_lock lock;    /* protects everything below */
static struct tutti_comm *queues; /* those with calls in their queue */
/* Calls that the MPI makes, or whose communicator is not known; the call that was not visited for the longest time
 * is first. */
static struct tutti_open_queue others;
static int other_count;

/* The analysis of locks cannot follow LOCKED(). */
TUTTI_UNGUARDED static struct tutti_lock *nonblocking_progress_lock(void)
{
    tutti_lock_take(&lock);
    return &lock;
}
TUTTI_UNGUARDED static struct tutti_lock *nonblocking_progress_try(void)
{
    return tutti_lock_try(&lock) ? &lock : NULL;
}
TUTTI_UNGUARDED static void nonblocking_progress_unlock(struct tutti_lock **held)
{
    if (*held)
        tutti_lock_give(*held);
}
/* Holds the lock to the end of the block, also when an exception of an error handler leaves it. */
#define LOCKED_BY(how) __attribute__((cleanup(nonblocking_progress_unlock), unused)) struct tutti_lock *locked = how()
#define LOCKED()       LOCKED_BY(nonblocking_progress_lock)

/* ---- lists ---- */

static void nonblocking_progress_append(struct tutti_open_queue *queue, struct tutti_open_call *open)
{
    open->next = NULL;
    open->previous = queue->last;
    *(queue->last ? &queue->last->next : &queue->first) = open;
    queue->last = open;
}

static void nonblocking_progress_take_out(struct tutti_open_queue *queue, struct tutti_open_call *open)
{
    *(open->previous ? &open->previous->next : &queue->first) = open->next;
    *(open->next ? &open->next->previous : &queue->last) = open->previous;
}

static void enter_queue(struct tutti_comm *state, struct tutti_open_call *open)
{
    struct tutti_open_queue *calls = &state->calls;
    if (!calls->first) {
        calls->before = NULL;
        calls->behind = queues;
        if (queues)
            queues->calls.before = state;
        queues = state;
    }
    nonblocking_progress_append(calls, open);
    calls->unread = calls->unread ? calls->unread : open;
    atomic_fetch_add_explicit(&state->queued, 1, memory_order_relaxed);
}

/* The entry leaves its queue. 0: it was the last of its communicator, whose state may be freed now. */
static int leave_queue(struct tutti_open_call *open)
{
    struct tutti_comm *state = open->state;
    struct tutti_open_queue *calls = &state->calls;
    nonblocking_progress_take_out(calls, open);
    const int more = calls->first != NULL;
    if (!more) {
        *(calls->before ? &calls->before->calls.behind : &queues) = calls->behind;
        if (calls->behind)
            calls->behind->calls.before = calls->before;
    }
    open->state = NULL;
    atomic_fetch_sub_explicit(&state->queued, 1, memory_order_release);
    return more;
}

/* ---- all ---- */

/* The entry is in no list: it is done, or is put among the others. */
static void sort_in(struct tutti_open_call *open)
{
    if (open->phase != TUTTI_OPEN_DONE) {
        nonblocking_progress_append(&others, open);
        other_count++;
        return;
    }
    tutti_open_call_done(open);
}

/* The call has ended, or it is known whether Tutti or the MPI makes it: the next one may start. */
static int is_through(const struct tutti_open_call *open)
{
    return (open->phase == TUTTI_OPEN_REAL && !open->alone) || open->phase == TUTTI_OPEN_DONE;
}

static void step_queue(struct tutti_comm *state)
{
    struct tutti_open_call *open;
    while ((open = state->calls.unread) != NULL) {
        tutti_open_call_read(open);
        if (open->phase == TUTTI_OPEN_NEW)
            break;
        state->calls.unread = open->next;
        const int ended = open->phase == TUTTI_OPEN_DONE, more = ended ? leave_queue(open) : 1;
        if (ended)
            sort_in(open);
        if (!more)
            return;
    }
    for (int more = 1; more;) {
        open = state->calls.first;
        tutti_open_call_step(open);
        if (!is_through(open))
            return;
        more = leave_queue(open);
        sort_in(open);
    }
}

static void step_other(struct tutti_open_call *open)
{
    nonblocking_progress_take_out(&others, open);
    other_count--;
    if (open->phase == TUTTI_OPEN_NEW)
        tutti_open_call_read(open);
    tutti_open_call_step(open);
    sort_in(open);
}

static void nonblocking_progress_poll_locked(void)
{
    for (struct tutti_comm *state = queues, *behind; state; state = behind) {
        behind = state->calls.behind;
        step_queue(state);
    }
    for (int left = other_count < LOOKS ? other_count : LOOKS; left > 0 && others.first; left--)
        step_other(others.first);
}

static void nonblocking_poll(void)
{
    LOCKED_BY(nonblocking_progress_try);
    if (!locked) /* another thread polls, or this one, below an error handler */
        return;
    TUTTI_INSIDE();
    nonblocking_progress_poll_locked();
}

/* Visits a call that was started first. */
static void nonblocking_progress_where(char *text, size_t size)
{
    static const char *const at[] = {
        [TUTTI_OPEN_IDLE] = "",
        [TUTTI_OPEN_NEW] = "its ranks have not met yet",
        [TUTTI_OPEN_WORKING] = "a thread of the library is at it",
        [TUTTI_OPEN_NODES] = "its ranks on several nodes are at it",
        [TUTTI_OPEN_PASSED] = "the MPI gets it after those before it",
        [TUTTI_OPEN_REAL] = "the MPI is at it",
        [TUTTI_OPEN_DONE] = "",
    };
    LOCKED_BY(nonblocking_progress_try);
    if (!locked)
        return;
    const struct tutti_open_call *first = queues ? queues->calls.first : others.first;
    if (first)
        snprintf(text, size, "%s (%s)", first->args.name, at[first->phase]);
}

void tutti_open_call_start(struct tutti_open_call *open)
{
    LOCKED();
    TUTTI_INSIDE();
    open->phase = TUTTI_OPEN_NEW;
    open->by_mpi = !open->persistent;
    atomic_store_explicit(&open->over, 0, memory_order_relaxed);
    if (open->over_nodes.at != TUTTI_OVER_NODES_TURN) /* its starter may have taken its turn */
        open->over_nodes.at = TUTTI_OVER_NODES_NEW;
    open->code = MPI_SUCCESS;
    open->status = TUTTI_OK;
    open->state = tutti_comm_find(open->args.comm);
    open->number = open->state ? open->state->number : 0;
    if (open->state)
        enter_queue(open->state, open);
    else
        sort_in(open);
    tutti_progress_add(&tutti_nonblocking_step);
    tutti_step_open(&tutti_nonblocking_step);
    nonblocking_progress_poll_locked();
}

int tutti_open_call_claim(struct tutti_open_call *open)
{
    LOCKED();
    if (!open->persistent && open->phase != TUTTI_OPEN_DONE)
        open->by_mpi = 0;
    return !open->by_mpi && open->phase != TUTTI_OPEN_IDLE;
}

void tutti_open_call_unclaim(struct tutti_open_call *open)
{
    TUTTI_INSIDE();
    LOCKED();
    if (open->by_mpi || open->phase == TUTTI_OPEN_IDLE)
        return;
    open->by_mpi = 1;
    if (open->persistent)
        tutti_next.MPI_Start(&open->request); /* of a receive of nothing: it gives no error, and no other handle */
    if (open->phase == TUTTI_OPEN_DONE)
        tutti_self_complete(open->tag);
}

void tutti_open_call_settle(struct tutti_open_call *open)
{
    TUTTI_INSIDE();
    LOCKED();
    if (open->phase == TUTTI_OPEN_DONE)
        open->phase = TUTTI_OPEN_IDLE;
}

void tutti_open_call_close(struct tutti_open_call *open)
{
    TUTTI_INSIDE();
    LOCKED();
    tutti_open_call_destroy(open);
}

int tutti_open_call_free(struct tutti_open_call *open, MPI_Request *request)
{
    TUTTI_INSIDE();
    LOCKED();
    int code = MPI_SUCCESS;
    if (open->phase == TUTTI_OPEN_IDLE) {
        code = tutti_next.MPI_Request_free(request);
        tutti_open_call_destroy(open);
        return code;
    }
    *request = tutti_handles.no_request;
    open->freed = 1;
    if (open->phase == TUTTI_OPEN_DONE)
        tutti_open_call_destroy(open);
    return code;
}

static int nonblocking_progress_none_queued(void *with)
{
    struct tutti_comm *state = with;
    return atomic_load_explicit(&state->queued, memory_order_acquire) == 0;
}

void tutti_nonblocking_leave(struct tutti_comm *state)
{
    tutti_comm_ready(state, 1);
    if (!nonblocking_progress_none_queued(state))
        tutti_progress_wait(
            &(const struct tutti_wait){.done = nonblocking_progress_none_queued,
                                       .with = state,
                                       .what = "before a communicator is freed, for its nonblocking calls",
                                       .watched = 1});
    tutti_worker_end(state->worker);
    state->worker = NULL;
    tutti_open_calls_forget(state);
}

static int none_at_work(void *with)
{
    const MPI_Comm comm = *(const MPI_Comm *)with;
    int found = 0;
    LOCKED();
    for (const struct tutti_comm *state = queues; state; state = state->calls.behind) {
        for (const struct tutti_open_call *open = state->calls.first; open; open = open->next)
            found |= open->args.comm == comm;
    }
    for (const struct tutti_open_call *open = others.first; open; open = open->next)
        found |= open->args.comm == comm;
    return !found;
}

/* Not left to the delete callback: an MPI may call it within another call, when the last request has ended, or may
 * never check its requests. */
void tutti_nonblocking_before_free(MPI_Comm comm)
{
    struct tutti_comm *state = comm == tutti_handles.no_comm ? NULL : tutti_comm_find(comm);
    if (state && state->opening)
        tutti_comm_ready(state, 1);
    if (tutti_nonblocking_busy())
        tutti_progress_wait(&(const struct tutti_wait){
            .done = none_at_work, .with = &comm, .what = "in MPI_Comm_free, for the communicator's nonblocking calls"});
}

static int none_open(void *unused)
{
    (void)unused;
    return !tutti_nonblocking_busy();
}

void tutti_nonblocking_end(void)
{
    tutti_progress_wait(&(const struct tutti_wait){.done = none_open,
                                                   .what = "in MPI_Finalize, for nonblocking calls that have not ended",
                                                   .seconds = tutti_settings()->timeout_seconds});
    LOCKED();
    tutti_self_close(!queues && !others.first);
}
