/* Protocol `pipelined` over the transport of threads: random messages both ways, several at once, of random layouts in
 * memory of all kinds, blocking and not, for buffers that are too short; a sender that dies; RTSs that are old or come
 * again. RTSs go over a transport of their own, in the messages' place. */
#include "p2p/pipelined.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/status.h"
#include "p2p/elements.h"
#include "support/check.h"
#include "support/random.h"
#include "support/threads.h"

enum { RANKS = 4, MOST = 12, LONG = 60000, FEW_TAGS = 16 };

static void nothing(void)
{
}

static struct tutti_step steps[RANKS] = {
    {.name = "messages of rank 0", .poll = nothing},
    {.name = "messages of rank 1", .poll = nothing},
    {.name = "messages of rank 2", .poll = nothing},
    {.name = "messages of rank 3", .poll = nothing},
};

/* A message of a round; all ranks draw the same list. */
struct message {
    int from, to, blocking, fewer;
    enum kit_memory memory; /* of the receiver */
    uint64_t bytes, fragment, seed;
    struct kit_side out, in;
    struct tutti_pipelined_rts sent, received;
    struct tutti_transfer sending, receiving;
    int is_sending, is_receiving, ended;
    struct tutti_incoming *incoming;
};

struct side {
    struct tutti_transport *transport, *rtses;
    struct tutti_pipelined *pipelined;
    struct message *list;
    int n;
};

static int draw(struct message *list, uint64_t *at, int ranks)
{
    const int n = 1 + (int)(random_next(at) % MOST);
    for (int i = 0; i < n; i++) {
        struct message *m = &list[i];
        *m = (struct message){.from = (int)(random_next(at) % (uint64_t)ranks),
                              .to = (int)(random_next(at) % (uint64_t)ranks),
                              .blocking = random_next(at) % 3 == 0,
                              .fewer = random_next(at) % 6 == 0,
                              .memory = (enum kit_memory)(random_next(at) % KIT_MEMORIES),
                              .bytes = 2 + random_next(at) % (random_next(at) % 2 ? LONG : 300)};
        m->fragment = 1 + random_next(at) % m->bytes;
        if (m->bytes / m->fragment > 300)
            m->fragment = m->bytes / 300;
        m->seed = random_next(at);
    }
    return n;
}

static void check(int status, const char *what)
{
    CHECK(status == TUTTI_OK, "%s: %s", what, tutti_status_text(status));
}

/* Receives of RTSs are made for all messages at once. */
static void open_receives(struct side *s, uint64_t *state)
{
    for (int i = 0; i < s->n; i++) {
        struct message *m = &s->list[i];
        if (m->to != s->transport->rank)
            continue;
        kit_make(&m->in, m->memory, m->bytes, m->fewer, state);
        check(s->rtses->ops->receive(s->rtses, &m->received, sizeof m->received, m->from, i, &m->receiving), "receive");
        m->is_receiving = 1;
    }
}

static void end(struct side *s, struct message *m)
{
    const int number = (int)(m - s->list), status = tutti_incoming_status(m->incoming);
    const int truncated = m->bytes > m->in.capacity;
    check(status, "a message");
    CHECK(tutti_incoming_truncated(m->incoming) == truncated, "message %d: %llu bytes for %llu, truncated: %d", number,
          (unsigned long long)m->bytes, (unsigned long long)m->in.capacity, !truncated);
    kit_judge(&m->in, m->seed, truncated ? 0 : m->bytes, tutti_incoming_packed(m->incoming), number);
    tutti_incoming_free(m->incoming);
    m->incoming = NULL;
    m->ended = 1;
}

