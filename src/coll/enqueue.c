/* Calls in stream order: the same rules, of algorithms whose kernels need nothing of the host but the launch. */
#include "coll/algorithm.h"
#include "core/status.h"
#include "core/types.h"

static const struct tutti_algorithm *can(const struct tutti_team *team, const struct tutti_reduce *call, int algorithm)
{
    const struct tutti_algorithm *row = &tutti_algorithms[algorithm];
    return row->enqueue && row->can(team, call) ? row : NULL;
}

/* The row that runs the call, the same on all ranks; NULL where none can. */
static const struct tutti_algorithm *choose(const struct tutti_team *team, const struct tutti_reduce *call)
{
    const struct tutti_algorithm *row = NULL;
    enum tutti_section sections[] = {tutti_rules_section_enqueue(call->collective),
                                     tutti_rules_section(call->collective)};
    size_t bytes = call->count * tutti_type_size(call->type);
    int algorithm;
    for (int s = 0; s < 2 && sections[s] != TUTTI_SECTIONS; s++) {
        int from = team->rules;
        while (!row && (algorithm = tutti_rules_next(sections[s], bytes, &from)) >= 0)
            row = can(team, call, algorithm);
    }
    for (algorithm = 0; algorithm < TUTTI_ALGORITHMS && !row; algorithm++)
        row = can(team, call, algorithm);
    return row;
}

int tutti_enqueue(struct tutti_team *team, const struct tutti_reduce *call, struct tutti_stream *stream,
                  const char **why)
{
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    if (team->state != TUTTI_TEAM_OPEN)
        return TUTTI_ERR_UNAVAILABLE;
    int fault = tutti_team_fault(team);
    if (fault != TUTTI_OK)
        return fault;
    const struct tutti_algorithm *row = choose(team, call);
    if (!row)
        return TUTTI_ERR_UNAVAILABLE;
    tutti_prepare(team, call);
    int status = row->enqueue(team, call, stream);
    if (status == TUTTI_OK)
        *why = row->name;
    return status;
}

int tutti_enqueue_open(struct tutti_team *team, int gpu)
{
    static const struct tutti_reduce example = {
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
    team->linger.us = 0; /* a kernel that stays in another stream would count epochs beside those of this one */
    status = tutti_team_vote(team, gpu < 0 || gpu == team->gpu, &fine); /* calls before may have opened it elsewhere */
    if (status != TUTTI_OK)
        return status;
    if (!fine)
        team->why = "a stream of another GPU than the communicator's";
    else if (!choose(team, &example))
        team->why = "no algorithm in stream order can run on its GPUs";
    else
        return TUTTI_OK;
    return TUTTI_ERR_UNAVAILABLE;
}
