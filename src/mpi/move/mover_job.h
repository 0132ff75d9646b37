/* A collective that moves data as a job of its communicator's worker: nonblocking and persistent calls. The ranks
 * meet in the nonblocking team, in a fiber of the engine's thread, which does not call the MPI. All functions are
 * local, on threads of the program. */
#ifndef TUTTI_MPI_MOVER_JOB_H
#define TUTTI_MPI_MOVER_JOB_H

#include "mpi/comm/comms.h"
#include "mpi/move/collective.h"

struct tutti_mover_job;

/* The nonblocking team of a communicator whose ranks meet in moves; NULL, with the reason, if the MPI makes its
 * calls. `opening` of the team is NULL. */
struct tutti_team *tutti_mover_team_nonblocking(const struct tutti_comm *state);

/* Describes a call; its arguments, types and buffers must not change until close(). begins: 1: it begins now, if this
 * rank can take part; 0: in its turn, or as the ranks have agreed. NULL without memory. */
struct tutti_mover_job *tutti_mover_job_open(const struct tutti_collective_args *call, struct tutti_team *nonblocking,
                                             int begins);
/* The ranks have agreed that all take part in the call: this one also if all its blocks lie in memory of the host. */
void tutti_mover_job_join(struct tutti_mover_job *job);
/* For a call that finds the worker idle: 0 if this rank cannot take part; the reason is set. For other calls the
 * worker finds out in their turn. */
int tutti_mover_job_able(struct tutti_mover_job *job);
/* The same call once more, after the worker has made it: its description is still right, but what its memory is, the
 * worker finds out. */
void tutti_mover_job_again(struct tutti_mover_job *job, struct tutti_team *nonblocking);
/* For a call in which this rank cannot take part: announces it, so that the MPI makes it on all ranks. */
void tutti_mover_job_decline(const struct tutti_mover_job *job);
/* Gives the call to the worker, also if this rank cannot take part. A status, as of tutti_move_give(). */
int tutti_mover_job_give(struct tutti_mover_job *job, struct tutti_worker *worker);
/* 1 once the worker has ended the call. */
int tutti_mover_job_done(const struct tutti_mover_job *job);
/* Afterwards: 1 if Tutti has made the call, with MPI code *code; 0: the MPI must make it, for *reason. Counts the
 * former. */
int tutti_mover_job_result(const struct tutti_mover_job *job, int *code, enum tutti_reason *reason);
/* Frees the job, which the worker does not run. NULL does nothing. */
void tutti_mover_job_close(struct tutti_mover_job *job);

#endif
