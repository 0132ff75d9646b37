/* The sender's side of messages in a node, with ranks that are threads: rendezvous go round a ring, then from each rank
 * to itself; receivers fetch them at once, do not come for them, or say that they cannot. There is little scratch, so
 * that some are packed into it and others carried. A buffer is used again as soon as its data have left. */
#include "p2p/own.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/status.h"
#include "p2p/elements.h"
#include "support/random.h"
#include "support/rndv_set.h"
#include "team/kit.h"

enum { RANKS = 3, SCRATCH = 64 << 10, MOST = 40000, ROOM = MOST + 20000, IN_FLIGHT = 6, SECONDS = 60 };

/* What a receiver does with a rendezvous that is offered. */
enum conduct { FETCHES, STAYS_AWAY, DEMANDS, CANNOT, CONDUCTS };

/* In place of the MPI: what each rank has told the next one of. */
static struct announced {
    _Atomic uint64_t sequence; /* 0: empty */
    int number;
    enum conduct conduct;
    uint64_t bytes, seed;
} box[RANKS][IN_FLIGHT];

static int rounds;
static atomic_long fetched, packed, in_pieces, carried;

struct side {
    struct tutti_transport *transport;
    struct tutti_endpoint *endpoint;
    struct tutti_p2p_worker worker;
    int next, before, gpu;
    struct flight {
        int on, left;
        char *in;             /* pinned: what comes */
        uint64_t taken, came; /* of what comes: pieces, bytes by the transport */
        struct kit_side out;
        struct tutti_p2p_send send;
        struct tutti_transfer transfer; /* of the receiver */
        int receiving;
    } flight[IN_FLIGHT];
};

/* In place of the rules: the protocol that the message takes, then `packed`. */
static int rules_next(int far, size_t bytes, int *from)
{
    static const char *const names[] = {"engines", "direct", "packed"};
    (void)far;
    if (*from == 0) /* half of the messages by copy engines */
        *from = bytes % 2 == 0;
    return *from < 3 ? tutti_protocol_names.find(names[(*from)++]) : -1;
}

static enum tutti_reason rules_why(int from)
{
    (void)from;
    return TUTTI_REASON_RULES;
}

static const struct tutti_protocol_rules rules = {rules_next, rules_why};

/* Posted by the protocol that is chosen. One that must leave at once may find no scratch. */
static void post(struct side *s, struct flight *f, int now)
{
    f->send.lowest = (const char *)f->out.elements.buffer + f->out.elements.plan->true_lower;
    f->send.now = now;
    const struct tutti_protocol_row *row = tutti_p2p_choose(&s->worker, &f->send, &rules, NULL);
    CHECK(row || now, "no protocol for a message that may wait");
    if (row && now)
        CHECK(strcmp(row->name, "packed") == 0, "a message that must leave at once goes by %s", row->name);
    f->send.now = 0;
    if (!row)
        row = tutti_p2p_choose(&s->worker, &f->send, &rules, NULL);
    CHECK(row != NULL, "no protocol");
}

static int send_one(struct side *s, int i, uint64_t *state)
{
    struct announced *a = &box[s->transport->rank][i];
    struct flight *f = &s->flight[i];
    if (f->on || atomic_load(&a->sequence))
        return 0;
    a->bytes = 2 + random_next(state) % MOST;
    a->seed = random_next(state);
    a->conduct = (enum conduct)(random_next(state) % CONDUCTS);
    kit_make(&f->out, KIT_DEVICE, a->bytes, 0, state);
    a->bytes = f->out.capacity; /* all elements */
    kit_fill(&f->out, a->seed, a->bytes);
    f->send = (struct tutti_p2p_send){.elements = f->out.elements,
                                      .gpu = s->gpu,
                                      .bytes = a->bytes,
                                      .rndv = tutti_endpoint_rndv(s->endpoint, s->next, s->gpu)};
    if (!CHECK(f->send.rndv != NULL, "there is no rendezvous"))
        return 0;
    f->send.rndv->bytes = a->bytes;
    f->send.rndv->tag = i;
    f->send.since = tutti_now_ns();
    a->number = tutti_endpoint_number(s->endpoint, f->send.rndv);
    const uint64_t sequence = atomic_load(&f->send.rndv->sequence);
    post(s, f, random_next(state) % 2);
    tutti_p2p_list(&s->worker, &f->send);
    f->on = 1;
    f->left = 0;
    atomic_store(&a->sequence, sequence);
    return 1;
}

