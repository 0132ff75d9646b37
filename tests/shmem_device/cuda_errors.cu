/* What cannot be done is an error, and leaves: errors.c in kernels of ERRORS_BLOCKS blocks a PE, of which one makes the calls
 * that are a block's. */
#define CUDA_KERNELS
#include "shmem_device/cuda_pes.h"

#include "tutti/device.h"

#include "shmem_device/cuda_errors.h"

/* Two blocks of one PE in a collective of one team: the second one to come is refused. The first block is in it until then. */
static __device__ int two_at_once(struct program_heap *heap)
{
    uint64_t *const told = &heap->counters[0];
    if (blockIdx.x == 0) {
        struct tutti_dev_meeting first;
        const int status = tutti_dev_enter(&first, TSHMEM_KERNEL_BARRIER, TUTTI_BY_BLOCK, 0);
        if (threadIdx.x == 0)
            tutti_dev_signal(told, 1, TSHMEM_SIGNAL_SET, tshmem_my_pe());
        return status != 0 ? 99 : 0;
    }
    tshmem_signal_wait_until_block(told, TSHMEM_CMP_EQ, 1);
    return tshmem_barrier_block(0);
}

/* The handle of a context of this PE, or of one so many turns later. */
static __device__ tshmem_ctx_t a_context(uint64_t later)
{
    const uint64_t *const words = tutti_dev_state()->context;
    unsigned number = 1;
    while (words[number] == 0 && number < TSHMEM_CONTEXTS_MAX - 1)
        number++;
    return (tshmem_ctx_t)(((words[number] >> 32) + later) << TSHMEM_CONTEXT_BITS | (number + 1));
}

static __device__ int one_block(struct program_heap *heap, int pe, int which)
{
    char own[16] = "";
    switch (which) {
    case NO_SUCH_PE:
        tshmem_putmem_block(heap->out, heap->in, sizeof own, 2);
        if (threadIdx.x == 0)
            tshmem_int_p((int *)(void *)heap->out, 1, -1);
        return 0;
    case NOT_SYMMETRIC:
        if (threadIdx.x < 32)
            tshmem_getmem_warp(own, own, sizeof own, 1 - pe); /* of its own, a PE may read what it can load */
        return 0;
    case NO_WAY:
        if (threadIdx.x == 0)
            tshmem_long_atomic_inc((long *)(void *)heap->out, 1 - pe);
        return 0;
    case NO_CONTEXT:
        tshmem_ctx_putmem_block(a_context(0), heap->out, heap->in, sizeof own, 0);
        if (tutti_dev_load_relaxed32(tutti_dev_state()->abort) != 0)
            tutti_dev_die();
        tshmem_ctx_putmem_block(a_context(1), heap->out, heap->in, sizeof own, 0);
        return 0;
    case NO_TEAM:
        return tshmem_barrier_block(7);
    case NO_ROOT:
        return tshmem_broadcastmem_block(0, heap->out, heap->in, 8, 2);
    case NO_OPERATION:
        return tutti_shmem_reduce_block(0, heap->out, heap->in, 8, TSHMEM_ID_FLOAT, TSHMEM_OP_XOR);
    case TOO_LONG:
        return tshmem_fcollectmem_block(0, heap->out, heap->in, sizeof *heap);
    case ABSENT:
        return pe == 1 ? -1 : tshmem_barrier_block(0);
    case SILENT:
        tshmem_signal_wait_until_block(&heap->signals[0][0], TSHMEM_CMP_NE, 0);
        return 0;
    default: /* ABORTED */
        if (pe == 0)
            tshmem_ulong_wait_until_block((unsigned long *)&heap->signals[0][0], TSHMEM_CMP_NE, 0);
        return 0;
    }
}

static __global__ void __launch_bounds__(ERRORS_THREADS) run(const struct tshmem_state *state, struct program_heap *heap,
                                                             int which, int *status)
{
    cuda_pe_is(state);
    const int pe = state->me;
    int result = 0, teller = blockIdx.x == 0 && threadIdx.x == 0;
    if (which == NO_WORK) {
        const struct tutti_grid_work work = {heap->in, 64};
        float value = 1;
        result = tutti_grid_allreduce(0, TUTTI_GRID_REGISTERS, &value, &value, 1, TSHMEM_ID_FLOAT, TSHMEM_OP_SUM,
                                      TUTTI_GRID_AUTO, &work);
    } else if (which == MISSING) {
        result = pe == 1 ? -1 : tutti_grid_barrier(0);
    } else if (which == TWO_AT_ONCE) {
        result = two_at_once(heap);
        teller = blockIdx.x == 1 && threadIdx.x == 0;
    } else if (blockIdx.x == 0) {
        result = one_block(heap, pe, which);
    }
    if (teller)
        *status = result;
}

const void *const cuda_errors_kernel = (const void *)run;
