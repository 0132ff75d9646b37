#ifndef TUTTI_TESTS_COUNTERS_H
#define TUTTI_TESTS_COUNTERS_H

/* Accelerated calls of MPI_Allreduce of this process so far. Needs TUTTI_STATS=1. */
int counted(void);

#endif
