/* Messages that land (team/endpoint/endpoint_landing.c), between two ranks that are threads: by which rules and from
 * which message on they do, whether a kernel or a copy engine copies them, how many at a time, and what a receiver
 * makes of a rendezvous that has no place. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/reasons.h"
#include "p2p/own.h"
#include "support/rndv_set.h"
#include "team/control.h"
#include "team/endpoint/endpoint_own.h"
#include "team/kit.h"

enum { RANKS = 2, BYTES = 1001, SCRATCH = 1 << 20, STAGED = 37, BY_ENGINE = 256, LATE_AGAIN = 100, ALLOCATION = 77 };

static struct side {
    struct tutti_endpoint *endpoint;
    const struct tutti_device *device;
    int gpu;
    char *memory;
    struct tutti_node *node;
} side[RANKS];
static unsigned char contents[BYTES];

static struct tutti_rndv *land(int n)
{
    struct tutti_rndv *const rndv = tutti_endpoint_rndv(side[0].endpoint, 1, side[0].gpu);
    if (!CHECK(rndv != NULL, "no rendezvous"))
        return NULL;
    rndv->bytes = BYTES;
    memset(contents, n, BYTES);
    CHECK(side[0].device->memory.copy_now(side[0].memory, contents, BYTES) == TUTTI_OK, "copy");
    CHECK(tutti_endpoint_land(side[0].endpoint, rndv, side[0].memory, BYTES) == TUTTI_OK, "message %d", n);
    rndv_set(rndv, TUTTI_RNDV_LANDING);
    return rndv;
}

static enum tutti_reaching look(const struct tutti_rndv *rndv, uint64_t bytes, char **data)
{
    struct tutti_rndv *const theirs =
        tutti_endpoint_at(side[1].endpoint, 0, tutti_endpoint_number(side[0].endpoint, rndv));
    return tutti_endpoint_landing(side[1].endpoint, 0, theirs, atomic_load(&rndv->sequence), bytes, data);
}

static void release(struct tutti_rndv *rndv)
{
    rndv_set(rndv, TUTTI_RNDV_ATS);
    tutti_endpoint_send_release(side[0].endpoint, rndv);
}

/* One message, which is received. late: it is found late by its sender. */
static void message(int n, int late)
{
    struct tutti_rndv *const rndv = land(n);
    char *data = NULL;
    enum tutti_reaching there;
    while (rndv && (there = look(rndv, BYTES, &data)) == TUTTI_REACH_LATER)
        sched_yield();
    if (!rndv || !CHECK(there == TUTTI_REACHED && memcmp(data, contents, BYTES) == 0, "message %d", n))
        return;
    CHECK(tutti_endpoint_landed(side[0].endpoint, rndv), "message %d has not landed for its sender", n);
    CHECK(tutti_endpoint_landing_status(side[0].endpoint, rndv) == TUTTI_OK, "the copy of message %d", n);
    if (late)
        tutti_endpoint_landing_late(side[0].endpoint, rndv);
    release(rndv);
}

/* A message that has not landed 1 ms after it was sent, nor another one since: its sender's poll finds it late. */
static void polled(int since_us, int landed_us, int late)
{
    struct tutti_rndv *const rndv = land(3);
    const uint64_t now = tutti_now_ns();
    struct tutti_p2p_worker worker = {.endpoint = side[0].endpoint, .landed = now - (uint64_t)landed_us * 1000};
    struct tutti_p2p_send send = {.rndv = rndv, .since = now - (uint64_t)since_us * 1000};
    char *data;
    while (look(rndv, BYTES, &data) == TUTTI_REACH_LATER)
        sched_yield();
    _Atomic uint32_t *const word =
        &tutti_node_control(side[0].node)->landing[tutti_endpoint_number(side[0].endpoint, rndv)].word;
    const uint32_t was = atomic_exchange(word, 0);
    tutti_landed_ops.poll(&worker, &send, NULL, now);
    CHECK(tutti_endpoint_lands_by_engine(side[0].endpoint, side[0].gpu) == late && send.failed == TUTTI_OK,
          "a message that has not landed after %d us, another one %d us ago", since_us, landed_us);
    atomic_store(word, was);
    tutti_landed_ops.poll(&worker, &send, NULL, now);
    CHECK(worker.landed == now, "a message that has landed is not seen");
    release(rndv);
}

