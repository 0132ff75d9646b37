/* A rank dies while a message of its own is under way by a rendezvous. Ranks are processes; a rank that waits
 * for it gets an error within ten seconds, or the data, and messages between the others go on. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/log.h"
#include "kit.h"
#include "support/random.h"
#include "support/rndv_set.h"
#include "team/endpoint.h"

/* BOUND: seconds; what ends at all ends long before, on a loaded machine too. */
enum { RANKS = 3, SCRATCH = 256 << 10, BYTES = 100000, VICTIM = 1, BOUND = 40 };
enum when { OFFERED, MOVING, PACKED, CLAIMED, DEATHS };
static const char *const names[DEATHS] = {"the sender with a rendezvous offered", "the sender while it packs",
                                          "the sender with a rendezvous packed",
                                          "the receiver with a rendezvous claimed"};

/* In place of the MPI. */
static struct shared {
    enum when when;
    _Atomic uint64_t sequence[RANKS][RANKS]; /* of the rendezvous from one to the other; 0: nothing */
    int number[RANKS][RANKS];
    _Atomic int claimed;
    _Atomic int opened; /* ranks whose endpoints are all open */
} * shared;

struct side {
    struct tutti_endpoint *endpoint;
    const struct tutti_device *device;
    char *memory; /* device */
    unsigned char *host;
    int gpu;
};

static void contents(unsigned char *to, int sender)
{
    for (size_t i = 0; i < BYTES; i++)
        to[i] = (unsigned char)random_mix((uint64_t)sender * BYTES + i);
}

/* Introduces the memory to the peer by a rendezvous that is packed, as the library does; then offers one. */
static struct tutti_rndv *send(struct side *s, int rank, int to, enum tutti_rndv_state state)
{
    struct tutti_rndv *rndv = tutti_endpoint_rndv(s->endpoint, to, s->gpu);
    if (!CHECK(rndv != NULL, "there is a rendezvous"))
        return NULL;
    contents(s->host, rank);
    CHECK(s->device->memory.copy_now(s->memory, s->host, BYTES) == TUTTI_OK, "copy");
    rndv->bytes = BYTES;
    rndv->tag = 0;
    int known = tutti_endpoint_share(s->endpoint, rndv, s->memory, 0, NULL);
    if (state == TUTTI_RNDV_BOUNCE || !known) {
        void *scratch = tutti_endpoint_scratch(s->endpoint, rndv, BYTES, 1);
        CHECK(scratch && s->device->memory.copy_now(scratch, s->memory, BYTES) == TUTTI_OK, "packed");
        atomic_store(&rndv->packed, tutti_pieces(BYTES, rndv->piece));
        state = TUTTI_RNDV_BOUNCE;
    }
    rndv_set(rndv, state);
    shared->number[rank][to] = tutti_endpoint_number(s->endpoint, rndv);
    atomic_store(&shared->sequence[rank][to], atomic_load(&rndv->sequence));
    return rndv;
}

/* Until the rendezvous is in one of the states, or `of` has died; TUTTI_ERR_TIMEOUT after BOUND seconds. */
static int await(struct side *s, const struct tutti_rndv *rndv, unsigned states, int of)
{
    for (uint64_t start = tutti_now_ns(); tutti_now_ns() - start < BOUND * UINT64_C(1000000000); kit_sleep_us(100)) {
        if (states >> atomic_load(&rndv->state) & 1)
            return TUTTI_OK;
        if (tutti_endpoint_watch(s->endpoint, of) == TUTTI_ERR_PEER)
            return TUTTI_ERR_PEER;
    }
    return TUTTI_ERR_TIMEOUT;
}

/* What has come from `sender`; TUTTI_ERR_PEER where that has died and will not move it on. */
static int receive(struct side *s, int sender, int rank)
{
    struct tutti_mapping *held = NULL;
    uint64_t sequence;
    for (long tries = 0; !(sequence = atomic_load(&shared->sequence[sender][rank])); tries++) {
        kit_sleep_us(100);
        if (!CHECK(tries < 100000, "a rendezvous comes"))
            return TUTTI_ERR_TIMEOUT;
    }
    struct tutti_rndv *rndv = tutti_endpoint_find(s->endpoint, sender, shared->number[sender][rank], sequence);
    if (!CHECK(rndv != NULL, "the rendezvous is there"))
        return TUTTI_ERR_MISMATCH;
    int status = await(s, rndv, 1u << TUTTI_RNDV_GET | 1u << TUTTI_RNDV_BOUNCE, sender);
    if (status != TUTTI_OK)
        return status;
    int offered = tutti_rndv_win(rndv, TUTTI_RNDV_GETTING);
    char *data = NULL;
    struct tutti_endpoint_run run = {.bytes = 0};
    enum tutti_reaching there;
    if (offered) {
        there = tutti_endpoint_reach(s->endpoint, sender, rndv, s->gpu, rndv->bytes, 0, &data, &held);
    } else {
        there = tutti_endpoint_pieces(s->endpoint, sender, rndv, s->gpu, rndv->bytes, 0, &run);
        data = run.bytes == BYTES ? run.data : NULL;
    }
    CHECK(there == TUTTI_REACHED && data && s->device->memory.copy_now(s->host, data, BYTES) == TUTTI_OK, "fetched");
    tutti_endpoint_meet(s->endpoint, sender, rndv, s->gpu);
    tutti_endpoint_release(s->endpoint, held);
    unsigned char *want = malloc(BYTES);
    contents(want, sender);
    CHECK(memcmp(s->host, want, BYTES) == 0, "the message of rank %d is right", sender);
    free(want);
    atomic_store(&shared->sequence[sender][rank], 0);
    rndv_set(rndv, TUTTI_RNDV_ATS);
    return TUTTI_OK;
}

