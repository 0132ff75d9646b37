/* Messages that their sender stores into the receiver's buffer, with ranks that are threads: senders that are in no
 * call, that cannot reach the buffer, whose engine is busy, cannot start, or fails, or that begin too late. Each
 * message arrives once, by the sender's engine or fetched, and no mapping of a buffer stays in use. With copies of its
 * own in front of the core's, which move the bytes when they are seen to end. A peer that is late is not asked for the
 * next 1, 2, 4, ... 256 messages, until it stores one. TUTTI_TEST_ROUNDS, TUTTI_TEST_SEED; with TUTTI_MAPPING_PRICE_US
 * no message, but what a receiver asks for where mapping takes long. */
#include "p2p/own.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/settings.h"
#include "core/status.h"
#include "progress/engine.h"
#include "rules/rules.h"
#include "support/random.h"
#include "team/cache.h"
#include "team/kit.h"

enum { ROOM = 64 << 10, SCRATCH = 16 << 10, SECONDS = 60 };

/* What the sender of a message does. */
enum conduct { STORES, IS_AWAY, CANNOT_REACH, IS_BUSY, CANNOT_START, FAILS, IS_TOO_LATE, IS_IN_NO_WAIT, CONDUCTS };

/* In place of the RTS; the sender waits until the message was received. */
static struct told {
    _Atomic uint64_t sequence; /* 0: none */
    int number;
    uint64_t bytes, at, seed;
    _Atomic int received;
} told;

static enum conduct conduct; /* of the sender's thread */
static struct tutti_rndv *sent;
static int busy, left; /* polls of the copy until it starts, and ends */
static void *copy_to;  /* of the copy that is open */
static const void *copy_from;
static uint64_t copy_bytes;
static _Atomic long stored, refused;
static int rounds;

/* ---- in front of the core's ---- */

int tutti_progress_waiting(void)
{
    return conduct != IS_IN_NO_WAIT;
}

int tutti_copy_queue_is_full(int gpu)
{
    (void)gpu;
    if (conduct == IS_TOO_LATE) /* the receiver fetches the message after all, before the sender has begun */
        tutti_rndv_move(sent, TUTTI_RNDV_CTS, TUTTI_RNDV_GET);
    return 0; /* start finds out */
}

int tutti_copy_queue_start(int gpu, void *to, const void *from, uint64_t bytes, int may_make,
                           struct tutti_queued_copy *out)
{
    (void)gpu, (void)may_make;
    CHECK(!copy_to, "two copies of one message");
    CHECK(conduct != IS_IN_NO_WAIT, "a sender that may not poll again begins a copy");
    out->queue = NULL;
    if (conduct == CANNOT_START)
        return TUTTI_ERR_UNAVAILABLE;
    if (busy-- > 0)
        return 0;
    copy_to = to;
    copy_from = from;
    copy_bytes = bytes;
    *out = (struct tutti_queued_copy){(struct tutti_copy_queue *)(void *)&told, 0};
    return 1;
}

int tutti_copy_queue_poll(struct tutti_queued_copy *copy)
{
    CHECK(copy->queue && copy_to, "a copy that is not open is asked for");
    if (left-- > 0)
        return 0;
    copy->queue = NULL;
    if (conduct != FAILS) {
        CHECK(tutti_device()->memory.copy_now(copy_to, copy_from, copy_bytes) == TUTTI_OK, "copy");
        atomic_fetch_add(&stored, 1);
    }
    copy_to = NULL;
    return conduct == FAILS ? TUTTI_ERR_DEVICE : 1;
}

/* ---- ranks ---- */

struct side {
    struct tutti_transport *transport;
    struct tutti_p2p_worker worker;
    char *device, *host;
    uint64_t state;
};

static void fill(char *host, uint64_t bytes, uint64_t seed)
{
    for (uint64_t b = 0; b < bytes; b++)
        host[b] = (char)random_mix(seed + b / 8);
}

static struct tutti_elements run_of(char *at, uint64_t bytes)
{
    return (struct tutti_elements){.plan = tutti_plan_of_byte(), .count = (int64_t)bytes, .buffer = at, .whole = 1};
}

/* In place of the rules of `message`. */
static int rules_next(int far, size_t bytes, int *from)
{
    (void)far, (void)bytes;
    return (*from)++ == 0 ? tutti_protocol_names.find("direct") : -1;
}

static enum tutti_reason rules_why(int from)
{
    (void)from;
    return TUTTI_REASON_RULES;
}

