/* Extensions of MPI that Tutti offers, for C and C++. Include it after the MPI's own mpi.h. Nothing needs to be linked:
 * without libtutti.so preloaded, handles are MPI_DATATYPE_NULL and calls return MPI_ERR_UNSUPPORTED_OPERATION.
 *
 * Half precision. MPIX_C_FLOAT16 and MPIX_C_BF16 are MPI_Datatype handles for IEEE half precision and for bfloat16, two
 * bytes an element. They may be used from MPI_Init to MPI_Finalize. With SUM, PROD, MIN and MAX they are reduced
 *  - by all blocking reductions (MPI_Allreduce, MPI_Reduce, MPI_Reduce_scatter and MPI_Reduce_scatter_block, MPI_Scan,
 *    MPI_Exscan, MPI_Reduce_local), on host and on device memory and mixed, within a node and over several;
 *  - by the nonblocking, the persistent and the MPIX_..._enqueue forms if kernels reduce them: on device memory, among
 *    ranks of a node. Otherwise these forms return an error, as the MPI itself cannot reduce such elements.
 * All other calls treat them as two bytes. They are MPI_DATATYPE_NULL if Tutti is not preloaded or TUTTI_DEVICE=none.
 * If the MPI has such a handle, the MPI's name stays; Tutti reduces its elements as well.
 */
#ifndef TUTTI_MPIX_H
#define TUTTI_MPIX_H

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Local. The type of that number: 0 half precision, 1 bfloat16. */
static inline MPI_Datatype tutti_mpix_datatype(int which)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    union {
        void *symbol;
        int (*call)(int, void *, size_t);
    } find;
    find.symbol = dlsym((void *)0, "tutti_mpix_type"); /* the whole program's scope */
    if (find.symbol && find.call(which, &type, sizeof type) != 0)
        type = MPI_DATATYPE_NULL;
    return type;
}

#ifndef MPIX_C_FLOAT16
#define MPIX_C_FLOAT16 (tutti_mpix_datatype(0))
#endif
#ifndef MPIX_C_BF16
#define MPIX_C_BF16 (tutti_mpix_datatype(1))
#endif

/* Collectives in stream order: the call returns at once, and the work is done by kernels in a stream of the
 * program, after the stream's earlier work and before its later work. No host synchronisation is needed between a
 * kernel that makes the data, the collective, and a kernel that uses the result. A captured stream may contain the
 * calls.
 *
 * MPICH 4.1 and later declare calls with the same names. Macros here replace them by Tutti's calls, under every MPI:
 * MPIX_Stream is then a pointer type of Tutti, and a file that includes this header cannot use the MPI's own calls on
 * an MPIX_Stream. Without this header see docs/streams.md.
 *
 * Every function returns an MPI error code. If Tutti is not preloaded, or with TUTTI_DEVICE=none, all but
 * MPIX_Info_set_hex return MPI_ERR_UNSUPPORTED_OPERATION and call no error handler, so a program can test for them.
 * Other errors are printed on standard error and raised as the function documents. */
struct tutti_mpix_stream;
typedef struct tutti_mpix_stream *tutti_mpix_stream_t;
#undef MPIX_STREAM_NULL
#define MPIX_Stream      tutti_mpix_stream_t
#define MPIX_STREAM_NULL ((tutti_mpix_stream_t)0)

/* Local. The function with this name in the preloaded library; NULL if there is no such function. */
static inline void *tutti_mpix_find(const char *name, void **kept)
{
    void *call = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
    union {
        void *symbol;
        void *(*find)(const char *, size_t);
    } ask;
    if (call)
        return call;
    ask.symbol = dlsym((void *)0, "tutti_mpix_call");
    call = ask.symbol ? ask.find(name, sizeof(MPI_Comm)) : (void *)0;
    __atomic_store_n(kept, call, __ATOMIC_RELEASE);
    return call;
}

