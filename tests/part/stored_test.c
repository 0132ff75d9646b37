/* Kernels that store partitions in the receiver's buffer, on the host device, where a kernel's block is a thread:
 * random programs of one rank that sends to itself, against plain arithmetic. Threads mark partitions of sends in each
 * form of the call, and others look for those of receives, and read them at once. In some rounds the rank makes no
 * progress until all threads have ended: what kernels have stored arrives without the host. The two sides have
 * different partitions. The host marks some of the sends, some rounds are not prepared, and some receives have layouts
 * that kernels do not store into. TUTTI_TEST_SEED, TUTTI_TEST_ROUNDS. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/status.h"
#include "dtype/describe_any.h"
#include "dtype/elements.h"
#include "part/part.h"
#include "progress/engine.h"
#include "support/check.h"
#include "support/random.h"
#include "support/threads.h"
#include "team/endpoint.h"
#include "team/kit.h"
#include "tutti/tutti.h"

/* Of kernels, between two loads, now and then: the others get far meanwhile. */
static void delay(void)
{
    static atomic_uint calls;
    if (atomic_fetch_add(&calls, 1) % 61 == 0)
        usleep(20);
}
#define TUTTI_DEV_DELAY delay
#include "tutti/device/prequest.h"

enum { MESSAGES = 3, WRITERS = 3, ROUNDS = 4, MOST = 24, SCRATCH = 1 << 20 };
enum form {
    BY_THREAD,
    BY_WARP,
    BY_BLOCK,
    BY_RANGE,
    BY_LIST,
    BY_ALL,
    FORMS
}; /* BY_ALL: each partition in another one */

struct side {
    struct any_room types;
    const struct tutti_plan *plan;
    struct tutti_part *part;
    char *memory;
    int partitions, gaps;
    size_t each; /* bytes of a partition */
    MPIX_Prequest device;
    atomic_int ended;
};

struct message {
    struct side out, in;
    size_t bytes;
    int transports, prepared, stored; /* stored: kernels store this round */
    int offers;                       /* rounds that were prepared so far */
    int by_host;                      /* 1: the host marks all partitions; 2: every second transport partition */
    enum form form;
    uint64_t seed; /* of the round */
    int order[MOST];
};

static struct message messages[MESSAGES];
static long stored_rounds, alone_rounds;

static char byte_of(const struct message *m, size_t i)
{
    return (char)(random_mix(m->seed + i / 8) >> i % 8 * 8);
}

/* Where byte number i of the message lies in the receiver's buffer: with gaps, every second byte. */
static size_t place(const struct side *s, size_t i)
{
    return s->gaps ? i / s->each * (size_t)s->plan->extent + i % s->each * 2 : i;
}

static void side_ended(void *with)
{
    atomic_store(&((struct side *)with)->ended, 1);
}

static void side_open(struct side *s, const struct message *m, int send, int tag, int gaps)
{
    s->gaps = gaps;
    s->each = m->bytes / (size_t)s->partitions;
    any_type one = any_bytes(&s->types, 1);
    if (gaps)
        one = any_vector(&s->types, s->each, 1, 2, one);
    CHECK(tutti_plan_build(one, &s->plan) == TUTTI_OK, "no plan");
    CHECK(tutti_alloc(2 * m->bytes, (void **)&s->memory) == 0, "device memory");
    const struct tutti_part_args args = {.send = send,
                                         .tag = tag,
                                         .comm = 7,
                                         .partitions = s->partitions,
                                         .count = (int64_t)s->each,
                                         .plan = s->plan,
                                         .buffer = s->memory,
                                         .transports = send ? m->transports : 0,
                                         .in_order = 1,
                                         .solid = 1,
                                         .ended = side_ended,
                                         .with = s};
    struct tutti_part_args gapped = args;
    gapped.count = 1;
    gapped.in_order = gapped.solid = 0;
    s->part = tutti_part_new(gaps ? &gapped : &args);
    CHECK(s->part && tutti_part_prequest_new(s->part, &s->device) == TUTTI_OK, "no request");
}

static void side_close(struct side *s)
{
    tutti_part_free(s->part);
    tutti_plan_drop(s->plan);
    any_free(&s->types);
    tutti_free(s->memory);
}

