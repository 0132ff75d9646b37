/* The kernels of this library, as a library that the ranks of the bench open: its state comes from the address space
 * that they make. */
#include "cuda.h"

#include "tutti_calls.h"

#include "calls.inc"
#include "latency.inc"

static int cuda_open(const void *unique, int pe, int pes, int gpu, size_t bytes)
{
    (void)unique, (void)pe, (void)pes, (void)bytes;
    return gas_cuda_open(gpu, gas_kernels_of);
}

/* What kernels find from now on. */
static int take(const struct tshmem_state *state)
{
    static struct tshmem_state taken;
    if (memcmp(&taken, state, sizeof taken) == 0)
        return 0;
    taken = *state;
    return tshmem_bind_here(state);
}

static double run(const struct gas_call *call, unsigned blocks, unsigned threads, double seconds)
{
    if (take(call->state) != 0)
        return -1;
    return gas_cuda_run(gas_kernels_of[call->operation], call, blocks, threads, seconds);
}

static struct gas_side make(void)
{
    struct gas_side side = {};
    side.name = "tutti";
    side.groups = 1;
    side.open = cuda_open;
    side.run = run;
    return side;
}

extern "C" __attribute__((visibility("default"))) const struct gas_side tutti_bench_gas_side;
const struct gas_side tutti_bench_gas_side = make();
