#include "team/lane.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "team/cache.h"
#include "team/node.h"
#include "team/socket.h"

enum { ALIGN = 256, WATCH_NS = 5000000 };

/* What this rank holds of a peer's. */
struct from {
    int tried;                                      /* its scratch cannot be mapped */
    struct tutti_mapping *scratch;                  /* open */
    unsigned met;                                   /* allocations that were made known so far */
    struct tutti_mapping *pinned[TUTTI_LANE_KNOWN]; /* of them, those that could not be mapped a second time */
};

struct tutti_lane {
    struct tutti_node *node;
    const struct tutti_device *device;
    size_t bytes; /* of the scratch */
    pthread_mutex_t lock;
    _Atomic int gpu;
    _Atomic int offering;           /* 0: not yet, 1: done, -1: cannot */
    _Atomic int listening, waiting; /* peers whose lanes are open; that have offered nothing yet or cannot be mapped */
    char *scratch;
    uint64_t sequence, seen;
    uint64_t used[TUTTI_LETTERS / 64], held[TUTTI_LETTERS / 64]; /* held: by who sends */
    _Atomic int letters; /* in use */
    struct piece {
        uint64_t at, bytes; /* bytes 0: none */
    } piece[TUTTI_LETTERS]; /* of each letter */
    struct from *from;
};

static struct tutti_lanes *mine(const struct tutti_lane *lane)
{
    return &tutti_node_control(lane->node)->lanes;
}

static struct tutti_lanes *theirs(const struct tutti_lane *lane, int peer)
{
    return &lane->node->peer[peer].page->control->lanes;
}

struct tutti_lane *tutti_lane_new(struct tutti_node *node, const struct tutti_device *device, size_t scratch)
{
    if (!node || !device || node->size < 2 || node->size > TUTTI_LANE_PEERS || scratch == 0)
        return NULL;
    struct tutti_lane *lane = calloc(1, sizeof *lane);
    struct from *from = calloc((size_t)node->size, sizeof *from);
    if (!lane || !from) {
        free(lane);
        free(from);
        return NULL;
    }
    lane->node = node;
    lane->device = device;
    lane->bytes = scratch;
    lane->from = from;
    atomic_store(&lane->gpu, -1);
    atomic_store(&lane->waiting, node->size - 1);
    pthread_mutex_init(&lane->lock, NULL);
    return lane;
}

void tutti_lane_free(struct tutti_lane *lane, int alive)
{
    if (!lane)
        return;
    for (int r = 0; r < lane->node->size; r++) {
        struct from *from = &lane->from[r];
        atomic_store(&mine(lane)->open[r], 0);
        for (int i = 0; i < TUTTI_LANE_KNOWN; i++)
            tutti_lane_release(lane, from->pinned[i]);
        tutti_lane_release(lane, from->scratch);
    }
    if (lane->scratch && alive)
        lane->device->free(lane->scratch);
    pthread_mutex_destroy(&lane->lock);
    free(lane->from);
    free(lane);
}

int tutti_lane_gpu(const struct tutti_lane *lane)
{
    return atomic_load_explicit(&lane->gpu, memory_order_relaxed);
}

int tutti_lane_is_open(const struct tutti_lane *lane, int peer)
{
    return atomic_load_explicit(&lane->offering, memory_order_relaxed) == 1 &&
           atomic_load_explicit(&theirs(lane, peer)->open[lane->node->rank], memory_order_acquire);
}

int tutti_lane_listens(const struct tutti_lane *lane)
{
    return atomic_load_explicit(&lane->listening, memory_order_relaxed) > 0;
}

int tutti_lane_watch(struct tutti_lane *lane)
{
    uint64_t now = tutti_now_ns();
    pthread_mutex_lock(&lane->lock);
    int look = now - lane->seen > WATCH_NS;
    if (look)
        lane->seen = now;
    pthread_mutex_unlock(&lane->lock);
    int pid = look ? tutti_node_dead(lane->node) : 0;
    if (!pid)
        return TUTTI_OK;
    tutti_error("a message cannot be finished: process %d of this machine has died", pid);
    return TUTTI_ERR_PEER;
}

