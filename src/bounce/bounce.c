#include "bounce/bounce.h"

#include <stdlib.h>

#include "core/counters.h"
#include "core/lives.h"
#include "core/lock.h"
#include "core/settings.h"
#include "core/status.h"
#include "progress/gate.h"

enum {
    PAGE = 4096,
    LEAST = PAGE,
    FINE = 1 << 20, /* from here on a doubling has eight classes */
    BUCKETS = 128,
    KEPT_MOST = 1024,       /* each may be a mapping of its own, of which a process has some ten thousand */
    SHARED_MOST = 64 << 10, /* bytes of a piece that shares an allocation with others */
    SHARED_BYTES = 1 << 20, /* of such an allocation */
    CLOSED_MOST = 256,      /* pieces so many times as large do where none can be made */
    SHARED_PART = 8         /* the next allocation has this part of all such pieces, so that few cost little */
};

/* An allocation of several pieces. Its bytes are held until the last piece has ended. */
struct slab {
    void *memory;
    size_t bytes;
    unsigned left; /* pieces that have not ended */
};

struct piece {
    struct tutti_bounce base;
    const struct tutti_bounce_kind *kind;
    int gpu;
    struct slab *slab;           /* NULL: an allocation of its own */
    unsigned life;               /* of the GPU; of all GPUs if the memory belongs to no GPU */
    struct piece *next, **at;    /* in its bucket */
    struct piece *newer, *older; /* of all that are kept */
};

static struct tutti_lock lock;                            /* never held while the device is called */
static struct piece *bucket[BUCKETS] TUTTI_GUARDED(lock); /* what is kept, the newest first */
static struct piece *newest TUTTI_GUARDED(lock), *oldest TUTTI_GUARDED(lock);
static unsigned pieces TUTTI_GUARDED(lock); /* that are kept */
static unsigned small TUTTI_GUARDED(lock);  /* that may share an allocation, taken or kept */
static struct tutti_bounce_counts counts TUTTI_GUARDED(lock);

static size_t bounce_limit(void)
{
    return (size_t)tutti_settings()->bounce_mb << 20;
}

static size_t bounce_class_of(size_t bytes)
{
    if (bytes <= LEAST)
        return LEAST;
    const unsigned top = 63 - (unsigned)__builtin_clzll(bytes - 1);
    const size_t step = (size_t)1 << (bytes <= FINE ? top + 1 : top - 3);
    return (bytes + step - 1) / step * step;
}

/* ---- what is kept ---- */

static struct piece **bounce_bucket_of(const struct tutti_bounce_kind *kind, int gpu, size_t room) TUTTI_HOLDS(lock)
{
    const uint64_t key = (uint64_t)room ^ (uint64_t)(uintptr_t)kind ^ (uint64_t)gpu << 48;
    return &bucket[key * UINT64_C(0x9e3779b97f4a7c15) >> 57];
}

static void bounce_keep(struct piece *piece) TUTTI_HOLDS(lock)
{
    struct piece **first = bounce_bucket_of(piece->kind, piece->gpu, piece->base.room);
    piece->next = *first;
    piece->at = first;
    if (piece->next)
        piece->next->at = &piece->next;
    *first = piece;
    piece->newer = NULL;
    piece->older = newest;
    *(newest ? &newest->newer : &oldest) = piece;
    newest = piece;
    counts.kept += piece->base.room;
    pieces++;
}

static void bounce_unkeep(struct piece *piece) TUTTI_HOLDS(lock)
{
    *piece->at = piece->next;
    if (piece->next)
        piece->next->at = piece->at;
    *(piece->newer ? &piece->newer->older : &newest) = piece->older;
    *(piece->older ? &piece->older->newer : &oldest) = piece->newer;
    counts.kept -= piece->base.room;
    pieces--;
}

/* One of at least so many bytes, and at most `most` times as many. */
static struct piece *bounce_find(const struct tutti_bounce_kind *kind, int gpu, size_t room, size_t most)
    TUTTI_HOLDS(lock)
{
    for (size_t c = room; c <= most * room; c = bounce_class_of(c + 1)) {
        struct piece *piece = *bounce_bucket_of(kind, gpu, c);
        while (piece && (piece->kind != kind || piece->gpu != gpu || piece->base.room != c ||
                         piece->life != tutti_gpu_life(gpu)))
            piece = piece->next;
        if (piece)
            return piece;
    }
    return NULL;
}

static int may_share(const struct tutti_bounce_kind *kind, size_t room)
{
    return kind->shared && room <= SHARED_MOST;
}

