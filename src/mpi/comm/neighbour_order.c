/* MPIs differ in which block is received where if two ranks have several edges between them: a grid of dimensions that
 * are one or two ranks wide, a graph with repeated edges. So the MPI is asked, by calls of this process with itself. */
#include "mpi/comm/neighbour_order.h"

enum { GRAPH, GRID, KINDS, FORMS = 2, CALLS = 3, ALLTOALL = TUTTI_COLLECTIVE_NEIGHBOR_ALLTOALL };

/* Edges of this rank to itself: enough to distinguish all orders of enum tutti_neighbour_order. */
enum { DIMS = 2, EDGES = 2 * DIMS };

int tutti_neighbour_sent(enum tutti_neighbour_order order, int place, int places)
{
    return order == TUTTI_NEIGHBOURS_REVERSED  ? places - 1 - place
           : order == TUTTI_NEIGHBOURS_CROSSED ? place ^ 1
                                               : place;
}

/* enum tutti_neighbour_order; TUTTI_QUIRK_ASK: none of them, or no answer. */
static signed char order_of(int nonblocking, int call, MPI_Comm comm)
{
    const unsigned char out[EDGES] = {0, 1, 2, 3};
    unsigned char in[EDGES] = {EDGES, EDGES, EDGES, EDGES};
    const int counts[EDGES] = {1, 1, 1, 1}, displs[EDGES] = {0, 1, 2, 3};
    const MPI_Aint places[EDGES] = {0, 1, 2, 3};
    const MPI_Datatype byte = tutti_handles.byte, types[EDGES] = {byte, byte, byte, byte};
    MPI_Request request = tutti_handles.no_request;
    int code;
#define ASKED(call, ...)                                                                                               \
    (nonblocking ? tutti_next.MPI_Ineighbor_##call(__VA_ARGS__, &request) : tutti_next.MPI_Neighbor_##call(__VA_ARGS__))
    if (call == 0)
        code = ASKED(alltoall, out, 1, byte, in, 1, byte, comm);
    else if (call == 1)
        code = ASKED(alltoallv, out, counts, displs, byte, in, counts, displs, byte, comm);
    else
        code = ASKED(alltoallw, out, counts, places, types, in, counts, places, types, comm);
#undef ASKED
    if (code == MPI_SUCCESS && nonblocking)
        code = tutti_next.MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int order = TUTTI_NEIGHBOURS_AS_SENT; code == MPI_SUCCESS && order <= TUTTI_NEIGHBOURS_CROSSED; order++) {
        int i = 0;
        while (i < EDGES && in[i] == tutti_neighbour_sent((enum tutti_neighbour_order)order, i, EDGES))
            i++;
        if (i == EDGES)
            return (signed char)order;
    }
    return TUTTI_QUIRK_ASK;
}

void tutti_neighbour_order_ask(void)
{
    const int one[DIMS] = {1, 1}, self[EDGES] = {0}, weights[EDGES] = {1, 1, 1, 1};
    for (int kind = 0; kind < KINDS; kind++) {
        MPI_Comm comm = tutti_handles.no_comm;
        int code = kind == GRID
                       ? tutti_next.MPI_Cart_create(tutti_handles.self, DIMS, one, one, 0, &comm)
                       : tutti_next.MPI_Dist_graph_create_adjacent(tutti_handles.self, EDGES, self, weights, EDGES,
                                                                   self, weights, tutti_handles.no_info, 0, &comm);
        for (int i = 0; i < FORMS * CALLS; i++)
            tutti_quirks.neighbour_order[i / CALLS][kind][i % CALLS] =
                code == MPI_SUCCESS ? order_of(i / CALLS, i % CALLS, comm) : TUTTI_QUIRK_ASK;
        if (code == MPI_SUCCESS && comm != tutti_handles.no_comm)
            tutti_next.MPI_Comm_free(&comm);
    }
}

int tutti_neighbour_order(int nonblocking, int grid, enum tutti_collective collective)
{
    /* The blocks that an allgather receives from one rank are alike. */
    if (collective < TUTTI_COLLECTIVE_NEIGHBOR_ALLTOALL || collective > TUTTI_COLLECTIVE_NEIGHBOR_ALLTOALLW)
        return TUTTI_NEIGHBOURS_AS_SENT;
    return tutti_quirks.neighbour_order[nonblocking != 0][grid ? GRID : GRAPH][(int)collective - ALLTOALL];
}
