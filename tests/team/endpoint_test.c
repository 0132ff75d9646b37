/* Endpoints between ranks that are threads or forked processes: rendezvous of random lengths go round a ring, then from
 * each rank to itself, taken from the sender's buffer or from its scratch, by the first side to do so; the scratch
 * fills up and empties again. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/log.h"
#include "kit.h"
#include "progress/engine.h"
#include "support/random.h"
#include "support/rndv_set.h"
#include "team/endpoint.h"

/* POLLS: one of so many frees all rendezvous that have been taken, few or many. */
enum { RANKS = 3, SCRATCH = 256 << 10, MOST = 100000, IN_FLIGHT = 8, ALLOCATIONS = 12, POLLS = 32, AWAY_US = 100000 };

static int rounds = 400;

/* One step a rank, which is open while other threads are to look at rendezvous of its. */
static void step_poll(void)
{
}
static struct tutti_step step[RANKS];
static uint64_t seed;

/* In place of the MPI: what each rank has told the next one of, in order. */
struct announced {
    _Atomic uint64_t sequence; /* 0: empty */
    int number;
    uint64_t bytes, contents;
};
static struct announced (*box)[IN_FLIGHT]; /* shared; [sender][i] */

static void fill(unsigned char *to, size_t bytes, uint64_t contents)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)random_mix(contents + i);
}

struct side {
    struct tutti_endpoint *endpoint;
    const struct tutti_device *device;
    int rank, next, before, gpu;
    char *memory[ALLOCATIONS];  /* device: what is sent from: more than a receiver keeps mapped */
    unsigned char *host, *want; /* want: MOST bytes for each that may come */
    struct flight {
        struct tutti_rndv *rndv;
        const char *from;
        char *scratch;
        uint64_t bytes, polls, packed;
    } flight[IN_FLIGHT];
    uint64_t taken[IN_FLIGHT]; /* pieces of what comes */
    struct last {
        int number;
        uint64_t sequence;
    } last; /* rendezvous that was taken */
    long direct, packed, mailed, offered, pieces;
};

/* The pieces that there is room for. */
static void pack_some(struct side *s, struct flight *f)
{
    const unsigned n = tutti_endpoint_room(s->endpoint, f->rndv, f->bytes, f->packed);
    const uint64_t first = f->packed * f->rndv->piece, most = n * f->rndv->piece;
    const uint64_t bytes = most < f->bytes - first ? most : f->bytes - first;
    if (n == 0)
        return;
    CHECK(s->device->memory.copy_now(f->scratch + f->packed % f->rndv->slots * f->rndv->piece, f->from + first,
                                     bytes) == TUTTI_OK,
          "copy");
    f->packed += n;
    atomic_store(&f->rndv->packed, f->packed);
}

/* Sends one rendezvous where there is a place for it. */
static int send_one(struct side *s, int i, uint64_t *state)
{
    struct announced *a = &box[s->rank][i];
    if (s->flight[i].rndv || atomic_load(&a->sequence))
        return 0;
    uint64_t bytes = 1 + random_next(state) % MOST, contents = random_next(state);
    char *from = s->memory[random_next(state) % ALLOCATIONS] + (size_t)i * MOST;
    const int of_call = random_next(state) % 2 == 1, open = atomic_load(&step[s->rank].open);
    struct tutti_rndv *rndv = of_call ? tutti_endpoint_rndv_of_call(s->endpoint, s->next, s->gpu)
                                      : tutti_endpoint_rndv(s->endpoint, s->next, s->gpu);
    if (!CHECK(rndv != NULL, "there is a rendezvous"))
        return 0;
    CHECK(atomic_load(&step[s->rank].open) == open + !of_call, "the step of a rendezvous is%s open",
          of_call ? "" : " not");
    fill(s->host, bytes, contents);
    CHECK(s->device->memory.copy_now(from, s->host, bytes) == TUTTI_OK, "copy");
    rndv->bytes = bytes;
    rndv->tag = i;
    a->bytes = bytes;
    a->contents = contents;
    a->number = tutti_endpoint_number(s->endpoint, rndv);
    uint64_t sequence = atomic_load(&rndv->sequence);
    struct flight *f = &s->flight[i];
    *f = (struct flight){rndv, from, NULL, bytes, 1 + random_next(state) % 6, 0};
    if (tutti_endpoint_share(s->endpoint, rndv, from, 0, NULL)) {
        rndv_set(rndv, TUTTI_RNDV_GET);
        s->direct++;
    } else if ((f->scratch = tutti_endpoint_scratch(s->endpoint, rndv, bytes, random_next(state) % 2)) != NULL) {
        pack_some(s, f);
        rndv_set(rndv, TUTTI_RNDV_BOUNCE);
        s->packed++;
    } else {
        rndv_set(rndv, TUTTI_RNDV_GET);
        s->offered++;
    }
    atomic_store(&a->sequence, sequence);
    return 1;
}

