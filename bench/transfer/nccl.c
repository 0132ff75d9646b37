/* The transfers by NCCL. What it has no call for is a group of sends and receives. */
#include "bench/common/gpu.h"
#include "bench/transfer/transfer.h"

#define MUST(call, ...) bench_nccl_must(n->call(__VA_ARGS__), "nccl" #call)
#define BYTES           t->bytes, NCCL_U8
#define TO              n->comm, bench_gpu_stream()

void transfer_nccl_latency(const struct transfer *t, enum bench_nccl_copy copy, const struct transfer_buffers *b)
{
    const struct bench_nccl *n = bench_nccl(copy);
    for (int turn = 0; t->peer >= 0 && turn < 2; turn++) {
        if (t->rank == turn)
            MUST(Send, b->in, BYTES, t->peer, TO);
        else
            MUST(Recv, b->out, BYTES, t->peer, TO);
        if (t->plan->order == BENCH_HOST)
            bench_gpu_sync();
    }
}

/* A window is a group; the word back is the MPI's, as of the other ways. */
void transfer_nccl_window(const struct transfer *t, enum bench_nccl_copy copy, const struct transfer_buffers *b)
{
    const struct bench_nccl *n = bench_nccl(copy);
    const int sends = t->row->in(t), receives = t->row->out(t);
    char word[4] = "";
    if (t->peer < 0)
        return;
    MUST(GroupStart);
    for (int i = 0; i < receives; i++)
        MUST(Recv, b->out + (size_t)i * t->bytes, BYTES, t->peer, TO);
    for (int i = 0; i < sends; i++)
        MUST(Send, b->in + (size_t)i * t->bytes, BYTES, t->peer, TO);
    MUST(GroupEnd);
    bench_gpu_sync();
    if (t->sends)
        bench_mpi.Recv(word, 4, MPI_BYTE, t->peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        bench_mpi.Send(word, 4, MPI_BYTE, t->peer, 0, MPI_COMM_WORLD);
}

void transfer_nccl_bcast(const struct transfer *t, enum bench_nccl_copy copy, const struct transfer_buffers *b)
{
    const struct bench_nccl *n = bench_nccl(copy);
    char *buffer = t->rank == 0 ? b->in : b->out;
    MUST(Broadcast, buffer, buffer, BYTES, 0, TO);
}

/* Blocks to all ranks or to the root, and from all or from the root; a rank's own block too. */
static void transfer_nccl_group(const struct transfer *t, enum bench_nccl_copy copy, const struct transfer_buffers *b,
                                int to, int from)
{
    const struct bench_nccl *n = bench_nccl(copy);
    MUST(GroupStart);
    for (int r = 0; r < from; r++)
        MUST(Recv, b->out + (size_t)r * t->bytes, BYTES, r, TO);
    for (int r = 0; r < to; r++)
        MUST(Send, b->in + (size_t)r * t->bytes, BYTES, r, TO);
    MUST(GroupEnd);
}

void transfer_nccl_gather(const struct transfer *t, enum bench_nccl_copy copy, const struct transfer_buffers *b)
{
    const struct bench_nccl *n = bench_nccl(copy);
    if (n->Gather)
        MUST(Gather, b->in, b->out, BYTES, 0, TO);
    else
        transfer_nccl_group(t, copy, b, 1, t->rank == 0 ? t->n : 0);
}

void transfer_nccl_scatter(const struct transfer *t, enum bench_nccl_copy copy, const struct transfer_buffers *b)
{
    const struct bench_nccl *n = bench_nccl(copy);
    if (n->Scatter)
        MUST(Scatter, b->in, b->out, BYTES, 0, TO);
    else
        transfer_nccl_group(t, copy, b, t->rank == 0 ? t->n : 0, 1);
}

void transfer_nccl_allgather(const struct transfer *t, enum bench_nccl_copy copy, const struct transfer_buffers *b)
{
    const struct bench_nccl *n = bench_nccl(copy);
    MUST(AllGather, b->in, b->out, BYTES, TO);
}

void transfer_nccl_alltoallv(const struct transfer *t, enum bench_nccl_copy copy, const struct transfer_buffers *b)
{
    transfer_nccl_group(t, copy, b, t->n, t->n);
}

void transfer_nccl_alltoall(const struct transfer *t, enum bench_nccl_copy copy, const struct transfer_buffers *b)
{
    const struct bench_nccl *n = bench_nccl(copy);
    if (n->AlltoAll)
        MUST(AlltoAll, b->in, b->out, BYTES, TO);
    else
        transfer_nccl_alltoallv(t, copy, b);
}

/* stride: from the block for the left neighbour to that for the right one. */
static void transfer_nccl_to_both(const struct transfer *t, enum bench_nccl_copy copy, const struct transfer_buffers *b,
                                  size_t stride)
{
    const struct bench_nccl *n = bench_nccl(copy);
    const int two = t->left != t->right;
    MUST(GroupStart);
    MUST(Recv, b->out, BYTES, t->left, TO);
    MUST(Send, b->in, BYTES, t->left, TO);
    if (two) {
        MUST(Recv, b->out + t->bytes, BYTES, t->right, TO);
        MUST(Send, b->in + stride, BYTES, t->right, TO);
    }
    MUST(GroupEnd);
}

void transfer_nccl_ring(const struct transfer *t, enum bench_nccl_copy copy, const struct transfer_buffers *b)
{
    transfer_nccl_to_both(t, copy, b, t->bytes);
}

void transfer_nccl_ring_of_one(const struct transfer *t, enum bench_nccl_copy copy, const struct transfer_buffers *b)
{
    transfer_nccl_to_both(t, copy, b, 0);
}
