/* The packing kernel as CUDA compiles it, on this processor: every thread of a block is a context of its own, threads
 * take turns at barriers. Put in place of the kernel in C by defining the same function, so that what only warps and
 * blocks of many threads do is tested without a GPU. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#pragma GCC diagnostic ignored "-Wunknown-pragmas"

#include "core/clock.h"
#include "kernels/pack.h"
#include "kernels/pack_args.h"

enum {
    THREADS = TUTTI_PACK_THREADS,
    BLOCKS = 8, /* of a launch that stays */
    STACK = 64 << 10,
    WARP = 32,
    SLOWER = 100 /* than a GPU, the kernel that stays */
};

static struct fiber {
    ucontext_t context;
    unsigned barriers, warp_barriers; /* passed so far */
    int ended;
    unsigned char *stack;
} fibers[BLOCKS * THREADS];
static ucontext_t scheduler;
static struct {
    unsigned x;
} threadIdx;
static unsigned in_block; /* of the launch */

static void yield_fiber(void)
{
    const unsigned self = threadIdx.x, block = in_block;
    swapcontext(&fibers[block * THREADS + self].context, &scheduler);
    threadIdx.x = self;
    in_block = block;
}

/* Until all others of [first, end) of the block that live have come as far. */
static void meet(unsigned first, unsigned end, int warp)
{
    struct fiber *const all = &fibers[(size_t)in_block * THREADS], *const self = &all[threadIdx.x];
    const unsigned mine = warp ? ++self->warp_barriers : ++self->barriers;
    for (unsigned i = first; i < end; i++) {
        while (!all[i].ended && (warp ? all[i].warp_barriers : all[i].barriers) < mine)
            yield_fiber();
    }
}

#define TUTTI_PACK_FN           static inline
#define TUTTI_PACK_APART        static __attribute__((unused))
#define TUTTI_PACK_SYNC_WARP()  meet(threadIdx.x / WARP * WARP, threadIdx.x / WARP * WARP + WARP, 1)
#define TUTTI_PACK_UNDEFINED(x) memset(&(x), 0, sizeof(x))
#define __syncthreads()         meet(0, THREADS, 0)
#define __threadfence()         ((void)0)
#define __umulhi(a, b)          ((uint32_t)((uint64_t)(a) * (b) >> 32))

typedef struct {
    uint32_t x, y;
} __attribute__((aligned(8))) uint2;
typedef struct {
    uint32_t x, y, z, w;
} __attribute__((aligned(16))) uint4;

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return (uint4){x, y, z, w};
}

static inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t bits)
{
    return (uint32_t)(((uint64_t)high << 32 | low) >> (bits & 31));
}

static inline uint32_t atomicInc(uint32_t *at, uint32_t most)
{
    const uint32_t before = *at;
    *at = before >= most ? 0 : before + 1;
    return before;
}

static inline uint32_t atomicAdd(uint32_t *at, uint32_t more)
{
    const uint32_t before = *at;
    *at += more;
    return before;
}

static inline unsigned char *tutti_pack_at(int64_t address)
{
    return (unsigned char *)(uintptr_t)address;
}

static inline int64_t tutti_pack_further(int64_t at, uint32_t steps, int32_t stride)
{
    return at + (int64_t)(int32_t)steps * stride;
}

/* ---- of the kernel that stays ---- */

static uint64_t votes_of[BLOCKS][THREADS];

/* What all threads of the warp have given, each in its place. The next vote comes behind another meeting. */
static const uint64_t *warp_vote(uint64_t mine)
{
    const unsigned first = threadIdx.x / WARP * WARP;
    uint64_t *const votes = votes_of[in_block];
    TUTTI_PACK_SYNC_WARP();
    votes[threadIdx.x] = mine;
    TUTTI_PACK_SYNC_WARP();
    return votes + first;
}

static uint64_t warp_from(uint64_t mine, unsigned lane)
{
    return warp_vote(mine)[lane];
}

static uint32_t warp_ballot(int x)
{
    const uint64_t *const all = warp_vote((uint64_t)(x != 0));
    uint32_t bits = 0;
    for (unsigned i = 0; i < WARP; i++)
        bits |= (uint32_t)all[i] << i;
    return bits;
}

/* How many threads of the block have given one. */
static unsigned block_count(int x)
{
    unsigned n = 0;
    uint64_t *const votes = votes_of[in_block];
    __syncthreads();
    votes[threadIdx.x] = x != 0;
    __syncthreads();
    for (unsigned i = 0; i < THREADS; i++)
        n += votes[i] != 0;
    return n;
}

#define __shfl_sync(mask, x, lane) ((__typeof__((x) + 0))warp_from(x, lane))
#define __ballot_sync(mask, x)     warp_ballot(x)
#define __syncwarp()               TUTTI_PACK_SYNC_WARP()
#define __syncthreads_and(x)       (block_count(x) == THREADS)
#define __syncthreads_or(x)        (block_count(x) > 0)
#define TUTTI_PACK_SHARED(type, name)                                                                                  \
    static type name##_shared[BLOCKS];                                                                                 \
    type *const name = &name##_shared[in_block]
#define tutti_pack_clock()   (tutti_now_ns() / SLOWER)
#define tutti_pack_acquire() ((void)0)

