/* A rank whose control page holds anything: what its peer reads there must never lead it outside of what is mapped. The
 * liar does all right, then some words of what it wrote are changed; one thread acts for both. All that the reader then
 * accepts must be there to be read. usage: fuzz_pages_test CASES (TUTTI_TEST_SEED) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "dtype/pack.h"
#include "dtype/wire.h"
#include "kit.h"
#include "support/changed.h"
#include "support/rndv_set.h"
#include "team/cache.h"
#include "team/endpoint.h"
#include "team/resources.h"
#include "team/share.h"
#include "tutti/tutti.h"

enum { READER, LIAR, SCRATCH = 64 << 10, BYTES = 6000, MOST = 1 << 20, GUARD = 0xa7 };

static long cases;
static uint64_t state;
static struct tutti_node *nodes[2];
static struct tutti_transport *transports[2];
static const struct tutti_device *device;
static char *memory[2];      /* the liar's device memory */
static unsigned char *taken; /* where the reader puts what it takes */
static long opened, mapped, reached, laid_out, refused;

static int one_of(uint64_t n)
{
    return random_next(&state) % n == 0;
}

/* The bytes can be read where they are said to be. */
static void readable(const void *at, uint64_t bytes, const char *what)
{
    if (bytes > MOST) { /* its two ends */
        readable(at, 64, what);
        readable((const char *)at + bytes - 64, 64, what);
        return;
    }
    CHECK(device->memory.copy_now(taken, at, bytes) == TUTTI_OK, "%s: %llu bytes are not there", what,
          (unsigned long long)bytes);
}

/* The liar sends a descriptor of its allocation under whatever name it gives it. */
static void send_descriptor(const struct tutti_team *team, const void *of, uint64_t id, int endpoint)
{
    struct tutti_export what;
    struct tutti_note note = {.slot = (uint32_t)TUTTI_NOTE_ENDPOINT, .id = id};
    int fd = -1;
    if (!endpoint) {
        const struct tutti_membership *membership = tutti_membership(team);
        note.slot = (uint32_t)membership->number[READER];
        note.generation = membership->generation[READER];
        note.sequence = team->sequence;
    }
    CHECK(device->share.export(of, &what, &fd) == TUTTI_OK, "export");
    tutti_socket_give(nodes[LIAR], READER, &note, fd);
    close(fd);
}

/* ---- calls of a team ---- */

/* Votes for all that may come: they never decide. */
static void vote_ahead(struct tutti_slot *slot, const struct tutti_team *team)
{
    atomic_store(&slot->voted, team->votes + 1000);
    atomic_store(&slot->vote[0], UINT32_MAX);
    atomic_store(&slot->vote[1], UINT32_MAX);
}

static void offer(struct tutti_team *team, const struct tutti_resources *resources)
{
    struct tutti_slot *slot = team->slot[LIAR];
    slot->offer = (struct tutti_offer){.bytes = resources->bytes,
                                       .blocks = device->gpu.blocks(1),
                                       .ticks = resources->ticks,
                                       .share = resources->share};
    device->gpu.uuid(1, slot->offer.uuid);
    changed_bytes(&slot->offer, sizeof slot->offer, &state);
    slot->offer.share.what.needs_fd = 1; /* or nobody waits for the descriptor */
    send_descriptor(team, resources->channel, slot->offer.share.what.id, 0);
    vote_ahead(slot, team);
    if (tutti_team_open(team, 0) != TUTTI_OK || team->state != TUTTI_TEAM_OPEN) {
        refused++;
        return;
    }
    opened++;
    for (int g = 0; g < team->gpus; g++) {
        readable(team->window[g], 64, "the head of a channel");
        readable((char *)team->window[g] + team->channel_bytes - 64, 64, "the end of a channel");
    }
}

