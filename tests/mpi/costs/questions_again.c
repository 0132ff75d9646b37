/* What nonblocking collectives that repeat ask the GPU's driver, by the library's counters: once for each buffer of the
 * rank, as the starting call leaves the question to the library's thread.
 *
 * Between the calls the memory of a buffer is freed and allocated again, of either kind, maybe at the same address:
 * what one call has found out must not be believed by the next. Needs TUTTI_STATS=1, and rules by which packets carry
 * the data. */
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { WARM = 4, ROUNDS = 8, CHANGES = 6, MOST_RANKS = 8, LONGEST = 4096 };
static const int lengths[] = {4, 64, LONGEST};
static char *from, *to;
static MPI_Request request;

static void bcast(int bytes)
{
    MPI_Ibcast(kit_rank == 0 ? from : to, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
}
static void gather(int bytes)
{
    MPI_Igather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
}
static void scatter(int bytes)
{
    MPI_Iscatter(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
}
static void allgather(int bytes)
{
    MPI_Iallgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
}
static void alltoall(int bytes)
{
    MPI_Ialltoall(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
}
static void allreduce(int bytes)
{
    MPI_Iallreduce(from, to, bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD, &request);
}

static const struct call {
    const char *name;
    void (*run)(int bytes);
    int buffers; /* of a rank that has both */
} calls[] = {{"MPI_Ibcast", bcast, 1},         {"MPI_Igather", gather, 2},     {"MPI_Iscatter", scatter, 2},
             {"MPI_Iallgather", allgather, 2}, {"MPI_Ialltoall", alltoall, 2}, {"MPI_Iallreduce", allreduce, 2}};

static char byte_of(int rank, int block, int i, int round)
{
    return (char)(rank * 31 + block * 7 + i * 3 + round * 11 + (i >> 8));
}

static uint64_t asked(void)
{
    return kit_counted("GPU driver", "what memory is");
}

/* Byte i of block b that this rank receives; -1: none. */
static int want_of(const struct call *call, int b, int i, int round)
{
    if (call->run == bcast || call->run == scatter)
        return b > 0 || (call->run == bcast && kit_rank == 0)
                   ? -1
                   : (unsigned char)byte_of(0, call->run == scatter ? kit_rank : 0, i, round);
    if (call->run == gather && kit_rank != 0)
        return -1;
    if (call->run == allreduce) {
        unsigned char all = 0;
        for (int r = 0; r < kit_size; r++)
            all ^= (unsigned char)byte_of(r, 0, i, round);
        return b > 0 ? -1 : all;
    }
    return (unsigned char)byte_of(b, call->run == alltoall ? kit_rank : 0, i, round);
}

/* Returns the questions of the call. */
static uint64_t once(const struct call *call, int bytes, struct kit_buffer *sent, struct kit_buffer *got, int round)
{
    static char data[MOST_RANKS * LONGEST];
    const int room = kit_size * bytes;
    int wrong = 0;
    for (int b = 0; b < kit_size; b++) {
        for (int i = 0; i < bytes; i++)
            data[b * bytes + i] = byte_of(kit_rank, b, i, round);
    }
    from = kit_put(sent, 0, data, (size_t)room);
    memset(data, 0x55, (size_t)room);
    to = kit_put(got, 0, data, (size_t)room);
    MPI_Barrier(MPI_COMM_WORLD);
    const uint64_t before = asked();
    call->run(bytes);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const uint64_t after = asked();
    const char *const result = kit_get(got, NULL);
    for (int b = 0; b < kit_size; b++) {
        for (int i = 0; i < bytes; i++) {
            const int want = want_of(call, b, i, round);
            wrong += want >= 0 && (unsigned char)result[b * bytes + i] != want;
        }
    }
    CHECK(wrong == 0, "%s of %d bytes, round %d: %d wrong bytes", call->name, bytes, round, wrong);
    return after - before;
}

/* Calls of the same buffers. */
static void repeated(const struct call *call, int bytes, enum kit_kind kind, int counts)
{
    struct kit_buffer sent, got;
    uint64_t most = 0;
    kit_open(&sent, kind, (size_t)(kit_size * bytes));
    kit_open(&got, KIT_DEVICE, (size_t)(kit_size * bytes));
    for (int round = 0; round < WARM + ROUNDS; round++) {
        const uint64_t n = once(call, bytes, &sent, &got, round);
        most = round >= WARM && n > most ? n : most;
    }
    CHECK(!counts || most <= (uint64_t)call->buffers, "%s of %d bytes: %llu questions of a call, of %d buffers",
          call->name, bytes, (unsigned long long)most, call->buffers);
    kit_close(&sent);
    kit_close(&got);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size < 2 || kit_size > MOST_RANKS)
        kit_skip("questions_again", "needs several ranks, and the library in front");
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            repeated(&calls[c], lengths[l], KIT_DEVICE, 1);
            for (int change = 0; change < CHANGES; change++)
                repeated(&calls[c], lengths[l], change % 2 ? KIT_DEVICE : KIT_HOST, 0);
        }
    }
    return kit_end("questions_again");
}
