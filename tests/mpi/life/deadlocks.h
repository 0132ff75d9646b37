/* Calls that rank 0 is in while a nonblocking allreduce is open that the other ranks wait for first. */
#ifndef TESTS_MPI_STANDSTILL_H
#define TESTS_MPI_STANDSTILL_H

#include <mpi.h>

struct still_case {
    const char *name;
    int (*call)(MPI_Comm comm, int first); /* `first`: on rank 0, whose partners are late; 1: what was to be seen is */
    int all;                               /* 1: of all ranks; 0: of ranks 0 and 1 */
    int pair;                              /* 1: inside, two ranks wait for each other: there MPICH brings on no
                                              nonblocking collective, its own neither */
    int device;                            /* 1: not with mixed memory: some MPI makes no progress in it by itself */
};

/* deadlocks_alarm.c: a case begins; before the first one. A case that stands still ends the process with status 3. */
void still_begin(const char *name);
void still_watch(void);

/* deadlocks_reductions.c: reductions that Tutti leaves to the MPI. */
int still_reduce_nothing(MPI_Comm comm, int first);
int still_scatter_nothing(MPI_Comm comm, int first);
int still_reduce_by_own(MPI_Comm comm, int first);

/* deadlocks_calls.c: calls that name no communicator of all who come to them. */
extern const struct still_case still_calls[];
extern const int still_call_count;
/* Collective. What they need. */
void still_calls_open(void);
void still_calls_close(void);

#endif
