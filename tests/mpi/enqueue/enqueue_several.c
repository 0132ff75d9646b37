/* Several communicators with streams, whose calls are in flight at once and come in other orders on other ranks, while
 * programs free memory and allocate it again, often at the same address. The calls load from and store into memory that
 * peers have mapped meanwhile: no byte may come from freed memory, or go there. Messages and blocking calls of device
 * memory come behind them, while the streams are busy.
 *
 *   enqueue_several [plain]     such calls
 *   enqueue_several multiple    the same with MPI_THREAD_MULTIPLE
 *   enqueue_several order       rank 0 finds that a peer has freed memory, while its stream waits for ranks that wait
 *                               for a message of rank 0: a call that unmaps this memory now does not return; the same
 *                               in a blocking call beside the only communicator with a stream */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "tutti/tutti.h"

enum { STREAMS = 3, CALLS = 3, LIVES = 4, RENEWED = 6, ROUNDS = 14, BYTES_LEAST = 20000, BYTES_MOST = 70000 };
enum what { ALLTOALL, BCAST, ALLREDUCE, REDUCE, REDUCE_SCATTER, WHATS };

/* Drawn alike on all ranks. */
struct several_call {
    enum what what;
    int each, root; /* a contribution has a block of `each` bytes for every rank */
    int number;     /* of all calls: its data follow from it */
};

static struct several_queue {
    void *stream;
    MPIX_Stream mpix;
    MPI_Comm comm;
    char *in[CALLS], *out[CALLS]; /* device */
    struct several_call call[CALLS];
    int calls, put;
} queues[STREAMS];

static uint64_t all, mine; /* draws of all ranks, and of this rank alone */
static unsigned char *host;
static int numbers, frees, renews; /* renews: 1: the program frees memory now */

static size_t several_room(void)
{
    return (size_t)BYTES_MOST * (size_t)kit_size;
}

static void several_renew(char **at)
{
    if (*at) {
        frees++;
        CHECK(tutti_free(*at) == 0, "free");
    }
    CHECK(tutti_alloc(several_room(), (void **)at) == 0, "alloc");
}

static unsigned char several_byte(int number, int from, int to, size_t i)
{
    return (unsigned char)(random_mix(kit_seed + (uint64_t)(number * 4096 + from * 64 + to)) + i * 31 + (i >> 8));
}

static struct several_call several_draw(void)
{
    struct several_call call = {.number = numbers++};
    call.what = renews ? (enum what)(random_next(&all) % WHATS) : ALLREDUCE; /* which maps all buffers */
    call.each = (int)(BYTES_LEAST + random_next(&all) % (BYTES_MOST - BYTES_LEAST));
    call.root = (int)(random_next(&all) % (uint64_t)kit_size);
    return call;
}

static void several_fill(const struct several_call *call, char *in, char *out)
{
    const size_t each = (size_t)call->each, bytes = each * (size_t)kit_size;
    for (int r = 0; r < kit_size; r++) {
        for (size_t i = 0; i < each; i++)
            host[(size_t)r * each + i] = several_byte(call->number, kit_rank, r, i);
    }
    CHECK(tutti_copy(call->what == BCAST ? out : in, host, bytes) == 0, "copy in");
}

static int several_enqueue(const struct several_call *call, const char *in, char *out, MPI_Comm comm)
{
    const int each = call->each, bytes = each * kit_size;
    switch (call->what) {
    case ALLTOALL:
        return MPIX_Alltoall_enqueue(in, each, MPI_BYTE, out, each, MPI_BYTE, comm);
    case BCAST:
        return MPIX_Bcast_enqueue(out, bytes, MPI_BYTE, call->root, comm);
    case ALLREDUCE:
        return MPIX_Allreduce_enqueue(in, out, bytes, MPI_UNSIGNED_CHAR, MPI_BXOR, comm);
    case REDUCE:
        return MPIX_Reduce_enqueue(in, out, bytes, MPI_UNSIGNED_CHAR, MPI_BXOR, call->root, comm);
    default:
        return MPIX_Reduce_scatter_block_enqueue(in, out, each, MPI_UNSIGNED_CHAR, MPI_BXOR, comm);
    }
}

/* Bytes that the call leaves on this rank, and byte i of them. */
static size_t several_left(const struct several_call *call)
{
    const size_t each = (size_t)call->each;
    return call->what == REDUCE_SCATTER                     ? each
           : call->what == REDUCE && kit_rank != call->root ? 0
                                                            : each * (size_t)kit_size;
}

static unsigned char several_expected(const struct several_call *call, size_t i)
{
    const size_t each = (size_t)call->each;
    unsigned char sum = 0;
    if (call->what == ALLTOALL)
        return several_byte(call->number, (int)(i / each), kit_rank, i % each);
    if (call->what == BCAST)
        return several_byte(call->number, call->root, (int)(i / each), i % each);
    for (int r = 0; r < kit_size; r++)
        sum ^= several_byte(call->number, r, call->what == REDUCE_SCATTER ? kit_rank : (int)(i / each), i % each);
    return sum;
}

