/* Every way to put and get in the order of a stream. */
#define SHMEM_ON_STREAM
#include "shmem/rma.c"
