#include "team/stranded.h"

#include "core/log.h"
#include "team/node.h"
#include "team/watch.h"

/* 1 if the record says all that is needed to make the call: not the segments of a reduce-scatter, nor which data
 * are moved. Half precision never goes to the MPI. */
static int is_plain(const struct tutti_arrival *call)
{
    switch (call->collective) {
    case TUTTI_COLLECTIVE_ALLREDUCE:
    case TUTTI_COLLECTIVE_REDUCE:
    case TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK:
    case TUTTI_COLLECTIVE_SCAN:
    case TUTTI_COLLECTIVE_EXSCAN:
        return call->type >= 0 && call->type < TUTTI_TYPES && call->type != TUTTI_TYPE_F16 &&
               call->type != TUTTI_TYPE_BF16;
    default:
        return 0;
    }
}

void tutti_stranded_release(struct tutti_team *team, const struct tutti_arrival *const all[], uint64_t gone)
{
    const struct tutti_arrival *call = NULL;
    uint64_t in_mpi = 0;
    int fine = 1;
    const struct tutti_membership *membership = tutti_membership(team);
    for (int r = 0; r < team->size; r++) {
        if (!tutti_arrival_leaves(all[r]->kind))
            continue;
        in_mpi |= UINT64_C(1) << r;
        call = call ? call : all[r];
        fine &= tutti_watch_alike(call, all[r]);
    }
    if (!in_mpi || in_mpi >> team->rank & 1 || team->is_nonblocking || !membership->release)
        return;
    if (fine && !(gone & in_mpi) && is_plain(call))
        membership->release(membership->release_with, team, call, in_mpi);
    else
        tutti_team_release(team, in_mpi, 0);
}

void tutti_team_on_release(struct tutti_team *team,
                           void (*release)(void *with, struct tutti_team *team, const struct tutti_arrival *call,
                                           uint64_t in_mpi),
                           void *with)
{
    struct tutti_membership *membership = tutti_membership(team);
    if (!membership)
        return;
    membership->release = release;
    membership->release_with = with;
}

int tutti_team_release(struct tutti_team *team, uint64_t in_mpi, int able)
{
    const uint64_t waits = ~in_mpi & (UINT64_MAX >> (64 - team->size));
    uint32_t all = 0;
    if (tutti_team_vote_among(team, TUTTI_WAITING_VOTE, waits, (uint32_t)able, &all) != TUTTI_OK)
        return 0;
    for (int r = 0; r < team->size && all; r++) {
        if (in_mpi >> r & 1)
            atomic_store(&team->slot[r]->report, (uint32_t)-TUTTI_ERR_MISMATCH);
    }
    if (!all && __builtin_ctzll(waits) == team->rank)
        tutti_error("rank %d waits in the MPI on %s for a call that no other rank makes, and cannot be released",
                    __builtin_ctzll(in_mpi), team->transport->label);
    return all != 0;
}

int tutti_team_take_report(struct tutti_team *team)
{
    return tutti_team_break(team, tutti_status_of_word(atomic_load(&team->slot[team->rank]->report)));
}
