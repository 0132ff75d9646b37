/* Collectives that move data in the order of a stream. */
#define SHMEM_ON_STREAM
#include "shmem/collect.c"
