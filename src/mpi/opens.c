/* Open nonblocking reductions: one list in order of start, brought on by whoever calls the library. */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "mpi/nonblocking.h"
#include "mpi/own.h"
#include "mpi/requests.h"
#include "mpi/streams.h"

enum { SPINS = 64, SLEEP_US = 100 };

atomic_int tutti_nonblocking_open;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct tutti_open *first, **last = &first;
static unsigned walks;

static void unlock(pthread_mutex_t **held)
{
    pthread_mutex_unlock(*held);
}
/* Until the end of the block, also when an exception of an error handler leaves it. */
#define LOCKED()                                                                                                       \
    __attribute__((cleanup(unlock), unused)) pthread_mutex_t *locked = &lock;                                          \
    pthread_mutex_lock(&lock)

/* ---- requests ---- */

struct tutti_open *tutti_open_new(const struct tutti_asked *asked, int persistent)
{
    struct tutti_open *open = calloc(1, sizeof *open);
    if (!open)
        return NULL;
    open->asked = *asked;
    open->comm = asked->comm;
    open->persistent = persistent;
    open->real = tutti_handles.no_request;
    TUTTI_INSIDE();
    int made = tutti_own_request(persistent, &open->request, &open->tag) == 0, lent = made && tutti_lend(asked);
    if (!lent || tutti_pending_open_call(open->request, open) != TUTTI_OK) {
        if (lent)
            tutti_lend_end(asked);
        free(open);
        return NULL;
    }
    return open;
}

/* The lock is held; the entry is in no list and nothing will come for its tag. */
static void destroy(struct tutti_open *open)
{
    if (open->freed)
        tutti_own_end(open->persistent, &open->request);
    tutti_own_release(open->tag);
    if (open->persistent && open->asked.comm != tutti_handles.no_comm)
        tutti_real.MPI_Comm_free(&open->asked.comm);
    tutti_lend_end(&open->asked);
    free(open);
}

/* ---- one step ---- */

static void end_with(struct tutti_open *open, int code, int status)
{
    open->code = code;
    open->status = status;
    open->phase = TUTTI_OPEN_DONE;
}

static void fail(struct tutti_open *open, int status)
{
    tutti_count(open->asked.name, "failed", tutti_status_text(status));
    end_with(open, tutti_error_code(status), status);
}

/* Nobody waits for this entry's turn any more. */
static void leave_queue(struct tutti_open *open)
{
    if (open->state)
        atomic_fetch_sub_explicit(&open->state->queued, 1, memory_order_release);
    open->state = NULL;
    tutti_read_end(&open->read);
}

static void after_job(struct tutti_open *open)
{
    const struct tutti_job *job = &open->job;
    if (job->status != TUTTI_OK) {
        fail(open, job->status);
    } else if (job->taken == TUTTI_PASSED && !open->read.call.host_ok) {
        tutti_error("%s: %s, and the MPI has no such element type: use the blocking call", open->asked.name, job->why);
        fail(open, TUTTI_ERR_UNAVAILABLE);
    } else if (job->taken == TUTTI_PASSED) {
        open->read.why = job->why;
        open->phase = TUTTI_OPEN_PASSED;
    } else {
        tutti_count(open->asked.name, "accelerated", job->why);
        end_with(open, MPI_SUCCESS, TUTTI_OK);
    }
}

/* A call of a team: to the worker, or done at once where there is nobody to wait for. */
static void give(struct tutti_open *open)
{
    struct tutti_team *team = open->read.team;
    struct tutti_reduce *call = &open->read.call;
    int gpu;
    open->job.call = call;
    if (call->kind == TUTTI_ARRIVAL_DEVICE && call->gpu < 0 && tutti_door.device->current(&gpu) == TUTTI_OK)
        call->gpu = gpu; /* of this thread, not of the worker */
    if (team->size == 1) {
        open->job.status = tutti_collective(team, call, &open->job.taken, &open->job.why);
        after_job(open);
        return;
    }
    if (!team->twin) {
        open->job.status = TUTTI_OK;
        open->job.taken = TUTTI_PASSED;
        open->job.why = team->why;
        after_job(open);
        return;
    }
    int status = TUTTI_OK;
    if (!open->state->worker)
        status = tutti_worker_new(team->twin, &open->state->worker);
    if (status == TUTTI_OK)
        status = tutti_worker_give(open->state->worker, &open->job);
    if (status == TUTTI_OK)
        open->phase = TUTTI_OPEN_WORKING;
    else
        fail(open, status);
}

