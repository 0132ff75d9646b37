/* What a collective asks the GPU's driver, by the library's counters: once for a buffer in device memory, and at the
 * two ends of a buffer in host memory, for any number of ranks, if the MPI makes the call by way of host memory
 * (argument `staged`) or, of a blocking call, all buffers lie in one kind of memory. Nothing about a buffer that this
 * rank does not use, as all but the root of a gather or scatter.
 *
 * Results are compared, from call to call of other data, in memory that is freed and allocated again between them: what
 * one call has found out must not be believed by the next. Needs TUTTI_STATS=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { ROUNDS = 6, WARM = 40, MOST_RANKS = 8, LONGEST = 4096 };
static const int lengths[] = {4, 64, LONGEST};

static char *from, *to; /* what a call sends and receives */
static int counts[MOST_RANKS], displs[MOST_RANKS];

static void bcast(int bytes)
{
    MPI_Bcast(kit_rank == 0 ? from : to, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void ibcast(int bytes)
{
    MPI_Request request;
    MPI_Ibcast(kit_rank == 0 ? from : to, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void gather(int bytes)
{
    MPI_Gather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void scatter(int bytes)
{
    MPI_Scatter(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void allgather(int bytes)
{
    MPI_Allgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void alltoall(int bytes)
{
    MPI_Alltoall(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void alltoallv(int bytes)
{
    for (int r = 0; r < kit_size; r++) {
        counts[r] = bytes;
        displs[r] = r * bytes;
    }
    MPI_Alltoallv(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE, MPI_COMM_WORLD);
}
static void allreduce(int bytes)
{
    MPI_Allreduce(from, to, bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
}

struct call {
    const char *name;
    void (*run)(int bytes);
    int several; /* 1: a rank receives a block of each rank */
};
static const struct call calls[] = {{"MPI_Bcast", bcast, 0},         {"MPI_Gather", gather, 1},
                                    {"MPI_Scatter", scatter, 0},     {"MPI_Allgather", allgather, 1},
                                    {"MPI_Alltoall", alltoall, 1},   {"MPI_Alltoallv", alltoallv, 1},
                                    {"MPI_Allreduce", allreduce, 0}, {"MPI_Ibcast", ibcast, 0}};

static unsigned char byte_of(int rank, int block, int i, int round)
{
    return (unsigned char)(rank * 31 + block * 7 + i * 3 + round * 11 + (i >> 8));
}

/* Byte i of block b that this rank receives. */
static unsigned char want_of(const struct call *call, int b, int i, int round)
{
    unsigned char all = 0;
    if (call->run == bcast || call->run == ibcast || call->run == scatter)
        return byte_of(0, call->run == scatter ? kit_rank : 0, i, round);
    if (call->run == gather || call->run == allgather)
        return byte_of(b, 0, i, round);
    if (call->run != allreduce)
        return byte_of(b, kit_rank, i, round);
    for (int r = 0; r < kit_size; r++)
        all ^= byte_of(r, 0, i, round);
    return all;
}

static int sends(const struct call *call)
{
    return kit_rank == 0 || (call->run != bcast && call->run != ibcast && call->run != scatter);
}

static int receives(const struct call *call)
{
    if (((call->run == bcast || call->run == ibcast) && kit_rank == 0) || (call->run == gather && kit_rank != 0))
        return 0;
    return call->several ? kit_size : 1;
}

/* Questions about a buffer in such memory, at most. */
static int ends_of(enum kit_kind kind)
{
    return kind == KIT_HOST ? 2 : 1;
}

static uint64_t asked(void)
{
    return kit_counted("GPU driver", "what memory is");
}

/* A call of this round, in new memory of these kinds. Returns the questions that it has asked. */
static uint64_t once(const struct call *call, int bytes, enum kit_kind in, enum kit_kind out, int round)
{
    struct kit_buffer sent, got;
    static char data[MOST_RANKS * LONGEST];
    const int outs = receives(call), room = kit_size * bytes;
    for (int b = 0; b < kit_size; b++) {
        for (int i = 0; i < bytes; i++)
            data[b * bytes + i] = (char)byte_of(kit_rank, b, i, round);
    }
    kit_open(&sent, in, (size_t)room);
    kit_open(&got, out, (size_t)room);
    from = kit_put(&sent, 0, data, (size_t)room);
    memset(data, 0x55, (size_t)room);
    to = kit_put(&got, 0, data, (size_t)room);
    MPI_Barrier(MPI_COMM_WORLD);
    const uint64_t before = asked();
    call->run(bytes);
    const uint64_t after = asked();
    const char *const result = kit_get(&got, NULL);
    int wrong = 0;
    for (int b = 0; b < outs; b++) {
        for (int i = 0; i < bytes; i++)
            wrong += (unsigned char)result[b * bytes + i] != want_of(call, b, i, round);
    }
    CHECK(wrong == 0, "%s of %d bytes, round %d: %d wrong bytes", call->name, bytes, round, wrong);
    kit_close(&sent);
    kit_close(&got);
    return after - before;
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size < 2 || kit_size > MOST_RANKS)
        kit_skip("questions_calls", "needs several ranks, and the library in front");
    const int staged = argc > 1 && strcmp(argv[1], "staged") == 0;
    for (int i = 0; i < WARM; i++)
        once(&calls[3], LONGEST, KIT_DEVICE, KIT_DEVICE, i);
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        for (int kinds = 0; kinds < 4; kinds++) {
            const enum kit_kind in = kinds & 1 ? KIT_HOST : KIT_DEVICE, out = kinds & 2 ? KIT_HOST : KIT_DEVICE;
            for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
                uint64_t most = 0;
                for (int round = 0; round < ROUNDS; round++) {
                    const uint64_t n = once(&calls[c], lengths[l], in, out, round);
                    most = round >= ROUNDS / 2 && n > most ? n : most;
                }
                const uint64_t may = (uint64_t)(sends(&calls[c]) ? ends_of(in) : 0) +
                                     (uint64_t)(receives(&calls[c]) > 0 ? ends_of(out) : 0);
                CHECK(most <= may || ((in != out || calls[c].run == ibcast) && !staged),
                      "%s of %d bytes from %s into %s memory: %llu questions, not %llu", calls[c].name, lengths[l],
                      in == KIT_HOST ? "host" : "device", out == KIT_HOST ? "host" : "device", (unsigned long long)most,
                      (unsigned long long)may);
            }
        }
    }
    return kit_end("questions_calls");
}
