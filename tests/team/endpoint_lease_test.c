/* Leases of endpoints, between two ranks that are threads, over a device that only keeps count. One thread drives both
 * sides, so that each order of events comes about: what the sender has leased stays mapped, also if the receiver maps
 * and the sender frees other memory; a lease ends with its rendezvous, however that ends; and an allocation that the
 * receiver replaces while the sender takes a lease is not leased. The cache is small, so that memory without a holder
 * is soon unmapped. What the device refuses to map at first is tried again. A mapping during which the program resets
 * the GPU is neither known nor a failure. */
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/status.h"
#include "counted.h"
#include "kit.h"
#include "support/rndv_set.h"
#include "team/endpoint/endpoint_own.h"
#include "team/invalidation.h"

enum { SENDER, RECEIVER, RANKS, KNOWN = TUTTI_ENDPOINT_KNOWN, SCRATCH = 1 << 20, BYTES = 64, TOOK = 5 };

static struct tutti_node *node[RANKS];
static struct tutti_endpoint *endpoint[RANKS];
static uint64_t ids; /* used so far */

static void poll_both(void)
{
    for (int i = 0; i < 4; i++)
        tutti_endpoint_poll(endpoint[i % RANKS]);
}

/* ---- one message ---- */

struct flight {
    struct tutti_rndv *rndv;   /* the sender's */
    struct tutti_rndv *theirs; /* the same as the receiver sees it */
    int direct;                /* offered where it lies, with a lease */
};

static struct flight begin(uint64_t id)
{
    struct flight f = {.rndv = tutti_endpoint_rndv(endpoint[SENDER], RECEIVER, 0)};
    if (!f.rndv) {
        fprintf(stderr, "there is no rendezvous\n");
        exit(1);
    }
    f.rndv->bytes = BYTES;
    f.theirs = tutti_endpoint_at(endpoint[RECEIVER], SENDER, tutti_endpoint_number(endpoint[SENDER], f.rndv));
    f.direct = tutti_endpoint_share(endpoint[SENDER], f.rndv, counted_address(id), id, NULL);
    CHECK(f.theirs->share.shared && f.theirs->share.what.id == id && f.theirs->share.offset == 0,
          "the rendezvous names allocation %llu, not the one that it has named before", (unsigned long long)id);
    if (!f.direct)
        CHECK(tutti_endpoint_scratch(endpoint[SENDER], f.rndv, BYTES, 1) != NULL, "scratch");
    if (!f.direct)
        atomic_store(&f.rndv->packed, 1);
    rndv_set(f.rndv, f.direct ? TUTTI_RNDV_GET : TUTTI_RNDV_BOUNCE);
    return f;
}

/* The second time that it is named, the receiver makes an allocation known. */
static void meet(const struct flight *f)
{
    for (int i = 0; i < 2; i++)
        tutti_endpoint_meet(endpoint[RECEIVER], SENDER, f->theirs, 0);
}

/* The receiver takes the message, and makes the allocation known. */
static void take(const struct flight *f)
{
    struct tutti_mapping *held = NULL;
    const int offered = tutti_rndv_is(f->theirs, TUTTI_RNDV_GET);
    char *data = NULL;
    struct tutti_endpoint_run run;
    CHECK((offered ? tutti_endpoint_reach(endpoint[RECEIVER], SENDER, f->theirs, 0, BYTES, 0, &data, &held)
                   : tutti_endpoint_pieces(endpoint[RECEIVER], SENDER, f->theirs, 0, BYTES, 0, &run)) == TUTTI_REACHED,
          "the data are reached");
    CHECK(!offered || tutti_rndv_win(f->theirs, TUTTI_RNDV_GETTING), "the receiver comes first");
    if (!offered)
        meet(f);
    tutti_endpoint_release(endpoint[RECEIVER], held);
    rndv_set(f->theirs, TUTTI_RNDV_ATS);
}

static void end(const struct flight *f)
{
    tutti_endpoint_send_release(endpoint[SENDER], f->rndv);
    poll_both();
}

static int message(uint64_t id)
{
    const struct flight f = begin(id);
    take(&f);
    end(&f);
    return f.direct;
}

/* `n` further allocations are known to the receiver, those before as far as there is room. */
static void others(int n)
{
    for (int i = 0; i < n; i++)
        CHECK(!message(++ids), "allocation %llu is known before its first message", (unsigned long long)ids);
}

static uint64_t known(void)
{
    const uint64_t id = ++ids;
    CHECK(!message(id), "the first message from an allocation is packed");
    return id;
}

/* ---- what is tested ---- */

/* 1 if all places are free for others. */
static void no_lease_is_left(const char *after)
{
    const uint64_t first = ids + 1;
    others(KNOWN);
    for (uint64_t id = first; id < first + KNOWN; id++)
        CHECK(message(id), "after one that was %s allocation %llu of %d does not become known", after,
              (unsigned long long)(id - first + 1), KNOWN);
}

