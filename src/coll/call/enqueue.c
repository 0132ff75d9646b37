/* Calls in stream order: the same rules, for algorithms whose kernels need the host only for the launch. */
#include "coll/algorithm.h"
#include "coll/call/reservation.h"
#include "coll/call/row.h"
#include "coll/move/runs.h"
#include "coll/state.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/status.h"
#include "core/types.h"
#include "dtype/pack.h"
#include "team/deferred_free.h"
#include "team/watcher.h"

static const struct tutti_algorithm *enqueue_can(const struct tutti_team *team, const struct tutti_call *call,
                                                 int algorithm)
{
    const struct tutti_algorithm *row = tutti_algorithms[algorithm];
    return tutti_row_enqueues(row) && tutti_row_can(row, team, call) ? row : NULL;
}

/* The row that runs the call, the same on all ranks; NULL if no row can. */
static const struct tutti_algorithm *enqueue_choose(const struct tutti_team *team, const struct tutti_call *call)
{
    const struct tutti_algorithm *row = NULL;
    const int sections[] = {tutti_rules_section_enqueue(call->collective), tutti_rules_section(call->collective)};
    size_t bytes = call->count * tutti_type_size(call->type);
    int algorithm;
    for (int s = 0; s < 2 && sections[s] >= 0; s++) {
        int from = tutti_rules_begin(tutti_coll_of(team)->rules);
        while (!row && (algorithm = tutti_rules_next_of(sections[s], bytes, team->size, &from)) >= 0)
            row = enqueue_can(team, call, algorithm);
    }
    for (algorithm = 0; algorithm < TUTTI_ALGORITHMS && !row; algorithm++)
        row = enqueue_can(team, call, algorithm);
    return row;
}

int tutti_enqueue(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream, const char **why)
{
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    if (team->state != TUTTI_TEAM_OPEN)
        return TUTTI_ERR_UNAVAILABLE;
    int fault = tutti_team_fault(team);
    if (fault != TUTTI_OK)
        return fault;
    const struct tutti_algorithm *row = enqueue_choose(team, call);
    if (!row)
        return TUTTI_ERR_UNAVAILABLE;
    tutti_prepare(team, call);
    int status = tutti_row_enqueue(row, team, call, stream);
    if (status == TUTTI_OK)
        *why = row->name;
    return status;
}

/* Loads all kernels of the GPU, so that nothing is loaded while a stream is captured or while kernels wait for each
 * other. */
static int enqueue_prepare(struct tutti_team *team)
{
    if (!team->device->launch.prepare)
        return TUTTI_OK;
    uint64_t start = tutti_now_ns();
    for (int type = 0; type < TUTTI_TYPES; type++) {
        for (int op = 0; op < TUTTI_OPS; op++) {
            int status =
                tutti_has_kernel(type, op) ? team->device->launch.prepare(team->gpu, UINT32_MAX, type, op) : TUTTI_OK;
            if (status != TUTTI_OK)
                return status;
            tutti_coll_of(team)->prepared[type][op] = UINT16_MAX;
        }
    }
    int status = tutti_runs_prepare(team);
    if (status == TUTTI_OK)
        status = tutti_pack_prepare(team->gpu, NULL); /* for moves whose types have gaps */
    if (status != TUTTI_OK)
        return status;
    tutti_debug("kernels of GPU %d ready in %.1f ms", team->gpu, (double)(tutti_now_ns() - start) / 1e6);
    return TUTTI_OK;
}

/* Loads the kernels, starts the watcher of the stream, and takes multiprocessors. */
static int enqueue_take_place(struct tutti_team *team)
{
    uint32_t all;
    tutti_deferred_free_hold(team->node);
    tutti_rows_prepare(team, 1);
    int ready = enqueue_prepare(team) == TUTTI_OK && tutti_watcher_add(team) == TUTTI_OK;
    int status = tutti_team_vote(team, (uint32_t)ready, &all);
    team->why = "a rank could not load the kernels, or has no memory or thread to look after them";
    if (status == TUTTI_OK && all) {
        status = tutti_reservation_share(team);
        team->why = "a GPU has no room for the kernels of one more communicator: free others first";
    }
    if (status == TUTTI_OK && all)
        return TUTTI_OK;
    tutti_watcher_remove(team);
    tutti_deferred_free_release(team->node);
    return status != TUTTI_OK ? status : TUTTI_ERR_UNAVAILABLE;
}

int tutti_enqueue_open(struct tutti_team *team, int gpu)
{
    static const struct tutti_call example = {
        .collective = TUTTI_COLLECTIVE_ALLREDUCE, .count = 1, .type = TUTTI_TYPE_F32, .op = TUTTI_OP_SUM};
    int status = TUTTI_OK;
    uint32_t fine;
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    if (!team->whole)
        return TUTTI_ERR_UNAVAILABLE;
    if (team->state == TUTTI_TEAM_CLOSED && (status = tutti_open(team, gpu)) != TUTTI_OK)
        return tutti_team_break(team, status);
    if (team->state != TUTTI_TEAM_OPEN)
        return TUTTI_ERR_UNAVAILABLE;
    if ((status = tutti_team_lines_settle(team)) != TUTTI_OK) /* such calls have no arrivals */
        return status;
    tutti_coll_of(team)->linger.us =
        0; /* a kernel that stays in another stream would count the same epochs as this one */
    status = tutti_team_vote(team, (gpu < 0 || gpu == team->gpu) && team->life == tutti_gpu_life(team->gpu),
                             &fine); /* earlier calls may have opened it elsewhere */
    if (status != TUTTI_OK)
        return status;
    if (!fine)
        team->why = "a stream of another GPU than the communicator's";
    else if (!enqueue_choose(team, &example))
        team->why = "no algorithm in stream order can run on its GPUs";
    else
        return team->share ? TUTTI_OK : enqueue_take_place(team);
    return TUTTI_ERR_UNAVAILABLE;
}