/* Packs what was offered and not fetched, or asked for; 1 if the buffer may be used again. */
static int has_left(struct side *s, int i)
{
    struct flight *f = &s->flight[i];
    if (!f->rndv)
        return 1;
    const int must = (int)atomic_load(&f->rndv->must);
    if (tutti_rndv_is(f->rndv, TUTTI_RNDV_GET) && (--f->polls == 0 || must) && !f->scratch)
        f->scratch = tutti_endpoint_scratch(s->endpoint, f->rndv, f->bytes, !must);
    if (f->scratch && tutti_rndv_win(f->rndv, TUTTI_RNDV_MOVING)) {
        pack_some(s, f);
        rndv_set(f->rndv, TUTTI_RNDV_BOUNCE);
        s->mailed++;
    }
    if (f->polls == 0)
        f->polls = 3;
    if (tutti_rndv_is(f->rndv, TUTTI_RNDV_GET) || tutti_rndv_is(f->rndv, TUTTI_RNDV_GETTING))
        return 0;
    if (tutti_rndv_is(f->rndv, TUTTI_RNDV_BOUNCE) && f->packed * f->rndv->piece < f->bytes) {
        s->pieces++;
        pack_some(s, f);
        return 0;
    }
    const int open = atomic_load(&step[s->rank].open), taken = tutti_rndv_is(f->rndv, TUTTI_RNDV_ATS);
    tutti_endpoint_send_release(s->endpoint, f->rndv);
    f->rndv = NULL;
    CHECK(taken || atomic_load(&step[s->rank].open) >= 1, "nothing is open for a rendezvous that is left (%d before)",
          open);
    return 1;
}

static int receive_one(struct side *s, int i)
{
    struct announced *a = &box[s->before][i];
    uint64_t sequence = atomic_load(&a->sequence);
    struct tutti_mapping *held = NULL;
    char *data = NULL;
    if (s->last.sequence) /* whatever its owner has made of the rendezvous since */
        CHECK(!tutti_endpoint_find(s->endpoint, s->before, s->last.number, s->last.sequence), "an RTS comes again");
    if (!sequence)
        return 0;
    struct tutti_rndv *rndv = tutti_endpoint_find(s->endpoint, s->before, a->number, sequence);
    if (!CHECK(rndv != NULL, "the rendezvous %llu is there", (unsigned long long)sequence))
        return 0;
    CHECK(tutti_endpoint_announces(s->endpoint, s->before, i, UINT64_MAX), "it is announced");
    if (tutti_rndv_is(rndv, TUTTI_RNDV_GET)) {
        if (tutti_endpoint_reach(s->endpoint, s->before, rndv, s->gpu, a->bytes, 0, &data, &held) != TUTTI_REACHED) {
            tutti_endpoint_demand(s->endpoint, s->before, rndv, &s->gpu, 1);
            return 0;
        }
        if (!tutti_rndv_win(rndv, TUTTI_RNDV_GETTING)) {
            tutti_endpoint_release(s->endpoint, held);
            return 0;
        }
        CHECK(s->device->memory.copy_now(s->want + (size_t)i * MOST, data, a->bytes) == TUTTI_OK, "copy");
    } else if (tutti_rndv_is(rndv, TUTTI_RNDV_BOUNCE)) {
        struct tutti_endpoint_run run;
        const enum tutti_reaching there =
            tutti_endpoint_pieces(s->endpoint, s->before, rndv, s->gpu, a->bytes, s->taken[i], &run);
        if (there == TUTTI_REACH_LATER || !CHECK(there == TUTTI_REACHED, "the pieces are there"))
            return 0;
        if (s->taken[i] == 0)
            tutti_endpoint_meet(s->endpoint, s->before, rndv, s->gpu);
        CHECK(run.first + run.bytes <= a->bytes, "pieces within the message");
        CHECK(s->device->memory.copy_now(s->want + (size_t)i * MOST + run.first, run.data, run.bytes) == TUTTI_OK,
              "copy");
        s->taken[i] += run.pieces;
        atomic_store(&rndv->taken, s->taken[i]);
        if (run.first + run.bytes < a->bytes)
            return 0;
    } else {
        return 0;
    }
    s->taken[i] = 0;
    CHECK(rndv->bytes == a->bytes, "%llu bytes", (unsigned long long)rndv->bytes);
    fill(s->host, a->bytes, a->contents);
    CHECK(memcmp(s->want + (size_t)i * MOST, s->host, a->bytes) == 0, "message of %llu bytes",
          (unsigned long long)a->bytes);
    tutti_endpoint_release(s->endpoint, held);
    CHECK(!tutti_endpoint_find(s->endpoint, s->before, a->number, sequence - 1), "an old RTS is believed");
    CHECK(!tutti_endpoint_find(s->endpoint, s->before, a->number, sequence + 1), "an RTS of the future is believed");
    const int number = a->number;
    rndv_set(rndv, TUTTI_RNDV_ATS);
    CHECK(!tutti_endpoint_find(s->endpoint, s->before, number, sequence), "an RTS that comes again is believed");
    s->last = (struct last){number, sequence};
    atomic_store(&a->sequence, 0);
    return 1;
}