/* ---- opening ---- */

/* Hands a fresh descriptor of the allocation to the peer. */
static int send_descriptor(struct tutti_lane *lane, int peer, const struct tutti_export *what)
{
    const struct tutti_note note = {.id = what->id, .slot = (uint32_t)TUTTI_NOTE_LANE};
    struct tutti_export fresh;
    int fd = -1;
    if (lane->device->export_memory((const void *)(uintptr_t)what->base, &fresh, &fd) != TUTTI_OK)
        return 0;
    int sent = fresh.id == what->id && fd >= 0 && tutti_socket_give(lane->node, peer, &note, fd);
    if (fd >= 0)
        close(fd);
    return sent;
}

static int choose_gpu(struct tutti_lane *lane)
{
    int gpu = -1;
    if (lane->device->current(&gpu) != TUTTI_OK)
        return 0;
    atomic_store(&lane->gpu, gpu);
    return 1;
}

/* The lock is held. */
static void offer(struct tutti_lane *lane)
{
    struct tutti_lanes *own = mine(lane);
    struct tutti_memory memory;
    void *scratch = NULL;
    if (tutti_lane_gpu(lane) < 0 && !choose_gpu(lane)) {
        atomic_store(&lane->offering, -1);
        return;
    }
    int gpu = tutti_lane_gpu(lane), fine = lane->device->alloc(gpu, lane->bytes, &scratch) == TUTTI_OK;
    if (fine) {
        lane->device->classify(scratch, &memory);
        fine = lane->device->uuid(gpu >= 0          ? gpu
                                  : memory.gpu >= 0 ? memory.gpu
                                                    : 0,
                                  own->uuid) == TUTTI_OK &&
               tutti_cache_export(lane->node->cache, lane->device, scratch, memory.id, &own->scratch.what) == TUTTI_OK;
    }
    if (!fine) {
        tutti_info("messages inside the node are carried by the MPI: no scratch of %zu bytes that can be shared",
                   lane->bytes);
        if (scratch)
            lane->device->free(scratch);
        atomic_store(&lane->offering, -1);
        return;
    }
    lane->scratch = scratch;
    own->scratch.offset = (uint64_t)(uintptr_t)scratch - own->scratch.what.base;
    own->scratch.shared = 1;
    for (int r = 0; r < lane->node->size && own->scratch.what.needs_fd; r++) {
        if (r != lane->node->rank)
            send_descriptor(lane, r, &own->scratch.what); /* one that is lost leaves that lane closed */
    }
    atomic_store(&own->offered, 1);
    atomic_store(&lane->offering, 1);
}

/* 0: the descriptor has not come yet. */
static int map(struct tutti_lane *lane, int peer, const struct tutti_share *share, int keep, struct tutti_mapping **out)
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

/* The lock is held. */
static void listen_to(struct tutti_lane *lane, int peer)
{
    const struct tutti_lanes *other = theirs(lane, peer);
    struct from *from = &lane->from[peer];
    if (from->tried || from->scratch || !atomic_load(&other->offered) ||
        (tutti_lane_gpu(lane) < 0 && !choose_gpu(lane)))
        return;
    int gpu = tutti_lane_gpu(lane);
    if (gpu < 0 || !lane->device->reach || lane->device->reach(gpu, other->uuid)) {
        if (!map(lane, peer, &other->scratch, 1, &from->scratch))
            return;
    }
    atomic_fetch_sub(&lane->waiting, 1);
    from->tried = !from->scratch;
    if (from->tried) {
        tutti_debug("the scratch of rank %d of this node could not be mapped", peer);
        return;
    }
    if (!lane->node->device)
        lane->node->device = lane->device;
    atomic_fetch_add(&lane->listening, 1);
    atomic_store(&mine(lane)->open[peer], 1);
}

