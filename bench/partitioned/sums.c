/* A kernel of each rank makes a contribution of float, and all ranks get the sum. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/gpu.h"
#include "bench/common/nccl.h"
#include "bench/partitioned/part.h"
#include "bench/reductions/enqueue.h"
#include "tutti/mpix.h"

static void sum_create(struct part_bench *b, int way, int partitions)
{
    MPI_Info info = part_info(b);
    const int error = MPIX_Pallreduce_init(b->out, b->in, partitions, (MPI_Count)(b->bytes / 4) / partitions, MPI_FLOAT,
                                           MPI_SUM, MPI_COMM_WORLD, info, &b->request[way].request);
    MPI_Info_free(&info);
    part_must(b, way, error, "MPIX_Pallreduce_init");
}

static int sum_open(struct part_bench *b, int way)
{
    struct part_request *r = &b->request[way];
    if (way > PART_HOST)
        return way != PART_KERNEL;
    const int by_host = way == PART_HOST || !b->sums_from_kernels;
    if ((way != PART_TUTTI && way != PART_HOST) || (way == PART_HOST && !b->sums_from_kernels))
        return 0;
    sum_create(b, way, by_host ? b->partitions : b->grid.blocks);
    if (by_host)
        return 1;
    part_must(b, way, MPIX_Prequest_create(r->request, &r->device), "MPIX_Prequest_create");
    r->has_device = 1;
    return 1;
}

/* Without device requests of collectives the host marks the partitions of tutti, and there is no other such way. */
int part_sums_from_kernels(struct part_bench *b)
{
    MPI_Request request;
    MPI_Errhandler before;
    MPIX_Prequest device;
    fflush(stderr);
    const int kept = dup(STDERR_FILENO), nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nothing, STDERR_FILENO); /* a refusal is reported there */
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int can = MPIX_Pallreduce_init(b->out, b->in, 1, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request) ==
              MPI_SUCCESS;
    if (can) {
        can = MPIX_Prequest_create(request, &device) == MPI_SUCCESS && MPIX_Prequest_free(&device) == MPI_SUCCESS;
        MPI_Request_free(&request);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    if (before != MPI_ERRHANDLER_NULL && before != MPI_ERRORS_ARE_FATAL)
        MPI_Errhandler_free(&before);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(nothing);
    return bench_all_agree(can);
}

static void sum_by_request(struct part_bench *b, int way, uint64_t seed)
{
    struct part_request *r = &b->request[way];
    part_begin(b, way);
    part_launch_kernel(b, r->has_device ? r : NULL, seed);
    if (!r->has_device) {
        bench_gpu_sync();
        part_must(b, way, b->calls.pready_range(0, b->partitions - 1, r->request), "MPI_Pready_range");
    }
    part_wait(b, way);
}

static void sum_run(struct part_bench *b, int way, uint64_t seed)
{
    const int count = (int)(b->bytes / 4);
    if (way <= PART_HOST) {
        sum_by_request(b, way, seed);
        return;
    }
    part_launch_kernel(b, NULL, seed);
    if (way == PART_BLOCKING) {
        bench_gpu_sync();
        part_must(b, way, MPI_Allreduce(b->out, b->in, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
        return;
    }
    if (way == PART_NCCL) {
        const struct bench_nccl *n = bench_nccl(BENCH_NCCL_USUAL);
        bench_nccl_must(n->AllReduce(b->out, b->in, (size_t)count, NCCL_F32, NCCL_SUM, n->comm, bench_gpu_stream()),
                        "ncclAllReduce");
    } else {
        part_must(b, way, MPIX_Allreduce_enqueue(b->out, b->in, count, MPI_FLOAT, MPI_SUM, bench_enqueue_comm()),
                  "MPIX_Allreduce_enqueue");
    }
    bench_gpu_sync();
}

/* Sums of whole numbers, exact in any order. */
static int sum_check(struct part_bench *b, uint64_t seed)
{
    int right = 1;
    for (size_t i = 0; right && i < b->bytes / 4; i++) {
        float sum = 0, got;
        for (int rank = 0; rank < b->plan->size; rank++)
            sum += part_real(part_seed_of(seed, rank), i);
        memcpy(&got, &b->host[i], sizeof got);
        right = got == sum;
    }
    return right;
}

const struct part_row part_sums = {
    .call = "MPIX_Pallreduce", .real = 1, .open = sum_open, .run = sum_run, .check = sum_check};
