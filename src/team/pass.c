/* Handing a descriptor round: every rank of a team gives one to all others, over the sockets of the node. */
#include <string.h>

#include "team/node.h"
#include "team/socket.h"

static const uint64_t pass_id = 0x7061737320697421; /* no allocation's: those count from one */

struct passing {
    struct tutti_team *team;
    int mine, *theirs;
    uint64_t unsent, expected; /* ranks */
};

static int has_passed(void *with)
{
    struct passing *p = with;
    struct tutti_membership *membership = tutti_membership(p->team);
    for (int r = 0; r < p->team->size; r++) {
        const struct tutti_note note = {.id = pass_id,
                                        .slot = (uint32_t)membership->number[r],
                                        .generation = membership->generation[r],
                                        .sequence = p->team->sequence,
                                        .refused = p->mine < 0};
        if (p->unsent >> r & 1 && tutti_socket_give(p->team->node, membership->peer[r], &note, p->mine))
            p->unsent &= ~(UINT64_C(1) << r);
        if (p->expected >> r & 1 &&
            tutti_socket_take(p->team->node, membership->peer[r], membership->number[p->team->rank], p->team->sequence,
                              pass_id, &p->theirs[r]))
            p->expected &= ~(UINT64_C(1) << r);
    }
    return !p->unsent && !p->expected;
}

int tutti_team_pass(struct tutti_team *team, int mine, int theirs[])
{
    struct passing p = {.team = team, .mine = mine, .theirs = theirs};
    for (int r = 0; r < team->size; r++) {
        theirs[r] = -1;
        if (r != team->rank)
            p.unsent |= UINT64_C(1) << r;
    }
    p.expected = p.unsent;
    struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_DESCRIPTOR, p.expected);
    return tutti_await(&w, has_passed, &p);
}