/* The lock is held. */
static void put_back(struct tutti_lane *lane, struct tutti_letter *letter)
{
    int i = tutti_lane_number(lane, letter);
    tutti_letter_set(letter, TUTTI_LETTER_FREE);
    lane->piece[i].bytes = 0;
    lane->used[i / 64] &= ~(UINT64_C(1) << i % 64);
    lane->held[i / 64] &= ~(UINT64_C(1) << i % 64);
    atomic_fetch_sub(&lane->letters, 1);
}

/* Letters that have been taken; the lock is held. */
static void sweep(struct tutti_lane *lane)
{
    struct tutti_lanes *own = mine(lane);
    for (int w = 0; w < TUTTI_LETTERS / 64; w++) {
        for (uint64_t left = lane->used[w] & ~lane->held[w]; left; left &= left - 1) {
            int i = w * 64 + __builtin_ctzll(left);
            if (tutti_letter_is(&own->letter[i], TUTTI_LETTER_DONE))
                put_back(lane, &own->letter[i]);
        }
    }
}

void tutti_lane_poll(struct tutti_lane *lane, int sending)
{
    int work = atomic_load_explicit(&lane->waiting, memory_order_relaxed) |
               atomic_load_explicit(&lane->letters, memory_order_relaxed) |
               (sending && atomic_load_explicit(&lane->offering, memory_order_relaxed) == 0);
    if (!work || pthread_mutex_trylock(&lane->lock) != 0)
        return;
    if (sending && lane->offering == 0)
        offer(lane);
    for (int r = 0; r < lane->node->size && lane->waiting > 0; r++) {
        if (r != lane->node->rank)
            listen_to(lane, r);
    }
    sweep(lane);
    pthread_mutex_unlock(&lane->lock);
}

/* ---- sender ---- */

struct tutti_letter *tutti_lane_letter(struct tutti_lane *lane, int peer)
{
    struct tutti_letter *letter = NULL;
    pthread_mutex_lock(&lane->lock);
    for (int w = 0; w < TUTTI_LETTERS / 64 && !letter; w++) {
        if (~lane->used[w] == 0)
            continue;
        int i = __builtin_ctzll(~lane->used[w]);
        lane->used[w] |= UINT64_C(1) << i;
        lane->held[w] |= UINT64_C(1) << i;
        letter = &mine(lane)->letter[w * 64 + i];
        letter->to = (uint32_t)peer;
        letter->layout_bytes = 0;
        letter->share.shared = 0;
        atomic_store(&letter->sequence, ++lane->sequence);
        atomic_fetch_add(&lane->letters, 1);
    }
    pthread_mutex_unlock(&lane->lock);
    return letter;
}

int tutti_lane_clashes(struct tutti_lane *lane, int peer, int tag, uint64_t scope, uint64_t bytes)
{
    int clashes = 0;
    pthread_mutex_lock(&lane->lock);
    for (int w = 0; w < TUTTI_LETTERS / 64; w++) {
        for (uint64_t left = lane->used[w]; left; left &= left - 1) {
            const struct tutti_letter *letter = &mine(lane)->letter[w * 64 + __builtin_ctzll(left)];
            clashes |= letter->to == (uint32_t)peer && letter->tag == tag && letter->scope != scope &&
                       letter->bytes != bytes && !tutti_letter_is(letter, TUTTI_LETTER_DONE);
        }
    }
    pthread_mutex_unlock(&lane->lock);
    return clashes;
}

int tutti_lane_number(const struct tutti_lane *lane, const struct tutti_letter *letter)
{
    return (int)(letter - mine(lane)->letter);
}

void tutti_lane_post(struct tutti_letter *letter, enum tutti_letter_state state)
{
    tutti_letter_set(letter, state);
}

void tutti_lane_let_go(struct tutti_lane *lane, const struct tutti_letter *letter)
{
    int i = tutti_lane_number(lane, letter);
    pthread_mutex_lock(&lane->lock);
    lane->held[i / 64] &= ~(UINT64_C(1) << i % 64);
    pthread_mutex_unlock(&lane->lock);
}

