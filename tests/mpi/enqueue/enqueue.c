/* Reductions in stream order: every call, type and operator against the oracle, long chains without a wait in between,
 * several communicators on several streams in other orders on other ranks, mixed with blocking calls, and lives of
 * streams and communicators.
 *
 *   enqueue calls | chain | queues | life | alone | behind | frees | exchanges */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "mpi/gpus/gpu.h"
#include "queue.h"
#include "tutti/tutti.h"

/* Each legal pair of type and operator with each call, in place or not, copies of the stream before and after. */
static void calls(void)
{
    struct queue queue;
    const long every = check_every("TUTTI_TEST_EVERY", 1); /* each pair and each call, but not all of both together */
    long cells = 0;
    queue_open(&queue, MPI_COMM_WORLD, NULL, 1031, kit_seed); /* larger ones: chain */
    for (int i = 0; i < kit_pair_count; i++) {
        char when[128];
        if (i == 0 || kit_pairs[i].handle != kit_pairs[i - 1].handle)
            queue_set(&queue, kit_pairs[i].handle);
        for (int kind = QUEUE_ALLREDUCE; kind < QUEUE_BARRIER; kind++) {
            if ((i + kind + kit_size) % every != 0)
                continue;
            struct queue_step step = queue_draw(&queue, kind);
            step.op = kit_pairs[i].op;
            queue_go(&queue, QUEUE_FRESH);
            queue_put(&queue, &step, NULL);
            queue_model(&queue, &step);
            snprintf(when, sizeof when, "%s, %zu elements, %s%s", queue_names[kind], step.count,
                     oracle_op_name(step.op), step.in_place ? ", in place" : "");
            cells++;
            queue_check(&queue, when); /* a rank that left would leave the others waiting */
        }
    }
    if (kit_rank == 0)
        printf("%ld calls\n", cells);
    queue_close(&queue);
}

/* Long chains: what a step makes, a later one uses, and nobody waits until the end. Then small calls in a row. */
static void chain(void)
{
    static const int elements[] = {TUTTI_TYPE_I32, TUTTI_TYPE_F64, TUTTI_TYPE_U8, TUTTI_TYPE_F32};
    struct queue queue;
    queue_open(&queue, MPI_COMM_WORLD, NULL, 20011, kit_seed + 1);
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 16), row = check_many("TUTTI_TEST_CALLS", 1000);
    for (long round = 0; round < rounds; round++) {
        queue_set(&queue, kit_handle_of(elements[round % 4]));
        for (int i = 0; i < 100; i++)
            queue_go(&queue, -1);
        queue_check(&queue, "a chain");
    }
    queue_set(&queue, kit_handle_of(TUTTI_TYPE_I64));
    for (long i = 0; i < row; i++) {
        struct queue_step step = queue_draw(&queue, QUEUE_ALLREDUCE + (int)i % (QUEUE_KINDS - QUEUE_ALLREDUCE));
        step.count = step.count % 33;
        for (int r = 0; r < queue.size; r++)
            step.counts[r] %= 33;
        queue_put(&queue, &step, NULL);
        queue_model(&queue, &step);
    }
    queue_check(&queue, "calls in a row");
    queue_close(&queue);
}

/* A blocking reduction of device memory, checked. */
static void blocking(MPI_Comm comm, int salt, const char *what)
{
    enum { COUNT = 300 };
    static struct kit_buffer in, out;
    static int mine[COUNT], got[COUNT];
    int size, rank, wrong = 0;
    if (!in.base) {
        kit_open(&in, KIT_DEVICE, sizeof mine);
        kit_open(&out, KIT_DEVICE, sizeof mine);
    }
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < COUNT; i++)
        mine[i] = rank * 1000 + salt + i;
    void *to = kit_put(&out, 0, NULL, sizeof mine);
    int error = MPI_Allreduce(kit_put(&in, 0, mine, sizeof mine), to, COUNT, MPI_INT, MPI_SUM, comm);
    memcpy(got, kit_get(&out, NULL), sizeof got);
    for (int i = 0; i < COUNT; i++)
        wrong += got[i] != size * (size - 1) / 2 * 1000 + size * (salt + i);
    CHECK(error == MPI_SUCCESS && wrong == 0, "MPI_Allreduce %s: class %d, %d wrong", what, kit_class(error), wrong);
}

