/* Collectives with neighbours of two ranks, each of which has the other one as both neighbours, so that their blocks
 * would be packed. Where the processes take turns on the GPU, the ranks fetch their blocks by copies through pinned
 * memory, since kernels that pack wait for a turn. With one neighbour nothing is packed, and the leader's kernel moves
 * the blocks. Arguments: 1 if they take turns, otherwise kernels move all blocks; "staged": the rules have no row that
 * fetches, so the MPI makes the calls, and each names the reason. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#include "kit.h"

enum { MOST = 64 << 10, TIMES = 12, BLOCKS = 2 };
enum call { ALLGATHER, ALLTOALL, INEIGHBOR, SPACED, SINGLE, CALLS };
static const char *const names[CALLS] = {"MPI_Neighbor_allgather", "MPI_Neighbor_alltoall", "MPI_Ineighbor_allgather",
                                         "MPI_Neighbor_alltoallw", "MPI_Neighbor_allgather"};
static const int lengths[] = {16, 4096, MOST};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static struct kit_buffer out, in;
static unsigned char sent[BLOCKS * MOST], mine[BLOCKS * MOST], right[BLOCKS * MOST];
static MPI_Comm ring, line;
static MPI_Datatype spaced[LENGTHS]; /* half of the bytes */

/* Sends from `from` into `to`. */
static void run(enum call call, int l, const void *from, void *to)
{
    const int bytes = lengths[l], counts[BLOCKS] = {1, 1};
    const MPI_Aint places[BLOCKS] = {0, bytes};
    const MPI_Datatype types[BLOCKS] = {spaced[l], spaced[l]};
    MPI_Request request;
    switch (call) {
    case ALLGATHER:
        MPI_Neighbor_allgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, ring);
        break;
    case ALLTOALL:
        MPI_Neighbor_alltoall(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, ring);
        break;
    case SINGLE:
        MPI_Neighbor_allgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, line);
        break;
    case INEIGHBOR:
        MPI_Ineighbor_allgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, ring, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Neighbor_alltoallw(from, counts, places, types, to, counts, places, types, ring);
    }
}

static int counted_as(enum call call, const char *how)
{
    return (int)kit_counted(names[call], how);
}

static int through(void)
{
    return (int)kit_counted("copies of messages", "through pinned memory");
}

static void one(enum call call, int l, int turns, int staged)
{
    static const char fetches[] = "fetched from each other", reason[] = "ranks share a GPU without MPS";
    const size_t all = (size_t)lengths[l] * BLOCKS;
    const int before = through(), fetched = counted_as(call, fetches), refused = counted_as(call, reason);
    for (int i = 0; i < TIMES; i++) {
        for (size_t b = 0; b < all; b++)
            sent[b] = (unsigned char)(kit_rank * 101 + i * 31 + call * 7 + (int)b + (int)b / 251);
        memset(right, 0x5a, all);
        memset(mine, 0x5a, all);
        run(call, l, sent, right); /* in memory of the host: by the MPI */
        char *const from = kit_put(&out, 0, sent, all), *const to = kit_put(&in, 0, mine, all);
        run(call, l, from, to);
        CHECK(memcmp(kit_get(&in, NULL), right, all) == 0, "%s of %d bytes is wrong", names[call], lengths[l]);
    }
    const int copies = through() - before, took = counted_as(call, fetches) - fetched;
    const int named = counted_as(call, reason) - refused, fetch = turns && !staged && call != SINGLE;
    CHECK(took == (fetch ? TIMES : 0), "%s of %d bytes: %d of %d were fetched", names[call], lengths[l], took, TIMES);
    CHECK(named == (staged && call != SINGLE ? TIMES : 0), "%s of %d bytes: %d of %d rows name turns", names[call],
          lengths[l], named, TIMES);
    if (call != SPACED) /* a kernel fetches those with gaps */
        CHECK(fetch ? copies >= TIMES / 2 : copies == 0, "%s of %d bytes: %d copies", names[call], lengths[l], copies);
}

int main(int argc, char **argv)
{
    const int two = 2, periodic = 1, ends = 0;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("turns_neighbours", "two ranks with the library are needed");
    if (tutti_gpu_count() > 0)
        tutti_gpu_set(kit_rank % tutti_gpu_count());
    const int turns = argc > 1 ? atoi(argv[1]) : 0, staged = argc > 2 && strcmp(argv[2], "staged") == 0;
    kit_open(&out, KIT_DEVICE, sizeof sent);
    kit_open(&in, KIT_DEVICE, sizeof sent);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &two, &periodic, 0, &ring);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &two, &ends, 0, &line);
    for (int l = 0; l < LENGTHS; l++) {
        MPI_Type_vector(lengths[l] / 8, 4, 8, MPI_BYTE, &spaced[l]);
        MPI_Type_commit(&spaced[l]);
    }
    for (int l = 0; l < LENGTHS; l++) /* the teams open, and the allocations become known */
        for (int i = 0; i < TIMES; i++)
            for (int call = 0; call < CALLS; call++)
                run((enum call)call, l, kit_put(&out, 0, sent, sizeof sent), kit_put(&in, 0, mine, sizeof mine));
    for (int call = 0; call < CALLS; call++) {
        for (int l = 0; l < LENGTHS; l++)
            one((enum call)call, l, turns, staged);
    }
    for (int l = 0; l < LENGTHS; l++)
        MPI_Type_free(&spaced[l]);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&line);
    kit_close(&out);
    kit_close(&in);
    return kit_end("turns_neighbours");
}
