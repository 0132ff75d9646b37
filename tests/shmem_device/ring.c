/* The ring by itself: threads as the kernels' threads of one PE, one more as the host, whose operations end at once or
 * later, in any order, or find no room. Every request is compared with what was sent, and so is every value and
 * byte of the answers. TUTTI_TEST_MESSAGES (a run of 10^8 takes a minute or less); TUTTI_TEST_SEED repeats a run. Then
 * what must not hang: a ring without a reader, a host that never answers, completions that are all taken. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tutti/shmem_state.h"

static struct tshmem_state kernels;
#define TSHMEM_STATE() ((const struct tshmem_state *)&kernels)
#define TSHMEM_KERNELS
#include "shmem_device/ring_host.h"

#include "core/clock.h"
#include "shmem/proxy/proxy.h"
#include "support/check.h"

enum { PRODUCERS = 5, HEAP = 1 << 16 };

static struct tutti_ring rings;
static struct tutti_ring_counters counts;
static struct tshmem_team_state teams[TSHMEM_TEAMS_MAX];
static uint32_t aborted;
static char *symmetric;
static void *memory;

static void ring_open(uint64_t slots, uint64_t first, uint64_t limit_ms)
{
    symmetric = calloc(1, HEAP);
    memory = aligned_alloc(TUTTI_RING_ALIGN, tutti_ring_bytes(slots));
    aborted = 0;
    tutti_ring_init(&rings, memory, slots, first);
    ring_counters_init(&counts, first);
    kernels = (struct tshmem_state){.bytes = sizeof kernels,
                                    .version = TSHMEM_STATE_VERSION,
                                    .pes = TSHMEM_PES_MAX,
                                    .heap = symmetric,
                                    .heap_bytes = HEAP,
                                    .team = teams,
                                    .abort = &aborted,
                                    .limit_ns = limit_ms * 1000000};
    const struct tutti_ring_kernel_view view = tutti_ring_kernel_view(&rings, memory, &counts);
    tutti_proxy_publish(&view, &kernels.ring);
}

static void ring_close(void)
{
    free(symmetric);
    free(memory);
}

/* ---- producers ---- */

static struct ring_host host;
/* Of the producers: plain memory that requests carry and bring. */
static uint64_t sent[PRODUCERS], brought[PRODUCERS], done[PRODUCERS], next[PRODUCERS];

static void host_begin(uint64_t seed)
{
    memset(&host, 0, sizeof host);
    memset(next, 0, sizeof next);
    memset(done, 0, sizeof done);
    host.ring = &rings;
    host.words = (struct ring_words){sent, brought, done};
    host.next = next;
    host.producers = PRODUCERS;
    host.seed = seed;
    host.random = random_mix(seed + 77);
}

struct producer {
    uint64_t number, count, wrong;
};

static void *produce(void *argument)
{
    struct producer *const me = argument;
    const uint64_t p = me->number;
    uint64_t random = random_mix(host.seed + p);
    for (uint64_t n = 0; n < me->count && me->wrong == 0; n++) {
        struct tutti_dev_request r = ring_drawn(host.seed, p, n);
        const uint64_t chance = random_next(&random) % 64;
        if (chance == 0) { /* carries and brings plain memory */
            sent[p] = n;
            tutti_dev_fence();
            const uint64_t value = tutti_dev_ring_call(&r);
            me->wrong += value != ring_answer(r.dest, r.source) || brought[p] != ~value;
        } else {
            me->wrong += !tutti_dev_ring_send(&r, 0);
        }
        if (chance == 1) {
            tshmem_quiet();
            me->wrong += tutti_dev_load_acquire64(&done[p]) != n + 1;
        }
    }
    tshmem_quiet();
    me->wrong += me->wrong == 0 && tutti_dev_load_acquire64(&done[p]) != me->count;
    return NULL;
}

static void many(uint64_t seed, uint64_t slots, uint64_t first, uint64_t messages)
{
    pthread_t thread[PRODUCERS + 1];
    struct producer producer[PRODUCERS];
    host_begin(seed);
    ring_open(slots, first, 120000);
    ring_host_register(&host);
    const uint64_t before = tutti_now_ns();
    pthread_create(&thread[PRODUCERS], NULL, ring_host_thread, &host);
    for (uint64_t p = 0; p < PRODUCERS; p++) {
        producer[p] = (struct producer){p, messages / PRODUCERS, 0};
        pthread_create(&thread[p], NULL, produce, &producer[p]);
    }
    for (int p = 0; p < PRODUCERS; p++) {
        pthread_join(thread[p], NULL);
        CHECK(producer[p].wrong == 0, "seed %llu, %llu slots from %llx on: producer %d has got something wrong",
              (unsigned long long)seed, (unsigned long long)slots, (unsigned long long)first, p);
    }
    atomic_store(&host.stop, 1);
    pthread_join(thread[PRODUCERS], NULL);
    CHECK(host.wrong == 0, "seed %llu, %llu slots from %llx on: %llu wrong requests", (unsigned long long)seed,
          (unsigned long long)slots, (unsigned long long)first, (unsigned long long)host.wrong);
    CHECK(aborted == 0, "a wait was left");
    CHECK(counts.next - first == rings.consumed - first && rings.completed == rings.consumed,
          "requests are left in the ring");
    for (int i = 0; i < TUTTI_RING_COMPLETIONS; i++)
        CHECK((counts.taken[i] & 1) == 0, "completion %d is still taken", i);
    printf("%llu messages, %llu slots: %.2f million a second\n", (unsigned long long)messages,
           (unsigned long long)slots, 1e3 * (double)messages / (double)(tutti_now_ns() - before));
    ring_close();
}

