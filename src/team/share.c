/* Sharing buffers: names of this rank's, descriptors for the peers that ask for them. A rank publishes whose
 * descriptors it needs (`want`). The others send them while they wait, so that no order of requests can deadlock. */
#include "team/share.h"

#include <unistd.h>

#include "team/cache.h"
#include "team/exports.h"
#include "team/invalidation.h"

enum { FEW = 16 };

void tutti_share_fill(struct tutti_node *node, const struct tutti_device *device, const void *pointer,
                      struct tutti_share *out)
{
    struct tutti_memory memory;
    out->shared = 0;
    device->memory.classify(pointer, &memory);
    if (memory.kind == TUTTI_MEMORY_DEVICE)
        tutti_share_name(node, device, pointer, memory.id, out);
}

void tutti_share_name(struct tutti_node *node, const struct tutti_device *device, const void *pointer, uint64_t id,
                      struct tutti_share *out)
{
    out->shared = 0;
    tutti_invalidation_poll(node, device);
    const uint64_t named = tutti_exports_named(tutti_cache_exports(node->cache));
    if (tutti_exports_name(tutti_cache_exports(node->cache), device, pointer, id, &out->what) != TUTTI_OK)
        return;
    if (tutti_exports_named(tutti_cache_exports(node->cache)) !=
        named) /* another allocation: some of the others may have been freed unheard */
        tutti_invalidation_look(node, device, FEW);
    out->offset = (uint64_t)(uintptr_t)pointer - out->what.base;
    out->shared = 1;
}

int tutti_share_is_named(const struct tutti_node *node, uint64_t id)
{
    return tutti_exports_has(tutti_cache_exports(node->cache), id);
}

void tutti_team_share(struct tutti_team *team, const void *pointer, struct tutti_share *out)
{
    out->shared = 0;
    if (team->device)
        tutti_share_fill(team->node, team->device, pointer, out);
}

int tutti_share_send(struct tutti_node *node, const struct tutti_device *device, int peer, struct tutti_note *note,
                     const struct tutti_export *what)
{
    struct tutti_export fresh;
    int fd = -1;
    note->id = what->id;
    if (device->share.export((const void *)(uintptr_t)what->base, &fresh, &fd) != TUTTI_OK)
        fd = -1;
    note->refused = fd < 0 || fresh.id != what->id;
    int sent = tutti_socket_give(node, peer, note, note->refused ? -1 : fd);
    if (fd >= 0)
        close(fd);
    return sent;
}

int tutti_share_send_rank(struct tutti_team *team, int r, const struct tutti_export *what)
{
    struct tutti_membership *membership = tutti_membership(team);
    struct tutti_note note = {
        .slot = (uint32_t)membership->number[r], .generation = membership->generation[r], .sequence = team->sequence};
    return tutti_share_send(team->node, team->device, membership->peer[r], &note, what);
}

int tutti_share_needed(const struct tutti_shares *record, const struct tutti_export *what[2])
{
    int in = record->in.shared && record->in.what.needs_fd;
    int out = record->out.shared && record->out.what.needs_fd;
    what[0] = in ? &record->in.what : NULL;
    what[1] = out && !(in && record->out.what.id == record->in.what.id) ? &record->out.what : NULL;
    return what[0] || what[1];
}

void tutti_share_serve(struct tutti_team *team)
{
    struct tutti_membership *membership = tutti_membership(team);
    const struct tutti_export *what[2];
    if (!team->device || !tutti_share_needed(tutti_team_shares(team, team->rank), what))
        return;
    for (int r = 0; r < team->size; r++) {
        if (r == team->rank || !(atomic_load(&team->slot[r]->want) >> team->rank & 1))
            continue;
        for (int i = 0; i < 2; i++) {
            if (what[i] && !(membership->served[i] >> r & 1) && tutti_share_send_rank(team, r, what[i]))
                membership->served[i] |= UINT64_C(1) << r;
        }
    }
}

void tutti_share_release(struct tutti_membership *membership)
{
    for (int i = 0; i < membership->held; i++)
        tutti_cache_release(membership->node->cache, membership->node->device, membership->holds[i]);
    membership->held = 0;
}
