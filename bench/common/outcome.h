/* The outcome of calls, read from the library's counters. */
#ifndef TUTTI_BENCH_OUTCOME_H
#define TUTTI_BENCH_OUTCOME_H

#include <stddef.h>

/* Calls between the two functions are counted; the outcome of those whose name has `call` ("_Reduce") behind MPI or
 * MPIX. */
void bench_outcome_begin(void);
void bench_outcome_end(const char *call, char *name, size_t size, int *accelerated);
/* How often the library has counted since the former of the two: of the rows that begin with `row`, as in
 * "packing kernels|launched". */
unsigned long bench_outcome_counted(const char *row);
/* The same for calls that send messages, of all ranks (collective): "direct", or "direct 36, staged 16" if they went
 * in several ways; mpi: the MPI's name for it. */
void bench_outcome_messages(const char *call, char *text, size_t size);

#endif
