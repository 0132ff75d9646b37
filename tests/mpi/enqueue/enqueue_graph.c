/* Stream order on a CUDA GPU: graphs captured and replayed, mixed with eager calls; captures beside blocking calls;
 * several streams at once while kernels of the program fill the GPU. Status 77 on other devices.
 *
 *   enqueue_graph replay | beside | full | types | orders
 *
 * TUTTI_TEST_REPLAYS: how many graph launches (5000). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "core/clock.h"
#include "cuda_graph.h"
#include "device/device.h"
#include "gpu_filler.h"
#include "queue.h"
#include "tutti/tutti.h"

enum { SECONDS = 200 };

/* A captured chain: its steps, and the memory that its first one copies from. */
enum { CHAIN = 18 };
struct chain {
    struct queue_step step[CHAIN];
    char *from;
    CUgraphExec exec;
    size_t nodes;
};

static void capture(struct queue *queue, struct chain *chain, int mode)
{
    static const int kinds[CHAIN] = {QUEUE_FRESH,     QUEUE_ALLREDUCE,
                                     QUEUE_COPY,      QUEUE_REDUCE_SCATTER,
                                     QUEUE_BCAST,     QUEUE_ALLGATHER,
                                     QUEUE_SCAN,      QUEUE_ALLREDUCE,
                                     QUEUE_EXSCAN,    QUEUE_BARRIER,
                                     QUEUE_ALLTOALL,  QUEUE_COPY,
                                     QUEUE_REDUCE,    QUEUE_REDUCE_SCATTER_BLOCK,
                                     QUEUE_GATHERV,   QUEUE_SCATTER,
                                     QUEUE_ALLTOALLV, QUEUE_REDUCE_LOCAL};
    void *from = NULL;
    CHECK(tutti_device()->memory.alloc_pinned(queue->elements * 16, &from) == 0, "pinned memory");
    chain->from = from;
    for (int i = 0; i < CHAIN; i++)
        chain->step[i] = queue_draw(queue, kinds[i]);
    CU(cu.BeginCapture(queue->stream, mode));
    for (int i = 0; i < CHAIN; i++)
        queue_put(queue, &chain->step[i], chain->from);
    chain->exec = kit_cuda_captured(queue->stream, &chain->nodes);
    CHECK(chain->nodes >= 2, "a graph of %zu nodes", chain->nodes);
}

static void release(struct chain *chain)
{
    CU(cu.ExecDestroy(chain->exec));
    CHECK(tutti_device()->memory.free_pinned(chain->from) == 0, "pinned memory");
}

/* New contents for the graph's first copy; the stream is idle. */
static void refresh(struct queue *queue, struct chain *chain)
{
    chain->step[0].seed = random_next(&queue->random);
    queue_contents(queue, &chain->step[0], queue->rank, chain->from);
}

static void launch(struct queue *queue, struct chain *chain)
{
    CU(cu.Launch(chain->exec, queue->stream));
    for (int i = 0; i < CHAIN; i++)
        queue_model(queue, &chain->step[i]);
}

static void replay(void)
{
    long replays = check_many("TUTTI_TEST_REPLAYS", 5000), done = 0;
    struct queue queue;
    struct chain chain[2];
    queue_open(&queue, MPI_COMM_WORLD, "cudaStream_t", 257, kit_seed);
    queue_set(&queue, kit_handle_of(TUTTI_TYPE_U32));
    capture(&queue, &chain[0], CAPTURE_GLOBAL);
    capture(&queue, &chain[1], CAPTURE_RELAXED);
    while (done < replays) {
        int burst = 1 + (int)(random_next(&queue.random) % 8), fine;
        refresh(&queue, &chain[0]);
        refresh(&queue, &chain[1]);
        for (int i = 0; i < burst; i++, done++) {
            launch(&queue, &chain[random_next(&queue.random) % 3 == 0]);
            if (random_next(&queue.random) % 4 == 0)
                queue_go(&queue, -1);
        }
        fine = queue_check(&queue, "replayed and eager calls");
        if (!fine && queue.wrong > 5)
            break;
    }
    if (kit_rank == 0)
        printf("%ld replays of graphs of %zu and %zu nodes\n", done, chain[0].nodes, chain[1].nodes);
    release(&chain[0]);
    release(&chain[1]);
    queue_close(&queue);
}

/* While this thread captures in global mode: a blocking reduction on another communicator, its first one, works; one on
 * the captured communicator is refused, and the capture goes on. */