static void share(struct tutti_team *team, int wild)
{
    const struct tutti_reach reach[2] = {{BYTES, BYTES}, {BYTES, BYTES}};
    const void *in[2] = {NULL};
    void *out[2] = {NULL};
    struct tutti_shares *its = tutti_team_shares(team, LIAR);
    int agreed = 0;
    tutti_share_fill(nodes[LIAR], device, memory[0] + random_next(&state) % 4096, &its->in);
    tutti_share_fill(nodes[LIAR], device, memory[1] + random_next(&state) % 4096, &its->out);
    if (wild)
        changed_bytes(its, sizeof *its, &state);
    its->in.what.needs_fd = its->out.what.needs_fd = 1;
    send_descriptor(team, memory[0], its->in.what.id, 0);
    send_descriptor(team, memory[1], its->out.what.id, 0);
    CHECK(tutti_team_map(team, 1u << LIAR, reach, in, out, &agreed) == TUTTI_OK, "map");
    if (!wild)
        CHECK(agreed, "sound shares are mapped");
    refused += !agreed;
    mapped += agreed;
    if (agreed) {
        readable(in[LIAR], BYTES, "a contribution");
        readable(out[LIAR], BYTES, "a result");
    }
}

/* What has been sent and was not needed would fill the socket. */
static void drain(void)
{
    int fd = -1;
    for (int r = 0; r < 2; r++) {
        CHECK(!tutti_socket_take(nodes[r], !r, 0, 0, 0, &fd), "a descriptor that nobody asked for");
        tutti_socket_purge(nodes[r], -2);
    }
}

static void call_of_team(const struct tutti_resources *resources)
{
    drain();
    char exchanges[2][TUTTI_EXCHANGE_BYTES];
    struct tutti_team *team[2];
    const struct tutti_arrival *all[2], mine = kit_call(10);
    for (int r = 0; r < 2; r++)
        CHECK(tutti_team_begin(nodes[r], transports[r], exchanges[r], &team[r]) == TUTTI_OK, "begin");
    for (int r = 0; r < 2; r++)
        tutti_team_join(team[r], exchanges);
    struct tutti_team *reader = team[READER];
    struct tutti_slot *slot = reader->slot[LIAR];
    tutti_team_arrive(team[LIAR], &mine);
    tutti_team_arrive(reader, &mine);
    if (one_of(4)) {
        struct tutti_record *record = &slot->record[reader->sequence % TUTTI_RECORDS];
        changed_bytes(record, sizeof *record, &state);
        atomic_store(&record->ready, reader->sequence); /* it has come: what, does not matter */
    }
    atomic_store(&slot->sequence, reader->sequence);
    if (tutti_team_await(reader, all) == TUTTI_OK)
        offer(reader, resources);
    for (int i = 0; i < 3 && reader->state == TUTTI_TEAM_OPEN; i++)
        share(reader, i > 0);
    atomic_store(&slot->done_status, (uint32_t)changed_word(0, &state));
    atomic_store(&slot->done, reader->sequence);
    int status = tutti_team_await_done(reader, 1u << LIAR);
    CHECK(status <= 0 && strcmp(tutti_status_text(status), "an unknown status") != 0, "status %d", status);
    for (int r = 0; r < 2; r++)
        tutti_team_free(team[r]);
}

/* ---- rendezvous ---- */

struct sides {
    struct tutti_endpoint *reader, *liar;
    const struct tutti_plan *plan;
};

static void open_endpoints(struct sides *s)
{
    s->reader = tutti_endpoint_new(nodes[READER], device, SCRATCH);
    s->liar = tutti_endpoint_new(nodes[LIAR], device, SCRATCH);
    static const int reader = READER, liar = LIAR;
    tutti_endpoint_use(s->reader, 0);
    tutti_endpoint_use(s->liar, 1);
    CHECK(tutti_endpoint_offer(s->liar, 1), "scratch");
    struct tutti_endpoint_page *its = &tutti_node_control(nodes[LIAR])->endpoints.gpu[0];
    if (one_of(2)) {
        const struct tutti_share sound = its->scratch;
        changed_bytes(&its->scratch, sizeof its->scratch, &state);
        if (one_of(2)) /* a descriptor for what it names now is not had from its owner */
            its->scratch.what.id = sound.what.id;
    }
    tutti_endpoint_settle_scratch(s->reader, 0);
    for (int i = 0; i < 3; i++) {
        tutti_endpoint_connect(s->reader, &liar, 1, 0);
        tutti_endpoint_poll(s->liar);
        tutti_endpoint_connect(s->liar, &reader, 1, 1);
        tutti_endpoint_poll(s->reader);
    }
}

