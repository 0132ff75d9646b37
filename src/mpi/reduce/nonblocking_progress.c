/* Open nonblocking collectives: one list in order of start, brought on by whoever calls the library. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/reserve.h"
#include "core/settings.h"
#include "mpi/comm/comms.h"
#include "mpi/comm/streams.h"
#include "mpi/real/errors.h"
#include "mpi/real/lent.h"
#include "mpi/real/own.h"
#include "mpi/reduce/later.h"
#include "mpi/reduce/nonblocking.h"
#include "mpi/request/request.h"

static void bring_on(void);
static void where(char *text, size_t size);
struct tutti_step tutti_nonblocking_step = {.name = "nonblocking collectives", .poll = bring_on, .where = where};

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

/* 0: no memory. */
static int copy_counts(struct tutti_open *open)
{
    struct tutti_reduction_args *args = &open->args;
    size_t each = args->large ? sizeof(MPI_Count) : sizeof(int);
    int ranks = 0;
    if (!args->recvcounts)
        return 1;
    tutti_next.MPI_Comm_size(args->comm, &ranks);
    if (!(open->counts = malloc((size_t)ranks * each + 1)))
        return 0;
    memcpy(open->counts, args->recvcounts, (size_t)ranks * each);
    args->recvcounts = open->counts;
    return 1;
}

struct tutti_open *tutti_open_new(const struct tutti_reduction_args *args, int persistent)
{
    static struct tutti_reserve reserve;
    struct tutti_open *open = tutti_reserve_take(&reserve, sizeof *open);
    if (!open)
        return NULL;
    open->args = *args;
    open->comm = args->comm;
    open->persistent = persistent;
    open->real = tutti_handles.no_request;
    TUTTI_INSIDE();
    int made = copy_counts(open) && tutti_own_request(persistent, &open->request, &open->tag) == 0;
    int held = made && tutti_handles_hold(args->datatype, args->op);
    if (!held || tutti_open_put(open->request, open, persistent) != TUTTI_OK) {
        if (held)
            tutti_handles_let_go(args->datatype, args->op);
        free(open->counts);
        free(open);
        return NULL;
    }
    return open;
}