/* All messages of this rank to the next one, and those from the one before. */
static void go_round(struct side *s, uint64_t *state)
{
    int sent = 0, received = 0, left = 0;
    s->direct = s->packed = s->mailed = s->offered = 0;
    s->last.sequence = 0;
    while (sent < rounds || received < rounds || left) {
        left = 0;
        for (int i = 0; i < IN_FLIGHT; i++) {
            has_left(s, i);
            if (sent < rounds)
                sent += send_one(s, i, state);
            left += s->flight[i].rndv != NULL; /* the one just sent too */
            received += receive_one(s, i);
        }
        tutti_endpoint_poll(s->endpoint);
        sched_yield();
    }
}

/* The receiver asks for the scratch once, and the message goes another way then: the sender learns all the same that
 * the scratch is mapped. */
static void mapped_on_the_way(struct side *s, struct tutti_transport *transport)
{
    struct tutti_rndv *rndv = tutti_endpoint_rndv(s->endpoint, s->next, s->gpu);
    struct announced *own = &box[s->rank][0], *other = &box[s->before][0];
    if (!CHECK(rndv != NULL, "there is a rendezvous"))
        return;
    own->number = tutti_endpoint_number(s->endpoint, rndv);
    own->contents = atomic_load(&rndv->sequence);
    rndv->bytes = 1;
    rndv_set(rndv, TUTTI_RNDV_GET);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    struct tutti_rndv *theirs = tutti_endpoint_find(s->endpoint, s->before, other->number, other->contents);
    if (CHECK(theirs != NULL, "the rendezvous is there"))
        tutti_endpoint_demand(s->endpoint, s->before, theirs, &s->gpu, 1);
    while (!atomic_load(&own->sequence) || !atomic_load(&other->sequence)) {
        tutti_endpoint_poll(s->endpoint);
        atomic_store(&own->sequence, tutti_endpoint_mapped(s->endpoint, s->next, s->gpu) != TUTTI_MAPS_NOT_YET);
        sched_yield();
    }
    CHECK(tutti_endpoint_mapped(s->endpoint, s->next, s->gpu) == TUTTI_MAPS, "the scratch cannot be mapped");
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    atomic_store(&own->sequence, 0);
    tutti_endpoint_withdraw(s->endpoint, rndv);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
}

/* The owners of new memory poll nothing until their peers reach it: the bell is answered. */
static void reached_while_away(struct side *s, struct tutti_transport *transport)
{
    struct tutti_rndv *rndv = tutti_endpoint_rndv(s->endpoint, s->next, s->gpu);
    struct announced *own = &box[s->rank][0], *other = &box[s->before][0];
    void *memory = NULL;
    if (!CHECK(rndv != NULL, "there is a rendezvous") ||
        !CHECK(s->device->memory.alloc(-1, MOST, &memory) == TUTTI_OK, "device memory"))
        return;
    own->number = tutti_endpoint_number(s->endpoint, rndv);
    own->contents = atomic_load(&rndv->sequence);
    rndv->bytes = MOST;
    CHECK(!tutti_endpoint_share(s->endpoint, rndv, memory, 0, NULL), "new memory is known to a peer");
    rndv_set(rndv, TUTTI_RNDV_GET);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    struct tutti_rndv *theirs = tutti_endpoint_find(s->endpoint, s->before, other->number, other->contents);
    if (CHECK(theirs != NULL, "the rendezvous is there")) {
        enum tutti_reaching there = TUTTI_REACH_LATER;
        struct tutti_mapping *held = NULL;
        char *data = NULL;
        for (int i = 0; i < AWAY_US && there == TUTTI_REACH_LATER; i++) {
            there = tutti_endpoint_reach(s->endpoint, s->before, theirs, s->gpu, MOST, 1, &data, &held);
            kit_sleep_us(1);
        }
        CHECK(there == TUTTI_REACHED, "memory of a rank that is away is not reached: %d", (int)there);
        tutti_endpoint_release(s->endpoint, held);
    }
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    tutti_endpoint_withdraw(s->endpoint, rndv);
    s->device->memory.free(memory);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
}