/* Looks after what comes. 1: all has. */
static int look(struct side *s)
{
    int left = 0;
    for (int i = 0; i < s->n; i++) {
        struct message *m = &s->list[i];
        int done = 0;
        if (m->to != s->transport->rank || m->ended)
            continue;
        left++;
        if (m->incoming && tutti_incoming_done(m->incoming))
            end(s, m);
        if (!m->is_receiving)
            continue;
        check(s->rtses->ops->test(s->rtses, &m->receiving, NULL, &done), "test of an RTS");
        if (!done)
            continue;
        m->is_receiving = 0;
        CHECK(tutti_pipelined_knows(s->pipelined, &m->received) && m->received.bytes == m->bytes, "a wrong RTS");
        struct tutti_elements elements = m->in.elements;
        if (m->memory == KIT_WHOLE)
            elements = (struct tutti_elements){.plan = NULL};
        check(tutti_pipelined_accept(s->pipelined, &m->received, &elements, m->in.capacity, &m->incoming), "accept");
        if (m->incoming)
            check(tutti_incoming_start(m->incoming), "start");
    }
    return left == 0;
}

static int rts_has_gone(struct side *s, struct message *m)
{
    int done = 0;
    if (m->is_sending) {
        check(s->rtses->ops->test(s->rtses, &m->sending, NULL, &done), "test of an RTS");
        m->is_sending = !done;
    }
    return !m->is_sending;
}

/* Of a blocking send: this rank receives meanwhile. */
struct granted {
    struct side *side;
    struct message *message;
};

static int granted(void *with)
{
    const struct granted *g = with;
    look(g->side);
    return rts_has_gone(g->side, g->message);
}

static int has_gone(void *with)
{
    return granted(with);
}

static void send_one(struct side *s, struct message *m, uint64_t *state)
{
    struct tutti_places places;
    struct granted g = {s, m};
    struct tutti_outgoing *out = NULL;
    kit_make(&m->out, KIT_DEVICE, m->bytes, 0, state);
    kit_fill(&m->out, m->seed, m->bytes);
    tutti_places_of(m->out.elements.plan, m->out.elements.count, m->out.elements.buffer, &places);
    while (!out) { /* a tag may be free later */
        out = tutti_pipelined_offer(s->pipelined, &m->out.elements, m->bytes, m->fragment, tutti_fragment_gpu(&places),
                                    m->to, &m->sent);
        tutti_progress_poll();
        look(s);
    }
    if (random_next(state) % 8 == 0) { /* as where the RTS cannot be sent */
        tutti_outgoing_withdraw(out);
        send_one(s, (kit_shut(&m->out), m), state);
        return;
    }
    check(s->rtses->ops->send(s->rtses, &m->sent, sizeof m->sent, m->to, (int)(m - s->list), 1, &m->sending), "send");
    m->is_sending = 1;
    check(tutti_outgoing_carry(out, m->blocking ? granted : NULL, &g), "carry");
    /* The elements are the program's again. */
    if (m->blocking)
        check(tutti_progress_wait(&(const struct tutti_wait){.done = has_gone, .with = &g, .what = "an RTS"}), "wait");
    kit_fill(&m->out, ~m->seed, m->bytes);
}

static int all_done(void *with)
{
    struct side *s = with;
    int done = look(s) && !tutti_step_busy(&steps[s->transport->rank]);
    for (int i = 0; i < s->n; i++) {
        if (s->list[i].from == s->transport->rank)
            done &= rts_has_gone(s, &s->list[i]);
    }
    return done;
}

static void exchange(struct side *s, uint64_t seed)
{
    uint64_t at = seed, mine = random_mix(seed + 1 + (uint64_t)s->transport->rank);
    s->n = draw(s->list, &at, s->transport->size);
    open_receives(s, &mine);
    for (int i = 0; i < s->n; i++) {
        if (s->list[i].from == s->transport->rank)
            send_one(s, &s->list[i], &mine);
    }
    check(tutti_progress_wait(&(const struct tutti_wait){.done = all_done, .with = s, .what = "a round"}), "wait");
    for (int i = 0; i < s->n; i++) {
        if (s->list[i].from == s->transport->rank)
            kit_shut(&s->list[i].out);
        if (s->list[i].to == s->transport->rank)
            kit_shut(&s->list[i].in);
    }
}

