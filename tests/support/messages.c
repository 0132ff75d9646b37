#include "support/messages.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/status.h"
#include "support/check.h"
#include "support/random.h"

enum { MOST = 40, RANKS = 16, TAGS = 3, SHORT = 64, LONG = 200000, PLAN_TAG = 7, SECONDS = 60 };

/* How the ranks of a round receive: of one way all, so that every order of arrival serves all receives. */
enum how { BY_BOTH, ANY_FROM, ANY_TAG, ANY, HOWS };

/* A message of a round. All ranks draw the same list; a rank sends its own in the order of the list. */
struct sketch {
    int from, to, tag, synchronous, probed;
    size_t bytes;
    struct tutti_transfer sent, received;
    int sending, receiving;
    unsigned char *out, *in;
};

static unsigned char byte_of(uint64_t seed, int from, int number, size_t i)
{
    return (unsigned char)(random_mix(seed ^ (uint64_t)from << 32 ^ (uint64_t)number << 40) >> i % 7 * 8) ^
           (unsigned char)i;
}

static int check(int status, const char *call)
{
    return CHECK(status == TUTTI_OK, "%s: %s", call, tutti_status_text(status));
}

/* A message begins with its sender and its number in the list. */
static void fill(struct sketch *m, uint64_t seed, int number)
{
    m->out = malloc(m->bytes);
    for (size_t i = 0; i < m->bytes; i++)
        m->out[i] = byte_of(seed, m->from, number, i);
    m->out[0] = (unsigned char)m->from;
    m->out[1] = (unsigned char)number;
}

/* What receive number `at` of the round has got. last: of each sender and tag, the number of its last message. */
static void judge(const struct sketch *list, int at, const struct tutti_transfer_status *came, enum how how,
                  uint64_t seed, int last[RANKS][TAGS], int *taken)
{
    const unsigned char *in = list[at].in;
    const int from = in[0], number = in[1];
    if (!CHECK(number < MOST && from < RANKS && list[number].from == from && list[number].to == list[at].to,
               "receive %d: message %d of rank %d is not for it", at, number, from))
        return;
    const struct sketch *m = &list[number];
    CHECK(came->from == from && came->tag == m->tag && came->bytes == m->bytes,
          "receive %d: told of rank %d, tag %d, %zu bytes; got rank %d, tag %d, %zu bytes", at, came->from, came->tag,
          came->bytes, from, m->tag, m->bytes);
    CHECK(!taken[number], "message %d has come twice", number);
    taken[number] = 1;
    for (int t = 0; t < TAGS; t++) {
        if (t == m->tag || how == ANY_TAG || how == ANY)
            CHECK(last[from][t] < number, "receive %d: message %d overtook message %d of rank %d", at, last[from][t],
                  number, from);
    }
    last[from][m->tag] = number;
    size_t wrong = 0;
    for (size_t i = 2; i < m->bytes; i++)
        wrong += in[i] != byte_of(seed, from, number, i);
    CHECK(wrong == 0, "message %d: %zu of %zu bytes are wrong", number, wrong, m->bytes);
}

static int from_of(const struct sketch *m, enum how how)
{
    return how == ANY_FROM || how == ANY ? TUTTI_ANY_RANK : m->from;
}

static int tag_of(const struct sketch *m, enum how how)
{
    return how == ANY_TAG || how == ANY ? TUTTI_ANY_TAG : m->tag;
}

static int draw(struct sketch *list, uint64_t *at, int ranks)
{
    const int n = 1 + (int)(random_next(at) % MOST);
    for (int i = 0; i < n; i++) {
        struct sketch *m = &list[i];
        *m = (struct sketch){.from = (int)(random_next(at) % (uint64_t)ranks),
                             .to = (int)(random_next(at) % (uint64_t)ranks),
                             .tag = (int)(random_next(at) % TAGS),
                             .synchronous = random_next(at) % 3 == 0,
                             .probed = random_next(at) % 3 == 0,
                             .bytes = 2 + random_next(at) % SHORT};
        if (random_next(at) % 4 == 0)
            m->bytes = 2 + random_next(at) % LONG;
    }
    return n;
}

/* Receives are made in the order of the list: a probe is not passed before it has met its message. */
struct side {
    struct tutti_transport *transport;
    struct sketch *list;
    int n, next_in, next_out, left, late;
    enum how how;
    uint64_t seed;
    struct tutti_transfer_status came[MOST];
};

static void begin_receives(struct side *s)
{
    struct tutti_transport *t = s->transport;
    for (; s->next_in < s->n; s->next_in++) {
        struct sketch *m = &s->list[s->next_in];
        if (m->to != t->rank)
            continue;
        m->in = m->in ? m->in : calloc(1, LONG + SHORT);
        if (m->probed) {
            struct tutti_caught caught;
            int flag = 0;
            check(t->ops->probe(t, from_of(m, s->how), tag_of(m, s->how), &caught, &flag), "probe");
            if (!flag)
                return;
            s->came[s->next_in] = caught.came;
            check(t->ops->receive_caught(t, &caught, m->in, caught.came.bytes, &m->received), "receive_caught");
        } else {
            check(t->ops->receive(t, m->in, LONG + SHORT, from_of(m, s->how), tag_of(m, s->how), &m->received),
                  "receive");
        }
        m->receiving = 1;
        s->left++;
    }
}

