/* The transfers: blocks that a rank sends and receives, and the calls of MPI. Rank 0 is the root. */
#include "bench/common/by_hand.h"
#include "bench/transfer/transfer.h"

#include <stdio.h>

#include "tutti/mpix.h"
#include "tutti/tutti.h"

#define MPI(call, ...) t->mpi[way].call(__VA_ARGS__)

/* ---- blocks ---- */

static int transfer_one(const struct transfer *t)
{
    (void)t;
    return 1;
}
static int transfer_all(const struct transfer *t)
{
    return t->n;
}
static int transfer_at_root(const struct transfer *t)
{
    return t->rank == 0;
}
static int transfer_elsewhere(const struct transfer *t)
{
    return t->rank != 0;
}
static int transfer_all_at_root(const struct transfer *t)
{
    return t->rank == 0 ? t->n : 0;
}
static int transfer_of_pair(const struct transfer *t)
{
    return t->peer >= 0;
}
static int transfer_window_out(const struct transfer *t)
{
    return t->peer >= 0 && t->sends ? t->what->window : 0;
}
static int transfer_window_in(const struct transfer *t)
{
    return t->peer >= 0 && !t->sends ? t->what->window : 0;
}
static int transfer_window_both(const struct transfer *t)
{
    return t->peer >= 0 ? t->what->window : 0;
}
/* Ranks of the ring that are two on either side, or one on both. */
static int transfer_neighbours(const struct transfer *t)
{
    return t->left == t->right ? 1 : 2;
}

static struct transfer_source transfer_from_peer(const struct transfer *t, int block)
{
    return (struct transfer_source){t->peer, block};
}
static struct transfer_source transfer_from_root(const struct transfer *t, int block)
{
    (void)t, (void)block;
    return (struct transfer_source){0, 0};
}
static struct transfer_source transfer_of_root(const struct transfer *t, int block)
{
    (void)block;
    return (struct transfer_source){0, t->rank};
}
static struct transfer_source transfer_from_each(const struct transfer *t, int block)
{
    (void)t;
    return (struct transfer_source){block, 0};
}
static struct transfer_source transfer_crossed(const struct transfer *t, int block)
{
    return (struct transfer_source){block, t->rank};
}
/* The left one sends its second block here, the right one its first. */
static struct transfer_source transfer_from_ring(const struct transfer *t, int block)
{
    return block == 0 ? (struct transfer_source){t->left, transfer_neighbours(t) - 1}
                      : (struct transfer_source){t->right, 0};
}
/* Each sends one block to both. */
static struct transfer_source transfer_from_neighbours(const struct transfer *t, int block)
{
    return (struct transfer_source){block == 0 ? t->left : t->right, 0};
}

/* ---- messages ---- */

static void transfer_copy_in(const struct transfer *t, const struct transfer_buffers *b, size_t to, size_t from)
{
    if (b->device_in)
        bench_copy_by_hand(b->in + to, b->device_in + from, t->bytes, "copying from the device");
}

static void transfer_copy_out(const struct transfer *t, const struct transfer_buffers *b, size_t to, size_t from)
{
    if (b->device_out)
        bench_copy_by_hand(b->device_out + to, b->out + from, t->bytes, "copying to the device");
}

/* There and back: each rank sends what it has and gets what the other has. */
static int transfer_latency(const struct transfer *t, int way, const struct transfer_buffers *b)
{
    int error = MPI_SUCCESS;
    for (int turn = 0; t->peer >= 0 && turn < 2 && error == MPI_SUCCESS; turn++) {
        if (t->rank == turn) {
            transfer_copy_in(t, b, 0, 0);
            error = MPI(Send, b->in, t->count, MPI_BYTE, t->peer, 0, t->comm);
        } else {
            error = MPI(Recv, b->out, t->count, MPI_BYTE, t->peer, 0, t->comm, MPI_STATUS_IGNORE);
            transfer_copy_out(t, b, 0, 0);
        }
    }
    return error;
}

enum { TRANSFER_WINDOW_MOST = 1024, TRANSFER_ACK = 100 };

/* `many` messages of a window from number `first` on; receives: into this rank too. */
static int transfer_part_of_window(const struct transfer *t, int way, const struct transfer_buffers *b, int first,
                                   int many, int sends, int receives)
{
    MPI_Request requests[2 * TRANSFER_WINDOW_MOST];
    MPI_Status statuses[2 * TRANSFER_WINDOW_MOST];
    const int by_hand = b->device_in != NULL;
    int n = 0, error = MPI_SUCCESS;
    for (int i = first; receives && i < first + many && error == MPI_SUCCESS; i++)
        error = MPI(Irecv, b->out + (size_t)(by_hand ? i - first : i) * t->bytes, t->count, MPI_BYTE, t->peer, 1,
                    t->comm, &requests[n++]);
    for (int i = first; sends && i < first + many && error == MPI_SUCCESS; i++) {
        const size_t from = (size_t)i * t->bytes, at = by_hand ? (size_t)(i - first) * t->bytes : from;
        transfer_copy_in(t, b, at, from);
        error = MPI(Isend, b->in + at, t->count, MPI_BYTE, t->peer, 1, t->comm, &requests[n++]);
    }
    if (error == MPI_SUCCESS)
        error = MPI(Waitall, n, requests, statuses);
    for (int i = first; receives && i < first + many; i++)
        transfer_copy_out(t, b, (size_t)i * t->bytes, (size_t)(i - first) * t->bytes);
    return error;
}

