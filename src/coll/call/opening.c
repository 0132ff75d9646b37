#include "coll/call/opening.h"

#include <stdatomic.h>

#include "coll/call/opening_price.h"
#include "coll/move.h"
#include "coll/state.h"
#include "core/lives.h"
#include "core/reasons.h"
#include "core/settings.h"
#include "core/types.h"

enum {
    EMPTY_CALLS = 16, /* a rank that copies nothing knows not what its peers lose: it holds up so many calls */
    OPENS_NOW_US = 1  /* the user's price at which no account is kept: the first call opens */
};
static atomic_int opened; /* 1: a team of the process has been opened on a GPU */

static enum tutti_opening_kind opening_kind(int type, int op)
{
    return type == TUTTI_MOVES_TYPE && op == TUTTI_MOVES_OP ? TUTTI_OPENING_MOVES : TUTTI_OPENING_REDUCES;
}

/* A kernel of the image that the first calls of the pair need: one image has all that move data, another one those of
 * short reductions. */
static int opening_kernel(int type, int op)
{
    return opening_kind(type, op) == TUTTI_OPENING_MOVES ? TUTTI_KERNEL_MOVE_LL : TUTTI_KERNEL_LL;
}

static enum tutti_opening_gpu opening_gpu(int gpu)
{
    return tutti_gpu_takes_turns(gpu) ? TUTTI_OPENING_TURNS
           : tutti_gpu_is_shared(gpu) ? TUTTI_OPENING_BESIDE
                                      : TUTTI_OPENING_ALONE;
}

static enum tutti_opening_team opening_team(const struct tutti_team *team, int gpu)
{
    if (team->state != TUTTI_TEAM_CLOSED)
        return TUTTI_OPENING_NO_TEAM;
    if (!atomic_load_explicit(&opened, memory_order_relaxed))
        return TUTTI_OPENING_FIRST_TEAM;
    return tutti_team_opens_soon(team, gpu) ? TUTTI_OPENING_KNOWN_TEAM : TUTTI_OPENING_NEW_TEAM;
}

/* 1 if this rank is to load the kernels of the pair. */
static int opening_lacks(const struct tutti_team *team, const struct tutti_device *device, int gpu, int type, int op)
{
    if (team->state == TUTTI_TEAM_OPEN && !team->leader)
        return 0;
    return device->launch.lacks &&
           device->launch.lacks(team->state == TUTTI_TEAM_OPEN ? team->gpu : gpu, opening_kernel(type, op), type, op);
}

/* 1 if the team is open and has launched kernels of the pair. */
static int opening_is_over(const struct tutti_team *team, int type, int op)
{
    const struct tutti_coll_state *state = tutti_coll_of(team);
    return team->state == TUTTI_TEAM_OPEN &&
           (opening_kind(type, op) == TUTTI_OPENING_MOVES ? state->moves_prepared : state->prepared[type][op] != 0);
}

int tutti_opening_keeps_order(const struct tutti_team *team, const struct tutti_call *call)
{
    static const unsigned char rounds[TUTTI_TYPES] = {
        [TUTTI_TYPE_F16] = 1, [TUTTI_TYPE_BF16] = 1, [TUTTI_TYPE_F32] = 1,
        [TUTTI_TYPE_F64] = 1, [TUTTI_TYPE_C32] = 1,  [TUTTI_TYPE_C64] = 1};
    return !call->host_ok ||
           (team->size > 2 && rounds[call->type] && (call->op == TUTTI_OP_SUM || call->op == TUTTI_OP_PROD));
}

/* Bytes of the blocks of other ranks. A block that is sent to several ranks is copied once. */
static uint64_t opening_bytes(const struct tutti_move_block *block, int n, int self, int sent)
{
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++) {
        const int again = sent && i > 0 && block[i].elements.buffer == block[i - 1].elements.buffer;
        bytes += block[i].rank != self && (!again || block[i - 1].rank == self) ? block[i].bytes : 0;
    }
    return bytes;
}

static uint64_t opening_loses(const struct tutti_team *team, const struct tutti_call *call, enum tutti_opening_gpu gpu,
                              enum tutti_opening_kind kind)
{
    const struct tutti_move *const move = call->move;
    const size_t each = move ? 1 : tutti_type_size(call->type);
    const uint64_t out = move ? opening_bytes(move->send, move->sends, team->rank, 1) : call->count * each,
                   in = move ? opening_bytes(move->receive, move->receives, team->rank, 0)
                             : tutti_result_of(call, team->rank, team->size).count * each;
    return tutti_opening_loses(gpu, kind, !move && tutti_opening_keeps_order(team, call), out, in);
}

int tutti_opening_waits(struct tutti_team *team, const struct tutti_call *call, int type, int op)
{
    const struct tutti_device *device = tutti_device();
    const enum tutti_opening_kind kind = opening_kind(type, op);
    uint64_t *const lost = &tutti_coll_of(team)->lost_ns[kind];
    const long price_us = tutti_settings()->mapping_price_us;
    if (!call->may_open_later || price_us == OPENS_NOW_US || opening_is_over(team, type, op) ||
        (team->state != TUTTI_TEAM_OPEN && team->state != TUTTI_TEAM_CLOSED) || !device || !device->share.usual_ns ||
        device->share.usual_ns() == 0)
        return 0;
    const enum tutti_opening_gpu gpu = opening_gpu(call->gpu);
    const enum tutti_opening_team what = opening_team(team, call->gpu);
    const int lacks = what == TUTTI_OPENING_FIRST_TEAM || opening_lacks(team, device, call->gpu, type, op);
    if (what == TUTTI_OPENING_NO_TEAM && !lacks)
        return 0;
    const uint64_t due = price_us ? (uint64_t)price_us * 1000 : tutti_opening_due(gpu, kind, what, lacks);
    const uint64_t loses = opening_loses(team, call, gpu, kind);
    *lost += loses ? loses : due / EMPTY_CALLS + 1;
    if (*lost < due) {
        tutti_why_set(TUTTI_REASON_FIRST_CALLS);
        return 1;
    }
    if (team->state == TUTTI_TEAM_OPEN) /* this rank loads the kernels now; a team opens when it pays for all ranks */
        *lost = 0;
    return 0;
}

void tutti_opening_done(void)
{
    atomic_store_explicit(&opened, 1, memory_order_relaxed);
}