/* ---- by rules ---- */

static const char *rows[3]; /* that the rules name, up to NULL */

static int rules_next(int far, size_t bytes, int *from)
{
    (void)far, (void)bytes;
    return *from < 3 && rows[*from] ? tutti_protocol_names.find(rows[(*from)++]) : -1;
}

static enum tutti_reason rules_why(int from)
{
    (void)from;
    return TUTTI_REASON_RULES;
}

static const struct tutti_protocol_rules rules = {rules_next, rules_why};

/* UNASKED: unwaited, but no row is asked before the rendezvous; FAILS: unwaited, but it cannot land after all. */
enum how { WAITED, UNWAITED, FAILS, UNASKED, BLOCK, HOWS };
static const char *const hows[HOWS] = {"waited for", "not waited for", "fails", "not asked before", "a block"};
static int slow; /* 1: mapping takes long, and never pays */

/* The name of the row that takes a message by rules that name up to three rows; "the MPI". */
static const char *taken_by(enum how how)
{
    struct tutti_p2p_worker worker = {.endpoint = side[0].endpoint, .node = side[0].node};
    const struct tutti_memory memory = {.kind = TUTTI_MEMORY_DEVICE,
                                        .gpu = side[0].gpu,
                                        .base = side[0].memory,
                                        .bytes = TUTTI_LANDING_BYTES,
                                        .id = ALLOCATION};
    struct tutti_p2p_send send = {
        .elements = {.plan = tutti_plan_of_byte(), .count = BYTES, .buffer = side[0].memory, .whole = 1},
        .bytes = BYTES,
        .gpu = side[0].gpu,
        .agreed = how == BLOCK,
        .lowest = side[0].memory,
        .allocation = memory.id + (how == BLOCK), /* the blocks' has a name afterwards */
        .extent = memory.bytes,
        .asked.verdict = {.alone = 1, .unwaited = how != WAITED && how != BLOCK}};
    struct tutti_p2p_asked *const asked = &send.asked;
    if (how < UNASKED && (!(asked->row = tutti_p2p_first(&rules, 0, BYTES, &asked->from)) ||
                          tutti_p2p_leaves(&worker, 1, &memory, BYTES, asked, &rules)))
        return "the MPI";
    if (!CHECK((send.rndv = tutti_endpoint_rndv(side[0].endpoint, 1, side[0].gpu)) != NULL, "no rendezvous"))
        return "";
    send.rndv->bytes = BYTES;
    if (how == FAILS)
        send.bytes = TUTTI_LANDING_BYTES + 1;
    const struct tutti_protocol_row *const row = tutti_p2p_choose(&worker, &send, &rules, NULL);
    if (!row) {
        tutti_endpoint_withdraw(side[0].endpoint, send.rndv);
        return "the MPI";
    }
    CHECK(tutti_rndv_is(send.rndv, strcmp(row->name, "landed") == 0 ? TUTTI_RNDV_LANDING : TUTTI_RNDV_GET),
          "a message by %s is not on its way", row->name);
    row->ops->cancel(&worker, &send);
    return row->name;
}

static void by(enum how how, const char *wanted, enum tutti_reason why, const char *first, const char *second,
               const char *third)
{
    rows[0] = first, rows[1] = second, rows[2] = third;
    tutti_why_take(TUTTI_REASON_NONE);
    const char *const got = taken_by(how);
    const enum tutti_reason reason = tutti_why_take(TUTTI_REASON_NONE);
    CHECK(strcmp(got, wanted) == 0, "%s, %s %s %s: by %s, not by %s", hows[how], first, second ? second : "",
          third ? third : "", got, wanted);
    CHECK(why == TUTTI_REASON_NONE || reason == why, "%s, %s %s: %s", hows[how], first, second ? second : "",
          tutti_reasons[reason].text);
}

static int moves_blocks(const char *first, const char *second)
{
    rows[0] = first, rows[1] = second, rows[2] = NULL;
    return tutti_p2p_moves_blocks(&rules, BYTES);
}

