/* First calls of two ranks that share a GPU: nothing is lent, so short ones stay staged, and calls of many bytes are
 * accelerated once they have lost what the opening takes. Where the ranks take turns there, none is staged through
 * memory that is not pinned, copies from which wait for turns, and no memory is mapped on credit. Argument 0: they do
 * not take turns, as with MPS. Needs TUTTI_STATS=1, and slow mappings. */
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum {
    CALLS = 100,
    REDUCTIONS = 300, /* long ones */
    COUNT = 8192,
    LONG = 1 << 20,
    LONG_CALLS = 60,
    MESSAGES = 12,
    LENGTH = 16000,
    TAG = 5
};
static const char staged_why[] = "first calls of a communicator";
static struct kit_buffer out, in;
static unsigned char data[LONG];

static const unsigned char *contents(int rank, int number, int bytes)
{
    for (int b = 0; b < bytes; b++)
        data[b] = (unsigned char)(rank * 151 + number * 29 + b + b / 251);
    return data;
}

static uint64_t accelerated(const char *call)
{
    return kit_counted(call, "accelerated");
}

static void bcast(int number, int bytes)
{
    char *const at =
        kit_put(kit_rank == 0 ? &out : &in, 0, kit_rank == 0 ? contents(0, number, bytes) : NULL, (size_t)bytes);
    MPI_Bcast(at, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (kit_rank == 1)
        CHECK(memcmp(kit_get(&in, NULL), contents(0, number, bytes), (size_t)bytes) == 0, "broadcast %d is wrong",
              number);
}

static void allreduce(int number, int count)
{
    static long mine[COUNT], sum[COUNT];
    int wrong = 0;
    for (int i = 0; i < count; i++)
        mine[i] = number * 3 + i + kit_rank;
    char *const from = kit_put(&out, 0, mine, (size_t)count * sizeof *mine), *const to =
                                                                                 kit_put(&in, 0, NULL,
                                                                                         (size_t)count * sizeof *sum);
    MPI_Allreduce(from, to, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    memcpy(sum, kit_get(&in, NULL), (size_t)count * sizeof *sum);
    for (int i = 0; i < count; i++)
        wrong += sum[i] != 2L * (number * 3 + i) + 1;
    CHECK(wrong == 0, "sum %d: %d of %d are wrong", number, wrong, count);
}

static void exchange(int number)
{
    char *const from = kit_put(&out, 0, contents(kit_rank, number, LENGTH), LENGTH), *const to =
                                                                                         kit_put(&in, 0, NULL, LENGTH);
    MPI_Sendrecv(from, LENGTH, MPI_BYTE, !kit_rank, TAG, to, LENGTH, MPI_BYTE, !kit_rank, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(memcmp(kit_get(&in, NULL), contents(!kit_rank, number, LENGTH), LENGTH) == 0, "message %d is wrong", number);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int turns = argc > 1 && atoi(argv[1]);
    if (kit_plain || kit_size != 2)
        kit_skip("turns_first", "needs two ranks, and the library in front");
    kit_open(&out, KIT_DEVICE, LONG);
    kit_open(&in, KIT_DEVICE, LONG);
    /* Rank 0 is the first one to meet the GPU, so rank 1 finds it there, and receives alone. */
    char word = 0;
    if (kit_rank == 0)
        MPI_Send(kit_put(&out, 0, &word, 1), 1, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(&word, 1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bcast(0, 8);
    const uint64_t ordinary = kit_counted("bounce buffers", "ordinary");
    CHECK(kit_rank == 0 || (ordinary == 0) == turns, "%llu stages are not pinned", (unsigned long long)ordinary);
    for (int i = 0; i < MESSAGES; i++)
        exchange(i);
    const uint64_t lent = kit_counted("allocations of this rank", "to be mapped on credit");
    CHECK((lent > 0) == !turns, "%llu allocations are mapped on credit", (unsigned long long)lent);
    for (int i = 1; i < CALLS; i++) {
        bcast(i, 8);
        allreduce(i, 1);
    }
    CHECK(kit_counted("MPI_Bcast", staged_why) == CALLS && kit_counted("MPI_Allreduce", staged_why) == CALLS - 1,
          "%llu broadcasts and %llu reductions of %d are staged",
          (unsigned long long)kit_counted("MPI_Bcast", staged_why),
          (unsigned long long)kit_counted("MPI_Allreduce", staged_why), CALLS);
    for (int i = 0; i < REDUCTIONS; i++)
        allreduce(i, COUNT);
    CHECK(accelerated("MPI_Allreduce") > 0 && accelerated("MPI_Allreduce") < REDUCTIONS, "%llu long reductions of %d",
          (unsigned long long)accelerated("MPI_Allreduce"), REDUCTIONS);
    for (int i = 0; i < LONG_CALLS; i++)
        bcast(i, LONG);
    CHECK(accelerated("MPI_Bcast") > 0, "long broadcasts are staged");
    kit_close(&out);
    kit_close(&in);
    return kit_end("turns_first");
}
