/* What the kernel of the global address space in stream order is given: plain C, the same bytes for every device. See
 * shmem.inc. */
#ifndef TUTTI_KERNELS_SHMEM_ARGS_H
#define TUTTI_KERNELS_SHMEM_ARGS_H

#include "tutti/shmem_state.h"

enum {
    TUTTI_SHMEM_THREADS = 512,
    TUTTI_SHMEM_BLOCKS = 64
}; /* of a block; of MOVE, at most. The others have one block */

enum tutti_shmem_what {
    /* A collective of several launches: ENTER, then MOVE or other kernels, MEET between those that are not to run at
     * once on different PEs, and LEAVE. */
    TUTTI_SHMEM_DO_ENTER,
    TUTTI_SHMEM_DO_MEET,
    TUTTI_SHMEM_DO_LEAVE,
    TUTTI_SHMEM_DO_MOVE, /* `part` of the next three, without meetings, by all blocks */
    /* A whole collective. */
    TUTTI_SHMEM_DO_BROADCAST,
    TUTTI_SHMEM_DO_FCOLLECT,
    TUTTI_SHMEM_DO_ALLTOALL,
    TUTTI_SHMEM_DO_COLLECT,
    TUTTI_SHMEM_DO_SYNC,
    TUTTI_SHMEM_DO_REDUCE,
    TUTTI_SHMEM_DO_REDUCESCATTER,
    TUTTI_SHMEM_DO_INSCAN,
    TUTTI_SHMEM_DO_EXSCAN,
    /* Local. */
    TUTTI_SHMEM_DO_WAIT /* until the word at source compares with `value` */
};

struct tutti_shmem_args {
    struct tshmem_state state; /* `area` is that of calls in stream order, where they count apart from others */
    uint32_t what, part;
    int32_t team, root, comparison;
    int32_t type, op; /* enum tshmem_type, tshmem_op */
    uint32_t blocks;  /* as launched */
    uint64_t n;       /* bytes, of reductions elements */
    uint64_t value;
    void *dest; /* symmetric, own */
    const void *source;
    uint32_t *error; /* host memory; not NULL. Set where it fails: what << 8 | -status */
};

#endif
