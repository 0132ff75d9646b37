/* The kernel that stays: its threads are the GPUs, the main thread is the host of all ranks. Bursts with pauses about
 * as long as it stays, commands to leave, commands posted while it leaves, sequences and launch numbers over their
 * wrap. Every result is compared to the bit, and every call must be done exactly once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "device/device.h"
#include "exact.h"
#include "kernels/args.h"
#include "kernels/reduce.h"

enum { RANKS = 3, BYTES = 8192, ROOM = 2 * BYTES, QUEUE = 8, CALLS = 400, LINGER_NS = 50000 };
static const uint64_t limit_ns = 20000000000u;
enum { WINDOW = sizeof(struct tutti_channel_flags) + 2 * RANKS * ROOM };

struct rank {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct tutti_flow_args launch[QUEUE]; /* the stream */
    unsigned put, taken;
    int closed;
    unsigned char *window, *in, *out;
    struct tutti_mail mail;
    struct tutti_answer answer;
    uint32_t abort, done, where, failed;
    uint32_t launch_number, sequence; /* of the kernel that stays; of the last command */
    long launched, served, lost;
};
static struct rank rank[RANKS];
static int type, op;

static void *run_stream(void *with)
{
    struct rank *const me = with;
    for (;;) {
        pthread_mutex_lock(&me->lock);
        while (me->taken == me->put && !me->closed)
            pthread_cond_wait(&me->changed, &me->lock);
        const int over = me->taken == me->put;
        struct tutti_flow_args args = me->launch[me->taken % QUEUE];
        pthread_mutex_unlock(&me->lock);
        if (over)
            return NULL;
        tutti_kernel_host(TUTTI_KERNEL_LINGER, type, op, &args, 0);
        pthread_mutex_lock(&me->lock);
        me->taken++;
        pthread_cond_broadcast(&me->changed);
        pthread_mutex_unlock(&me->lock);
    }
}

static void post(struct rank *it, const uint32_t data[TUTTI_MAIL_WORDS])
{
    const uint64_t sequence = ++it->sequence;
    for (int i = 0; i < TUTTI_MAIL_WORDS; i++)
        __atomic_store_n(&it->mail.word[i], sequence << 32 | data[i], __ATOMIC_RELEASE);
}

static void post_leave(struct rank *it)
{
    static const uint32_t data[TUTTI_MAIL_WORDS] = {[TUTTI_MAIL_WHAT] = TUTTI_MAIL_LEAVE};
    if (it->launch_number)
        post(it, data);
    it->launch_number = 0;
}

static void post_call(struct rank *it, const struct tutti_flow_args *args)
{
    const uint64_t in = (uintptr_t)args->in, out = (uintptr_t)args->out;
    const uint32_t data[TUTTI_MAIL_WORDS] = {
        (uint32_t)in,          (uint32_t)(in >> 32),          (uint32_t)out,       (uint32_t)(out >> 32),
        (uint32_t)args->count, args->shape | args->root << 8, args->launch_number, TUTTI_MAIL_CALL};
    post(it, data);
}

static void launch(struct rank *it, struct tutti_flow_args *args)
{
    post_leave(it);
    args->expected = it->sequence + 1;
    pthread_mutex_lock(&it->lock);
    while (it->put - it->taken == QUEUE)
        pthread_cond_wait(&it->changed, &it->lock);
    it->launch[it->put++ % QUEUE] = *args;
    pthread_cond_broadcast(&it->changed);
    pthread_mutex_unlock(&it->lock);
    it->launch_number = args->launch_number;
    it->launched++;
}

/* 1 if the launch number has been reported; launches afresh where the kernel has left without the command. */
static int reported(struct rank *it, struct tutti_flow_args *args, int *mailed)
{
    if (__atomic_load_n(&it->done, __ATOMIC_ACQUIRE) == args->launch_number)
        return 1;
    if (*mailed && __atomic_load_n(&it->answer.left, __ATOMIC_ACQUIRE) == it->launch_number &&
        __atomic_load_n(&it->answer.served, __ATOMIC_RELAXED) != it->sequence) {
        it->launch_number = 0;
        it->lost++;
        launch(it, args);
        *mailed = 0;
    }
    return 0;
}

static void await_all(unsigned ranks, struct tutti_flow_args args[], int mailed[])
{
    const uint64_t start = tutti_now_ns();
    for (unsigned there = 0; there < ranks;) {
        there = 0;
        for (unsigned r = 0; r < ranks; r++)
            there += (unsigned)reported(&rank[r], &args[r], &mailed[r]);
        if (tutti_now_ns() - start > limit_ns)
            fail_msg("launch %u is not reported", args[0].launch_number);
        sched_yield();
    }
    for (unsigned r = 0; r < ranks; r++)
        rank[r].served += mailed[r];
}

