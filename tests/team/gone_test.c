/* What peers have mapped and its owner has freed, between two ranks that are threads, over a device that only keeps
 * count: the owner notifies, the peer unmaps; also if there are more notes than the list holds, if the count of the
 * list wraps, and if both do so at the same time. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "counted.h"
#include "kit.h"
#include "support/random.h"
#include "team/cache.h"
#include "team/invalidation.h"
#include "team/share.h"

enum { OWNER, PEER, RANKS, STRESS = 2000, BESIDE = 12000 };

static uint64_t seed, used; /* ids so far */

struct side {
    struct tutti_transport *transport;
    struct tutti_node *node;
    int is_owner;
};

static void meet(const struct side *s)
{
    CHECK(s->transport->ops->barrier(s->transport) == TUTTI_OK, "barrier");
}

/* The owner names allocations [first, first + n). */
static void name(const struct side *s, uint64_t first, uint64_t n)
{
    struct tutti_share share;
    for (uint64_t id = first; id < first + n && s->is_owner; id++) {
        tutti_share_fill(s->node, &counted_device, counted_address(id), &share);
        CHECK(share.shared && share.what.id == id, "allocation %llu has a name", (unsigned long long)id);
    }
}

/* The peer maps them. held (may be NULL): the mappings stay in use. */
static void map(const struct side *s, uint64_t first, uint64_t n, struct tutti_mapping *held[])
{
    for (uint64_t id = first; id < first + n && !s->is_owner; id++) {
        const struct tutti_export what = counted_name(id);
        struct tutti_mapping *m = NULL;
        if (!CHECK(tutti_cache_add(s->node->cache, &counted_device, OWNER, 0, &what, -1, 0, &m) == TUTTI_OK, "mapping"))
            return;
        if (held)
            held[id - first] = m;
        else
            tutti_cache_release(s->node->cache, &counted_device, m);
    }
}

/* The owner frees them, and looks so often that it finds all. */
static void free_some(const struct side *s, uint64_t first, uint64_t n)
{
    for (uint64_t id = first; id < first + n && s->is_owner; id++)
        counted_free(id);
    for (uint64_t told = 0; told <= n && s->is_owner; told += TUTTI_GONE)
        tutti_invalidation_look(s->node, &counted_device, 0);
}

static uint64_t fresh(const struct side *s, uint64_t n)
{
    meet(s);
    const uint64_t first = used + 1;
    meet(s);
    if (s->is_owner)
        used += n;
    CHECK(first + n < COUNTED_IDS, "enough ids");
    return first;
}

/* What was freed between two looks of the peer, which had all of it mapped, is unmapped by the second one; `kept` stay,
 * of which the peer may let go where the list does not say all. */
static void round_of(const struct side *s, uint64_t n, uint64_t kept)
{
    const uint64_t first = fresh(s, n + kept);
    name(s, first, n + kept);
    map(s, first, n + kept, NULL);
    meet(s);
    free_some(s, first, n);
    meet(s);
    if (!s->is_owner) {
        CHECK(atomic_load(&tutti_node_control(s->node)->invalidations.notices) != 0, "there is a notice of %llu",
              (unsigned long long)n);
        tutti_invalidation_poll(s->node, &counted_device);
        CHECK(atomic_load(&tutti_node_control(s->node)->invalidations.notices) == 0, "the notice is read");
    }
    meet(s);
    for (uint64_t id = first; id < first + n; id++)
        CHECK(!counted_is_mapped(id), "of %llu freed, number %llu stays mapped", (unsigned long long)n,
              (unsigned long long)(id - first));
    for (uint64_t id = first + n; id < first + n + kept && n < TUTTI_GONE; id++)
        CHECK(counted_is_mapped(id), "what is not freed is unmapped, after %llu", (unsigned long long)n);
    meet(s);
    free_some(s, first + n, kept);
    meet(s);
    if (!s->is_owner)
        tutti_invalidation_poll(s->node, &counted_device);
    CHECK(counted_mapped() == 0 || s->is_owner, "%d stay mapped", counted_mapped());
    meet(s);
}

/* In use meanwhile: goes when it is released. */
static void in_use(const struct side *s, uint64_t n)
{
    struct tutti_mapping *held[2 * TUTTI_GONE];
    const uint64_t first = fresh(s, n);
    name(s, first, n);
    map(s, first, n, held);
    meet(s);
    free_some(s, first, n);
    meet(s);
    if (!s->is_owner) {
        tutti_invalidation_poll(s->node, &counted_device);
        CHECK(counted_mapped() == (int)n, "%d of %llu in use are mapped", counted_mapped(), (unsigned long long)n);
        for (uint64_t i = 0; i < n; i++)
            tutti_cache_release(s->node->cache, &counted_device, held[i]);
        CHECK(counted_mapped() == 0, "%d stay mapped after their use", counted_mapped());
    }
    meet(s);
}

