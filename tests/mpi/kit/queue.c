#include "queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "queue_move.h"
#include "support/stands.h"
#include "tutti/tutti.h"

const char *const queue_names[QUEUE_KINDS] = {
    "fresh",   "copy",     "Allreduce",    "Reduce",     "Reduce_scatter", "Reduce_scatter_block",
    "Scan",    "Exscan",   "Reduce_local", "Bcast",      "Gather",         "Gatherv",
    "Scatter", "Scatterv", "Allgather",    "Allgatherv", "Alltoall",       "Alltoallv",
    "Barrier"};

#define FINE(call)                                                                                                     \
    do {                                                                                                               \
        int error_ = (call);                                                                                           \
        CHECK(error_ == 0, "%s: %d (class %d)", #call, error_, error_ > 0 ? kit_class(error_) : 0);                    \
    } while (0)

static void *pinned(size_t bytes)
{
    void *host = NULL;
    if (tutti_device()->memory.alloc_pinned(bytes, &host) != 0) {
        fprintf(stderr, "rank %d: no pinned memory\n", kit_rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return host;
}

static void *room(size_t bytes)
{
    void *host = calloc(1, bytes);
    if (!host) {
        fprintf(stderr, "rank %d: no memory\n", kit_rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return host;
}

int queue_possible(void)
{
    void *stream;
    if (kit_plain || tutti_stream_create(&stream) != 0)
        return 0;
    tutti_stream_destroy(stream);
    return 1;
}

int queue_name_stream(const char *type, void *stream, MPIX_Stream *out)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", type ? type : "tutti_stream");
    FINE(MPIX_Info_set_hex(info, "value", &stream, sizeof stream));
    int error = MPIX_Stream_create(info, out);
    MPI_Info_free(&info);
    return error;
}

static size_t bytes_of(const struct queue *queue)
{
    return queue->elements * queue->handle->size;
}

void queue_open(struct queue *queue, MPI_Comm parent, const char *stream_type, size_t most, uint64_t seed)
{
    *queue = (struct queue){.most = most, .random = seed, .handle = kit_handle_of(TUTTI_TYPE_I32)};
    MPI_Comm_size(parent, &queue->size);
    queue->elements = most * (size_t)queue->size + 8;
    queue->talks = getenv("TUTTI_TEST_STEPS") != NULL;
    FINE(tutti_stream_create(&queue->stream));
    FINE(queue_name_stream(stream_type, queue->stream, &queue->mpix));
    FINE(MPIX_Stream_comm_create(parent, queue->mpix, &queue->comm));
    if (queue->comm == MPI_COMM_NULL || queue->size > QUEUE_RANKS) {
        fprintf(stderr, "rank %d: no communicator with a stream\n", kit_rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_rank(queue->comm, &queue->rank);
    MPI_Allgather(&kit_rank, 1, MPI_INT, queue->world, 1, MPI_INT, parent);
    size_t bytes = queue->elements * 16;
    for (int i = 0; i < 2; i++) {
        void *device = NULL;
        FINE(tutti_alloc(bytes, &device));
        queue->buffer[i] = device;
        queue->got[i] = pinned(bytes);
        for (int r = 0; r < queue->size; r++)
            queue->model[r][i] = room(bytes);
    }
    for (int i = 0; i < QUEUE_RING; i++)
        queue->fresh[i] = pinned(bytes);
    queue_set(queue, queue->handle);
}

void queue_close(struct queue *queue)
{
    FINE(MPIX_Stream_free(&queue->mpix));
    FINE(MPI_Comm_free(&queue->comm));
    FINE(tutti_stream_destroy(queue->stream));
    for (int i = 0; i < 2; i++) {
        FINE(tutti_free(queue->buffer[i]));
        FINE(tutti_device()->memory.free_pinned(queue->got[i]));
        for (int r = 0; r < queue->size; r++)
            free(queue->model[r][i]);
    }
    for (int i = 0; i < QUEUE_RING; i++)
        FINE(tutti_device()->memory.free_pinned(queue->fresh[i]));
}

void queue_set(struct queue *queue, const struct kit_handle *handle)
{
    queue_sync(queue);
    queue->handle = handle;
    for (int i = 0; i < 2; i++) {
        memset(queue->fresh[i], 0, bytes_of(queue));
        FINE(tutti_copy(queue->buffer[i], queue->fresh[i], bytes_of(queue)));
        for (int r = 0; r < queue->size; r++)
            memset(queue->model[r][i], 0, bytes_of(queue));
    }
    queue_go(queue, QUEUE_FRESH);
}

static int draw_op(struct queue *queue)
{
    int legal[TUTTI_OPS], n = 0;
    for (int i = 0; i < kit_pair_count; i++) {
        if (kit_pairs[i].handle->type == queue->handle->type)
            legal[n++] = kit_pairs[i].op;
    }
    if (n == 0) {
        fprintf(stderr, "no operator for %s\n", queue->handle->name);
        abort();
    }
    return legal[random_next(&queue->random) % (unsigned)n];
}

static size_t draw_count(struct queue *queue)
{
    uint64_t how = random_next(&queue->random) % 16, number = random_next(&queue->random);
    size_t below = how == 0 ? 1 : how < 6 ? 9 : how < 12 ? 100 : how < 15 ? 3000 : queue->most + 1;
    return (size_t)(number % (below < queue->most + 1 ? below : queue->most + 1));
}

struct queue_step queue_draw(struct queue *queue, int kind)
{
    struct queue_step step = {.kind = (enum queue_kind)kind};
    uint64_t *random = &queue->random;
    if (kind < 0)
        step.kind = (enum queue_kind)(random_next(random) % QUEUE_KINDS);
    step.op = draw_op(queue);
    step.count = draw_count(queue);
    step.shift = random_next(random) % 8;
    step.in_place = random_next(random) % 3 == 0;
    step.root = (int)(random_next(random) % (unsigned)queue->size);
    step.seed = random_next(random);
    int even = random_next(random) % 3 == 0;
    for (int r = 0; r < queue->size; r++) {
        step.counts[r] = (int)(random_next(random) % 5 == 0 ? 0 : draw_count(queue));
        if (even)
            step.counts[r] = (int)step.count;
    }
    return step;
}

void queue_contents(const struct queue *queue, const struct queue_step *step, int rank, char *out)
{
    struct kit_pair pair = {queue->handle, step->op};
    struct oracle_case c = kit_case(&pair, step->seed % 4 ? ORACLE_HARD : ORACLE_PLAIN, step->seed);
    oracle_fill(out, &c, rank, 0, queue->elements);
}

/* Elements that `rank` gets, and where in the contribution they begin. */
static size_t result_of(const struct queue *queue, const struct queue_step *step, int rank, size_t *begin)
{
    *begin = 0;
    switch (step->kind) {
    case QUEUE_REDUCE_SCATTER:
        for (int r = 0; r < rank; r++)
            *begin += (size_t)step->counts[r];
        return (size_t)step->counts[rank];
    case QUEUE_REDUCE_SCATTER_BLOCK:
        *begin = (size_t)rank * step->count;
        return step->count;
    case QUEUE_REDUCE:
        return rank == step->root ? step->count : 0;
    case QUEUE_EXSCAN:
        return rank ? step->count : 0;
    case QUEUE_BARRIER:
        return 0;
    default:
        (void)queue;
        return step->count;
    }
}

/* A result of contributions of all ranks: over virtual nodes its bits depend on the ranks' placement. */
static void model_of_all(const struct queue *queue, const struct oracle_case *c, const void *in[], size_t n, void *out)
{
    const size_t bytes = n * queue->handle->size;
    char *const copies = room(bytes * (size_t)queue->size);
    const void *copy[QUEUE_RANKS];
    for (int r = 0; r < queue->size; r++)
        copy[r] = memcpy(copies + (size_t)r * bytes, in[r], bytes);
    kit_reduce_by_nodes(out, c, queue->size, queue->world, copy, n);
    free(copies);
}

void queue_model(struct queue *queue, const struct queue_step *step)
{
    struct oracle_case c = {.type = queue->handle->element, .op = step->op};
    size_t size = queue->handle->size, bytes = bytes_of(queue);
    char *results[QUEUE_RANKS] = {NULL};
    if (queue_moves(step->kind)) {
        queue_move_model(queue, step);
        return;
    }
    if (step->kind == QUEUE_FRESH || step->kind == QUEUE_COPY) {
        for (int r = 0; r < queue->size; r++) {
            if (step->kind == QUEUE_FRESH)
                queue_contents(queue, step, r, queue->model[r][0]);
            else
                memcpy(queue->model[r][0], queue->model[r][1], bytes);
        }
        return;
    }
    for (int r = 0; r < queue->size; r++) {
        const void *in[QUEUE_RANKS];
        size_t begin, n = result_of(queue, step, r, &begin);
        int depth = step->kind == QUEUE_SCAN ? r + 1 : step->kind == QUEUE_EXSCAN ? r : queue->size;
        if (n == 0 || depth == 0)
            continue;
        for (int s = 0; s < depth; s++)
            in[s] = queue->model[s][0] + (step->shift + begin) * size;
        if (step->kind == QUEUE_REDUCE_LOCAL) {
            depth = 2;
            in[0] = queue->model[r][0] + step->shift * size;
            in[1] = queue->model[r][1];
        }
        results[r] = room(n * size);
        if (step->kind == QUEUE_SCAN || step->kind == QUEUE_EXSCAN || step->kind == QUEUE_REDUCE_LOCAL)
            oracle_reduce(results[r], &c, depth, in, n); /* in rank order */
        else
            model_of_all(queue, &c, in, n, results[r]);
    }
    for (int r = 0; r < queue->size; r++) {
        size_t begin, n = result_of(queue, step, r, &begin);
        if (results[r])
            memcpy(step->in_place && step->kind != QUEUE_REDUCE_LOCAL ? queue->model[r][0] + step->shift * size
                                                                      : queue->model[r][1],
                   results[r], n * size);
        free(results[r]);
    }
}

static int put_call(struct queue *queue, const struct queue_step *step, void *in, void *out)
{
    MPI_Datatype type = queue->handle->type;
    MPI_Op op = kit_op(step->op);
    int n = (int)step->count, large = step->seed % 7 == 0; /* the form with large counts now and then */
    MPI_Count counts[QUEUE_RANKS];
    for (int r = 0; r < queue->size; r++)
        counts[r] = step->counts[r];
    switch (step->kind) {
    case QUEUE_ALLREDUCE:
        return large ? MPIX_Allreduce_enqueue_c(in, out, n, type, op, queue->comm)
                     : MPIX_Allreduce_enqueue(in, out, n, type, op, queue->comm);
    case QUEUE_REDUCE:
        if (queue->rank != step->root && step->in_place)
            in = out;
        if (queue->rank != step->root)
            out = NULL;
        return large ? MPIX_Reduce_enqueue_c(in, out, n, type, op, step->root, queue->comm)
                     : MPIX_Reduce_enqueue(in, out, n, type, op, step->root, queue->comm);
    case QUEUE_REDUCE_SCATTER:
        return large ? MPIX_Reduce_scatter_enqueue_c(in, out, counts, type, op, queue->comm)
                     : MPIX_Reduce_scatter_enqueue(in, out, step->counts, type, op, queue->comm);
    case QUEUE_REDUCE_SCATTER_BLOCK:
        return large ? MPIX_Reduce_scatter_block_enqueue_c(in, out, n, type, op, queue->comm)
                     : MPIX_Reduce_scatter_block_enqueue(in, out, n, type, op, queue->comm);
    case QUEUE_SCAN:
        return large ? MPIX_Scan_enqueue_c(in, out, n, type, op, queue->comm)
                     : MPIX_Scan_enqueue(in, out, n, type, op, queue->comm);
    case QUEUE_EXSCAN:
        return large ? MPIX_Exscan_enqueue_c(in, out, n, type, op, queue->comm)
                     : MPIX_Exscan_enqueue(in, out, n, type, op, queue->comm);
    case QUEUE_REDUCE_LOCAL:
        in = queue->buffer[0] + step->shift * queue->handle->size;
        out = queue->buffer[1];
        return large ? MPIX_Reduce_local_enqueue_c(in, out, n, type, op, queue->comm)
                     : MPIX_Reduce_local_enqueue(in, out, n, type, op, queue->comm);
    default:
        return MPIX_Barrier_enqueue(queue->comm);
    }
}

void queue_put(struct queue *queue, const struct queue_step *step, char *from)
{
    char *in = queue->buffer[0] + step->shift * queue->handle->size, *out = queue->buffer[1];
    int error;
    queue->steps++;
    stands_at("step %ld, %s of %zu %s %s%s, root %d", queue->steps, queue_names[step->kind], step->count,
              queue->handle->name, oracle_op_name(step->op), step->in_place ? " in place" : "", step->root);
    if (queue->talks)
        fprintf(stderr, "rank %d step %ld: %s of %zu %s %s%s, root %d\n", kit_rank, queue->steps,
                queue_names[step->kind], step->count, queue->handle->name, oracle_op_name(step->op),
                step->in_place ? " in place" : "", step->root);
    switch (step->kind) {
    case QUEUE_FRESH:
        if (!from) {
            if (++queue->ring == QUEUE_RING) { /* a copy may still read what comes next */
                queue_sync(queue);
                queue->ring = 0;
            }
            from = queue->fresh[queue->ring];
            queue_contents(queue, step, queue->rank, from);
        }
        error = tutti_stream_copy(queue->stream, queue->buffer[0], from, bytes_of(queue));
        break;
    case QUEUE_COPY:
        error = tutti_stream_copy(queue->stream, queue->buffer[0], queue->buffer[1], bytes_of(queue));
        break;
    default:
        error = queue_moves(step->kind)
                    ? queue_move_put(queue, step)
                    : put_call(queue, step, step->in_place ? MPI_IN_PLACE : in, step->in_place ? in : out);
    }
    if (error != 0 && queue->wrong++ < 5)
        CHECK(0, "%s of %zu elements %s %s%s: error %d (class %d)", queue_names[step->kind], step->count,
              queue->handle->name, oracle_op_name(step->op), step->in_place ? " in place" : "", error,
              error > 0 ? kit_class(error) : 0);
}

void queue_go(struct queue *queue, int kind)
{
    struct queue_step step = queue_draw(queue, kind);
    queue_put(queue, &step, NULL);
    queue_model(queue, &step);
}

void queue_sync(struct queue *queue)
{
    int status = tutti_stream_sync(queue->stream);
    if (status != 0 && queue->wrong++ < 5)
        CHECK(0, "the stream failed: %s", tutti_status_text(status));
}

int queue_check(struct queue *queue, const char *when)
{
    int fine = 1;
    for (int i = 0; i < 2; i++)
        FINE(tutti_stream_copy(queue->stream, queue->got[i], queue->buffer[i], bytes_of(queue)));
    queue_sync(queue);
    queue->ring = 0;
    for (int i = 0; i < 2; i++) {
        const char *want = queue->model[queue->rank][i];
        size_t at = oracle_differ(queue->handle->element, queue->got[i], want, queue->elements, 0);
        fine &= at == queue->elements;
        if (at < queue->elements && queue->wrong++ < 5) {
            char a[96], b[96];
            oracle_text(a, sizeof a, queue->handle->element, queue->got[i] + at * queue->handle->size);
            oracle_text(b, sizeof b, queue->handle->element, want + at * queue->handle->size);
            CHECK(0, "%s, step %ld, %s: element %zu of buffer %d is %s, not %s", when, queue->steps,
                  queue->handle->name, at, i, a, b);
        }
    }
    CHECK(fine, "%s", when);
    return fine;
}