static void beside(void)
{
    enum { COUNT = 1000 };
    struct queue queue;
    struct kit_buffer in, out;
    static int mine[COUNT], got[COUNT];
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    queue_open(&queue, MPI_COMM_WORLD, "tutti_stream", 300, kit_seed + 7);
    for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
        MPI_Comm other;
        int wrong = 0;
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        kit_open(&in, KIT_DEVICE, sizeof mine);
        kit_open(&out, KIT_DEVICE, sizeof mine);
        for (int i = 0; i < COUNT; i++)
            mine[i] = i * (kit_rank + 1) + mode;
        void *to = kit_put(&out, 0, NULL, sizeof mine), *from = kit_put(&in, 0, mine, sizeof mine);
        struct queue_step first = queue_draw(&queue, QUEUE_ALLREDUCE), second = queue_draw(&queue, QUEUE_SCAN);
        CU(cu.BeginCapture(queue.stream, mode));
        queue_put(&queue, &first, NULL);
        int error = MPI_Allreduce(from, to, COUNT, MPI_INT, MPI_SUM, other);
        CHECK(error == MPI_SUCCESS, "blocking beside a capture in mode %d: class %d", mode, kit_class(error));
        error = MPI_Allreduce(from, to, COUNT, MPI_INT, MPI_SUM, queue.comm);
        CHECK(error != MPI_SUCCESS, "a blocking call on the communicator that is captured");
        queue_put(&queue, &second, NULL);
        CU(cu.EndCapture(queue.stream, &graph));
        CU(cu.Instantiate(&exec, graph, 0));
        CU(cu.Launch(exec, queue.stream));
        queue_model(&queue, &first);
        queue_model(&queue, &second);
        queue_check(&queue, "a graph captured beside blocking calls");
        memcpy(got, kit_get(&out, NULL), sizeof got);
        for (int i = 0; i < COUNT; i++)
            wrong += got[i] != i * kit_size * (kit_size + 1) / 2 + mode * kit_size;
        CHECK(wrong == 0, "blocking beside a capture in mode %d: %d wrong", mode, wrong);
        CU(cu.ExecDestroy(exec));
        CU(cu.GraphDestroy(graph));
        kit_close(&in);
        kit_close(&out);
        MPI_Comm_free(&other);
    }
    queue_close(&queue);
}

/* Copies outside any stream while one that waits for the default stream is captured, and while one that does not: they
 * are made, and the capture stays valid. */
static void copies(void)
{
    int *memory = NULL, there[64], back[64];
    CHECK(tutti_alloc(sizeof there, (void **)&memory) == 0, "memory");
    for (unsigned flags = 0; flags < 2; flags++) {
        for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
            CUstream stream = NULL;
            CUgraph graph = NULL;
            for (int i = 0; i < 64; i++)
                there[i] = i * 3 + mode * 100 + (int)flags;
            CU(cu.StreamCreate(&stream, flags));
            CU(cu.BeginCapture(stream, mode));
            CHECK(tutti_copy(memory, there, sizeof there) == 0 && tutti_copy(back, memory, sizeof back) == 0 &&
                      memcmp(there, back, sizeof back) == 0,
                  "copies beside a capture in mode %d, flags %u", mode, flags);
            CU(cu.EndCapture(stream, &graph));
            CU(cu.GraphDestroy(graph));
            CU(cu.StreamDestroy(stream));
        }
    }
    CHECK(tutti_free(memory) == 0, "memory");
}

/* Four communicators on four streams while kernels of the program, of many more blocks than the GPU holds, come one
 * after the other in two streams more and in the queues' own. */
static void full(void)
{
    enum { QUEUES = 4, ROUNDS = 40, STEPS = 30 };
    struct queue queue[QUEUES];
    struct chain chain[QUEUES];
    void *crowd[2];
    uint64_t own = kit_seed * 17 + (unsigned)kit_rank, start = tutti_now_ns();
    for (int l = 0; l < QUEUES; l++) {
        queue_open(&queue[l], MPI_COMM_WORLD, NULL, l == 0 ? 16000 : 2000, kit_seed + (unsigned)l);
        queue_set(&queue[l], kit_handle_of(l % 2 ? TUTTI_TYPE_F32 : TUTTI_TYPE_I64));
        capture(&queue[l], &chain[l], CAPTURE_THREAD);
    }
    CHECK(gpu_filler_open(), "a kernel");
    for (int i = 0; i < 2; i++)
        CHECK(tutti_stream_create(&crowd[i]) == 0, "a stream");
    for (int round = 0; round < ROUNDS; round++) {
        int left[QUEUES], all = QUEUES * STEPS;
        for (int l = 0; l < QUEUES; l++) {
            refresh(&queue[l], &chain[l]);
            left[l] = STEPS;
        }
        while (all > 0) {
            int l = (int)(random_next(&own) % QUEUES);
            if (random_next(&own) % 8 == 0) {
                uint64_t cycles = random_next(&own) % 100000; /* to some 60 us a wave of blocks */
                void *streams[] = {crowd[0], crowd[1], queue[l].stream};
                CU(gpu_filler_put(streams[random_next(&own) % 3], cycles));
            }
            if (left[l] == 0)
                continue;
            if (left[l]-- % 10 == 5)
                launch(&queue[l], &chain[l]);
            else
                queue_go(&queue[l], -1);
            all--;
        }
        for (int l = 0; l < QUEUES; l++)
            queue_check(&queue[l], "on a GPU full of other work");
    }
    if (kit_rank == 0)
        printf("%d calls on %d streams beside other work in %.1f s\n", QUEUES * ROUNDS * STEPS, QUEUES,
               (double)(tutti_now_ns() - start) / 1e9);
    for (int l = 0; l < QUEUES; l++) {
        release(&chain[l]);
        queue_close(&queue[l]);
    }
    for (int i = 0; i < 2; i++)
        CHECK(tutti_stream_sync(crowd[i]) == 0 && tutti_stream_destroy(crowd[i]) == 0, "a stream");
}