/* Returns how many bytes are no longer held. After a reset of its GPU its memory has gone. */
static size_t bounce_end(struct piece *piece, int alive)
{
    struct slab *slab = piece->slab;
    void *memory = piece->base.memory;
    size_t bytes = piece->base.room;
    unsigned left = 0;
    tutti_lock_take(&lock);
    small -= (unsigned)may_share(piece->kind, bytes);
    if (slab)
        left = --slab->left;
    tutti_lock_give(&lock);
    if (slab) {
        memory = slab->memory;
        bytes = left ? 0 : slab->bytes;
    }
    if (!left && alive && piece->life == tutti_gpu_life(piece->gpu))
        piece->kind->free(memory);
    if (!left)
        free(slab);
    free(piece);
    return bytes;
}

/* Ends the oldest one. The lock is let go meanwhile; the bytes are held until they are free. */
static void end_oldest(int alive) TUTTI_HOLDS(lock)
{
    struct piece *piece = oldest;
    bounce_unkeep(piece);
    tutti_lock_give(&lock);
    const size_t bytes = bounce_end(piece, alive);
    tutti_lock_take(&lock);
    counts.held -= bytes;
}

static unsigned end_kept(int alive)
{
    unsigned n = 0;
    tutti_lock_take(&lock);
    for (; oldest; n++)
        end_oldest(alive);
    tutti_lock_give(&lock);
    return n;
}

/* ---- taking and giving ---- */

/* Powers of two, and eighths of them where a whole one more would be much. What is too large to be kept is as large as
 * it has to be. */
