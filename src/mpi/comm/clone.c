#include "mpi/comm/clone.h"

#include <stdlib.h>

#include "mpi/comm/neighbours.h"
#include "mpi/real/errors.h"

enum { KEEP_RANKS = 0 }; /* no reordering: a rank keeps its number of `comm` */

static int clone_no_memory(MPI_Comm comm)
{
    return tutti_fail_comm(comm, MPI_ERR_NO_MEM);
}

static int grid_alike(MPI_Comm comm, MPI_Comm *own)
{
    int dims = 0, code = tutti_next.MPI_Cartdim_get(comm, &dims);
    if (code != MPI_SUCCESS)
        return code;
    const size_t each = (size_t)dims + 1;           /* never NULL */
    int *extent = calloc(3 * each, sizeof *extent); /* extents, then periods, then places */
    if (!extent)
        return clone_no_memory(comm);
    int *const periodic = extent + each;
    code = tutti_next.MPI_Cart_get(comm, dims, extent, periodic, periodic + each);
    if (code == MPI_SUCCESS)
        code = tutti_next.MPI_Cart_create(comm, dims, extent, periodic, KEEP_RANKS, own);
    free(extent);
    return code;
}

static int graph_alike(MPI_Comm comm, MPI_Comm *own)
{
    int nodes = 0, edges = 0, code = tutti_next.MPI_Graphdims_get(comm, &nodes, &edges);
    if (code != MPI_SUCCESS)
        return code;
    int *ends = calloc((size_t)nodes + (size_t)edges + 1, sizeof *ends);
    if (!ends)
        return clone_no_memory(comm);
    int *const edge = ends + nodes;
    code = tutti_next.MPI_Graph_get(comm, nodes, edges, ends, edge);
    if (code == MPI_SUCCESS)
        code = tutti_next.MPI_Graph_create(comm, nodes, ends, edge, KEEP_RANKS, own);
    free(ends);
    return code;
}

/* Weights are for reordering alone: all edges have weight 0 here. */
static int directed_graph_alike(MPI_Comm comm, const struct tutti_neighbours *all, MPI_Comm *own)
{
    const int most = all->ins > all->outs ? all->ins : all->outs;
    int *weights = calloc((size_t)most + 1, sizeof *weights);
    if (!weights)
        return clone_no_memory(comm);
    int code = tutti_next.MPI_Dist_graph_create_adjacent(comm, all->ins, all->from, weights, all->outs, all->to,
                                                         weights, tutti_handles.no_info, KEEP_RANKS, own);
    free(weights);
    return code;
}

static int ring_alike(MPI_Comm comm, MPI_Comm *own)
{
    struct tutti_neighbours all;
    int code, status = tutti_neighbours_open(&all, comm);
    if (status != TUTTI_OK)
        code = tutti_fail_comm(comm, tutti_error_code(status));
    else if (all.kind == MPI_CART)
        code = grid_alike(comm, own);
    else if (all.kind == MPI_GRAPH)
        code = graph_alike(comm, own);
    else
        code = directed_graph_alike(comm, &all, own);
    tutti_neighbours_close(&all);
    return code;
}

int tutti_comm_clone(MPI_Comm comm, int neighbours, MPI_Comm *own)
{
    int rank, kind = MPI_UNDEFINED;
    TUTTI_INSIDE();
    int code = tutti_next.MPI_Comm_rank(comm, &rank);
    if (code == MPI_SUCCESS && neighbours)
        code = tutti_next.MPI_Topo_test(comm, &kind);
    if (code != MPI_SUCCESS)
        return code;
    return kind == MPI_UNDEFINED ? tutti_next.MPI_Comm_split(comm, 0, rank, own) : ring_alike(comm, own);
}
