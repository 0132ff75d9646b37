/* The ring by itself: threads as the kernels' threads of one PE, one more as the host, whose operations end at once or
 * later, in any order, or find no room. Every request is compared with what was sent, every value and every byte that
 * comes back too. TUTTI_TEST_MESSAGES; TUTTI_TEST_SEED repeats a run. Then what must not hang: a ring that nobody
 * reads, a host that never answers, completions that are all taken. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tshmem_state kernels;
#define TSHMEM_STATE() ((const struct tshmem_state *)&kernels)
#define TSHMEM_KERNELS
#include "tutti/device.h"

#include "core/clock.h"
#include "shmem/ring/ring.h"
#include "support/check.h"
#include "support/random.h"

enum { PRODUCERS = 5, LATER = 24, HEAP = 1 << 16, DATA = 40 };

static struct tutti_ring rings;
static struct tshmem_ring_own counts;
static struct tshmem_team_state teams[TSHMEM_TEAMS_MAX];
static uint32_t aborted;
static char *symmetric;
static void *memory;

static void ring_open(uint64_t slots, uint64_t first, uint64_t limit_ms)
{
    symmetric = calloc(1, HEAP);
    memory = aligned_alloc(TUTTI_RING_ALIGN, tutti_ring_bytes(slots));
    aborted = 0;
    tutti_ring_lay(&rings, memory, slots, first);
    tutti_ring_own(&counts, first);
    kernels = (struct tshmem_state){.bytes = sizeof kernels,
                                    .version = TSHMEM_STATE_VERSION,
                                    .pes = TSHMEM_PES_MAX,
                                    .heap = symmetric,
                                    .heap_bytes = HEAP,
                                    .team = teams,
                                    .abort = &aborted,
                                    .limit_ns = limit_ms * 1000000};
    tutti_ring_tell(&rings, memory, &counts, &kernels.ring);
}

static void ring_close(void)
{
    free(symmetric);
    free(memory);
}

/* ---- what producer p sends as its request number n, and what it gets ---- */

static struct tutti_dev_request drawn(uint64_t seed, uint64_t p, uint64_t n)
{
    uint64_t random = random_mix(seed ^ random_mix(p << 40 | n));
    const uint64_t most = (UINT64_C(1) << 56) - 1;
    struct tutti_dev_request r = {.dest = p << 40 | n,
                                  .source = random_next(&random) & most,
                                  .bytes = random_next(&random) & most,
                                  .value = random_next(&random),
                                  .compare = random_next(&random),
                                  .extra = random_next(&random) & most,
                                  .operation = (int)(1 + random_next(&random) % (TSHMEM_RING_OPERATIONS - 1)),
                                  .what = (int)(random_next(&random) & 0xff),
                                  .pe = (int)(random_next(&random) & 0xffff),
                                  .size = (unsigned)(random_next(&random) & 0xff)};
    return r;
}

static uint64_t answer(const struct tutti_ring_operation *o)
{
    return random_mix(o->dest ^ o->source);
}

/* ---- the host ---- */

struct host {
    uint64_t seed, random, next[PRODUCERS], wrong;
    struct tutti_ring_operation *later[LATER];
    int waiting;
    atomic_int stop;
    _Atomic uint64_t done[PRODUCERS];
};
/* Of the producers: plain memory that requests carry and bring. */
static char sent[PRODUCERS][DATA], brought[PRODUCERS][DATA];

static void finish(struct host *h, struct tutti_ring_operation *o)
{
    const uint64_t p = o->dest >> 40;
    o->value[0] = answer(o);
    memset(brought[p], (int)(o->value[0] & 0x7f), o->tag ? DATA : 0); /* who sent it waits for it */
    atomic_fetch_add(&h->done[p], 1);
}

static int begin(void *with, struct tutti_ring_operation *o)
{
    struct host *const h = with;
    const uint64_t p = o->dest >> 40, n = o->dest & 0xffffffffff;
    const uint64_t chance = random_next(&h->random);
    if (chance % 64 == 0 || (chance % 4 == 0 && h->waiting == LATER))
        return TUTTI_RING_BUSY;
    if (p >= PRODUCERS || n != h->next[p]) {
        h->wrong++;
        return TUTTI_RING_DONE;
    }
    const struct tutti_dev_request r = drawn(h->seed, p, n);
    h->next[p] = n + 1;
    h->wrong += r.source != o->source || r.bytes != o->bytes || r.value != o->value[0] || r.compare != o->value[1] ||
                r.extra != o->extra || r.operation != o->operation || r.what != o->what || r.pe != o->pe ||
                r.size != o->size;
    if (o->tag)
        h->wrong += sent[p][n % DATA] != (char)n;
    if (chance % 4 == 0) {
        h->later[h->waiting++] = o;
        return TUTTI_RING_OPEN;
    }
    finish(h, o);
    return TUTTI_RING_DONE;
}