static const struct tutti_protocol_rules rules = {rules_next, rules_why};

static void send_one(struct side *s, int number, uint64_t until)
{
    int status = TUTTI_OK, out = 0;
    conduct = (enum conduct)(random_next(&s->state) % CONDUCTS);
    if (conduct == IS_AWAY && random_next(&s->state) % 16) /* takes long */
        conduct = STORES;
    if (number == 0)
        conduct = IS_AWAY;
    busy = conduct == IS_BUSY ? (int)(random_next(&s->state) % 5) : 0;
    left = (int)(random_next(&s->state) % 6);
    const uint64_t bytes = 1 + random_next(&s->state) % (ROOM / 2), at = random_next(&s->state) % (ROOM / 2),
                   seed = random_next(&s->state);
    fill(s->host, bytes, seed);
    CHECK(tutti_device()->memory.copy_now(s->device + at, s->host, bytes) == TUTTI_OK, "copy");
    struct tutti_p2p_send send = {.elements = run_of(s->device + at, bytes),
                                  .bytes = bytes,
                                  .rndv = tutti_endpoint_rndv(s->worker.endpoint, 1, 0),
                                  .lowest = s->device + at};
    if (!CHECK(send.rndv != NULL, "there is no rendezvous"))
        return;
    struct tutti_rndv *const rndv = sent = send.rndv;
    rndv->bytes = bytes;
    send.extra_grace = (uint64_t)SECONDS * 1000000000; /* nothing is packed */
    send.since = tutti_now_ns();
    CHECK(tutti_p2p_choose(&s->worker, &send, &rules, NULL) != NULL, "no protocol");
    tutti_p2p_list(&s->worker, &send);
    told.number = tutti_endpoint_number(s->worker.endpoint, rndv);
    told.bytes = bytes;
    told.at = random_next(&s->state) % (ROOM / 2);
    told.seed = seed;
    atomic_store(&told.received, 0);
    atomic_store(&told.sequence, atomic_load(&rndv->sequence));
    while (!out || !atomic_load(&told.received)) {
        const int refuses = conduct == CANNOT_REACH && tutti_rndv_is(rndv, TUTTI_RNDV_CTS);
        if (refuses) /* far behind the buffer's allocation, or with its last byte */
            rndv->into.offset = seed % 2 ? UINT64_MAX / 2 : rndv->into.what.bytes - bytes + 1;
        if (conduct != IS_AWAY || atomic_load(&told.received))
            tutti_p2p_poll(&s->worker);
        CHECK(!refuses || !tutti_rndv_is(rndv, TUTTI_RNDV_CTS), "a message that cannot be stored is not refused");
        atomic_fetch_add(&refused, refuses);
        if (send.put.queue && seed % 4 == 0) { /* it has failed otherwise */
            send.failed = TUTTI_ERR_DEVICE;
            CHECK(!tutti_p2p_data_out(&s->worker, &send, &status),
                  "the buffer is the program's while an engine reads it");
            send.failed = status = TUTTI_OK;
        }
        out = out || tutti_p2p_data_out(&s->worker, &send, &status);
        if (out) /* the program's next message */
            CHECK(tutti_device()->memory.copy_now(s->device + at, s->host + ROOM / 2, bytes) == TUTTI_OK, "copy");
        tutti_endpoint_poll(s->worker.endpoint);
        sched_yield();
        if (!CHECK(tutti_now_ns() < until, "a send stands still, conduct %d", conduct))
            abort();
    }
    CHECK(status == TUTTI_OK && !copy_to && !send.put_held, "conduct %d: %s", conduct, tutti_status_text(status));
    CHECK(atomic_load(&tutti_progress_owed) == 0, "waits end late");
    CHECK(atomic_load_explicit(&s->worker.out, memory_order_relaxed) == 0, "bytes of sends are left");
}

static struct tutti_p2p_recv message;
static struct tutti_p2p_recv *message_at(const struct tutti_p2p_fetching *fetching, int i)
{
    (void)fetching, (void)i;
    return &message;
}

/* Whether the receiver asks for the message that is offered, by what the rules say, the data that it sends itself, and
 * other messages that have arrived. The sender is away. */
