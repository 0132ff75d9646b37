/* A collective that moves data as a job of its communicator's worker: nonblocking and persistent calls. The ranks meet
 * in the nonblocking team, in a fiber of the engine's thread, which calls nothing of the MPI. All functions are local,
 * on threads of the program. */
#ifndef TUTTI_MPI_MOVER_JOB_H
#define TUTTI_MPI_MOVER_JOB_H

#include "mpi/comm/comms.h"
#include "mpi/move/collective.h"

struct tutti_mover_job;

/* The nonblocking team of a communicator whose ranks meet in moves; NULL where its calls are simply the MPI's, and why.
 * Its `opening` is NULL. */
struct tutti_team *tutti_mover_team_nonblocking(const struct tutti_comm *state);

/* Describes a call, whose arguments, types and buffers stay until close(). NULL without memory. */
struct tutti_mover_job *tutti_mover_job_open(const struct tutti_collective_args *call, struct tutti_team *nonblocking);
/* The arguments lie elsewhere now. */
void tutti_mover_job_moved(struct tutti_mover_job *job, const struct tutti_collective_args *call);
/* Of a call before which no other is with the worker: 0 where this rank cannot take part; the reason is set. Of others
 * the worker finds it out when their turn has come. */
int tutti_mover_job_able(struct tutti_mover_job *job);
/* Then, of a call that this rank cannot take part in: announces it, so that the MPI has it on all ranks. */
void tutti_mover_job_decline(const struct tutti_mover_job *job);
/* Gives the call to the worker, also where this rank cannot take part. A status, as of tutti_move_give(). */
int tutti_mover_job_give(struct tutti_mover_job *job, struct tutti_worker *worker);
/* 1 where the worker is through with it. */
int tutti_mover_job_done(const struct tutti_mover_job *job);
/* Then: 1 where Tutti has made the call, with MPI code *code; 0: it is the MPI's, for *reason. Counts the former. */
int tutti_mover_job_result(const struct tutti_mover_job *job, int *code, enum tutti_reason *reason);
/* Not while the worker has it. Takes NULL. */
void tutti_mover_job_close(struct tutti_mover_job *job);

#endif