/* A word that the window has arrived, from the receiver. */
static int transfer_acknowledge(const struct transfer *t, int way)
{
    char word[4] = "";
    return t->sends ? MPI(Recv, word, 4, MPI_BYTE, t->peer, TRANSFER_ACK, t->comm, MPI_STATUS_IGNORE)
                    : MPI(Send, word, 4, MPI_BYTE, t->peer, TRANSFER_ACK, t->comm);
}

static int transfer_window_of(const struct transfer *t, int way, const struct transfer_buffers *b, int both)
{
    const int most = b->device_in ? t->places : t->what->window;
    int error = MPI_SUCCESS;
    for (int first = 0; t->peer >= 0 && first < t->what->window && error == MPI_SUCCESS; first += most) {
        const int left = t->what->window - first;
        error =
            transfer_part_of_window(t, way, b, first, left < most ? left : most, both || t->sends, both || !t->sends);
    }
    return t->peer < 0 || error != MPI_SUCCESS ? error : transfer_acknowledge(t, way);
}

static int transfer_window(const struct transfer *t, int way, const struct transfer_buffers *b)
{
    return transfer_window_of(t, way, b, 0);
}

static int transfer_two_windows(const struct transfer *t, int way, const struct transfer_buffers *b)
{
    return transfer_window_of(t, way, b, 1);
}

/* ---- collectives ---- */

/* The calls in stream order have the arguments of the blocking ones. */
void *transfer_enqueue_symbol(const char *call)
{
    char name[64];
    snprintf(name, sizeof name, "MPIX_%s_enqueue", call);
    void *kept = NULL, *symbol = tutti_mpix_find(name, &kept);
    if (!symbol)
        bench_fail("the library has no %s", name);
    return symbol;
}

/* There and back in stream order. */
static int transfer_latency_enqueue(const struct transfer *t, const struct transfer_buffers *b)
{
    static union {
        void *symbol;
        int (*call)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    } sends;
    static union {
        void *symbol;
        int (*call)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    } receives;
    int error = MPI_SUCCESS;
    if (!sends.symbol) {
        sends.symbol = transfer_enqueue_symbol("Send");
        receives.symbol = transfer_enqueue_symbol("Recv");
    }
    for (int turn = 0; t->peer >= 0 && turn < 2 && error == MPI_SUCCESS; turn++)
        error = t->rank == turn ? sends.call(b->in, t->count, MPI_BYTE, t->peer, 0, t->ordered)
                                : receives.call(b->out, t->count, MPI_BYTE, t->peer, 0, t->ordered, MPI_STATUS_IGNORE);
    return error;
}

#define BLOCK  t->count, MPI_BYTE
#define BLOCKS t->counts, t->displs, MPI_BYTE
#define MOVER(name, Name, Iname, ...)                                                                                  \
    static int transfer_##name(const struct transfer *t, int way, const struct transfer_buffers *b)                    \
    {                                                                                                                  \
        return MPI(Name, __VA_ARGS__, t->comm);                                                                        \
    }                                                                                                                  \
    static int transfer_i##name(const struct transfer *t, int way, const struct transfer_buffers *b,                   \
                                MPI_Request *request)                                                                  \
    {                                                                                                                  \
        return MPI(Iname, __VA_ARGS__, t->comm, request);                                                              \
    }
