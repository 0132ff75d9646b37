/* The rows of `tutti bench never-slower`: how each call is made. Rank 0 is the root. */
#include "bench/common/by_hand.h"
#include "bench/hand/hand.h"

#include "tutti/tutti.h"

#define MPI(call, ...) h->mpi[way].call(__VA_ARGS__)

/* ---- what a rank reads and writes ---- */

static size_t bytes_one(const struct hand *h)
{
    return h->bytes;
}
static size_t for_all(const struct hand *h)
{
    return h->bytes * (size_t)h->n;
}
static size_t for_two(const struct hand *h)
{
    return 2 * h->bytes;
}
static size_t at_root(const struct hand *h)
{
    return h->rank == 0 ? h->bytes : 0;
}
static size_t bytes_elsewhere(const struct hand *h)
{
    return h->rank == 0 ? 0 : h->bytes;
}
static size_t all_at_root(const struct hand *h)
{
    return h->rank == 0 ? for_all(h) : 0;
}
/* Of a pair of ranks. */
static size_t of_pair(const struct hand *h)
{
    return h->peer >= 0 ? h->bytes : 0;
}
static size_t window_out_of(const struct hand *h)
{
    return h->rank == 0 ? HAND_WINDOW_MESSAGES * h->bytes : 0;
}
static size_t window_into(const struct hand *h)
{
    return h->rank == 1 ? HAND_WINDOW_MESSAGES * h->bytes : 0;
}
static size_t bytes_contribution(const struct hand *h)
{
    return (size_t)h->elements * sizeof(int);
}
static size_t result_at_root(const struct hand *h)
{
    return h->rank == 0 ? bytes_contribution(h) : 0;
}
static size_t result_behind_first(const struct hand *h)
{
    return h->rank > 0 ? bytes_contribution(h) : 0;
}
static size_t bytes_segment(const struct hand *h)
{
    return bytes_contribution(h) / (size_t)h->n;
}

/* ---- messages ---- */

static void copy_in(const struct hand_buffers *b, size_t at, size_t bytes)
{
    if (b->device_in)
        bench_copy_by_hand(b->in + at, b->device_in + at, bytes, "copying from the device");
}

static void copy_out(const struct hand_buffers *b, size_t at, size_t bytes)
{
    if (b->device_out)
        bench_copy_by_hand(b->device_out + at, b->out + at, bytes, "copying to the device");
}

