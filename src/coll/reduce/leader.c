/* leader: of the ranks that share a GPU one launches, over all their buffers. Contexts of several processes on one
 * GPU take turns, so two kernels there that wait for each other would hang. With several GPUs the leaders continue
 * among themselves: as in `direct` over all mapped buffers, through their windows as in `oneshot` and `twoshot`, or by
 * flow kernels (the rows that TUTTI_LEADER_ROW makes beside their algorithms). Contributions are all ranks' in every
 * case, so the order of ranks stays. Memory that cannot be mapped passes through its rank's own channel in pieces. */
#include "coll/launch/flow.h"
#include "core/phases.h"
#include "core/status.h"
#include "core/types.h"

/* How leaders of several GPUs run a call over the contributions of one GPU each: by windows, or by flow kernels.
 * Neither: there is one GPU. */
struct leader_way {
    int (*windows)(struct tutti_team *team, const struct tutti_locals *locals, size_t count, int type, int op);
    tutti_flow_shape *flow;
};

static int leader_can(const struct tutti_team *team, const struct tutti_call *call)
{
    (void)call;
    return team->gpus < team->size;
}

static int leader_windows_can(const struct tutti_team *team, const struct tutti_call *call)
{
    (void)call;
    return team->gpus > 1 && team->gpus < team->size;
}

static uint64_t leader_members(const struct tutti_team *team)
{
    uint64_t mask = 0;
    for (int r = 0; r < team->size; r++)
        mask |= (uint64_t)(team->gpu_of[r] == team->gpu_index) << r;
    return mask;
}

/* 1 if all results of this GPU are near (struct tutti_call); shared: ranks besides the leader get theirs where they
 * have shared them, else in their channels, which are. */
static int lead_near(const struct tutti_team *team, const struct tutti_call *call, int shared)
{
    int near = 1;
    for (int r = 0; r < team->size; r++) {
        if (team->gpu_of[r] != team->gpu_index || tutti_result_of(call, r, team->size).count == 0)
            continue;
        if (r == team->rank)
            near &= call->near;
        else if (shared)
            near &= tutti_team_shares(team, r)->out.near == 1;
    }
    return near;
}

/* One GPU's work, over buffers that the leader can reach; in and out are indexed by rank. shared: see lead_near(). */
static int leader_lead(struct tutti_team *team, const struct tutti_call *call, const void *in[], void *out[],
                       struct leader_way way, int shared)
{
    struct tutti_call by_flow = *call;
    if (!way.windows && !way.flow)
        return tutti_direct_mapped(team, call, in, out);
    struct tutti_locals locals = {.n = 0};
    for (int r = 0; r < team->size; r++) {
        if (team->gpu_of[r] != team->gpu_index)
            continue;
        locals.rank[locals.n] = r;
        locals.in[locals.n] = in[r];
        locals.out[locals.n++] = out[r];
    }
    by_flow.near = lead_near(team, call, shared);
    return way.flow ? tutti_flow_run_locals(team, &by_flow, &locals, way.flow)
                    : way.windows(team, &locals, call->count, call->type, call->op);
}

/* Elements [at, at + count) of the contribution as a call of its own. *from: position of its part of rank's result
 * in the whole result. */
struct cut {
    struct tutti_call call;
    size_t counts[TUTTI_MAX_RANKS];
    size_t from[TUTTI_MAX_RANKS];
};

static void locals_cut(const struct tutti_team *team, const struct tutti_call *call, size_t at, size_t count,
                       struct cut *cut)
{
    cut->call = *call;
    cut->call.count = count;
    for (int r = 0; r < team->size; r++)
        cut->from[r] = at;
    if (tutti_shape_of(call) != TUTTI_SHAPE_SEGMENTS)
        return;
    cut->call.collective = TUTTI_COLLECTIVE_REDUCE_SCATTER;
    cut->call.counts = cut->counts;
    for (int r = 0; r < team->size; r++) {
        struct tutti_result part = tutti_result_of(call, r, team->size);
        size_t first = part.begin > at ? part.begin : at;
        size_t end = part.begin + part.count < at + count ? part.begin + part.count : at + count;
        cut->counts[r] = first < end ? end - first : 0;
        cut->from[r] = first - part.begin;
    }
}

/* Each rank copies a piece into its own channel, the leader works there, each rank copies its part of the result
 * out. The leader's own buffers are used in place: on a single GPU it is rank 0, whose part of a reduce-scatter lies
 * where it was read, also in place. */
