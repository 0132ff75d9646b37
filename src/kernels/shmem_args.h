/* What the kernel of the global address space in stream order is given: plain C, the same bytes for every device. See
 * shmem.inc. */
#ifndef TUTTI_KERNELS_SHMEM_ARGS_H
#define TUTTI_KERNELS_SHMEM_ARGS_H

#include "tutti/shmem_state.h"

enum {
    TUTTI_SHMEM_THREADS = 512,
    TUTTI_SHMEM_BLOCKS = 64
}; /* of a block; of a launch, at most. Those from BROADCAST to EXSCAN, without COLLECT and SYNC, may have several */

enum tutti_shmem_what {
    /* A collective of several launches: ENTER, then other kernels, MEET between those that are not to run at once on
     * different PEs, and LEAVE. */
    TUTTI_SHMEM_DO_ENTER,
    TUTTI_SHMEM_DO_MEET,
    TUTTI_SHMEM_DO_LEAVE,
    /* A whole collective. */
    TUTTI_SHMEM_DO_BROADCAST,
    TUTTI_SHMEM_DO_FCOLLECT,
    TUTTI_SHMEM_DO_ALLTOALL,
    TUTTI_SHMEM_DO_ALLTOALLS, /* n elements of `size` bytes a PE, dst and sst apart */
    TUTTI_SHMEM_DO_COLLECT,
    TUTTI_SHMEM_DO_SYNC,
    TUTTI_SHMEM_DO_REDUCE,
    TUTTI_SHMEM_DO_REDUCESCATTER,
    TUTTI_SHMEM_DO_INSCAN,
    TUTTI_SHMEM_DO_EXSCAN,
    /* Local. */
    TUTTI_SHMEM_DO_SIGNAL_WAIT, /* the same as WAIT, with a name of its own in error messages */
    TUTTI_SHMEM_DO_WAIT, /* for words, or a test of them, as `op` says: n words of `type` at source, but those whose
                            STATUS is not 0, that compare with `value`, or each with its own of VALUES; what was
                            found goes to ANSWER and INDICES */
    TUTTI_SHMEM_DO_AMO,  /* `op` on the word of `size` bytes of dest at `pe`; `element`: its value, and what is
                            compared; its old value is stored into ANSWER, if there is one */
    TUTTI_SHMEM_DO_P,    /* `element`, of `size` bytes, into dest at `pe` */
    TUTTI_SHMEM_DO_PUT_BLOCKS, /* n blocks of `block` elements of `size` bytes, dst and sst apart: of BLOCKS to dest
                                  at `pe` */
    TUTTI_SHMEM_DO_GET_BLOCKS, /* the same: of source at `pe` to BLOCKS */
    TUTTI_SHMEM_DO_ASK,   /* copies the runs `before`, puts `asked` into the ring; part 1: waits until it is done, and
                             copies the runs `after` */
    TUTTI_SHMEM_DO_QUIET, /* waits for all that is in the ring; part 1: once `asked` is done */
    TUTTI_SHMEM_DO_FENCE  /* the same, with a name of its own in error messages */
};

/* What of this GPU's memory a call is given besides symmetric objects. */
enum tutti_shmem_own {
    TUTTI_SHMEM_OWN_BLOCKS,
    TUTTI_SHMEM_OWN_STATUS,  /* int */
    TUTTI_SHMEM_OWN_VALUES,  /* of the type of the words */
    TUTTI_SHMEM_OWN_INDICES, /* size_t */
    TUTTI_SHMEM_OWN_ANSWER,  /* of 4 or 8 bytes, as args says */
    TUTTI_SHMEM_OWNS
};

/* A request as it goes into the ring, see tutti/shmem_state.h. */
struct tutti_shmem_asked {
    uint64_t dest, source, bytes, value, compare, extra;
    int32_t operation, what, pe;
    uint32_t size;
};

/* Bytes that the kernel copies beside what it asks for, between any memory that it reaches. */
enum { TUTTI_SHMEM_RUNS = 8 };
struct tutti_shmem_run {
    void *to;
    const void *from;
    uint64_t bytes;
};
struct tutti_shmem_runs {
    uint32_t before, after; /* the first ones, the last ones */
    struct tutti_shmem_run run[TUTTI_SHMEM_RUNS];
};

struct tutti_shmem_args {
    struct tshmem_state state; /* `area` is that of calls in stream order, where they count apart from others */
    uint32_t what, part;
    int32_t team, root, comparison;
    int32_t type, op; /* enum tshmem_type, tshmem_op; op of WAIT: TSHMEM_WAIT_..., of AMO: enum tshmem_amo */
    uint32_t blocks;  /* as launched */
    uint64_t n;       /* bytes, of reductions elements */
    uint64_t value;
    void *dest; /* symmetric, own */
    const void *source;
    int32_t pe;
    uint32_t size;
    int64_t dst, sst;
    uint64_t block;
    uint64_t element[2];
    struct {
        void *at; /* NULL: nothing */
        uint64_t bytes;
    } own[TUTTI_SHMEM_OWNS];
    struct tutti_shmem_asked asked;
    struct tutti_shmem_runs runs; /* of ASK */
    uint32_t *error;              /* host memory; not NULL. Set where it fails: what << 8 | -status */
};

#endif
