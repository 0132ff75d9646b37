/* Nonblocking collectives that differ in one argument: root, count, type, operator, a list, or the call itself. Of
 * those that repeat the library keeps what it has found out, which is right for the same call alone. The calls come in
 * random order, all with the same two buffers, and all of what they receive is compared.
 *
 * The last call of a communicator that is freed while the call is open is right for no other communicator, also if the
 * MPI gives another one the same handle. */
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "persistent.h"

enum { INTS = 96, HALF = INTS / 2, FEW = 8, RANKS = 4, ROUNDS = 240, COMMUNICATORS = 8, STARTS = 3 };
enum call {
    BCAST,
    BCAST_LAST,
    BCAST_HALF,
    BCAST_BYTES,
    ALLGATHER,
    ALLGATHER_HALF,
    ALLGATHER_AS_BYTES,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLW,
    GATHER,
    GATHER_HALF,
    GATHER_BYTES,
    SCATTER,
    SCATTER_HALF,
    SCATTER_BYTES,
    SUM,
    MAX,
    SUM_HALF,
    SUM_FLOAT,
    REDUCE,
    REDUCE_LAST,
    PERSISTENT,
    CALLS
};
static const char *const names[CALLS] = {"MPI_Ibcast",
                                         "MPI_Ibcast from the last rank",
                                         "MPI_Ibcast of half",
                                         "MPI_Ibcast of bytes",
                                         "MPI_Iallgather",
                                         "MPI_Iallgather of half",
                                         "MPI_Iallgather as bytes",
                                         "MPI_Iallgatherv",
                                         "MPI_Ialltoall",
                                         "MPI_Ialltoallw",
                                         "MPI_Igather",
                                         "MPI_Igather of half",
                                         "MPI_Igather of bytes",
                                         "MPI_Iscatter",
                                         "MPI_Iscatter of half",
                                         "MPI_Iscatter of bytes",
                                         "MPI_Iallreduce, sum",
                                         "MPI_Iallreduce, maximum",
                                         "MPI_Iallreduce of half",
                                         "MPI_Iallreduce of floats",
                                         "MPI_Ireduce",
                                         "MPI_Ireduce to the last rank",
                                         "a persistent MPI_Bcast"};
static struct kit_buffer out, in;
static int want[INTS * RANKS];
static MPI_Request persistent = MPI_REQUEST_NULL;

/* As a number it is a small positive float too. */
static int value(int rank, int i, int round)
{
    return 0x3f800000 + (rank * 7919 + i * 104729 + round * 1299709) % 0x10000;
}

/* Of rank `rank` in its place i of what it sends. */
static void expect_blocks(int ints, int apart, int round)
{
    for (int from = 0; from < kit_size; from++) {
        for (int i = 0; i < ints; i++)
            want[from * ints + i] = value(from, (apart ? kit_rank * ints : 0) + i, round);
    }
}

static void expect_reduced(enum call call, int ints, int round)
{
    for (int i = 0; i < ints; i++) {
        float floats = 0;
        int sum = 0, most = 0;
        for (int rank = 0; rank < kit_size; rank++) {
            const int one = value(rank, i, round);
            float as_float;
            memcpy(&as_float, &one, sizeof as_float);
            floats = rank == 0 ? as_float : floats + as_float;
            sum = (int)((unsigned)sum + (unsigned)one);
            most = one > most ? one : most;
        }
        if (call == SUM_FLOAT)
            memcpy(&want[i], &floats, sizeof floats);
        else
            want[i] = call == MAX ? most : sum;
    }
}

/* The block in place `at` of what the root sends. */
static void expect_from(int root, int at, size_t bytes, int round)
{
    int data[INTS * RANKS];
    for (int i = 0; i < INTS * RANKS; i++)
        data[i] = value(root, i, round);
    memcpy(want, (const char *)data + (size_t)at * bytes, bytes);
}

/* A block of bytes of each rank, at the root. */
static void expect_gathered(size_t bytes, int round)
{
    int data[INTS];
    for (int from = 0; from < kit_size && kit_rank == 0; from++) {
        for (int i = 0; i < INTS; i++)
            data[i] = value(from, i, round);
        memcpy((char *)want + (size_t)from * bytes, data, bytes);
    }
}

/* Of a block of a gather or scatter. */
static size_t bytes_of(enum call call)
{
    const int half = call == GATHER_HALF || call == SCATTER_HALF, bytes = call == GATHER_BYTES || call == SCATTER_BYTES;
    return bytes ? INTS : sizeof(int) * (half ? HALF : INTS);
}

