/* What goes from one GPU to another is one run of bytes for the kernels: the blocks of the first GPU's ranks, one
 * behind the other. A block that all ranks of the other GPU receive goes there once. Where a run is not in one piece in
 * the ranks' buffers, a packing launch before the kernel makes it, and one behind the kernel hands it out; the launch
 * before also copies what stays on the GPU. */
#include "coll/move/lead.h"

#include <stdlib.h>

#include "coll/state.h"
#include "core/phases.h"
#include "core/status.h"
#include "dtype/pack.h"
#include "dtype/plan.h"

enum {
    LEAD_ALIGN = 256,    /* of each run in the scratch */
    LEAD_MOST = 32 << 20 /* bytes of scratch */
};

#define LEAD_COLLECTIVES                                                                                               \
    (TUTTI_ON(BCAST) | TUTTI_ON(GATHER) | TUTTI_ON(SCATTER) | TUTTI_ON(ALLGATHER) | TUTTI_ON(ALLTOALL))
#define LEAD_FROM_ROOT  (TUTTI_ON(BCAST) | TUTTI_ON(SCATTER))
#define LEAD_SENDS_EACH (TUTTI_ON(SCATTER) | TUTTI_ON(ALLTOALL)) /* another block to each rank */
#define LEAD_TAKES_EACH (TUTTI_ON(GATHER) | TUTTI_ON(ALLGATHER) | TUTTI_ON(ALLTOALL))

static int lead_on(const struct tutti_call *call, uint32_t set)
{
    return (int)(set >> call->collective & 1);
}

static int lead_sends(const struct tutti_call *call, int rank)
{
    return !lead_on(call, LEAD_FROM_ROOT) || rank == call->root;
}

static int lead_takes(const struct tutti_call *call, int rank)
{
    return call->collective != TUTTI_COLLECTIVE_GATHER || rank == call->root;
}

/* ---- this rank's buffers ---- */

struct lead_buffers {
    uint64_t bytes; /* of a block */
    const char *in; /* of a rank that sends nothing, or receives nothing: the other one */
    char *out;
};

/* 1 if a rank's block belongs to those from *base on, which lie `step` bytes apart. */
static int lead_continues(const char **base, const void *at, uint64_t step, int rank)
{
    const char *const first = (const char *)at - step * (uint64_t)rank;
    *base = *base ? *base : first;
    return *base == first;
}

/* 0 where the blocks are not alike and in their order. */
static int lead_read(const struct tutti_team *team, const struct tutti_call *call, struct lead_buffers *mine)
{
    const struct tutti_move_flow *flow = call->flow;
    const char *in = NULL, *out = NULL;
    const uint64_t each = call->count; /* the largest of all */
    const uint64_t sent = lead_on(call, LEAD_SENDS_EACH) ? each : 0, taken = lead_on(call, LEAD_TAKES_EACH) ? each : 0;
    for (int r = 0; r < team->size; r++) {
        const struct tutti_move_send *from = &flow->send[r];
        const struct tutti_move_receive *to = &flow->receive[r];
        if (from->bytes > 0 && (from->bytes != each || !lead_continues(&in, from->at, sent, r)))
            return 0;
        if (to->bytes > 0 && (to->bytes != each || !lead_continues(&out, to->at, taken, r)))
            return 0;
    }
    if (!in && !out)
        return 0;
    const int both = lead_sends(call, team->rank) && lead_takes(call, team->rank);
    const uint64_t rank = both ? (uint64_t)team->rank : 0;
    if (!in) /* nothing is sent, or the own block lies where it is received */
        in = out + taken * rank - sent * rank;
    if (!out)
        out = in + sent * rank - taken * rank;
    *mine = (struct lead_buffers){each, in, (char *)(uintptr_t)out};
    return !both || flow->receive[team->rank].bytes > 0 || in + sent * rank == out + taken * rank;
}

/* ---- what goes from GPU to GPU ---- */

/* Blocks in the run from GPU `from` to GPU `to`. */
static uint64_t lead_blocks(const struct tutti_team *team, const struct tutti_call *call, int from, int to)
{
    uint64_t sources = 0, targets = 0;
    for (int r = 0; r < team->size; r++) {
        sources += (uint64_t)(team->gpu_of[r] == from && lead_sends(call, r));
        targets += (uint64_t)(team->gpu_of[r] == to && lead_takes(call, r));
    }
    return lead_on(call, LEAD_SENDS_EACH) ? sources * targets : targets ? sources : 0;
}

static uint64_t lead_longest(const struct tutti_team *team, const struct tutti_call *call, uint64_t bytes)
{
    uint64_t most = 0;
    for (int from = 0; from < team->gpus; from++) {
        for (int to = 0; to < team->gpus; to++) {
            const uint64_t blocks = from == to ? 0 : lead_blocks(team, call, from, to);
            most = blocks > most ? blocks : most;
        }
    }
    return most * bytes;
}

/* Scratch for the runs in both directions. */
static uint64_t lead_scratch(const struct tutti_team *team, uint64_t longest)
{
    return 2 * (uint64_t)team->gpus * ((longest + LEAD_ALIGN - 1) / LEAD_ALIGN * LEAD_ALIGN);
}

