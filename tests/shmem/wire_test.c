/* Operations on heaps of far PEs, with PEs that are threads and a transport that is as late as MPI may be. Each case
 * runs with agents that do all at once, as on host memory, and with agents whose work ends later, as on a GPU; with and
 * without a second thread that brings the wire on. TUTTI_TEST_ROUNDS, TUTTI_TEST_SEED. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/status.h"
#include "shmem/host.h"
#include "shmem/kit.h"
#include "shmem/wire_kit.h"
#include "support/threads.h"

static struct heap *heaps[PES]; /* for oracles, past meetings */
static uint64_t seed;
static long rounds;

/* Puts and gets of random shapes into the part of the heap that is this PE's, against a copy of it. */
static void shapes(struct side *s, int *times)
{
    uint64_t(*model)[SLOTS * WORDS] = calloc(PES, sizeof *model);
    uint64_t *words = malloc(SLOTS * WORDS * sizeof *words);
    for (long round = 0; round < rounds; round++) {
        const int pe = next_pe(s, draw(s, 100));
        const size_t block = 1 + draw(s, 40), step = block + draw(s, 30), here_step = block + draw(s, 9);
        size_t n = 1 + draw(s, 60);
        const size_t at = draw(s, WORDS);
        while (at + (n - 1) * step + block > SLOTS * WORDS || (n - 1) * here_step + block > SLOTS * WORDS)
            n--;
        struct tutti_wire_op op = {.pe = pe,
                                   .at = AT(area) + ((size_t)s->pe * SLOTS * WORDS + at) * sizeof *words,
                                   .here = words,
                                   .n = n,
                                   .block = block,
                                   .bytes = sizeof *words,
                                   .step = (ptrdiff_t)step,
                                   .here_step = (ptrdiff_t)here_step,
                                   .confirmed = draw(s, 2) == 0};
        const int puts = draw(s, 3) > 0;
        op.what = puts ? TUTTI_WIRE_PUT : TUTTI_WIRE_GET;
        for (size_t i = 0; i < SLOTS * WORDS; i++)
            words[i] = puts ? random_next(&s->random) : 0;
        run(s, &op);
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < block; k++) {
                uint64_t *there = &model[pe][at + i * step + k], *mine = &words[i * here_step + k];
                if (puts)
                    *there = *mine;
                else
                    CHECK(*mine == *there, "seed %llu round %ld: got word %zu", (unsigned long long)seed, round, i);
                *mine = 0;
            }
        }
        if (puts && round % 4 == 0) { /* past quiet it is there, whatever that PE does */
            await(s, is_quiet, &pe, "quiet");
            CHECK(memcmp(heaps[pe]->area[s->pe], model[pe], sizeof *model) == 0, "round %ld: before quiet has ended",
                  round);
        }
    }
    settle(s);
    meet(s, times);
    for (int pe = 0; pe < PES; pe++)
        CHECK(pe == s->pe || memcmp(heaps[pe]->area[s->pe], model[pe], sizeof *model) == 0, "what PE %d holds", pe);
    meet(s, times);
    free(words);
    free(model);
}

struct at_least {
    const uint64_t *word;
    uint64_t value;
};
static int has_grown(struct side *s, const void *with)
{
    const struct at_least *a = with;
    (void)s;
    return __atomic_load_n(a->word, __ATOMIC_ACQUIRE) >= a->value;
}

/* Data of several pieces, then the signal: whoever sees the signal sees all of them. Every second one is not waited for
 * here, and its source overwritten past a fence. */