static void open_ranks(unsigned ranks, uint32_t sequence)
{
    for (unsigned r = 0; r < ranks; r++) {
        struct rank *const it = &rank[r];
        memset(it, 0, sizeof *it);
        pthread_mutex_init(&it->lock, NULL);
        pthread_cond_init(&it->changed, NULL);
        it->window = aligned_alloc(256, (WINDOW + 255) / 256 * 256);
        memset(it->window, 0, WINDOW);
        it->in = malloc(BYTES);
        it->out = malloc(BYTES);
        it->sequence = sequence;
    }
    for (unsigned r = 0; r < ranks; r++)
        assert_int_equal(pthread_create(&rank[r].thread, NULL, run_stream, &rank[r]), 0);
}

static void close_ranks(unsigned ranks)
{
    for (unsigned r = 0; r < ranks; r++) {
        post_leave(&rank[r]);
        pthread_mutex_lock(&rank[r].lock);
        rank[r].closed = 1;
        pthread_cond_broadcast(&rank[r].changed);
        pthread_mutex_unlock(&rank[r].lock);
    }
    for (unsigned r = 0; r < ranks; r++) {
        pthread_join(rank[r].thread, NULL);
        pthread_cond_destroy(&rank[r].changed);
        pthread_mutex_destroy(&rank[r].lock);
        free(rank[r].window);
        free(rank[r].in);
        free(rank[r].out);
    }
}

static struct tutti_flow_args make_args(unsigned r, unsigned ranks, uint32_t launch_number, uint64_t linger_ns)
{
    struct tutti_flow_args args = {.in = rank[r].in,
                                   .out = rank[r].out,
                                   .ranks = ranks,
                                   .rank = r,
                                   .contributions = ranks,
                                   .number = r,
                                   .locals = 1,
                                   .outs = 1,
                                   .blocks = 1,
                                   .launch_number = launch_number,
                                   .bytes = WINDOW,
                                   .region = sizeof(struct tutti_channel_flags),
                                   .stride = (uint64_t)ranks * ROOM,
                                   .packets = sizeof(struct tutti_channel_flags),
                                   .packets_stride = (uint64_t)ranks * ROOM,
                                   .room = ROOM,
                                   .timeout_ns = limit_ns,
                                   .abort = &rank[r].abort,
                                   .done = &rank[r].done,
                                   .where = &rank[r].where,
                                   .failed = &rank[r].failed,
                                   .mail = &rank[r].mail,
                                   .answer = &rank[r].answer,
                                   .linger_ns = linger_ns};
    for (unsigned p = 0; p < ranks; p++)
        args.window[p] = rank[p].window;
    return args;
}

/* One call of all ranks; the ranks' commands come at different times. What is launched stays for linger_ns. */
static void one_call(uint64_t *random, unsigned ranks, uint32_t launch_number, uint64_t linger_ns)
{
    static const unsigned shapes[] = {TUTTI_SHAPE_ALL,     TUTTI_SHAPE_ALL,    TUTTI_SHAPE_ROOT,
                                      TUTTI_SHAPE_THROUGH, TUTTI_SHAPE_BEFORE, TUTTI_SHAPE_NOTHING};
    const size_t size = tutti_type_size(type), most = BYTES / size;
    const unsigned shape = shapes[exact_random(random) % 6], root = (unsigned)(exact_random(random) % ranks);
    const size_t count =
        shape == TUTTI_SHAPE_NOTHING ? 0 : exact_random(random) % (exact_random(random) % 4 ? 40 : most + 1);
    struct tutti_flow_args args[RANKS];
    unsigned char want[BYTES];
    const void *in[RANKS];
    int mailed[RANKS];
    for (unsigned r = 0; r < ranks; r++) {
        exact_fill(random, type, rank[r].in, count);
        memset(rank[r].out, 0xa5, BYTES);
        in[r] = rank[r].in;
    }
    for (unsigned r = 0; r < ranks; r++) {
        args[r] = make_args(r, ranks, launch_number, linger_ns);
        args[r].count = count;
        args[r].shape = shape;
        args[r].root = root;
        mailed[r] = rank[r].launch_number != 0 && exact_random(random) % 50 != 0;
        if (mailed[r])
            post_call(&rank[r], &args[r]);
        else
            launch(&rank[r], &args[r]);
    }
    await_all(ranks, args, mailed);
    for (unsigned r = 0; r < ranks; r++) {
        const unsigned depth = shape == TUTTI_SHAPE_THROUGH  ? r + 1
                               : shape == TUTTI_SHAPE_BEFORE ? r
                               : shape == TUTTI_SHAPE_ROOT   ? (r == root ? ranks : 0)
                                                             : ranks;
        size_t bytes = depth ? count * size : 0;
        if (bytes)
            tutti_reduce_host(type, op, (int)depth, in, want, count);
        if (bytes && memcmp(rank[r].out, want, bytes) != 0)
            fail_msg("rank %u of %u, shape %u, %zu elements, launch %u: wrong result", r, ranks, shape, count,
                     launch_number);
        for (size_t i = bytes; i < BYTES; i++) {
            if (rank[r].out[i] != 0xa5)
                fail_msg("rank %u of %u, shape %u: byte %zu behind the result was written", r, ranks, shape, i);
        }
    }
}