static void *host_thread(void *argument)
{
    struct host *const h = argument;
    while (!atomic_load(&h->stop) || tutti_ring_open(&rings)) {
        const int taken = tutti_ring_poll(&rings, 1 + (unsigned)(random_next(&h->random) % 64), begin, h);
        while (h->waiting > 0 && (taken == 0 || random_next(&h->random) % 4 != 0)) {
            const int i = (int)(random_next(&h->random) % (uint64_t)h->waiting);
            finish(h, h->later[i]);
            tutti_ring_done(&rings, h->later[i]);
            h->later[i] = h->later[--h->waiting];
        }
        if (taken == 0)
            tutti_dev_pause();
    }
    return NULL;
}

/* ---- producers ---- */

struct producer {
    struct host *host;
    uint64_t number, count, wrong;
};

static void *produce(void *argument)
{
    struct producer *const me = argument;
    uint64_t random = random_mix(me->host->seed + me->number);
    for (uint64_t n = 0; n < me->count && me->wrong == 0; n++) {
        const struct tutti_dev_request r = drawn(me->host->seed, me->number, n);
        const uint64_t chance = random_next(&random) % 64;
        if (chance == 0) { /* carries and brings plain memory */
            sent[me->number][n % DATA] = (char)n;
            tutti_dev_fence();
            const uint64_t value = tutti_dev_ring_call(&r);
            me->wrong += value != random_mix(r.dest ^ r.source);
            me->wrong += brought[me->number][n % DATA] != (char)(value & 0x7f);
        } else {
            me->wrong += !tutti_dev_ring_send(&r, 0);
        }
        if (chance == 1) {
            tshmem_quiet();
            me->wrong += atomic_load(&me->host->done[me->number]) != n + 1;
        }
    }
    tshmem_quiet();
    me->wrong += me->wrong == 0 && atomic_load(&me->host->done[me->number]) != me->count;
    return NULL;
}

