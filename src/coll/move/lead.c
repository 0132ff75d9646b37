/* Moves of ranks that share GPUs: each rank offers its buffers and its blocks before it arrives, and its GPU's leader
 * launches. What kernels of runs cannot take where it lies, its rank packs into scratch of its own before it offers
 * that. */
#include "coll/move/lead_own.h"

#include "coll/move/packing.h"
#include "coll/state.h"
#include "core/phases.h"
#include "core/status.h"
#include "dtype/plan.h"

enum {
    LEAD_ALIGN = 256,       /* of each run in the scratch */
    LEAD_MOST = 32 << 20,   /* bytes of scratch; longer runs go in pieces */
    LEAD_LEAST = 256 << 10, /* for a run, where a leader does not know how long runs are */
    LEAD_NOTHING = 2        /* in place of `listed`: the rank has no blocks */
};

static uint64_t lead_round(uint64_t bytes)
{
    return (bytes + LEAD_ALIGN - 1) / LEAD_ALIGN * LEAD_ALIGN;
}

int tutti_lead_can(const struct tutti_team *team, const struct tutti_call *call, tutti_runs_shape *shape)
{
    struct tutti_runs runs;
    if (!call->flow)
        return 0; /* the reason is set */
    if (team->size > TUTTI_MAX_GPUS)
        return TUTTI_NO(MANY_GPUS);
    if (call->count == 0 && tutti_lead_on(call, TUTTI_LEAD_EVEN))
        return TUTTI_NO(RULES);
    const uint64_t bound = tutti_lead_bound(team, call);
    shape(team, bound, &runs);
    return bound <= runs.most || TUTTI_NO(RULES);
}

/* ---- before the arrival ---- */

/* Runs of bytes as messages to pack. NULL: it cannot be had. */
static const struct tutti_plan *lead_plan(struct tutti_team *team)
{
    static const struct tutti_description byte = {.form = TUTTI_FORM_BYTES, .bytes = 1};
    struct tutti_coll_state *state = tutti_coll_of(team);
    const struct tutti_plan *plan;
    if (!state->bytes && tutti_plan_build(&byte, &plan) == TUTTI_OK) {
        if (tutti_coll_hold_plan(team, plan) == TUTTI_OK && tutti_pack_prepare(team->gpu, plan) == TUTTI_OK)
            state->bytes = plan;
        tutti_plan_drop(plan);
    }
    return state->bytes;
}

/* Bytes of scratch for each run: for all of it, if this rank knows the longest, or it was so in earlier calls. */
static uint64_t lead_room(const struct tutti_team *team, const struct tutti_call *call)
{
    const uint64_t most = LEAD_MOST / 2 / (uint64_t)team->gpus / LEAD_ALIGN * LEAD_ALIGN;
    uint64_t room = tutti_lead_bound(team, call);
    if (!tutti_lead_on(call, TUTTI_LEAD_EVEN)) {
        const uint64_t known = tutti_coll_of(team)->lead_longest;
        room = known > room ? known : room;
        room = room > LEAD_LEAST ? room : LEAD_LEAST;
    }
    return room < most ? lead_round(room) : most;
}

/* Takes scratch for what this rank packs, and behind it for a leader's runs, to and from each GPU: *room bytes each. 0:
 * it cannot be had. */
static int lead_take(struct tutti_team *team, const struct tutti_call *call, uint64_t *room)
{
    uint64_t bytes = lead_round(tutti_packing_room(team, call->move));
    *room = team->leader ? lead_room(team, call) : 0;
    bytes += *room * 2 * (uint64_t)team->gpus;
    return (!team->leader || lead_plan(team)) && tutti_coll_spare(team, team->gpu, bytes) == TUTTI_OK;
}

static char *lead_scratch(const struct tutti_team *team)
{
    const struct tutti_coll_state *state = tutti_coll_of(team);
    return state->spares > 0 ? state->spare[state->spares - 1] : NULL;
}

/* Shares what holds the blocks. 0: it is not in one allocation that peers can map. */
static int lead_share(struct tutti_team *team, const struct tutti_lead_buffers *mine, struct tutti_shares *shares)
{
    tutti_team_share(team, mine->in, &shares->in);
    tutti_team_share(team, mine->out, &shares->out);
    return shares->in.shared && shares->out.shared && mine->ins <= shares->in.what.bytes - shares->in.offset &&
           mine->outs <= shares->out.what.bytes - shares->out.offset;
}

