/* Reductions and scans in the order of a stream. */
#define SHMEM_ON_STREAM
#include "shmem/reduce.c"