static void look_after(struct side *s, int i)
{
    struct flight *f = &s->flight[i];
    int status = TUTTI_OK;
    if (!f->on)
        return;
    if (!f->left && tutti_p2p_data_out(&s->worker, &f->send, &status)) {
        CHECK(status == TUTTI_OK, "a send failed: %s", tutti_status_text(status));
        kit_fill(&f->out, random_mix(f->send.since), f->send.bytes); /* the program's next message */
        kit_shut(&f->out);
        f->left = 1;
    }
    f->on = !f->left || !tutti_p2p_send_done(&s->worker, &f->send);
}

/* Out of the sender's memory, in its layout. */
static void fetch(struct side *s, struct flight *f, const struct tutti_rndv *rndv, const struct tutti_mapping *held,
                  char *data, const struct announced *a)
{
    struct tutti_elements theirs;
    if (rndv->layout_bytes == 0) {
        CHECK(tutti_device()->memory.copy_now(f->in, data, a->bytes) == TUTTI_OK, "copy");
        return;
    }
    if (!CHECK(tutti_endpoint_elements(s->endpoint, s->before, rndv, held, data, a->bytes, &theirs) == TUTTI_OK,
               "no elements"))
        return;
    const struct tutti_pack_job job = tutti_elements_job(TUTTI_PACK, &theirs, 0, a->bytes, f->in);
    CHECK(tutti_pack_now(s->gpu, &job, 1) == TUTTI_OK, "packing");
    tutti_plan_drop(theirs.plan);
}

/* Pieces out of the sender's scratch. 1 if all have come. */
static int take_pieces(struct side *s, struct tutti_rndv *rndv, const struct announced *a, struct flight *f)
{
    struct tutti_endpoint_run run;
    const enum tutti_reaching there =
        tutti_endpoint_pieces(s->endpoint, s->before, rndv, s->gpu, a->bytes, f->taken, &run);
    if (there == TUTTI_REACH_LATER || !CHECK(there == TUTTI_REACHED, "scratch that is not mapped"))
        return 0;
    if (f->taken == 0)
        tutti_endpoint_meet(s->endpoint, s->before, rndv, s->gpu);
    CHECK(tutti_device()->memory.copy_now(f->in + run.first, run.data, run.bytes) == TUTTI_OK, "copy");
    f->taken += run.pieces;
    atomic_store(&rndv->taken, f->taken);
    if (run.first + run.bytes < a->bytes)
        return 0;
    atomic_fetch_add(f->taken > 1 ? &in_pieces : &packed, 1);
    return 1;
}

/* Parts from the transport. 1 if all have come. */
static int take_parts(struct side *s, const struct announced *a, struct flight *f)
{
    struct tutti_transport *t = s->transport;
    const uint64_t left = a->bytes - f->came, bytes = left < TUTTI_CARRY_BYTES ? left : TUTTI_CARRY_BYTES;
    int done = 0;
    if (!f->receiving)
        CHECK(t->ops->receive(t, f->in + f->came, bytes, s->before, a->number, &f->transfer) == TUTTI_OK, "receive");
    f->receiving = 1;
    CHECK(t->ops->test(t, &f->transfer, NULL, &done) == TUTTI_OK, "test");
    if (!done)
        return 0;
    f->receiving = 0;
    f->came += bytes;
    if (f->came < a->bytes)
        return 0;
    atomic_fetch_add(&carried, 1);
    return 1;
}

