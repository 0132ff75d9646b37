/*
 * Why a kernel has given up: a record that its first thread that fails fills, and that the host prints with the PE's
 * next call. The list of operations is that of the names in the message. Programs need none of it.
 */
#ifndef TUTTI_SHMEM_FAILURE_H
#define TUTTI_SHMEM_FAILURE_H

/* ROW(ID, name, word): the word is printed between the name and the PE that the call names. */
#define TSHMEM_KERNEL_OPERATIONS(ROW)                                                                                  \
    ROW(PUT, "tshmem_put", "to")                                                                                       \
    ROW(GET, "tshmem_get", "from")                                                                                     \
    ROW(PUT_BLOCKS, "tshmem_iput", "to")                                                                               \
    ROW(GET_BLOCKS, "tshmem_iget", "from")                                                                             \
    ROW(P, "tshmem_p", "to")                                                                                           \
    ROW(G, "tshmem_g", "from")                                                                                         \
    ROW(PUT_SIGNAL, "tshmem_put_signal", "to")                                                                         \
    ROW(SIGNAL, "tshmem_signal_set or tshmem_signal_add", "to")                                                        \
    ROW(AMO, "an atomic", "on")                                                                                        \
    ROW(CONTEXT, "a call with a context", "for")                                                                       \
    ROW(WAIT, "tshmem_wait_until", "for")                                                                              \
    ROW(SIGNAL_WAIT, "tshmem_signal_wait_until", "for")                                                                \
    ROW(QUIET, "tshmem_quiet, tshmem_fence or a barrier", "for")                                                       \
    ROW(REQUEST, "a request to the host", "for")                                                                       \
    ROW(BARRIER, "tshmem_sync or tshmem_barrier", "for")                                                               \
    ROW(BROADCAST, "tshmem_broadcast", "for")                                                                          \
    ROW(COLLECT, "tshmem_collect", "for")                                                                              \
    ROW(FCOLLECT, "tshmem_fcollect", "for")                                                                            \
    ROW(ALLTOALL, "tshmem_alltoall", "for")                                                                            \
    ROW(REDUCE, "a reduction", "for")                                                                                  \
    ROW(REDUCESCATTER, "a reducescatter", "for")                                                                       \
    ROW(SCAN, "a scan", "for")                                                                                         \
    ROW(GRID, "tutti_grid_reduce or tutti_grid_allreduce", "for")                                                      \
    ROW(STREAM, "a collective in a stream", "for")
enum tshmem_kernel_operation {
#define TSHMEM_KERNEL_OPERATION(id, name, word) TSHMEM_KERNEL_##id,
    TSHMEM_KERNEL_OPERATIONS(TSHMEM_KERNEL_OPERATION)
#undef TSHMEM_KERNEL_OPERATION
        TSHMEM_KERNEL_OPERATION_COUNT
};

enum tshmem_kernel_reason {
    TSHMEM_WHY_NOTHING,
    TSHMEM_WHY_NOT_SYMMETRIC, /* address, bytes */
    TSHMEM_WHY_NOT_GLOBAL,    /* address, bytes: of an atomic on memory of its own PE that is no global memory */
    TSHMEM_WHY_NO_PE,         /* pe */
    TSHMEM_WHY_NO_WAY,        /* pe: neither mapped nor reached by a ring */
    TSHMEM_WHY_NO_TEAM,       /* team */
    TSHMEM_WHY_NO_CONTEXT,    /* address: the handle */
    TSHMEM_WHY_NO_CONTEXT_PE, /* pe, team; bytes: PEs in the team */
    TSHMEM_WHY_NO_ROOT,       /* pe, team */
    TSHMEM_WHY_NO_OPERATION,  /* address: enum tshmem_type, bytes: enum tshmem_op */
    TSHMEM_WHY_NO_STRIDE,     /* bytes: the stride */
    TSHMEM_WHY_NO_WORK,       /* address, bytes: memory of a grid's reduction, or its arguments */
    TSHMEM_WHY_UNDER_WAY,     /* team: has another collective */
    TSHMEM_WHY_TOO_LONG,      /* pe: the member waited for, or -1; address: the word waited for, or NULL */
};

/* In few words: they are filled where registers are scarce. */
struct tshmem_failure {
    uint32_t taken, ready; /* taken: 1 from when a thread fills it; ready: 1 once all else is there */
    uint64_t call;         /* operation in 8 bits, reason in the next 8; from bit 32 on 10 bits each: thread x, y, z */
    uint64_t block;        /* z in 16 bits, y in the next 16, x above */
    uint64_t who;          /* team in 32 bits, PE above, -1: none. PE: of the world; with a team a member or its root */
    uint64_t address, bytes; /* what the reason says */
};

/* The abort word's lowest byte. Not zero: all waits in kernels of this PE leave. */
enum {
    TSHMEM_ABORT_TOLD = 1,   /* the host, or another PE */
    TSHMEM_ABORT_KERNEL = 2, /* a kernel, which fills the record before it continues */
    TSHMEM_ABORT_NO_WAY = 3, /* a collective of a kernel needs a PE that it does not reach: its number above */
    TSHMEM_ABORT_GRID = 4,   /* blocks of a grid waited for others that did not arrive */
};

#endif