static int open_side(struct side *s, struct tutti_transport *transport)
{
    const uint64_t key[] = {check_seed(), 4711};
    *s = (struct side){.transport = transport, .rtses = tutti_threads_split(transport, 0)};
    s->list = calloc(MOST, sizeof *s->list);
    s->pipelined = tutti_pipelined_new(transport, key, 100, FEW_TAGS, &steps[transport->rank]);
    return s->pipelined && s->rtses && s->list;
}

static void close_side(struct side *s)
{
    tutti_pipelined_free(s->pipelined, 1);
    tutti_threads_free(s->rtses);
    free(s->list);
}

static int rank_main(struct tutti_transport *transport, void *arg)
{
    struct side side;
    (void)arg;
    if (!CHECK(open_side(&side, transport), "no memory"))
        return 1;
    for (int round = 0; round < (int)check_many("TUTTI_TEST_ROUNDS", 50); round++) {
        exchange(&side, random_mix(check_seed() + (uint64_t)(round * RANKS + transport->size)));
        check(transport->ops->barrier(transport), "barrier");
    }
    close_side(&side);
    return check_failed() > 0;
}

static void messages(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= RANKS; ranks++)
        assert_int_equal(tutti_threads_run(ranks, rank_main, NULL), 0);
    assert_false(tutti_progress_busy());
}

/* ---- a message that breaks ---- */

static int has_ended(void *with)
{
    return tutti_incoming_done(with);
}

/* Rank 0 sends the RTS and, of several fragments, the first, with a byte too many. */
static int broken_main(struct tutti_transport *transport, void *arg)
{
    struct side s;
    struct message m = {.from = 0, .to = 1, .bytes = 100000, .fragment = 1000};
    uint64_t state = check_seed();
    (void)arg;
    m.memory = *(enum kit_memory *)arg;
    if (!CHECK(open_side(&s, transport), "no memory"))
        return 1;
    if (transport->rank == 0) {
        struct tutti_transfer transfer[2];
        char fragment[1001] = {1};
        int done = 0;
        kit_make(&m.out, KIT_DEVICE, m.bytes, 0, &state);
        struct tutti_outgoing *out =
            tutti_pipelined_offer(s.pipelined, &m.out.elements, m.bytes, m.fragment, 0, 1, &m.sent);
        check(s.rtses->ops->send(s.rtses, &m.sent, sizeof m.sent, 1, 0, 1, &transfer[0]), "send");
        check(transport->ops->send(transport, fragment, sizeof fragment, 1, m.sent.tag, 1, &transfer[1]), "send");
        for (int i = 0; i < 2; i += done)
            check((i ? transport : s.rtses)->ops->test(i ? transport : s.rtses, &transfer[i], NULL, &done), "test");
        tutti_outgoing_withdraw(out);
        kit_shut(&m.out);
    } else {
        s.list[0] = m;
        s.n = 1;
        open_receives(&s, &state);
        while (!s.list[0].incoming)
            look(&s);
        struct tutti_incoming *in = s.list[0].incoming;
        check(tutti_progress_wait(&(const struct tutti_wait){.done = has_ended, .with = in, .what = "its end"}),
              "wait");
        CHECK(tutti_incoming_status(in) == TUTTI_ERR_TRANSPORT, "it ended with %d", tutti_incoming_status(in));
        tutti_incoming_free(in);
        kit_shut(&s.list[0].in);
    }
    check(transport->ops->barrier(transport), "barrier");
    close_side(&s);
    return check_failed() > 0;
}

static void a_broken_message(void **state)
{
    (void)state;
    for (enum kit_memory memory = KIT_HOST; memory < KIT_MEMORIES; memory++) {
        assert_int_equal(tutti_threads_run(2, broken_main, &memory), 0);
        assert_false(tutti_progress_busy());
    }
}

/* ---- RTSs that are old, come again, or are none ---- */

static int status_of(struct side *s, const struct tutti_pipelined_rts *rts)
{
    char room[64];
    const struct tutti_elements nothing_laid_out = {.plan = NULL, .buffer = room};
    struct tutti_incoming *in = NULL;
    int status = tutti_pipelined_accept(s->pipelined, rts, &nothing_laid_out, 1u << 20, &in);
    CHECK((status == TUTTI_OK) == (in != NULL), "accepted with %d", status);
    if (status == TUTTI_OK)
        status = tutti_incoming_start(in);
    tutti_incoming_free(in);
    return status;
}