/* 1 if the data have come. */
static int take(struct side *s, struct tutti_rndv *rndv, const struct announced *a, struct flight *f)
{
    struct tutti_mapping *held = NULL;
    char *data;
    int done = 0;
    switch (atomic_load_explicit(&rndv->state, memory_order_acquire)) {
    case TUTTI_RNDV_GET:
        if (a->conduct == DEMANDS)
            tutti_endpoint_demand(s->endpoint, s->before, rndv, &s->gpu, 1);
        if (a->conduct == CANNOT)
            tutti_endpoint_demand(s->endpoint, s->before, rndv, NULL, 0);
        if (a->conduct != FETCHES)
            return 0;
        const enum tutti_reaching there =
            tutti_endpoint_reach(s->endpoint, s->before, rndv, s->gpu, a->bytes, 0, &data, &held);
        if (there == TUTTI_REACHED && tutti_rndv_win(rndv, TUTTI_RNDV_GETTING)) {
            fetch(s, f, rndv, held, data, a);
            atomic_fetch_add(&fetched, 1);
            done = 1;
        } else if (there == TUTTI_REACH_NOT) {
            tutti_endpoint_demand(s->endpoint, s->before, rndv, &s->gpu, 1);
        }
        tutti_endpoint_release(s->endpoint, held);
        return done;
    case TUTTI_RNDV_BOUNCE:
        return take_pieces(s, rndv, a, f);
    case TUTTI_RNDV_AM:
        return take_parts(s, a, f);
    default:
        return 0;
    }
}

static int receive_one(struct side *s, int i)
{
    struct announced *a = &box[s->before][i];
    struct flight *f = &s->flight[i];
    const uint64_t sequence = atomic_load(&a->sequence);
    struct tutti_rndv *rndv = sequence ? tutti_endpoint_find(s->endpoint, s->before, a->number, sequence) : NULL;
    if (!sequence || !CHECK(rndv != NULL, "the rendezvous is gone") || !take(s, rndv, a, f))
        return 0;
    char *expected = kit_pattern(a->seed, a->bytes);
    CHECK(memcmp(f->in, expected, a->bytes) == 0, "a message of %llu bytes is wrong", (unsigned long long)a->bytes);
    free(expected);
    f->taken = f->came = 0;
    atomic_store(&a->sequence, 0);
    rndv_set(rndv, TUTTI_RNDV_ATS);
    return 1;
}

static void go_round(struct side *s, uint64_t *state)
{
    const uint64_t until = tutti_now_ns() + (uint64_t)SECONDS * 1000000000;
    int sent = 0, received = 0, left = 1;
    while (sent < rounds || received < rounds || left) {
        left = 0;
        tutti_p2p_poll(&s->worker);
        for (int i = 0; i < IN_FLIGHT; i++) {
            look_after(s, i);
            if (sent < rounds)
                sent += send_one(s, i, state);
            received += receive_one(s, i);
            left += s->flight[i].on; /* the one just sent too */
        }
        tutti_endpoint_poll(s->endpoint);
        sched_yield();
        if (!CHECK(tutti_now_ns() < until, "%d sent, %d received, %d have not left", sent, received, left))
            abort();
    }
}

/* The receiver has asked for a message that no kernel can pack: the send ends with an error, and does not stand still.
 */
static void cannot_be_packed(struct side *s, enum tutti_must must, uint64_t *state)
{
    const uint64_t until = tutti_now_ns() + (uint64_t)SECONDS * 1000000000;
    struct kit_side out;
    int status = TUTTI_OK;
    kit_make(&out, KIT_DEVICE, MOST, 0, state);
    struct tutti_p2p_send send = {.elements = out.elements,
                                  .gpu = tutti_device()->gpu.count(), /* there is none of this number */
                                  .bytes = out.capacity,
                                  .since = tutti_now_ns(),
                                  .rndv = tutti_endpoint_rndv(s->endpoint, s->next, s->gpu)};
    if (!CHECK(send.rndv != NULL, "there is no rendezvous"))
        return;
    struct tutti_rndv *rndv = send.rndv;
    rndv->bytes = send.bytes;
    rndv_set(rndv, TUTTI_RNDV_GET);
    tutti_p2p_list(&s->worker, &send);
    atomic_store(&rndv->must, (uint32_t)must);
    while (!tutti_p2p_data_out(&s->worker, &send, &status)) {
        tutti_p2p_poll(&s->worker);
        if (!CHECK(tutti_now_ns() < until, "a send that cannot be packed stands still"))
            abort();
    }
    CHECK(status == TUTTI_ERR_ARGUMENT || status == TUTTI_ERR_DEVICE, "it ends with %s", tutti_status_text(status));
    rndv_set(rndv, TUTTI_RNDV_ATS);
    kit_shut(&out);
}