/* Each rank puts the steps of the queues in an order of its own. */
static void queues(void)
{
    enum { QUEUES = 4, STEPS = 40 };
    const int rounds = (int)check_many("TUTTI_TEST_ROUNDS", 12);
    struct queue queue[QUEUES];
    MPI_Comm reversed;
    uint64_t own = kit_seed * 31 + (unsigned)kit_rank;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -kit_rank, &reversed);
    blocking(MPI_COMM_WORLD, 0, "before queues"); /* its memory is allocated before streams wait for other ranks */
    for (int l = 0; l < QUEUES; l++) {
        queue_open(&queue[l], l % 2 ? reversed : MPI_COMM_WORLD, NULL, 5003, kit_seed + 100 + (unsigned)l);
        queue_set(&queue[l], kit_handle_of(l % 2 ? TUTTI_TYPE_F32 : TUTTI_TYPE_U64));
    }
    for (int round = 0; round < rounds; round++) {
        int left[QUEUES], all = QUEUES * STEPS, blocked = 0;
        for (int l = 0; l < QUEUES; l++)
            left[l] = STEPS;
        while (all > 0) {
            int l = (int)(random_next(&own) % QUEUES);
            if (left[l] == 0)
                continue;
            queue_go(&queue[l], -1);
            left[l]--;
            all--;
            if (random_next(&own) % 32 == 0 && blocked < 3)
                blocking(MPI_COMM_WORLD, round * 10 + blocked++, "of the world, beside queues");
        }
        while (blocked < 3)
            blocking(MPI_COMM_WORLD, round * 10 + blocked++, "of the world, beside queues");
        for (int l = 0; l < QUEUES; l++)
            queue_check(&queue[l], "queues in any order");
        /* On the queue's own communicator a blocking call comes after what is in its stream. */
        struct queue *some = &queue[round % QUEUES];
        queue_go(some, QUEUE_ALLREDUCE);
        queue_go(some, QUEUE_SCAN);
        blocking(some->comm, round, "on a communicator with a stream");
        CHECK(tutti_device()->active(), "the device has gone");
        queue_go(some, QUEUE_ALLREDUCE);
        blocking(some->comm, round + 1, "on a communicator with a stream");
        queue_check(some, "mixed with blocking calls on the same communicator");
    }
    for (int l = 0; l < QUEUES; l++)
        queue_close(&queue[l]);
    MPI_Comm_free(&reversed);
}

/* A blocking call sees the result of a call before it in the stream. */
static void ordered(struct queue *queue)
{
    enum { COUNT = 50000 };
    int *host = malloc(COUNT * sizeof *host), wrong = 0;
    struct kit_buffer a, b;
    kit_open(&a, KIT_DEVICE, COUNT * sizeof *host);
    kit_open(&b, KIT_DEVICE, COUNT * sizeof *host);
    for (int i = 0; i < COUNT; i++)
        host[i] = i + queue->rank;
    void *in = kit_put(&a, 0, host, COUNT * sizeof *host), *out = kit_put(&b, 0, NULL, COUNT * sizeof *host);
    int error = MPIX_Allreduce_enqueue(in, out, COUNT, MPI_INT, MPI_MAX, queue->comm);
    error |= MPI_Allreduce(MPI_IN_PLACE, out, COUNT, MPI_INT, MPI_SUM, queue->comm);
    memcpy(host, kit_get(&b, NULL), COUNT * sizeof *host);
    for (int i = 0; i < COUNT; i++)
        wrong += host[i] != (i + queue->size - 1) * queue->size;
    CHECK(error == MPI_SUCCESS && wrong == 0, "a blocking call after an enqueued one: class %d, %d wrong",
          kit_class(error), wrong);
    kit_close(&a);
    kit_close(&b);
    free(host);
}