static void several_compare(const struct several_call *call, const char *out, const char *where)
{
    const size_t bytes = several_left(call);
    CHECK(bytes == 0 || tutti_copy(host, out, bytes) == 0, "copy out");
    for (size_t i = 0; i < bytes; i++) {
        if (!CHECK(host[i] == several_expected(call, i), "%s call %d, kind %d, seed %llu: byte %zu", where,
                   call->number, (int)call->what, (unsigned long long)kit_seed, i))
            return;
    }
}

/* The calls of all communicators, in an order of this rank's own. */
static void several_put(int n)
{
    int left = 0;
    for (int q = 0; q < n; q++)
        left += queues[q].calls;
    while (left-- > 0) {
        int q = (int)(random_next(&mine) % (uint64_t)n);
        while (queues[q].put == queues[q].calls)
            q = (q + 1) % n;
        struct several_queue *const queue = &queues[q];
        const int c = queue->put++;
        const int code = several_enqueue(&queue->call[c], queue->in[c], queue->out[c], queue->comm);
        CHECK(code == MPI_SUCCESS, "call %d: error class %d", queue->call[c].number, kit_class(code));
    }
}

/* While the streams are busy: a reduction and a message of device memory. */
static void several_beside(char *in, char *out)
{
    const int to = (kit_rank + 1) % kit_size, from = (kit_rank + kit_size - 1) % kit_size;
    struct several_call call = several_draw();
    const int bytes = call.each * kit_size;
    call.what = ALLREDUCE;
    several_fill(&call, in, out);
    CHECK(MPI_Allreduce(in, out, bytes, MPI_UNSIGNED_CHAR, MPI_BXOR, MPI_COMM_WORLD) == MPI_SUCCESS, "beside");
    several_compare(&call, out, "blocking");
    CHECK(MPI_Sendrecv(in, bytes, MPI_BYTE, to, 3, out, bytes, MPI_BYTE, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS,
          "a message");
    CHECK(tutti_copy(host, out, (size_t)bytes) == 0, "copy out");
    for (int i = 0; i < bytes; i++) {
        if (!CHECK(host[i] == several_byte(call.number, from, i / call.each, (size_t)(i % call.each)),
                   "message %d: byte %d", call.number, i))
            return;
    }
}

static void several_round(int n, char *in, char **out)
{
    for (int q = 0; q < n; q++) {
        struct several_queue *const queue = &queues[q];
        queue->calls = renews ? 1 + (int)(random_next(&all) % CALLS) : CALLS;
        queue->put = 0;
        for (int c = 0; c < queue->calls; c++) {
            queue->call[c] = several_draw();
            if (renews && random_next(&mine) % 4 == 0)
                several_renew(&queue->in[c]);
            if (renews && random_next(&mine) % 3 == 0)
                several_renew(&queue->out[c]);
            several_fill(&queue->call[c], queue->in[c], queue->out[c]);
        }
    }
    if (renews && random_next(&mine) % 3 == 0)
        several_renew(out);
    several_put(n);
    several_beside(in, *out);
    for (int q = 0; q < n; q++)
        CHECK(tutti_stream_sync(queues[q].stream) == 0, "sync");
    for (int q = 0; q < n; q++) {
        for (int c = 0; c < queues[q].calls; c++)
            several_compare(&queues[q].call[c], queues[q].out[c], "enqueued");
    }
}

/* So many communicators, which come and go. settles: 1: memory that was freed is unmapped while they live; then all
 * buffers are mapped that the program keeps. */
static void several_life(int n, int settles, char *in, char **out)
{
    for (int q = 0; q < n; q++)
        CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, queues[q].mpix, &queues[q].comm) == MPI_SUCCESS,
              "a communicator with a stream");
    for (int round = 0; round < ROUNDS && !check_failed(); round++) {
        const unsigned long long before = kit_counted("buffers of reductions", "mapped");
        renews = round < RENEWED;
        several_round(n, in, out);
        const unsigned long long mapped = kit_counted("buffers of reductions", "mapped") - before;
        if (round == ROUNDS - 1 && settles)
            CHECK(check_failed() || mapped == (unsigned long long)n * CALLS + 1,
                  "%llu of %d reductions in mapped memory", mapped, n * CALLS + 1);
    }
    for (int q = 0; q < n; q++)
        MPI_Comm_free(&queues[q].comm);
}

static void several_call_on(int q, int number)
{
    struct several_queue *const queue = &queues[q];
    queue->call[0] = (struct several_call){.what = ALLREDUCE, .each = BYTES_MOST, .number = number};
    CHECK(several_enqueue(&queue->call[0], queue->in[0], queue->out[0], queue->comm) == MPI_SUCCESS, "call %d", number);
}

