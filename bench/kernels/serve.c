#include "serve.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "shmem/proxy/proxy.h"

enum { LOOKS = 64 };

static struct tutti_proxy proxy;
static struct tutti_ring_server server;
static atomic_int ending;
static pthread_t thread;

size_t bench_serve_bytes(uint64_t slots)
{
    return tutti_ring_bytes(slots);
}

/* It spins, as the library's does while there is work. On the host device kernels need cores too. */
static void *serve_run(void *unused)
{
    int done = 0;
    unsigned idle = 0;
    (void)unused;
    while (!atomic_load_explicit(&ending, memory_order_relaxed) && (done = tutti_ring_server_poll(&server)) >= 0) {
        idle = done > 0 ? 0 : idle + 1;
        if (!proxy.device && idle >= LOOKS)
            sched_yield();
    }
    return NULL;
}

int bench_serve(bench_near *near, int gpu, struct tshmem_state *state, uint64_t slots, void *memory,
                struct tutti_ring_counters *own)
{
    proxy = (struct tutti_proxy){.state = state, .gpu = gpu};
    near(&proxy);
    server = (struct tutti_ring_server){.owner = {.name = "the bench", .abort = state->abort}};
    tutti_ring_init(&server.ring, memory, slots, 0);
    const struct tutti_ring_kernel_view view = tutti_ring_kernel_view(&server.ring, memory, own);
    tutti_proxy_publish(&view, &state->ring);
    atomic_store(&ending, 0);
    return tutti_proxy_open(&proxy, &server) == 0 && pthread_create(&thread, NULL, serve_run, NULL) == 0 ? 0 : -1;
}

void bench_serve_end(void)
{
    atomic_store(&ending, 1);
    pthread_join(thread, NULL);
    tutti_proxy_close(&proxy);
}