static void leases_end(void)
{
    enum { TAKEN, MOVED, MAILED, WITHDRAWN, ENDS };
    static const char *const ends[ENDS] = {"taken", "packed by its sender", "sent by the MPI", "withdrawn"};
    for (int how = 0; how < ENDS; how++) {
        const struct flight f = begin(known());
        CHECK(f.direct, "the second message is offered where it lies");
        if (how == WITHDRAWN) {
            tutti_endpoint_withdraw(endpoint[SENDER], f.rndv);
            no_lease_is_left(ends[how]);
            continue;
        }
        if (how == TAKEN)
            take(&f);
        else
            CHECK(tutti_rndv_win(f.rndv, TUTTI_RNDV_MOVING), "the sender comes first");
        if (how != TAKEN)
            rndv_set(f.rndv, how == MOVED ? TUTTI_RNDV_BOUNCE : TUTTI_RNDV_AM);
        poll_both();
        no_lease_is_left(ends[how]); /* also while its sender still looks at it */
        rndv_set(f.theirs, TUTTI_RNDV_ATS);
        end(&f);
        no_lease_is_left(ends[how]);
    }
}

/* More leases of one allocation: it stays until the last one ends. */
static void leased_stays_mapped(int freed)
{
    const uint64_t id = known();
    const struct flight f[] = {begin(id), begin(id), begin(id)};
    for (int i = 0; i < 3; i++) {
        others(3 * KNOWN);
        if (freed && i == 0)
            counted_free(id);
        if (freed)
            tutti_invalidation_look(node[SENDER], &counted_device, 0);
        poll_both();
        others(3 * KNOWN);
        CHECK(counted_is_mapped(id), "with %d leases the allocation is unmapped", 3 - i);
        CHECK(f[i].direct, "message %d is offered where it lies", i);
        take(&f[i]);
        end(&f[i]);
    }
    others(3 * KNOWN);
    CHECK(!counted_is_mapped(id), "nobody leases the allocation and it stays mapped");
}

/* ---- the receiver replaces an allocation while the sender takes a lease of it ---- */

static void *page; /* of the receiver's words that the sender must write to take a lease */
static size_t page_bytes;
static volatile sig_atomic_t armed;
static sem_t go, gone_through;

/* The sender has looked at the id, and writes: the receiver comes in between. */
static void on_fault(int signal, siginfo_t *info, void *unused)
{
    (void)unused;
    if (!armed || (size_t)((char *)info->si_addr - (char *)page) >= page_bytes) {
        struct sigaction usual = {.sa_handler = SIG_DFL};
        sigaction(signal, &usual, NULL);
        return;
    }
    armed = 0;
    mprotect(page, page_bytes, PROT_READ | PROT_WRITE);
    sem_post(&go);
    while (sem_wait(&gone_through) != 0)
        ;
}

static struct flight waiting[KNOWN];

static void *replace_all(void *unused)
{
    (void)unused;
    while (sem_wait(&go) != 0)
        ;
    for (int i = 0; i < KNOWN; i++)
        meet(&waiting[i]);
    sem_post(&gone_through);
    return NULL;
}

static void arm(void)
{
    struct tutti_known *words = tutti_node_control(node[RECEIVER])->endpoints.known[SENDER];
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    page = (void *)((uintptr_t)words & ~(uintptr_t)(page_bytes - 1));
    CHECK((uintptr_t)(words + KNOWN) <= (uintptr_t)page + page_bytes, "the words lie in one page");
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    armed = 1;
    CHECK(mprotect(page, page_bytes, PROT_READ) == 0, "the page is protected");
}

__attribute__((unused)) static void replaced_in_between(void)
{
    pthread_t receiver;
    const uint64_t id = known();
    CHECK(message(id), "the allocation is known");
    for (int i = 0; i < KNOWN; i++) {
        waiting[i] = begin(++ids);
        CHECK(!waiting[i].direct, "the others are not known yet");
    }
    CHECK(pthread_create(&receiver, NULL, replace_all, NULL) == 0, "a thread");
    arm();
    const struct flight f = begin(id);
    const int came = !armed;
    CHECK(came, "the sender has written nothing");
    if (!came) {
        armed = 0;
        mprotect(page, page_bytes, PROT_READ | PROT_WRITE);
        sem_post(&go);
    }
    pthread_join(receiver, NULL);
    CHECK(!f.direct, "the sender believes in a lease of what has been replaced");
    for (int i = 0; i < KNOWN; i++) {
        take(&waiting[i]);
        end(&waiting[i]);
    }
    no_lease_is_left("replaced"); /* also while the rendezvous is in use */
    take(&f);
    end(&f);
    no_lease_is_left("replaced");
}