/* Of rank 0, after messages that rank 1 has got: `last` is the RTS of the last one, `first` of the first. */
static void look_at_stale(struct side *s, const struct tutti_pipelined_rts *first,
                          const struct tutti_pipelined_rts *last)
{
    CHECK(first->tag == last->tag && first->sequence < last->sequence,
          "messages one after the other go by tags %d and %d, sequences %llu and %llu", first->tag, last->tag,
          (unsigned long long)first->sequence, (unsigned long long)last->sequence);
    struct tutti_pipelined_rts rts = *first;
    CHECK(status_of(s, &rts) == TUTTI_ERR_MISMATCH, "an old RTS is believed");
    rts = *last;
    CHECK(status_of(s, &rts) == TUTTI_ERR_MISMATCH, "an RTS that comes again is believed");
    rts.sequence = 0;
    CHECK(status_of(s, &rts) == TUTTI_ERR_MISMATCH, "an RTS without a sequence is believed");

    static const struct {
        const char *what;
        uint64_t bytes, fragment;
        int tag, rank; /* beside those of the RTS */
    } unsound[] = {{"no bytes", 0, 1, 0, 0},
                   {"no fragment", 100, 0, 0, 0},
                   {"a long fragment", 100, 101, 0, 0},
                   {"too many fragments", UINT64_MAX, 1, 0, 0},
                   {"a tag below", 100, 10, -1, 0},
                   {"a tag above", 100, 10, FEW_TAGS, 0},
                   {"no rank", 100, 10, 0, -1},
                   {"a rank above", 100, 10, 0, 2}};
    for (size_t i = 0; i < sizeof unsound / sizeof unsound[0]; i++) {
        rts = *last;
        rts.sequence++;
        rts.bytes = unsound[i].bytes;
        rts.fragment = unsound[i].fragment;
        rts.tag += unsound[i].tag;
        rts.rank += unsound[i].rank;
        CHECK(status_of(s, &rts) == TUTTI_ERR_ARGUMENT, "an RTS with %s is believed", unsound[i].what);
    }
}

static int stale_main(struct tutti_transport *transport, void *arg)
{
    enum { MESSAGES = 3 };
    struct tutti_pipelined_rts seen[MESSAGES];
    struct side s;
    uint64_t state = check_seed();
    (void)arg;
    if (!CHECK(open_side(&s, transport), "no memory"))
        return 1;
    for (int i = 0; i < 2 * MESSAGES; i++) {
        if (i == MESSAGES && transport->rank == 1)
            look_at_stale(&s, &seen[0], &seen[MESSAGES - 1]);
        s.list[0] = (struct message){.from = 0, .to = 1, .bytes = 5000, .fragment = 1000, .memory = KIT_DEVICE};
        s.n = 1;
        open_receives(&s, &state);
        if (transport->rank == 0)
            send_one(&s, &s.list[0], &state);
        check(tutti_progress_wait(&(const struct tutti_wait){.done = all_done, .with = &s, .what = "a message"}),
              "wait");
        seen[i % MESSAGES] = s.list[0].received;
        kit_shut(transport->rank == 0 ? &s.list[0].out : &s.list[0].in);
        check(transport->ops->barrier(transport), "barrier");
    }
    close_side(&s);
    return check_failed() > 0;
}

static void a_stale_rts(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(2, stale_main, NULL), 0);
    assert_false(tutti_progress_busy());
}

int main(void)
{
    char why[200];
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages), cmocka_unit_test(a_broken_message),
                                       cmocka_unit_test(a_stale_rts)};
    printf("seed %llu\n", (unsigned long long)check_seed());
    if (!tutti_device() || tutti_device()->open(why, sizeof why) != TUTTI_OK)
        return CHECK_SKIP;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