/* The lock is held; the entry is in no list and nothing will come for its tag. */
static void destroy(struct tutti_open *open)
{
    tutti_sweeps_off++; /* what is freed below would sweep, and end requests of this kind */
    if (open->freed)
        tutti_own_end(open->persistent, &open->request);
    tutti_own_release(open->tag);
    if (open->persistent && open->args.comm != tutti_handles.no_comm)
        tutti_next.MPI_Comm_free(&open->args.comm);
    tutti_handles_let_go(open->args.datatype, open->args.op);
    if (open->later)
        open->later->end(open->later);
    free(open->counts);
    free(open);
    tutti_sweeps_off--;
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
    tutti_count(open->args.name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
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
    const struct tutti_reduce_job *job = &open->job;
    if (job->job.status != TUTTI_OK) {
        fail(open, job->job.status);
    } else if (job->taken == TUTTI_PASSED && !open->read.call.host_ok) {
        tutti_error("%s: %s, and the MPI has no such element type: use the blocking call", open->args.name, job->why);
        fail(open, TUTTI_ERR_UNAVAILABLE);
    } else if (job->taken == TUTTI_PASSED) {
        open->read.why = job->why;
        open->phase = TUTTI_OPEN_PASSED;
    } else {
        const struct tutti_call *call = &open->read.call;
        tutti_count_made(open->args.name, job->why, call->count * tutti_type_size(call->type));
        end_with(open, MPI_SUCCESS, TUTTI_OK);
    }
}

/* A call of a team: to the worker, or done at once where there is nobody to wait for. */
static void give(struct tutti_open *open)
{
    struct tutti_team *team = open->read.team;
    struct tutti_call *call = &open->read.call;
    int gpu;
    open->job.call = call;
    if (call->kind == TUTTI_ARRIVAL_DEVICE && call->gpu < 0 && tutti_door.device->gpu.current(&gpu) == TUTTI_OK)
        call->gpu = gpu; /* of this thread, not of the worker */
    if (team->size == 1) {
        open->job.job.status = tutti_collective(team, call, &open->job.taken, &open->job.why);
        after_job(open);
        return;
    }
    if (!team->nonblocking) {
        open->job.job.status = TUTTI_OK;
        open->job.taken = TUTTI_PASSED;
        open->job.why = team->why;
        after_job(open);
        return;
    }
    int status = TUTTI_OK;
    open->job.team = team->nonblocking;
    if (!open->state->worker && !(open->state->worker = tutti_worker_new()))
        status = tutti_team_break(team->nonblocking, TUTTI_ERR_MEMORY); /* peers would wait for this rank */
    if (status == TUTTI_OK)
        status = tutti_reduce_give(open->state->worker, &open->job);
    if (status == TUTTI_OK)
        open->phase = TUTTI_OPEN_WORKING;
    else
        fail(open, status);
}

static void read_later(struct tutti_open *open)
{
    int status = TUTTI_OK;
    open->phase = open->later->work ? open->later->work->read(open, &status) : TUTTI_OPEN_PASSED;
    if (status != TUTTI_OK)
        fail(open, status);
}

static void read_call(struct tutti_open *open)
{
    if ((!open->later || open->later->work) && open->state && open->state->opening && !tutti_comm_ready(open->state, 0))
        return;
    if (open->later) {
        read_later(open);
        return;
    }
    switch (tutti_read_nonblocking(&open->args, &open->read)) {
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

static void start_later(struct tutti_open *open)
{
    struct tutti_later *later = open->later;
    open->lists = !open->persistent;
    open->phase = TUTTI_OPEN_REAL;
    later->request = &open->real;
    const int code = later->start(later); /* an MPI may read its lists of types until the call has ended */
    if (code != MPI_SUCCESS)
        end_with(open, code, TUTTI_OK);
}

static void give_to_mpi(struct tutti_open *open)
{
    if (open->later) {
        start_later(open);
        return;
    }
    int depth = tutti_inside; /* staging leaves alone what the MPI itself calls */
    tutti_inside = 0;
    int status = tutti_staging_open(&open->staging, &open->args);
    tutti_inside = depth;
    if (status != TUTTI_OK) {
        tutti_stage_report(open->args.name, status);
        fail(open, status);
        return;
    }
    tutti_staging_count(&open->staging, open->args.name, open->read.why);
    int code = tutti_nonblocking_real(&open->args, open->staging.sendbuf, open->staging.recvbuf, &open->real);
    open->phase = TUTTI_OPEN_REAL;
    if (code != MPI_SUCCESS) {
        tutti_staging_close(&open->staging, code);
        end_with(open, code, TUTTI_OK);
    }
}

static void look_at_real(struct tutti_open *open)
{
    int flag = 0;
    int listed = open->lists || (open->args.large && open->args.collective == TUTTI_COLLECTIVE_REDUCE_SCATTER);
    struct tutti_request *lists = listed ? tutti_request_take(open->real) : NULL; /* counts narrowed by large.c */
    int code = tutti_next.MPI_Test(&open->real, &flag, MPI_STATUS_IGNORE);
    if (!flag && code == MPI_SUCCESS) {
        if (lists)
            tutti_request_back(lists);
        return;
    }
    if (lists)
        tutti_request_drop(lists);
    int status = open->later && open->later->finish ? open->later->finish(open->later, code)
                                                    : tutti_staging_close(&open->staging, code);
    if (status == TUTTI_OK) {
        end_with(open, code, TUTTI_OK);
        return;
    }
    tutti_stage_report(open->args.name, status);
    fail(open, status);
}

static void look_at_job(struct tutti_open *open)
{
    if (open->later && open->later->work->done(open))
        open->phase = open->later->work->ended(open, &open->code);
    else if (!open->later && tutti_job_done(&open->job.job))
        after_job(open);
}

static void step(struct tutti_open *open, unsigned walk)
{
    struct tutti_comm *state = open->state; /* not NULL while in the communicator's queue */
    int turn = !state || state->walk != walk;
    if (open->phase == TUTTI_OPEN_NEW && (!state || state->unread != walk))
        read_call(open);
    if (open->phase == TUTTI_OPEN_WORKING)
        look_at_job(open);
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
        tutti_own_complete(open->tag); /* before nothing is open: see own.h */
        tutti_step_close(&tutti_nonblocking_step);
        if (open->freed)
            destroy(open);
    }
}

static void bring_on(void)
{
    if (pthread_mutex_trylock(&lock) != 0) /* another thread is at it, or this one, below an error handler */
        return;
    __attribute__((cleanup(unlock), unused)) pthread_mutex_t *locked = &lock;
    TUTTI_INSIDE();
    poll_locked();
}

/* Of the call that was started first. */
static void where(char *text, size_t size)
{
    static const char *const at[] = {
        [TUTTI_OPEN_IDLE] = "",
        [TUTTI_OPEN_NEW] = "its ranks have not met yet",
        [TUTTI_OPEN_WORKING] = "a thread of the library is at it",
        [TUTTI_OPEN_PASSED] = "the MPI gets it after those before it",
        [TUTTI_OPEN_REAL] = "the MPI is at it",
        [TUTTI_OPEN_DONE] = "",
    };
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    if (first)
        snprintf(text, size, "%s (%s)", first->args.name, at[first->phase]);
    pthread_mutex_unlock(&lock);
}

void tutti_open_start(struct tutti_open *open)
{
    LOCKED();
    TUTTI_INSIDE();
    open->phase = TUTTI_OPEN_NEW;
    open->code = MPI_SUCCESS;
    open->status = TUTTI_OK;
    open->state = tutti_comm_find(open->args.comm);
    if (open->state)
        atomic_fetch_add_explicit(&open->state->queued, 1, memory_order_relaxed);
    open->next = NULL;
    *last = open;
    last = &open->next;
    tutti_progress_add(&tutti_nonblocking_step);
    tutti_step_open(&tutti_nonblocking_step);
    poll_locked();
}

int tutti_open_deliver(const struct tutti_open *open)
{
    if (open->phase != TUTTI_OPEN_DONE || open->code == MPI_SUCCESS)
        return MPI_SUCCESS;
    return tutti_fail_comm(open->comm, open->code);
}

void tutti_open_settle(struct tutti_open *open)
{
    TUTTI_INSIDE();
    LOCKED();
    if (open->phase == TUTTI_OPEN_DONE)
        open->phase = TUTTI_OPEN_IDLE;
}

void tutti_open_close(struct tutti_open *open)
{
    TUTTI_INSIDE();
    LOCKED();
    destroy(open);
}

int tutti_open_free(struct tutti_open *open, MPI_Request *request)
{
    TUTTI_INSIDE();
    LOCKED();
    int code = MPI_SUCCESS;
    if (open->phase == TUTTI_OPEN_IDLE) {
        code = tutti_next.MPI_Request_free(request);
        destroy(open);
        return code;
    }
    *request = tutti_handles.no_request;
    open->freed = 1;
    if (open->phase == TUTTI_OPEN_DONE)
        destroy(open);
    return code;
}

static int none_queued(void *with)
{
    struct tutti_comm *state = with;
    return atomic_load_explicit(&state->queued, memory_order_acquire) == 0;
}

void tutti_nonblocking_leave(struct tutti_comm *state)
{
    tutti_comm_ready(state, 1);
    tutti_progress_wait(&(const struct tutti_wait){.done = none_queued,
                                                   .with = state,
                                                   .what = "before a communicator is freed, for its nonblocking calls",
                                                   .watched = 1});
    tutti_worker_end(state->worker);
    state->worker = NULL;
}

static int none_at_work(void *with)
{
    const MPI_Comm comm = *(const MPI_Comm *)with;
    int found = 0;
    LOCKED();
    for (const struct tutti_open *open = first; open; open = open->next)
        found |= open->args.comm == comm;
    return !found;
}

/* Not left to the delete callback: an MPI may call that from within another call, when the last request has ended, or
 * not look after its requests at all. */
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
    tutti_own_close(!first);
}