void tutti_lead_offer(struct tutti_team *team, const struct tutti_call *call)
{
    struct tutti_lead_buffers mine;
    uint64_t room;
    if (!call->flow || team->size > TUTTI_MAX_GPUS || (call->count == 0 && tutti_lead_on(call, TUTTI_LEAD_EVEN)))
        return;
    struct tutti_listed *list = tutti_team_list(team);
    if (!list || !lead_take(team, call, &room))
        return;
    if (call->move->runs.packed && tutti_runs_pack(team, call->move) != TUTTI_OK)
        return;
    tutti_lead_list(team, call, list, &mine);
    list->room = room;
    struct tutti_shares *shares = tutti_team_offer(team);
    shares->in.shared = shares->out.shared = 0;
    if (!mine.in)
        shares->listed = LEAD_NOTHING;
    else if (lead_share(team, &mine, shares))
        shares->listed = 1;
}

/* ---- the call ---- */

/* 1: all ranks have offered what they have. */
static int lead_offered(const struct tutti_team *team)
{
    int offered = 1;
    for (int r = 0; r < team->size; r++)
        offered &= tutti_team_shares(team, r)->listed != 0;
    return offered;
}

static uint64_t lead_end(const struct tutti_listed_block *blocks, int n)
{
    uint64_t end = 0;
    for (int i = 0; i < n; i++) {
        uint64_t block = blocks[i].bytes > 0 ? blocks[i].at + blocks[i].bytes : 0;
        block = block < blocks[i].bytes ? UINT64_MAX : block; /* no buffer holds it */
        end = block > end ? block : end;
    }
    return end;
}

/* Reads all ranks' blocks, and the room that all leaders have for a run. */
static void lead_look(struct tutti_lead *x)
{
    struct tutti_team *team = x->team;
    for (int r = 0; r < team->size; r++)
        tutti_lead_read(team, x->call, r, &x->rank[r]);
    x->room = UINT64_MAX;
    for (int gpu = 0; gpu < team->gpus; gpu++) {
        const uint64_t room = tutti_team_listed(team, team->leader_of[gpu])->room;
        x->room = room < x->room ? room : x->room;
    }
    x->room = x->room < LEAD_ALIGN ? LEAD_ALIGN : x->room;
    x->longest = tutti_lead_longest(x);
    if (x->longest > tutti_coll_of(team)->lead_longest)
        tutti_coll_of(team)->lead_longest = x->longest;
}

/* Maps the buffers of this GPU's ranks, on its leader. */
static int lead_map(struct tutti_lead *x, int *mapped)
{
    struct tutti_team *team = x->team;
    struct tutti_reach reach[TUTTI_MAX_RANKS];
    uint64_t of = 0;
    for (int r = 0; r < team->size && team->leader; r++) {
        reach[r].in = lead_end(x->rank[r].send, team->size);
        reach[r].out = lead_end(x->rank[r].receive, team->size);
        const int has = tutti_team_shares(team, r)->listed != LEAD_NOTHING;
        of |= (uint64_t)(has && team->gpu_of[r] == team->gpu_index) << r;
    }
    tutti_phase(TUTTI_PHASE_MAPPING);
    return tutti_team_map(team, of, reach, x->in, x->out, mapped);
}

static int lead_run(struct tutti_lead *x, const struct tutti_lead_buffers *mine, tutti_runs_shape *shape)
{
    struct tutti_team *team = x->team;
    if (!team->leader) {
        tutti_phase(TUTTI_PHASE_LEADER);
        return tutti_team_await_done(team, UINT64_C(1) << team->leader_of[team->gpu_index]);
    }
    x->in[team->rank] = mine->in;
    x->out[team->rank] = mine->out;
    x->plan = tutti_coll_of(team)->bytes;
    x->scratch = lead_scratch(team);
    if (x->scratch)
        x->scratch += lead_round(tutti_packing_room(team, x->call->move));
    const int status = tutti_lead_launch(x, shape);
    tutti_team_done(team, status);
    return status;
}

int tutti_lead_run(struct tutti_team *team, const struct tutti_call *call, int *fits, tutti_runs_shape *shape)
{
    struct tutti_lead_buffers mine;
    struct tutti_listed own;
    struct tutti_lead x = {.team = team, .call = call};
    uint32_t all;
    *fits = lead_offered(team);
    if (!*fits) /* no rank may go on, and offer something else, before all have looked */
        return tutti_team_vote(team, 1, &all);
    tutti_lead_list(team, call, &own, &mine);
    if (team->leader)
        lead_look(&x);
    int status = lead_map(&x, fits);
    if (status != TUTTI_OK || !*fits)
        return status;
    status = lead_run(&x, &mine, shape);
    if (status == TUTTI_OK && call->move->runs.packed)
        status = tutti_runs_unpack(team, call->move);
    return status;
}