static void life(void)
{
    enum { MANY = 60, ALIVE = 6 };
    struct queue queue;
    MPI_Comm dup, plain = MPI_COMM_NULL;
    queue_open(&queue, MPI_COMM_WORLD, NULL, 1000, kit_seed + 2);
    ordered(&queue);
    /* A duplicate has no stream. */
    MPI_Comm_dup(queue.comm, &dup);
    int error = kit_errors_returned() ? MPIX_Barrier_enqueue(dup) : MPI_ERR_COMM;
    CHECK(kit_class(error) == MPI_ERR_COMM, "a duplicate has a stream: class %d", kit_class(error));
    MPI_Comm_free(&dup);
    /* No stream on all ranks: a plain duplicate. */
    error = MPIX_Stream_comm_create(MPI_COMM_WORLD, MPIX_STREAM_NULL, &plain);
    CHECK(error == MPI_SUCCESS && plain != MPI_COMM_NULL, "MPIX_STREAM_NULL: class %d", kit_class(error));
    blocking(plain, 3, "on a plain duplicate");
    MPI_Comm_free(&plain);
    if (kit_size > 1 && kit_errors_returned()) {
        error = MPIX_Stream_comm_create(MPI_COMM_WORLD, kit_rank ? queue.mpix : MPIX_STREAM_NULL, &plain);
        CHECK(kit_class(error) == MPI_ERR_ARG && plain == MPI_COMM_NULL, "some ranks without a stream: class %d",
              kit_class(error));
    }
    /* Many after each other, some at once; freed with work in the stream, the MPIX_Stream before the communicator. */
    MPI_Comm ring[ALIVE] = {MPI_COMM_NULL};
    void *memory = NULL;
    CHECK(tutti_alloc(4096, &memory) == 0, "tutti_alloc");
    for (int i = 0; i < MANY + ALIVE; i++) {
        MPI_Comm *comm = &ring[i % ALIVE];
        MPIX_Stream stream = MPIX_STREAM_NULL;
        if (i >= ALIVE)
            MPI_Comm_free(comm);
        if (i >= MANY)
            continue;
        CHECK(queue_name_stream(NULL, queue.stream, &stream) == MPI_SUCCESS, "a stream can be named once only");
        error = MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, comm);
        if (!CHECK(error == MPI_SUCCESS, "communicator %d: class %d", i, kit_class(error)))
            MPI_Abort(MPI_COMM_WORLD, 1);
        CHECK(MPIX_Stream_free(&stream) == MPI_SUCCESS && stream == MPIX_STREAM_NULL, "MPIX_Stream_free");
        for (int k = 0; k < 3; k++)
            error |= MPIX_Allreduce_enqueue(MPI_IN_PLACE, memory, 1024, MPI_UNSIGNED, MPI_BXOR, *comm);
        CHECK(error == MPI_SUCCESS, "calls on communicator %d: class %d", i, kit_class(error));
    }
    tutti_stream_sync(queue.stream);
    tutti_free(memory);
    for (int i = 0; i < 50; i++)
        queue_go(&queue, -1);
    queue_check(&queue, "after others have come and gone");
    queue_close(&queue);
}

/* A communicator of one rank: copies. */
static void alone(void)
{
    struct queue queue;
    queue_open(&queue, MPI_COMM_SELF, NULL, 3000, kit_seed + 3 + (unsigned)kit_rank);
    for (int i = 0; i < kit_handle_count; i++) {
        queue_set(&queue, &kit_handles[i]);
        for (int k = 0; k < 40; k++)
            queue_go(&queue, -1);
        queue_check(&queue, "one rank");
    }
    queue_close(&queue);
}

/* Data movers with every type, long enough that MPIs cut their messages, all-to-alls in place. */
static void exchanges(void)
{
    enum { MOST = 1400, KINDS = QUEUE_ALLTOALLV - QUEUE_BCAST + 1 };
    struct queue queue;
    queue_open(&queue, MPI_COMM_WORLD, NULL, MOST, kit_seed + 6);
    for (int i = 0; i < KINDS * kit_handle_count; i++) {
        char when[96];
        if (i % KINDS == 0)
            queue_set(&queue, &kit_handles[i / KINDS]);
        struct queue_step step = queue_draw(&queue, QUEUE_BCAST + i % KINDS);
        step.in_place |= step.kind >= QUEUE_ALLTOALL;
        step.count = MOST - step.seed % 700;
        for (int r = 0; r < queue.size; r++)
            step.counts[r] = step.seed % 5 == 0 ? 0 : MOST - 100 * r - (int)(step.seed % 32);
        queue_go(&queue, QUEUE_FRESH);
        queue_put(&queue, &step, NULL);
        queue_model(&queue, &step);
        snprintf(when, sizeof when, "%s%s, %zu elements", queue_names[step.kind], step.in_place ? " in place" : "",
                 step.count);
        queue_check(&queue, when);
    }
    queue_close(&queue);
}