static void read_call(struct tutti_open *open)
{
    if (open->state && open->state->opening && !tutti_comm_ready(open->state, 0))
        return;
    switch (tutti_read_nonblocking(&open->asked, &open->read)) {
    case TUTTI_READ_FAILED:
        fail(open, open->read.status);
        break;
    case TUTTI_READ_TEAM:
        give(open);
        break;
    case TUTTI_READ_UNTOUCHED:
        open->read.why = "nothing to do";
        open->phase = TUTTI_OPEN_PASSED;
        break;
    case TUTTI_READ_STAGED:
        open->phase = TUTTI_OPEN_PASSED;
        break;
    }
}

static void give_to_mpi(struct tutti_open *open)
{
    int depth = tutti_inside; /* staging leaves alone what the MPI itself calls */
    tutti_inside = 0;
    int status = tutti_staging_open(&open->staging, &open->asked);
    tutti_inside = depth;
    if (status != TUTTI_OK) {
        tutti_error("%s: staging device memory failed: %s", open->asked.name, tutti_status_text(status));
        fail(open, status);
        return;
    }
    tutti_count(open->asked.name, open->staging.staged ? "staged" : "passed",
                tutti_staging_how(&open->staging, open->read.why));
    int code = tutti_nonblocking_real(&open->asked, open->staging.sendbuf, open->staging.recvbuf, &open->real);
    open->phase = TUTTI_OPEN_REAL;
    if (code != MPI_SUCCESS) {
        tutti_staging_close(&open->staging, code);
        end_with(open, code, TUTTI_OK);
    }
}

static void look_at_real(struct tutti_open *open)
{
    int flag = 0, listed = open->asked.large && open->asked.collective == TUTTI_COLLECTIVE_REDUCE_SCATTER;
    struct tutti_pending *lists = listed ? tutti_pending_take(open->real) : NULL; /* counts narrowed by large.c */
    int code = tutti_real.MPI_Test(&open->real, &flag, MPI_STATUS_IGNORE);
    if (!flag && code == MPI_SUCCESS) {
        if (lists)
            tutti_pending_back(lists);
        return;
    }
    if (lists)
        tutti_pending_drop(lists);
    int status = tutti_staging_close(&open->staging, code);
    if (status == TUTTI_OK) {
        end_with(open, code, TUTTI_OK);
        return;
    }
    tutti_error("%s: staging device memory failed: %s", open->asked.name, tutti_status_text(status));
    fail(open, status);
}

static void step(struct tutti_open *open, unsigned walk)
{
    struct tutti_comm *state = open->state; /* not NULL while in the communicator's queue */
    int turn = !state || state->walk != walk;
    if (open->phase == TUTTI_OPEN_NEW && (!state || state->unread != walk))
        read_call(open);
    if (open->phase == TUTTI_OPEN_WORKING && tutti_job_done(&open->job))
        after_job(open);
    if (open->phase == TUTTI_OPEN_PASSED && turn)
        give_to_mpi(open);
    if (open->phase == TUTTI_OPEN_REAL || open->phase == TUTTI_OPEN_DONE)
        leave_queue(open);
    else if (state)
        state->walk = walk; /* later calls of this communicator wait for it */
    if (state && open->phase == TUTTI_OPEN_NEW)
        state->unread = walk;
    if (open->phase == TUTTI_OPEN_REAL)
        look_at_real(open);
}

/* ---- all ---- */

static void poll_locked(void)
{
    unsigned walk = ++walks ? walks : ++walks;
    struct tutti_open **at = &first;
    while (*at) {
        struct tutti_open *open = *at;
        step(open, walk);
        if (open->phase != TUTTI_OPEN_DONE) {
            at = &open->next;
            continue;
        }
        *at = open->next;
        if (last == &open->next)
            last = at;
        atomic_fetch_sub_explicit(&tutti_nonblocking_open, 1, memory_order_relaxed);
        tutti_own_complete(open->tag);
        if (open->freed)
            destroy(open);
    }
}