static void signals(struct side *s, int *times)
{
    enum { BYTES = 200000 };
    const int to = (s->pe + 1) % PES, from = (s->pe + PES - 1) % PES;
    char *data = malloc(BYTES);
    for (long round = 1; round <= rounds / 8 + 2; round++) {
        /* The data begin with their length: shorter ones would leave a part of that of the round before. */
        const size_t bytes = round % 3 == 0 ? 0 : sizeof bytes + draw(s, BYTES - sizeof bytes);
        if (round % 3 != 0) {
            memset(data, (int)round, bytes);
            memcpy(data, &bytes, sizeof bytes);
        }
        struct tutti_wire_op op = put_of(to, AT(large) + (size_t)s->pe * LARGE, data, bytes);
        op.n = bytes > 0;
        op.changes = 1;
        op.amo = round % 2 ? TSHMEM_AMO_SET : TSHMEM_AMO_ADD;
        op.value = round % 2 ? (uint64_t)round : 1;
        op.word = AT(signal) + (size_t)s->pe * sizeof(uint64_t);
        op.word_bytes = sizeof(uint64_t);
        if (round % 4 == 1) {
            CHECK(tutti_wire_post(s->wire, &op) == TUTTI_OK, "post");
            await(s, is_fenced, NULL, "a fence");
        } else {
            run(s, &op);
        }
        memset(data, 0xee, bytes);
        const struct at_least signal = {&s->heap->signal[from], (uint64_t)round};
        await(s, has_grown, &signal, "a signal");
        CHECK(s->heap->signal[from] == (uint64_t)round, "signal");
        const char *large = s->heap->large[from];
        size_t length = 0, wrong = 0;
        if (round % 3 != 0) {
            memcpy(&length, large, sizeof length);
            length = length > LARGE ? 1 : length;
            for (size_t i = sizeof length; i < length; i++)
                wrong += large[i] != (char)round;
            CHECK(wrong == 0, "seed %llu round %ld: %zu of %zu bytes came after the signal", (unsigned long long)seed,
                  round, wrong, length);
        }
        struct tutti_wire_op answer = put_of(from, AT(answer) + (size_t)s->pe * sizeof(uint64_t), NULL, 0);
        answer.n = 0;
        answer.changes = 1;
        answer.amo = TSHMEM_AMO_SET;
        answer.value = (uint64_t)round;
        answer.word = answer.at;
        answer.word_bytes = sizeof(uint64_t);
        run(s, &answer);
        const struct at_least taken = {&s->heap->answer[to], (uint64_t)round};
        await(s, has_grown, &taken, "the answer");
    }
    settle(s);
    meet(s, times);
    free(data);
}

/* Everybody changes the words of PE 0: what each has fetched, and what they hold at the end, is counted. */
static unsigned char taken[1 << 20];
static void contention(struct side *s, int *times)
{
    const long each = rounds < 100000 ? rounds : 100000;
    const int kinds = s->pe == 0;
    for (long i = 0; i < each; i++) {
        uint64_t was;
        if (kinds) { /* near: by this PE's own instructions */
            was = tutti_shmem_amo_host(NULL, TSHMEM_AMO_ADD, &s->heap->ticket, 8, 1, 0);
            tutti_shmem_amo_host(NULL, TSHMEM_AMO_ADD, &s->heap->counter, 8, 3, 0);
            tutti_wire_poll(s->wire);
        } else {
            struct tutti_wire_op ticket = amo_of(0, TSHMEM_AMO_ADD, AT(ticket), 8, 1, 1);
            struct tutti_wire_op add = amo_of(0, TSHMEM_AMO_ADD, AT(counter), 8, 3, 0);
            add.confirmed = (int)draw(s, 2);
            CHECK(tutti_wire_post(s->wire, &add) == TUTTI_OK, "post");
            run(s, &ticket);
            was = ticket.was;
        }
        CHECK(was < (uint64_t)(each * PES) && !__atomic_exchange_n(&taken[was], 1, __ATOMIC_RELAXED),
              "ticket %llu twice", (unsigned long long)was);
    }
    if (s->pe != 0) {
        struct tutti_wire_op more[] = {amo_of(0, TSHMEM_AMO_OR, AT(bits), 8, UINT64_C(1) << s->pe, 1),
                                       amo_of(0, TSHMEM_AMO_XOR, AT(bits), 8, UINT64_C(256) << s->pe, 0),
                                       amo_of(0, TSHMEM_AMO_ADD, AT(small), 4, UINT32_MAX, 1),
                                       amo_of(0, TSHMEM_AMO_ADD_FLOAT, AT(sum), 8, 0, 1)};
        const double half = 0.5;
        memcpy(&more[3].value, &half, sizeof half);
        for (int i = 0; i < 4; i++)
            run(s, &more[i]);
        for (int done = 0; !done;) { /* the PEs in turn, by compare and swap */
            struct tutti_wire_op swap = amo_of(0, TSHMEM_AMO_COMPARE_SWAP, AT(set), 8, (uint64_t)s->pe, 1);
            swap.compare = (uint64_t)s->pe - 1;
            run(s, &swap);
            done = swap.was == (uint64_t)s->pe - 1;
        }
    }
    settle(s);
    meet(s, times);
    if (s->pe == 0) {
        const struct heap *h = s->heap;
        CHECK(h->ticket == (uint64_t)(each * PES) && h->counter == 3 * (uint64_t)(each * PES), "%llu, %llu",
              (unsigned long long)h->ticket, (unsigned long long)h->counter);
        CHECK(h->bits == 0xe0e && h->small == (uint32_t) - (PES - 1) && h->sum == 0.5 * (PES - 1) && h->set == PES - 1,
              "%llx %x %g %llu", (unsigned long long)h->bits, h->small, h->sum, (unsigned long long)h->set);
        memset(taken, 0, sizeof taken);
    }
    meet(s, times);
}

