/* Moves of ranks that share GPUs: what their files share. Private to lead*.c. */
#ifndef TUTTI_COLL_LEAD_OWN_H
#define TUTTI_COLL_LEAD_OWN_H

#include "coll/move/lead.h"
#include "dtype/pack.h"

/* Blocks of one length in the order of ranks, known to all ranks. */
#define TUTTI_LEAD_EVEN                                                                                                \
    (TUTTI_ON(BCAST) | TUTTI_ON(GATHER) | TUTTI_ON(SCATTER) | TUTTI_ON(ALLGATHER) | TUTTI_ON(ALLTOALL))

static inline int tutti_lead_on(const struct tutti_call *call, uint32_t set)
{
    return (int)(set >> call->collective & 1);
}
/* 1: a rank sends all others the same block, which goes to each GPU once. */
static inline int tutti_lead_same(const struct tutti_call *call)
{
    return tutti_lead_on(call, TUTTI_ON(BCAST) | TUTTI_ON(GATHER) | TUTTI_ON(GATHERV) | TUTTI_ON(ALLGATHER) |
                                   TUTTI_ON(ALLGATHERV) | TUTTI_ON(NEIGHBOR_ALLGATHER) | TUTTI_ON(NEIGHBOR_ALLGATHERV));
}

/* ---- which blocks each rank has (lead_blocks.c) ---- */

/* This rank's buffers: where they begin, and the bytes from there on that hold blocks. */
struct tutti_lead_buffers {
    const char *in; /* of a rank that sends nothing, or receives nothing: the other one; NULL: it has no blocks */
    char *out;
    uint64_t ins, outs;
};
/* Local. Writes this rank's blocks into `list`. */
void tutti_lead_list(const struct tutti_team *team, const struct tutti_call *call, struct tutti_listed *list,
                     struct tutti_lead_buffers *mine);
/* Bytes of the longest run from a GPU to another: at least so many as there are in any run of this rank's GPU, and if
 * all blocks have one length exactly the longest of all. */
uint64_t tutti_lead_bound(const struct tutti_team *team, const struct tutti_call *call);

/* By the other rank. */
struct tutti_lead_blocks {
    struct tutti_listed_block send[TUTTI_MAX_GPUS], receive[TUTTI_MAX_GPUS];
};
/* After the arrivals. Copies the blocks of rank r, which has listed them. */
void tutti_lead_read(const struct tutti_team *team, const struct tutti_call *call, int r,
                     struct tutti_lead_blocks *blocks);

/* ---- a leader's launches (lead_runs.c) ---- */

struct tutti_lead {
    struct tutti_team *team;
    const struct tutti_call *call;
    const struct tutti_plan *plan; /* a byte */
    const void *in[TUTTI_MAX_RANKS];
    void *out[TUTTI_MAX_RANKS];
    struct tutti_lead_blocks rank[TUTTI_MAX_GPUS];
    char *scratch;
    uint64_t room;    /* bytes of it for each run to and from each GPU; alike on all leaders */
    uint64_t longest; /* bytes of the longest run; likewise */
};
/* Bytes of the longest run; by blocks of all ranks, so that all leaders find the same. */
uint64_t tutti_lead_longest(const struct tutti_lead *x);
/* Collective over the leaders. A status; the team may be broken. */
int tutti_lead_launch(struct tutti_lead *x, tutti_runs_shape *shape);

#endif