static void close_endpoints(struct sides *s)
{
    tutti_endpoint_free(s->reader, 1);
    tutti_endpoint_free(s->liar, 1);
    for (int r = 0; r < 2; r++)
        memset(tutti_node_control(nodes[r])->endpoints.gpu, 0, sizeof tutti_node_control(nodes[r])->endpoints.gpu);
    tutti_socket_purge(nodes[READER], -2);
    tutti_socket_purge(nodes[LIAR], -2);
}

/* A sound rendezvous of `bytes` bytes. */
static struct tutti_rndv *write_rndv(struct sides *s, uint64_t *bytes)
{
    struct tutti_rndv *rndv = tutti_endpoint_rndv(s->liar, READER, 1);
    const uint64_t count = 1 + random_next(&state) % 40;
    *bytes = one_of(2) ? count * s->plan->size : 1 + random_next(&state) % BYTES;
    rndv->tag = (int32_t)(random_next(&state) % 3);
    rndv->bytes = *bytes;
    rndv->next = TUTTI_RNDVS;
    tutti_endpoint_share(s->liar, rndv, memory[random_next(&state) % 2] + random_next(&state) % 512, 0, NULL);
    if (*bytes == count * s->plan->size) {
        rndv->count = count;
        rndv->lowest = s->plan->true_lower;
        rndv->layout_bytes = (uint32_t)tutti_plan_write(s->plan, rndv->layout, sizeof rndv->layout);
        rndv_set(rndv, TUTTI_RNDV_GET);
    } else if (tutti_endpoint_scratch(s->liar, rndv, *bytes, 1)) {
        atomic_store(&rndv->packed, tutti_pieces(*bytes, rndv->piece));
        rndv_set(rndv, one_of(2) ? TUTTI_RNDV_BOUNCE : TUTTI_RNDV_GET);
    }
    return rndv;
}

/* Host memory that kernels reach; a guard behind it. */
static unsigned char *pinned(uint64_t bytes)
{
    void *room = NULL;
    if (device->memory.alloc_pinned(bytes + 1, &room) != TUTTI_OK)
        return NULL;
    ((unsigned char *)room)[bytes] = GUARD;
    return room;
}

static void take_rndv(struct sides *s, struct tutti_rndv *rndv, uint64_t bytes)
{
    struct tutti_mapping *held = NULL;
    struct tutti_elements theirs;
    const int offered = tutti_rndv_is(rndv, TUTTI_RNDV_GET);
    char *data = NULL;
    struct tutti_endpoint_run run;
    const int reader_gpu = 0;
    if (offered && tutti_endpoint_reach(s->reader, LIAR, rndv, 0, bytes, 0, &data, &held) == TUTTI_REACH_NOT)
        tutti_endpoint_demand(s->reader, LIAR, rndv, &reader_gpu, 1);
    if (!offered &&
        tutti_endpoint_pieces(s->reader, LIAR, rndv, 0, bytes, random_next(&state) % 3, &run) == TUTTI_REACHED) {
        data = run.data;
        CHECK(run.first <= bytes && run.bytes <= bytes - run.first, "pieces beyond the message");
        bytes = run.bytes;
    }
    tutti_endpoint_poll(s->liar); /* it serves */
    refused += !data;
    if (data && offered && rndv->layout_bytes > 0) {
        if (tutti_endpoint_elements(s->reader, LIAR, rndv, held, data, bytes, &theirs) == TUTTI_OK) {
            unsigned char *packed = pinned(bytes);
            const struct tutti_pack_job job = tutti_elements_job(TUTTI_PACK, &theirs, 0, bytes, packed);
            CHECK(packed && tutti_pack_now(0, &job, 1) == TUTTI_OK, "a layout is not there");
            CHECK(packed && packed[bytes] == GUARD, "more than the message was packed");
            tutti_plan_drop(theirs.plan);
            device->memory.free_pinned(packed);
            laid_out++;
        } else {
            refused++;
        }
    } else if (data) {
        readable(data, bytes, "a message");
        reached++;
    }
    tutti_endpoint_meet(s->reader, LIAR, rndv, 0);
    tutti_endpoint_release(s->reader, held);
}

