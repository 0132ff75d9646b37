#define TSHMEM_STATE() ((const struct tshmem_state *)NULL)
#define TSHMEM_KERNELS
#include "shmem_device/ring_host.h"

enum { HELD = 20 };

static void finish(struct ring_host *h, struct tutti_ring_request *o)
{
    const uint64_t p = o->dest >> 40;
    o->value[0] = ring_answer(o->dest, o->source);
    if (o->tag) /* who sent it waits for it */
        h->words.brought[p] = ~o->value[0];
    __atomic_store_n(&h->words.done[p], h->words.done[p] + 1, __ATOMIC_RELEASE);
}

static int is_drawn(const struct ring_host *h, const struct tutti_ring_request *o)
{
    const struct tutti_dev_request r = ring_drawn(h->seed, o->dest >> 40, o->dest & 0xffffffffff);
    return r.source == o->source && r.bytes == o->bytes && r.value == o->value[0] && r.compare == o->value[1] &&
           r.extra == o->extra && r.operation == o->operation && r.what == o->what && r.pe == o->pe &&
           r.size == o->size;
}

static int begin(void *host, struct tutti_ring_request *o)
{
    struct ring_host *const h = host;
    const uint64_t p = o->dest >> 40, n = o->dest & 0xffffffffff;
    const uint64_t chance = random_next(&h->random);
    if (chance % 64 == 0 || (chance % 4 == 0 && h->waiting == RING_LATER))
        return TUTTI_RING_BUSY;
    if (p >= h->producers || n != h->next[p]) {
        h->wrong++;
        return TUTTI_RING_DONE;
    }
    h->next[p] = n + 1;
    h->wrong += !is_drawn(h, o) || (o->tag && h->words.sent[p] != n);
    if (chance % 4 == 0) {
        h->later[h->waiting++] = o;
        return TUTTI_RING_OPEN;
    }
    finish(h, o);
    return TUTTI_RING_DONE;
}

void ring_host_register(struct ring_host *host)
{
    static struct tutti_ring_operation all[TSHMEM_RING_OPERATIONS];
    for (int i = 0; i < TSHMEM_RING_OPERATIONS; i++)
        all[i] = (struct tutti_ring_operation){"what was drawn", begin};
    host->wrong += tutti_ring_register(host->ring, 1, all, TSHMEM_RING_OPERATIONS - 1, host) != 0;
}

void *ring_host_thread(void *host)
{
    struct ring_host *const h = host;
    while (!atomic_load(&h->stop) || h->ring->consumed != h->ring->completed) {
        const int taken = tutti_ring_poll(h->ring, 1 + (unsigned)(random_next(&h->random) % 64));
        if (h->held > 0) {
            h->held--;
            tutti_dev_pause();
            continue;
        }
        while (h->waiting > 0 && (taken == 0 || random_next(&h->random) % 4 != 0)) {
            const int i = (int)(random_next(&h->random) % (uint64_t)h->waiting);
            finish(h, h->later[i]);
            tutti_ring_done(h->ring, h->later[i]);
            h->later[i] = h->later[--h->waiting];
        }
        h->held = random_next(&h->random) % 64 == 0 ? HELD : 0;
        if (taken == 0)
            tutti_dev_pause();
    }
    return NULL;
}
