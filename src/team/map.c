/* Sharing buffers: names of this rank's, mappings of the peers', descriptors between them. A rank says whose
 * descriptors it needs (`want`); the others send them out of their waits, so that no order of asking can stand still.
 */
#include "team/map.h"

#include <string.h>
#include <unistd.h>

#include "team/cache.h"
#include "team/socket.h"

void tutti_share_fill(struct tutti_node *node, const struct tutti_device *device, const void *pointer,
                      struct tutti_share *out)
{
    struct tutti_memory memory;
    out->shared = 0;
    device->classify(pointer, &memory);
    if (memory.kind != TUTTI_MEMORY_DEVICE ||
        tutti_cache_export(node->cache, device, pointer, memory.id, &out->what) != TUTTI_OK)
        return;
    out->offset = (uint64_t)(uintptr_t)pointer - out->what.base;
    out->shared = 1;
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
    if (device->export_memory((const void *)(uintptr_t)what->base, &fresh, &fd) != TUTTI_OK)
        fd = -1;
    note->refused = fd < 0 || fresh.id != what->id;
    int sent = tutti_socket_give(node, peer, note, note->refused ? -1 : fd);
    if (fd >= 0)
        close(fd);
    return sent;
}

int tutti_map_send(struct tutti_team *team, int r, const struct tutti_export *what)
{
    struct tutti_place *place = tutti_place(team);
    struct tutti_note note = {
        .slot = (uint32_t)place->number[r], .generation = place->generation[r], .sequence = team->sequence};
    return tutti_share_send(team->node, team->device, place->peer[r], &note, what);
}

/* The shares of a record that need a descriptor: none, one or two; `out` only where it is another allocation. */
static int needed(const struct tutti_shares *record, const struct tutti_export *what[2])
{
    int in = record->in.shared && record->in.what.needs_fd;
    int out = record->out.shared && record->out.what.needs_fd;
    what[0] = in ? &record->in.what : NULL;
    what[1] = out && !(in && record->out.what.id == record->in.what.id) ? &record->out.what : NULL;
    return what[0] || what[1];
}

void tutti_map_serve(struct tutti_team *team)
{
    struct tutti_place *place = tutti_place(team);
    const struct tutti_export *what[2];
    if (!team->device || !needed(tutti_team_shares(team, team->rank), what))
        return;
    for (int r = 0; r < team->size; r++) {
        if (r == team->rank || !(atomic_load(&team->slot[r]->want) >> team->rank & 1))
            continue;
        for (int i = 0; i < 2; i++) {
            if (what[i] && !(place->served[i] >> r & 1) && tutti_map_send(team, r, what[i]))
                place->served[i] |= UINT64_C(1) << r;
        }
    }
}

void tutti_map_release(struct tutti_place *place)
{
    for (int i = 0; i < place->held; i++)
        tutti_cache_release(place->node->cache, place->node->device, place->holds[i]);
    place->held = 0;
}

/* Peers' buffers of one call: [0] in, [1] out. */
struct request {
    const struct tutti_share *share[2];
    struct tutti_mapping *mapping[2];
    int fd[2];   /* -1: has not come */
    int came[2]; /* a note for it has come */
    int asked;
};

/* Takes what is mapped already; 1 where a descriptor is needed. */
static int look_up(struct tutti_team *team, int r, struct request *q)
{
    struct tutti_place *place = tutti_place(team);
    int missing = 0;
    for (int i = 0; i < 2; i++) {
        q->mapping[i] = tutti_cache_find(team->node->cache, place->peer[r], team->gpu, &q->share[i]->what);
        if (q->mapping[i])
            place->holds[place->held++] = q->mapping[i];
        else
            missing |= q->share[i]->what.needs_fd;
    }
    return missing;
}