static size_t bounce_room_for(size_t bytes)
{
    const size_t room = bounce_class_of(bytes);
    return room <= bounce_limit() ? room : (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Counts so many bytes more as held, where they may be. What would not fit beside what is taken, or
 * is larger than the limit by itself, does not drive out what is kept. */
static int bounce_reserve(size_t room, int bounded) TUTTI_HOLDS(lock)
{
    if (bounded && counts.held - counts.kept + room > bounce_limit())
        return 0;
    while (room <= bounce_limit() && counts.held + room > bounce_limit() && oldest && !tutti_gate_closed())
        end_oldest(1);
    if (bounded && counts.held + room > bounce_limit()) /* others have taken more meanwhile */
        return 0;
    counts.held += room;
    if (counts.held > counts.most)
        counts.most = counts.held;
    return 1;
}

/* Pieces of the next allocation; the bytes of all but one are counted as held. */
static unsigned bounce_share(const struct tutti_bounce_kind *kind, size_t room)
{
    unsigned n = 1;
    tutti_lock_take(&lock);
    if (may_share(kind, room)) {
        n = small / SHARED_PART < SHARED_BYTES / room ? small / SHARED_PART : (unsigned)(SHARED_BYTES / room);
        n = n == 0 || counts.held + (n - 1) * room > bounce_limit() ? 1 : n;
        counts.held += (n - 1) * room;
        counts.most = counts.held > counts.most ? counts.held : counts.most;
    }
    tutti_lock_give(&lock);
    return n;
}

static void drop_pieces(struct piece *first, struct slab *slab)
{
    free(slab);
    while (first) {
        struct piece *next = first->next;
        free(first);
        first = next;
    }
}

/* A list of `n` pieces without memory, and what they share. NULL without memory of the host. */
static struct piece *new_pieces(const struct tutti_bounce_kind *kind, int gpu, size_t room, unsigned n)
{
    struct slab *slab = n > 1 ? calloc(1, sizeof *slab) : NULL;
    struct piece *first = NULL;
    int fine = n == 1 || slab;
    for (unsigned i = 0; i < n && fine; i++) {
        struct piece *piece = calloc(1, sizeof *piece);
        fine = piece != NULL;
        if (!piece)
            break;
        *piece = (struct piece){.base.room = room, .kind = kind, .gpu = gpu, .slab = slab, .next = first};
        first = piece;
    }
    if (fine && slab)
        *slab = (struct slab){.bytes = n * room, .left = n};
    if (fine)
        return first;
    drop_pieces(first, slab);
    return NULL;
}

/* Gives the pieces their memory, and keeps all but the first, which is returned. */
static struct piece *fill_pieces(struct piece *first, void *memory)
{
    const unsigned life = tutti_gpu_life(first->gpu); /* not of before: allocating may notice a reset */
    char *at = memory;
    if (first->slab)
        first->slab->memory = memory;
    tutti_lock_take(&lock);
    counts.made++;
    for (struct piece *piece = first, *next; piece; piece = next) {
        next = piece->next;
        piece->base.memory = at;
        piece->life = life;
        at += piece->base.room;
        small += (unsigned)may_share(piece->kind, piece->base.room);
        if (piece != first)
            bounce_keep(piece);
    }
    first->next = NULL;
    tutti_lock_give(&lock);
    return first;
}

/* Pieces whose bytes are counted as held. NULL without memory: they no longer are. */
static struct piece *make_pieces(const struct tutti_bounce_kind *kind, int gpu, size_t room, unsigned n)
{
    struct piece *first = new_pieces(kind, gpu, room, n);
    void *memory = NULL;
    int status = first ? kind->alloc(gpu, n * room, &memory) : TUTTI_ERR_MEMORY;
    if (first && status != TUTTI_OK && !tutti_gate_closed() && end_kept(1) > 0) /* that may be what is missing */
        status = kind->alloc(gpu, n * room, &memory);
    if (status == TUTTI_OK) {
        tutti_count("bounce buffers", TUTTI_OUTCOME_ALLOCATED, kind->name);
        return fill_pieces(first, memory);
    }
    drop_pieces(first, first ? first->slab : NULL);
    tutti_lock_take(&lock);
    counts.held -= n * room;
    tutti_lock_give(&lock);
    return NULL;
}

static struct piece *bounce_make(const struct tutti_bounce_kind *kind, int gpu, size_t room)
{
    const unsigned n = bounce_share(kind, room);
    struct piece *piece = make_pieces(kind, gpu, room, n);
    if (piece || n == 1)
        return piece;
    tutti_lock_take(&lock);
    counts.held += room;
    tutti_lock_give(&lock);
    return make_pieces(kind, gpu, room, 1);
}

int tutti_bounce_fits(size_t bytes)
{
    tutti_lock_take(&lock);
    const size_t taken = counts.held - counts.kept;
    tutti_lock_give(&lock);
    return bytes <= bounce_limit() && taken <= bounce_limit() && bounce_class_of(bytes) <= bounce_limit() - taken;
}

struct tutti_bounce *tutti_bounce_take(const struct tutti_bounce_kind *kind, int gpu, size_t bytes)
{
    if (bytes > SIZE_MAX / 4)
        return NULL;
    const size_t room = bounce_room_for(bytes);
    const int closed = kind->waits && tutti_gate_closed();
    int may = 1;
    if (kind->look)
        kind->look();
    tutti_lock_take(&lock);
    counts.takes++;
    struct piece *piece = bounce_find(kind, gpu, room, closed ? CLOSED_MOST : 2);
    if (piece)
        bounce_unkeep(piece);
    else
        may = !closed && bounce_reserve(room, kind->bounded);
    tutti_lock_give(&lock);
    if (!piece && may)
        piece = bounce_make(kind, gpu, room);
    return piece ? &piece->base : NULL;
}

struct tutti_bounce *tutti_bounce_take_kept(const struct tutti_bounce_kind *kind, int gpu, size_t bytes)
{
    if (bytes > SIZE_MAX / 4)
        return NULL;
    tutti_lock_take(&lock);
    struct piece *piece = bounce_find(kind, gpu, bounce_room_for(bytes), 2);
    if (piece) {
        counts.takes++;
        bounce_unkeep(piece);
    }
    tutti_lock_give(&lock);
    return piece ? &piece->base : NULL;
}

/* A piece that is not kept. */
static void bounce_drop(struct piece *piece)
{
    const size_t ended = bounce_end(piece, 1);
    tutti_lock_take(&lock);
    counts.held -= ended;
    tutti_lock_give(&lock);
}

void tutti_bounce_give_kept(struct tutti_bounce *bounce)
{
    struct piece *piece = (struct piece *)(void *)bounce;
    if (!bounce)
        return;
    tutti_lock_take(&lock);
    const int lives = piece->life == tutti_gpu_life(piece->gpu);
    if (lives)
        bounce_keep(piece);
    tutti_lock_give(&lock);
    if (!lives) /* its memory has gone: nothing is freed */
        bounce_drop(piece);
}

void tutti_bounce_give(struct tutti_bounce *bounce)
{
    struct piece *piece = (struct piece *)(void *)bounce;
    if (!bounce)
        return;
    if (piece->kind->clean)
        piece->kind->clean(bounce->memory);
    tutti_lock_take(&lock);
    const int closed = tutti_gate_closed();
    const int keeps = (closed || counts.held <= bounce_limit()) && piece->life == tutti_gpu_life(piece->gpu);
    if (keeps)
        bounce_keep(piece);
    while (pieces > KEPT_MOST && !closed)
        end_oldest(1);
    tutti_lock_give(&lock);
    if (!keeps)
        bounce_drop(piece);
}

void tutti_bounce_close(int alive)
{
    end_kept(alive);
}

void tutti_bounce_read(struct tutti_bounce_counts *out)
{
    tutti_lock_take(&lock);
    *out = counts;
    tutti_lock_give(&lock);
}