static void several_order(void)
{
    enum { STEPS = 6, TAG = 5 };
    int word = 0;
    for (int q = 0; q < 2; q++)
        CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, queues[q].mpix, &queues[q].comm) == MPI_SUCCESS,
              "a communicator");
    for (int step = 0; step < STEPS && !check_failed(); step++) {
        const int number = numbers++;
        for (int q = 0; q < 2; q++) {
            if (step > 1 && kit_rank == 1 && q == 1)
                several_renew(&queues[q].in[0]);
            queues[q].call[0] = (struct several_call){.what = ALLREDUCE, .each = BYTES_MOST, .number = number};
            several_fill(&queues[q].call[0], queues[q].in[0], queues[q].out[0]);
        }
        if (kit_rank != 0)
            several_call_on(1, number);
        for (int r = 1; r < kit_size; r++) { /* all others have published what they have */
            if (kit_rank == r)
                MPI_Send(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
            else if (kit_rank == 0)
                MPI_Recv(&word, 1, MPI_INT, r, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (kit_rank == 0) {
            several_call_on(0, number);
            several_call_on(1, number);
        }
        MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (kit_rank != 0)
            several_call_on(0, number);
        for (int q = 0; q < 2; q++) {
            CHECK(tutti_stream_sync(queues[q].stream) == 0, "sync");
            several_compare(&queues[q].call[0], queues[q].out[0], "ordered");
        }
    }
    for (int q = 0; q < 2; q++)
        MPI_Comm_free(&queues[q].comm);
}

/* Rank 0's stream waits for calls that the others put behind a blocking reduction, in which memory is new. */
static void several_blocking(char **in, char *out)
{
    enum { STEPS = 6 };
    struct several_queue *const queue = &queues[0];
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, queue->mpix, &queue->comm) == MPI_SUCCESS, "a communicator");
    for (int step = 0; step < STEPS && !check_failed(); step++) {
        const int number = numbers++;
        struct several_call beside = {.what = ALLREDUCE, .each = BYTES_MOST, .number = numbers++};
        queue->call[0] = (struct several_call){.what = ALLREDUCE, .each = BYTES_MOST, .number = number};
        if (step > 1 && kit_rank == 1)
            several_renew(in);
        several_fill(&queue->call[0], queue->in[0], queue->out[0]);
        several_fill(&beside, *in, out);
        MPI_Barrier(MPI_COMM_WORLD);
        if (kit_rank == 0)
            several_call_on(0, number);
        CHECK(MPI_Allreduce(*in, out, beside.each * kit_size, MPI_UNSIGNED_CHAR, MPI_BXOR, MPI_COMM_WORLD) ==
                  MPI_SUCCESS,
              "beside");
        if (kit_rank != 0)
            several_call_on(0, number);
        CHECK(tutti_stream_sync(queue->stream) == 0, "sync");
        several_compare(&queue->call[0], queue->out[0], "enqueued");
        several_compare(&beside, out, "blocking");
    }
    MPI_Comm_free(&queue->comm);
}

int main(int argc, char **argv)
{
    const int order = argc > 1 && strcmp(argv[1], "order") == 0,
              multiple = argc > 1 && strcmp(argv[1], "multiple") == 0;
    kit_start(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    char *in = NULL, *out = NULL;
    all = random_mix(kit_seed);
    mine = random_mix(kit_seed + (uint64_t)(unsigned)kit_rank + 1);
    host = malloc(several_room());
    several_renew(&in);
    several_renew(&out);
    for (int q = 0; q < STREAMS; q++) {
        CHECK(tutti_stream_create(&queues[q].stream) == 0 &&
                  queue_name_stream(NULL, queues[q].stream, &queues[q].mpix) == MPI_SUCCESS,
              "a stream");
        for (int c = 0; c < CALLS; c++) {
            several_renew(&queues[q].in[c]);
            several_renew(&queues[q].out[c]);
        }
    }
    if (order) {
        several_order();
        several_blocking(&in, out);
    }
    for (int life = 0; life < LIVES && !order && !check_failed(); life++)
        several_life(STREAMS - life % 2, !multiple, in, &out);
    const unsigned long long moves = kit_counted("results of data movers", "mapped"),
                             reductions = kit_counted("buffers of reductions", "mapped"),
                             memory = kit_counted("memory of other ranks", "mapped");
    printf("rank %d: %d calls, %d frees, %llu moves and %llu reductions in mapped memory, %llu mappings\n", kit_rank,
           numbers, frees, moves, reductions, memory);
    CHECK(check_failed() || ((moves > 0 || order) && reductions > 0), "only %llu runs and %llu reductions", moves,
          reductions);
    for (int q = 0; q < STREAMS; q++) {
        for (int c = 0; c < CALLS; c++) {
            tutti_free(queues[q].in[c]);
            tutti_free(queues[q].out[c]);
        }
        MPIX_Stream_free(&queues[q].mpix);
        tutti_stream_destroy(queues[q].stream);
    }
    tutti_free(in);
    tutti_free(out);
    free(host);
    return kit_end("enqueue_several");
}
