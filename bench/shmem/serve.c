#include "serve.h"

#include <pthread.h>
#include <stdatomic.h>

#include "shmem/ring/proxy.h"
#include "support/cuda_device.h"

static struct tutti_proxy proxy;
static atomic_int ending;
static pthread_t thread;

size_t bench_serve_bytes(uint64_t slots)
{
    return tutti_ring_bytes(slots);
}

/* It spins, as the library's does while there is work. */
static void *run(void *unused)
{
    (void)unused;
    while (!atomic_load_explicit(&ending, memory_order_relaxed) && tutti_proxy_poll(&proxy) >= 0)
        ;
    return NULL;
}

int bench_serve(int gpu, struct tshmem_state *state, uint64_t slots, void *memory, struct tshmem_ring_own *own)
{
    proxy = (struct tutti_proxy){.state = state,
                                 .near = &tutti_near_device,
                                 .device = &cuda_device,
                                 .gpu = gpu,
                                 .memory = memory,
                                 .seen = memory};
    tutti_ring_lay(&proxy.ring, memory, slots, 0);
    tutti_ring_tell(&proxy.ring, memory, own, &state->ring);
    atomic_store(&ending, 0);
    return tutti_near_device.open(&proxy) == 0 && pthread_create(&thread, NULL, run, NULL) == 0 ? 0 : -1;
}

void bench_serve_end(void)
{
    atomic_store(&ending, 1);
    pthread_join(thread, NULL);
    tutti_near_device.close(&proxy);
}
