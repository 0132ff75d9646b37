#include "mpi/move/mover_blocks.h"

#include "mpi/comm/neighbour_order.h"

#include <stdlib.h>

#include "mpi/comm/neighbours.h"

/* Whom a half of a call goes to, or comes from. */
enum whom { NOBODY, ROOT, ALL, NEIGHBOURS };

struct flow {
    enum whom whom;
    int same; /* the one block goes to all of them */
    int but;  /* this rank is left out; -1: none */
};

struct course {
    struct flow in, out;
    int own_part; /* what this rank sends is its part of what it receives into */
};

/* Of a call with a root: `from` is the half of the ranks that it takes from, the root among them. */
static void rooted(const struct tutti_collective_args *call, int rank, struct course *course)
{
    const int root = rank == call->root;
    switch (call->collective) {
    case TUTTI_COLLECTIVE_BCAST:
        if (root)
            course->in = (struct flow){ALL, 1, rank};
        else
            course->out = (struct flow){ROOT, 1, -1};
        return;
    case TUTTI_COLLECTIVE_GATHER:
    case TUTTI_COLLECTIVE_GATHERV:
        if (!root || call->in.buffer != MPI_IN_PLACE)
            course->in = (struct flow){ROOT, 1, -1};
        if (root)
            course->out = (struct flow){ALL, 0, call->in.buffer == MPI_IN_PLACE ? rank : -1};
        return;
    default: /* the scatters */
        if (root)
            course->in = (struct flow){ALL, 0, call->out.buffer == MPI_IN_PLACE ? rank : -1};
        if (!root || call->out.buffer != MPI_IN_PLACE)
            course->out = (struct flow){ROOT, 1, -1};
    }
}

/* 0 where the MPI has to do it. */
static int course_of(const struct tutti_collective_args *call, int rank, int ranks, struct course *course)
{
    const int in_place = call->in.buffer == MPI_IN_PLACE;
    *course = (struct course){{NOBODY, 0, -1}, {NOBODY, 0, -1}, 0};
    switch (call->collective) {
    case TUTTI_COLLECTIVE_BCAST:
    case TUTTI_COLLECTIVE_GATHER:
    case TUTTI_COLLECTIVE_GATHERV:
    case TUTTI_COLLECTIVE_SCATTER:
    case TUTTI_COLLECTIVE_SCATTERV:
        if (call->root < 0 || call->root >= ranks)
            return 0;
        rooted(call, rank, course);
        return 1;
    case TUTTI_COLLECTIVE_ALLGATHER:
    case TUTTI_COLLECTIVE_ALLGATHERV:
        course->in = (struct flow){ALL, 1, in_place ? rank : -1};
        course->out = (struct flow){ALL, 0, in_place ? rank : -1};
        course->own_part = in_place;
        return 1;
    case TUTTI_COLLECTIVE_ALLTOALL:
    case TUTTI_COLLECTIVE_ALLTOALLV:
    case TUTTI_COLLECTIVE_ALLTOALLW:
        course->in = course->out = (struct flow){ALL, 0, -1};
        return !in_place;
    case TUTTI_COLLECTIVE_NEIGHBOR_ALLGATHER:
    case TUTTI_COLLECTIVE_NEIGHBOR_ALLGATHERV:
        course->in = (struct flow){NEIGHBOURS, 1, -1};
        course->out = (struct flow){NEIGHBOURS, 0, -1};
        return 1;
    default:
        course->in = course->out = (struct flow){NEIGHBOURS, 0, -1};
        return 1;
    }
}

/* ---- neighbours ---- */

static int is_twice(const int *ranks, int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; ranks[i] >= 0 && j < i; j++) {
            if (ranks[i] == ranks[j])
                return 1;
        }
    }
    return 0;
}

/* *order: of several blocks from one rank, if there are any. 0 where the MPI has to do the call. */
static int neighbours_of(const struct tutti_collective_args *call, struct tutti_neighbours *all,
                         enum tutti_neighbour_order *order)
{
    if (tutti_neighbours_open(all, call->comm) != TUTTI_OK || all->kind == MPI_UNDEFINED)
        return 0;
    const int twice = is_twice(all->from, all->ins) || is_twice(all->to, all->outs);
    if (all->kind == MPI_GRAPH && twice)
        return 0;
    const int known = tutti_neighbour_order(all->kind == MPI_CART, call->collective);
    *order = twice && known >= 0 ? (enum tutti_neighbour_order)known : TUTTI_NEIGHBOURS_AS_SENT;
    return known >= 0 || !twice;
}

