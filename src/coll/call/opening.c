#include "coll/call/opening.h"

#include <stdatomic.h>

#include "coll/move.h"
#include "coll/state.h"
#include "core/lives.h"
#include "core/reasons.h"
#include "core/settings.h"

/* What a staged call loses: two copies and the waits for them, and the bytes. What opening a team takes, one that gets
 * the channel of an earlier team of all its ranks, and an image of kernels. What the first team of a process takes:
 * opening_first.c. */
enum {
    LOST_NS = 25000,
    LOST_BY_TURNS_NS = 2000,
    LOST_SHARED_NS = 2300,
    LOST_BYTES = 2,
    TEAM_NS = 1500000,
    AGAIN_NS = 500000,
    KERNELS_NS = 2000000
};
enum { FETCHED_BYTES = 256 << 10 }; /* longer blocks are fetched, by default */
static atomic_int opened;           /* 1: a team of the process has been opened on a GPU */
static _Atomic uint64_t lost_all;   /* ns that calls of all communicators have lost before */

/* 1: the call may have the first team of the process, see opening_first.c. */
static int opening_is_advanced(int type, int op)
{
    return type == TUTTI_MOVES_TYPE && op == TUTTI_MOVES_OP && !atomic_load_explicit(&opened, memory_order_relaxed);
}

/* ns that this rank would have to spend before the call's kernels can be launched; 0: nothing, or the device is quick.
 */
static uint64_t opening_takes(const struct tutti_team *team, int gpu, int type, int op)
{
    const struct tutti_device *device = tutti_device();
    if (!device || !device->share.usual_ns || device->share.usual_ns() == 0)
        return 0;
    if (team->state == TUTTI_TEAM_CLOSED && opening_is_advanced(type, op))
        return TUTTI_OPENING_ADVANCE_NS;
    if (team->state == TUTTI_TEAM_CLOSED)
        return tutti_team_opens_soon(team, gpu) ? AGAIN_NS : TEAM_NS;
    return device->launch.lacks && team->leader &&
                   device->launch.lacks(team->gpu, tutti_opening_kernel(type, op), type, op)
               ? KERNELS_NS
               : 0;
}

/* 1 if the team is open and has launched kernels of the pair. */
static int opening_is_over(const struct tutti_team *team, int type, int op)
{
    const struct tutti_coll_state *state = tutti_coll_of(team);
    return team->state == TUTTI_TEAM_OPEN &&
           (type == TUTTI_MOVES_TYPE && op == TUTTI_MOVES_OP ? state->moves_prepared : state->prepared[type][op] != 0);
}

int tutti_opening_keeps_order(const struct tutti_team *team, const struct tutti_call *call)
{
    static const unsigned char rounds[TUTTI_TYPES] = {
        [TUTTI_TYPE_F16] = 1, [TUTTI_TYPE_BF16] = 1, [TUTTI_TYPE_F32] = 1,
        [TUTTI_TYPE_F64] = 1, [TUTTI_TYPE_C32] = 1,  [TUTTI_TYPE_C64] = 1};
    return !call->host_ok ||
           (team->size > 2 && rounds[call->type] && (call->op == TUTTI_OP_SUM || call->op == TUTTI_OP_PROD));
}

/* ns that a staged call loses beside one by kernels, but for its bytes. Where several processes work on the GPU it
 * loses little. On one H200 with kernels that take turns MPI_Bcast of 8 bytes takes 8.1 us by hand, 9.4 by kernels,
 * MPI_Allreduce 18 staged, 16 by kernels; with MPS MPI_Allreduce takes 16 by hand, 12.3 by kernels, and its first team
 * with the kernels 9 ms. What Tutti stages itself, in rank order, takes 22 us. */
static uint64_t opening_loses(const struct tutti_team *team, const struct tutti_call *call, int type, int op)
{
    const int moves = type == TUTTI_MOVES_TYPE && op == TUTTI_MOVES_OP;
    if (tutti_gpu_takes_turns(call->gpu))
        return moves ? 0 : LOST_BY_TURNS_NS;
    return !moves && tutti_gpu_is_shared(call->gpu) && !tutti_opening_keeps_order(team, call) ? LOST_SHARED_NS
                                                                                              : LOST_NS;
}

/* 1 if packing kernels fetch the blocks of the call, not kernels that move data. */
static int opening_packs(const struct tutti_call *call)
{
    return call->move && (call->move->runs.packed || call->count > FETCHED_BYTES);
}

/* 1: the process has no team yet, and its calls have not lost what the first one takes, or the device still makes
 * ready for it in the background. The calls of all communicators count: each may have few. */
static int opening_is_early(const struct tutti_team *team, const struct tutti_call *call, int type, int op,
                            uint64_t lost)
{
    if (team->state != TUTTI_TEAM_CLOSED)
        return 0;
    if (atomic_load_explicit(&opened, memory_order_relaxed))
        return 0;
    const uint64_t all = atomic_fetch_add_explicit(&lost_all, lost, memory_order_relaxed) + lost;
    if (!tutti_opening_first_begins(type, op, all))
        return 1;
    return tutti_opening_first_waits(tutti_device(), call->gpu, type, op, opening_packs(call), all);
}

int tutti_opening_waits(struct tutti_team *team, const struct tutti_call *call, int type, int op, uint64_t bytes)
{
    struct tutti_coll_state *state = tutti_coll_of(team);
    if (!call->may_open_later || opening_is_over(team, type, op) ||
        (team->state != TUTTI_TEAM_OPEN && team->state != TUTTI_TEAM_CLOSED))
        return 0;
    const uint64_t takes = opening_takes(team, call->gpu, type, op),
                   set = (uint64_t)tutti_settings()->mapping_price_us * 1000;
    if (takes == 0)
        return 0;
    const uint64_t lost = opening_loses(team, call, type, op) + bytes / LOST_BYTES;
    const int early = !set && opening_is_early(team, call, type, op, lost);
    state->lost_ns += lost;
    if (state->lost_ns < (set ? set : takes) || early) {
        tutti_why_set(TUTTI_REASON_FIRST_CALLS);
        return 1;
    }
    if (team->state == TUTTI_TEAM_OPEN) /* this rank loads the kernels now; a team opens when it pays for all ranks */
        state->lost_ns = 0;
    return 0;
}

void tutti_opening_done(struct tutti_team *team)
{
    tutti_coll_of(team)->lost_ns = 0;
    atomic_store_explicit(&opened, 1, memory_order_relaxed);
}