/* The count of the list wraps in between. */
static void set_count(const struct side *s, uint32_t count)
{
    meet(s);
    if (s->is_owner)
        atomic_store(&tutti_node_control(s->node)->invalidations.count, count);
    else
        s->node->peer[OWNER].invalidations_seen = count;
    meet(s);
}

/* The list is full, and its owner stands between the two stores of one more: the first entry is the new one already. */
static void half_written(const struct side *s)
{
    const uint64_t n = TUTTI_GONE, first = fresh(s, n + 1);
    name(s, first, n);
    map(s, first, n, NULL);
    meet(s);
    free_some(s, first, n);
    if (s->is_owner) {
        struct tutti_invalidations *list = &tutti_node_control(s->node)->invalidations;
        atomic_store(&list->id[atomic_load(&list->count) % TUTTI_GONE], first + n);
    }
    meet(s);
    if (!s->is_owner)
        tutti_invalidation_poll(s->node, &counted_device);
    CHECK(s->is_owner || counted_mapped() == 0, "%d stay mapped", counted_mapped());
    meet(s);
}

/* The owner frees in bursts of random lengths while the peer hears when it likes. */
static void both_at_once(const struct side *s)
{
    const uint64_t first = fresh(s, STRESS), most = 200; /* mapped at a time, below the cache's entries */
    uint64_t state = seed;
    for (uint64_t at = first; at < first + STRESS; at += most) {
        name(s, at, most);
        map(s, at, most, NULL);
        meet(s);
        for (uint64_t done = 0, n; done < most && s->is_owner; done += n) {
            n = 1 + random_next(&state) % (random_next(&state) % 4 ? 4 : 170);
            n = n < most - done ? n : most - done;
            free_some(s, at + done, n);
        }
        for (int looks = 0; looks < 50 && !s->is_owner; looks++) {
            tutti_invalidation_poll(s->node, &counted_device);
            sched_yield();
        }
        meet(s);
        if (!s->is_owner)
            tutti_invalidation_poll(s->node, &counted_device);
        CHECK(s->is_owner || counted_mapped() == 0, "%d stay mapped", counted_mapped());
        meet(s);
    }
}

/* The owner adds one entry to its list while the peer reads the list again and again. Either the peer has seen the
 * entry or there is still a notice of it. */
static void beside(const struct side *s)
{
    static atomic_ulong peer_reads, owner_told;
    const uint64_t first = fresh(s, BESIDE), most = 50;
    int lost = 0;
    for (uint64_t at = first; at < first + BESIDE; at++) {
        if ((at - first) % most == 0)
            name(s, at, most);
        if (s->is_owner) {
            counted_free(at);
            while (atomic_load(&peer_reads) != at)
                sched_yield();
            tutti_invalidation_look(s->node, &counted_device, 0);
            atomic_store(&owner_told, at);
            continue;
        }
        for (int looks = 0; atomic_load(&owner_told) != at; looks++) {
            tutti_invalidation_read(s->node, &counted_device);
            atomic_store(&peer_reads, at);
            if (looks > 1000) /* the owner needs this core */
                sched_yield();
        }
        const struct tutti_invalidations *theirs = &s->node->peer[OWNER].page->control->invalidations;
        lost += atomic_load(&tutti_node_control(s->node)->invalidations.notices) == 0 &&
                s->node->peer[OWNER].invalidations_seen != atomic_load(&theirs->count);
        tutti_invalidation_read(s->node, &counted_device);
    }
    CHECK(lost == 0, "%d of %d notices are lost", lost, BESIDE);
    meet(s);
}

static int rank_main(struct tutti_transport *transport, void *with)
{
    static const uint64_t lengths[] = {1, 10, TUTTI_GONE - 1, TUTTI_GONE, TUTTI_GONE + 1, 2 * TUTTI_GONE - 3};
    struct kit kit;
    (void)with;
    if (!kit_open(transport, &kit))
        return 1;
    const struct side s = {transport, kit.node, transport->rank == OWNER};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        round_of(&s, lengths[i], 3);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        set_count(&s, UINT32_MAX - (uint32_t)lengths[i] / 2);
        round_of(&s, lengths[i], 3);
    }
    in_use(&s, 20);
    in_use(&s, TUTTI_GONE + 20);
    half_written(&s);
    both_at_once(&s);
    beside(&s);
    kit_close(&kit);
    return check_failed() != 0;
}

int main(void)
{
    seed = check_seed();
    printf("seed %llu (TUTTI_TEST_SEED)\n", (unsigned long long)seed);
    int failed = tutti_threads_run(RANKS, rank_main, NULL);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return failed != 0;
}
