/* Reductions and barriers of a grid: the kernel of one type (cuda_grid.h). */
#define CUDA_KERNELS
#include "shmem_device/cuda_pes.h"

#include "tutti/device.h"

#include "shmem_device/cuda_grid.h"

enum { SHARED_BYTES = 20 * 1024 };

/* A function of its own, which the compiler works on once for all places of the operands. */
static __device__ __noinline__ int reduce(const struct grid_case &c, void *dest, const void *source,
                                          const struct tutti_grid_work &work)
{
    return c.root < 0 ? tutti_grid_allreduce(c.team, c.where, dest, source, c.n, GRID_TYPE, c.op, c.strategy, &work)
                      : tutti_grid_reduce(c.team, c.where, dest, source, c.n, GRID_TYPE, c.op, c.root, c.strategy, &work);
}

static __device__ int by_shared(const struct grid_case &c, char *dest, const char *source, size_t bytes,
                                const struct tutti_grid_work &work)
{
    __shared__ __align__(16) char in[SHARED_BYTES], out[SHARED_BYTES];
    char *const result = c.in_place ? in : out;
    const size_t at = tutti_dev_block() * c.n * bytes;
    tutti_dev_copy(TUTTI_BY_BLOCK, in, source + at, c.n * bytes);
    __syncthreads();
    const int status = reduce(c, result, in, work);
    __syncthreads();
    if (c.root < 0 || c.root == tshmem_my_pe())
        tutti_dev_copy(TUTTI_BY_BLOCK, dest + at, result, c.n * bytes);
    __syncthreads();
    return status;
}

static __device__ int by_registers(const struct grid_case &c, char *dest, const char *source, size_t bytes,
                                   const struct tutti_grid_work &work)
{
    __align__(16) char in[GRID_OF_THREAD * 16], out[GRID_OF_THREAD * 16];
    char *const result = c.in_place ? in : out;
    const size_t at = tutti_dev_rank(TUTTI_BY_GRID) * c.n * bytes;
    tutti_dev_copy(TUTTI_BY_THREAD, in, source + at, c.n * bytes);
    const int status = reduce(c, result, in, work);
    if (c.root < 0 || c.root == tshmem_my_pe())
        tutti_dev_copy(TUTTI_BY_THREAD, dest + at, result, c.n * bytes);
    return status;
}

static __global__ void __launch_bounds__(256) run(struct grid_case c, const struct tshmem_state *state,
                                                  struct program_heap *heap)
{
    cuda_pe_is(state);
    const struct tutti_grid_work work = {heap->in, sizeof heap->in};
    const size_t bytes = tutti_dev_type_size(GRID_TYPE);
    int wrong = 0;
    for (int again = 0; again < GRID_CALLS; again++) {
        char *const source = heap->gotten + again * GRID_PITCH;
        char *const dest = c.in_place && c.where == TUTTI_GRID_GLOBAL ? source : heap->out + again * GRID_PITCH;
        wrong += (c.where == TUTTI_GRID_GLOBAL   ? reduce(c, dest, source, work)
                  : c.where == TUTTI_GRID_SHARED ? by_shared(c, dest, source, bytes, work)
                                                 : by_registers(c, dest, source, bytes, work)) != 0;
    }
    wrong += tutti_grid_barrier(c.team) != 0;
    if (wrong)
        atomicAdd((unsigned *)heap->results, (unsigned)wrong);
}

extern "C" const struct cuda_grid GRID_NAME;
const struct cuda_grid GRID_NAME = {(const void *)run, GRID_TYPE};

#if GRID_IMAGE == 0
static __global__ void probe(uint32_t *came, uint32_t all, uint32_t *gave_up)
{
    if (blockIdx.x != 0 || threadIdx.x != 0)
        return;
    const uint64_t start = tutti_dev_clock_ns();
    tutti_dev_add32(came, 1);
    while (tutti_dev_load_acquire32(came) < all) {
        if (tutti_dev_clock_ns() - start > 500000000) {
            tutti_dev_add32(gave_up, 1);
            return;
        }
    }
}

const void *const cuda_grid_probe = (const void *)probe;
#endif
