/* Buffers of a call: sharing them with peers, overlap of results and contributions, copies. */
#include <string.h>

#include "coll/algorithm.h"
#include "coll/state.h"
#include "core/phases.h"
#include "core/status.h"
#include "core/types.h"

static void buffers_share(struct tutti_team *team, const struct tutti_call *call, struct tutti_shares *mine)
{
    tutti_team_share(team, call->in, &mine->in);
    /* The result buffer of a rank without a result may be any address, or NULL: no kernel stores through it. */
    if (call->in == call->out || tutti_result_of(call, team->rank, team->size).count == 0)
        mine->out = mine->in;
    else
        tutti_team_share(team, call->out, &mine->out);
    mine->out.near = (uint32_t)call->near;
    if (!mine->out.shared) /* one word has the answer */
        mine->in.shared = 0;
}

void tutti_offer_buffers(struct tutti_team *team, const struct tutti_call *call)
{
    buffers_share(team, call, tutti_team_offer(team));
    tutti_coll_of(team)->offered = 1;
}

/* Shares the buffers unless that was done; *shared = 1 if all ranks succeeded. */
static int share_all(struct tutti_team *team, const struct tutti_call *call, uint32_t *shared)
{
    struct tutti_shares *mine = tutti_team_shares(team, team->rank);
    if (!tutti_coll_of(team)->offered) {
        buffers_share(team, call, mine);
        return tutti_team_vote(team, mine->in.shared, shared);
    }
    *shared = 1;
    for (int r = 0; r < team->size; r++)
        *shared &= tutti_team_shares(team, r)->in.shared;
    return TUTTI_OK;
}

/* 1, on all ranks, if some rank's result of a reduce-scatter overlaps its contribution. */
static int buffers_overlap(const struct tutti_team *team, const struct tutti_call *call)
{
    size_t size = tutti_type_size(call->type);
    for (int r = 0; r < team->size; r++) {
        const struct tutti_share *in = &tutti_team_shares(team, r)->in, *out = &tutti_team_shares(team, r)->out;
        size_t count = tutti_result_of(call, r, team->size).count;
        if (count > 0 && in->what.id == out->what.id && out->offset < in->offset + call->count * size &&
            in->offset < out->offset + count * size)
            return 1;
    }
    return 0;
}

int tutti_map_buffers(struct tutti_team *team, const struct tutti_call *call, uint64_t of, const void *in[],
                      void *out[], int *mapped)
{
    uint32_t shared;
    struct tutti_reach reach[TUTTI_MAX_RANKS];
    const size_t size = tutti_type_size(call->type);
    for (int r = 0; r < team->size; r++)
        reach[r] = (struct tutti_reach){call->count * size, tutti_result_of(call, r, team->size).count * size};
    tutti_phase(TUTTI_PHASE_MAPPING);
    int status = share_all(team, call, &shared);
    *mapped = 0;
    if (status != TUTTI_OK || !shared)
        return status;
    /* Read before the vote there: a rank that has passed it may be one call further before another rank reads. */
    int over = tutti_shape_of(call) == TUTTI_SHAPE_SEGMENTS && buffers_overlap(team, call);
    status = tutti_team_map(team, of, reach, in, out, mapped);
    if (*mapped && over)
        *mapped = TUTTI_MAPPED_OVER;
    if (of >> team->rank & 1) {
        in[team->rank] = call->in;
        out[team->rank] = call->out;
    }
    tutti_phase(TUTTI_PHASE_LAUNCH);
    return status;
}

int tutti_move(const struct tutti_team *team, void *to, const void *from, size_t bytes)
{
    const struct tutti_device *device = team->device ? team->device : tutti_device();
    enum tutti_phase before = tutti_phase(TUTTI_PHASE_COPY);
    int status = TUTTI_OK;
    if (tutti_device_active(device))
        status = device->memory.copy_now(to, from, bytes);
    else
        memmove(to, from, bytes);
    tutti_phase(before);
    return status;
}
