/* What cannot be done, on a GPU. Known by C and CUDA. */
#ifndef TUTTI_TESTS_SHMEM_CUDA_ERRORS_H
#define TUTTI_TESTS_SHMEM_CUDA_ERRORS_H

#include "shmem_device/program.h"

enum {
    NO_SUCH_PE,
    NOT_SYMMETRIC,
    NO_WAY,     /* a PE that loads and stores do not reach */
    NO_CONTEXT, /* the handle of one that has ended */
    NO_TEAM,
    NO_ROOT,
    NO_OPERATION,
    NO_WORK,
    TOO_LONG, /* a collective past the end of the heap */
    TWO_AT_ONCE,
    ABSENT,  /* PE 1 does not come */
    MISSING, /* its grid does not */
    SILENT,  /* nobody signals */
    ABORTED, /* the host says so while PE 0 waits */
    WHICH
};
enum { ERRORS_BLOCKS = 2, ERRORS_THREADS = 64 };

/* (const struct tshmem_state *state, struct program_heap *heap, int which, int *status): status: of this PE, pinned. */
#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const void *const cuda_errors_kernel;

#endif