/* ---- blocks ---- */

static MPI_Count number(const void *array, int i, int wide, size_t size)
{
    if (!wide)
        return ((const int *)array)[i];
    return size == sizeof(MPI_Count) ? ((const MPI_Count *)array)[i] : (MPI_Count)((const MPI_Aint *)array)[i];
}

/* Block i of a half. 0 where the arguments are wrong. */
static int block_of(const struct tutti_half *half, int i, int large, struct tutti_mover_block *out)
{
    MPI_Count lower, extent = 1, place;
    out->type = half->types ? half->types[i] : half->type;
    out->count = half->counts ? number(half->counts, i, large, sizeof(MPI_Count)) : half->count;
    if (out->count < 0 || (out->count > 0 && out->type == tutti_handles.no_type))
        return 0;
    if (out->count > 0 && !half->types && tutti_real.MPI_Type_get_extent_x(out->type, &lower, &extent) != MPI_SUCCESS)
        return 0;
    place = half->displs ? number(half->displs, i, large || half->aint, sizeof(MPI_Aint)) : (MPI_Count)i * half->count;
    out->at = (char *)(uintptr_t)half->buffer + place * extent;
    return 1;
}

/* The n neighbours of one side of this rank; those of one rank are taken in `order`. */
struct side {
    const int *ranks;
    int n;
    enum tutti_neighbour_order order;
};

/* As many blocks as `flow` has partners. Returns their number, or -1. */
static int fill(const struct tutti_collective_args *call, const struct tutti_half *half, const struct flow *flow,
                int ranks, const struct side *side, struct tutti_mover_block *out)
{
    int used = 0;
    if (flow->whom == NOBODY)
        return 0;
    const int n = flow->whom == ROOT ? 1 : flow->whom == ALL ? ranks : side->n;
    for (int next = 0; next < n; next++) {
        struct tutti_mover_block *block = &out[used];
        const int i = flow->whom == NEIGHBOURS ? tutti_neighbour_sent(side->order, next, n) : next;
        int rank = flow->whom == ROOT ? call->root : flow->whom == ALL ? i : side->ranks[i];
        if (rank == flow->but || rank == MPI_PROC_NULL)
            continue;
        if (!block_of(half, flow->same ? 0 : i, call->large, block))
            return -1;
        block->rank = rank;
        used++;
    }
    return used;
}

/* In place, an allgather sends this rank's part of the receive buffer. */
static int own_part(const struct tutti_collective_args *call, int rank, struct tutti_half *out)
{
    struct tutti_mover_block part;
    if (!block_of(&call->out, rank, call->large, &part))
        return 0;
    *out = (struct tutti_half){.buffer = part.at, .count = part.count, .type = part.type};
    return 1;
}

int tutti_mover_blocks_open(struct tutti_mover_blocks *blocks, const struct tutti_collective_args *call, int rank,
                            int ranks)
{
    TUTTI_INSIDE();
    struct tutti_neighbours ring = {.own = NULL};
    enum tutti_neighbour_order order = TUTTI_NEIGHBOURS_AS_SENT;
    struct course course;
    struct tutti_half in = call->in;
    *blocks = (struct tutti_mover_blocks){.own = NULL};
    if (!course_of(call, rank, ranks, &course) || (course.own_part && !own_part(call, rank, &in)))
        return 0;
    int fine = course.in.whom != NEIGHBOURS || neighbours_of(call, &ring, &order);
    size_t most = (size_t)ranks + (size_t)(ring.ins > ring.outs ? ring.ins : ring.outs);
    if (fine && (blocks->own = malloc(2 * most * sizeof *blocks->in)) != NULL) {
        blocks->in = blocks->own;
        blocks->out = blocks->in + most;
        const struct side to = {ring.to, ring.outs, TUTTI_NEIGHBOURS_AS_SENT}, from = {ring.from, ring.ins, order};
        blocks->ins = fill(call, &in, &course.in, ranks, &to, blocks->in);
        blocks->outs = fill(call, &call->out, &course.out, ranks, &from, blocks->out);
        fine = blocks->ins >= 0 && blocks->outs >= 0;
    } else {
        fine = 0;
    }
    tutti_neighbours_close(&ring);
    if (!fine)
        tutti_mover_blocks_close(blocks);
    return fine;
}

void tutti_mover_blocks_close(struct tutti_mover_blocks *blocks)
{
    free(blocks->own);
    *blocks = (struct tutti_mover_blocks){.own = NULL};
}