void tutti_nonblocking_poll(void)
{
    if (pthread_mutex_trylock(&lock) != 0) /* another thread is at it, or this one, below an error handler */
        return;
    __attribute__((cleanup(unlock), unused)) pthread_mutex_t *locked = &lock;
    TUTTI_INSIDE();
    poll_locked();
}

void tutti_nonblocking_pause(unsigned *rounds)
{
    if (++*rounds < SPINS) {
        tutti_pause();
    } else if (tutti_settings()->wait == TUTTI_SET_WAIT_SLEEP) {
        const struct timespec time = {0, SLEEP_US * 1000};
        nanosleep(&time, NULL);
    } else {
        sched_yield();
    }
}

void tutti_open_start(struct tutti_open *open)
{
    LOCKED();
    TUTTI_INSIDE();
    open->phase = TUTTI_OPEN_NEW;
    open->code = MPI_SUCCESS;
    open->status = TUTTI_OK;
    open->state = tutti_comm_find(open->asked.comm);
    open->known = open->state != NULL;
    if (open->state)
        atomic_fetch_add_explicit(&open->state->queued, 1, memory_order_relaxed);
    open->next = NULL;
    *last = open;
    last = &open->next;
    atomic_fetch_add_explicit(&tutti_nonblocking_open, 1, memory_order_relaxed);
    poll_locked();
}

int tutti_open_deliver(const struct tutti_open *open)
{
    if (open->phase != TUTTI_OPEN_DONE || open->code == MPI_SUCCESS)
        return MPI_SUCCESS;
    /* It may have been freed since. */
    int gone = open->known && !open->persistent && !tutti_comm_find(open->comm);
    return tutti_fail_comm(gone ? tutti_handles.world : open->comm, open->code);
}

void tutti_open_settle(struct tutti_open *open)
{
    TUTTI_INSIDE();
    LOCKED();
    if (!open->persistent)
        destroy(open);
    else if (open->phase == TUTTI_OPEN_DONE)
        open->phase = TUTTI_OPEN_IDLE;
}

int tutti_open_free(struct tutti_open *open, MPI_Request *request)
{
    TUTTI_INSIDE();
    LOCKED();
    int code = MPI_SUCCESS;
    if (open->phase == TUTTI_OPEN_IDLE) {
        code = tutti_real.MPI_Request_free(request);
        destroy(open);
        return code;
    }
    *request = tutti_handles.no_request;
    open->freed = 1;
    if (open->phase == TUTTI_OPEN_DONE)
        destroy(open);
    return code;
}

void tutti_nonblocking_leave(struct tutti_comm *state)
{
    unsigned rounds = 0;
    tutti_comm_ready(state, 1);
    while (atomic_load_explicit(&state->queued, memory_order_acquire) > 0) {
        tutti_nonblocking_poll();
        tutti_nonblocking_pause(&rounds);
    }
    tutti_worker_end(state->worker);
    state->worker = NULL;
}

static int at_work(MPI_Comm comm)
{
    int found = 0;
    LOCKED();
    for (const struct tutti_open *open = first; open; open = open->next)
        found |= open->asked.comm == comm;
    return found;
}

/* Not left to the delete callback: an MPI may call that from within another call, when the last request has ended, or
 * not look after its requests at all. */
void tutti_nonblocking_before_free(MPI_Comm comm)
{
    struct tutti_comm *state = comm == tutti_handles.no_comm ? NULL : tutti_comm_find(comm);
    unsigned rounds = 0;
    if (state && state->opening)
        tutti_comm_ready(state, 1);
    while (tutti_nonblocking_busy() && at_work(comm)) {
        tutti_nonblocking_poll();
        tutti_nonblocking_pause(&rounds);
    }
}

void tutti_nonblocking_end(void)
{
    uint64_t limit = tutti_now_ns() + (uint64_t)tutti_settings()->timeout_seconds * 1000000000u;
    unsigned rounds = 0;
    while (tutti_nonblocking_busy() && tutti_now_ns() < limit) {
        tutti_nonblocking_poll();
        tutti_nonblocking_pause(&rounds);
    }
    LOCKED();
    tutti_own_close(!first);
}