/* A message from one to the other, and its end. */
static void pass(struct side *s, int rank, int from, int to)
{
    if (rank == from) {
        struct tutti_rndv *rndv = send(s, rank, to, TUTTI_RNDV_GET);
        int status = rndv ? await(s, rndv, 1u << TUTTI_RNDV_ATS, to) : TUTTI_ERR_MEMORY;
        CHECK(status == TUTTI_OK, "from %d to %d: %s", from, to, tutti_status_text(status));
        if (rndv)
            tutti_endpoint_send_release(s->endpoint, rndv);
        tutti_endpoint_poll(s->endpoint);
    } else if (rank == to) {
        int status = receive(s, from, rank);
        CHECK(status == TUTTI_OK, "from %d to %d: %s", from, to, tutti_status_text(status));
    }
}

static int die(struct tutti_transport *transport, void *unused)
{
    struct kit kit;
    (void)unused;
    if (!kit_open(transport, &kit))
        return 1;
    const int rank = transport->rank, other = 0;
    struct side s = {.device = tutti_device(), .host = malloc(BYTES)};
    char why[160];
    void *memory = NULL;
    CHECK(s.device->open(why, sizeof why) == TUTTI_OK && s.device->memory.alloc(-1, BYTES, &memory) == TUTTI_OK,
          "memory");
    s.memory = memory;
    s.endpoint = tutti_endpoint_new(kit.node, s.device, SCRATCH);
    static const int all[RANKS] = {0, 1, 2};
    CHECK(s.device->gpu.current(&s.gpu) == TUTTI_OK, "the GPU");
    s.gpu = s.gpu < 0 ? 0 : s.gpu;
    CHECK(tutti_endpoint_use(s.endpoint, s.gpu) == 0 && tutti_endpoint_offer(s.endpoint, s.gpu), "scratch");
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    /* A rank polls until all are there: the others need its answers. */
    for (int open = 0, tries = 0; atomic_load(&shared->opened) < RANKS && CHECK(tries < 100000, "the endpoints open");
         tries++) {
        tutti_endpoint_poll(s.endpoint);
        const int connected = tutti_endpoint_connect(s.endpoint, all, RANKS, s.gpu);
        if (connected && !open)
            atomic_fetch_add(&shared->opened, 1);
        open |= connected;
        kit_sleep_us(100);
    }
    tutti_endpoint_connected(s.endpoint);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    for (int from = 0; from < RANKS; from++) { /* packed until the memory is known, then offered */
        for (int to = 0; to < RANKS; to++) {
            if (from == to)
                continue;
            for (int i = 0; i < 3; i++)
                pass(&s, rank, from, to);
            CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
        }
    }
    static const enum tutti_rndv_state states[DEATHS] = {TUTTI_RNDV_GET, TUTTI_RNDV_MOVING, TUTTI_RNDV_BOUNCE,
                                                         TUTTI_RNDV_GET};
    const enum when when = shared->when;
    uint64_t start = tutti_now_ns();
    if (rank == VICTIM && when != CLAIMED) {
        send(&s, rank, other, states[when]);
        raise(SIGKILL);
    } else if (rank == VICTIM) {
        while (!atomic_load(&shared->sequence[other][VICTIM]))
            kit_sleep_us(100);
        struct tutti_rndv *rndv = tutti_endpoint_find(s.endpoint, other, shared->number[other][VICTIM],
                                                      atomic_load(&shared->sequence[other][VICTIM]));
        atomic_store(&shared->claimed, rndv && tutti_rndv_win(rndv, TUTTI_RNDV_GETTING));
        raise(SIGKILL);
    } else if (rank == other && when != CLAIMED) {
        int status = receive(&s, VICTIM, rank); /* what lies in its memory or scratch can still be read here */
        CHECK(status == (when == MOVING ? TUTTI_ERR_PEER : TUTTI_OK), "%s: %s", names[when], tutti_status_text(status));
    } else if (rank == other) {
        struct tutti_rndv *rndv = send(&s, rank, VICTIM, states[when]);
        int status = await(&s, rndv, 1u << TUTTI_RNDV_ATS, VICTIM);
        CHECK(status == TUTTI_ERR_PEER && atomic_load(&shared->claimed), "%s: %s", names[when],
              tutti_status_text(status));
        tutti_endpoint_send_release(s.endpoint, rndv);
    }
    double seconds = (double)(tutti_now_ns() - start) * 1e-9;
    CHECK(seconds < BOUND, "%s: %.1f s", names[when], seconds);
    CHECK(tutti_endpoint_watch(s.endpoint, 2 - rank) == TUTTI_OK, "%s: the other one is well", names[when]);
    for (int i = 0; i < 3; i++) {
        pass(&s, rank, 0, 2);
        pass(&s, rank, 2, 0);
    }
    tutti_endpoint_free(s.endpoint, 1);
    s.device->memory.free(s.memory);
    free(s.host);
    kit_close(&kit);
    return check_failed() != 0;
}

int main(void)
{
    int failed = 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    for (int when = 0; when < DEATHS; when++) {
        int ended[RANKS];
        memset(shared, 0, sizeof *shared);
        shared->when = (enum when)when;
        tutti_forks_run(RANKS, die, NULL, ended);
        for (int r = 0; r < RANKS; r++) {
            int right = ended[r] == (r == VICTIM ? -SIGKILL : 0);
            failed += !right;
            if (!right)
                printf("%s: rank %d ended with %d\n", names[when], r, ended[r]);
        }
    }
    printf("%d deaths, %d failed\n", DEATHS, failed);
    return failed != 0;
}
