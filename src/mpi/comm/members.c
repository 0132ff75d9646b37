/* The ranks of a communicator: their numbers in the world. */
#include <stdlib.h>

#include "mpi/comm/comms.h"
#include "mpi/comm/identity.h"
#include "mpi/real/door.h"

int *tutti_world_ranks(MPI_Comm comm, int *n)
{
    MPI_Group group, world;
    int inter = 0, *out = NULL, *ranks = NULL;
    if (tutti_next.MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        (inter ? tutti_next.MPI_Comm_remote_group(comm, &group) : tutti_next.MPI_Comm_group(comm, &group)) !=
            MPI_SUCCESS)
        return NULL;
    if (tutti_next.MPI_Comm_group(tutti_handles.world, &world) == MPI_SUCCESS) {
        tutti_next.MPI_Group_size(group, n);
        out = malloc((size_t)(*n + 1) * sizeof *out);
        ranks = malloc((size_t)(*n + 1) * sizeof *ranks);
        for (int i = 0; out && ranks && i < *n; i++)
            ranks[i] = i;
        if (!out || !ranks || tutti_next.MPI_Group_translate_ranks(group, *n, ranks, world, out) != MPI_SUCCESS) {
            free(out);
            out = NULL;
        }
        free(ranks);
        tutti_next.MPI_Group_free(&world);
    }
    tutti_next.MPI_Group_free(&group);
    return out;
}

static enum tutti_whose members_with(enum tutti_whose so_far, int rank)
{
    if (rank == MPI_UNDEFINED)
        return TUTTI_OF_OTHERS;
    return so_far == TUTTI_OURS && tutti_node_find(tutti_door.node, rank) < 0 ? TUTTI_OF_NODES : so_far;
}

/* Without memory, rank by rank: all ranks must get the same answer. */
static enum tutti_whose one_by_one(MPI_Comm comm)
{
    enum tutti_whose out = TUTTI_OF_OTHERS;
    MPI_Group group, world;
    int n = 0;
    if (tutti_next.MPI_Comm_group(comm, &group) != MPI_SUCCESS)
        return out;
    if (tutti_next.MPI_Comm_group(tutti_handles.world, &world) == MPI_SUCCESS) {
        tutti_next.MPI_Group_size(group, &n);
        out = TUTTI_OURS;
        for (int r = 0, there = 0; r < n && out != TUTTI_OF_OTHERS; r++) {
            if (tutti_next.MPI_Group_translate_ranks(group, 1, &r, world, &there) != MPI_SUCCESS)
                there = MPI_UNDEFINED;
            out = members_with(out, there);
        }
        tutti_next.MPI_Group_free(&world);
    }
    tutti_next.MPI_Group_free(&group);
    return out;
}

enum tutti_whose tutti_whose_ranks(MPI_Comm comm, int **ranks, int *n)
{
    enum tutti_whose out = TUTTI_OURS;
    *ranks = tutti_world_ranks(comm, n);
    if (!*ranks)
        return one_by_one(comm);
    for (int i = 0; i < *n && out != TUTTI_OF_OTHERS; i++)
        out = members_with(out, (*ranks)[i]);
    return out;
}

/* 1 if the node has all ranks of the world, and the communicator none of another world. */
static int members_are_all_here(MPI_Comm comm)
{
    int all = 0;
    const int here = tutti_node_size(tutti_door.node);
    return here == tutti_node_world_size(tutti_door.node) && tutti_comm_identity(comm) != 0 &&
           tutti_next.MPI_Comm_size(tutti_handles.world, &all) == MPI_SUCCESS && all == here;
}

enum tutti_whose tutti_whose(MPI_Comm comm)
{
    int n = 0, *ranks;
    if (members_are_all_here(comm))
        return TUTTI_OURS;
    const enum tutti_whose out = tutti_whose_ranks(comm, &ranks, &n);
    free(ranks);
    return out;
}