static void message_open(struct message *m, int tag, uint64_t *state)
{
    static const int units[] = {1, 5, 16, 120, 3000};
    memset(m, 0, sizeof *m);
    m->out.partitions = 1 + (int)(random_next(state) % MOST);
    m->in.partitions = 1 + (int)(random_next(state) % MOST);
    m->bytes = (size_t)m->out.partitions * (size_t)m->in.partitions * (size_t)units[random_next(state) % 5];
    m->transports = random_next(state) % 3 ? 1 + (int)(random_next(state) % (uint64_t)m->out.partitions) : 0;
    m->by_host = random_next(state) % 5 == 0 ? 1 + (int)(random_next(state) % 2) : 0;
    side_open(&m->out, m, 1, tag, 0);
    side_open(&m->in, m, 0, tag, random_next(state) % 5 == 0);
}

static void message_close(struct message *m)
{
    side_close(&m->out);
    side_close(&m->in);
}

/* ---- kernels ---- */

static void mark(const struct message *m, int partition)
{
    const MPIX_Prequest device = m->out.device;
    const enum form form = m->form == BY_ALL ? (enum form)(partition % BY_ALL) : m->form;
    if (form == BY_THREAD)
        MPIX_Pready_thread(partition, device);
    else if (form == BY_WARP)
        MPIX_Pready_warp(partition, device);
    else if (form == BY_BLOCK)
        MPIX_Pready_block(partition, device);
    else if (form == BY_RANGE)
        MPIX_Pready_range(partition, partition, device);
    else
        MPIX_Pready_list(1, &partition, device);
}

/* Makes the data of some partitions of all messages, and marks each. */
static void *writer(void *which)
{
    const int me = (int)(intptr_t)which;
    for (int i = 0; i < MOST; i++) {
        for (int k = 0; k < MESSAGES; k++) {
            const struct message *m = &messages[k];
            if (i >= m->out.partitions || i % WRITERS != me)
                continue;
            const int partition = m->order[i];
            const size_t first = (size_t)partition * m->out.each;
            for (size_t b = first; b < first + m->out.each; b++)
                m->out.memory[b] = byte_of(m, b);
            if (m->by_host == 1 || (m->by_host == 2 && partition / m->out.device.each % 2))
                CHECK(tutti_part_ready(m->out.part, partition, partition) == TUTTI_PART_FINE, "MPI_Pready");
            else
                mark(m, partition);
        }
    }
    return NULL;
}

/* Looks until all receives have arrived that kernels have stored (stored_only), or all. */
static void *reader(void *stored_only)
{
    char seen[MESSAGES][MOST] = {{0}};
    for (int left = 1; left;) {
        left = 0;
        for (int k = 0; k < MESSAGES; k++) {
            const struct message *m = &messages[k];
            for (int p = 0; p < m->in.partitions && (!stored_only || m->stored); p++) {
                int flag = 0;
                size_t wrong = 0;
                if (!seen[k][p])
                    MPIX_Parrived(m->in.device, p, &flag);
                for (size_t b = (size_t)p * m->in.each; flag && b < (size_t)(p + 1) * m->in.each; b++)
                    wrong += m->in.memory[place(&m->in, b)] != byte_of(m, b);
                CHECK(wrong == 0, "message %d: partition %d has arrived with %zu wrong bytes", k, p, wrong);
                seen[k][p] |= (char)flag;
                left += !seen[k][p];
            }
        }
        sched_yield();
    }
    return NULL;
}

/* ---- rounds ---- */