/* There and back: each rank sends what it has and gets what the other has. */
static int hand_send(const struct hand *h, int way, const struct hand_buffers *b)
{
    int error = MPI_SUCCESS;
    for (int turn = 0; h->peer >= 0 && turn < 2 && error == MPI_SUCCESS; turn++) {
        if (h->rank == turn) {
            copy_in(b, 0, h->bytes);
            error = MPI(Send, b->in, h->count, MPI_BYTE, h->peer, 0, MPI_COMM_WORLD);
        } else {
            error = MPI(Recv, b->out, h->count, MPI_BYTE, h->peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            copy_out(b, 0, h->bytes);
        }
    }
    return error;
}

static int hand_sendrecv(const struct hand *h, int way, const struct hand_buffers *b)
{
    const int right = (h->rank + 1) % h->n, left = (h->rank + h->n - 1) % h->n;
    return MPI(Sendrecv, b->in, h->count, MPI_BYTE, right, 1, b->out, h->count, MPI_BYTE, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/* Many messages from rank 0 to rank 1, and an acknowledgement. */
static int hand_window(const struct hand *h, int way, const struct hand_buffers *b)
{
    MPI_Request requests[HAND_WINDOW_MESSAGES];
    MPI_Status statuses[HAND_WINDOW_MESSAGES];
    char word = 0;
    int error = MPI_SUCCESS;
    if (h->peer < 0)
        return error;
    for (int i = 0; i < HAND_WINDOW_MESSAGES && error == MPI_SUCCESS; i++) {
        const size_t at = (size_t)i * h->bytes;
        if (h->rank == 1) {
            error = MPI(Irecv, b->out + at, h->count, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
        } else {
            copy_in(b, at, h->bytes);
            error = MPI(Isend, b->in + at, h->count, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
        }
    }
    if (error == MPI_SUCCESS)
        error = MPI(Waitall, HAND_WINDOW_MESSAGES, requests, statuses);
    for (int i = 0; h->rank == 1 && i < HAND_WINDOW_MESSAGES; i++)
        copy_out(b, (size_t)i * h->bytes, h->bytes);
    if (error != MPI_SUCCESS)
        return error;
    return h->rank == 1 ? MPI(Send, &word, 1, MPI_BYTE, 0, 99, MPI_COMM_WORLD)
                        : MPI(Recv, &word, 1, MPI_BYTE, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int open_persistent(struct hand *h, int way, const struct hand_buffers *b)
{
    h->persistent[way] = MPI_REQUEST_NULL;
    if (h->rank == 0 && h->peer >= 0)
        return MPI(Send_init, b->in, h->count, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &h->persistent[way]);
    if (h->peer >= 0)
        return MPI(Recv_init, b->out, h->count, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &h->persistent[way]);
    return MPI_SUCCESS;
}

static void close_persistent(struct hand *h, int way)
{
    if (h->peer >= 0)
        MPI(Request_free, &h->persistent[way]);
}

static int hand_start(const struct hand *h, int way, const struct hand_buffers *b)
{
    MPI_Request *request = (MPI_Request *)(uintptr_t)&h->persistent[way];
    (void)b;
    int error = h->peer < 0 ? MPI_SUCCESS : MPI(Startall, 1, request);
    return error != MPI_SUCCESS || h->peer < 0 ? error : MPI(Wait, request, MPI_STATUS_IGNORE);
}

static size_t sent_by_first(const struct hand *h)
{
    return h->rank == 0 && h->peer >= 0 ? h->bytes : 0;
}
static size_t got_by_second(const struct hand *h)
{
    return h->rank == 1 ? h->bytes : 0;
}

/* ---- collectives ---- */

#define CALL(name, call, ...)                                                                                          \
    static int name(const struct hand *h, int way, const struct hand_buffers *b)                                       \
    {                                                                                                                  \
        return MPI(call, __VA_ARGS__);                                                                                 \
    }
#define STARTED(name, call, ...)                                                                                       \
    static int name(const struct hand *h, int way, const struct hand_buffers *b)                                       \
    {                                                                                                                  \
        MPI_Request request;                                                                                           \
        int error = MPI(call, __VA_ARGS__, &request);                                                                  \
        return error == MPI_SUCCESS ? MPI(Wait, &request, MPI_STATUS_IGNORE) : error;                                  \
    }
#define WORLD  MPI_COMM_WORLD
#define SUM    h->elements, MPI_INT, MPI_SUM
#define BLOCK  h->count, MPI_BYTE
#define BLOCKS h->counts, h->displs, MPI_BYTE

CALL(allreduce, Allreduce, b->in, b->out, SUM, WORLD)
CALL(reduce, Reduce, b->in, b->out, SUM, 0, WORLD)
CALL(reduce_scatter, Reduce_scatter, b->in, b->out, h->segments, MPI_INT, MPI_SUM, WORLD)
CALL(reduce_scatter_block, Reduce_scatter_block, b->in, b->out, h->elements / h->n, MPI_INT, MPI_SUM, WORLD)
CALL(scan, Scan, b->in, b->out, SUM, WORLD)
CALL(exscan, Exscan, b->in, b->out, SUM, WORLD)
CALL(bcast, Bcast, h->rank == 0 ? b->in : b->out, BLOCK, 0, WORLD)
CALL(gather, Gather, b->in, BLOCK, b->out, BLOCK, 0, WORLD)
CALL(gatherv, Gatherv, b->in, BLOCK, b->out, BLOCKS, 0, WORLD)
CALL(scatter, Scatter, b->in, BLOCK, b->out, BLOCK, 0, WORLD)
CALL(scatterv, Scatterv, b->in, BLOCKS, b->out, BLOCK, 0, WORLD)
CALL(allgather, Allgather, b->in, BLOCK, b->out, BLOCK, WORLD)
CALL(allgatherv, Allgatherv, b->in, BLOCK, b->out, BLOCKS, WORLD)
CALL(alltoall, Alltoall, b->in, BLOCK, b->out, BLOCK, WORLD)
CALL(alltoallv, Alltoallv, b->in, BLOCKS, b->out, BLOCKS, WORLD)
CALL(alltoallw, Alltoallw, b->in, h->counts, h->displs, h->types, b->out, h->counts, h->displs, h->types, WORLD)
CALL(neighbor_allgather, Neighbor_allgather, b->in, BLOCK, b->out, BLOCK, h->ring)
CALL(neighbor_allgatherv, Neighbor_allgatherv, b->in, BLOCK, b->out, BLOCKS, h->ring)
CALL(neighbor_alltoall, Neighbor_alltoall, b->in, BLOCK, b->out, BLOCK, h->ring)
CALL(neighbor_alltoallv, Neighbor_alltoallv, b->in, BLOCKS, b->out, BLOCKS, h->ring)
CALL(neighbor_alltoallw, Neighbor_alltoallw, b->in, h->counts, h->places, h->types, b->out, h->counts, h->places,
     h->types, h->ring)
STARTED(iallreduce, Iallreduce, b->in, b->out, SUM, WORLD)
STARTED(ireduce, Ireduce, b->in, b->out, SUM, 0, WORLD)
STARTED(ireduce_scatter_block, Ireduce_scatter_block, b->in, b->out, h->elements / h->n, MPI_INT, MPI_SUM, WORLD)
STARTED(ireduce_scatter, Ireduce_scatter, b->in, b->out, h->segments, MPI_INT, MPI_SUM, WORLD)
STARTED(iexscan, Iexscan, b->in, b->out, SUM, WORLD)
STARTED(igatherv, Igatherv, b->in, BLOCK, b->out, BLOCKS, 0, WORLD)
STARTED(iscatterv, Iscatterv, b->in, BLOCKS, b->out, BLOCK, 0, WORLD)
STARTED(iallgatherv, Iallgatherv, b->in, BLOCK, b->out, BLOCKS, WORLD)
STARTED(ialltoallw, Ialltoallw, b->in, h->counts, h->displs, h->types, b->out, h->counts, h->displs, h->types, WORLD)
STARTED(ineighbor_allgather, Ineighbor_allgather, b->in, BLOCK, b->out, BLOCK, h->ring)
STARTED(ineighbor_allgatherv, Ineighbor_allgatherv, b->in, BLOCK, b->out, BLOCKS, h->ring)
STARTED(ineighbor_alltoallv, Ineighbor_alltoallv, b->in, BLOCKS, b->out, BLOCKS, h->ring)
STARTED(ineighbor_alltoallw, Ineighbor_alltoallw, b->in, h->counts, h->places, h->types, b->out, h->counts, h->places,
        h->types, h->ring)
STARTED(iscan, Iscan, b->in, b->out, SUM, WORLD)
STARTED(ibcast, Ibcast, h->rank == 0 ? b->in : b->out, BLOCK, 0, WORLD)
STARTED(igather, Igather, b->in, BLOCK, b->out, BLOCK, 0, WORLD)
STARTED(iscatter, Iscatter, b->in, BLOCK, b->out, BLOCK, 0, WORLD)
STARTED(iallgather, Iallgather, b->in, BLOCK, b->out, BLOCK, WORLD)
STARTED(ialltoall, Ialltoall, b->in, BLOCK, b->out, BLOCK, WORLD)
STARTED(ialltoallv, Ialltoallv, b->in, BLOCKS, b->out, BLOCKS, WORLD)
STARTED(ineighbor_alltoall, Ineighbor_alltoall, b->in, BLOCK, b->out, BLOCK, h->ring)

/* ---- windows: a block to or from the next rank, between two fences ---- */

static int open_window(struct hand *h, int way, char *memory)
{
    return MPI(Win_create, memory, (MPI_Aint)h->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &h->window[way]);
}

static int open_target(struct hand *h, int way, const struct hand_buffers *b)
{
    return open_window(h, way, b->out);
}

static int open_source(struct hand *h, int way, const struct hand_buffers *b)
{
    return open_window(h, way, b->in);
}

static void close_window(struct hand *h, int way)
{
    MPI(Win_free, &h->window[way]);
}

#define FENCED(name, call, memory)                                                                                     \
    static int name(const struct hand *h, int way, const struct hand_buffers *b)                                       \
    {                                                                                                                  \
        const int right = (h->rank + 1) % h->n;                                                                        \
        int error = MPI(Win_fence, 0, h->window[way]);                                                                 \
        if (error == MPI_SUCCESS)                                                                                      \
            error = MPI(call, memory, BLOCK, right, 0, BLOCK, h->window[way]);                                         \
        return error == MPI_SUCCESS ? MPI(Win_fence, 0, h->window[way]) : error;                                       \
    }
FENCED(put, Put, b->in)
FENCED(get, Get, b->out)

/* ---- the table ---- */

#define ROW(in_, out_, run_) .in = in_, .out = out_, .run = run_
const struct hand_row hand_rows[HAND_CALLS] = {
#define HAND_CALL(id, group_, name_)   [HAND_##id] = {.group = HAND_##group_, .name = name_, HAND_ROW_##id},
#define HAND_ROW_SEND                  ROW(of_pair, of_pair, hand_send), .copies = 1, .share = 0.5
#define HAND_ROW_SENDRECV              ROW(bytes_one, bytes_one, hand_sendrecv)
#define HAND_ROW_WINDOW                ROW(window_out_of, window_into, hand_window), .copies = 1
#define HAND_ROW_START                 ROW(sent_by_first, got_by_second, hand_start), .open = open_persistent, .close = close_persistent
#define HAND_ROW_ALLREDUCE             ROW(bytes_contribution, bytes_contribution, allreduce)
#define HAND_ROW_REDUCE                ROW(bytes_contribution, result_at_root, reduce)
#define HAND_ROW_REDUCE_SCATTER        ROW(bytes_contribution, bytes_segment, reduce_scatter)
#define HAND_ROW_REDUCE_SCATTER_BLOCK  ROW(bytes_contribution, bytes_segment, reduce_scatter_block)
#define HAND_ROW_SCAN                  ROW(bytes_contribution, bytes_contribution, scan)
#define HAND_ROW_EXSCAN                ROW(bytes_contribution, result_behind_first, exscan)
#define HAND_ROW_BCAST                 ROW(at_root, bytes_elsewhere, bcast)
#define HAND_ROW_GATHER                ROW(bytes_one, all_at_root, gather)
#define HAND_ROW_GATHERV               ROW(bytes_one, all_at_root, gatherv)
#define HAND_ROW_SCATTER               ROW(all_at_root, bytes_one, scatter)
#define HAND_ROW_SCATTERV              ROW(all_at_root, bytes_one, scatterv)
#define HAND_ROW_ALLGATHER             ROW(bytes_one, for_all, allgather)
#define HAND_ROW_ALLGATHERV            ROW(bytes_one, for_all, allgatherv)
#define HAND_ROW_ALLTOALL              ROW(for_all, for_all, alltoall)
#define HAND_ROW_ALLTOALLV             ROW(for_all, for_all, alltoallv)
#define HAND_ROW_ALLTOALLW             ROW(for_all, for_all, alltoallw)
#define HAND_ROW_NEIGHBOR_ALLGATHER    ROW(bytes_one, for_two, neighbor_allgather)
#define HAND_ROW_NEIGHBOR_ALLGATHERV   ROW(bytes_one, for_two, neighbor_allgatherv)
#define HAND_ROW_NEIGHBOR_ALLTOALL     ROW(for_two, for_two, neighbor_alltoall)
#define HAND_ROW_NEIGHBOR_ALLTOALLV    ROW(for_two, for_two, neighbor_alltoallv)
#define HAND_ROW_NEIGHBOR_ALLTOALLW    ROW(for_two, for_two, neighbor_alltoallw)
#define HAND_ROW_IALLREDUCE            ROW(bytes_contribution, bytes_contribution, iallreduce)
#define HAND_ROW_IREDUCE               ROW(bytes_contribution, result_at_root, ireduce)
#define HAND_ROW_IREDUCE_SCATTER_BLOCK ROW(bytes_contribution, bytes_segment, ireduce_scatter_block)
#define HAND_ROW_ISCAN                 ROW(bytes_contribution, bytes_contribution, iscan)
#define HAND_ROW_IBCAST                ROW(at_root, bytes_elsewhere, ibcast)
#define HAND_ROW_IGATHER               ROW(bytes_one, all_at_root, igather)
#define HAND_ROW_ISCATTER              ROW(all_at_root, bytes_one, iscatter)
#define HAND_ROW_IALLGATHER            ROW(bytes_one, for_all, iallgather)
#define HAND_ROW_IALLTOALL             ROW(for_all, for_all, ialltoall)
#define HAND_ROW_IALLTOALLV            ROW(for_all, for_all, ialltoallv)
#define HAND_ROW_INEIGHBOR_ALLTOALL    ROW(for_two, for_two, ineighbor_alltoall)
#define HAND_ROW_IREDUCE_SCATTER       ROW(bytes_contribution, bytes_segment, ireduce_scatter)
#define HAND_ROW_IEXSCAN               ROW(bytes_contribution, result_behind_first, iexscan)
#define HAND_ROW_IGATHERV              ROW(bytes_one, all_at_root, igatherv)
#define HAND_ROW_ISCATTERV             ROW(all_at_root, bytes_one, iscatterv)
#define HAND_ROW_IALLGATHERV           ROW(bytes_one, for_all, iallgatherv)
#define HAND_ROW_IALLTOALLW            ROW(for_all, for_all, ialltoallw)
#define HAND_ROW_INEIGHBOR_ALLGATHER   ROW(bytes_one, for_two, ineighbor_allgather)
#define HAND_ROW_INEIGHBOR_ALLGATHERV  ROW(bytes_one, for_two, ineighbor_allgatherv)
#define HAND_ROW_INEIGHBOR_ALLTOALLV   ROW(for_two, for_two, ineighbor_alltoallv)
#define HAND_ROW_INEIGHBOR_ALLTOALLW   ROW(for_two, for_two, ineighbor_alltoallw)
#define HAND_ROW_PUT                   ROW(bytes_one, bytes_one, put), .open = open_target, .close = close_window
#define HAND_ROW_GET                   ROW(bytes_one, bytes_one, get), .open = open_source, .close = close_window
#include "bench/words/hand_calls.def"
#undef HAND_CALL
};
