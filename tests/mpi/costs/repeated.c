/* An allgather among neighbours that have several edges to one rank: a short block goes there several times, and its
 * kernel repeats it. Nothing is packed before, by the library's counters; longer blocks are packed. Needs
 * TUTTI_STATS=1 and packets (TUTTI_RULES). Lengths and offsets are drawn; contents are compared. */
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { MOST = 2048, ROUNDS = 120, EDGES_MOST = 6, REPEATED_MOST = 2048 };
enum call { BLOCKING, NONBLOCKING, BLOCKING_V, NONBLOCKING_V, CALLS };
static const char *const names[CALLS] = {"MPI_Neighbor_allgather", "MPI_Ineighbor_allgather", "MPI_Neighbor_allgatherv",
                                         "MPI_Ineighbor_allgatherv"};
static struct kit_buffer out, in;
static uint64_t state;

/* Below `most`. */
static int below(int most)
{
    return (int)(random_next(&state) % (uint64_t)most);
}

/* `edges` edges from each rank to the other one. */
static MPI_Comm connected(int edges)
{
    int peers[EDGES_MOST], weights[EDGES_MOST];
    MPI_Comm comm;
    for (int i = 0; i < edges; i++) {
        peers[i] = 1 - kit_rank;
        weights[i] = 1;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, edges, peers, weights, edges, peers, weights, MPI_INFO_NULL, 0,
                                   &comm);
    return comm;
}

static int gather(enum call call, const void *from, int bytes, void *to, int edges, MPI_Comm comm)
{
    int counts[EDGES_MOST], places[EDGES_MOST], code;
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < edges; i++) {
        counts[i] = bytes;
        places[i] = i * bytes;
    }
    switch (call) {
    case BLOCKING:
        return MPI_Neighbor_allgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, comm);
    case NONBLOCKING:
        code = MPI_Ineighbor_allgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, comm, &request);
        break;
    case BLOCKING_V:
        return MPI_Neighbor_allgatherv(from, bytes, MPI_BYTE, to, counts, places, MPI_BYTE, comm);
    default:
        code = MPI_Ineighbor_allgatherv(from, bytes, MPI_BYTE, to, counts, places, MPI_BYTE, comm, &request);
    }
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

static unsigned char byte_of(int rank, int round, int at)
{
    return (unsigned char)(rank * 101 + round * 7 + at * 13 + 1);
}

/* 1 if packing kernels were launched. */
static int one(enum call call, int edges, int bytes, int from_offset, int to_offset, int round, MPI_Comm comm)
{
    static unsigned char data[MOST];
    int guards, wrong = 0;
    for (int i = 0; i < bytes; i++)
        data[i] = byte_of(kit_rank, round, i);
    const void *from = kit_put(&out, (size_t)from_offset, data, (size_t)bytes);
    void *to = kit_put(&in, (size_t)to_offset, NULL, (size_t)(edges * bytes));
    const uint64_t before = kit_counted("packing kernels", "launched");
    const int code = gather(call, from, bytes, to, edges, comm);
    const uint64_t launched = kit_counted("packing kernels", "launched") - before;
    const unsigned char *got = (const unsigned char *)kit_get(&in, &guards);
    for (int i = 0; i < edges * bytes; i++)
        wrong += got[i] != byte_of(1 - kit_rank, round, i % bytes);
    CHECK(code == MPI_SUCCESS && wrong == 0 && guards,
          "%s of %d bytes, %d edges, offsets %d, %d: code %d, %d wrong, %s", names[call], bytes, edges, from_offset,
          to_offset, code, wrong, guards ? "" : "a guard has changed");
    return launched > 0;
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("repeated", "needs two ranks, and the library in front");
    state = kit_seed;
    const char *device = getenv("TUTTI_DEVICE");
    const int simulated = device && strcmp(device, "host") == 0;
    kit_open(&out, KIT_DEVICE, MOST);
    kit_open(&in, KIT_DEVICE, EDGES_MOST * MOST);
    for (int edges = 2; edges <= EDGES_MOST; edges++) {
        MPI_Comm comm = connected(edges);
        int packed = 0;
        for (int call = 0; call < CALLS; call++) /* the communicator's teams are opened */
            one((enum call)call, edges, 8, 0, 0, call, comm);
        for (int round = 0; round < ROUNDS / EDGES_MOST; round++) {
            static const int usual[] = {1, 3, 4, 8, 15, 16, 17, 24, 64};
            const int most = REPEATED_MOST / edges;
            const int bytes = round < 9 ? usual[round] : 1 + below(most);
            const int from = below(17), to = below(17);
            for (int call = 0; call < CALLS; call++) {
                const int launched = one((enum call)call, edges, bytes, from, to, round, comm);
                CHECK(!launched, "%s of %d bytes, %d edges: packed before", names[call], bytes, edges);
            }
            packed += one(BLOCKING, edges, most + 1 + below(64), from, to, round, comm);
        }
        /* GPUs may copy instead, which is not counted here. */
        CHECK(packed > 0 || !simulated, "%d edges: no long block was packed", edges);
        MPI_Comm_free(&comm);
    }
    kit_close(&out);
    kit_close(&in);
    return kit_end("repeated");
}
