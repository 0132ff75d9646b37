/* Device memory attached to a dynamic window of one node. Its owner sends the others what they need to map it, without
 * waiting for them; they map it when an operation reaches it, or take the descriptor in at their next call on the
 * window, so that sockets do not fill. Attaching is local. A rank that has not met a GPU leaves descriptors where they
 * are until it has; its operations go by the owner. Where the GPU of a rank does not reach this memory, or a rank is
 * far behind, the region gets a public copy instead. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "mpi/rma/attachments.h"
#include "mpi/rma/mapped.h"
#include "progress/engine.h"
#include "team/pair.h"

enum { SECONDS = 10 };

/* The GPU of a region, or of this rank, goes into the own line, once. */
static void mapped_line_meet(struct tutti_mapped *mapped, int gpu)
{
    struct tutti_mapped_line *line = &mapped->slot->line;
    pthread_mutex_lock(&mapped->mutex);
    if (!mapped->met) {
        mapped->gpu = gpu;
        memset(line->uuid, 0, sizeof line->uuid);
        if (gpu < 0 || tutti_door.device->gpu.uuid(gpu, line->uuid) == TUTTI_OK) {
            mapped->met = 1;
            atomic_store(&line->met, 1);
        }
    }
    pthread_mutex_unlock(&mapped->mutex);
}

/* 1 if the peer's GPU reaches memory of this one, or the peer has not met a GPU yet. */
static int mapped_peer_reaches(const struct tutti_mapped *mapped, int peer, int gpu)
{
    const struct tutti_mapped_line *line = mapped->peer[peer].line;
    if (!atomic_load_explicit(&line->met, memory_order_acquire))
        return 1;
    return gpu < 0 || !tutti_door.device->gpu.reach || tutti_door.device->gpu.reach(gpu, line->uuid) > 0;
}

static _Atomic uint32_t *seen_of(const struct tutti_mapped *mapped, int owner, int reader)
{
    return &mapped->peer[owner].slot->words[2 * mapped->pairs + (unsigned)reader];
}

int tutti_mapped_show(struct tutti_mapped *mapped, const void *base, uint64_t bytes, struct tutti_share *share)
{
    struct tutti_memory memory;
    const uint32_t shown = atomic_load(&mapped->slot->line.shown);
    tutti_door.device->memory.classify(base, &memory);
    mapped_line_meet(mapped, memory.gpu);
    for (int r = 0; r < mapped->n; r++) {
        if (!mapped_peer_reaches(mapped, r, memory.gpu) ||
            (r != mapped->rank && shown - atomic_load(seen_of(mapped, mapped->rank, r)) >= TUTTI_ATTACH_NOTES))
            return TUTTI_ERR_UNAVAILABLE;
    }
    for (int r = 0; r < mapped->n; r++) {
        if (tutti_pair_show(tutti_door.node, tutti_door.device, mapped->peer[r].node, base, share) != TUTTI_OK)
            return TUTTI_ERR_UNAVAILABLE;
    }
    return share->offset + bytes <= share->what.bytes ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE;
}

void tutti_mapped_shown(struct tutti_mapped *mapped, const struct tutti_share *share)
{
    struct tutti_mapped_line *line = &mapped->slot->line;
    const uint32_t shown = atomic_load(&line->shown);
    tutti_mapped_serve(mapped);
    atomic_store(&line->note[shown % TUTTI_ATTACH_NOTES], share->what.needs_fd ? share->what.id : 0);
    atomic_store(&line->shown, shown + 1);
}

/* ---- the reader ---- */

struct reaching {
    struct tutti_mapped *mapped;
    int peer;
    const struct tutti_share *share;
    uint64_t bytes;
    struct tutti_mapping *mapping;
    void *base;
};

static int mapped_attach_is_reached(void *with)
{
    struct reaching *r = with;
    const int status = tutti_pair_map(tutti_door.node, tutti_door.device, r->peer, r->mapped->gpu, r->share,
                                      (size_t)r->bytes, &r->mapping, &r->base);
    return status == TUTTI_OK ? 1 : status < 0 ? status : 0;
}

static void mapped_reached_drop(struct tutti_reached *reached)
{
    tutti_pair_release(tutti_door.node, tutti_door.device, reached->mapping);
    *reached = (struct tutti_reached){.generation = 0};
}