/* Before the places are pinned none lands. One of these messages counts, the last. */
static void by_rules_before(void)
{
    const char *const direct = slow ? "the MPI" : "direct";
    by(WAITED, direct, TUTTI_REASON_NONE, "direct", "landed", NULL);
    by(WAITED, direct, TUTTI_REASON_NONE, "landed", "direct", "staged");
    by(WAITED, "the MPI", TUTTI_REASON_RULES, "landed", "staged", NULL);
    by(UNWAITED, "the MPI", TUTTI_REASON_RULES, "staged", "landed", NULL);
    if (!slow) /* the next message would show the scratch that a block takes */
        by(BLOCK, "direct", TUTTI_REASON_NONE, "landed", "staged", NULL);
    by(UNWAITED, direct, TUTTI_REASON_NONE, "direct", "staged", NULL);
    by(UNWAITED, direct, TUTTI_REASON_NONE, "landed", "direct", "staged");
}

static void by_rules(void)
{
    const enum tutti_reason unmapped = slow ? TUTTI_REASON_UNMAPPED : TUTTI_REASON_NONE;
    const char *const direct = slow ? "the MPI" : "direct", *const behind = slow ? "landed" : "direct";
    for (enum how how = UNWAITED; how <= UNASKED; how += UNASKED - UNWAITED) {
        by(how, "landed", how == UNWAITED ? TUTTI_REASON_RULES : TUTTI_REASON_NONE, "landed", NULL, NULL);
        by(how, "landed", TUTTI_REASON_NONE, "landed", "direct", "packed");
        by(how, behind, unmapped, "direct", "landed", NULL);
        by(how, behind, unmapped, "direct", "packed", "landed");
        by(how, direct, unmapped, "direct", "staged", "landed");
        by(how, "the MPI", TUTTI_REASON_RULES, "staged", "landed", NULL);
    }
    by(FAILS, direct, unmapped, "direct", "landed", "engines");
    by(FAILS, "the MPI", TUTTI_REASON_RULES, "landed", "staged", NULL);
    if (slow) { /* rows that fail together are asked once, and what the message loses is counted once */
        const uint64_t before = side[0].endpoint->from[1].lost;
        by(UNASKED, behind, unmapped, "direct", "landed", NULL);
        const uint64_t once = side[0].endpoint->from[1].lost - before;
        by(UNASKED, behind, unmapped, "direct", "engines", "landed");
        CHECK(once > 0 && side[0].endpoint->from[1].lost == before + 2 * once, "a message is counted twice");
    }
    by(WAITED, "the MPI", TUTTI_REASON_RULES, "landed", "staged", "direct");
    by(WAITED, direct, unmapped, "landed", "direct", NULL);
    by(WAITED, direct, unmapped, "direct", "landed", NULL);
    by(BLOCK, "direct", TUTTI_REASON_NONE, "landed", "staged", NULL);
    by(BLOCK, "direct", TUTTI_REASON_NONE, "landed", "direct", NULL);
    CHECK(moves_blocks("landed", "direct") && moves_blocks("direct", "staged"), "blocks do not move");
    CHECK(!moves_blocks("landed", "staged") && !moves_blocks("staged", "direct") && !moves_blocks("landed", NULL),
          "blocks move by no row");
}

static int lands(void)
{
    return tutti_endpoint_lands_now(side[0].endpoint, 1, side[0].gpu);
}

