/* What became of calls, asked of the library's counters. */
#ifndef TUTTI_BENCH_OUTCOME_H
#define TUTTI_BENCH_OUTCOME_H

#include <stddef.h>

/* Calls between the two are counted; what became of those whose name has `call` ("_Reduce") behind MPI or MPIX. */
void bench_outcome_begin(void);
void bench_outcome_end(const char *call, char *name, size_t size, int *accelerated);
/* The same of calls that send messages, of all ranks (collective): "direct", or "direct 36, staged 16" where they went
 * in several ways; mpi: as the MPI does it. */
void bench_outcome_messages(const char *call, char *text, size_t size);

#endif
