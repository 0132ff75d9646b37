/* The calls of NCCL that NVIDIA's Jacobi solver makes, on messages in stream order (MPIX_Isend_enqueue and its kin).
 * The solver's forms for NCCL compile with it unchanged and are then written with Tutti's calls.
 *
 * A communicator for messages belongs to one stream and is made by all ranks, outside of captures. So each stream that
 * the program makes gets one at once: all ranks of the solver make their streams in the same order. The messages of a
 * group are launched together by one wait. The k-th message of a group between two ranks has tag k. */
#pragma once
#include <cuda_runtime.h>
#include <mpi.h>
#include <string.h>
#include <tutti/mpix.h>

#define NCCL_MAJOR            2
#define NCCL_VERSION(X, Y, Z) ((X)*10000 + (Y)*100 + (Z))
#define NCCL_VERSION_CODE     NCCL_VERSION(2, 18, 0)
#define NCCL_UNIQUE_ID_BYTES  128

typedef enum { ncclSuccess, ncclInternalError } ncclResult_t;
typedef enum { ncclFloat, ncclDouble } ncclDataType_t;
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;
typedef MPI_Comm ncclComm_t;

enum { ENQUEUE_STREAMS = 16, ENQUEUE_MESSAGES = 16 };
static struct {
    MPI_Comm all; /* MPI_COMM_NULL outside of ncclCommInitRank and ncclCommDestroy */
    struct {
        cudaStream_t stream;
        MPIX_Stream mpix;
        MPI_Comm comm;
    } streams[ENQUEUE_STREAMS];
    int n_streams;
    int in_group, n;
    MPI_Request requests[ENQUEUE_MESSAGES];
    int peers[ENQUEUE_MESSAGES], sends[ENQUEUE_MESSAGES];
} enqueue = {MPI_COMM_NULL, {}, 0, 0, 0, {}, {}, {}};

static inline const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclSuccess ? "no error" : "a call of the MPI in stream order failed";
}

static inline ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

static inline ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    memset(id, 0, sizeof *id);
    return ncclSuccess;
}

static inline ncclResult_t ncclCommInitRank(ncclComm_t *comm, int n, ncclUniqueId id, int rank)
{
    (void)n, (void)id, (void)rank;
    if (MPI_Comm_dup(MPI_COMM_WORLD, &enqueue.all) != MPI_SUCCESS)
        return ncclInternalError;
    *comm = enqueue.all;
    return ncclSuccess;
}

/* Collective. */
static inline cudaError_t enqueue_add(cudaStream_t stream)
{
    MPI_Info info = MPI_INFO_NULL;
    const int i = enqueue.n_streams;
    if (enqueue.all == MPI_COMM_NULL)
        return cudaSuccess;
    if (i == ENQUEUE_STREAMS)
        return cudaErrorNotSupported;
    enqueue.streams[i].stream = stream;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
    if (MPIX_Stream_create(info, &enqueue.streams[i].mpix) != MPI_SUCCESS ||
        MPIX_Stream_comm_create(enqueue.all, enqueue.streams[i].mpix, &enqueue.streams[i].comm) != MPI_SUCCESS)
        return cudaErrorNotSupported;
    MPI_Info_free(&info);
    MPI_Info_create(&info);
    MPI_Info_set(info, "tutti_group_messages", "true");
    MPI_Comm_set_info(enqueue.streams[i].comm, info);
    MPI_Info_free(&info);
    enqueue.n_streams++;
    return cudaSuccess;
}

static inline void enqueue_remove(int i)
{
    MPI_Comm_free(&enqueue.streams[i].comm);
    MPIX_Stream_free(&enqueue.streams[i].mpix);
    enqueue.streams[i] = enqueue.streams[--enqueue.n_streams];
}

static inline cudaError_t enqueue_create(cudaStream_t *stream)
{
    const cudaError_t error = cudaStreamCreate(stream);
    return error != cudaSuccess ? error : enqueue_add(*stream);
}

static inline cudaError_t enqueue_create_with_priority(cudaStream_t *stream, unsigned flags, int priority)
{
    const cudaError_t error = cudaStreamCreateWithPriority(stream, flags, priority);
    return error != cudaSuccess ? error : enqueue_add(*stream);
}

/* Collective. */
static inline cudaError_t enqueue_destroy(cudaStream_t stream)
{
    int i;
    for (i = 0; i < enqueue.n_streams; i++) {
        if (enqueue.streams[i].stream == stream) {
            enqueue_remove(i);
            break;
        }
    }
    return cudaStreamDestroy(stream);
}
#define cudaStreamCreate             enqueue_create
#define cudaStreamCreateWithPriority enqueue_create_with_priority
#define cudaStreamDestroy            enqueue_destroy

static inline ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    (void)comm;
    while (enqueue.n_streams > 0)
        enqueue_remove(enqueue.n_streams - 1);
    return MPI_Comm_free(&enqueue.all) == MPI_SUCCESS ? ncclSuccess : ncclInternalError;
}

static inline ncclResult_t ncclGroupStart(void)
{
    enqueue.in_group = 1;
    return ncclSuccess;
}

static inline ncclResult_t ncclGroupEnd(void)
{
    const int n = enqueue.n;
    enqueue.in_group = enqueue.n = 0;
    return MPIX_Waitall_enqueue(n, enqueue.requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS ? ncclSuccess
                                                                                         : ncclInternalError;
}

static inline ncclResult_t enqueue_message(void *buf, size_t count, ncclDataType_t type, int peer, cudaStream_t stream,
                                           int send)
{
    const MPI_Datatype datatype = type == ncclDouble ? MPI_DOUBLE : MPI_FLOAT;
    int i, stop = 0, tag = 0, error;
    for (i = 0; i < enqueue.n; i++)
        tag += enqueue.peers[i] == peer && enqueue.sends[i] == send;
    for (i = 0; i < enqueue.n_streams && !stop; i++)
        stop = enqueue.streams[i].stream == stream;
    if (!stop || enqueue.n == ENQUEUE_MESSAGES)
        return ncclInternalError;
    const MPI_Comm comm = enqueue.streams[i - 1].comm;
    MPI_Request *const request = &enqueue.requests[enqueue.n];
    enqueue.peers[enqueue.n] = peer;
    enqueue.sends[enqueue.n++] = send;
    error = send ? MPIX_Isend_enqueue(buf, (int)count, datatype, peer, tag, comm, request)
                 : MPIX_Irecv_enqueue(buf, (int)count, datatype, peer, tag, comm, request);
    if (error != MPI_SUCCESS)
        return ncclInternalError;
    return enqueue.in_group ? ncclSuccess : ncclGroupEnd();
}

static inline ncclResult_t ncclSend(const void *buf, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                                    cudaStream_t stream)
{
    (void)comm;
    return enqueue_message(const_cast<void *>(buf), count, type, peer, stream, 1);
}

static inline ncclResult_t ncclRecv(void *buf, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                                    cudaStream_t stream)
{
    (void)comm;
    return enqueue_message(buf, count, type, peer, stream, 0);
}