static void asks(struct side *s)
{
    static const struct {
        const char *rules;
        int asks[2][2]; /* [1: it sends a quarter of the message or more][1: others have arrived] */
    } cases[] = {{"never", {{0, 0}, {0, 0}}},
                 {"exchange", {{0, 0}, {0, 1}}},
                 {"busy", {{0, 1}, {1, 1}}},
                 {"always", {{1, 1}, {1, 1}}}};
    char text[64], wrong[160];
    int gpus[TUTTI_ENDPOINT_GPUS];
    struct tutti_p2p_fetch f = {.worker = &s->worker, .recv = &message, .used = gpus};
    const uint64_t bytes = message.bytes;
    f.rndv = tutti_endpoint_find(s->worker.endpoint, 0, message.rts.number, message.rts.sequence);
    f.uses = tutti_endpoint_gpus(s->worker.endpoint, gpus);
    if (!CHECK(f.rndv != NULL, "there is no rendezvous"))
        return;
    tutti_elements_places(&message.elements);
    tutti_fetch_gpus(&f);
    for (int i = 0; i < 4 * (int)(sizeof cases / sizeof *cases); i++) {
        const int sends = i / 2 % 2, several = i % 2, expected = cases[i / 4].asks[sends][several];
        snprintf(text, sizeof text, "message_put: *@%s", cases[i / 4].rules);
        CHECK(tutti_rules_set(text, wrong, sizeof wrong) == TUTTI_OK, "%s", wrong);
        atomic_store(&s->worker.out, sends ? (bytes + 3) / 4 : bytes / 4 - (bytes > 3));
        f.waiting = bytes + (uint64_t)several;
        message.asked = 0;
        CHECK(tutti_put_ask(&f) == expected, "%s: is %sasked, %s, %s", text, expected ? "not " : "",
              sends ? "sends" : "sends less", several ? "others have arrived" : "none else has arrived");
        CHECK(!expected || tutti_rndv_move(f.rndv, TUTTI_RNDV_CTS, TUTTI_RNDV_GET),
              "it is not asked in the rendezvous");
    }
    message.asked = 1;
    CHECK(!tutti_put_ask(&f), "a sender is asked twice for a message");
    message.asked = 0;
    message.fetched = 1;
    CHECK(!tutti_put_ask(&f), "the sender of a block of a collective is asked");
    message.fetched = 0;
    __atomic_store_n(&f.rndv->layout_bytes, 1, __ATOMIC_RELAXED);
    CHECK(!tutti_put_ask(&f), "a sender whose elements have gaps is asked");
    __atomic_store_n(&f.rndv->layout_bytes, 0, __ATOMIC_RELAXED);
    atomic_store(&s->worker.out, 0);
}

/* Where mapping takes long: a peer that does not keep the allocation mapped is asked once messages have lost the price,
 * and again when they have lost as much once more. Each allocation has an account of its own. */
static void is_paid(struct side *s)
{
    enum { PART = 4, AT = 1000 /* of an allocation that there is not */ };
    const uint64_t price = (uint64_t)tutti_settings()->mapping_price_us * 1000;
    for (int i = 0; i < 3 * PART; i++) {
        for (uint64_t id = AT; id < AT + 2; id++)
            CHECK(tutti_endpoint_put_pays(s->worker.endpoint, 0, id, price / PART) == (i % PART == PART - 1),
                  "message %d", i);
    }
}

static void receive_one(struct side *s, int number, uint64_t until)
{
    struct tutti_p2p_fetching fetching = {.worker = &s->worker, .at = message_at, .n = 1};
    while (!atomic_load(&told.sequence)) {
        tutti_endpoint_poll(s->worker.endpoint);
        sched_yield();
        if (!CHECK(tutti_now_ns() < until, "no message"))
            abort();
    }
    const uint64_t bytes = told.bytes, at = told.at;
    memset(s->host, 0, ROOM);
    CHECK(tutti_device()->memory.copy_now(s->device, s->host, ROOM) == TUTTI_OK, "copy");
    message = (struct tutti_p2p_recv){
        .elements = run_of(s->device + at, bytes),
        .bytes = bytes,
        .capacity = bytes,
        .rts = {.sequence = atomic_load(&told.sequence), .bytes = bytes, .number = told.number, .rank = 0}};
    if (number == 0)
        asks(s);
    while (!message.ended) {
        tutti_p2p_fetch_all(&fetching, 0);
        tutti_endpoint_poll(s->worker.endpoint);
        sched_yield();
        if (!CHECK(tutti_now_ns() < until, "a receive stands still"))
            abort();
    }
    CHECK(message.status == TUTTI_OK, "%s", tutti_status_text(message.status));
    CHECK(tutti_device()->memory.copy_now(s->host, s->device, ROOM) == TUTTI_OK, "copy");
    char *const expected = calloc(1, ROOM);
    fill(expected + at, bytes, told.seed);
    CHECK(memcmp(s->host, expected, ROOM) == 0, "a message of %llu bytes is wrong", (unsigned long long)bytes);
    free(expected);
    atomic_store(&told.sequence, 0);
    atomic_store(&told.received, 1);
}