#define TUTTI_MPIX_CALL(name, parameters, arguments)                                                                   \
    static inline int tutti_##name parameters                                                                          \
    {                                                                                                                  \
        static void *kept;                                                                                             \
        union {                                                                                                        \
            void *symbol;                                                                                              \
            int(*call) parameters;                                                                                     \
        } found;                                                                                                       \
        found.symbol = tutti_mpix_find(#name, &kept);                                                                  \
        return found.symbol ? found.call arguments : MPI_ERR_UNSUPPORTED_OPERATION;                                    \
    }

/* Local. Sets `key` of the info object to the `size` bytes at `value`, as hexadecimal digits, two a byte in the order
 * of memory. Needs no Tutti. MPI_ERR_INFO_VALUE where they are too many for a value. */
static inline int tutti_MPIX_Info_set_hex(MPI_Info info, const char *key, const void *value, int size)
{
    char text[MPI_MAX_INFO_VAL + 1];
    int i;
    if (size < 0 || 2 * (long)size >= MPI_MAX_INFO_VAL)
        return MPI_ERR_INFO_VALUE;
    for (i = 0; i < size; i++) {
        const unsigned byte = ((const unsigned char *)value)[i];
        text[2 * i] = "0123456789abcdef"[byte >> 4];
        text[2 * i + 1] = "0123456789abcdef"[byte & 15];
    }
    text[2 * size] = '\0';
    return MPI_Info_set(info, key, text);
}
#define MPIX_Info_set_hex tutti_MPIX_Info_set_hex

/* Local. Names a stream of the program. The info object says which: "type" is "cudaStream_t" (also for a CUstream), or
 * "tutti_stream" for a handle of tutti_stream_create(); "value" is the handle's bytes, as MPIX_Info_set_hex writes
 * them:
 *
 *     MPI_Info_set(info, "type", "cudaStream_t");
 *     MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
 *     MPIX_Stream_create(info, &mpix);
 *
 * The default streams (NULL, cudaStreamLegacy, cudaStreamPerThread) are those of the calling thread's current GPU. The
 * stream stays the program's: it must live until the communicators made with it are freed. Errors are raised on
 * MPI_COMM_SELF (MPI_COMM_WORLD before MPI 4): MPI_ERR_INFO, _INFO_KEY or _INFO_VALUE where the info object does not
 * say what is needed, MPI_ERR_ARG where it names no stream of this device. */
TUTTI_MPIX_CALL(MPIX_Stream_create, (MPI_Info info, MPIX_Stream *stream), (info, stream))
#define MPIX_Stream_create tutti_MPIX_Stream_create

/* Local. Frees what MPIX_Stream_create() made, not the stream itself, and sets *stream to MPIX_STREAM_NULL.
 * Communicators made with it may live on. An error, raised on MPI_COMM_SELF (MPI_COMM_WORLD before MPI 4), where calls
 * in the stream are known to have failed; it is freed all the same. */
TUTTI_MPIX_CALL(MPIX_Stream_free, (MPIX_Stream * stream), (stream))
#define MPIX_Stream_free tutti_MPIX_Stream_free

/* Collective over `comm`, blocking. Duplicates the communicator for calls in the order of this rank's stream; each rank
 * gives its own. Opens everything that such calls use, so that they load, allocate and exchange nothing later: captures
 * are made after it. With MPIX_STREAM_NULL on all ranks the result is a plain duplicate. Not while one of this
 * process's streams is captured.
 *
 * The new communicator may be used for all other calls too. Its blocking, nonblocking and persistent reductions of
 * device memory are done after what is in the stream by then: they wait for it on the host, and fail while the stream
 * is captured. Complete a nonblocking or persistent reduction before enqueueing on the same communicator.
 *
 * MPI_Comm_free waits for what the stream holds. Graphs that were captured with the communicator must not be launched
 * after that. A duplicate of the communicator (MPI_Comm_dup) has no stream.
 *
 * Raised on `comm`, on all its ranks alike, with *newcomm = MPI_COMM_NULL: MPI_ERR_UNSUPPORTED_OPERATION where device
 * memory cannot be shared between all ranks of one machine (at most one rank a GPU, at most 16), over several machines
 * where the MPI has no MPI_THREAD_MULTIPLE, or where the GPU has no room for one more stream: the first takes 3/4 of
 * the multiprocessors, each further one half of the rest, until it is freed. */
TUTTI_MPIX_CALL(MPIX_Stream_comm_create, (MPI_Comm comm, MPIX_Stream stream, MPI_Comm *newcomm),
                (comm, stream, newcomm))
#define MPIX_Stream_comm_create tutti_MPIX_Stream_comm_create

/* The calls in stream order. Each is collective over a communicator of MPIX_Stream_comm_create(), with the parameters,
 * in-place rules and results of its blocking namesake, and with the same bits. (MPIX_Reduce_local_enqueue is local, and
 * takes the communicator for its stream.) It returns when the kernels are in this
 * rank's stream, waits for no peer, and is complete in stream order on this rank alone.
 *
 * All ranks make the calls of one communicator in the same order. Calls on different communicators, in different
 * streams, may be made in any order on any rank; for CUDA's legacy default stream see docs/streams.md.
 *
 * Buffers: memory that kernels of the stream's GPU reach: device memory of that GPU, managed or pinned host memory.
 * They stay untouched until the stream is past the call; arrays of counts are read before it returns.
 *
 * Types: reductions take the predefined ones that kernels reduce. Calls that move data take every committed type.
 * Elements that are not one run of bytes are packed into scratch before the move and unpacked behind it, by kernels in
 * the same stream; so are, copied aside, the blocks of an all-to-all in place. The communicator keeps the scratch of
 * its largest call so far, and what the GPU has to know of the types: make the first call with a type, or of a larger
 * size, before a capture. On a communicator of one rank two types of some hundred irregular blocks cannot be copied
 * into each other: MPI_ERR_UNSUPPORTED_OPERATION.
 *
 * Capture: what is called while the stream is captured becomes nodes of the graph. All ranks capture the same calls in
 * the same order, and launch their graphs, mixed with other calls on the communicator, in the same order, one after the
 * other. A graph may be launched any number of times.
 *
 * Errors are found locally, before anything is put into the stream, and raised on `comm`: MPI_ERR_COMM if it has no
 * stream, MPI_ERR_BUFFER where kernels do not reach a buffer, MPI_ERR_TYPE and MPI_ERR_OP for which there are no
 * kernels (user's own types and operators), MPI_ERR_COUNT, MPI_ERR_ROOT, MPI_ERR_ARG (a list is NULL), MPI_ERR_TRUNCATE
 * where a rank sends to itself more or less than it receives from itself; MPI_ERR_OTHER where a launch fails or a peer
 * has. A call of no elements does nothing. The forms that end in _c take counts of type MPI_Count.
 *
 * What fails later (a rank dies, a launch fails on another rank, a kernel waits for longer than TUTTI_TIMEOUT_SECONDS)
 * is reported on standard error within seconds, the kernels of all ranks end, and the next call on `comm`, of any kind,
 * returns an error. The results of that call and of later ones must not be used, although cudaStreamSynchronize
 * returns success. */
/* Every rank gets the reduction of all contributions. */
TUTTI_MPIX_CALL(MPIX_Allreduce_enqueue,
                (const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
                (sendbuf, recvbuf, count, datatype, op, comm))
TUTTI_MPIX_CALL(MPIX_Allreduce_enqueue_c,
                (const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
                (sendbuf, recvbuf, count, datatype, op, comm))
#define MPIX_Allreduce_enqueue   tutti_MPIX_Allreduce_enqueue
#define MPIX_Allreduce_enqueue_c tutti_MPIX_Allreduce_enqueue_c
/* Rank `root` gets it; recvbuf is looked at there alone. */
TUTTI_MPIX_CALL(MPIX_Reduce_enqueue,
                (const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                 MPI_Comm comm),
                (sendbuf, recvbuf, count, datatype, op, root, comm))
TUTTI_MPIX_CALL(MPIX_Reduce_enqueue_c,
                (const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                 MPI_Comm comm),
                (sendbuf, recvbuf, count, datatype, op, root, comm))
#define MPIX_Reduce_enqueue   tutti_MPIX_Reduce_enqueue
#define MPIX_Reduce_enqueue_c tutti_MPIX_Reduce_enqueue_c
/* recvcounts: the elements of every rank's result, the same on all ranks. In place recvbuf holds the whole
 * contribution, and this rank's result at its beginning afterwards. */
TUTTI_MPIX_CALL(MPIX_Reduce_scatter_enqueue,
                (const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                 MPI_Comm comm),
                (sendbuf, recvbuf, recvcounts, datatype, op, comm))
TUTTI_MPIX_CALL(MPIX_Reduce_scatter_enqueue_c,
                (const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op,
                 MPI_Comm comm),
                (sendbuf, recvbuf, recvcounts, datatype, op, comm))
#define MPIX_Reduce_scatter_enqueue   tutti_MPIX_Reduce_scatter_enqueue
#define MPIX_Reduce_scatter_enqueue_c tutti_MPIX_Reduce_scatter_enqueue_c
/* recvcount: the elements of each rank's result. In place as MPIX_Reduce_scatter_enqueue. */
TUTTI_MPIX_CALL(MPIX_Reduce_scatter_block_enqueue,
                (const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
                (sendbuf, recvbuf, recvcount, datatype, op, comm))
TUTTI_MPIX_CALL(MPIX_Reduce_scatter_block_enqueue_c,
                (const void *sendbuf, void *recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op,
                 MPI_Comm comm),
                (sendbuf, recvbuf, recvcount, datatype, op, comm))
#define MPIX_Reduce_scatter_block_enqueue   tutti_MPIX_Reduce_scatter_block_enqueue
#define MPIX_Reduce_scatter_block_enqueue_c tutti_MPIX_Reduce_scatter_block_enqueue_c
/* Rank r gets the contributions of ranks 0 to r combined. */
TUTTI_MPIX_CALL(MPIX_Scan_enqueue,
                (const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
                (sendbuf, recvbuf, count, datatype, op, comm))
TUTTI_MPIX_CALL(MPIX_Scan_enqueue_c,
                (const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
                (sendbuf, recvbuf, count, datatype, op, comm))
#define MPIX_Scan_enqueue   tutti_MPIX_Scan_enqueue
#define MPIX_Scan_enqueue_c tutti_MPIX_Scan_enqueue_c
/* Rank r gets the contributions of ranks 0 to r - 1 combined; recvbuf of rank 0 is left as it is. */
TUTTI_MPIX_CALL(MPIX_Exscan_enqueue,
                (const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
                (sendbuf, recvbuf, count, datatype, op, comm))
TUTTI_MPIX_CALL(MPIX_Exscan_enqueue_c,
                (const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
                (sendbuf, recvbuf, count, datatype, op, comm))
#define MPIX_Exscan_enqueue   tutti_MPIX_Exscan_enqueue
#define MPIX_Exscan_enqueue_c tutti_MPIX_Exscan_enqueue_c
/* inoutbuf = inbuf op inoutbuf, element by element, on this rank alone: the communicator gives the stream. */
TUTTI_MPIX_CALL(MPIX_Reduce_local_enqueue,
                (const void *inbuf, void *inoutbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
                (inbuf, inoutbuf, count, datatype, op, comm))
TUTTI_MPIX_CALL(MPIX_Reduce_local_enqueue_c,
                (const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
                (inbuf, inoutbuf, count, datatype, op, comm))
#define MPIX_Reduce_local_enqueue   tutti_MPIX_Reduce_local_enqueue
#define MPIX_Reduce_local_enqueue_c tutti_MPIX_Reduce_local_enqueue_c
/* The elements in the buffer of rank `root` are copied into the buffers of all others. */
TUTTI_MPIX_CALL(MPIX_Bcast_enqueue, (void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm),
                (buffer, count, datatype, root, comm))
TUTTI_MPIX_CALL(MPIX_Bcast_enqueue_c, (void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm),
                (buffer, count, datatype, root, comm))
#define MPIX_Bcast_enqueue   tutti_MPIX_Bcast_enqueue
#define MPIX_Bcast_enqueue_c tutti_MPIX_Bcast_enqueue_c
/* Rank `root` gets a block from every rank, in rank order; recvbuf is looked at there alone. In place, at the root, its
 * own block is in its recvbuf already. */
TUTTI_MPIX_CALL(MPIX_Gather_enqueue,
                (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm),
                (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
TUTTI_MPIX_CALL(MPIX_Gather_enqueue_c,
                (const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm),
                (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
#define MPIX_Gather_enqueue   tutti_MPIX_Gather_enqueue
#define MPIX_Gather_enqueue_c tutti_MPIX_Gather_enqueue_c
/* The same of blocks that differ in length; the root says where each is put. */
TUTTI_MPIX_CALL(MPIX_Gatherv_enqueue,
                (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                 const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm),
                (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm))
TUTTI_MPIX_CALL(MPIX_Gatherv_enqueue_c,
                (const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                 const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root, MPI_Comm comm),
                (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm))
#define MPIX_Gatherv_enqueue   tutti_MPIX_Gatherv_enqueue
#define MPIX_Gatherv_enqueue_c tutti_MPIX_Gatherv_enqueue_c
/* Rank `root` sends a block to every rank, in rank order; sendbuf is looked at there alone. MPI_IN_PLACE as the recvbuf
 * of the root leaves its own block where it is. */
TUTTI_MPIX_CALL(MPIX_Scatter_enqueue,
                (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm),
                (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
TUTTI_MPIX_CALL(MPIX_Scatter_enqueue_c,
                (const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm),
                (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
#define MPIX_Scatter_enqueue   tutti_MPIX_Scatter_enqueue
#define MPIX_Scatter_enqueue_c tutti_MPIX_Scatter_enqueue_c
/* The same of blocks that differ in length; the root says where each lies. */
TUTTI_MPIX_CALL(MPIX_Scatterv_enqueue,
                (const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void *recvbuf,
                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
                (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm))
TUTTI_MPIX_CALL(MPIX_Scatterv_enqueue_c,
                (const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
                 void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
                (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm))
#define MPIX_Scatterv_enqueue   tutti_MPIX_Scatterv_enqueue
#define MPIX_Scatterv_enqueue_c tutti_MPIX_Scatterv_enqueue_c
/* Every rank gets a block from every rank, in rank order. In place a rank's own block is in its recvbuf already. */
TUTTI_MPIX_CALL(MPIX_Allgather_enqueue,
                (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm),
                (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
TUTTI_MPIX_CALL(MPIX_Allgather_enqueue_c,
                (const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm),
                (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
#define MPIX_Allgather_enqueue   tutti_MPIX_Allgather_enqueue
#define MPIX_Allgather_enqueue_c tutti_MPIX_Allgather_enqueue_c
/* The same of blocks that differ in length. */
TUTTI_MPIX_CALL(MPIX_Allgatherv_enqueue,
                (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                 const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
                (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))
TUTTI_MPIX_CALL(MPIX_Allgatherv_enqueue_c,
                (const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                 const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm),
                (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))
#define MPIX_Allgatherv_enqueue   tutti_MPIX_Allgatherv_enqueue
#define MPIX_Allgatherv_enqueue_c tutti_MPIX_Allgatherv_enqueue_c
/* Every rank sends a block to every rank. In place the blocks of recvbuf are sent, and replaced by those received; they
 * are copied aside first. */
TUTTI_MPIX_CALL(MPIX_Alltoall_enqueue,
                (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm),
                (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
TUTTI_MPIX_CALL(MPIX_Alltoall_enqueue_c,
                (const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm),
                (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
#define MPIX_Alltoall_enqueue   tutti_MPIX_Alltoall_enqueue
#define MPIX_Alltoall_enqueue_c tutti_MPIX_Alltoall_enqueue_c
/* The same of blocks that differ in length. */
TUTTI_MPIX_CALL(MPIX_Alltoallv_enqueue,
                (const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
                 const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
                (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))
TUTTI_MPIX_CALL(MPIX_Alltoallv_enqueue_c,
                (const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                 void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype,
                 MPI_Comm comm),
                (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))
#define MPIX_Alltoallv_enqueue   tutti_MPIX_Alltoallv_enqueue
#define MPIX_Alltoallv_enqueue_c tutti_MPIX_Alltoallv_enqueue_c
/* Work that a rank puts into its stream after the barrier starts when all ranks' streams have reached the barrier. */
TUTTI_MPIX_CALL(MPIX_Barrier_enqueue, (MPI_Comm comm), (comm))
#define MPIX_Barrier_enqueue tutti_MPIX_Barrier_enqueue

/* Messages in stream order, with MPICH's parameters, on a communicator of MPIX_Stream_comm_create(). A call returns
 * when its kernels are in this rank's stream, and waits for no peer. Messages are matched by source, tag and
 * communicator, in the order of the calls, and match these calls alone, not MPI_Send or MPI_Recv. Buffers, captures and
 * later failures are as for the calls above; ranks need not make the same calls in the same order.
 *
 * Receives may name MPI_ANY_SOURCE and MPI_ANY_TAG; kernels match them. An ordered pair of ranks uses at most 64
 * tags on a communicator; the first one is the fastest with long messages, then the next three. A status is written
 * when the stream is past its call, by a function of the host that the stream calls. MPI_PROC_NULL does nothing.
 * Elements with gaps are packed by a kernel before the message and unpacked behind it or behind its wait; the memory
 * for that stays with the communicator. In a capture such a call uses memory that calls before the capture have left:
 * make it once before. With the key tutti_group_messages in the communicator's info, messages that are started are
 * launched by the wait for all of them (docs/streams.md).
 *
 * Errors are found locally, before anything is put into the stream, and raised on `comm`: those above, and
 * MPI_ERR_RANK, MPI_ERR_TAG, MPI_ERR_TYPE (kernels cannot pack it), MPI_ERR_NO_MEM,
 * MPI_ERR_UNSUPPORTED_OPERATION (too many tags, more than 511 open requests, a communicator of one rank, or a GPU
 * without room for such kernels; the text says which). A message that is longer than its receive is reported as a
 * failure of the communicator. */
/* Later work of the stream starts when the buffer may be used again: for a short message, before the receive has
 * started. */
TUTTI_MPIX_CALL(MPIX_Send_enqueue,
                (const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm),
                (buf, count, datatype, dest, tag, comm))
TUTTI_MPIX_CALL(MPIX_Send_enqueue_c,
                (const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm),
                (buf, count, datatype, dest, tag, comm))
#define MPIX_Send_enqueue   tutti_MPIX_Send_enqueue
#define MPIX_Send_enqueue_c tutti_MPIX_Send_enqueue_c
/* Later work of the stream starts when the message is in the buffer, and the status, unless it is MPI_STATUS_IGNORE, is
 * written. The program reads the status after it has synchronised with the stream. */
TUTTI_MPIX_CALL(MPIX_Recv_enqueue,
                (void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status),
                (buf, count, datatype, source, tag, comm, status))
TUTTI_MPIX_CALL(MPIX_Recv_enqueue_c,
                (void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Status *status),
                (buf, count, datatype, source, tag, comm, status))
#define MPIX_Recv_enqueue   tutti_MPIX_Recv_enqueue
#define MPIX_Recv_enqueue_c tutti_MPIX_Recv_enqueue_c
/* Start a message behind the stream's earlier work. Later work does not wait for it, and the message makes progress
 * beside any later work of the stream. The request is for MPIX_Wait_enqueue and MPIX_Waitall_enqueue alone, which the
 * program calls before it frees the communicator. */
TUTTI_MPIX_CALL(MPIX_Isend_enqueue,
                (const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                 MPI_Request *request),
                (buf, count, datatype, dest, tag, comm, request))
TUTTI_MPIX_CALL(MPIX_Isend_enqueue_c,
                (const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                 MPI_Request *request),
                (buf, count, datatype, dest, tag, comm, request))
TUTTI_MPIX_CALL(MPIX_Irecv_enqueue,
                (void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request),
                (buf, count, datatype, source, tag, comm, request))
TUTTI_MPIX_CALL(MPIX_Irecv_enqueue_c,
                (void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Request *request),
                (buf, count, datatype, source, tag, comm, request))
#define MPIX_Isend_enqueue   tutti_MPIX_Isend_enqueue
#define MPIX_Isend_enqueue_c tutti_MPIX_Isend_enqueue_c
#define MPIX_Irecv_enqueue   tutti_MPIX_Irecv_enqueue
#define MPIX_Irecv_enqueue_c tutti_MPIX_Irecv_enqueue_c
/* Later work of the stream starts when the messages are complete and the statuses, if they are wanted, are written; the
 * statuses of sends and of null requests are written at once. The requests become MPI_REQUEST_NULL at once. A
 * request that was made while the stream was captured is waited for in the same capture. MPI_ERR_REQUEST for other
 * requests. */
TUTTI_MPIX_CALL(MPIX_Wait_enqueue, (MPI_Request * request, MPI_Status *status), (request, status))
TUTTI_MPIX_CALL(MPIX_Waitall_enqueue, (int count, MPI_Request requests[], MPI_Status *statuses),
                (count, requests, statuses))
#define MPIX_Wait_enqueue    tutti_MPIX_Wait_enqueue
#define MPIX_Waitall_enqueue tutti_MPIX_Waitall_enqueue

/* Local. In MPICH a thread of the host makes progress for a stream's messages. Here kernels do: these calls do nothing.
 */
static inline int tutti_MPIX_Start_progress_thread(MPIX_Stream stream)
{
    (void)stream;
    return MPI_SUCCESS;
}
static inline int tutti_MPIX_Stop_progress_thread(MPIX_Stream stream)
{
    (void)stream;
    return MPI_SUCCESS;
}
#define MPIX_Start_progress_thread tutti_MPIX_Start_progress_thread
#define MPIX_Stop_progress_thread  tutti_MPIX_Stop_progress_thread

/* Partitioned collectives; partitioned requests in kernels. */
#include <tutti/mpix_pcoll.h>
#include <tutti/mpix_prequest.h>

/* Persistent messages that are matched once and started in streams. */
#include <tutti/mpix_queue.h>

#ifdef __cplusplus
}
#endif
#endif
