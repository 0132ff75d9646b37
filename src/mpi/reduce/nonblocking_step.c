/* One open nonblocking collective, from reading to its end. */
#include "core/log.h"
#include "mpi/real/errors.h"
#include "mpi/reduce/deferred_call.h"
#include "mpi/reduce/nonblocking.h"
#include "mpi/request/request.h"

static void end_with(struct tutti_open_call *open, int code, int status)
{
    open->code = code;
    open->status = status;
    open->phase = TUTTI_OPEN_DONE;
}

static void nonblocking_step_fail(struct tutti_open_call *open, int status)
{
    tutti_count(open->args.name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
    end_with(open, tutti_error_code(status), status);
}

static void after_job(struct tutti_open_call *open)
{
    const struct tutti_reduce_job *job = &open->job;
    if (job->job.status != TUTTI_OK) {
        nonblocking_step_fail(open, job->job.status);
    } else if (job->taken == TUTTI_REDUCE_DECLINED && !open->read.call.host_ok) {
        tutti_error("%s: %s, and the MPI has no such element type: use the blocking call", open->args.name, job->why);
        nonblocking_step_fail(open, TUTTI_ERR_UNAVAILABLE);
    } else if (job->taken == TUTTI_REDUCE_DECLINED) {
        open->read.why = job->why;
        open->phase = TUTTI_OPEN_PASSED;
    } else {
        const struct tutti_call *call = &open->read.call;
        tutti_count_made(open->args.name, job->why, call->count * tutti_type_size(call->type));
        end_with(open, MPI_SUCCESS, TUTTI_OK);
    }
}

/* A call over several nodes. */
static void look_at_nodes(struct tutti_open_call *open)
{
    const struct tutti_call *call = &open->read.call;
    int status;
    const char *why = NULL;
    if (open->later) {
        open->phase = open->later->work->over_nodes(open, &open->code);
        return;
    }
    const int done = tutti_over_nodes_poll(open->state, call, &open->over_nodes, open->args.name, &status, &why);
    if (done == 0)
        return;
    open->over_nodes.at = TUTTI_OVER_NODES_NEW;
    if (done < 0) {
        open->job.job.status = TUTTI_OK;
        open->job.taken = TUTTI_REDUCE_DECLINED;
        open->job.why = why;
        after_job(open);
    } else if (status != TUTTI_OK) {
        nonblocking_step_fail(open, status);
    } else {
        tutti_count_made(open->args.name, why, call->count * tutti_type_size(call->type));
        end_with(open, MPI_SUCCESS, TUTTI_OK);
    }
}

/* A call of a team: goes to the worker, or is done at once if the team has one rank. */
static void nonblocking_step_give(struct tutti_open_call *open)
{
    struct tutti_team *team = open->read.team;
    struct tutti_call *call = &open->read.call;
    int gpu;
    open->job.call = call;
    open->job.looked = !open->repeats;
    /* Of a call that repeats nothing is read that its worker has written. */
    if (!open->repeats && call->kind == TUTTI_ARRIVAL_DEVICE && call->gpu < 0 &&
        tutti_door.device->gpu.current(&gpu) == TUTTI_OK)
        call->gpu = gpu; /* the counter of this thread, not of the worker */
    if (team->size == 1) {
        open->job.job.status = tutti_reduce_run(team, call, &open->job.taken, &open->job.why);
        after_job(open);
        return;
    }
    if (tutti_over_nodes_concerns(open->state, call, 1)) {
        open->phase = TUTTI_OPEN_NODES;
        return;
    }
    if (!team->nonblocking) {
        open->job.job.status = TUTTI_OK;
        open->job.taken = TUTTI_REDUCE_DECLINED;
        open->job.why = team->why;
        after_job(open);
        return;
    }
    open->job.team = team->nonblocking;
    if (!open->repeats && open->state->calls.first == open &&
        ((call->kind == TUTTI_ARRIVAL_HOST && call->host_ok) || tutti_reduce_leaves(team->nonblocking, call))) {
        /* This rank only announces that the MPI makes the call, which no worker need do: none has an earlier one. */
        open->job.job.status = tutti_reduce_run(team->nonblocking, call, &open->job.taken, &open->job.why);
        after_job(open);
        return;
    }
    if (!open->state->calls.gives_up && !open->state->worker)
        open->state->worker = tutti_worker_new();
    if (!open->state->calls.gives_up && open->state->worker &&
        tutti_reduce_give(open->state->worker, &open->job) == TUTTI_OK) {
        open->phase = TUTTI_OPEN_WORKING;
        return;
    }
    open->read.why = TUTTI_REASON_TEXT(MEMORY);
    open->phase = tutti_open_call_give_up(open);
}

enum tutti_open_call_phase tutti_open_call_give_up(struct tutti_open_call *open)
{
    open->gives_up = open->state->calls.gives_up = 1;
    return TUTTI_OPEN_PASSED;
}

/* All calls before it have ended, or have been given to the MPI: the worker is at none of them. 0: the MPI cannot make
 * the call either. */
static int nonblocking_step_leave(struct tutti_open_call *open)
{
    struct tutti_team *const team = open->state->team->nonblocking;
    open->gives_up = 0;
    tutti_team_break(team, TUTTI_ERR_MEMORY);
    tutti_team_leave(team);
    if (open->later || open->read.call.host_ok)
        return 1;
    tutti_error("%s: %s, and the MPI has no such element type", open->args.name, open->read.why);
    nonblocking_step_fail(open, TUTTI_ERR_MEMORY);
    return 0;
}

static void read_later(struct tutti_open_call *open)
{
    int status = TUTTI_OK;
    open->phase = open->later->work ? open->later->work->read(open, &status) : TUTTI_OPEN_PASSED;
    if (status != TUTTI_OK)
        nonblocking_step_fail(open, status);
}

static void open_call_read(struct tutti_open_call *open)
{
    if ((!open->later || open->later->work) && open->state && open->state->opening && !tutti_comm_ready(open->state, 0))
        return;
    if (open->later) {
        read_later(open);
        return;
    }
    if (open->repeats) {
        nonblocking_step_give(open);
        return;
    }
    tutti_read_end(&open->read); /* of the previous start */
    switch (tutti_read_nonblocking(&open->args, &open->read)) {
    case TUTTI_READ_FAILED:
        nonblocking_step_fail(open, open->read.status);
        break;
    case TUTTI_READ_TEAM:
        nonblocking_step_give(open);
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

void tutti_open_call_read(struct tutti_open_call *open)
{
    open_call_read(open);
    if (open->phase == TUTTI_OPEN_WORKING)
        atomic_store_explicit(&open->working, 1, memory_order_release);
}

static void start_later(struct tutti_open_call *open)
{
    struct tutti_deferred_call *later = open->later;
    open->lists = !open->persistent;
    open->phase = TUTTI_OPEN_REAL;
    later->request = &open->real;
    const int code = later->start(later); /* an MPI may read its lists of types until the call has ended */
    if (code != MPI_SUCCESS)
        end_with(open, code, TUTTI_OK);
}

static void give_to_mpi(struct tutti_open_call *open)
{
    if (unlikely(open->gives_up) && !nonblocking_step_leave(open))
        return;
    if (open->later) {
        start_later(open);
        return;
    }
    int depth = tutti_inside; /* staging ignores calls that the MPI itself makes */
    tutti_inside = 0;
    int status = tutti_staging_open(&open->staging, &open->args, NULL, 0);
    tutti_inside = depth;
    if (status != TUTTI_OK) {
        tutti_stage_report(open->args.name, status);
        nonblocking_step_fail(open, status);
        return;
    }
    tutti_staging_count(&open->staging, open->args.name, open->read.why);
    int code = tutti_ireduction_real(&open->args, open->staging.sendbuf, open->staging.recvbuf, &open->real);
    open->phase = TUTTI_OPEN_REAL;
    if (code != MPI_SUCCESS) {
        tutti_staging_close(&open->staging, code);
        end_with(open, code, TUTTI_OK);
    }
}

static void look_at_real(struct tutti_open_call *open)
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
    if (status == TUTTI_OK && unlikely(open->owed != TUTTI_OK) && code == MPI_SUCCESS) {
        nonblocking_step_fail(open, open->owed);
        open->owed = TUTTI_OK;
        return;
    }
    if (status == TUTTI_OK) {
        end_with(open, code, TUTTI_OK);
        return;
    }
    tutti_stage_report(open->args.name, status);
    nonblocking_step_fail(open, status);
}

int tutti_open_call_works(const struct tutti_open_call *open)
{
    return atomic_load_explicit(&open->working, memory_order_acquire) &&
           !(open->later ? open->later->work->done(open) : tutti_job_done(&open->job.job));
}

static void look_at_job(struct tutti_open_call *open)
{
    if (tutti_open_call_works(open))
        return;
    atomic_store_explicit(&open->working, 0, memory_order_relaxed);
    if (open->later)
        open->phase = open->later->work->ended(open, &open->code);
    else
        after_job(open);
    if (open->phase == TUTTI_OPEN_PASSED)
        open->owed = tutti_coll_owed(open->state->team->nonblocking);
    open->repeats = open->phase == TUTTI_OPEN_DONE && open->code == MPI_SUCCESS;
}

void tutti_open_call_step(struct tutti_open_call *open)
{
    if (open->phase == TUTTI_OPEN_WORKING)
        look_at_job(open);
    if (open->phase == TUTTI_OPEN_NODES)
        look_at_nodes(open);
    if (open->phase == TUTTI_OPEN_PASSED)
        give_to_mpi(open);
    if (open->phase == TUTTI_OPEN_REAL)
        look_at_real(open);
}