/* Many at once, more than credits and buffers: none waits on begin; after quiet all are there, gets too. */
static atomic_int ended_times;
static void count_end(struct tutti_wire_op *op, int status)
{
    (void)op;
    CHECK(status == TUTTI_OK, "ended with %d", status);
    atomic_fetch_add(&ended_times, 1);
}

static void flood(struct side *s, int *times)
{
    enum { MANY = 300 };
    char *large = malloc(LARGE), *back = malloc(LARGE);
    uint64_t got[MANY], notes = 0;
    memset(s->heap->area, 0, sizeof s->heap->area);
    atomic_store(&ended_times, 0);
    meet(s, times);
    for (long round = 0; round < 3; round++) {
        const int pe = next_pe(s, (uint64_t)round);
        memset(large, s->pe * 16 + (int)round, LARGE);
        struct tutti_wire_op op = put_of(pe, AT(large) + (size_t)s->pe * LARGE, large, LARGE);
        op.ended = count_end;
        op.confirmed = 1;
        const uint64_t before = tutti_now_ns();
        CHECK(tutti_wire_post(s->wire, &op) == TUTTI_OK, "post");
        for (uint64_t i = 0; i < MANY; i++) {
            struct tutti_wire_op add = amo_of(pe, TSHMEM_AMO_ADD, AT(area) + (i % 7) * 8, 8, 1, (int)(i % 2));
            add.ended = count_end;
            CHECK(tutti_wire_post(s->wire, &add) == TUTTI_OK, "post");
            struct tutti_wire_op get = get_of(pe, AT(area) + (i % 7) * 8, &got[i], 8);
            CHECK(tutti_wire_post(s->wire, &get) == TUTTI_OK, "post");
        }
        CHECK(tutti_now_ns() - before < UINT64_C(10000000000), "a post has waited");
        struct tutti_wire_op note = {.what = TUTTI_WIRE_NOTICE, .pe = pe, .note_bytes = sizeof notes};
        notes = atomic_load(&s->notices[pe]); /* nothing of theirs: only that the word is read */
        const uint64_t number = 1;
        memcpy(note.note, &number, sizeof number);
        CHECK(tutti_wire_post(s->wire, &note) == TUTTI_OK, "post");
        struct tutti_wire_op whole = get_of(pe, AT(large) + (size_t)s->pe * LARGE, back, LARGE);
        CHECK(tutti_wire_post(s->wire, &whole) == TUTTI_OK, "post");
        await(s, is_quiet, &pe, "quiet of one PE");
        CHECK(memcmp(back, large, LARGE) == 0, "seed %llu: what was put before is got", (unsigned long long)seed);
    }
    settle(s);
    meet(s, times);
    uint64_t sum = 0;
    for (int i = 0; i < 7; i++)
        sum += s->heap->area[0][0][i];
    CHECK(sum == (uint64_t)MANY * (PES - 1), "%llu additions", (unsigned long long)sum);
    for (int from = 0; from < PES; from++)
        CHECK(from == s->pe || atomic_load(&s->notices[from]) == 1, "notes of PE %d", from);
    CHECK(atomic_load(&ended_times) == PES * 3 * (MANY + 1), "%d ends were told", atomic_load(&ended_times));
    meet(s, times);
    free(large);
    free(back);
}

