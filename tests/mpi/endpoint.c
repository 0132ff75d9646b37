#include "endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "tutti/tutti.h"

const char *const endpoint_names[ENDPOINT_KINDS] = {
    "fresh", "copy", "Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan", "Barrier"};

#define FINE(call)                                                                                                     \
    do {                                                                                                               \
        int error_ = (call);                                                                                           \
        CHECK(error_ == 0, "%s: %d (class %d)", #call, error_, error_ > 0 ? kit_class(error_) : 0);                    \
    } while (0)

static void *pinned(size_t bytes)
{
    void *host = NULL;
    if (tutti_device()->alloc_pinned(bytes, &host) != 0) {
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

int endpoint_possible(void)
{
    void *stream;
    if (kit_plain || tutti_stream_create(&stream) != 0)
        return 0;
    tutti_stream_destroy(stream);
    return 1;
}

int endpoint_name_stream(const char *type, void *stream, MPIX_Stream *out)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", type ? type : "tutti_stream");
    FINE(MPIX_Info_set_hex(info, "value", &stream, sizeof stream));
    int error = MPIX_Stream_create(info, out);
    MPI_Info_free(&info);
    return error;
}

static size_t bytes_of(const struct endpoint *endpoint)
{
    return endpoint->elements * endpoint->handle->size;
}

void endpoint_open(struct endpoint *endpoint, MPI_Comm parent, const char *stream_type, size_t most, uint64_t seed)
{
    *endpoint = (struct endpoint){.most = most, .random = seed, .handle = kit_handle_of(TUTTI_TYPE_I32)};
    MPI_Comm_size(parent, &endpoint->size);
    endpoint->elements = most * (size_t)endpoint->size + 8;
    FINE(tutti_stream_create(&endpoint->stream));
    FINE(endpoint_name_stream(stream_type, endpoint->stream, &endpoint->mpix));
    FINE(MPIX_Stream_comm_create(parent, endpoint->mpix, &endpoint->comm));
    if (endpoint->comm == MPI_COMM_NULL || endpoint->size > ENDPOINT_RANKS) {
        fprintf(stderr, "rank %d: no communicator with a stream\n", kit_rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_rank(endpoint->comm, &endpoint->rank);
    size_t bytes = endpoint->elements * 16;
    for (int i = 0; i < 2; i++) {
        void *device = NULL;
        FINE(tutti_alloc(bytes, &device));
        endpoint->buffer[i] = device;
        endpoint->got[i] = pinned(bytes);
        for (int r = 0; r < endpoint->size; r++)
            endpoint->model[r][i] = room(bytes);
    }
    for (int i = 0; i < ENDPOINT_RING; i++)
        endpoint->fresh[i] = pinned(bytes);
    endpoint_set(endpoint, endpoint->handle);
}

void endpoint_close(struct endpoint *endpoint)
{
    FINE(MPIX_Stream_free(&endpoint->mpix));
    FINE(MPI_Comm_free(&endpoint->comm));
    FINE(tutti_stream_destroy(endpoint->stream));
    for (int i = 0; i < 2; i++) {
        FINE(tutti_free(endpoint->buffer[i]));
        FINE(tutti_device()->free_pinned(endpoint->got[i]));
        for (int r = 0; r < endpoint->size; r++)
            free(endpoint->model[r][i]);
    }
    for (int i = 0; i < ENDPOINT_RING; i++)
        FINE(tutti_device()->free_pinned(endpoint->fresh[i]));
}

void endpoint_set(struct endpoint *endpoint, const struct kit_handle *handle)
{
    endpoint_sync(endpoint);
    endpoint->handle = handle;
    for (int i = 0; i < 2; i++) {
        memset(endpoint->fresh[i], 0, bytes_of(endpoint));
        FINE(tutti_copy(endpoint->buffer[i], endpoint->fresh[i], bytes_of(endpoint)));
        for (int r = 0; r < endpoint->size; r++)
            memset(endpoint->model[r][i], 0, bytes_of(endpoint));
    }
    endpoint_go(endpoint, ENDPOINT_FRESH);
}

static int draw_op(struct endpoint *endpoint)
{
    int legal[TUTTI_OPS], n = 0;
    for (int i = 0; i < kit_pair_count; i++) {
        if (kit_pairs[i].handle->type == endpoint->handle->type)
            legal[n++] = kit_pairs[i].op;
    }
    if (n == 0) {
        fprintf(stderr, "no operator for %s\n", endpoint->handle->name);
        abort();
    }
    return legal[random_next(&endpoint->random) % (unsigned)n];
}

static size_t draw_count(struct endpoint *endpoint)
{
    uint64_t how = random_next(&endpoint->random) % 16, number = random_next(&endpoint->random);
    size_t below = how == 0 ? 1 : how < 6 ? 9 : how < 12 ? 100 : how < 15 ? 3000 : endpoint->most + 1;
    return (size_t)(number % (below < endpoint->most + 1 ? below : endpoint->most + 1));
}

struct endpoint_step endpoint_draw(struct endpoint *endpoint, int kind)
{
    struct endpoint_step step = {.kind = (enum endpoint_kind)kind};
    uint64_t *random = &endpoint->random;
    if (kind < 0)
        step.kind = (enum endpoint_kind)(random_next(random) % ENDPOINT_KINDS);
    step.op = draw_op(endpoint);
    step.count = draw_count(endpoint);
    step.shift = random_next(random) % 8;
    step.in_place = random_next(random) % 3 == 0;
    step.root = (int)(random_next(random) % (unsigned)endpoint->size);
    step.seed = random_next(random);
    int even = random_next(random) % 3 == 0;
    for (int r = 0; r < endpoint->size; r++) {
        step.counts[r] = (int)(random_next(random) % 5 == 0 ? 0 : draw_count(endpoint));
        if (even)
            step.counts[r] = (int)step.count;
    }
    return step;
}

void endpoint_contents(const struct endpoint *endpoint, const struct endpoint_step *step, int rank, char *out)
{
    struct kit_pair pair = {endpoint->handle, step->op};
    struct oracle_case c = kit_case(&pair, step->seed % 4 ? ORACLE_HARD : ORACLE_PLAIN, step->seed);
    oracle_fill(out, &c, rank, 0, endpoint->elements);
}

/* Elements that `rank` gets, and where in the contribution they begin. */
static size_t result_of(const struct endpoint *endpoint, const struct endpoint_step *step, int rank, size_t *begin)
{
    *begin = 0;
    switch (step->kind) {
    case ENDPOINT_REDUCE_SCATTER:
        for (int r = 0; r < rank; r++)
            *begin += (size_t)step->counts[r];
        return (size_t)step->counts[rank];
    case ENDPOINT_REDUCE_SCATTER_BLOCK:
        *begin = (size_t)rank * step->count;
        return step->count;
    case ENDPOINT_REDUCE:
        return rank == step->root ? step->count : 0;
    case ENDPOINT_EXSCAN:
        return rank ? step->count : 0;
    case ENDPOINT_BARRIER:
        return 0;
    default:
        (void)endpoint;
        return step->count;
    }
}

void endpoint_model(struct endpoint *endpoint, const struct endpoint_step *step)
{
    struct oracle_case c = {.type = endpoint->handle->element, .op = step->op};
    size_t size = endpoint->handle->size, bytes = bytes_of(endpoint);
    char *results[ENDPOINT_RANKS] = {NULL};
    if (step->kind == ENDPOINT_FRESH || step->kind == ENDPOINT_COPY) {
        for (int r = 0; r < endpoint->size; r++) {
            if (step->kind == ENDPOINT_FRESH)
                endpoint_contents(endpoint, step, r, endpoint->model[r][0]);
            else
                memcpy(endpoint->model[r][0], endpoint->model[r][1], bytes);
        }
        return;
    }
    for (int r = 0; r < endpoint->size; r++) {
        const void *in[ENDPOINT_RANKS];
        size_t begin, n = result_of(endpoint, step, r, &begin);
        int depth = step->kind == ENDPOINT_SCAN ? r + 1 : step->kind == ENDPOINT_EXSCAN ? r : endpoint->size;
        if (n == 0 || depth == 0)
            continue;
        for (int s = 0; s < depth; s++)
            in[s] = endpoint->model[s][0] + (step->shift + begin) * size;
        results[r] = room(n * size);
        oracle_reduce(results[r], &c, depth, in, n);
    }
    for (int r = 0; r < endpoint->size; r++) {
        size_t begin, n = result_of(endpoint, step, r, &begin);
        if (results[r])
            memcpy(step->in_place ? endpoint->model[r][0] + step->shift * size : endpoint->model[r][1], results[r],
                   n * size);
        free(results[r]);
    }
}

static int put_call(struct endpoint *endpoint, const struct endpoint_step *step, void *in, void *out)
{
    MPI_Datatype type = endpoint->handle->type;
    MPI_Op op = kit_op(step->op);
    int n = (int)step->count, large = step->seed % 7 == 0; /* the form with large counts now and then */
    MPI_Count counts[ENDPOINT_RANKS];
    for (int r = 0; r < endpoint->size; r++)
        counts[r] = step->counts[r];
    switch (step->kind) {
    case ENDPOINT_ALLREDUCE:
        return large ? MPIX_Allreduce_enqueue_c(in, out, n, type, op, endpoint->comm)
                     : MPIX_Allreduce_enqueue(in, out, n, type, op, endpoint->comm);
    case ENDPOINT_REDUCE:
        if (endpoint->rank != step->root && step->in_place)
            in = out;
        if (endpoint->rank != step->root)
            out = NULL;
        return large ? MPIX_Reduce_enqueue_c(in, out, n, type, op, step->root, endpoint->comm)
                     : MPIX_Reduce_enqueue(in, out, n, type, op, step->root, endpoint->comm);
    case ENDPOINT_REDUCE_SCATTER:
        return large ? MPIX_Reduce_scatter_enqueue_c(in, out, counts, type, op, endpoint->comm)
                     : MPIX_Reduce_scatter_enqueue(in, out, step->counts, type, op, endpoint->comm);
    case ENDPOINT_REDUCE_SCATTER_BLOCK:
        return large ? MPIX_Reduce_scatter_block_enqueue_c(in, out, n, type, op, endpoint->comm)
                     : MPIX_Reduce_scatter_block_enqueue(in, out, n, type, op, endpoint->comm);
    case ENDPOINT_SCAN:
        return large ? MPIX_Scan_enqueue_c(in, out, n, type, op, endpoint->comm)
                     : MPIX_Scan_enqueue(in, out, n, type, op, endpoint->comm);
    case ENDPOINT_EXSCAN:
        return large ? MPIX_Exscan_enqueue_c(in, out, n, type, op, endpoint->comm)
                     : MPIX_Exscan_enqueue(in, out, n, type, op, endpoint->comm);
    default:
        return MPIX_Barrier_enqueue(endpoint->comm);
    }
}

void endpoint_put(struct endpoint *endpoint, const struct endpoint_step *step, char *from)
{
    char *in = endpoint->buffer[0] + step->shift * endpoint->handle->size, *out = endpoint->buffer[1];
    int error;
    endpoint->steps++;
    switch (step->kind) {
    case ENDPOINT_FRESH:
        if (!from) {
            if (++endpoint->ring == ENDPOINT_RING) { /* a copy may still read what comes next */
                endpoint_sync(endpoint);
                endpoint->ring = 0;
            }
            from = endpoint->fresh[endpoint->ring];
            endpoint_contents(endpoint, step, endpoint->rank, from);
        }
        error = tutti_stream_copy(endpoint->stream, endpoint->buffer[0], from, bytes_of(endpoint));
        break;
    case ENDPOINT_COPY:
        error = tutti_stream_copy(endpoint->stream, endpoint->buffer[0], endpoint->buffer[1], bytes_of(endpoint));
        break;
    default:
        error = put_call(endpoint, step, step->in_place ? MPI_IN_PLACE : in, step->in_place ? in : out);
    }
    if (error != 0 && endpoint->wrong++ < 5)
        CHECK(0, "%s of %zu elements %s %s%s: error %d (class %d)", endpoint_names[step->kind], step->count,
              endpoint->handle->name, oracle_op_name(step->op), step->in_place ? " in place" : "", error,
              error > 0 ? kit_class(error) : 0);
}

void endpoint_go(struct endpoint *endpoint, int kind)
{
    struct endpoint_step step = endpoint_draw(endpoint, kind);
    endpoint_put(endpoint, &step, NULL);
    endpoint_model(endpoint, &step);
}

void endpoint_sync(struct endpoint *endpoint)
{
    int status = tutti_stream_sync(endpoint->stream);
    if (status != 0 && endpoint->wrong++ < 5)
        CHECK(0, "the stream failed: %s", tutti_status_text(status));
}

int endpoint_check(struct endpoint *endpoint, const char *when)
{
    int fine = 1;
    for (int i = 0; i < 2; i++)
        FINE(tutti_stream_copy(endpoint->stream, endpoint->got[i], endpoint->buffer[i], bytes_of(endpoint)));
    endpoint_sync(endpoint);
    endpoint->ring = 0;
    for (int i = 0; i < 2; i++) {
        const char *want = endpoint->model[endpoint->rank][i];
        size_t at = oracle_differ(endpoint->handle->element, endpoint->got[i], want, endpoint->elements, 0);
        fine &= at == endpoint->elements;
        if (at < endpoint->elements && endpoint->wrong++ < 5) {
            char a[96], b[96];
            oracle_text(a, sizeof a, endpoint->handle->element, endpoint->got[i] + at * endpoint->handle->size);
            oracle_text(b, sizeof b, endpoint->handle->element, want + at * endpoint->handle->size);
            CHECK(0, "%s, step %ld, %s: element %zu of buffer %d is %s, not %s", when, endpoint->steps,
                  endpoint->handle->name, at, i, a, b);
        }
    }
    CHECK(fine, "%s", when);
    return fine;
}
