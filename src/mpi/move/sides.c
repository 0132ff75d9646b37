#include "mpi/move/sides.h"

void tutti_role_of(struct tutti_role *role, MPI_Comm comm, int root)
{
    *role = (struct tutti_role){.rank = -1};
    if (comm == tutti_handles.no_comm || tutti_real.MPI_Comm_test_inter(comm, &role->inter) != MPI_SUCCESS)
        return;
    tutti_real.MPI_Comm_rank(comm, &role->rank);
    if (role->inter) {
        tutti_real.MPI_Comm_remote_size(comm, &role->peers);
        role->root = root == MPI_ROOT ? 1 : root == MPI_PROC_NULL ? -1 : 0;
    } else {
        tutti_real.MPI_Comm_size(comm, &role->peers);
        role->root = root == role->rank;
    }
}

/* ---- one side ---- */

/* Goes to the MPI as the program gave it. */
static struct tutti_side unused(const struct tutti_half *half)
{
    return (struct tutti_side){.buffer = (void *)(uintptr_t)half->buffer,
                               .displs = half->displs,
                               .type = half->type,
                               .types = half->types,
                               .only = -1};
}

/* `n` blocks. */
static struct tutti_side blocks(const struct tutti_collective_args *args, const struct tutti_half *half, int n, int way)
{
    struct tutti_side side = unused(half);
    const int told = !half->counts || half->displs; /* what is missing there the MPI finds */
    side.n = told ? n : 0;
    side.count = half->count;
    side.counts = half->counts;
    side.large = args->large;
    side.aint = half->aint;
    side.way = way;
    return side;
}

/* The same, as one block where they lie behind each other. */
static struct tutti_side run(const struct tutti_collective_args *args, const struct tutti_half *half, int n, int way)
{
    struct tutti_side side = blocks(args, half, n, way);
    if (!half->counts) {
        side.n = n > 0;
        side.count = half->count > 0 && n > 0 ? half->count * n : half->count;
    }
    return side;
}

/* ---- both, by collective ---- */

static void bcast(const struct tutti_collective_args *args, const struct tutti_role *role, struct tutti_sides *sides)
{
    if (role->root == 1)
        sides->in = run(args, &args->in, 1, TUTTI_STAGE_IN);
    if (role->root == 0)
        sides->out = run(args, &args->out, 1, TUTTI_STAGE_OUT);
}

/* 1 where this rank brings, or gets, a part of its own. The root of another group has none, nor have those beside it.
 */
static int has_part(const struct tutti_role *role)
{
    return role->root == 0 || (role->root == 1 && !role->inter);
}

/* In place the root's own part is where it arrives; on the others sendbuf is never MPI_IN_PLACE. */
static void gather(const struct tutti_collective_args *args, const struct tutti_role *role, struct tutti_sides *sides)
{
    if (has_part(role))
        sides->in = run(args, &args->in, 1, TUTTI_STAGE_IN);
    if (role->root == 1 && args->in.buffer == MPI_IN_PLACE) {
        sides->out = blocks(args, &args->out, role->peers, TUTTI_STAGE_OUT);
        sides->out.only = role->rank;
    } else if (role->root == 1) {
        sides->out = run(args, &args->out, role->peers, TUTTI_STAGE_OUT);
    }
}

static void scatter(const struct tutti_collective_args *args, const struct tutti_role *role, struct tutti_sides *sides)
{
    if (role->root == 1)
        sides->in = run(args, &args->in, role->peers, TUTTI_STAGE_IN);
    if (has_part(role))
        sides->out = run(args, &args->out, 1, TUTTI_STAGE_OUT);
}

