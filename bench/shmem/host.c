/* The kernels of this library on the host device, where a kernel is a function that one thread calls. */
#include "bench/shmem/host.h"

/* What the kernel finds: of the call. */
static const struct tshmem_state *state_of_call;
#define TSHMEM_STATE() state_of_call
#include "core/clock.h"
#include "examples/kernels/grid.h"

#define SHARED
#define GAS_SHARED 1

DEVICE uint64_t clock_ns(void)
{
    return tutti_now_ns();
}

#include "bench/shmem/tutti_calls.h"

#include "bench/shmem/calls.inc"
#include "bench/shmem/latency.inc"

double gas_host_run(const struct gas_call *call, unsigned grid, unsigned group, double seconds)
{
    uint64_t begin = 0, end = 0;
    struct gas_call c = *call;
    (void)grid, (void)group, (void)seconds; /* waits are bounded by the address space itself */
    state_of_call = call->state;
    c.begin = &begin;
    c.end = &end;
    gas_kernels_of[c.operation](c);
    const unsigned timed = c.rounds - c.rounds / 5;
    return (double)(end - begin) / timed;
}