/* Calls of the driver by the program that wait for the kernel of a call in the stream, and keep those of all other
 * threads back: the call must need none. The peers are late, so that the streams wait. */
static void frees(void)
{
    enum { LATE_US = 60000, SOON_US = 15000 };
    struct queue queue;
    int gpu = 0;
    queue_open(&queue, MPI_COMM_WORLD, NULL, 20000, kit_seed + 5);
    if (tutti_device()->gpu.current(&gpu) != 0 || gpu < 0)
        gpu = 0;
    for (int i = 0; i < 2 * (QUEUE_KINDS - QUEUE_ALLREDUCE); i++) {
        const int kind = QUEUE_ALLREDUCE + i % (QUEUE_KINDS - QUEUE_ALLREDUCE);
        if (kind == QUEUE_ALLREDUCE)
            queue_set(&queue, kit_handle_of(i ? TUTTI_TYPE_F64 : TUTTI_TYPE_I8));
        void *const memory = gpu_alloc(gpu, 4096);
        queue_go(&queue, QUEUE_FRESH);
        if (i % queue.size != queue.rank)
            usleep(LATE_US);
        queue_go(&queue, kind);
        usleep(SOON_US);
        gpu_free(gpu, memory); /* the program's own call: Tutti does not wait for the stream before */
        queue_check(&queue, "memory is freed while the stream waits");
    }
    queue_close(&queue);
}

/* The peer puts its call into its stream only after a long message of host memory, or of device memory, has come: who
 * waits for the stream in a call of the MPI brings the message on. */
static void behind(void)
{
    enum { BYTES = 4 << 20 };
    struct queue queue;
    struct kit_buffer box;
    char *text = malloc(BYTES);
    void *memory = NULL;
    queue_open(&queue, MPI_COMM_WORLD, NULL, 1000, kit_seed + 4);
    kit_open(&box, KIT_DEVICE, BYTES);
    CHECK(tutti_alloc(4096, &memory) == 0, "tutti_alloc");
    for (int round = 0; round < 8; round++) {
        const int device = round / 2 % 2, frees = round % 2, sender = round / 4;
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Request request = MPI_REQUEST_NULL;
        int error = MPIX_Stream_comm_create(MPI_COMM_WORLD, queue.mpix, &comm);
        memset(text, kit_rank == sender ? 'a' + round : 0, BYTES);
        void *at = device ? kit_put(&box, 0, text, BYTES) : text;
        alarm(15);
        if (kit_rank == sender)
            error |= MPI_Isend(at, BYTES, MPI_CHAR, !sender, 7, MPI_COMM_WORLD, &request);
        else
            error |= MPI_Recv(at, BYTES, MPI_CHAR, sender, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        error |= MPIX_Allreduce_enqueue(MPI_IN_PLACE, memory, 1024, MPI_UNSIGNED, MPI_BXOR, comm);
        if (!frees)
            blocking(comm, round, "behind a message");
        error |= MPI_Comm_free(&comm);
        error |= MPI_Wait(&request, MPI_STATUS_IGNORE);
        alarm(0);
        const char *got = device ? kit_get(&box, NULL) : text;
        CHECK(error == MPI_SUCCESS && got[0] == 'a' + round && got[BYTES - 1] == 'a' + round, "round %d: class %d",
              round, kit_class(error));
    }
    tutti_free(memory);
    kit_close(&box);
    free(text);
    queue_close(&queue);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "calls";
    const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"calls", calls}, {"chain", chain},   {"queues", queues}, {"life", life},
                 {"alone", alone}, {"behind", behind}, {"frees", frees},   {"exchanges", exchanges}};
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (!queue_possible())
        kit_skip("enqueue", "needs a device with streams, and the library in front");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(parts[i].name, what) == 0)
            parts[i].run();
    }
    return kit_end("enqueue");
}