static void poll_until_free(struct side *s)
{
    for (int i = 0; i < POLLS && atomic_load(&step[s->rank].open) > 0; i++)
        tutti_endpoint_poll(s->endpoint);
    CHECK(atomic_load(&step[s->rank].open) == 0, "the step is open %d times", atomic_load(&step[s->rank].open));
}

/* Rendezvous that their sender has released, and their receiver takes afterwards. */
static void taken_late(struct side *s)
{
    struct tutti_rndv *rndv[IN_FLIGHT];
    for (int n = 1; n <= IN_FLIGHT; n++) {
        for (int i = 0; i < n; i++) {
            rndv[i] = tutti_endpoint_rndv(s->endpoint, s->next, s->gpu);
            if (!CHECK(rndv[i] != NULL, "there is a rendezvous"))
                return;
            rndv_set(rndv[i], TUTTI_RNDV_BOUNCE);
            tutti_endpoint_send_release(s->endpoint, rndv[i]);
        }
        CHECK(atomic_load(&step[s->rank].open) == n, "the step is open %d times for %d that are not taken",
              atomic_load(&step[s->rank].open), n);
        for (int i = 0; i < n; i++)
            rndv_set(rndv[i], TUTTI_RNDV_ATS);
        poll_until_free(s);
    }
}

static int ring(struct tutti_transport *transport, void *with)
{
    struct kit kit;
    (void)with;
    if (!kit_open(transport, &kit))
        return 1;
    struct side s = {.device = tutti_device(), .rank = transport->rank};
    uint64_t state = seed + (uint64_t)s.rank;
    char why[160];
    s.next = (s.rank + 1) % RANKS;
    s.before = (s.rank + RANKS - 1) % RANKS;
    s.host = malloc(MOST);
    s.want = malloc((size_t)IN_FLIGHT * MOST);
    CHECK(s.device->open(why, sizeof why) == TUTTI_OK, "the device opens");
    for (int i = 0; i < ALLOCATIONS; i++) {
        void *memory = NULL;
        CHECK(s.device->memory.alloc(-1, IN_FLIGHT * MOST, &memory) == TUTTI_OK, "device memory");
        s.memory[i] = memory;
    }
    s.endpoint = tutti_endpoint_new(kit.node, s.device, SCRATCH);
    CHECK(s.endpoint != NULL, "a endpoint");
    step[s.rank] = (struct tutti_step){.name = "test", .poll = step_poll};
    tutti_endpoint_step(s.endpoint, &step[s.rank]);
    CHECK(s.device->gpu.current(&s.gpu) == TUTTI_OK, "the GPU");
    s.gpu = s.gpu < 0 ? 0 : s.gpu;
    CHECK(tutti_endpoint_use(s.endpoint, s.gpu) == 0 && tutti_endpoint_listens(s.endpoint), "the first GPU");
    CHECK(tutti_endpoint_offer(s.endpoint, s.gpu), "scratch");
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    CHECK(tutti_endpoint_is_open(s.endpoint, s.next), "the endpoint is open");
    mapped_on_the_way(&s, transport);
    reached_while_away(&s, transport);
    taken_late(&s);
    go_round(&s, &state);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    CHECK(s.packed > 0 && s.direct > 0 && s.offered > 0 && s.pieces > 0,
          "rank %d: %ld direct, %ld packed, %ld offered, %ld late, %ld times several pieces", s.rank, s.direct,
          s.packed, s.offered, s.mailed, s.pieces);
    s.next = s.before = s.rank;
    go_round(&s, &state);
    CHECK(s.packed == 0 && s.direct == rounds, "rank %d to itself: %ld direct, %ld packed, %ld late", s.rank, s.direct,
          s.packed, s.mailed);
    poll_until_free(&s);
    for (int i = 0; i < IN_FLIGHT; i++)
        CHECK(atomic_load(&box[s.rank][i].sequence) == 0, "nothing is left");
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    tutti_endpoint_free(s.endpoint, 1);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    for (int i = 0; i < ALLOCATIONS; i++)
        s.device->memory.free(s.memory[i]);
    free(s.host);
    free(s.want);
    kit_close(&kit);
    return check_failed() != 0;
}

int main(int argc, char **argv)
{
    int forks = argc == 2 && strcmp(argv[1], "forks") == 0;
    seed = check_seed();
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)seed);
    rounds = (int)check_many("TUTTI_TEST_ROUNDS", rounds);
    box = mmap(NULL, sizeof *box * RANKS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int failed = forks ? tutti_forks_run(RANKS, ring, NULL, NULL) : tutti_threads_run(RANKS, ring, NULL);
    if (!forks)
        printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return failed != 0;
}
