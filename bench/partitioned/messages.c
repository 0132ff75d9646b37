/* A kernel of rank 0 makes a message, which rank 1 receives. */
#include "bench/common/gpu.h"
#include "bench/common/nccl.h"
#include "bench/partitioned/part.h"
#include "bench/reductions/enqueue.h"
#include "tutti/mpix.h"

enum { PART_TAG = 11 };

static int message_open(struct part_bench *b, int way)
{
    struct part_request *r = &b->request[way];
    const MPI_Count words = (MPI_Count)(b->bytes / 4);
    int error;
    if (way == PART_KERNEL)
        return 0;
    if (way > PART_HOST || b->rank > 1)
        return 1;
    if (way == PART_HOST)
        r->parts = 1; /* MPI_Pready of partitions that are transport partitions */
    const int partitions = way == PART_HOST ? b->partitions : b->grid.blocks * r->parts;
    MPI_Info info = part_info(b);
    if (b->rank == 0)
        error = b->calls.psend_init(b->out, partitions, words / partitions, MPI_INT, 1, PART_TAG + way, MPI_COMM_WORLD,
                                    info, &r->request);
    else
        error = b->calls.precv_init(b->in, b->partitions, words / b->partitions, MPI_INT, 0, PART_TAG + way,
                                    MPI_COMM_WORLD, MPI_INFO_NULL, &r->request);
    MPI_Info_free(&info);
    part_must(b, way, error, b->rank == 0 ? "MPI_Psend_init" : "MPI_Precv_init");
    if (way == PART_HOST || b->rank == 1)
        return 1;
    part_must(b, way, MPIX_Prequest_create(r->request, &r->device), "MPIX_Prequest_create");
    r->has_device = 1;
    return 1;
}

static void message_by_request(struct part_bench *b, int way, uint64_t seed)
{
    struct part_request *r = &b->request[way];
    part_begin(b, way);
    if (b->rank == 0) {
        part_launch_kernel(b, r->has_device ? r : NULL, seed);
        if (!r->has_device) {
            bench_gpu_sync();
            part_must(b, way, b->calls.pready_range(0, b->partitions - 1, r->request), "MPI_Pready_range");
        }
    }
    part_wait(b, way);
}

static void message_by_nccl(const struct part_bench *b)
{
    const struct bench_nccl *n = bench_nccl(BENCH_NCCL_USUAL);
    if (b->rank == 0)
        bench_nccl_must(n->Send(b->out, b->bytes, NCCL_U8, 1, n->comm, bench_gpu_stream()), "ncclSend");
    else
        bench_nccl_must(n->Recv(b->in, b->bytes, NCCL_U8, 0, n->comm, bench_gpu_stream()), "ncclRecv");
}

/* The whole message in one call behind the kernel. */
static void message_by_call(struct part_bench *b, int way, uint64_t seed)
{
    const int words = (int)(b->bytes / 4);
    int error = MPI_SUCCESS;
    if (b->rank == 0)
        part_launch_kernel(b, NULL, seed);
    if (b->rank == 0 && way == PART_BLOCKING)
        bench_gpu_sync();
    if (way == PART_NCCL)
        message_by_nccl(b);
    else if (way == PART_ENQUEUE && b->rank == 0)
        error = MPIX_Send_enqueue(b->out, words, MPI_INT, 1, PART_TAG, bench_enqueue_comm());
    else if (way == PART_ENQUEUE)
        error = MPIX_Recv_enqueue(b->in, words, MPI_INT, 0, PART_TAG, bench_enqueue_comm(), MPI_STATUS_IGNORE);
    else if (b->rank == 0)
        error = MPI_Send(b->out, words, MPI_INT, 1, PART_TAG, MPI_COMM_WORLD);
    else
        error = MPI_Recv(b->in, words, MPI_INT, 0, PART_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    part_must(b, way, error, "a message");
    if (way != PART_BLOCKING)
        bench_gpu_sync();
}

static void message_run(struct part_bench *b, int way, uint64_t seed)
{
    if (b->rank > 1)
        return;
    if (way <= PART_HOST)
        message_by_request(b, way, seed);
    else
        message_by_call(b, way, seed);
}

static int message_check(struct part_bench *b, uint64_t seed)
{
    const uint64_t sent = part_seed_of(seed, 0);
    int right = 1;
    for (size_t i = 0; right && b->rank == 1 && i < b->bytes / 4; i++)
        right = b->host[i] == part_word(sent, i);
    return right;
}

const struct part_row part_messages = {
    .call = "MPI_Psend", .open = message_open, .run = message_run, .check = message_check};
