#include "serve.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "shmem/ring/proxy.h"

enum { LOOKS = 64 };

static struct tutti_proxy proxy;
static atomic_int ending;
static pthread_t thread;

size_t bench_serve_bytes(uint64_t slots)
{
    return tutti_ring_bytes(slots);
}

/* It spins, as the library's does while there is work. On the host device kernels need cores too. */
static void *run(void *unused)
{
    int done = 0;
    unsigned idle = 0;
    (void)unused;
    while (!atomic_load_explicit(&ending, memory_order_relaxed) && (done = tutti_proxy_poll(&proxy)) >= 0) {
        idle = done > 0 ? 0 : idle + 1;
        if (!proxy.device && idle >= LOOKS)
            sched_yield();
    }
    return NULL;
}

int bench_serve(bench_near *near, int gpu, struct tshmem_state *state, uint64_t slots, void *memory,
                struct tshmem_ring_own *own)
{
    proxy = (struct tutti_proxy){.state = state, .gpu = gpu, .memory = memory, .seen = memory};
    near(&proxy);
    tutti_ring_lay(&proxy.ring, memory, slots, 0);
    tutti_ring_tell(&proxy.ring, memory, own, &state->ring);
    atomic_store(&ending, 0);
    return (!proxy.near->open || proxy.near->open(&proxy) == 0) && pthread_create(&thread, NULL, run, NULL) == 0 ? 0
                                                                                                                 : -1;
}

void bench_serve_end(void)
{
    atomic_store(&ending, 1);
    pthread_join(thread, NULL);
    if (proxy.near->close)
        proxy.near->close(&proxy);
}