static void message_begin(struct message *m, uint64_t *state)
{
    m->seed = random_next(state);
    m->form = (enum form)(random_next(state) % FORMS);
    m->prepared = random_next(state) % 4 != 0;
    atomic_store(&m->out.ended, 0);
    atomic_store(&m->in.ended, 0);
    for (int i = 0; i < m->out.partitions; i++)
        m->order[i] = i;
    for (int i = m->out.partitions - 1; i > 0; i--) {
        const int j = (int)(random_next(state) % (uint64_t)(i + 1)), kept = m->order[i];
        m->order[i] = m->order[j];
        m->order[j] = kept;
    }
    memset(m->in.memory, 0x55, 2 * m->bytes);
    CHECK(tutti_part_start(m->in.part) == TUTTI_OK && tutti_part_start(m->out.part) == TUTTI_OK, "start");
    struct tutti_part *both[] = {m->out.part, m->in.part};
    if (m->prepared)
        CHECK(tutti_part_prepare(both, 2) == TUTTI_OK, "prepare");
    const size_t most = m->form == BY_BLOCK  ? SIZE_MAX
                        : m->form == BY_WARP ? TUTTI_PREQUEST_WARP_MOST
                                             : TUTTI_PREQUEST_THREAD_MOST;
    const int offered = m->out.device.round->to != 0;
    const int expected = m->prepared && !m->in.gaps && m->offers > 0; /* the first one goes by the engine */
    m->offers += m->prepared;
    CHECK(offered == expected, "kernels may store: %d; prepared %d, gaps %d", offered, m->prepared, m->in.gaps);
    m->stored = offered && !m->by_host && m->out.each <= most;
    stored_rounds += m->stored;
}

static void message_judge(const struct message *m, int k)
{
    size_t wrong = 0;
    for (size_t b = 0; b < m->bytes; b++)
        wrong += m->in.memory[place(&m->in, b)] != byte_of(m, b);
    CHECK(wrong == 0, "message %d: %zu of %zu bytes are wrong", k, wrong, m->bytes);
    CHECK(tutti_part_status(m->in.part) == TUTTI_OK && tutti_part_status(m->out.part) == TUTTI_OK, "message %d: %s", k,
          tutti_status_text(tutti_part_status(m->in.part)));
}

static void await_all(void)
{
    for (int left = 1; left;) {
        tutti_progress_poll();
        sched_yield();
        left = 0;
        for (int k = 0; k < MESSAGES; k++)
            left += !atomic_load(&messages[k].out.ended) + !atomic_load(&messages[k].in.ended);
    }
}

static void one_round(uint64_t *state)
{
    pthread_t threads[WRITERS + 1];
    const int alone = random_next(state) % 2; /* 1: the host makes no progress while kernels run */
    alone_rounds += alone;
    for (int k = 0; k < MESSAGES; k++)
        message_begin(&messages[k], state);
    for (intptr_t w = 0; w < WRITERS; w++)
        pthread_create(&threads[w], NULL, writer, (void *)w);
    pthread_create(&threads[WRITERS], NULL, reader, (void *)(intptr_t)alone);
    if (!alone)
        await_all();
    for (int t = 0; t <= WRITERS; t++)
        pthread_join(threads[t], NULL);
    await_all();
    for (int k = 0; k < MESSAGES; k++)
        message_judge(&messages[k], k);
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    struct kit kit;
    uint64_t state = check_seed();
    const long programs = check_many("TUTTI_TEST_ROUNDS", 60);
    (void)unused;
    if (!kit_open(transport, &kit))
        return 1;
    (void)tutti_transport_tags(transport, TUTTI_RNDVS); /* the first ones are those of the protocols */
    struct tutti_endpoint *endpoint = tutti_endpoint_new(kit.node, tutti_device(), SCRATCH);
    if (!CHECK(endpoint && tutti_part_open(transport, endpoint, kit.node, 0) == TUTTI_OK, "open"))
        return 1;
    for (long i = 0; i < programs && !check_failed(); i++) {
        for (int k = 0; k < MESSAGES; k++)
            message_open(&messages[k], k / 2, &state);
        for (int round = 0; round < ROUNDS && !check_failed(); round++)
            one_round(&state);
        for (int k = 0; k < MESSAGES; k++)
            message_close(&messages[k]);
    }
    CHECK(programs < 10 || (stored_rounds > 0 && alone_rounds > 0), "kernels have stored nothing");
    tutti_part_close();
    tutti_endpoint_free(endpoint, 1);
    kit_close(&kit);
    return check_failed() != 0;
}

int main(void)
{
    printf("seed %llu\n", (unsigned long long)check_seed());
    fflush(stdout);
    const int failed = tutti_threads_run(1, rank_main, NULL);
    printf("%ld messages that kernels have stored, %ld rounds without the host, %ld checks, %ld failed\n",
           stored_rounds, alone_rounds, check_done(), check_failed());
    return failed || check_failed();
}
