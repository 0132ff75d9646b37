/* Producers of the ring: threads of a grid. */
#include "shmem_device/ring_host.h"

#include "shmem_device/cuda_messages.h"

static __device__ void wrong(const struct messages &m)
{
    tutti_dev_add32(m.wrong, 1);
}

static __global__ void __launch_bounds__(MESSAGES_THREADS) produce(struct messages m)
{
    const uint64_t p = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t random = random_mix(m.seed + p);
    for (uint64_t n = 0; n < m.each && tutti_dev_load_relaxed32(tutti_dev_state()->abort) == 0; n++) {
        struct tutti_dev_request r = ring_drawn(m.seed, p, n);
        const uint64_t chance = random_next(&random) % 1024;
        if (chance < 16) { /* carries and brings plain memory */
            m.sent[p] = n;
            tutti_dev_fence();
            const uint64_t value = tutti_dev_ring_call(&r);
            if (value != ring_answer(r.dest, r.source) || tutti_dev_load_relaxed64(&m.brought[p]) != ~value)
                wrong(m);
        } else if (!tutti_dev_ring_send(&r, 0)) {
            wrong(m);
        }
        if (chance == 16) {
            tshmem_quiet();
            if (tutti_dev_load_acquire64(&m.done[p]) != n + 1)
                wrong(m);
        }
    }
    tshmem_quiet();
    if (tutti_dev_load_acquire64(&m.done[p]) != m.each)
        wrong(m);
}

const void *const messages_kernel = (const void *)produce;

int messages_bind(const struct tshmem_state *state)
{
    return tshmem_bind_here(state);
}
