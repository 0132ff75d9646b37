#include "mpi/move/nodes_job.h"

#include <stdlib.h>

#include "core/reserve.h"
#include "mpi/move/mover_own.h"
#include "mpi/move/nodes_own.h"
#include "mpi/real/errors.h"

struct tutti_nodes_job {
    struct tutti_mover mover;
    struct tutti_call call;
};

int tutti_nodes_job_counts(const struct tutti_collective_args *args, const struct tutti_comm *state,
                           struct tutti_call *call)
{
    return tutti_far_progresses && tutti_over_nodes_moves(state) && tutti_mover_nodes_read(args, state->team, call);
}

struct tutti_nodes_job *tutti_nodes_job_open(const struct tutti_collective_args *args, const struct tutti_comm *state)
{
    static struct tutti_reserve reserve; /* a rank without memory would leave the others waiting */
    struct tutti_nodes_job *job = tutti_reserve_take(&reserve, sizeof *job);
    if (!job)
        return NULL;
    tutti_mover_begin(&job->mover, args, state->team, 1);
    (void)tutti_mover_nodes_read(args, state->team, &job->call);
    return job;
}

/* Before the call agrees or starts. 1; 0: the arguments are wrong, which the MPI reports; a status. */
static int job_describe(struct tutti_nodes_job *job, struct tutti_over_nodes_call *over)
{
    struct tutti_mover *x = &job->mover;
    const int described = tutti_mover_describe_blocks(x);
    const int refused = !described && tutti_why_take(TUTTI_REASON_OTHER) != TUTTI_REASON_MEMORY;
    int current;
    over->bytes = tutti_mover_nodes_kind(x, &job->call, described);
    job->call.move = &x->move;
    if (described && tutti_device_active(tutti_door.device) && tutti_door.device->gpu.current(&current) == TUTTI_OK)
        x->move.current = current; /* the GPU of this thread, not of the worker */
    if (over->turn == TUTTI_NODES_TAKEN && !described)
        return refused ? 0 : TUTTI_ERR_MEMORY;
    return described && tutti_mover_pack(x) != TUTTI_OK ? TUTTI_ERR_MEMORY : 1;
}

/* The call has ended, or has failed to start. */
static int job_end(struct tutti_nodes_job *job, int status, const char *how, int *code)
{
    struct tutti_mover *x = &job->mover;
    if (status == TUTTI_OK)
        status = tutti_mover_unpack(x);
    *code = tutti_mover_code(x, status);
    if (*code != MPI_SUCCESS)
        tutti_count(x->call->name, TUTTI_OUTCOME_FAILED,
                    status != TUTTI_OK ? tutti_status_text(status) : "the data received were not expected");
    else
        tutti_mover_count(x, how);
    return 1;
}

int tutti_nodes_job_poll(struct tutti_nodes_job *job, struct tutti_comm *state, struct tutti_over_nodes_call *over,
                         int *code)
{
    const char *how = NULL;
    int status;
    if (over->at == TUTTI_OVER_NODES_NEW)
        (void)tutti_over_nodes_turn(state, &job->call, over);
    if (over->at == TUTTI_OVER_NODES_TURN && over->turn != TUTTI_NODES_TO_MPI) {
        const int fine = job_describe(job, over);
        if (fine < 0 && state->hierarchy)
            return job_end(job, tutti_over_nodes_move_break(state, fine), NULL, code);
        if (fine == 0)
            over->turn = TUTTI_NODES_TO_MPI;
    }
    const int done = tutti_over_nodes_poll(state, &job->call, over, job->mover.call->name, &status, &how);
    if (done == 0)
        return 0;
    over->at = TUTTI_OVER_NODES_NEW;
    return done < 0 ? done : job_end(job, status, how, code);
}

void tutti_nodes_job_close(struct tutti_nodes_job *job)
{
    if (!job)
        return;
    tutti_mover_close(&job->mover);
    free(job);
}
