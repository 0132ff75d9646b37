/* Partitioned messages under threads, over a transport of one rank that sends to itself: random programs against plain
 * arithmetic. In each round two threads write partitions of every message and mark them as ready, another asks which
 * have arrived and reads those at once, and the main thread makes the progress. The two sides have different
 * partitions, layouts and memory; a receive may be longer or shorter than its message. TUTTI_TEST_SEED,
 * TUTTI_TEST_ROUNDS. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "dtype/describe_any.h"
#include "dtype/elements.h"
#include "part/part.h"
#include "progress/engine.h"
#include "support/check.h"
#include "support/random.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum { MESSAGES = 5, WRITERS = 2, STARTS = 3, UNIT = 24 * 12, UNITS = 400, GAP = 3, MOST = 12 };

struct side {
    struct any_room types;
    const struct tutti_plan *plan;
    struct tutti_part *part;
    char *memory;
    size_t room, capacity; /* bytes, and packed bytes */
    size_t element, count; /* packed bytes of an element, elements of a partition */
    int partitions, gaps, device;
    atomic_int ended;
};

struct message {
    struct side out, in;
    size_t bytes;
    uint64_t seed; /* of the round */
};

static struct message messages[MESSAGES];

static char byte_of(const struct message *m, size_t i)
{
    return (char)(random_mix(m->seed + i / 8) >> i % 8 * 8);
}

/* Where packed byte number i lies. */
static size_t place(const struct side *s, size_t i)
{
    const size_t within = i % s->element, half = s->element / 2;
    return i / s->element * (size_t)s->plan->extent + within + (s->gaps && within >= half ? GAP : 0);
}

static void side_ended(void *with)
{
    atomic_store(&((struct side *)with)->ended, 1);
}

static void side_open(struct side *s, int send, int tag, size_t bytes, uint64_t *state)
{
    static const int parts[] = {1, 2, 3, 4, 6, 12}, sizes[] = {1, 2, 4, 8, 24};
    memset(s, 0, sizeof *s);
    s->partitions = parts[random_next(state) % 6];
    s->element = (size_t)sizes[random_next(state) % 5];
    s->gaps = s->element > 1 && random_next(state) % 2;
    s->device = random_next(state) % 3 == 0;
    s->count = bytes / s->element / (size_t)s->partitions;
    if (!send && random_next(state) % 4 == 0)
        s->count += random_next(state) % 2 || s->count == 1 ? 1 : (size_t)-1;
    any_type one = any_bytes(&s->types, s->gaps ? 1 : s->element);
    if (s->gaps)
        one = any_vector(&s->types, 2, s->element / 2, (int64_t)(s->element / 2 + GAP), one);
    CHECK(tutti_plan_build(one, &s->plan) == TUTTI_OK, "no plan");
    s->capacity = s->count * s->element * (size_t)s->partitions;
    s->room = (s->capacity / s->element) * (size_t)s->plan->extent;
    if (s->device)
        CHECK(tutti_alloc(s->room, (void **)&s->memory) == 0, "device memory");
    else
        s->memory = malloc(s->room);
    const struct tutti_part_args args = {.send = send,
                                         .tag = tag,
                                         .comm = 7,
                                         .partitions = s->partitions,
                                         .count = (int64_t)s->count,
                                         .plan = s->plan,
                                         .buffer = s->memory,
                                         .in_order = !s->gaps,
                                         .solid = !s->gaps,
                                         .ended = side_ended,
                                         .with = s};
    s->part = tutti_part_new(&args);
    CHECK(s->part != NULL, "no request");
}

static void side_close(struct side *s)
{
    tutti_part_free(s->part);
    tutti_plan_drop(s->plan);
    any_free(&s->types);
    if (s->device)
        tutti_free(s->memory);
    else
        free(s->memory);
}

/* Bytes [first, end) of the message. */
static void fill(const struct message *m, char *memory, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        memory[place(&m->out, i)] = byte_of(m, i);
}

static size_t wrong_in(const struct message *m, const char *memory, size_t first, size_t end)
{
    size_t wrong = 0;
    for (size_t i = first; i < end && i < m->bytes; i++)
        wrong += memory[place(&m->in, i)] != byte_of(m, i);
    return wrong;
}

/* Marks every second partition of all messages, in an order of its own. */
static void *writer(void *which)
{
    const int me = (int)(intptr_t)which;
    uint64_t state = check_seed() + (uint64_t)me;
    for (int k = 0; k < MESSAGES * MOST; k++) {
        struct message *m = &messages[(k + me) % MESSAGES];
        struct side *s = &m->out;
        const int turn = k / MESSAGES, partition = (turn * 5 + 7) % MOST; /* each of MOST once */
        const size_t each = s->count * s->element, first = (size_t)partition * each;
        if (partition >= s->partitions || partition % WRITERS != me)
            continue;
        if (!s->device)
            fill(m, s->memory, first, first + each);
        const int list = random_next(&state) % 2;
        const enum tutti_part_wrong wrong =
            list ? tutti_part_ready_list(s->part, 1, &partition) : tutti_part_ready(s->part, partition, partition);
        CHECK(wrong == TUTTI_PART_FINE, "partition %d: %d", partition, (int)wrong);
    }
    return NULL;
}

