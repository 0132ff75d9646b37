#include "bench/reductions/enqueue.h"

#include <stdio.h>
#include <string.h>

#include "bench/common/gpu.h"
#include "device/device.h"
#include "team/control.h"
#include "tutti/mpix.h"
#include "tutti/tutti.h"

static MPIX_Stream stream = MPIX_STREAM_NULL;
static MPI_Comm comm = MPI_COMM_NULL;

int bench_enqueue_stream(void *out)
{
    void *handle = bench_gpu_stream();
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", tutti_device()->stream_type);
    int error = MPIX_Info_set_hex(info, "value", &handle, sizeof handle);
    if (error == MPI_SUCCESS)
        error = MPIX_Stream_create(info, (MPIX_Stream *)out);
    MPI_Info_free(&info);
    return error;
}

int bench_enqueue_open(char *why, size_t size)
{
    int error = bench_enqueue_stream(&stream);
    if (!bench_all_agree(error == MPI_SUCCESS)) {
        snprintf(why, size, "MPIX_Stream_create: error %d", error);
        return 0;
    }
    MPI_Errhandler before;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD,
                            MPI_ERRORS_RETURN); /* ranks that share a GPU have no calls in stream order */
    error = MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    if (before != MPI_ERRHANDLER_NULL && before != MPI_ERRORS_ARE_FATAL)
        MPI_Errhandler_free(&before);
    snprintf(why, size, "MPIX_Stream_comm_create: error %d", error);
    return bench_all_agree(error == MPI_SUCCESS);
}

MPI_Comm bench_enqueue_comm(void)
{
    return comm;
}

void bench_enqueue_close(void)
{
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    if (stream != MPIX_STREAM_NULL)
        MPIX_Stream_free(&stream);
}

void bench_enqueue(const struct bench_call *call, const void *in, void *out)
{
    int n = (int)call->count, segment = n / call->ranks, error = MPI_SUCCESS;
    const void *from = bench_in_place_here(call) ? MPI_IN_PLACE : in;
    MPI_Datatype type = call->mpi_type;
    MPI_Op op = call->mpi_op;
    switch (call->collective) {
    case TUTTI_COLLECTIVE_ALLREDUCE:
        error = MPIX_Allreduce_enqueue(from, out, n, type, op, comm);
        break;
    case TUTTI_COLLECTIVE_REDUCE:
        error = MPIX_Reduce_enqueue(from, out, n, type, op, call->root, comm);
        break;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER:
        error = MPIX_Reduce_scatter_enqueue(from, out, call->counts, type, op, comm);
        break;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        error = MPIX_Reduce_scatter_block_enqueue(from, out, segment, type, op, comm);
        break;
    case TUTTI_COLLECTIVE_SCAN:
        error = MPIX_Scan_enqueue(from, out, n, type, op, comm);
        break;
    case TUTTI_COLLECTIVE_EXSCAN:
        error = MPIX_Exscan_enqueue(from, out, n, type, op, comm);
        break;
    }
    if (error != MPI_SUCCESS)
        bench_fail("%s in stream order failed with error %d", bench_call_name(call), error);
}
