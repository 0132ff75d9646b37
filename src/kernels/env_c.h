/* The kernels' environment in C: a block is one thread. Included once for each instruction set, by kernels_c.c. */
#ifndef TUTTI_KERNELS_ENV_C_H
#define TUTTI_KERNELS_ENV_C_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/clock.h"
#include "kernels/args.h"
#include "kernels/variants.h"

#define TUTTI_DEV_UNFUSED /* compiled with -ffp-contract=off */
#include "tutti/device/env.h"
#include "tutti/device/operators.h"
#include "tutti/device/packet.h"

#define TUTTI_FN    static inline
#define TUTTI_APART static inline
#define TUTTI_BODY(name)                                                                                               \
    static void body_##name(const struct tutti_kernel_args *args, unsigned block, const struct tutti_c_pair *pair)
#define TUTTI_SIZE pair->size
#define TUTTI_SHARED
#define TUTTI_SHARED_OF(type, name) type name
#define TUTTI_EACH(i, n)            for (unsigned i = 0; i < (n); i++)
#define TUTTI_SYNC()                ((void)0)
#define TUTTI_REDUCE(ends, ranks, outs, n)                                                                             \
    (tutti_pace(), reduce(pair, (const void *const *)(ends)->from, ranks, (void *const *)(ends)->to, outs, n))

/* Small tiles: tests with contributions of some KiB have several for each block. */
#define TUTTI_TILE(bytes)                      ((bytes) / 16)
#define TUTTI_REDUCE_FEW(ends, ranks, outs, n) TUTTI_REDUCE(ends, ranks, outs, n)
#define TUTTI_REDUCE_SHARED(ends, ranks, outs, n, block, blocks)                                                       \
    (tutti_pace(), reduce_shared(pair, ends, ranks, outs, n, block, blocks))
#define TUTTI_REDUCE_TWO(near, far, to, other, turned, n, block, blocks)                                               \
    (tutti_pace(), reduce_two(pair, near, far, to, other, turned, n, block, blocks))

enum {
    TUTTI_SPREAD_BYTES = 32768, /* read once, then handed to each receiver out of the cache */
    TUTTI_SPINS_BUSY = 200,     /* before the processor is offered to others */
    TUTTI_SPINS_CHECK = 1000,   /* before each rest is a yield; abort word, clock and host are looked at */
    TUTTI_YIELDS_CHECK = 16     /* after so many: beside threads that compute, a yield may take 50 ms */
};

/* Loops in which iterations share nothing, though an output may be an input at the same place. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop that stays scalar is no fault */
#define TUTTI_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TUTTI_INDEPENDENT _Pragma("GCC ivdep")
#else
#define TUTTI_INDEPENDENT
#endif

#include "kernels/common.inc"

/* A pause between this block's last poll and its next step; only tests ask for it. */
TUTTI_FN void tutti_pace(void)
{
    if (tutti_kernel_jitter)
        tutti_kernel_pause();
}

/* Copies `bytes` to each of n places. */
TUTTI_FN void tutti_spread(unsigned char *const to[], unsigned n, const unsigned char *from, uint64_t bytes)
{
    tutti_pace();
    for (uint64_t at = 0; at < bytes; at += TUTTI_SPREAD_BYTES) {
        const size_t some = bytes - at < TUTTI_SPREAD_BYTES ? bytes - at : TUTTI_SPREAD_BYTES;
        for (unsigned i = 0; i < n; i++)
            memcpy(to[i] + at, from + at, some);
    }
}

/* Notifies every peer that this block has reached `phase` of the launch; its stores before are visible to a reader of
 * the phase.
 */
TUTTI_FN void tutti_signal(const struct tutti_kernel_args *args, unsigned phase, unsigned block)
{
    for (unsigned i = 0; i + 1 < args->gpus; i++) {
        struct tutti_channel_flags *const channel = args->window[tutti_peer(args, i)];
        __atomic_store_n(&channel->flag[phase][args->gpu][block], args->epoch, __ATOMIC_RELEASE);
    }
}

/* The rest between two looks of a wait. 1: the abort word, the clock and the host are to be looked at. */
TUTTI_FN int tutti_rest(unsigned *spins)
{
    const int yields = ++*spins > TUTTI_SPINS_CHECK;
    if (yields || *spins % TUTTI_SPINS_BUSY == 0)
        sched_yield();
    else
        tutti_pause();
    return *spins % (yields ? TUTTI_YIELDS_CHECK : TUTTI_SPINS_CHECK) == 0;
}

/* Waits until every peer's block of this number has reached `phase`. Returns 1, or 0 when the launch must be left. */
TUTTI_FN int tutti_wait(const struct tutti_kernel_args *args, unsigned phase, unsigned block)
{
    struct tutti_channel_flags *const own = args->window[args->gpu];
    uint64_t start = 0;
    unsigned spins = 0;
    for (unsigned i = 0; i + 1 < args->gpus; i++) {
        const unsigned peer = tutti_peer(args, i);
        const uint32_t *const flag = &own->flag[phase][peer][block];
        int told = 0;
        while (!tutti_reached(__atomic_load_n(flag, __ATOMIC_ACQUIRE), args->epoch)) {
            if (tutti_rest(&spins)) {
                const uint64_t now = tutti_now_ns();
                start = start ? start : now;
                if (args->where && !told)
                    __atomic_store_n(args->where, phase << 16 | peer, __ATOMIC_RELAXED);
                told = 1;
                if (__atomic_load_n(args->abort, __ATOMIC_RELAXED) ||
                    (args->timeout_ns && now - start > args->timeout_ns) ||
                    (args->host_wait && args->host_wait(args->host_wait_with)))
                    return 0;
            }
        }
    }
    return __atomic_load_n(args->abort, __ATOMIC_RELAXED) == 0;
}

/* Counts this block as finished; the launch's last block reports it done, unless a block left early. */
TUTTI_FN void tutti_end(const struct tutti_kernel_args *args, int ok)
{
    struct tutti_channel_flags *const own = args->window[args->gpu];
    if (!ok)
        __atomic_store_n(&own->left, args->epoch, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&own->finished, 1, __ATOMIC_ACQ_REL) == args->finished &&
        __atomic_load_n(&own->left, __ATOMIC_RELAXED) != args->epoch)
        __atomic_store_n(args->done, args->epoch, __ATOMIC_RELEASE);
}

#endif