static void many(uint64_t seed, uint64_t slots, uint64_t first, uint64_t messages)
{
    static struct host host;
    pthread_t thread[PRODUCERS + 1];
    struct producer producer[PRODUCERS];
    memset(&host, 0, sizeof host);
    host.seed = seed;
    host.random = random_mix(seed + 77);
    ring_open(slots, first, 120000);
    const uint64_t before = tutti_now_ns();
    pthread_create(&thread[PRODUCERS], NULL, host_thread, &host);
    for (uint64_t p = 0; p < PRODUCERS; p++) {
        producer[p] = (struct producer){&host, p, messages / PRODUCERS, 0};
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
    for (int i = 0; i < TSHMEM_COMPLETIONS; i++)
        CHECK((counts.taken[i] & 1) == 0, "completion %d is still taken", i);
    printf("%llu messages, %llu slots: %.2f million a second\n", (unsigned long long)messages,
           (unsigned long long)slots, 1e3 * (double)messages / (double)(tutti_now_ns() - before));
    ring_close();
}

/* ---- a request that has not come as a whole ---- */

static void torn(void)
{
    const uint64_t first = 3 * TUTTI_RING_SLOTS_LEAST, turn = 4;
    static struct host host;
    memset(&host, 0, sizeof host);
    ring_open(TUTTI_RING_SLOTS_LEAST, first, 100);
    for (uint64_t n = 0; n < 8; n++) {
        uint64_t *const word = rings.request[n].word;
        uint64_t whole[8];
        tutti_dev_ring_send(&(struct tutti_dev_request){.operation = TSHMEM_RING_NOP, .value = n}, 0);
        memcpy(whole, word, sizeof whole);
        CHECK((whole[n] & 0xff) == turn, "word %llu: %llx", (unsigned long long)n, (unsigned long long)whole[n]);
        word[n] = turn - 1;
        CHECK(tutti_ring_poll(&rings, 8, begin, &host) == 0, "word %llu has not come", (unsigned long long)n);
        word[n] = whole[n];
        CHECK(tutti_ring_poll(&rings, 8, begin, &host) == 1, "word %llu has come", (unsigned long long)n);
    }
    ring_close();
}

/* ---- what ends in an error ---- */

static int never(void *with, struct tutti_ring_operation *o)
{
    (void)with, (void)o;
    return TUTTI_RING_OPEN;
}

static void *read_on(void *with)
{
    while (!atomic_load((atomic_int *)with))
        tutti_ring_poll(&rings, 8, never, NULL);
    return NULL;
}

static double since(uint64_t before)
{
    return 1e-9 * (double)(tutti_now_ns() - before);
}

static void errors(void)
{
    const struct tutti_dev_request nothing = {.operation = TSHMEM_RING_AMO};
    uint64_t before = tutti_now_ns();
    int sent_to_nobody = 0;
    ring_open(TUTTI_RING_SLOTS_LEAST, 0, 100);
    while (tutti_dev_ring_send(&nothing, 0))
        sent_to_nobody++;
    CHECK(sent_to_nobody == TUTTI_RING_SLOTS_LEAST, "%d requests in a ring that nobody reads", sent_to_nobody);
    CHECK(aborted == 1 && since(before) < 20, "a full ring: aborted %u after %.1f s", aborted, since(before));
    ring_close();

    pthread_t thread;
    atomic_int stop = 0;
    ring_open(TUTTI_RING_SLOTS_LEAST, 0, 100);
    before = tutti_now_ns();
    pthread_create(&thread, NULL, read_on, &stop);
    CHECK(tutti_dev_ring_call(&nothing) == 0 && aborted == 1 && since(before) < 20, "a host that never answers");
    int taken = 0;
    for (int i = 0; i < TSHMEM_COMPLETIONS; i++)
        taken += counts.taken[i] & 1;
    CHECK(taken == 1, "%d completions are taken: the host may still write one", taken);
    aborted = 0;
    before = tutti_now_ns();
    tshmem_quiet();
    CHECK(aborted == 1 && since(before) < 20, "quiet after what nobody does");
    aborted = 0;
    before = tutti_now_ns();
    for (int i = 0; i < 4 * TUTTI_RING_SLOTS_LEAST && tutti_dev_ring_send(&nothing, 0); i++)
        ;
    CHECK(aborted == 1 && since(before) < 20, "more is open than the ring holds");
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    ring_close();

    ring_open(TUTTI_RING_SLOTS_LEAST, 0, 100);
    for (int i = 0; i < TSHMEM_COMPLETIONS; i++)
        counts.taken[i] = 1;
    before = tutti_now_ns();
    CHECK(tutti_dev_ring_call(&nothing) == 0 && aborted == 1 && since(before) < 20, "no completion is free");
    CHECK(counts.next == 0, "a request was sent without a completion");
    ring_close();

    /* What a kernel asks for in vain is an error at once. */
    const char word = 0;
    ring_open(TUTTI_RING_SLOTS_LEAST, 0, 100);
    tshmem_putmem(symmetric + HEAP, &word, 1, 0);
    CHECK(aborted == 1 && counts.next == 0, "an address that is not symmetric");
    aborted = 0;
    tshmem_putmem(symmetric, &word, 1, kernels.pes);
    CHECK(aborted == 1 && counts.next == 0, "no such PE");
    aborted = 0;
    kernels.ring.slots = 0;
    tshmem_putmem(symmetric, &word, 1, 1);
    CHECK(aborted == 1, "no ring");
    ring_close();
}

int main(void)
{
    const uint64_t seed = check_seed(), messages = (uint64_t)check_setting("TUTTI_TEST_MESSAGES", 1000000);
    errors();
    torn();
    /* By far the most in a small ring that wraps all the time; then across the end of 32 and of 64 bits. */
    many(seed, 256, 0, messages);
    many(seed + 1, 16, 0 - UINT64_C(16) * 300, messages / 20);
    many(seed + 2, 4096, (UINT64_C(1) << 32) - 8192, messages / 20);
    printf("seed %llu: %ld checks, %ld failed\n", (unsigned long long)seed, check_done(), check_failed());
    return check_failed() != 0;
}
