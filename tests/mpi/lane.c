#include "lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "tutti/tutti.h"

const char *const lane_names[LANE_KINDS] = {
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

int lane_possible(void)
{
    void *stream;
    if (kit_plain || tutti_stream_create(&stream) != 0)
        return 0;
    tutti_stream_destroy(stream);
    return 1;
}

int lane_name_stream(const char *type, void *stream, MPIX_Stream *out)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", type ? type : "tutti_stream");
    FINE(MPIX_Info_set_hex(info, "value", &stream, sizeof stream));
    int error = MPIX_Stream_create(info, out);
    MPI_Info_free(&info);
    return error;
}

static size_t bytes_of(const struct lane *lane)
{
    return lane->elements * lane->handle->size;
}

void lane_open(struct lane *lane, MPI_Comm parent, const char *stream_type, size_t most, uint64_t seed)
{
    *lane = (struct lane){.most = most, .random = seed, .handle = kit_handle_of(TUTTI_TYPE_I32)};
    MPI_Comm_size(parent, &lane->size);
    lane->elements = most * (size_t)lane->size + 8;
    FINE(tutti_stream_create(&lane->stream));
    FINE(lane_name_stream(stream_type, lane->stream, &lane->mpix));
    FINE(MPIX_Stream_comm_create(parent, lane->mpix, &lane->comm));
    if (lane->comm == MPI_COMM_NULL || lane->size > LANE_RANKS) {
        fprintf(stderr, "rank %d: no communicator with a stream\n", kit_rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_rank(lane->comm, &lane->rank);
    size_t bytes = lane->elements * 16;
    for (int i = 0; i < 2; i++) {
        void *device = NULL;
        FINE(tutti_alloc(bytes, &device));
        lane->buffer[i] = device;
        lane->got[i] = pinned(bytes);
        for (int r = 0; r < lane->size; r++)
            lane->model[r][i] = room(bytes);
    }
    for (int i = 0; i < LANE_RING; i++)
        lane->fresh[i] = pinned(bytes);
    lane_set(lane, lane->handle);
}

void lane_close(struct lane *lane)
{
    FINE(MPIX_Stream_free(&lane->mpix));
    FINE(MPI_Comm_free(&lane->comm));
    FINE(tutti_stream_destroy(lane->stream));
    for (int i = 0; i < 2; i++) {
        FINE(tutti_free(lane->buffer[i]));
        FINE(tutti_device()->free_pinned(lane->got[i]));
        for (int r = 0; r < lane->size; r++)
            free(lane->model[r][i]);
    }
    for (int i = 0; i < LANE_RING; i++)
        FINE(tutti_device()->free_pinned(lane->fresh[i]));
}

void lane_set(struct lane *lane, const struct kit_handle *handle)
{
    lane_sync(lane);
    lane->handle = handle;
    for (int i = 0; i < 2; i++) {
        memset(lane->fresh[i], 0, bytes_of(lane));
        FINE(tutti_copy(lane->buffer[i], lane->fresh[i], bytes_of(lane)));
        for (int r = 0; r < lane->size; r++)
            memset(lane->model[r][i], 0, bytes_of(lane));
    }
    lane_go(lane, LANE_FRESH);
}

static int draw_op(struct lane *lane)
{
    int legal[TUTTI_OPS], n = 0;
    for (int i = 0; i < kit_pair_count; i++) {
        if (kit_pairs[i].handle->type == lane->handle->type)
            legal[n++] = kit_pairs[i].op;
    }
    if (n == 0) {
        fprintf(stderr, "no operator for %s\n", lane->handle->name);
        abort();
    }
    return legal[random_next(&lane->random) % (unsigned)n];
}

static size_t draw_count(struct lane *lane)
{
    uint64_t how = random_next(&lane->random) % 16, number = random_next(&lane->random);
    size_t below = how == 0 ? 1 : how < 6 ? 9 : how < 12 ? 100 : how < 15 ? 3000 : lane->most + 1;
    return (size_t)(number % (below < lane->most + 1 ? below : lane->most + 1));
}

struct lane_step lane_draw(struct lane *lane, int kind)
{
    struct lane_step step = {.kind = (enum lane_kind)kind};
    uint64_t *random = &lane->random;
    if (kind < 0)
        step.kind = (enum lane_kind)(random_next(random) % LANE_KINDS);
    step.op = draw_op(lane);
    step.count = draw_count(lane);
    step.shift = random_next(random) % 8;
    step.in_place = random_next(random) % 3 == 0;
    step.root = (int)(random_next(random) % (unsigned)lane->size);
    step.seed = random_next(random);
    int even = random_next(random) % 3 == 0;
    for (int r = 0; r < lane->size; r++) {
        step.counts[r] = (int)(random_next(random) % 5 == 0 ? 0 : draw_count(lane));
        if (even)
            step.counts[r] = (int)step.count;
    }
    return step;
}

void lane_contents(const struct lane *lane, const struct lane_step *step, int rank, char *out)
{
    struct kit_pair pair = {lane->handle, step->op};
    struct oracle_case c = kit_case(&pair, step->seed % 4 ? ORACLE_HARD : ORACLE_PLAIN, step->seed);
    oracle_fill(out, &c, rank, 0, lane->elements);
}

/* Elements that `rank` gets, and where in the contribution they begin. */
static size_t result_of(const struct lane *lane, const struct lane_step *step, int rank, size_t *begin)
{
    *begin = 0;
    switch (step->kind) {
    case LANE_REDUCE_SCATTER:
        for (int r = 0; r < rank; r++)
            *begin += (size_t)step->counts[r];
        return (size_t)step->counts[rank];
    case LANE_REDUCE_SCATTER_BLOCK:
        *begin = (size_t)rank * step->count;
        return step->count;
    case LANE_REDUCE:
        return rank == step->root ? step->count : 0;
    case LANE_EXSCAN:
        return rank ? step->count : 0;
    case LANE_BARRIER:
        return 0;
    default:
        (void)lane;
        return step->count;
    }
}

void lane_model(struct lane *lane, const struct lane_step *step)
{
    struct oracle_case c = {.type = lane->handle->element, .op = step->op};
    size_t size = lane->handle->size, bytes = bytes_of(lane);
    char *results[LANE_RANKS] = {NULL};
    if (step->kind == LANE_FRESH || step->kind == LANE_COPY) {
        for (int r = 0; r < lane->size; r++) {
            if (step->kind == LANE_FRESH)
                lane_contents(lane, step, r, lane->model[r][0]);
            else
                memcpy(lane->model[r][0], lane->model[r][1], bytes);
        }
        return;
    }
    for (int r = 0; r < lane->size; r++) {
        const void *in[LANE_RANKS];
        size_t begin, n = result_of(lane, step, r, &begin);
        int depth = step->kind == LANE_SCAN ? r + 1 : step->kind == LANE_EXSCAN ? r : lane->size;
        if (n == 0 || depth == 0)
            continue;
        for (int s = 0; s < depth; s++)
            in[s] = lane->model[s][0] + (step->shift + begin) * size;
        results[r] = room(n * size);
        oracle_reduce(results[r], &c, depth, in, n);
    }
    for (int r = 0; r < lane->size; r++) {
        size_t begin, n = result_of(lane, step, r, &begin);
        if (results[r])
            memcpy(step->in_place ? lane->model[r][0] + step->shift * size : lane->model[r][1], results[r], n * size);
        free(results[r]);
    }
}

static int put_call(struct lane *lane, const struct lane_step *step, void *in, void *out)
{
    MPI_Datatype type = lane->handle->type;
    MPI_Op op = kit_op(step->op);
    int n = (int)step->count, large = step->seed % 7 == 0; /* the form with large counts now and then */
    MPI_Count counts[LANE_RANKS];
    for (int r = 0; r < lane->size; r++)
        counts[r] = step->counts[r];
    switch (step->kind) {
    case LANE_ALLREDUCE:
        return large ? MPIX_Allreduce_enqueue_c(in, out, n, type, op, lane->comm)
                     : MPIX_Allreduce_enqueue(in, out, n, type, op, lane->comm);
    case LANE_REDUCE:
        if (lane->rank != step->root && step->in_place)
            in = out;
        if (lane->rank != step->root)
            out = NULL;
        return large ? MPIX_Reduce_enqueue_c(in, out, n, type, op, step->root, lane->comm)
                     : MPIX_Reduce_enqueue(in, out, n, type, op, step->root, lane->comm);
    case LANE_REDUCE_SCATTER:
        return large ? MPIX_Reduce_scatter_enqueue_c(in, out, counts, type, op, lane->comm)
                     : MPIX_Reduce_scatter_enqueue(in, out, step->counts, type, op, lane->comm);
    case LANE_REDUCE_SCATTER_BLOCK:
        return large ? MPIX_Reduce_scatter_block_enqueue_c(in, out, n, type, op, lane->comm)
                     : MPIX_Reduce_scatter_block_enqueue(in, out, n, type, op, lane->comm);
    case LANE_SCAN:
        return large ? MPIX_Scan_enqueue_c(in, out, n, type, op, lane->comm)
                     : MPIX_Scan_enqueue(in, out, n, type, op, lane->comm);
    case LANE_EXSCAN:
        return large ? MPIX_Exscan_enqueue_c(in, out, n, type, op, lane->comm)
                     : MPIX_Exscan_enqueue(in, out, n, type, op, lane->comm);
    default:
        return MPIX_Barrier_enqueue(lane->comm);
    }
}

void lane_put(struct lane *lane, const struct lane_step *step, char *from)
{
    char *in = lane->buffer[0] + step->shift * lane->handle->size, *out = lane->buffer[1];
    int error;
    lane->steps++;
    switch (step->kind) {
    case LANE_FRESH:
        if (!from) {
            if (++lane->ring == LANE_RING) { /* a copy may still read what comes next */
                lane_sync(lane);
                lane->ring = 0;
            }
            from = lane->fresh[lane->ring];
            lane_contents(lane, step, lane->rank, from);
        }
        error = tutti_stream_copy(lane->stream, lane->buffer[0], from, bytes_of(lane));
        break;
    case LANE_COPY:
        error = tutti_stream_copy(lane->stream, lane->buffer[0], lane->buffer[1], bytes_of(lane));
        break;
    default:
        error = put_call(lane, step, step->in_place ? MPI_IN_PLACE : in, step->in_place ? in : out);
    }
    if (error != 0 && lane->wrong++ < 5)
        CHECK(0, "%s of %zu elements %s %s%s: error %d (class %d)", lane_names[step->kind], step->count,
              lane->handle->name, oracle_op_name(step->op), step->in_place ? " in place" : "", error,
              error > 0 ? kit_class(error) : 0);
}

void lane_go(struct lane *lane, int kind)
{
    struct lane_step step = lane_draw(lane, kind);
    lane_put(lane, &step, NULL);
    lane_model(lane, &step);
}

void lane_sync(struct lane *lane)
{
    int status = tutti_stream_sync(lane->stream);
    if (status != 0 && lane->wrong++ < 5)
        CHECK(0, "the stream failed: %s", tutti_status_text(status));
}

int lane_check(struct lane *lane, const char *when)
{
    int fine = 1;
    for (int i = 0; i < 2; i++)
        FINE(tutti_stream_copy(lane->stream, lane->got[i], lane->buffer[i], bytes_of(lane)));
    lane_sync(lane);
    lane->ring = 0;
    for (int i = 0; i < 2; i++) {
        const char *want = lane->model[lane->rank][i];
        size_t at = oracle_differ(lane->handle->element, lane->got[i], want, lane->elements, 0);
        fine &= at == lane->elements;
        if (at < lane->elements && lane->wrong++ < 5) {
            char a[96], b[96];
            oracle_text(a, sizeof a, lane->handle->element, lane->got[i] + at * lane->handle->size);
            oracle_text(b, sizeof b, lane->handle->element, want + at * lane->handle->size);
            CHECK(0, "%s, step %ld, %s: element %zu of buffer %d is %s, not %s", when, lane->steps, lane->handle->name,
                  at, i, a, b);
        }
    }
    CHECK(fine, "%s", when);
    return fine;
}