#define ORDERED(name, Name, ...)                                                                                       \
    static int transfer_##name##_enqueue(const struct transfer *t, const struct transfer_buffers *b)                   \
    {                                                                                                                  \
        static union {                                                                                                 \
            void *symbol;                                                                                              \
            __typeof__(&MPI_##Name) call;                                                                              \
        } found;                                                                                                       \
        if (!found.symbol)                                                                                             \
            found.symbol = transfer_enqueue_symbol(#Name);                                                             \
        return found.call(__VA_ARGS__, t->ordered);                                                                    \
    }
#define MOVER_ORDERED(name, Name, Iname, ...)                                                                          \
    MOVER(name, Name, Iname, __VA_ARGS__)                                                                              \
    ORDERED(name, Name, __VA_ARGS__)

MOVER_ORDERED(bcast, Bcast, Ibcast, t->rank == 0 ? b->in : b->out, BLOCK, 0)
MOVER_ORDERED(gather, Gather, Igather, b->in, BLOCK, b->out, BLOCK, 0)
MOVER_ORDERED(gatherv, Gatherv, Igatherv, b->in, BLOCK, b->out, BLOCKS, 0)
MOVER_ORDERED(scatter, Scatter, Iscatter, b->in, BLOCK, b->out, BLOCK, 0)
MOVER_ORDERED(scatterv, Scatterv, Iscatterv, b->in, BLOCKS, b->out, BLOCK, 0)
MOVER_ORDERED(allgather, Allgather, Iallgather, b->in, BLOCK, b->out, BLOCK)
MOVER_ORDERED(allgatherv, Allgatherv, Iallgatherv, b->in, BLOCK, b->out, BLOCKS)
MOVER_ORDERED(alltoall, Alltoall, Ialltoall, b->in, BLOCK, b->out, BLOCK)
MOVER_ORDERED(alltoallv, Alltoallv, Ialltoallv, b->in, BLOCKS, b->out, BLOCKS)
MOVER(neighbor_allgather, Neighbor_allgather, Ineighbor_allgather, b->in, BLOCK, b->out, BLOCK)
MOVER(neighbor_allgatherv, Neighbor_allgatherv, Ineighbor_allgatherv, b->in, BLOCK, b->out, BLOCKS)
MOVER(neighbor_alltoall, Neighbor_alltoall, Ineighbor_alltoall, b->in, BLOCK, b->out, BLOCK)
MOVER(neighbor_alltoallv, Neighbor_alltoallv, Ineighbor_alltoallv, b->in, BLOCKS, b->out, BLOCKS)

/* ---- the table ---- */

/* clang-format off */
#define MESSAGE(in_, out_, run_, nccl_) \
    .in = transfer_##in_, .out = transfer_##out_, .from = transfer_from_peer, .run = transfer_##run_, \
    .nccl = transfer_nccl_##nccl_, .copies = 1
#define MOVED(in_, out_, from_, run_, nccl_) \
    .in = transfer_##in_, .out = transfer_##out_, .from = transfer_##from_, .run = transfer_##run_, \
    .start = transfer_i##run_, .nccl = transfer_nccl_##nccl_
#define IN_ORDER(run_) .enqueue = transfer_##run_##_enqueue
#define ROW_LATENCY             MESSAGE(of_pair, of_pair, latency, latency), IN_ORDER(latency), .pair = 1
#define ROW_BW                  MESSAGE(window_out, window_in, window, window), .pair = 1
#define ROW_BIBW                MESSAGE(window_both, window_both, two_windows, window), .pair = 1
#define ROW_MBW_MR              MESSAGE(window_out, window_in, window, window)
#define ROW_BCAST               MOVED(at_root, elsewhere, from_root, bcast, bcast), IN_ORDER(bcast)
#define ROW_GATHER              MOVED(one, all_at_root, from_each, gather, gather), IN_ORDER(gather), .engines = 1
#define ROW_GATHERV             MOVED(one, all_at_root, from_each, gatherv, gather), IN_ORDER(gatherv)
#define ROW_SCATTER             MOVED(all_at_root, one, of_root, scatter, scatter), IN_ORDER(scatter), .engines = 1
#define ROW_SCATTERV            MOVED(all_at_root, one, of_root, scatterv, scatter), IN_ORDER(scatterv)
#define ROW_ALLGATHER           MOVED(one, all, from_each, allgather, allgather), IN_ORDER(allgather), .engines = 1
#define ROW_ALLGATHERV          MOVED(one, all, from_each, allgatherv, allgather), IN_ORDER(allgatherv)
#define ROW_ALLTOALL            MOVED(all, all, crossed, alltoall, alltoall), IN_ORDER(alltoall), .engines = 1
#define ROW_ALLTOALLV           MOVED(all, all, crossed, alltoallv, alltoallv), IN_ORDER(alltoallv)
#define ROW_NEIGHBOR_ALLGATHER  MOVED(one, neighbours, from_neighbours, neighbor_allgather, ring_of_one), .ring = 1
#define ROW_NEIGHBOR_ALLGATHERV MOVED(one, neighbours, from_neighbours, neighbor_allgatherv, ring_of_one), .ring = 1
#define ROW_NEIGHBOR_ALLTOALL   MOVED(neighbours, neighbours, from_ring, neighbor_alltoall, ring), .ring = 1
#define ROW_NEIGHBOR_ALLTOALLV  MOVED(neighbours, neighbours, from_ring, neighbor_alltoallv, ring), .ring = 1
/* clang-format on */
const struct transfer_row transfer_rows[TRANSFERS] = {
#define TRANSFER(id, name_, call_, group_, figure_, text)                                                              \
    [TRANSFER_##                                                                                                       \
        id] = {.name = name_, .call = call_, .group = TRANSFER_##group_, .figure = TRANSFER_##figure_, ROW_##id},
#include "bench/words/transfers.def"
#undef TRANSFER
};