/* ---- a request that has not come as a whole ---- */

static void torn(void)
{
    const uint64_t first = 3 * TUTTI_RING_SLOTS_LEAST, turn = 4;
    host_begin(0);
    ring_open(TUTTI_RING_SLOTS_LEAST, first, 100);
    ring_host_register(&host);
    for (uint64_t n = 0; n < 8; n++) {
        uint64_t *const word = rings.slot[n].word;
        uint64_t whole[8];
        tutti_dev_ring_send(&(struct tutti_dev_request){.operation = TSHMEM_RING_NOP, .value = n}, 0);
        memcpy(whole, word, sizeof whole);
        CHECK((whole[n] & 0xff) == turn, "word %llu: %llx", (unsigned long long)n, (unsigned long long)whole[n]);
        word[n] = turn - 1;
        CHECK(tutti_ring_poll(&rings, 8) == 0, "word %llu has not come", (unsigned long long)n);
        word[n] = whole[n];
        CHECK(tutti_ring_poll(&rings, 8) == 1, "word %llu has come", (unsigned long long)n);
    }
    ring_close();
}

/* ---- what ends in an error ---- */

static int never(void *with, struct tutti_ring_request *o)
{
    (void)with, (void)o;
    return TUTTI_RING_OPEN;
}
static const struct tutti_ring_operation unanswered = {"what nobody does", never};

static void *read_on(void *with)
{
    while (!atomic_load((atomic_int *)with))
        tutti_ring_poll(&rings, 8);
    return NULL;
}

static double since(uint64_t before)
{
    return 1e-9 * (double)(tutti_now_ns() - before);
}

static void errors(void)
{
    struct tutti_dev_request nothing = {.operation = TSHMEM_RING_AMO};
    uint64_t before = tutti_now_ns();
    int sent_to_nobody = 0;
    ring_open(TUTTI_RING_SLOTS_LEAST, 0, 100);
    while (tutti_dev_ring_send(&nothing, 0))
        sent_to_nobody++;
    CHECK(sent_to_nobody == TUTTI_RING_SLOTS_LEAST, "%d requests in a ring that nobody reads", sent_to_nobody);
    CHECK(aborted != 0 && since(before) < 20, "a full ring: aborted %u after %.1f s", aborted, since(before));
    ring_close();

    pthread_t thread;
    atomic_int stop = 0;
    ring_open(TUTTI_RING_SLOTS_LEAST, 0, 100);
    tutti_ring_register(&rings, TSHMEM_RING_AMO, &unanswered, 1, NULL);
    before = tutti_now_ns();
    pthread_create(&thread, NULL, read_on, &stop);
    CHECK(tutti_dev_ring_call(&nothing) == 0 && aborted != 0 && since(before) < 20, "a host that never answers");
    int taken = 0;
    for (int i = 0; i < TUTTI_RING_COMPLETIONS; i++)
        taken += counts.taken[i] & 1;
    CHECK(taken == 1, "%d completions are taken: the host may still write one", taken);
    aborted = 0;
    before = tutti_now_ns();
    tshmem_quiet();
    CHECK(aborted != 0 && since(before) < 20, "quiet after what nobody does");
    aborted = 0;
    before = tutti_now_ns();
    for (int i = 0; i < 4 * TUTTI_RING_SLOTS_LEAST && tutti_dev_ring_send(&nothing, 0); i++)
        ;
    CHECK(aborted != 0 && since(before) < 20, "more is open than the ring holds");
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    ring_close();

    ring_open(TUTTI_RING_SLOTS_LEAST, 0, 100);
    for (int i = 0; i < TUTTI_RING_COMPLETIONS; i++)
        counts.taken[i] = 1;
    before = tutti_now_ns();
    CHECK(tutti_dev_ring_call(&nothing) == 0 && aborted != 0 && since(before) < 20, "no completion is free");
    CHECK(counts.next == 0, "a request was sent without a completion");
    ring_close();

    /* What a kernel asks for in vain is an error at once. */
    const char word = 0;
    ring_open(TUTTI_RING_SLOTS_LEAST, 0, 100);
    tshmem_putmem(symmetric + HEAP, &word, 1, 1);
    CHECK(aborted != 0 && counts.next == 0, "an address that is not symmetric");
    aborted = 0;
    tshmem_putmem(symmetric, &word, 1, kernels.pes);
    CHECK(aborted != 0 && counts.next == 0, "no such PE");
    aborted = 0;
    kernels.ring.slots = 0;
    tshmem_putmem(symmetric, &word, 1, 1);
    CHECK(aborted != 0, "no ring");
    ring_close();
}

int main(void)
{
    const uint64_t seed = check_seed(), messages = (uint64_t)check_many("TUTTI_TEST_MESSAGES", 1000000);
    errors();
    torn();
    /* By far the most in a small ring that wraps all the time; then across the end of 32 and of 64 bits. */
    many(seed, 256, 0, messages);
    many(seed + 1, 16, 0 - UINT64_C(16) * 300, messages / 20);
    many(seed + 2, 4096, (UINT64_C(1) << 32) - 8192, messages / 20);
    printf("seed %llu: %ld checks, %ld failed\n", (unsigned long long)seed, check_done(), check_failed());
    return check_failed() != 0;
}