/* Of the second block of MPI_Iallgatherv. */
static int place_of(int round)
{
    return FEW + round % FEW;
}

/* What the call gives lies in want[]. */
static void expect(enum call call, int round)
{
    const int last = kit_size - 1, root = call == BCAST_LAST || call == REDUCE_LAST ? last : 0;
    switch (call) {
    case BCAST:
    case BCAST_LAST:
    case PERSISTENT:
        expect_from(root, 0, sizeof(int) * INTS, round);
        break;
    case BCAST_HALF:
        expect_from(root, 0, sizeof(int) * HALF, round);
        break;
    case BCAST_BYTES:
        expect_from(root, 0, INTS, round);
        break;
    case ALLGATHER_HALF:
        expect_blocks(HALF, 0, round);
        break;
    case ALLGATHERV:
        for (int at = 0; at < FEW * kit_size; at++)
            want[at / FEW * place_of(round) + at % FEW] = value(at / FEW, at % FEW, round);
        break;
    case ALLGATHER:
    case ALLGATHER_AS_BYTES:
        expect_blocks(INTS, 0, round);
        break;
    case ALLTOALL:
        expect_blocks(INTS, 1, round);
        break;
    case ALLTOALLW:
        for (int from = 0; from < kit_size; from++) {
            int block[FEW];
            for (int i = 0; i < FEW; i++)
                block[i] = value(from, kit_rank * FEW + i, round);
            memcpy(&want[from * FEW], block, round % 2 ? FEW : sizeof block);
        }
        break;
    case GATHER:
    case GATHER_HALF:
    case GATHER_BYTES:
        expect_gathered(bytes_of(call), round);
        break;
    case SCATTER:
    case SCATTER_HALF:
    case SCATTER_BYTES:
        expect_from(root, kit_rank, bytes_of(call), round);
        break;
    default:
        if ((call != REDUCE && call != REDUCE_LAST) || kit_rank == root)
            expect_reduced(call, call == SUM_HALF ? HALF : INTS, round);
    }
}

static MPI_Request start(enum call call, const void *send, void *receive, int round)
{
    static int counts[RANKS], places[RANKS], in_bytes[RANKS];
    static MPI_Datatype types[RANKS];
    MPI_Request request = MPI_REQUEST_NULL;
    const MPI_Comm comm = MPI_COMM_WORLD;
    const int last = kit_size - 1;
    const MPI_Op op = call == MAX ? MPI_MAX : MPI_SUM;
    const MPI_Datatype type = call == GATHER_BYTES || call == SCATTER_BYTES ? MPI_BYTE : MPI_INT;
    const int n = call == GATHER_HALF || call == SCATTER_HALF ? HALF : INTS;
    for (int r = 0; r < kit_size; r++) {
        counts[r] = FEW;
        places[r] = r * place_of(round);
        in_bytes[r] = r * FEW * (int)sizeof(int);
        types[r] = round % 2 ? MPI_BYTE : MPI_INT;
    }
    switch (call) {
    case BCAST:
    case BCAST_LAST:
        MPI_Ibcast(receive, INTS, MPI_INT, call == BCAST ? 0 : last, comm, &request);
        break;
    case BCAST_HALF:
        MPI_Ibcast(receive, HALF, MPI_INT, 0, comm, &request);
        break;
    case BCAST_BYTES:
        MPI_Ibcast(receive, INTS, MPI_BYTE, 0, comm, &request);
        break;
    case ALLGATHER:
        MPI_Iallgather(send, INTS, MPI_INT, receive, INTS, MPI_INT, comm, &request);
        break;
    case ALLGATHER_HALF:
        MPI_Iallgather(send, HALF, MPI_INT, receive, HALF, MPI_INT, comm, &request);
        break;
    case ALLGATHER_AS_BYTES:
        MPI_Iallgather(send, INTS, MPI_INT, receive, INTS * (int)sizeof(int), MPI_BYTE, comm, &request);
        break;
    case ALLGATHERV:
        MPI_Iallgatherv(send, FEW, MPI_INT, receive, counts, places, MPI_INT, comm, &request);
        break;
    case ALLTOALL:
        MPI_Ialltoall(send, INTS, MPI_INT, receive, INTS, MPI_INT, comm, &request);
        break;
    case ALLTOALLW:
        MPI_Ialltoallw(send, counts, in_bytes, types, receive, counts, in_bytes, types, comm, &request);
        break;
    case GATHER:
    case GATHER_HALF:
    case GATHER_BYTES:
        MPI_Igather(send, n, type, kit_rank == 0 ? receive : NULL, kit_rank == 0 ? n : 0,
                    kit_rank == 0 ? type : MPI_INT, 0, comm, &request);
        break;
    case SCATTER:
    case SCATTER_HALF:
    case SCATTER_BYTES:
        MPI_Iscatter(kit_rank == 0 ? send : NULL, kit_rank == 0 ? n : 0, kit_rank == 0 ? type : MPI_INT, receive, n,
                     type, 0, comm, &request);
        break;
    case REDUCE:
    case REDUCE_LAST:
        MPI_Ireduce(send, receive, INTS, MPI_INT, op, call == REDUCE ? 0 : last, comm, &request);
        break;
    case PERSISTENT:
        request = persistent;
        MPI_Start(&request);
        break;
    default:
        MPI_Iallreduce(send, receive, call == SUM_HALF ? HALF : INTS, call == SUM_FLOAT ? MPI_FLOAT : MPI_INT, op, comm,
                       &request);
    }
    return request;
}

