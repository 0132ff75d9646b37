/* Reductions by the row engines, beside calls in a stream that shares a hardware queue with the row's own streams.
 *
 *   shared_queues blocked   a rank has put two calls into a stream before a blocking reduction, the other one does the
 *                           same after it, for every queue in which the row's streams of the reduction are
 *   shared_queues mixed     all ranks but one have another communicator with a stream, so they alone put all work of
 *                           a reduction into one stream
 *
 * Needs the simulated GPUs' queues: TUTTI_HOST_QUEUES. */
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "device/host/queues.h"
#include "queue.h"
#include "tutti/tutti.h"

enum { N = 600000, ROUNDS = 4 };

/* A communicator with a stream, and memory for its calls. */
struct beside {
    void *stream;
    MPIX_Stream mpix;
    MPI_Comm comm;
};

static struct kit_buffer in, out;
static void *from, *to; /* what is in them now */
static int values[N], gpu;

static void beside_open(struct beside *b, MPI_Comm parent)
{
    CHECK(tutti_stream_create(&b->stream) == 0, "a stream");
    CHECK(queue_name_stream(NULL, b->stream, &b->mpix) == MPI_SUCCESS, "a stream of MPI");
    CHECK(MPIX_Stream_comm_create(parent, b->mpix, &b->comm) == MPI_SUCCESS, "a communicator with a stream");
}

static void beside_close(struct beside *b)
{
    CHECK(MPI_Comm_free(&b->comm) == MPI_SUCCESS, "MPI_Comm_free");
    CHECK(MPIX_Stream_free(&b->mpix) == MPI_SUCCESS, "MPIX_Stream_free");
    CHECK(tutti_stream_destroy(b->stream) == 0, "tutti_stream_destroy");
}

static void contribute(int round)
{
    for (int i = 0; i < N; i++)
        values[i] = i * (kit_rank + 1) + round;
    from = kit_put(&in, 0, values, sizeof values);
    to = kit_put(&out, 0, NULL, sizeof values);
}

/* This rank's block of the sum. */
static void compare(const char *what, int round)
{
    const int n = N / kit_size, *got = (const int *)(const void *)kit_get(&out, NULL);
    for (int i = 0; i < n; i++) {
        const int at = kit_rank * n + i, want = at * kit_size * (kit_size + 1) / 2 + kit_size * round;
        if (!CHECK(got[i] == want, "%s, round %d: element %d is %d, not %d", what, round, i, got[i], want))
            break;
    }
}

static void reduce(MPI_Comm comm, int round)
{
    contribute(round);
    CHECK(MPI_Reduce_scatter_block(from, to, N / kit_size, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS,
          "MPI_Reduce_scatter_block");
    compare("blocking", round);
}

static void put(const struct beside *b, int *memory)
{
    for (int i = 0; i < 2; i++)
        CHECK(MPIX_Allreduce_enqueue(memory, memory + 2, 1, MPI_INT, MPI_SUM, b->comm) == MPI_SUCCESS,
              "MPIX_Allreduce_enqueue");
}

/* The numbers of streams that are made here: the first one is the communicator's own, then those of the row. */
static void blocked(int queues, int *memory)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const unsigned before = tutti_host_queue_next(gpu);
    for (int round = 0; round < ROUNDS; round++)
        reduce(comm, round);
    const unsigned after = tutti_host_queue_next(gpu);
    CHECK(after - before > 2 && after - before < (unsigned)queues, "%u streams were made", after - before - 1);
    for (unsigned number = before + 2; number < after; number++) {
        struct beside b;
        while ((tutti_host_queue_next(gpu) + 1 - number) % (unsigned)queues != 0)
            ;
        beside_open(&b, MPI_COMM_WORLD);
        if (kit_rank == 0)
            put(&b, memory);
        reduce(comm, (int)number);
        if (kit_rank != 0)
            put(&b, memory);
        CHECK(tutti_stream_sync(b.stream) == 0, "the stream");
        beside_close(&b);
    }
    MPI_Comm_free(&comm);
}

static void mixed(int *memory)
{
    struct beside all, own;
    MPI_Comm some;
    MPI_Comm_split(MPI_COMM_WORLD, kit_rank < kit_size - 1 ? 0 : MPI_UNDEFINED, 0, &some);
    beside_open(&all, MPI_COMM_WORLD);
    for (int round = 0; round < 3 * ROUNDS; round++) {
        if (round == ROUNDS && some != MPI_COMM_NULL)
            beside_open(&own, some);
        if (round == 2 * ROUNDS)
            beside_close(&all);
        if (round < 2 * ROUNDS) {
            contribute(round);
            CHECK(MPIX_Reduce_scatter_block_enqueue(from, to, N / kit_size, MPI_INT, MPI_SUM, all.comm) == MPI_SUCCESS,
                  "MPIX_Reduce_scatter_block_enqueue");
            CHECK(tutti_stream_sync(all.stream) == 0, "the stream");
            compare("in stream order", round);
        } else {
            reduce(MPI_COMM_WORLD, round);
        }
    }
    if (some != MPI_COMM_NULL) {
        put(&own, memory);
        beside_close(&own);
        MPI_Comm_free(&some);
    }
}

int main(int argc, char **argv)
{
    void *memory = NULL;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const char *part = argc > 1 ? argv[1] : "blocked", *queues = getenv("TUTTI_HOST_QUEUES");
    if (!queue_possible() || !queues)
        kit_skip("shared_queues", "needs hardware queues of simulated GPUs");
    gpu = kit_rank;
    CHECK(tutti_device()->gpu.choose(gpu) == 0, "no GPU of its own");
    kit_open(&in, KIT_DEVICE, sizeof values);
    kit_open(&out, KIT_DEVICE, sizeof values);
    CHECK(tutti_alloc(64, &memory) == 0, "memory");
    if (strcmp(part, "blocked") == 0)
        blocked(atoi(queues), memory);
    else
        mixed(memory);
    CHECK(tutti_free(memory) == 0, "memory");
    kit_close(&in);
    kit_close(&out);
    return kit_end("shared_queues");
}
