#include "team/expose.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/status.h"
#include "progress/engine.h"
#include "team/cache.h"
#include "team/deferred_free.h"
#include "team/node.h"
#include "team/share.h"
#include "team/socket.h"
#include "team/watcher.h"

enum {
    FIRST_CALLS = 4,     /* in which ranks wait for each other's mappings */
    WAIT_NS = 10000000,  /* of one call, at most */
    WAITS_NS = 300000000 /* of all calls of a team */
};

/* An allocation of this rank. */
struct expose_own {
    uint64_t number;  /* 0: free, or refused */
    uint64_t id;      /* of the allocation; 0: free */
    const void *base; /* of the allocation */
    uint64_t bytes;   /* of the allocation */
    uint64_t unsent;  /* ranks that have not been sent its descriptor */
};

/* What this rank has mapped of a peer. */
struct expose_peer {
    struct tutti_exposures *page;
    uint64_t number[TUTTI_EXPOSED];
    struct tutti_mapping *held[TUTTI_EXPOSED];
    uint64_t coming[TUTTI_EXPOSED]; /* the number that is to be mapped */
    int descriptor[TUTTI_EXPOSED];  /* that has arrived for it, plus one */
};

/* Of one open team. */
struct tutti_exposing {
    struct tutti_exposures *page; /* this rank's */
    struct expose_own own[TUTTI_EXPOSED];
    struct expose_peer peer[TUTTI_MAX_GPUS];
    uint64_t calls, waited_ns, frees;
    int unmaps; /* 1: of the call under way: no kernel runs that the driver might wait for */
};

void tutti_expose_begin(struct tutti_node *node, int words)
{
    memset(&tutti_node_control(node)->exposures[words], 0, sizeof(struct tutti_exposures));
}

static struct tutti_exposing *expose_of(struct tutti_team *team)
{
    struct tutti_membership *membership = tutti_membership(team);
    struct tutti_exposing *x = membership->exposing;
    if (x || team->size > TUTTI_MAX_GPUS || !(x = calloc(1, sizeof *x)))
        return x;
    for (int r = 0; r < team->size; r++)
        x->peer[r].page = &team->node->peer[membership->peer[r]].page->control->exposures[membership->words_of[r]];
    x->page = x->peer[team->rank].page;
    return membership->exposing = x;
}

/* ---- this rank's allocations ---- */

static void expose_retire(struct tutti_exposing *x, int i)
{
    atomic_store(&x->page->own[i].number, 0);
    x->own[i] = (struct expose_own){.number = 0};
}

/* Allocations that the program has freed. */
static void expose_look(struct tutti_team *team, struct tutti_exposing *x)
{
    const uint64_t frees = atomic_load(&tutti_device_frees);
    for (int i = 0; i < TUTTI_EXPOSED && x->frees != frees; i++) {
        struct tutti_memory memory;
        if (x->own[i].id == 0)
            continue;
        team->device->memory.classify(x->own[i].base, &memory);
        if (memory.kind != TUTTI_MEMORY_DEVICE || memory.id != x->own[i].id)
            expose_retire(x, i);
    }
    x->frees = frees;
}

/* Sends descriptors to the peers that lack them. */
static void expose_send(struct tutti_team *team, struct tutti_exposing *x, int i)
{
    struct expose_own *own = &x->own[i];
    for (int r = 0; r < team->size && own->unsent; r++) {
        struct tutti_note note = {.slot = (uint32_t)TUTTI_NOTE_PAIR};
        if (own->unsent >> r & 1 &&
            tutti_share_send(team->node, team->device, tutti_team_peer(team, r), &note, &x->page->own[i].share.what))
            own->unsent &= ~(UINT64_C(1) << r);
    }
}

