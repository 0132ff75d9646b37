#include "lane_streams.h"

#include <stdatomic.h>
#include <unistd.h>

#include "core/clock.h"

enum { BLOCKS = 48 };
static const uint64_t limit_ns = 60000000000u;
static _Atomic uint64_t began; /* the first look since the last run of all */

int lane_rank_look(void *with)
{
    (void)with;
    return tutti_now_ns() - began > limit_ns;
}

struct block {
    const struct tutti_lane_args *args;
    unsigned number;
};

static void *run_block(void *with)
{
    const struct block *const block = with;
    if ((block->number * 7 + block->args->bytes) % 5 == 0)
        usleep(100); /* some begin late */
    tutti_lane_host_block(block->args, block->number);
    return NULL;
}

static void run_launch(const struct tutti_lane_args *args)
{
    pthread_t thread[BLOCKS];
    struct block block[BLOCKS];
    for (unsigned b = 0; b < args->blocks; b++) {
        block[b] = (struct block){args, b};
        if (b > 0)
            pthread_create(&thread[b], NULL, run_block, &block[b]);
    }
    run_block(&block[0]);
    for (unsigned b = 1; b < args->blocks; b++)
        pthread_join(thread[b], NULL);
}

static void rank_set(struct lane_rank *me, unsigned *word, unsigned value)
{
    pthread_mutex_lock(&me->lock);
    *word = value;
    pthread_cond_broadcast(&me->changed);
    pthread_mutex_unlock(&me->lock);
}

/* Waits until *word is above `value`; 0 if the rank is closed before. */
static int rank_await(struct lane_rank *me, const unsigned *word, unsigned value)
{
    pthread_mutex_lock(&me->lock);
    while (*word <= value && !me->closed)
        pthread_cond_wait(&me->changed, &me->lock);
    const int is = *word > value;
    pthread_mutex_unlock(&me->lock);
    return is;
}

static void *run_beside(void *with)
{
    struct lane_rank *const me = with;
    const uint32_t first = me->starts.launched;
    struct tutti_lane_args args = me->launch[0];
    args.what = TUTTI_LANE_BESIDE;
    args.blocks = 1;
    args.reports = NULL;
    args.awaited = args.announced = 0;
    for (unsigned n = 0; rank_await(me, &me->beside, n); n++) {
        args.launch = first + n + 1;
        (void)rank_await(me, &me->passed, me->behind[n]);
        run_launch(&args);
    }
    return NULL;
}

static void *run_stream(void *with)
{
    struct lane_rank *const me = with;
    struct tutti_lane_area *const own = (struct tutti_lane_area *)(void *)me->area;
    for (unsigned i = 0; i < me->launches; i++) {
        (void)rank_await(me, &me->enqueued, i);
        if (me->announced[i])
            __atomic_store_n(&own->reached, own->reached + 1, __ATOMIC_RELEASE);
        else
            run_launch(&me->launch[i]);
        if (me->of[i] >= 0)
            me->reported[i] = me->reports[0];
        rank_set(me, &me->passed, i + 1);
    }
    return NULL;
}

/* The host launches beside the stream, behind launch i. */
static void host_fork(struct lane_rank *me, unsigned i)
{
    me->starts.first[(me->starts.launched + 1) % TUTTI_LANE_STARTS] =
        me->starts.announced - (uint32_t)me->announced[i];
    __atomic_store_n(&me->starts.launched, me->starts.launched + 1, __ATOMIC_SEQ_CST);
    me->behind[me->beside] = i;
    rank_set(me, &me->beside, me->beside + 1);
}

static void host_describe(struct lane_rank *me, const struct tutti_lane_args *args)
{
    struct tutti_lane_start *const start = &me->starts.start[me->starts.announced % TUTTI_LANE_STARTS];
    *start = (struct tutti_lane_start){
        .message =
            {.op = args->op, .send = args->send, .peer = args->peer, .from = args->buffer, .bytes = args->bytes},
        .lane = args->lane,
        .any = args->any};
    for (unsigned peer = 0; peer < me->ranks; peer++)
        start->accepts[peer] = args->accepts[peer];
}

/* The calls of the program. */
static void run_host(struct lane_rank *me)
{
    int since = 0; /* 1: a launch beside the stream was made behind the last wait */
    for (unsigned i = 0; i < me->launches; i++) {
        const struct tutti_lane_args *const args = &me->launch[i];
        if ((me->draws * 13 + i * 7) % 11 == 0)
            usleep(50 * (me->draws % 7)); /* sometimes the stream is behind the host, sometimes not */
        if (me->announced[i])
            host_describe(me, args);
        rank_set(me, &me->enqueued, i + 1);
        if (me->announced[i]) {
            __atomic_store_n(&me->starts.announced, me->starts.announced + 1, __ATOMIC_SEQ_CST);
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
        }
        since = args->what == TUTTI_LANE_WAIT ? 0 : since;
        if (args->what != TUTTI_LANE_POST ||
            (me->announced[i] && since && __atomic_load_n(&me->starts.left, __ATOMIC_SEQ_CST) != me->starts.launched))
            continue;
        since = 1;
        host_fork(me, i);
    }
}

void *lane_rank_run(void *with)
{
    struct lane_rank *const me = with;
    pthread_t stream, beside;
    began = tutti_now_ns();
    me->closed = 0;
    me->enqueued = me->passed = me->beside = 0;
    if (me->launches == 0)
        return NULL;
    pthread_create(&stream, NULL, run_stream, me);
    pthread_create(&beside, NULL, run_beside, me);
    run_host(me);
    pthread_join(stream, NULL);
    pthread_mutex_lock(&me->lock);
    me->closed = 1;
    pthread_cond_broadcast(&me->changed);
    pthread_mutex_unlock(&me->lock);
    pthread_join(beside, NULL);
    return NULL;
}