static void one_rndv(struct sides *s)
{
    uint64_t bytes, sequence;
    struct tutti_rndv *rndv = write_rndv(s, &bytes);
    int number = tutti_endpoint_number(s->liar, rndv);
    sequence = atomic_load(&rndv->sequence);
    if (!one_of(8)) {
        const uint32_t before = atomic_load(&rndv->state);
        changed_bytes(rndv, one_of(3) ? sizeof *rndv : offsetof(struct tutti_rndv, layout), &state);
        if (!one_of(4)) {
            atomic_store(&rndv->state, before);
            atomic_store(&rndv->sequence, sequence);
            rndv->to = READER;
        }
    }
    if (one_of(8))
        number = (int)changed_word((uint64_t)number, &state);
    struct tutti_rndv *found = tutti_endpoint_find(s->reader, LIAR, number, sequence);
    if (!found)
        found = tutti_endpoint_at(s->reader, LIAR, number);
    if (tutti_endpoint_announces(s->reader, LIAR, (int)(random_next(&state) % 3), UINT64_MAX))
        tutti_endpoint_hold(s->reader, LIAR, (int)(random_next(&state) % 3));
    tutti_endpoint_unhold(s->reader, LIAR, number, sequence);
    tutti_endpoint_received(s->reader, LIAR, number, sequence);
    if (found)
        take_rndv(s, found, bytes);
    tutti_endpoint_watch(s->reader, (int)changed_word(1, &state));
    tutti_endpoint_withdraw(s->liar, rndv);
}

/* ---- */

static const struct tutti_plan *a_plan(void)
{
    const struct tutti_description byte = {.form = TUTTI_FORM_BYTES, .bytes = 8}, *child = &byte;
    const struct tutti_description vector = {
        .form = TUTTI_FORM_VECTOR, .children = 1, .child = &child, .count = 5, .length = 2, .stride = 32};
    const struct tutti_plan *plan = NULL;
    CHECK(tutti_plan_build(&vector, &plan) == TUTTI_OK, "plan");
    return plan;
}

static void fuzz(void)
{
    struct sides s = {.plan = a_plan()};
    struct tutti_resources *resources;
    const char *why;
    char text[100];
    device = tutti_device();
    taken = malloc(MOST);
    CHECK(taken && device->open(text, sizeof text) == TUTTI_OK, "device");
    for (int i = 0; i < 2; i++)
        CHECK(device->memory.alloc(1, 20000, (void **)&memory[i]) == TUTTI_OK, "memory");
    nodes[READER]->device = nodes[LIAR]->device = device;
    CHECK(tutti_resources_take(nodes[LIAR], 1, 0, &resources, &why) == TUTTI_OK, "resources: %s", why);
    for (long i = 0; i < cases && check_failed() < 5; i++) {
        if (i % 50 == 0)
            open_endpoints(&s);
        one_rndv(&s);
        if (i % 5 == 0)
            call_of_team(resources);
        if (i % 50 == 49 || i == cases - 1)
            close_endpoints(&s);
    }
    tutti_resources_drop(nodes[LIAR], resources);
    tutti_plan_drop(s.plan);
    tutti_cache_empty(nodes[READER]->cache, device);
    for (int i = 0; i < 2; i++)
        device->memory.free(memory[i]);
    free(taken);
    printf("%ld cases: %ld teams opened, %ld mappings, %ld messages, %ld layouts; %ld refused\n", cases, opened, mapped,
           reached, laid_out, refused);
    CHECK(opened > 0 && mapped > 0 && reached > 0 && laid_out > 0 && refused > 0, "the cases tell nothing");
}

static int rank_main(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    (void)arg;
    if (!kit_open(transport, &kit))
        return 1;
    nodes[transport->rank] = kit.node;
    transports[transport->rank] = transport;
    transport->ops->barrier(transport);
    if (transport->rank == READER)
        fuzz();
    transport->ops->barrier(transport);
    kit_close(&kit);
    return check_failed() > 0;
}

int main(int argc, char **argv)
{
    cases = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    state = check_seed();
    printf("seed %ju\n", (uintmax_t)state);
    return tutti_threads_run(2, rank_main, NULL);
}