static void one(enum call call, int round)
{
    static int data[INTS * RANKS];
    int guards;
    for (int i = 0; i < INTS * kit_size; i++)
        data[i] = value(kit_rank, i, round);
    const void *const send = kit_put(&out, 0, data, sizeof(int) * (size_t)(INTS * kit_size));
    void *const receive = kit_put(&in, 0, data, sizeof(int) * (size_t)(INTS * kit_size));
    memcpy(want, data, sizeof want);
    expect(call, round);
    MPI_Request request = start(call, send, receive, round);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "%s ends with an error", names[call]);
    const char *const got = kit_get(&in, &guards);
    CHECK(memcmp(got, want, sizeof(int) * (size_t)(INTS * kit_size)) == 0 && guards, "%s, round %d: wrong data",
          names[call], round);
}

/* A call that is open, of a communicator that has been freed. */
static MPI_Request pending = MPI_REQUEST_NULL;

/* Calls on a communicator of the ranks in this order or in the reverse one. It is freed while the last one is open,
 * whose request completes when the next communicator is there. */
static void on_own(int reverse, int round)
{
    MPI_Comm comm;
    int first = kit_rank;
    MPI_Comm_split(MPI_COMM_WORLD, 0, reverse ? -kit_rank : kit_rank, &comm);
    MPI_Bcast(&first, 1, MPI_INT, 0, comm); /* the library knows it */
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    for (int i = 0; i < STARTS; i++) {
        int data[INTS];
        for (int k = 0; k < INTS; k++)
            data[k] = value(kit_rank, k, round + i);
        void *const receive = kit_put(&in, 0, data, sizeof data);
        MPI_Ibcast(receive, INTS, MPI_INT, 0, comm, &pending);
        if (i == STARTS - 1)
            break;
        MPI_Wait(&pending, MPI_STATUS_IGNORE);
        expect_from(first, 0, sizeof data, round + i);
        CHECK(memcmp(kit_get(&in, NULL), want, sizeof data) == 0, "a communicator, %s, start %d: wrong data",
              reverse ? "reversed" : "as the world", i);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, getenv("TUTTI_TEST_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (kit_size > RANKS)
        kit_skip("one_differs", "at most four ranks");
    uint64_t state = kit_seed;
    kit_open(&out, KIT_DEVICE, sizeof(int) * INTS * RANKS);
    kit_open(&in, KIT_DEVICE, sizeof(int) * INTS * RANKS);
    const int calls = persistent_there() ? CALLS : PERSISTENT;
    if (calls == CALLS)
        MPI_Bcast_init(kit_put(&in, 0, NULL, sizeof(int) * INTS), INTS, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &persistent);
    for (int call = 0; call < calls; call++) {
        for (int round = 0; round < STARTS; round++)
            one((enum call)call, round);
    }
    for (int round = 0; round < ROUNDS; round++)
        one((enum call)(random_next(&state) % (uint64_t)calls), round);
    for (int i = 0; i < COMMUNICATORS; i++)
        on_own(i & 1, i);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    if (persistent != MPI_REQUEST_NULL)
        MPI_Request_free(&persistent);
    kit_close(&out);
    kit_close(&in);
    return kit_end("one_differs");
}