/* Asks until all receives have ended; what has arrived is read at once. */
static void *reader(void *unused)
{
    char seen[MESSAGES][MOST] = {{0}};
    (void)unused;
    for (int left = 1; left;) {
        left = 0;
        for (int k = 0; k < MESSAGES; k++) {
            struct message *m = &messages[k];
            const size_t each = m->in.count * m->in.element;
            for (int p = 0; p < m->in.partitions; p++) {
                int flag = 0;
                if (tutti_part_arrived(m->in.part, p, &flag) != TUTTI_PART_FINE)
                    CHECK(0, "message %d, partition %d cannot be asked for", k, p);
                if (flag && !seen[k][p] && !m->in.device && m->bytes <= m->in.capacity)
                    CHECK(wrong_in(m, m->in.memory, (size_t)p * each, (size_t)(p + 1) * each) == 0,
                          "message %d, partition %d has arrived with wrong bytes", k, p);
                seen[k][p] |= (char)flag;
                left += !flag;
            }
        }
        sched_yield();
    }
    return NULL;
}

static int begin(struct message *m, uint64_t seed)
{
    m->seed = seed;
    atomic_store(&m->out.ended, 0);
    atomic_store(&m->in.ended, 0);
    if (m->out.device) {
        char *host = calloc(1, m->out.room);
        fill(m, host, 0, m->bytes);
        CHECK(tutti_copy(m->out.memory, host, m->out.room) == 0, "copy");
        free(host);
    }
    return CHECK(tutti_part_start(m->in.part) == TUTTI_OK && tutti_part_start(m->out.part) == TUTTI_OK, "start");
}

static void judge(const struct message *m, int number)
{
    const int cut = m->bytes > m->in.capacity;
    CHECK(tutti_part_status(m->in.part) == TUTTI_OK && tutti_part_status(m->out.part) == TUTTI_OK, "message %d: %s",
          number, tutti_status_text(tutti_part_status(m->in.part)));
    CHECK(tutti_part_truncated(m->in.part) == cut, "message %d of %zu bytes for %zu: truncated: %d", number, m->bytes,
          m->in.capacity, !cut);
    if (cut)
        return;
    char *host = malloc(m->in.room);
    if (m->in.device)
        CHECK(tutti_copy(host, m->in.memory, m->in.room) == 0, "copy");
    else
        memcpy(host, m->in.memory, m->in.room);
    const size_t wrong = wrong_in(m, host, 0, m->bytes);
    CHECK(wrong == 0, "message %d: %zu of %zu bytes are wrong", number, wrong, m->bytes);
    free(host);
}

static void one_round(uint64_t *state)
{
    pthread_t threads[WRITERS + 1];
    for (int k = 0; k < MESSAGES; k++) {
        messages[k].bytes = UNIT * (1 + random_next(state) % (random_next(state) % 2 ? UNITS : 4));
        side_open(&messages[k].out, 1, k / 2, messages[k].bytes,
                  state); /* two messages have one tag: their order counts */
        side_open(&messages[k].in, 0, k / 2, messages[k].bytes, state);
    }
    for (int start = 0; start < STARTS && !check_failed(); start++) {
        int left = MESSAGES;
        for (int k = 0; k < MESSAGES; k++)
            begin(&messages[k], random_next(state));
        for (intptr_t w = 0; w < WRITERS; w++)
            pthread_create(&threads[w], NULL, writer, (void *)w);
        pthread_create(&threads[WRITERS], NULL, reader, NULL);
        while (left) {
            tutti_progress_poll();
            sched_yield();
            left = 0;
            for (int k = 0; k < MESSAGES; k++)
                left += !atomic_load(&messages[k].out.ended) + !atomic_load(&messages[k].in.ended);
        }
        for (int t = 0; t <= WRITERS; t++)
            pthread_join(threads[t], NULL);
        for (int k = 0; k < MESSAGES; k++)
            judge(&messages[k], k);
    }
    for (int k = 0; k < MESSAGES; k++) {
        side_close(&messages[k].out);
        side_close(&messages[k].in);
    }
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    uint64_t state = check_seed();
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 40);
    (void)unused;
    if (!CHECK(tutti_part_open(transport, NULL, NULL, 0) == TUTTI_OK && tutti_part_is_open(), "open"))
        return 1;
    for (long i = 0; i < rounds && !check_failed(); i++)
        one_round(&state);
    tutti_part_close();
    return check_failed() != 0;
}

int main(void)
{
    printf("seed %llu\n", (unsigned long long)check_seed());
    fflush(stdout);
    const int failed = tutti_threads_run(1, rank_main, NULL);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return failed || check_failed();
}