/* Other threads go on before the word is there, and behind it. */
static uint64_t tutti_pack_word_of(const volatile uint64_t *at)
{
    yield_fiber();
    const uint64_t word = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    yield_fiber();
    return word;
}

/* Other blocks see some words of a mail before others. */
static void tutti_pack_post(uint64_t *at, uint64_t word)
{
    yield_fiber();
    *(volatile uint64_t *)at = word;
}

static inline void tutti_pack_tell(volatile uint32_t *done, uint32_t launch_number)
{
    __atomic_store_n(done, launch_number, __ATOMIC_RELEASE);
}

static inline void tutti_pack_tell_near(volatile uint32_t *done, uint32_t number)
{
    tutti_pack_tell(done, number);
}

#include "kernels/threads/pack.inc"

#define FRESH(bytes)                                                                                                   \
    static TUTTI_PACK_WORD(bytes) tutti_pack_fresh_##bytes(const unsigned char *from)                                  \
    {                                                                                                                  \
        TUTTI_PACK_WORD(bytes) word;                                                                                   \
        memcpy(&word, from, sizeof word);                                                                              \
        return word;                                                                                                   \
    }
FRESH(1)
FRESH(2)
FRESH(4)
FRESH(8)
FRESH(16)

#include "kernels/threads/pack_stay.inc"

static const struct tutti_pack_args *current_args;
static const struct tutti_pack_stay_args *current_stay; /* NULL: the other kernel */
static struct tutti_pack_mailed current_call[BLOCKS];
static uint32_t current_block;
static _Alignas(16) unsigned char stage[BLOCKS][TUTTI_PACK_STAGE];

static void fiber_main(void)
{
    if (current_stay)
        tutti_pack_stay_block(current_stay, &current_call[in_block], stage[in_block]);
    else
        tutti_pack_block(current_args, current_block, stage[0]);
    struct fiber *const self = &fibers[in_block * THREADS + threadIdx.x];
    self->ended = 1;
    swapcontext(&self->context, &scheduler);
}

static void start_block(unsigned block)
{
    memset(stage[block], 0xa5, sizeof stage[block]);
    for (unsigned i = 0; i < THREADS; i++) {
        struct fiber *const fiber = &fibers[block * THREADS + i];
        if (!fiber->stack)
            fiber->stack = malloc(STACK);
        fiber->barriers = fiber->warp_barriers = 0;
        fiber->ended = 0;
        getcontext(&fiber->context);
        fiber->context.uc_stack.ss_sp = fiber->stack;
        fiber->context.uc_stack.ss_size = STACK;
        fiber->context.uc_link = NULL;
        makecontext(&fiber->context, fiber_main, 0);
    }
}

/* A turn of each thread of the block; 0: all have ended. */
static int run_turn(unsigned block)
{
    int left = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        struct fiber *const fiber = &fibers[block * THREADS + i];
        if (fiber->ended)
            continue;
        threadIdx.x = i;
        in_block = block;
        swapcontext(&scheduler, &fiber->context);
        left |= !fiber->ended;
    }
    return left;
}

/* All threads of all blocks. One block starts at once, others some turns later, and some only when another one has
 * ended, as on a GPU that has no room. Now and then one of several makes no step for some turns. */
static void run_blocks(unsigned blocks)
{
    enum { WAITS = 40, LATE = 8 /* one in so many */, STOPS = 8, STOP = 10 };
    static unsigned run;
    static uint64_t drawn = 1;
    enum { NOT_YET, RUNS, ENDED } state[BLOCKS] = {NOT_YET};
    unsigned ended = 0, wait[BLOCKS];
    const unsigned first = run++ % blocks;
    for (unsigned block = 0; block < blocks; block++)
        wait[block] = block == first ? 0 : (run * 7 + block) % LATE == 0 ? ~0u : (run * 11 + block * 5) % WAITS;
    for (unsigned turn = 0; ended < blocks; turn++) {
        for (unsigned block = 0; block < blocks; block++) {
            if (state[block] == NOT_YET && (ended > 0 || turn >= wait[block])) {
                start_block(block);
                state[block] = RUNS;
                wait[block] = turn;
            }
            drawn = drawn * UINT64_C(6364136223846793005) + 1442695040888963407;
            if (blocks > 1 && turn > wait[block] && (drawn >> 40) % STOPS == 0)
                wait[block] = turn + STOP;
            if (state[block] == RUNS && turn >= wait[block] && !run_turn(block)) {
                state[block] = ENDED;
                ended++;
            }
        }
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void tutti_pack_host(const struct tutti_pack_args *args, uint32_t block)
{
    static struct tutti_pack_args kept; /* of the whole struct's size, so that all of it may be read */
    pthread_mutex_lock(&lock);
    memcpy(&kept, args, args->head.bytes);
    current_args = &kept;
    current_stay = NULL;
    current_block = block;
    run_blocks(1);
    pthread_mutex_unlock(&lock);
}

void tutti_pack_stay_host(const struct tutti_pack_stay_args *args)
{
    pthread_mutex_lock(&lock);
    current_stay = args;
    run_blocks(args->stay.blocks);
    pthread_mutex_unlock(&lock);
}