/* What cannot be begun, and a PE that gives up with operations under way. */
static void end_badly(struct side *s, int how)
{
    uint64_t word = 0, got;
    struct tutti_wire_op op = put_of(s->pe, 0, &word, sizeof word), get = get_of(next_pe(s, 0), 0, &got, sizeof got);
    CHECK(tutti_wire_begin(s->wire, &op) == TUTTI_ERR_ARGUMENT, "to oneself");
    op.pe = PES;
    CHECK(tutti_wire_post(s->wire, &op) == TUTTI_ERR_ARGUMENT, "to nobody");
    if (s->pe == 1 && how == 0) {
        tutti_wire_abort(s->wire, TUTTI_ERR_TIMEOUT);
    } else if (s->pe == 1) { /* a target that is not in the heap: PE 2 does not believe it, and ends; it tells all */
        op = put_of(2, how == 1 ? sizeof(struct heap) - 7 : UINT64_MAX - 3, &word, sizeof word);
        CHECK(tutti_wire_begin(s->wire, &op) == TUTTI_OK, "begin");
    }
    if (how > 0 && s->pe == 2) {
        await(s, is_given_up, NULL, "a message that is not right");
        tutti_wire_abort(s->wire, TUTTI_ERR_BROKEN);
    }
    const int begun_one = tutti_wire_begin(s->wire, &get) == TUTTI_OK;
    await(s, is_given_up, NULL, "the end");
    if (begun_one)
        await(s, is_over, &get, "an operation of one that has given up");
    CHECK(tutti_wire_begin(s->wire, &get) < 0 && tutti_wire_quiet(s->wire, -1) < 0 && tutti_wire_left(s->wire) < 0,
          "after the end");
    const int teller = how == 0 ? 1 : 2;
    CHECK(atomic_load(&s->by) == (s->pe == teller ? -1 : teller), "told by PE %d", atomic_load(&s->by));
}

struct plan {
    const struct tutti_wire_local *local;
    int helps, how; /* how: -1: to a good end */
};

static void work_through(struct side *s)
{
    int times = 0;
    shapes(s, &times);
    signals(s, &times);
    contention(s, &times);
    flood(s, &times);
    settle(s);
    meet(s, &times);
    tutti_wire_leave(s->wire);
    await(s, is_left, NULL, "the farewell");
    CHECK(tutti_wire_left(s->wire) == 1, "left");
}

static int rank_main(struct tutti_transport *transport, void *arg)
{
    const struct plan *plan = arg;
    struct side *s = calloc(1, sizeof *s);
    here = transport->rank;
    begin_works(here);
    *s = (struct side){.pe = here, .transport = transport, .random = seed + (uint64_t)here * 1000003};
    s->users = (struct tutti_wire_users){hear, give_up, s};
    s->heap = heaps[here] = calloc(1, sizeof *s->heap);
    if (here == 0)
        forget_meetings();
    memset(s->far, 1, sizeof s->far);
    s->far[here] = 0;
    if (!CHECK(tutti_wire_open(transport, s->far, plan->local, (char *)s->heap, sizeof *s->heap, &s->users, &s->wire) ==
                   0,
               "open"))
        return 1;
    transport->ops->barrier(transport);
    if (plan->helps)
        pthread_create(&s->helper, NULL, help, s);
    if (plan->how < 0)
        work_through(s);
    else
        end_badly(s, plan->how);
    atomic_store(&s->stop, 1);
    if (plan->helps)
        pthread_join(s->helper, NULL);
    transport->ops->barrier(transport);
    tutti_wire_close(s->wire);
    if (plan->how < 0) { /* nothing is left behind */
        struct tutti_caught caught;
        int flag = 1;
        for (int i = 0; i < 10; i++)
            CHECK(transport->ops->probe(transport, TUTTI_ANY_RANK, TUTTI_ANY_TAG, &caught, &flag) == 0 && !flag,
                  "a message is left");
    }
    transport->ops->barrier(transport);
    free(s->heap);
    free(s);
    return check_failed() != 0;
}

int main(void)
{
    seed = check_seed();
    rounds = check_many("TUTTI_TEST_ROUNDS", 60);
    printf("seed %llu\n", (unsigned long long)seed);
    int failed = 0;
    for (int k = 0; k < 4 && !failed; k++) {
        for (int how = -1; how < 3 && !failed; how++) {
            struct plan plan = {k & 1 ? &later : &at_once, k >> 1, how};
            if (how > 0) /* it is said what is not right */
                shmem_hush_begin();
            failed |= tutti_threads_run(PES, rank_main, &plan);
            if (how > 0)
                shmem_hush_end();
        }
    }
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return failed != 0 || check_failed() != 0;
}