/* What rank r has sent so far; 1 when all has come. */
static int collect(struct tutti_team *team, int r, struct request *q)
{
    struct tutti_place *place = tutti_place(team);
    const struct tutti_export *what[2];
    needed(tutti_team_shares(team, r), what);
    int all = 1;
    for (int i = 0; i < 2; i++) {
        if (what[i] && !q->came[i])
            q->came[i] = tutti_socket_take(team->node, place->peer[r], place->number[team->rank], team->sequence,
                                           what[i]->id, &q->fd[i]);
        all &= !what[i] || q->came[i];
    }
    return all;
}

static int await_descriptors(struct tutti_team *team, struct request *q)
{
    struct tutti_place *place = tutti_place(team);
    struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_DESCRIPTOR, place->expected);
    while (place->expected) {
        for (int r = 0; r < team->size; r++) {
            if (place->expected >> r & 1 && collect(team, r, &q[r]))
                place->expected &= ~(UINT64_C(1) << r);
        }
        int status = place->expected ? tutti_wait(&w) : TUTTI_OK;
        if (status != TUTTI_OK)
            return tutti_team_break(team, status);
    }
    return TUTTI_OK;
}

/* Maps what look_up did not find. */
static int map_rest(struct tutti_team *team, int r, struct request *q)
{
    struct tutti_place *place = tutti_place(team);
    for (int i = 0; i < 2; i++) {
        const struct tutti_export *what = &q->share[i]->what;
        if (q->mapping[i])
            continue;
        int fd = q->fd[i] >= 0 || q->share[0]->what.id != what->id ? q->fd[i] : q->fd[0];
        if ((what->needs_fd && fd < 0) || tutti_cache_add(team->node->cache, team->device, place->peer[r], team->gpu,
                                                          what, fd, 0, &q->mapping[i]) != TUTTI_OK)
            return 0;
        place->holds[place->held++] = q->mapping[i];
    }
    return 1;
}

static void close_descriptors(struct tutti_team *team, struct request *q)
{
    for (int r = 0; r < team->size; r++) {
        for (int i = 0; i < 2; i++) {
            if (q[r].fd[i] >= 0)
                close(q[r].fd[i]);
        }
    }
}

int tutti_team_map(struct tutti_team *team, uint64_t of, const void *in[], void *out[], int *agreed)
{
    struct tutti_place *place = tutti_place(team);
    struct request requests[TUTTI_MAX_RANKS];
    struct tutti_slot *own = team->slot[team->rank];
    int fine = 1, status;
    *agreed = 0;
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    tutti_map_release(place);
    place->expected = 0;
    for (int r = 0; r < team->size; r++) {
        struct request *q = &requests[r];
        const struct tutti_shares *theirs = tutti_team_shares(team, r);
        *q = (struct request){.share = {&theirs->in, &theirs->out}, .fd = {-1, -1}};
        q->asked = r != team->rank && (of >> r & 1) && theirs->in.shared && theirs->out.shared;
        if (r != team->rank && (of >> r & 1) && !q->asked)
            fine = 0;
        if (q->asked && look_up(team, r, q))
            place->expected |= UINT64_C(1) << r;
    }
    atomic_store(&own->want, place->expected);
    status = await_descriptors(team, requests);
    for (int r = 0; r < team->size && status == TUTTI_OK; r++)
        fine &= !requests[r].asked || map_rest(team, r, &requests[r]);
    atomic_store(&own->want, 0);
    close_descriptors(team, requests);
    uint32_t all = 0;
    if (status == TUTTI_OK)
        status = tutti_team_vote(team, (uint32_t)fine, &all);
    memset(place->served, 0, sizeof place->served); /* nobody wants anything after the vote */
    if (status != TUTTI_OK)
        return status;
    for (int r = 0; r < team->size; r++) {
        const struct request *q = &requests[r];
        if (!all || !q->asked)
            continue;
        in[r] = (const char *)q->mapping[0]->base + q->share[0]->offset;
        out[r] = (char *)q->mapping[1]->base + q->share[1]->offset;
    }
    *agreed = (int)all;
    return TUTTI_OK;
}