static void all(void)
{
    struct tutti_endpoint *const endpoint = side[0].endpoint;
    const int gpu = side[0].gpu;
    by_rules_before();
    for (int i = 1; i <= STAGED; i++) {
        CHECK(!tutti_endpoint_lands_now(endpoint, 0, gpu), "a message of this rank to itself lands");
        CHECK(!tutti_endpoint_lands(endpoint, gpu) && !lands(), "message %d lands", i);
    }
    for (const uint64_t until = tutti_now_ns() + UINT64_C(20000000000);
         slow && !tutti_endpoint_lands(endpoint, gpu) && tutti_now_ns() < until;) /* a thread makes the places */
        sched_yield();
    CHECK(tutti_endpoint_lands(endpoint, gpu) && lands(), "messages do not land after %d staged ones", STAGED);
    by_rules();
    if (slow) /* the kernels are not loaded */
        return;
    for (int n = 0; n < 10; n++)
        message(n, 0);
    CHECK(!tutti_endpoint_lands_by_engine(endpoint, gpu), "engines, though no kernel was late");
    polled(10, 1000, 0);
    polled(1000, 10, 0);
    polled(1000, 2000, 1);
    for (int n = 0; n < BY_ENGINE; n++) {
        CHECK(tutti_endpoint_lands_by_engine(endpoint, gpu), "a kernel, %d messages behind a late one", n);
        message(n, n == LATE_AGAIN); /* an engine's, which decides nothing */
    }
    CHECK(!tutti_endpoint_lands_by_engine(endpoint, gpu), "engines, long after a late kernel");
    message(1, 1);
    CHECK(tutti_endpoint_lands_by_engine(endpoint, gpu), "a kernel behind a late one");

    struct tutti_rndv *rndv[TUTTI_LANDINGS + 1];
    char *data;
    for (int i = 0; i <= TUTTI_LANDINGS; i++) {
        CHECK(lands() == (i < TUTTI_LANDINGS), "a message beside %d others", i);
        by(UNWAITED, i < TUTTI_LANDINGS ? "landed" : "the MPI",
           i < TUTTI_LANDINGS ? TUTTI_REASON_RULES : TUTTI_REASON_MANY, "landed", "staged", NULL);
        rndv[i] = tutti_endpoint_rndv(endpoint, 1, gpu);
        rndv[i]->bytes = BYTES;
    }
    CHECK(!lands() && tutti_why_take(TUTTI_REASON_NONE) == TUTTI_REASON_MANY, "why no place is left");
    CHECK(tutti_endpoint_land(endpoint, rndv[TUTTI_LANDINGS], side[0].memory, BYTES) == TUTTI_ERR_UNAVAILABLE &&
              tutti_endpoint_land(endpoint, rndv[0], side[0].memory, TUTTI_LANDING_BYTES + 1) == TUTTI_ERR_UNAVAILABLE,
          "a message lands where it has no place");
    CHECK(look(rndv[0], BYTES, &data) == TUTTI_REACH_LATER, "what was not sent has landed");
    kit_capture_begin();
    CHECK(look(rndv[TUTTI_LANDINGS], BYTES, &data) == TUTTI_REACH_NOT &&
              look(rndv[0], TUTTI_LANDING_BYTES + 1, &data) == TUTTI_REACH_NOT,
          "a receiver looks where no place is");
    char *const said = kit_capture_end();
    CHECK(strstr(said, "no place to land") != NULL, "the error of a message without a place: %s", said);
    free(said);
    for (int i = 0; i <= TUTTI_LANDINGS; i++)
        release(rndv[i]);
    message(7, 0);
}

static int rank_of(struct tutti_transport *transport, void *with)
{
    struct kit kit;
    struct side *const s = &side[transport->rank];
    void *memory = NULL;
    (void)with;
    if (!kit_open(transport, &kit))
        return 1;
    char why[160];
    s->node = kit.node;
    s->device = tutti_device();
    CHECK(s->device->open(why, sizeof why) == TUTTI_OK, "the device opens");
    CHECK(s->device->gpu.current(&s->gpu) == TUTTI_OK, "the GPU");
    s->gpu = s->gpu < 0 ? 0 : s->gpu;
    CHECK(s->device->memory.alloc(s->gpu, TUTTI_LANDING_BYTES, &memory) == TUTTI_OK, "memory");
    s->memory = memory;
    s->endpoint = tutti_endpoint_new(kit.node, s->device, SCRATCH);
    CHECK(s->endpoint && tutti_endpoint_use(s->endpoint, s->gpu) == 0, "an endpoint");
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    if (transport->rank == 0)
        all();
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    tutti_endpoint_free(s->endpoint, 1);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    s->device->memory.free(s->memory);
    kit_close(&kit);
    return check_failed() != 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    slow = argc > 1;
    const int failed = tutti_threads_run(RANKS, rank_of, NULL);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return failed != 0;
}