static void begin_send(struct side *s)
{
    struct tutti_transport *t = s->transport;
    while (s->next_out < s->n && s->list[s->next_out].from != t->rank)
        s->next_out++;
    if (s->next_out == s->n)
        return;
    struct sketch *m = &s->list[s->next_out];
    fill(m, s->seed, s->next_out++);
    check(t->ops->send(t, m->out, m->bytes, m->to, m->tag, m->synchronous, &m->sent), "send");
    m->sending = 1;
    s->left++;
}

static void test_all(struct side *s)
{
    struct tutti_transport *t = s->transport;
    for (int i = 0; i < s->n; i++) {
        struct sketch *m = &s->list[i];
        struct tutti_transfer_status came;
        int done = 0;
        if (m->sending && check(t->ops->test(t, &m->sent, NULL, &done), "test of a send") && done) {
            m->sending = 0;
            s->left--;
            memset(m->out, 0xee, m->bytes); /* it is this rank's again */
        }
        if (m->receiving && check(t->ops->test(t, &m->received, &came, &done), "test of a receive") && done) {
            if (m->probed)
                CHECK(memcmp(&came, &s->came[i], sizeof came) == 0, "message %d is not what the probe told", i);
            s->came[i] = came;
            m->receiving = 0;
            s->left--;
        }
    }
}

/* All of a round. */
static void exchange(struct tutti_transport *t, uint64_t seed, int tagged)
{
    struct side s = {.transport = t, .list = calloc(MOST, sizeof *s.list), .seed = seed};
    uint64_t at = seed, mine = random_mix(seed + (uint64_t)t->rank);
    int last[RANKS][TAGS], taken[MOST] = {0};
    const uint64_t until = tutti_now_ns() + (uint64_t)SECONDS * 1000000000;
    s.how = (enum how)(random_next(&at) % (tagged ? ANY_TAG : HOWS));
    s.n = draw(s.list, &at, t->size);
    memset(last, -1, sizeof last);
    while (s.next_in < s.n || s.next_out < s.n || s.left > 0) {
        if (random_next(&mine) % 2)
            begin_receives(&s);
        if (random_next(&mine) % 2)
            begin_send(&s);
        test_all(&s);
        sched_yield();
        if (!CHECK(tutti_now_ns() < until, "rank %d: %d transfers have not ended; %d of %d received, %d sent; how %d",
                   t->rank, s.left, s.next_in, s.n, s.next_out, (int)s.how))
            abort(); /* memory belongs to them */
    }
    for (int i = 0; i < s.n; i++) {
        if (s.list[i].to == t->rank)
            judge(s.list, i, &s.came[i], s.how, seed, last, taken);
    }
    for (int i = 0; i < s.n; i++) {
        CHECK(s.list[i].to != t->rank || taken[i], "message %d was lost", i);
        free(s.list[i].in);
        free(s.list[i].out);
    }
    free(s.list);
    check(t->ops->barrier(t), "barrier"); /* a rank that receives from any takes nothing of the next round */
}

/* Tests until it has ended; what test() returned last. */
static int finish(struct tutti_transport *t, struct tutti_transfer *transfer, struct tutti_transfer_status *came)
{
    int done = 0, status = TUTTI_OK;
    while (!done && status == TUTTI_OK) {
        status = t->ops->test(t, transfer, came, &done);
        sched_yield();
    }
    return status;
}

/* A synchronous send is not done before its receive is there. */
static void synchronous(struct tutti_transport *t)
{
    struct tutti_transfer transfer;
    char byte = 'x';
    int done = 0;
    if (t->rank == 0) {
        check(t->ops->send(t, &byte, 1, 1, PLAN_TAG, 1, &transfer), "send");
        for (int i = 0; i < 2000 && !done; i++)
            check(t->ops->test(t, &transfer, NULL, &done), "test");
        CHECK(!done, "a synchronous send has ended without a receive");
    }
    check(t->ops->barrier(t), "barrier");
    if (t->rank == 0) {
        check(finish(t, &transfer, NULL), "test");
    } else if (t->rank == 1) {
        char in = 0;
        check(t->ops->receive(t, &in, 1, 0, PLAN_TAG, &transfer), "receive");
        check(finish(t, &transfer, NULL), "test");
        CHECK(in == 'x', "a wrong byte");
    }
}

