#include "mpi/comm/neighbours.h"

#include <stdlib.h>
#include <string.h>

static int neighbours_room_for(struct tutti_neighbours *all, int from, int to)
{
    all->ins = from;
    all->outs = to;
    if (!(all->own = malloc(((size_t)from + (size_t)to + 1) * sizeof(int))))
        return 0;
    all->from = all->own;
    all->to = all->from + from;
    return 1;
}

static int on_a_grid(MPI_Comm comm, struct tutti_neighbours *all)
{
    int dims = 0;
    if (tutti_next.MPI_Cartdim_get(comm, &dims) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    if (!neighbours_room_for(all, 2 * dims, 2 * dims))
        return TUTTI_ERR_MEMORY;
    for (int d = 0; d < dims; d++) {
        if (tutti_next.MPI_Cart_shift(comm, d, 1, &all->from[2 * d], &all->from[2 * d + 1]) != MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
    }
    memcpy(all->to, all->from, 2 * (size_t)dims * sizeof(int));
    return TUTTI_OK;
}

static int in_a_graph(MPI_Comm comm, struct tutti_neighbours *all)
{
    int n = 0, rank;
    if (tutti_next.MPI_Comm_rank(comm, &rank) != MPI_SUCCESS ||
        tutti_next.MPI_Graph_neighbors_count(comm, rank, &n) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    if (!neighbours_room_for(all, n, n))
        return TUTTI_ERR_MEMORY;
    if (tutti_next.MPI_Graph_neighbors(comm, rank, n, all->from) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    memcpy(all->to, all->from, (size_t)n * sizeof(int));
    return TUTTI_OK;
}

static int in_a_directed_graph(MPI_Comm comm, struct tutti_neighbours *all)
{
    int in = 0, out = 0, weighted = 0;
    if (tutti_next.MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    int *weights = malloc(((size_t)in + (size_t)out + 1) * sizeof *weights);
    int status = weights && neighbours_room_for(all, in, out) ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK &&
        tutti_next.MPI_Dist_graph_neighbors(comm, in, all->from, weights, out, all->to, weights + in) != MPI_SUCCESS)
        status = TUTTI_ERR_TRANSPORT;
    free(weights);
    return status;
}

int tutti_neighbours_open(struct tutti_neighbours *neighbours, MPI_Comm comm)
{
    *neighbours = (struct tutti_neighbours){.kind = MPI_UNDEFINED};
    if (comm == tutti_handles.no_comm || tutti_next.MPI_Topo_test(comm, &neighbours->kind) != MPI_SUCCESS)
        return TUTTI_OK;
    switch (neighbours->kind) {
    case MPI_CART:
        return on_a_grid(comm, neighbours);
    case MPI_GRAPH:
        return in_a_graph(comm, neighbours);
    case MPI_DIST_GRAPH:
        return in_a_directed_graph(comm, neighbours);
    default:
        return TUTTI_OK;
    }
}

void tutti_neighbours_close(struct tutti_neighbours *neighbours)
{
    free(neighbours->own);
    *neighbours = (struct tutti_neighbours){.kind = MPI_UNDEFINED};
}