/* The mutex is held. */
static int mapped_region_map(struct tutti_mapped *mapped, int target, const struct tutti_attachment *region)
{
    struct tutti_mapped_peer *peer = &mapped->peer[target];
    if (region->row >= peer->rows) {
        const unsigned rows = region->row < 8 ? 16 : 2 * region->row;
        struct tutti_reached *more = realloc(peer->reached, rows * sizeof *more);
        if (!more)
            return TUTTI_ERR_MEMORY;
        memset(more + peer->rows, 0, (rows - peer->rows) * sizeof *more);
        peer->reached = more;
        peer->rows = rows;
    }
    struct tutti_reached *reached = &peer->reached[region->row];
    if (reached->generation == region->generation)
        return reached->failed ? TUTTI_ERR_UNAVAILABLE : TUTTI_OK;
    mapped_reached_drop(reached);
    const struct tutti_share share = tutti_mapped_shares(peer->node)[region->row];
    struct reaching r = {.mapped = mapped, .peer = peer->node, .share = &share, .bytes = region->bytes};
    const int status = tutti_progress_wait(&(const struct tutti_wait){.done = mapped_attach_is_reached,
                                                                      .with = &r,
                                                                      .what = "attached memory of a peer",
                                                                      .seconds = SECONDS,
                                                                      .quiet = 1});
    if (status != TUTTI_OK)
        tutti_info("attached memory of rank %d cannot be mapped, its owner reads and writes it: %s", target,
                   tutti_status_text(status));
    *reached = (struct tutti_reached){
        .generation = region->generation, .failed = status != TUTTI_OK, .mapping = r.mapping, .base = r.base};
    return status;
}

int tutti_mapped_reach(struct tutti_mapped *mapped, int target, const struct tutti_attachment *region, char **base)
{
    pthread_mutex_lock(&mapped->mutex);
    const int status = mapped->met ? mapped_region_map(mapped, target, region) : TUTTI_ERR_UNAVAILABLE;
    if (status == TUTTI_OK)
        *base = mapped->peer[target].reached[region->row].base;
    pthread_mutex_unlock(&mapped->mutex);
    return status;
}

/* The descriptor of this name: the region that it is for is mapped, and the rest of it closed. */
static void mapped_note_take(struct tutti_mapped *mapped, int target, uint64_t name)
{
    struct tutti_share note = {.shared = 1, .what = {.id = name, .needs_fd = 1}};
    struct tutti_attachment region;
    for (unsigned row = 0; tutti_attachments_at(mapped->attached, target, row, &region) >= 0; row++) {
        if (region.generation && region.mapped && tutti_mapped_shares(mapped->peer[target].node)[row].what.id == name)
            (void)mapped_region_map(mapped, target, &region); /* if it fails, operations go by the owner */
    }
    tutti_pair_drop(tutti_door.node, mapped->peer[target].node, &note);
}

void tutti_mapped_show_gpu(struct tutti_mapped *mapped)
{
    int gpu;
    if (!mapped->met && tutti_mapped_meet(&gpu))
        mapped_line_meet(mapped, gpu);
}

void tutti_mapped_look(struct tutti_mapped *mapped)
{
    tutti_mapped_show_gpu(mapped);
    if (likely(!tutti_windows_have_foreign()) || !mapped->met)
        return;
    for (int r = 0; r < mapped->n; r++) {
        struct tutti_mapped_line *line = mapped->peer[r].line;
        _Atomic uint32_t *seen = seen_of(mapped, r, mapped->rank);
        uint32_t at = atomic_load_explicit(seen, memory_order_relaxed);
        const uint32_t shown = atomic_load_explicit(&line->shown, memory_order_acquire);
        if (likely(at == shown) || r == mapped->rank)
            continue;
        pthread_mutex_lock(&mapped->mutex);
        for (at = atomic_load(seen); at != shown; at++) {
            const uint64_t name = atomic_load(&line->note[at % TUTTI_ATTACH_NOTES]);
            if (name != 0)
                mapped_note_take(mapped, r, name);
        }
        atomic_store(seen, shown);
        pthread_mutex_unlock(&mapped->mutex);
    }
}

void tutti_mapped_leave(struct tutti_mapped *mapped)
{
    for (int r = 0; r < mapped->n; r++) {
        for (unsigned row = 0; row < mapped->peer[r].rows; row++)
            mapped_reached_drop(&mapped->peer[r].reached[row]);
        free(mapped->peer[r].reached);
        mapped->peer[r].reached = NULL;
        mapped->peer[r].rows = 0;
    }
}
