/* The receiver's side of lanes: letters of peers, and what they name mapped. */
#include "team/lane_own.h"

#include <unistd.h>

#include "team/cache.h"
#include "team/socket.h"

int tutti_lane_map(struct tutti_lane *lane, int peer, const struct tutti_share *share, int keep,
                   struct tutti_mapping **out)
{
    int fd = -1, gpu = tutti_lane_gpu(lane);
    *out = tutti_cache_find(lane->node->cache, peer, gpu, &share->what);
    if (*out)
        return 1;
    if (share->what.needs_fd && !tutti_socket_take(lane->node, peer, TUTTI_NOTE_LANE, 0, share->what.id, &fd))
        return 0;
    if ((share->what.needs_fd && fd < 0) ||
        tutti_cache_add(lane->node->cache, lane->device, peer, gpu, &share->what, fd, keep, out) != TUTTI_OK)
        *out = NULL;
    if (fd >= 0)
        close(fd);
    return 1;
}

struct tutti_letter *tutti_lane_find(struct tutti_lane *lane, int peer, int number, uint64_t sequence)
{
    if (peer < 0 || peer >= lane->node->size || number < 0 || number >= TUTTI_LETTERS)
        return NULL;
    struct tutti_letter *letter = &tutti_lane_theirs(lane, peer)->letter[number];
    return atomic_load(&letter->sequence) == sequence && letter->to == (uint32_t)lane->node->rank ? letter : NULL;
}

struct tutti_letter *tutti_lane_at(struct tutti_lane *lane, int peer, int number)
{
    return &tutti_lane_theirs(lane, peer)->letter[number];
}

const struct tutti_letter *tutti_lane_oldest(const struct tutti_lane *lane, int peer, int tag)
{
    const struct tutti_letter *oldest = NULL;
    for (int i = 0; i < TUTTI_LETTERS; i++) {
        const struct tutti_letter *letter = &tutti_lane_theirs(lane, peer)->letter[i];
        uint32_t state = atomic_load_explicit(&letter->state, memory_order_acquire);
        if (state == TUTTI_LETTER_FREE || state == TUTTI_LETTER_DONE || letter->to != (uint32_t)lane->node->rank ||
            letter->tag != tag)
            continue;
        if (!oldest || atomic_load(&letter->sequence) < atomic_load(&oldest->sequence))
            oldest = letter;
    }
    return oldest;
}

void *tutti_lane_reach(struct tutti_lane *lane, int peer, struct tutti_letter *letter, int offered,
                       struct tutti_mapping **held)
{
    *held = NULL;
    if (tutti_lane_is_own(lane, peer))
        return offered ? (char *)(uintptr_t)letter->share.offset : lane->scratch + letter->at;
    if (!offered) {
        const struct tutti_lane_from *from = &lane->from[peer];
        return (char *)from->scratch->base + tutti_lane_theirs(lane, peer)->scratch.offset + letter->at;
    }
    if (!tutti_lane_map(lane, peer, &letter->share, 0, held) || !*held)
        return NULL;
    return (char *)(*held)->base + letter->share.offset;
}

void tutti_lane_release(struct tutti_lane *lane, struct tutti_mapping *held)
{
    if (held)
        tutti_cache_release(lane->node->cache, lane->device, held);
}

void tutti_lane_meet(struct tutti_lane *lane, int peer, const struct tutti_letter *letter)
{
    struct tutti_lanes *own = tutti_lane_mine(lane);
    struct tutti_lane_from *from = &lane->from[peer];
    struct tutti_mapping *held = NULL;
    if (!letter->share.shared || tutti_lane_is_own(lane, peer))
        return;
    pthread_mutex_lock(&lane->lock);
    int known = 0;
    for (int i = 0; i < TUTTI_LANE_KNOWN; i++)
        known |= atomic_load(&own->known[peer][i]) == letter->share.what.id;
    if (!known && tutti_lane_map(lane, peer, &letter->share, 0, &held) && held) {
        unsigned i = from->met++ % TUTTI_LANE_KNOWN;
        struct tutti_mapping *before = from->pinned[i];
        from->pinned[i] = letter->share.what.needs_fd ? held : NULL;
        atomic_store(&own->known[peer][i], letter->share.what.id);
        tutti_lane_release(lane, before);
        if (!letter->share.what.needs_fd)
            tutti_lane_release(lane, held);
    }
    pthread_mutex_unlock(&lane->lock);
}
