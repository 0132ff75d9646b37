/* MPIs differ in what meets what where two neighbours are one rank (a grid two ranks wide, a graph with an edge that
 * comes twice): the first block that is sent may be received as the first of that rank's or as the last. So this MPI is
 * asked, by messages of this process to itself. */
#include "mpi/comm/neighbour_order.h"

enum { GRAPH, GRID, KINDS, CALLS = 3, ALLTOALL = TUTTI_COLLECTIVE_NEIGHBOR_ALLTOALL };

/* The number of the block that is received first; TUTTI_QUIRK_ASK: not to be known. */
static int first_received(int call, MPI_Comm comm)
{
    const unsigned char out[2] = {0, 1};
    unsigned char in[2] = {2, 2};
    const int counts[2] = {1, 1}, displs[2] = {0, 1};
    const MPI_Aint places[2] = {0, 1};
    const MPI_Datatype byte = tutti_handles.byte, types[2] = {byte, byte};
    int code = MPI_ERR_OTHER;
    if (call == 0)
        code = tutti_real.MPI_Neighbor_alltoall(out, 1, byte, in, 1, byte, comm);
    else if (call == 1)
        code = tutti_real.MPI_Neighbor_alltoallv(out, counts, displs, byte, in, counts, displs, byte, comm);
    else
        code = tutti_real.MPI_Neighbor_alltoallw(out, counts, places, types, in, counts, places, types, comm);
    return code == MPI_SUCCESS && in[0] < 2 && in[0] + in[1] == 1 ? in[0] : TUTTI_QUIRK_ASK;
}

void tutti_twice_ask(void)
{
    const int one[1] = {1}, self[2] = {0, 0}, weights[2] = {1, 1};
    for (int kind = 0; kind < KINDS; kind++) {
        MPI_Comm comm = tutti_handles.no_comm;
        int code = kind == GRID
                       ? tutti_real.MPI_Cart_create(tutti_handles.self, 1, one, one, 0, &comm)
                       : tutti_real.MPI_Dist_graph_create_adjacent(tutti_handles.self, 2, self, weights, 2, self,
                                                                   weights, tutti_handles.no_info, 0, &comm);
        for (int call = 0; call < CALLS; call++)
            tutti_quirks.last_neighbour_first[kind][call] =
                (signed char)(code == MPI_SUCCESS ? first_received(call, comm) : TUTTI_QUIRK_ASK);
        if (code == MPI_SUCCESS && comm != tutti_handles.no_comm)
            tutti_real.MPI_Comm_free(&comm);
    }
}

int tutti_twice_reversed(int grid, enum tutti_collective collective)
{
    /* Whichever comes first, an allgather's blocks are alike. */
    if (collective < TUTTI_COLLECTIVE_NEIGHBOR_ALLTOALL || collective > TUTTI_COLLECTIVE_NEIGHBOR_ALLTOALLW)
        return 0;
    return tutti_quirks.last_neighbour_first[grid ? GRID : GRAPH][(int)collective - ALLTOALL];
}