static void await_left(const struct rank *it, uint32_t launch_number)
{
    const uint64_t start = tutti_now_ns();
    while (__atomic_load_n(&it->answer.left, __ATOMIC_ACQUIRE) != launch_number) {
        assert_true(tutti_now_ns() - start < limit_ns);
        sched_yield();
    }
}

/* What comes of the first calls does not depend on the machine: the second one finds a kernel that stays for long, the
 * third is launched, and the fourth comes when that has left. */
static uint64_t arrange(uint64_t *random, unsigned ranks, int call, uint32_t launch_number)
{
    enum { STAYS, SERVED, LEAVES, LOST };
    for (unsigned r = 0; r < ranks && call == LEAVES; r++)
        post_leave(&rank[r]);
    for (unsigned r = 0; r < ranks && call == LOST; r++)
        await_left(&rank[r], launch_number);
    if (call > LOST && exact_random(random) % 30 == 0)
        post_leave(&rank[exact_random(random) % ranks]);
    return call == STAYS || call == SERVED ? limit_ns : LINGER_NS;
}

static void bursts(void **state)
{
    (void)state;
    static const struct {
        int type, op;
    } pairs[] = {{TUTTI_TYPE_F32, TUTTI_OP_SUM}, {TUTTI_TYPE_I64, TUTTI_OP_MAX}, {TUTTI_TYPE_BF16, TUTTI_OP_SUM}};
    uint64_t random = exact_seed();
    long served = 0, fresh = 0, lost = 0;
    for (unsigned round = 0; round < 6; round++) {
        const unsigned ranks = 2 + round % 2;
        type = pairs[round / 2].type;
        op = pairs[round / 2].op;
        open_ranks(ranks, (uint32_t)-100); /* passes the wrap */
        uint32_t launch_number = (uint32_t)-50;
        for (int call = 0; call < CALLS; call++) {
            const uint64_t kind = exact_random(&random) % 8, start = tutti_now_ns();
            const uint64_t pause = kind < 5   ? 0
                                   : kind < 7 ? LINGER_NS - 10000 + exact_random(&random) % 20000
                                              : exact_random(&random) % (3 * LINGER_NS);
            while (tutti_now_ns() - start < pause)
                tutti_pause();
            const uint64_t linger_ns = arrange(&random, ranks, call, launch_number);
            launch_number += 1 + (launch_number + 1 == 0);
            one_call(&random, ranks, launch_number, linger_ns);
        }
        for (unsigned r = 0; r < ranks; r++) {
            const struct tutti_channel_flags *const flags = (const void *)rank[r].window;
            assert_int_equal(__atomic_load_n(&flags->ticks, __ATOMIC_ACQUIRE), (uint64_t)CALLS * TUTTI_TICKS);
            assert_int_equal(rank[r].launched + rank[r].served, CALLS);
            served += rank[r].served;
            fresh += rank[r].launched;
            lost += rank[r].lost;
        }
        close_ranks(ranks);
    }
    printf("%ld calls served by mail, %ld launches, %ld of them after mail that came too late\n", served, fresh, lost);
    assert_true(served > 0 && fresh > 0 && lost > 0);
}

/* While it stays for further calls (round 0), and while it waits for a peer in a call that it serves, which then is
 * neither done nor left to a launch: because its time is up (1), or because it is told to leave (2). */
static void leaves(void **state)
{
    (void)state;
    enum { STAYING, LATE, TOLD, ROUNDS };
    uint64_t random = exact_seed() + 1;
    type = TUTTI_TYPE_F32;
    op = TUTTI_OP_SUM;
    for (int round = 0; round < ROUNDS; round++) {
        open_ranks(2, 0);
        one_call(&random, 2, 1, LINGER_NS);
        if (round == STAYING) {
            for (unsigned r = 0; r < 2; r++)
                __atomic_store_n(&rank[r].abort, 1, __ATOMIC_RELEASE);
            for (unsigned r = 0; r < 2; r++) {
                await_left(&rank[r], 1);
                assert_int_equal(rank[r].answer.served, 0);
            }
        } else {
            struct tutti_flow_args args = make_args(0, 2, 2, 1000000);
            args.timeout_ns = round == LATE ? 10000000 : 0;
            args.count = 10;
            launch(&rank[0], &args);
            usleep(20000);
            if (round == TOLD) {
                assert_int_not_equal(__atomic_load_n(&rank[0].answer.left, __ATOMIC_ACQUIRE), 2);
                __atomic_store_n(&rank[0].abort, 1, __ATOMIC_RELEASE);
            }
            await_left(&rank[0], 2);
            assert_int_equal(__atomic_load_n(&rank[0].done, __ATOMIC_ACQUIRE), 1);
            assert_int_equal(__atomic_load_n(&rank[0].failed, __ATOMIC_ACQUIRE),
                             round == LATE ? TUTTI_LEFT_LATE : TUTTI_LEFT_TOLD);
            const struct tutti_channel_flags *const flags = (const void *)rank[0].window;
            assert_int_equal(__atomic_load_n(&flags->failed, __ATOMIC_ACQUIRE), 1);
        }
        close_ranks(2);
    }
}

int main(void)
{
    exact_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts),
        cmocka_unit_test(leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