/* A receive that was taken back takes nothing; one that has its message keeps it. */
static void cancelled(struct tutti_transport *t)
{
    struct tutti_transfer first, second;
    int in = 0, taken_back = -1;
    if (t->rank == 1) {
        check(t->ops->receive(t, &in, sizeof in, TUTTI_ANY_RANK, PLAN_TAG, &first), "receive");
        check(t->ops->cancel(t, &first, &taken_back), "cancel");
        CHECK(taken_back == 1, "a receive without a message was not cancelled");
        check(t->ops->receive(t, &in, sizeof in, 0, PLAN_TAG, &second), "receive");
    }
    check(t->ops->barrier(t), "barrier");
    if (t->rank == 0) {
        const int out = 4711;
        check(t->ops->send(t, &out, sizeof out, 1, PLAN_TAG, 1, &first), "send");
        check(finish(t, &first, NULL), "test");
    } else if (t->rank == 1) {
        struct tutti_transfer_status came = {0};
        check(finish(t, &second, &came), "test");
        CHECK(in == 4711 && came.bytes == sizeof in && came.from == 0, "%d came, of %zu bytes", in, came.bytes);
    }
    check(t->ops->barrier(t), "barrier");
}

/* ---- nonblocking collectives ---- */

enum { AT_A_TIME = 6, BLOCK = 60 };
enum which { ALLGATHER, ALLREDUCE, WHICH };

struct collective {
    enum which which;
    size_t words; /* of a block */
    enum tutti_combine how;
    uint64_t seed;
    int64_t in[RANKS * BLOCK], out[RANKS * BLOCK];
    struct tutti_pending pending;
    int under_way;
};

static int64_t word_of(const struct collective *c, int rank, size_t i)
{
    return (int64_t)(random_mix(c->seed + (uint64_t)rank * RANKS * BLOCK + i) >> 2);
}

static int64_t combined(int64_t a, int64_t b, enum tutti_combine how)
{
    return (how == TUTTI_COMBINE_MIN) == (a < b) ? a : b;
}

static void begin_collective(struct tutti_transport *t, struct collective *c, uint64_t *at)
{
    int status = TUTTI_OK;
    *c = (struct collective){.which = (enum which)(random_next(at) % WHICH),
                             .words = 1 + random_next(at) % BLOCK,
                             .how = (enum tutti_combine)(random_next(at) % (TUTTI_COMBINE_MAX + 1)),
                             .seed = random_next(at),
                             .under_way = 1};
    for (size_t i = 0; i < RANKS * BLOCK; i++)
        c->in[i] = word_of(c, t->rank, i);
    if (c->which == ALLGATHER)
        status = t->ops->iallgather(t, c->in, c->out, c->words * 8, &c->pending);
    else
        status = t->ops->iallreduce(t, c->in, c->words, c->how, &c->pending);
    check(status, "a nonblocking collective");
}

static void judge_collective(const struct tutti_transport *t, const struct collective *c)
{
    size_t wrong = 0;
    for (size_t i = 0; i < c->words; i++) {
        int64_t all = 0;
        for (int r = 0; r < t->size; r++) {
            const int64_t theirs = word_of(c, r, i);
            if (c->which == ALLGATHER)
                wrong += c->out[(size_t)r * c->words + i] != theirs;
            all = r == 0 ? theirs : combined(all, theirs, c->how);
        }
        wrong += c->which == ALLREDUCE && c->in[i] != all;
    }
    CHECK(wrong == 0, "rank %d of %d: nonblocking collective %d: %zu of %zu words are wrong", t->rank, t->size,
          (int)c->which, wrong, c->words);
}

int collectives_run(struct tutti_transport *transport, uint64_t seed, int rounds)
{
    struct collective *all = calloc(AT_A_TIME, sizeof *all);
    uint64_t at = seed, mine = random_mix(seed + (uint64_t)transport->rank);
    for (int round = 0; round < rounds && check_failed() == 0; round++) {
        int begun = 0, left = 0, n = 1 + (int)(random_next(&at) % AT_A_TIME);
        while (begun < n || left > 0) {
            if (begun < n && random_next(&mine) % 2) {
                begin_collective(transport, &all[begun++], &at);
                left++;
            }
            struct collective *c = &all[random_next(&mine) % AT_A_TIME];
            int done = 0;
            if (c->under_way && check(transport->ops->pending_test(transport, &c->pending, &done), "a test") && done) {
                judge_collective(transport, c);
                c->under_way = 0;
                left--;
            }
            sched_yield();
        }
    }
    free(all);
    return check_failed() > 0;
}

static int run_messages(struct tutti_transport *transport, uint64_t seed, int rounds, int tagged)
{
    if (transport->size < 2 || transport->size > RANKS)
        return 2;
    synchronous(transport);
    cancelled(transport);
    for (int round = 0; round < rounds && check_failed() == 0; round++)
        exchange(transport, random_mix(seed + (uint64_t)round), tagged);
    check(transport->ops->barrier(transport), "barrier");
    return check_failed() > 0;
}

int messages_run(struct tutti_transport *transport, uint64_t seed, int rounds)
{
    return run_messages(transport, seed, rounds, 0);
}

int messages_run_tagged(struct tutti_transport *transport, uint64_t seed, int rounds)
{
    return run_messages(transport, seed, rounds, 1);
}