static int by_pieces(struct tutti_team *team, const struct tutti_call *call, struct leader_way way)
{
    size_t size = tutti_type_size(call->type), most = tutti_channel_half(team) / size;
    size_t in_at = tutti_channel_data(team, 0), out_at = tutti_channel_data(team, 1);
    int status = TUTTI_OK;
    for (size_t at = 0; at < call->count && status == TUTTI_OK; at += most) {
        struct cut cut;
        uint32_t fine;
        locals_cut(team, call, at, call->count - at < most ? call->count - at : most, &cut);
        const void *mine = (const char *)call->in + at * size;
        size_t count = tutti_result_of(&cut.call, team->rank, team->size).count;
        void *result = count > 0 ? (char *)call->out + cut.from[team->rank] * size : NULL;
        if (!team->leader)
            status = tutti_move(team, (char *)team->scratch + in_at, mine, cut.call.count * size);
        if (status == TUTTI_OK)
            status = tutti_team_vote(team, 1, &fine);
        if (status == TUTTI_OK && team->leader) {
            const void *in[TUTTI_MAX_RANKS];
            void *out[TUTTI_MAX_RANKS];
            for (int r = 0; r < team->size; r++) {
                in[r] = r == team->rank ? mine : (char *)team->scratch_of[r] + in_at;
                out[r] = r == team->rank ? result : (char *)team->scratch_of[r] + out_at;
            }
            status = leader_lead(team, &cut.call, in, out, way, 0);
        }
        tutti_phase(team->leader ? TUTTI_PHASE_HANDOUT : TUTTI_PHASE_LEADER);
        if (status == TUTTI_OK)
            status = tutti_team_vote(team, 1, &fine);
        if (status == TUTTI_OK && !team->leader && count > 0)
            status = tutti_move(team, result, (char *)team->scratch + out_at, count * size);
    }
    return status == TUTTI_OK ? TUTTI_OK : tutti_team_break(team, status);
}

static int leader_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    const void *in[TUTTI_MAX_RANKS];
    void *out[TUTTI_MAX_RANKS];
    int mapped, status = tutti_map_buffers(team, call, team->leader ? tutti_all_ranks(team) : 0, in, out, &mapped);
    *fits = mapped || team->gpus == 1;
    if (status != TUTTI_OK || !*fits)
        return status;
    return mapped ? tutti_direct_shared(team, call, in, out, mapped)
                  : by_pieces(team, call, (struct leader_way){.flow = NULL});
}

/* 1 if results of a reduce-scatter may overwrite contributions that other blocks or later launches read. Segments of
 * one length may lie in place: a result lies over segment 0, which the first launch sends, each block what it
 * overwrites. Pieces have parts of different lengths. */
static int leaders_overwrite(const struct tutti_team *team, const struct tutti_call *call, int mapped)
{
    if (tutti_shape_of(call) != TUTTI_SHAPE_SEGMENTS || mapped == TUTTI_MAPPED)
        return 0;
    for (int r = 1; call->counts && r < team->size; r++) {
        if (call->counts[r] != call->counts[0])
            return 1;
    }
    return !mapped;
}

static int leaders_run(struct tutti_team *team, const struct tutti_call *call, int *fits, struct leader_way way)
{
    const void *in[TUTTI_MAX_RANKS];
    void *out[TUTTI_MAX_RANKS];
    int mapped, status = tutti_map_buffers(team, call, team->leader ? leader_members(team) : 0, in, out, &mapped);
    *fits = status != TUTTI_OK || !leaders_overwrite(team, call, mapped);
    if (status != TUTTI_OK || !*fits)
        return status;
    if (!mapped)
        return by_pieces(team, call, way);
    if (!team->leader) {
        tutti_phase(TUTTI_PHASE_LEADER);
        return tutti_team_await_done(team, UINT64_C(1) << team->leader_of[team->gpu_index]);
    }
    status = leader_lead(team, call, in, out, way, 1);
    tutti_team_done(team, status);
    return status;
}

static int leader_oneshot_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    return leaders_run(team, call, fits, (struct leader_way){.windows = tutti_oneshot_locals});
}

static int leader_twoshot_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    return leaders_run(team, call, fits, (struct leader_way){.windows = tutti_twoshot_locals});
}

int tutti_leader_flow(struct tutti_team *team, const struct tutti_call *call, int *fits, tutti_flow_shape *shape)
{
    return leaders_run(team, call, fits, (struct leader_way){.flow = shape});
}

const struct tutti_algorithm tutti_reduce_leader = {
    .name = "leader",
    .collectives = TUTTI_ON_REDUCTIONS,
    .kernels = TUTTI_LAUNCHES(DIRECT),
    .maps_buffers = 1,
    .can = leader_can,
    .run = leader_run,
};

const struct tutti_algorithm tutti_reduce_leader_oneshot = {
    .name = "leader_oneshot",
    .collectives = TUTTI_ON(ALLREDUCE),
    .kernels = TUTTI_LAUNCHES(ONESHOT),
    .maps_buffers = 1,
    .waits_for_peers = 1,
    .can = leader_windows_can,
    .run = leader_oneshot_run,
};

const struct tutti_algorithm tutti_reduce_leader_twoshot = {
    .name = "leader_twoshot",
    .collectives = TUTTI_ON(ALLREDUCE),
    .kernels = TUTTI_LAUNCHES(TWOSHOT),
    .maps_buffers = 1,
    .waits_for_peers = 1,
    .can = leader_windows_can,
    .run = leader_twoshot_run,
};