static void allgather(const struct tutti_collective_args *args, const struct tutti_role *role,
                      struct tutti_sides *sides)
{
    const int in_place = args->in.buffer == MPI_IN_PLACE;
    sides->in = run(args, &args->in, !in_place, TUTTI_STAGE_IN);
    if (in_place) {
        sides->out = blocks(args, &args->out, role->peers, TUTTI_STAGE_OUT);
        sides->out.only = role->rank;
    } else {
        sides->out = run(args, &args->out, role->peers, TUTTI_STAGE_OUT);
    }
    if (args->collective == TUTTI_COLLECTIVE_ALLGATHER)
        sides->in.as_bytes = sides->out.as_bytes = tutti_quirks.allgather_init_drops_types;
}

static void alltoall(const struct tutti_collective_args *args, const struct tutti_role *role, struct tutti_sides *sides)
{
    const int in_place = args->in.buffer == MPI_IN_PLACE;
    sides->in = run(args, &args->in, in_place ? 0 : role->peers, TUTTI_STAGE_IN);
    sides->out = run(args, &args->out, role->peers, in_place ? TUTTI_STAGE_IN | TUTTI_STAGE_OUT : TUTTI_STAGE_OUT);
}

/* From each neighbour; some may be nobody. */
static struct tutti_side from_neighbours(const struct tutti_collective_args *args, const struct tutti_neighbours *ring)
{
    int all_there = !args->out.counts;
    for (int i = 0; i < ring->ins; i++)
        all_there &= ring->from[i] != MPI_PROC_NULL;
    if (all_there)
        return run(args, &args->out, ring->ins, TUTTI_STAGE_OUT);
    struct tutti_side side = blocks(args, &args->out, ring->ins, TUTTI_STAGE_OUT);
    side.peers = ring->from;
    return side;
}

static void neighbour_allgather(const struct tutti_collective_args *args, struct tutti_sides *sides)
{
    sides->in = run(args, &args->in, sides->ring.outs > 0, TUTTI_STAGE_IN);
    sides->out = from_neighbours(args, &sides->ring);
}

static void neighbour_alltoall(const struct tutti_collective_args *args, struct tutti_sides *sides)
{
    sides->in = run(args, &args->in, sides->ring.outs, TUTTI_STAGE_IN);
    sides->out = from_neighbours(args, &sides->ring);
}

int tutti_sides_open(struct tutti_sides *sides, const struct tutti_collective_args *args)
{
    struct tutti_role role = {.rank = -1};
    *sides = (struct tutti_sides){.in = unused(&args->in), .out = unused(&args->out)};
    if (args->collective < TUTTI_COLLECTIVE_NEIGHBOR_ALLGATHER) {
        tutti_role_of(&role, args->comm, args->root);
    } else {
        int status = tutti_neighbours_open(&sides->ring, args->comm);
        if (status != TUTTI_OK)
            return status;
    }
    switch (args->collective) {
    case TUTTI_COLLECTIVE_BCAST:
        bcast(args, &role, sides);
        return TUTTI_OK;
    case TUTTI_COLLECTIVE_GATHER:
    case TUTTI_COLLECTIVE_GATHERV:
        gather(args, &role, sides);
        return TUTTI_OK;
    case TUTTI_COLLECTIVE_SCATTER:
    case TUTTI_COLLECTIVE_SCATTERV:
        scatter(args, &role, sides);
        return TUTTI_OK;
    case TUTTI_COLLECTIVE_ALLGATHER:
    case TUTTI_COLLECTIVE_ALLGATHERV:
        allgather(args, &role, sides);
        return TUTTI_OK;
    case TUTTI_COLLECTIVE_ALLTOALL:
    case TUTTI_COLLECTIVE_ALLTOALLV:
    case TUTTI_COLLECTIVE_ALLTOALLW:
        alltoall(args, &role, sides);
        return TUTTI_OK;
    case TUTTI_COLLECTIVE_NEIGHBOR_ALLGATHER:
    case TUTTI_COLLECTIVE_NEIGHBOR_ALLGATHERV:
        neighbour_allgather(args, sides);
        return TUTTI_OK;
    default:
        neighbour_alltoall(args, sides);
        return TUTTI_OK;
    }
}

void tutti_sides_close(struct tutti_sides *sides)
{
    tutti_neighbours_close(&sides->ring);
}
