/* The machine of the host device: PEs and blocks are threads of this process, and a heap is ordinary memory. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "core/clock.h"
#include "serve.h"
#include "shmem/proxy/proxy.h"

static _Thread_local const struct tshmem_state *bench_here;
static _Thread_local int own_block, all_blocks;
#define TSHMEM_STATE() bench_here
#define TSHMEM_KERNELS
#include "tutti/device.h"

#define KERNEL             static void
#define DEVICE             static
#define IN_FORM(call, ...) (void)call##_block(__VA_ARGS__)

static int block(void)
{
    return own_block;
}
static int blocks(void)
{
    return all_blocks;
}
static int thread(void)
{
    return 0;
}
static void block_sync(void)
{
}
static uint64_t clock_ns(void)
{
    return tutti_now_ns();
}

#include "calls.inc"

enum { SLOTS = 4096 };

struct launched {
    pthread_t thread;
    struct bench_call call;
    int pe, block, blocks;
};

static struct tshmem_state states[BENCH_PES];
static struct tshmem_team_state teams[BENCH_PES][TSHMEM_TEAMS_MAX];
static struct bench_heap *heap[BENCH_PES];
static uint64_t begin_ns[BENCH_PES][BENCH_BLOCKS], end_ns[BENCH_PES][BENCH_BLOCKS];
static uint64_t *begins[] = {begin_ns[0], begin_ns[1]}, *ends[] = {end_ns[0], end_ns[1]};
static unsigned wrong;
static uint32_t aborted[BENCH_PES];
static struct launched launched[BENCH_PES * BENCH_BLOCKS];
static int running;
static void *ring_memory;
static struct tutti_ring_counters own;

static void host_fill(int pe, size_t at, const void *from, size_t bytes)
{
    if (from)
        memcpy((char *)heap[pe] + at, from, bytes);
    else
        memset((char *)heap[pe] + at, 0, bytes);
}

static void host_fetch(int pe, size_t at, void *to, size_t bytes)
{
    memcpy(to, (const char *)heap[pe] + at, bytes);
}

static void host_filled(void)
{
}

static void host_bind(int pe)
{
    (void)pe; /* threads read states[] */
}

static void *host_body(void *argument)
{
    const struct launched *const me = argument;
    bench_here = &states[me->pe];
    own_block = me->block;
    all_blocks = me->blocks;
    bench_kernel(me->call);
    return NULL;
}

static void host_launch(int pe, struct bench_call *call, unsigned n, unsigned threads)
{
    (void)threads;
    for (unsigned b = 0; b < n; b++) {
        struct launched *const one = &launched[running];
        one->call = *call;
        one->pe = pe;
        one->block = (int)b;
        one->blocks = (int)n;
        if (pthread_create(&one->thread, NULL, host_body, one) != 0)
            abort();
        running++;
    }
}

/* Waits in kernels are bounded by the state. */
static void host_join(void)
{
    while (running > 0)
        pthread_join(launched[--running].thread, NULL);
}

extern const struct tutti_shmem_kind tutti_shmem_host; /* kind.h has the host's calls, this file the kernels' */

static void near_host(struct tutti_proxy *proxy)
{
    proxy->near = &tutti_near_host;
    proxy->kind = &tutti_shmem_host;
}

static int ring_open(void)
{
    memset(&own, 0, sizeof own);
    ring_memory = aligned_alloc(4096, bench_serve_bytes(SLOTS));
    return !ring_memory || bench_serve(near_host, -1, &states[0], SLOTS, ring_memory, &own) != 0;
}

static void ring_close(void)
{
    bench_serve_end();
    free(ring_memory);
}

int main(int argc, char **argv)
{
    static const struct bench_machine machine = {.states = states,
                                                 .heap = heap,
                                                 .begin_ns = begins,
                                                 .end_ns = ends,
                                                 .wrong = &wrong,
                                                 .aborted = aborted,
                                                 .fill = host_fill,
                                                 .fetch = host_fetch,
                                                 .filled = host_filled,
                                                 .bind = host_bind,
                                                 .launch = host_launch,
                                                 .join = host_join,
                                                 .ring_open = ring_open,
                                                 .ring_close = ring_close};
    for (int pe = 0; pe < BENCH_PES; pe++) {
        heap[pe] = aligned_alloc(4096, (sizeof *heap[pe] + 4095) / 4096 * 4096);
        if (!heap[pe])
            abort();
        memset(heap[pe], 0, sizeof *heap[pe]);
    }
    for (int pe = 0; pe < BENCH_PES; pe++)
        bench_state(&machine, pe, teams[pe]);
    printf("two PEs on the host device, %ld cores\n", sysconf(_SC_NPROCESSORS_ONLN));
    return bench_rows(&machine, argc, argv);
}