int tutti_lead_can(const struct tutti_team *team, const struct tutti_call *call, tutti_runs_shape *shape)
{
    struct lead_buffers mine;
    struct tutti_runs runs;
    if (!call->flow)
        return 0; /* the reason is set */
    if (!lead_on(call, LEAD_COLLECTIVES) || call->move->runs.packed || !lead_read(team, call, &mine))
        return TUTTI_NO(RULES);
    const uint64_t longest = lead_longest(team, call, mine.bytes);
    shape(team, longest, &runs);
    return (longest <= runs.most && longest <= LEAD_MOST && lead_scratch(team, longest) <= LEAD_MOST) ||
           TUTTI_NO(RULES);
}

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

void tutti_lead_offer(struct tutti_team *team, const struct tutti_call *call)
{
    struct lead_buffers mine;
    if (!call->flow || !lead_on(call, LEAD_COLLECTIVES) || call->move->runs.packed || !lead_read(team, call, &mine))
        return;
    const uint64_t scratch = lead_scratch(team, lead_longest(team, call, mine.bytes));
    if (team->leader &&
        (scratch > LEAD_MOST || !lead_plan(team) || tutti_coll_spare(team, team->gpu, scratch) != TUTTI_OK))
        return;
    struct tutti_shares *shares = tutti_team_offer(team);
    tutti_team_share(team, mine.in, &shares->in);
    tutti_team_share(team, mine.out, &shares->out);
    if (!shares->out.shared) /* one word has the answer */
        shares->in.shared = 0;
}

/* ---- a leader's launches ---- */

struct lead {
    struct tutti_team *team;
    const struct tutti_call *call;
    uint64_t bytes; /* of a block */
    const struct tutti_plan *plan;
    const void *in[TUTTI_MAX_RANKS];
    void *out[TUTTI_MAX_RANKS];
    char *scratch;
    struct tutti_pack_job *before, *after;
    unsigned befores, afters;
    struct tutti_move_flow flow; /* by GPU */
};

static const char *lead_source(const struct lead *x, int from, int to)
{
    return (const char *)x->in[from] + (lead_on(x->call, LEAD_SENDS_EACH) ? x->bytes * (uint64_t)to : 0);
}

static char *lead_target(const struct lead *x, int from, int to)
{
    return (char *)x->out[to] + (lead_on(x->call, LEAD_TAKES_EACH) ? x->bytes * (uint64_t)from : 0);
}

static struct tutti_pack_job lead_copy(const struct lead *x, const char *from, char *to)
{
    return (struct tutti_pack_job){.direction = TUTTI_PACK,
                                   .plan = x->plan,
                                   .count = x->bytes,
                                   .memory = (void *)(uintptr_t)from,
                                   .packed = to,
                                   .bytes = x->bytes};
}

static int lead_takes_on(const struct lead *x, int gpu, int rank)
{
    return x->team->gpu_of[rank] == gpu && lead_takes(x->call, rank);
}

static int lead_sends_on(const struct lead *x, int gpu, int rank)
{
    return x->team->gpu_of[rank] == gpu && lead_sends(x->call, rank);
}

/* The block of a run that goes from rank `from` to rank `to`, or for all on that GPU: the first of them stands for the
 * others. */
static int lead_is_first(const struct lead *x, int gpu, int to)
{
    if (!lead_takes_on(x, gpu, to))
        return 0;
    for (int r = 0; r < to && !lead_on(x->call, LEAD_SENDS_EACH); r++) {
        if (lead_takes_on(x, gpu, r))
            return 0;
    }
    return 1;
}

/* What stays on the GPU. */
static void lead_own(struct lead *x)
{
    const int ranks = x->team->size, gpu = x->team->gpu_index;
    for (int from = 0; from < ranks; from++) {
        for (int to = 0; to < ranks && lead_sends_on(x, gpu, from); to++) {
            const char *source = lead_source(x, from, to);
            if (lead_takes_on(x, gpu, to) && source != lead_target(x, from, to))
                x->before[x->befores++] = lead_copy(x, source, lead_target(x, from, to));
        }
    }
}

/* The run for a GPU. room: in the scratch, if the blocks do not lie one behind the other. */
static void lead_send(struct lead *x, int gpu, char *room)
{
    const int ranks = x->team->size, own = x->team->gpu_index;
    const char *first = NULL;
    const unsigned befores = x->befores;
    uint64_t n = 0;
    int together = 1;
    for (int from = 0; from < ranks; from++) {
        for (int to = 0; to < ranks && lead_sends_on(x, own, from); to++) {
            if (!lead_is_first(x, gpu, to))
                continue;
            const char *source = lead_source(x, from, to);
            first = n == 0 ? source : first;
            together &= source == first + n * x->bytes;
            x->before[x->befores++] = lead_copy(x, source, room + n++ * x->bytes);
        }
    }
    if (together)
        x->befores = befores;
    x->flow.send[gpu] = (struct tutti_move_send){together ? first : room, n * x->bytes};
}