/* Peers may copy a share while it changes; they look at its number before and after. So it is copied by words. */
static void share_copy(struct tutti_share *to, const struct tutti_share *from)
{
    _Static_assert(sizeof *to % sizeof(uint64_t) == 0, "words");
    for (size_t i = 0; i < sizeof *to / sizeof(uint64_t); i++)
        __atomic_store_n((uint64_t *)(void *)to + i,
                         __atomic_load_n((const uint64_t *)(const void *)from + i, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

/* A new entry; it is refused if peers cannot map this memory. */
static void expose_add(struct tutti_team *team, struct tutti_exposing *x, int i, const struct tutti_memory *memory)
{
    static _Atomic uint64_t numbers;
    struct tutti_exposed *entry = &x->page->own[i];
    struct tutti_share share;
    x->own[i] = (struct expose_own){.id = memory->id, .base = memory->base, .bytes = memory->bytes};
    tutti_share_name(team->node, team->device, memory->base, memory->id, &share);
    if (!share.shared || share.what.id != memory->id)
        return;
    share_copy(&entry->share, &share);
    x->own[i].number = atomic_fetch_add(&numbers, 1) + 1;
    if (share.what.needs_fd)
        x->own[i].unsent = ((UINT64_C(1) << team->size) - 1) & ~(UINT64_C(1) << team->rank);
    atomic_store_explicit(&entry->number, x->own[i].number, memory_order_release);
    expose_send(team, x, i);
}

static int expose_holds(const struct expose_own *own, const struct tutti_expose_buffer *buffer)
{
    const uint64_t at = (uint64_t)((const char *)buffer->at - (const char *)own->base);
    return own->id != 0 && at <= own->bytes && buffer->bytes <= own->bytes - at;
}

/* The entry that holds the buffer; -1: none. may: a new one may be made. */
static int expose_find(struct tutti_team *team, struct tutti_exposing *x, const struct tutti_expose_buffer *buffer,
                       int may)
{
    struct tutti_memory memory;
    int free_entry = -1;
    for (int i = 0; i < TUTTI_EXPOSED && buffer->id != 0; i++) {
        if (x->own[i].id == buffer->id && expose_holds(&x->own[i], buffer))
            return i;
    }
    team->device->memory.classify(buffer->at, &memory);
    if (memory.kind != TUTTI_MEMORY_DEVICE || (memory.gpu >= 0 && memory.gpu != team->gpu))
        return -1;
    for (int i = 0; i < TUTTI_EXPOSED; i++) {
        const struct expose_own *own = &x->own[i];
        if (own->id == memory.id)
            return i;
        if (own->id != 0 && (const char *)own->base < (const char *)memory.base + memory.bytes &&
            (const char *)memory.base < (const char *)own->base + own->bytes)
            expose_retire(x, i); /* it has been freed */
        if (own->id == 0)
            free_entry = i;
    }
    if (!may || free_entry < 0)
        return -1;
    expose_add(team, x, free_entry, &memory);
    return free_entry;
}

/* ---- allocations of peers ---- */

static void expose_close(int *descriptor)
{
    if (*descriptor > 0)
        close(*descriptor - 1);
    *descriptor = 0;
}

static void expose_drop(struct tutti_team *team, struct tutti_exposing *x, int r, int i)
{
    struct expose_peer *peer = &x->peer[r];
    const uint64_t number = peer->number[i];
    atomic_store(&x->page->mapped[r][i].number, 0);
    peer->number[i] = 0;
    expose_close(&peer->descriptor[i]);
    if (!peer->held[i])
        return;
    if (atomic_load(&peer->page->own[i].number) != number)
        tutti_cache_doom(team->node->cache, &peer->held[i], 1, tutti_team_peer(team, r));
    tutti_cache_release(team->node->cache, team->device, peer->held[i]);
    peer->held[i] = NULL;
    if (x->unmaps)
        tutti_cache_unmap_held(team->node->cache, team->device);
}

/* TUTTI_OK and a mapping; TUTTI_CACHE_LATER, TUTTI_CACHE_STALE: to be called again; or the failure. */
static int expose_import(struct tutti_team *team, int r, const struct tutti_share *share, int *descriptor,
                         struct tutti_mapping **out)
{
    struct tutti_node *node = team->node;
    const int peer = tutti_team_peer(team, r);
    int fd = *descriptor - 1;
    *out = tutti_cache_find(node->cache, peer, team->gpu, &share->what);
    if (share->what.needs_fd && fd < 0 && !tutti_socket_take(node, peer, TUTTI_NOTE_PAIR, 0, share->what.id, &fd) &&
        !*out)
        return TUTTI_CACHE_LATER; /* it is on its way */
    *descriptor = fd + 1;
    if (*out)
        return TUTTI_OK;
    return share->what.needs_fd && fd < 0
               ? TUTTI_ERR_UNAVAILABLE
               : tutti_cache_add_now(node->cache, team->device, peer, team->gpu, &share->what, fd, out);
}

/* Maps entry i of rank r, if its descriptor is there. 0: to be called again. */
static int expose_map(struct tutti_team *team, struct tutti_exposing *x, int r, int i)
{
    struct expose_peer *peer = &x->peer[r];
    struct tutti_exposed *entry = &peer->page->own[i];
    const uint64_t number = atomic_load_explicit(&entry->number, memory_order_acquire);
    if (number == peer->number[i])
        return 1;
    if (peer->coming[i] != number)
        expose_drop(team, x, r, i);
    peer->coming[i] = number;
    struct tutti_share share; /* copied once: what has been checked must not change */
    share_copy(&share, &entry->share);
    atomic_thread_fence(memory_order_acquire);
    if (number == 0 || atomic_load_explicit(&entry->number, memory_order_relaxed) != number)
        return number == 0;
    const int status = expose_import(team, r, &share, &peer->descriptor[i], &peer->held[i]);
    if (status == TUTTI_CACHE_LATER)
        return 0;
    const uint64_t base = status == TUTTI_OK ? (uint64_t)(uintptr_t)peer->held[i]->base + share.offset : 0;
    if (status != TUTTI_CACHE_STALE) { /* else the owner does not wait for it, but may get it in a later call */
        expose_close(&peer->descriptor[i]);
        peer->number[i] = number;
    }
    atomic_store_explicit(&x->page->mapped[r][i].base, base, memory_order_relaxed);
    atomic_store_explicit(&x->page->mapped[r][i].number, number, memory_order_release);
    return 1;
}

/* 1: all is mapped that peers expose, in as many calls as this rank has made. */
static int expose_poll(struct tutti_team *team, struct tutti_exposing *x)
{
    int all = 1;
    for (int i = 0; i < TUTTI_EXPOSED; i++)
        expose_send(team, x, i);
    for (int r = 0; r < team->size; r++) {
        if (r == team->rank)
            continue;
        all &= atomic_load_explicit(&x->peer[r].page->calls, memory_order_acquire) >= x->calls;
        for (int i = 0; i < TUTTI_EXPOSED; i++)
            all &= expose_map(team, x, r, i);
    }
    return all;
}

/* ---- the call ---- */

/* Peers may wait in kernels for this rank's launch. So what the driver may block is called while no kernel of this
 * process waits, and left for another call otherwise: to wait for one would be to wait for a peer that does the same.
 */
static int expose_apart_begin(const struct tutti_team *team)
{
    return !team->device->launch.apart_begin || team->device->launch.apart_begin();
}

static void expose_apart_end(const struct tutti_team *team)
{
    if (team->device->launch.apart_end)
        team->device->launch.apart_end();
}

/* What a call may do. BUSY: map. MEETS: the same, and wait for the peers' mappings. REST: no kernel in stream order can
 * be running, so it gives up mappings too. */
enum expose_leave { EXPOSE_NOTHING, EXPOSE_BUSY, EXPOSE_MEETS, EXPOSE_REST };

static enum expose_leave expose_leave(const struct tutti_team *team, struct tutti_stream *stream)
{
    const struct tutti_device *device = team->device;
    const int captured = device->stream.capturing ? device->stream.capturing(stream) : 0;
    const int idle = captured == 0 && device->stream.query(stream) == 1;
    if (idle && (tutti_deferred_free_streams(team->node) <= (team->share ? 1 : 0) ||
                 (!team->is_nonblocking && !tutti_fiber_here() && tutti_watcher_rests(team->node))))
        return EXPOSE_REST;
    if (captured < 0 || !tutti_deferred_free_may_map(team->node))
        return EXPOSE_NOTHING;
    return captured || idle ? EXPOSE_MEETS : EXPOSE_BUSY;
}

/* The address of entry i for rank r. 1: rank r has mapped it, or cannot. */
static int expose_address(const struct tutti_team *team, const struct tutti_exposing *x, int r, int i, uint64_t *base)
{
    const struct tutti_exposed_at *at = &x->peer[r].page->mapped[team->rank][i];
    *base = 0;
    if (x->own[i].number == 0)
        return 1;
    if (atomic_load_explicit(&at->number, memory_order_acquire) != x->own[i].number)
        return 0;
    *base = atomic_load_explicit(&at->base, memory_order_relaxed);
    return 1;
}

/* 1: all peers have mapped what the call exposes. */
static int expose_resolve(const struct tutti_team *team, const struct tutti_exposing *x, const int entry[],
                          const struct tutti_expose_buffer buffer[], uint64_t there[])
{
    int all = 1;
    for (int r = 0; r < team->size; r++) {
        uint64_t base;
        there[r] = 0;
        if (entry[r] < 0)
            continue;
        all &= expose_address(team, x, r, entry[r], &base);
        if (base != 0)
            there[r] = base + (uint64_t)((const char *)buffer[r].at - (const char *)x->own[entry[r]].base);
    }
    return all;
}

static void expose_entries(struct tutti_team *team, struct tutti_exposing *x, const struct tutti_expose_buffer buffer[],
                           int quiet, int entry[])
{
    int last = -1;
    for (int r = 0; r < team->size; r++) {
        entry[r] = -1;
        if (r == team->rank || buffer[r].bytes == 0)
            continue;
        if (last < 0 || !expose_holds(&x->own[last], &buffer[r]))
            last = expose_find(team, x, &buffer[r], quiet);
        if (last >= 0 && expose_holds(&x->own[last], &buffer[r]))
            entry[r] = last;
    }
}

/* A wait for the peers' mappings. */
struct expose_wait {
    struct tutti_team *team;
    struct tutti_exposing *x;
    const int *entry;
    const struct tutti_expose_buffer *buffer;
    uint64_t *there;
    uint64_t begun, waited;
};

/* 1: all is mapped, or it takes too long: then the windows serve. */
static int expose_is_over(void *with)
{
    struct expose_wait *w = with;
    const int apart = expose_apart_begin(w->team), mapped = apart && expose_poll(w->team, w->x);
    if (apart)
        expose_apart_end(w->team);
    const int answered = expose_resolve(w->team, w->x, w->entry, w->buffer, w->there);
    if (answered && (mapped || w->x->calls > FIRST_CALLS))
        return 1;
    w->waited = tutti_now_ns() - w->begun;
    return tutti_fiber_here() || w->waited > WAIT_NS || w->x->waited_ns + w->waited > WAITS_NS;
}

/* 1: neither this rank nor a peer has anything to map, as far as this rank can see. */
static int expose_is_settled(const struct tutti_team *team, const struct tutti_exposing *x)
{
    int settled = x->calls >= FIRST_CALLS && x->frees == atomic_load(&tutti_device_frees);
    for (int i = 0; i < TUTTI_EXPOSED && settled; i++)
        settled = x->own[i].unsent == 0;
    for (int r = 0; r < team->size && settled; r++) {
        const struct expose_peer *peer = &x->peer[r];
        for (int i = 0; i < TUTTI_EXPOSED && settled; i++)
            settled = r == team->rank ||
                      atomic_load_explicit(&peer->page->own[i].number, memory_order_relaxed) == peer->number[i];
    }
    return settled;
}

/* 1: all peers have mapped all that the call exposes, and have done so before: the driver need not be asked whether
 * the stream is idle. */
static int expose_is_kept(struct tutti_team *team, struct tutti_exposing *x, const struct tutti_expose_buffer buffer[],
                          int entry[], uint64_t there[])
{
    int kept = expose_is_settled(team, x);
    if (kept)
        expose_entries(team, x, buffer, 0, entry);
    for (int r = 0; r < team->size && kept; r++)
        kept = entry[r] >= 0 || r == team->rank || buffer[r].bytes == 0;
    return kept && expose_resolve(team, x, entry, buffer, there);
}

static void expose_count(struct tutti_exposing *x)
{
    x->calls++;
    atomic_store_explicit(&x->page->calls, x->calls, memory_order_release);
}

/* Maps what peers expose, and waits for their mappings. A busy stream gets its launches without a wait, but in the
 * first calls. */
static void expose_await(struct tutti_team *team, struct tutti_exposing *x, enum expose_leave leave,
                         const struct tutti_expose_buffer buffer[], const int entry[], uint64_t there[])
{
    struct expose_wait wait = {team, x, entry, buffer, there, tutti_now_ns(), 0};
    if (leave == EXPOSE_BUSY && x->calls > FIRST_CALLS) {
        (void)expose_is_over(&wait);
        return;
    }
    tutti_progress_wait(&(const struct tutti_wait){.done = expose_is_over, .with = &wait});
    x->waited_ns += wait.waited;
}

void tutti_expose(struct tutti_team *team, struct tutti_stream *stream, const struct tutti_expose_buffer buffer[],
                  uint64_t there[])
{
    struct tutti_exposing *x = expose_of(team);
    int entry[TUTTI_MAX_GPUS];
    memset(there, 0, (size_t)team->size * sizeof *there);
    if (!x)
        return;
    const int kept = expose_is_kept(team, x, buffer, entry, there);
    if (kept && !(team->stream_of_calls && tutti_cache_puts_off(team->node->cache))) {
        expose_count(x);
        return;
    }
    const enum expose_leave leave = expose_leave(team, stream);
    const int may = leave != EXPOSE_NOTHING && expose_apart_begin(team);
    x->unmaps = may && leave == EXPOSE_REST;
    if (x->unmaps)
        tutti_cache_unmap_held(team->node->cache, team->device);
    if (may)
        expose_look(team, x);
    expose_entries(team, x, buffer, may, entry);
    if (may)
        expose_apart_end(team);
    expose_count(x);
    if (may)
        expose_await(team, x, leave, buffer, entry, there);
    else
        expose_resolve(team, x, entry, buffer, there);
    x->unmaps = 0;
}

void tutti_expose_end(struct tutti_team *team)
{
    struct tutti_membership *membership = tutti_membership(team);
    struct tutti_exposing *x = membership->exposing;
    for (int r = 0; x && r < team->size; r++) {
        for (int i = 0; i < TUTTI_EXPOSED && r != team->rank; i++)
            expose_drop(team, x, r, i);
    }
    for (int i = 0; x && i < TUTTI_EXPOSED; i++)
        expose_retire(x, i);
    free(x);
    membership->exposing = NULL;
}
