#include "device/host/places.h"

#include <pthread.h>

#include "core/clock.h"
#include "core/once.h"
#include "core/settings.h"
#include "device/host/gpus.h"

enum { GPUS = TUTTI_HOST_GPUS_MOST, LOOK_NS = 500000 };

/* The last pool is that of streams of no GPU in particular. */
static struct pool {
    pthread_cond_t given;
    unsigned held;
} pools[GPUS + 1];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_once places_once = TUTTI_ONCE_INIT;

static void make_pools(void)
{
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    for (int gpu = 0; gpu <= GPUS; gpu++)
        pthread_cond_init(&pools[gpu].given, &steady);
    pthread_condattr_destroy(&steady);
}

unsigned tutti_host_places(void)
{
    return (unsigned)tutti_settings()->host_blocks;
}

int tutti_host_waits(enum tutti_kernel kernel)
{
    return kernel != TUTTI_KERNEL_DIRECT && kernel != TUTTI_KERNEL_AMO && kernel != TUTTI_KERNEL_UPDATE;
}

static struct pool *pool_of(const struct tutti_work *work)
{
    return &pools[work->gpu >= 0 && work->gpu < GPUS ? work->gpu : GPUS];
}

/* 1 if the launch must not go on waiting: what kernels look at while they wait for peers. */
static int must_leave(const struct tutti_work *work, uint64_t waited)
{
    const int lane = work->kind == TUTTI_WORK_LANE, flow = work->is_flow;
    const volatile uint32_t *abort = lane ? work->lane.abort : flow ? work->flow.abort : work->args.abort;
    const uint64_t most = lane ? work->lane.timeout_ns : flow ? work->flow.timeout_ns : work->args.timeout_ns;
    int (*const look)(void *) = lane ? work->lane.host_wait : flow ? work->flow.host_wait : work->args.host_wait;
    void *const with = lane ? work->lane.host_wait_with : flow ? work->flow.host_wait_with : work->args.host_wait_with;
    return __atomic_load_n(abort, __ATOMIC_RELAXED) || (most && waited > most) || (look && look(with));
}

static void wait_a_while(struct pool *pool)
{
    const uint64_t until = tutti_now_ns() + LOOK_NS;
    const struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    pthread_cond_timedwait(&pool->given, &lock, &at);
}

unsigned tutti_host_places_take(const struct tutti_work *work)
{
    const unsigned all = tutti_host_places();
    const unsigned need = work->kind == TUTTI_WORK_LAUNCH ? work->places : work->blocks;
    unsigned held = 0;
    if (all == 0 || (work->kind == TUTTI_WORK_LAUNCH && !tutti_host_waits((enum tutti_kernel)work->kernel)))
        return 0;
    tutti_once(&places_once, make_pools);
    struct pool *const pool = pool_of(work);
    const uint64_t start = tutti_now_ns();
    pthread_mutex_lock(&lock);
    for (int leaves = 0; held < need && !leaves;) {
        if (pool->held < all) {
            pool->held++;
            held++;
            continue;
        }
        wait_a_while(pool);
        if (pool->held < all)
            continue;
        pthread_mutex_unlock(&lock); /* the look may take locks, log and sleep */
        leaves = must_leave(work, tutti_now_ns() - start);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return held;
}

void tutti_host_places_give(const struct tutti_work *work, unsigned held)
{
    if (held == 0)
        return;
    struct pool *const pool = pool_of(work);
    pthread_mutex_lock(&lock);
    pool->held -= held;
    pthread_cond_broadcast(&pool->given);
    pthread_mutex_unlock(&lock);
}