/* The receiver could not map the sender's scratch, nor an allocation: both are tried again, and then work. */
static void refused_at_first(void)
{
    CHECK(tutti_endpoint_mapped(endpoint[SENDER], RECEIVER, 0) == TUTTI_MAPS_CANNOT, "the scratch is mapped at once");
    while (tutti_endpoint_mapped(endpoint[SENDER], RECEIVER, 0) != TUTTI_MAPS ||
           tutti_endpoint_mapped(endpoint[RECEIVER], SENDER, 0) != TUTTI_MAPS)
        poll_both();
    CHECK(counted_refuses() == 0, "mapped though the device refuses");
    _Atomic uint64_t *const took = &tutti_endpoint_mine(endpoint[RECEIVER])->mapping_ns[TUTTI_MAPPING_SMALL];
    CHECK(atomic_load(took) == COUNTED_JOINED_NS, "the first mapping joins GPUs: the next one takes %llu ns",
          (unsigned long long)atomic_load(took));
    atomic_store(took, TOOK);
    counted_refuse(3);
    const uint64_t id = ++ids;
    while (!message(id))
        CHECK(counted_refuses() == 0 || atomic_load(took) == TOOK,
              "a mapping that fails has the price of the next one");
    CHECK(counted_refuses() == 0, "known though the device refuses");
    uint64_t waits = 0;
    for (int i = 0; i < TUTTI_ENDPOINT_HOPELESS; i++) {
        const struct tutti_endpoint_hopeless *const failed = &endpoint[RECEIVER]->from[SENDER].hopeless[i];
        waits = failed->id == id ? failed->wait : waits;
    }
    CHECK(waits == 4 * TUTTI_ENDPOINT_AGAIN_NS, "three failures do not double the time to the next try twice: %llu ns",
          (unsigned long long)waits);
    CHECK(atomic_load(took) != TOOK && atomic_load(took) != COUNTED_JOINED_NS,
          "a further mapping takes as long as it took, %llu ns", (unsigned long long)atomic_load(took));
}

static int is_known(uint64_t id)
{
    int is = 0;
    for (int i = 0; i < KNOWN; i++)
        is |= atomic_load(&tutti_endpoint_mine(endpoint[RECEIVER])->known[SENDER][i].id) == id;
    return is;
}

static int has_failed(uint64_t id)
{
    int has = 0;
    for (int i = 0; i < TUTTI_ENDPOINT_HOPELESS; i++)
        has |= endpoint[RECEIVER]->from[SENDER].hopeless[i].id == id;
    return has;
}

/* The receiver maps an allocation. 1 once it has. */
static int map(uint64_t id)
{
    const struct tutti_export what = counted_name(id);
    struct tutti_mapping *held = NULL;
    tutti_fiber_take(&endpoint[RECEIVER]->lock);
    const enum tutti_reaching there = tutti_endpoint_map_named(endpoint[RECEIVER], SENDER, 0, &what, &held);
    tutti_endpoint_release(endpoint[RECEIVER], held);
    tutti_lock_give(&endpoint[RECEIVER]->lock);
    return there == TUTTI_REACHED;
}

/* Last: the endpoints do not use the GPU again. refused: the mapping fails, as the GPU has gone. */
static void reset_meanwhile(int refused)
{
    const uint64_t id = ++ids;
    counted_refuse(refused);
    counted_reset_meanwhile();
    CHECK(!map(id), "a mapping for the GPU before its reset is used");
    CHECK(!is_known(id), "the sender believes in a mapping that has gone with the GPU");
    CHECK(!has_failed(id), "a mapping for a GPU that was reset meanwhile counts as one that fails");
    CHECK(map(id) && is_known(id), "the allocation is not mapped after the reset");
}

static int rank_main(struct tutti_transport *transport, void *with)
{
    struct kit kit;
    (void)with;
    if (!kit_open(transport, &kit))
        return 1;
    node[transport->rank] = kit.node;
    endpoint[transport->rank] = tutti_endpoint_new(kit.node, &counted_device, SCRATCH);
    CHECK(endpoint[transport->rank] != NULL, "an endpoint");
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    if (transport->rank == SENDER) {
        static const int peer[RANKS] = {RECEIVER, SENDER};
        int open = 1;
        for (int r = 0; r < RANKS; r++)
            open &= tutti_endpoint_use(endpoint[r], 0) == 0 && tutti_endpoint_offer(endpoint[r], 0);
        counted_refuse(5);
        for (int r = 0; r < 2 * RANKS; r++)
            open &= tutti_endpoint_connect(endpoint[r % RANKS], &peer[r % RANKS], 1, 0) || r < RANKS;
        if (CHECK(open && tutti_endpoint_is_open(endpoint[SENDER], RECEIVER), "the endpoints open")) {
            refused_at_first();
            leases_end();
            leased_stays_mapped(0);
            leased_stays_mapped(1);
#if !defined(__SANITIZE_THREAD__) /* which holds a lock of its own around each atomic operation */
            replaced_in_between();
#endif
            reset_meanwhile(0);
            reset_meanwhile(1);
        }
    }
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    tutti_endpoint_free(endpoint[transport->rank], 1);
    CHECK(transport->ops->barrier(transport) == TUTTI_OK, "barrier");
    kit_close(&kit);
    return check_failed() != 0;
}

int main(void)
{
    setenv("TUTTI_CACHE_ENTRIES", "16", 1);
    sem_init(&go, 0, 0);
    sem_init(&gone_through, 0, 0);
    int failed = tutti_threads_run(RANKS, rank_main, NULL);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return failed != 0;
}