void tutti_lane_withdraw(struct tutti_lane *lane, struct tutti_letter *letter)
{
    pthread_mutex_lock(&lane->lock);
    put_back(lane, letter);
    pthread_mutex_unlock(&lane->lock);
}

/* First place that is long enough; the pieces are few. */
static int find_room(const struct tutti_lane *lane, uint64_t bytes, uint64_t *out)
{
    uint64_t at = 0;
    for (;;) {
        uint64_t next = UINT64_MAX, past = 0;
        for (int i = 0; i < TUTTI_LETTERS; i++) {
            const struct piece *piece = &lane->piece[i];
            if (piece->bytes == 0 || piece->at + piece->bytes <= at)
                continue;
            if (piece->at < next) {
                next = piece->at;
                past = piece->at + piece->bytes;
            }
        }
        if (next == UINT64_MAX || next >= at + bytes) {
            *out = at;
            return at + bytes <= lane->bytes;
        }
        at = past;
        if (at + bytes > lane->bytes)
            return 0;
    }
}

void *tutti_lane_scratch(struct tutti_lane *lane, struct tutti_letter *letter, size_t bytes)
{
    uint64_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN, at;
    if (room > lane->bytes || !lane->scratch)
        return NULL;
    pthread_mutex_lock(&lane->lock);
    int found = find_room(lane, room, &at);
    if (found) {
        lane->piece[tutti_lane_number(lane, letter)] = (struct piece){at, room};
        letter->at = at;
    }
    pthread_mutex_unlock(&lane->lock);
    return found ? lane->scratch + at : NULL;
}

int tutti_lane_share(struct tutti_lane *lane, struct tutti_letter *letter, const void *pointer)
{
    const int peer = (int)letter->to;
    struct tutti_memory memory;
    letter->share.shared = 0;
    lane->device->classify(pointer, &memory);
    if (memory.kind != TUTTI_MEMORY_DEVICE ||
        tutti_cache_export(lane->node->cache, lane->device, pointer, memory.id, &letter->share.what) != TUTTI_OK)
        return 0;
    letter->share.offset = (uint64_t)(uintptr_t)pointer - letter->share.what.base;
    letter->share.shared = 1;
    for (int i = 0; i < TUTTI_LANE_KNOWN; i++) {
        if (atomic_load_explicit(&theirs(lane, peer)->known[lane->node->rank][i], memory_order_acquire) == memory.id)
            return 1;
    }
    if (letter->share.what.needs_fd && !send_descriptor(lane, peer, &letter->share.what))
        letter->share.shared = 0;
    return 0;
}

/* ---- receiver ---- */

struct tutti_letter *tutti_lane_find(struct tutti_lane *lane, int peer, int number, uint64_t sequence)
{
    if (peer < 0 || peer >= lane->node->size || number < 0 || number >= TUTTI_LETTERS)
        return NULL;
    struct tutti_letter *letter = &theirs(lane, peer)->letter[number];
    return atomic_load(&letter->sequence) == sequence && letter->to == (uint32_t)lane->node->rank ? letter : NULL;
}

const struct tutti_letter *tutti_lane_oldest(const struct tutti_lane *lane, int peer, int tag)
{
    const struct tutti_letter *oldest = NULL;
    for (int i = 0; i < TUTTI_LETTERS; i++) {
        const struct tutti_letter *letter = &theirs(lane, peer)->letter[i];
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
    if (!offered) {
        const struct from *from = &lane->from[peer];
        return (char *)from->scratch->base + theirs(lane, peer)->scratch.offset + letter->at;
    }
    if (!map(lane, peer, &letter->share, 0, held) || !*held)
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
    struct tutti_lanes *own = mine(lane);
    struct from *from = &lane->from[peer];
    struct tutti_mapping *held = NULL;
    if (!letter->share.shared)
        return;
    pthread_mutex_lock(&lane->lock);
    int known = 0;
    for (int i = 0; i < TUTTI_LANE_KNOWN; i++)
        known |= atomic_load(&own->known[peer][i]) == letter->share.what.id;
    if (!known && map(lane, peer, &letter->share, 0, &held) && held) {
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