/* The receiver has begun to fetch since the sender looked: no part of the message is sent, or the next message that is
 * carried under this number would get it. */
static void fetched_before_it_is_carried(struct side *s, uint64_t *state)
{
    struct kit_side out;
    kit_make(&out, KIT_DEVICE, MOST, 0, state);
    struct tutti_p2p_send send = {.elements = out.elements,
                                  .gpu = s->gpu,
                                  .bytes = out.capacity,
                                  .since = tutti_now_ns(),
                                  .rndv = tutti_endpoint_rndv(s->endpoint, s->next, s->gpu)};
    if (!CHECK(send.rndv != NULL, "there is no rendezvous"))
        return;
    struct tutti_rndv *rndv = send.rndv;
    rndv->bytes = send.bytes;
    rndv_set(rndv, TUTTI_RNDV_GETTING);
    tutti_carried_send(&s->worker, &send);
    CHECK(send.carried == 0 && !send.parts, "%llu bytes of a message that is being fetched are carried",
          (unsigned long long)send.carried);
    CHECK(tutti_rndv_is(rndv, TUTTI_RNDV_GETTING), "the receiver has lost the rendezvous");
    rndv_set(rndv, TUTTI_RNDV_ATS);
    tutti_endpoint_send_release(s->endpoint, rndv);
    kit_shut(&out);
}

static int ring(struct tutti_transport *transport, void *with)
{
    struct kit kit;
    struct side s = {
        .transport = transport, .next = (transport->rank + 1) % RANKS, .before = (transport->rank + RANKS - 1) % RANKS};
    uint64_t state = check_seed() + (uint64_t)transport->rank;
    void *memory = NULL;
    char why[160];
    (void)with;
    if (!kit_open(transport, &kit))
        return 1;
    CHECK(tutti_device()->open(why, sizeof why) == TUTTI_OK, "the device opens");
    for (int i = 0; i < IN_FLIGHT; i++) {
        void *pinned = NULL;
        CHECK(tutti_device()->memory.alloc_pinned(ROOM, &pinned) == TUTTI_OK, "pinned memory");
        s.flight[i].in = pinned;
    }
    CHECK(tutti_device()->memory.alloc(-1, 64, &memory) == TUTTI_OK, "device memory");
    s.endpoint = tutti_endpoint_new(kit.node, tutti_device(), SCRATCH);
    s.worker = (struct tutti_p2p_worker){.endpoint = s.endpoint, .node = kit.node, .transport = transport};
    CHECK(s.endpoint != NULL, "no memory");
    CHECK(tutti_device()->gpu.current(&s.gpu) == TUTTI_OK, "the GPU");
    s.gpu = s.gpu < 0 ? 0 : s.gpu;
    CHECK(tutti_endpoint_use(s.endpoint, s.gpu) == 0 && tutti_endpoint_offer(s.endpoint, s.gpu), "scratch");
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    go_round(&s, &state);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    s.next = s.before = transport->rank;
    go_round(&s, &state);
    cannot_be_packed(&s, TUTTI_MUST_PACK, &state);
    cannot_be_packed(&s, TUTTI_MUST_CARRY, &state);
    fetched_before_it_is_carried(&s, &state);
    tutti_endpoint_poll(s.endpoint);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    tutti_endpoint_free(s.endpoint, 1);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    for (int i = 0; i < IN_FLIGHT; i++)
        tutti_device()->memory.free_pinned(s.flight[i].in);
    tutti_device()->memory.free(memory);
    kit_close(&kit);
    return check_failed() != 0;
}

int main(void)
{
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)check_seed());
    rounds = (int)check_many("TUTTI_TEST_ROUNDS", 200);
    const int failed = tutti_threads_run(RANKS, ring, NULL);
    CHECK(fetched > 0 && packed > 0 && in_pieces > 0 && carried > 0,
          "%ld fetched, %ld packed, %ld in several pieces, %ld carried", fetched, packed, in_pieces, carried);
    printf("%ld checks, %ld failed; %ld fetched, %ld packed, %ld in several pieces, %ld carried\n", check_done(),
           check_failed(), fetched, packed, in_pieces, carried);
    return failed != 0 || check_failed() != 0;
}