/* Messages for which the receiver does not ask its peer. */
static int left_out(struct tutti_endpoint *endpoint, int peer)
{
    int n = 0;
    while (!tutti_endpoint_put_pays(endpoint, peer, 1, 1) && n < ROOM)
        n++;
    return n;
}

static void backs_off(struct tutti_endpoint *endpoint, int peer)
{
    uint64_t now = tutti_now_ns();
    CHECK(left_out(endpoint, peer) < ROOM, "a peer is never asked again");
    tutti_endpoint_put_saw(endpoint, peer, now);
    for (int late = 0; late < 12; late++) {
        const uint64_t asked_at = now + 1;
        now += 1000;
        for (int same = 0; same < 3; same++) /* messages that were asked for at once */
            tutti_endpoint_put_late(endpoint, peer, asked_at, now);
        const int n = left_out(endpoint, peer), expected = late < 8 ? 1 << late : 256;
        CHECK(n == expected, "late for the %d. time: %d messages are left out, not %d", late + 1, n, expected);
    }
    tutti_endpoint_put_saw(endpoint, peer, now);
    tutti_endpoint_put_late(endpoint, peer, now + 1, now + 2);
    CHECK(left_out(endpoint, peer) == 1, "a peer that has stored a message is as if it had never been late");
}

static int rank_main(struct tutti_transport *transport, void *with)
{
    struct kit kit;
    char why[160];
    void *memory = NULL;
    struct side s = {.transport = transport, .state = check_seed()};
    (void)with;
    if (!kit_open(transport, &kit))
        return 1;
    CHECK(tutti_device()->open(why, sizeof why) == TUTTI_OK, "the device opens");
    CHECK(tutti_device()->memory.alloc(-1, ROOM, &memory) == TUTTI_OK, "device memory");
    s.device = memory;
    s.host = calloc(1, ROOM);
    s.worker = (struct tutti_p2p_worker){
        .endpoint = tutti_endpoint_new(kit.node, tutti_device(), SCRATCH), .node = kit.node, .transport = transport};
    CHECK(s.worker.endpoint && s.host && tutti_endpoint_use(s.worker.endpoint, 0) == 0, "an endpoint");
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    const uint64_t until = tutti_now_ns() + (uint64_t)SECONDS * 1000000000;
    if (rounds == 0 && transport->rank == 1)
        is_paid(&s);
    for (int i = 0; i < rounds; i++) {
        if (transport->rank == 0)
            send_one(&s, i, until);
        else
            receive_one(&s, i, until);
    }
    tutti_endpoint_poll(s.worker.endpoint);
    if (rounds > 0)
        backs_off(s.worker.endpoint, 1 - transport->rank);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    tutti_endpoint_free(s.worker.endpoint, 1);
    tutti_cache_forget(kit.node->cache, tutti_device(), 1 - transport->rank, 0); /* what is in use stays mapped */
    CHECK(tutti_cache_count(kit.node->cache) == 0, "%zu mappings of the peer's memory are in use still",
          tutti_cache_count(kit.node->cache));
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    tutti_device()->memory.free(memory);
    free(s.host);
    kit_close(&kit);
    return check_failed() != 0;
}

int main(void)
{
    char wrong[160];
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)check_seed());
    rounds = tutti_settings()->mapping_price_us ? 0 : (int)check_many("TUTTI_TEST_ROUNDS", 300);
    CHECK(tutti_rules_set("message_put: *@always", wrong, sizeof wrong) == TUTTI_OK, "%s", wrong);
    tutti_rules_follow(1);
    const int failed = tutti_threads_run(2, rank_main, NULL);
    CHECK(rounds == 0 || (stored > 0 && refused > 0), "%ld stored, %ld refused", stored, refused);
    printf("%ld checks, %ld failed; %ld stored by their sender, %ld refused\n", check_done(), check_failed(), stored,
           refused);
    return failed != 0 || check_failed() != 0;
}