/* The default streams can be named too, and a type's first call may be made in a capture. */
static void types(void)
{
    struct queue queue;
    queue_open(&queue, MPI_COMM_WORLD, "cudaStream_t", 500, kit_seed + 3);
    for (int i = 0; i < kit_handle_count; i++) {
        struct chain chain;
        queue_set(&queue, &kit_handles[i]);
        capture(&queue, &chain, CAPTURE_GLOBAL);
        refresh(&queue, &chain);
        launch(&queue, &chain);
        queue_check(&queue, "the first calls of a type, captured");
        release(&chain);
    }
    for (uintptr_t special = 0; special < 3; special++) {
        MPIX_Stream mpix = MPIX_STREAM_NULL;
        MPI_Comm comm = MPI_COMM_NULL;
        int *memory = NULL, mine[2] = {kit_rank + 1, 5}, sum[2] = {0, 0};
        CHECK(queue_name_stream("cudaStream_t", (void *)special, &mpix) == MPI_SUCCESS, "default stream %d",
              (int)special);
        CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &comm) == MPI_SUCCESS, "default stream %d", (int)special);
        CHECK(tutti_alloc(sizeof mine, (void **)&memory) == 0 && tutti_copy(memory, mine, sizeof mine) == 0, "memory");
        int error = MPIX_Allreduce_enqueue(MPI_IN_PLACE, memory, 2, MPI_INT, MPI_SUM, comm);
        MPI_Comm_free(&comm); /* waits for the stream */
        MPIX_Stream_free(&mpix);
        CHECK(tutti_copy(sum, memory, sizeof sum) == 0 && tutti_free(memory) == 0, "memory");
        CHECK(error == MPI_SUCCESS && sum[0] == kit_size * (kit_size + 1) / 2 && sum[1] == 5 * kit_size,
              "default stream %d: class %d, %d and %d", (int)special, kit_class(error), sum[0], sum[1]);
    }
    queue_close(&queue);
}

static void make_two(CUstream second, MPI_Comm comm[2])
{
    CUstream handle[2] = {NULL, second};
    for (int i = 0; i < 2; i++) {
        MPIX_Stream mpix = MPIX_STREAM_NULL;
        CHECK(queue_name_stream("cudaStream_t", handle[i], &mpix) == MPI_SUCCESS, "stream %d", i);
        CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &comm[i]) == MPI_SUCCESS, "communicator %d", i);
        MPIX_Stream_free(&mpix);
    }
}

/* Of the default stream beside another one that waits for it a warning tells, once; of others it does not. */
static void orders(void)
{
    enum { BLOCKING = 0, NON_BLOCKING = 1 };
    static const struct {
        unsigned flags;
        int said;
    } turns[] = {{NON_BLOCKING, 0}, {BLOCKING, 1}, {BLOCKING, 0}};
    for (int turn = 0; turn < 3; turn++) {
        CUstream second = NULL;
        MPI_Comm comm[2];
        CU(cu.StreamCreate(&second, turns[turn].flags));
        capture_start();
        make_two(second, comm);
        int said = capture_count(capture_end(), "one communicator has the default stream");
        CHECK(said == turns[turn].said, "turn %d: a warning %d times", turn, said);
        MPI_Comm_free(&comm[0]);
        MPI_Comm_free(&comm[1]);
        CU(cu.StreamDestroy(second));
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "replay";
    alarm(SECONDS);
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || !queue_possible() || !kit_cuda_open())
        kit_skip("enqueue_graph", "needs a CUDA GPU");
    if (strcmp(what, "replay") == 0)
        replay();
    else if (strcmp(what, "beside") == 0) {
        beside();
        copies();
    } else if (strcmp(what, "full") == 0)
        full();
    else if (strcmp(what, "types") == 0)
        types();
    else if (strcmp(what, "orders") == 0)
        orders();
    return kit_end("enqueue_graph");
}