/* The run of a GPU: received where its blocks go first, if that is in one piece. */
static void lead_receive(struct lead *x, int gpu, char *room)
{
    const int ranks = x->team->size, own = x->team->gpu_index;
    char *first = NULL;
    uint64_t n = 0;
    int together = 1;
    for (int from = 0; from < ranks; from++) {
        for (int to = 0; to < ranks && lead_sends_on(x, gpu, from); to++) {
            if (!lead_is_first(x, own, to))
                continue;
            first = n == 0 ? lead_target(x, from, to) : first;
            together &= lead_target(x, from, to) == first + n++ * x->bytes;
        }
    }
    char *const run = together ? first : room;
    x->flow.receive[gpu] = (struct tutti_move_receive){run, n * x->bytes};
    n = 0;
    for (int from = 0; from < ranks; from++) {
        for (int to = 0; to < ranks && lead_sends_on(x, gpu, from); to++) {
            n += (uint64_t)lead_is_first(x, own, to);
            const char *source = run + (n > 0 ? n - 1 : 0) * x->bytes;
            if (lead_takes_on(x, own, to) && source != lead_target(x, from, to))
                x->after[x->afters++] = lead_copy(x, source, lead_target(x, from, to));
        }
    }
}

static void lead_fill(struct lead *x)
{
    const struct tutti_team *team = x->team;
    const uint64_t room = lead_scratch(team, lead_longest(team, x->call, x->bytes)) / 2 / (uint64_t)team->gpus;
    lead_own(x);
    for (int gpu = 0; gpu < team->gpus; gpu++) {
        if (gpu == team->gpu_index)
            continue;
        lead_send(x, gpu, x->scratch + room * (uint64_t)gpu);
        lead_receive(x, gpu, x->scratch + room * (uint64_t)(team->gpus + gpu));
    }
}

static int lead_launch(struct lead *x, tutti_runs_shape *shape)
{
    struct tutti_team *team = x->team;
    struct tutti_call call = *x->call;
    const size_t most = (size_t)team->size * (size_t)team->size;
    call.flow = &x->flow;
    call.near = 0;
    x->before = malloc(2 * most * sizeof *x->before);
    if (!x->before)
        return tutti_team_break(team, TUTTI_ERR_MEMORY); /* peers would wait for this rank's kernel */
    x->after = x->before + most;
    lead_fill(x);
    const struct tutti_runs_around around = {x->before, x->after, x->befores, x->afters};
    tutti_team_mail_leave(team); /* or the launches would wait for it */
    int status = TUTTI_OK;
    if (team->gpus > 1)
        status = tutti_runs_lead(team, &call, &around, shape);
    else if (x->befores > 0)
        status = tutti_pack_reached(team->gpu, x->before, x->befores, 0);
    free(x->before);
    return status == TUTTI_OK ? status : tutti_team_break(team, status);
}

/* ---- the call ---- */

static int lead_shared(const struct tutti_team *team)
{
    int shared = 1;
    for (int r = 0; r < team->size; r++)
        shared &= (int)tutti_team_shares(team, r)->in.shared;
    return shared;
}

/* Maps the buffers of this GPU's ranks, on its leader. */
static int lead_map(struct tutti_team *team, const struct tutti_call *call, struct lead *x, int *mapped)
{
    struct tutti_reach reach[TUTTI_MAX_RANKS];
    uint64_t of = 0;
    for (int r = 0; r < team->size; r++) {
        const uint64_t all = x->bytes * (uint64_t)team->size;
        reach[r].in = !lead_sends(call, r) ? 0 : lead_on(call, LEAD_SENDS_EACH) ? all : x->bytes;
        reach[r].out = !lead_takes(call, r) ? 0 : lead_on(call, LEAD_TAKES_EACH) ? all : x->bytes;
        of |= (uint64_t)(team->leader && team->gpu_of[r] == team->gpu_index) << r;
    }
    tutti_phase(TUTTI_PHASE_MAPPING);
    return tutti_team_map(team, of, reach, x->in, x->out, mapped);
}

int tutti_lead_run(struct tutti_team *team, const struct tutti_call *call, int *fits, tutti_runs_shape *shape)
{
    struct lead_buffers mine;
    struct lead x = {.team = team, .call = call};
    *fits = lead_read(team, call, &mine) && lead_shared(team);
    if (!*fits)
        return TUTTI_OK;
    x.bytes = mine.bytes;
    int status = lead_map(team, call, &x, fits);
    if (status != TUTTI_OK || !*fits)
        return status;
    if (!team->leader) {
        tutti_phase(TUTTI_PHASE_LEADER);
        return tutti_team_await_done(team, UINT64_C(1) << team->leader_of[team->gpu_index]);
    }
    x.in[team->rank] = mine.in;
    x.out[team->rank] = mine.out;
    x.plan = tutti_coll_of(team)->bytes;
    x.scratch = tutti_coll_of(team)->spares > 0 ? tutti_coll_of(team)->spare[tutti_coll_of(team)->spares - 1] : NULL;
    status = lead_launch(&x, shape);
    tutti_team_done(team, status);
    return status;
}
