/* Calls of the host in the order of a stream, as NVSHMEM's nvshmemx_..._on_stream: with heaps in memory of GPUs alone.
 * Included by tutti/shmem.h alone.
 *
 * `stream` is what the GPU's own interface calls a stream (CUDA: a cudaStream_t), or one of tutti_stream_create(), on
 * the GPU of the heap. The calls return at once, 0 or a negative status; what they do comes after the stream's earlier
 * work and before its later work. They may be captured into a graph, which may be launched any number of times while
 * the address space is up. Leave host memory alone until the stream has completed the call. If it is neither
 * page-locked nor managed, CUDA itself may block a call that copies from or to it until the stream has reached the
 * copy.
 *
 * Collectives are made by all PEs of the team, in the same order and with the same arguments, in one stream of each at
 * a time: two of one team at once are an error where they meet. Arguments are not compared over the PEs. They count
 * apart from the collectives of the same team on the host and in kernels.
 *
 * What goes wrong in the stream (two collectives at once, a wait that takes longer than TUTTI_TIMEOUT_SECONDS) ends the
 * address space: the next call, of a stream or of the host, reports it and stores the status for tshmem_error(). */
#ifndef TUTTI_SHMEM_STREAM_H
#define TUTTI_SHMEM_STREAM_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- local ---- */

/* The nbi forms: leave source and dest alone until tshmem_quiet_on_stream() is complete. PEs of other nodes: puts and
 * gets are done as the host's requests, for which a kernel of one thread waits in the stream; signals, p and the nbi
 * forms are complete past tshmem_quiet_on_stream() or a barrier. Host memory of any kind may be on the other side. */
TUTTI_API int tshmem_putmem_on_stream(void *dest, const void *source, size_t bytes, int pe, void *stream);
TUTTI_API int tshmem_getmem_on_stream(void *dest, const void *source, size_t bytes, int pe, void *stream);
TUTTI_API int tshmem_putmem_nbi_on_stream(void *dest, const void *source, size_t bytes, int pe, void *stream);
TUTTI_API int tshmem_getmem_nbi_on_stream(void *dest, const void *source, size_t bytes, int pe, void *stream);
/* operation: TSHMEM_SIGNAL_SET or _ADD. The signal is seen after the data. */
TUTTI_API int tshmem_putmem_signal_on_stream(void *dest, const void *source, size_t bytes, uint64_t *signal,
                                             uint64_t value, int operation, int pe, void *stream);
TUTTI_API int tshmem_putmem_signal_nbi_on_stream(void *dest, const void *source, size_t bytes, uint64_t *signal,
                                                 uint64_t value, int operation, int pe, void *stream);
TUTTI_API int tshmem_signal_op_on_stream(uint64_t *signal, uint64_t value, int operation, int pe, void *stream);
TUTTI_API int tshmem_signal_set_on_stream(uint64_t *signal, uint64_t value, int pe, void *stream);
TUTTI_API int tshmem_signal_add_on_stream(uint64_t *signal, uint64_t value, int pe, void *stream);
/* The own signal, as it is when the stream reaches the call, into memory of the GPU. What the stream does afterwards
 * sees what was put before that signal. */
TUTTI_API int tshmem_signal_fetch_on_stream(uint64_t *fetched, const uint64_t *signal, void *stream);
/* The stream waits until the own signal compares as said: a kernel of the GPU, which takes a place there meanwhile. */
TUTTI_API int tshmem_signal_wait_until_on_stream(uint64_t *signal, int comparison, uint64_t value, void *stream);
/* What this PE has put, got and added, in the stream and by calls of the host before, is complete; so is what its
 * kernels have asked of the host. A capture has no part in nbi calls of the host. With PEs of other nodes and without
 * MPI_THREAD_MULTIPLE the call itself waits for what the host has begun to them. */
TUTTI_API int tshmem_quiet_on_stream(void *stream);
/* The same, of one PE. */
TUTTI_API int tshmem_pe_quiet_on_stream(int pe, void *stream);
/* What this PE has put to a PE before, in the stream and by calls of the host before, is seen there before what the
 * stream puts to the same PE later. */
TUTTI_API int tshmem_fence_on_stream(void *stream);

/* What the typed names are made of. p: `value` is read at once. Blocks: as without a stream; between two memories of
 * GPUs by a kernel, otherwise by a copy for each block. */
TUTTI_API int tutti_shmem_p_on_stream(void *dest, const void *value, size_t bytes, int pe, void *stream);
TUTTI_API int tutti_shmem_put_blocks_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                               size_t block, size_t n, size_t bytes, int pe, void *stream);
TUTTI_API int tutti_shmem_get_blocks_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                               size_t block, size_t n, size_t bytes, int pe, void *stream);

/* ---- collective over the team; dest and source are symmetric, and overlap as in the calls without a stream ---- */

/* sync: waits for all PEs; barrier: with tshmem_quiet_on_stream(). */
TUTTI_API int tshmem_sync_on_stream(tshmem_team_t team, void *stream);
TUTTI_API int tshmem_barrier_on_stream(tshmem_team_t team, void *stream);
TUTTI_API int tshmem_sync_all_on_stream(void *stream);
TUTTI_API int tshmem_barrier_all_on_stream(void *stream);
TUTTI_API int tshmem_broadcastmem_on_stream(tshmem_team_t team, void *dest, const void *source, size_t bytes, int root,
                                            void *stream);
/* collect: each PE may bring another count. */
TUTTI_API int tshmem_collectmem_on_stream(tshmem_team_t team, void *dest, const void *source, size_t bytes,
                                          void *stream);
TUTTI_API int tshmem_fcollectmem_on_stream(tshmem_team_t team, void *dest, const void *source, size_t bytes,
                                           void *stream);
TUTTI_API int tshmem_alltoallmem_on_stream(tshmem_team_t team, void *dest, const void *source, size_t bytes,
                                           void *stream);

/* What the typed names are made of. alltoalls: n elements of `bytes` bytes for each PE, dst and sst elements apart.
 * type, op: enum tshmem_type, but long double, which no kernel has; tshmem_op. */
TUTTI_API int tutti_shmem_alltoalls_on_stream(tshmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                                              ptrdiff_t sst, size_t n, size_t bytes, void *stream);
TUTTI_API int tutti_shmem_reduce_on_stream(tshmem_team_t team, void *dest, const void *source, size_t n, int type,
                                           int op, void *stream);
TUTTI_API int tutti_shmem_reducescatter_on_stream(tshmem_team_t team, void *dest, const void *source, size_t n,
                                                  int type, int op, void *stream);
TUTTI_API int tutti_shmem_scan_on_stream(tshmem_team_t team, void *dest, const void *source, size_t n, int type,
                                         int exclusive, void *stream);

#ifdef __cplusplus
}
#endif

#pragma push_macro("TSHMEM_INLINE")
#undef TSHMEM_INLINE
#define TSHMEM_INLINE static inline __attribute__((unused)) /* in CUDA C++ too: of the host */

/* Elements that are too many become too many bytes, which are refused. */
TSHMEM_INLINE size_t tutti_shmem_stream_bytes(size_t nelems, size_t bytes)
{
    return nelems > SIZE_MAX / bytes ? SIZE_MAX : nelems * bytes;
}

#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_INLINE int tshmem_##name##_put_on_stream(type *dest, const type *source, size_t nelems, int pe,             \
                                                    void *stream)                                                      \
    {                                                                                                                  \
        return tshmem_putmem_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, sizeof(type)), pe, stream);      \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_get_on_stream(type *dest, const type *source, size_t nelems, int pe,             \
                                                    void *stream)                                                      \
    {                                                                                                                  \
        return tshmem_getmem_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, sizeof(type)), pe, stream);      \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_put_nbi_on_stream(type *dest, const type *source, size_t nelems, int pe,         \
                                                        void *stream)                                                  \
    {                                                                                                                  \
        return tshmem_putmem_nbi_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, sizeof(type)), pe, stream);  \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_get_nbi_on_stream(type *dest, const type *source, size_t nelems, int pe,         \
                                                        void *stream)                                                  \
    {                                                                                                                  \
        return tshmem_getmem_nbi_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, sizeof(type)), pe, stream);  \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_p_on_stream(type *dest, type value, int pe, void *stream)                        \
    {                                                                                                                  \
        return tutti_shmem_p_on_stream(dest, &value, sizeof(type), pe, stream);                                        \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_g_on_stream(type *value, const type *source, int pe, void *stream)               \
    {                                                                                                                  \
        return tshmem_getmem_on_stream(value, source, sizeof(type), pe, stream);                                       \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_iput_on_stream(type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst,     \
                                                     size_t nelems, int pe, void *stream)                              \
    {                                                                                                                  \
        return tutti_shmem_put_blocks_on_stream(dest, source, dst, sst, 1, nelems, sizeof(type), pe, stream);          \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_iget_on_stream(type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst,     \
                                                     size_t nelems, int pe, void *stream)                              \
    {                                                                                                                  \
        return tutti_shmem_get_blocks_on_stream(dest, source, dst, sst, 1, nelems, sizeof(type), pe, stream);          \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_ibput_on_stream(type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst,    \
                                                      size_t bsize, size_t nblocks, int pe, void *stream)              \
    {                                                                                                                  \
        return tutti_shmem_put_blocks_on_stream(dest, source, dst, sst, bsize, nblocks, sizeof(type), pe, stream);     \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_ibget_on_stream(type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst,    \
                                                      size_t bsize, size_t nblocks, int pe, void *stream)              \
    {                                                                                                                  \
        return tutti_shmem_get_blocks_on_stream(dest, source, dst, sst, bsize, nblocks, sizeof(type), pe, stream);     \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_put_signal_on_stream(type *dest, const type *source, size_t nelems,              \
                                                           uint64_t *signal, uint64_t value, int operation, int pe,    \
                                                           void *stream)                                               \
    {                                                                                                                  \
        return tshmem_putmem_signal_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, sizeof(type)), signal,    \
                                              value, operation, pe, stream);                                           \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_put_signal_nbi_on_stream(type *dest, const type *source, size_t nelems,          \
                                                               uint64_t *signal, uint64_t value, int operation,        \
                                                               int pe, void *stream)                                   \
    {                                                                                                                  \
        return tshmem_putmem_signal_nbi_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, sizeof(type)),        \
                                                  signal, value, operation, pe, stream);                               \
    }
TSHMEM_RMA(TSHMEM_CALLS, )
#undef TSHMEM_CALLS

/* By the bits of an element. */
#define TSHMEM_CALLS(bits, what)                                                                                       \
    TSHMEM_INLINE int tshmem_put##bits##_on_stream(void *dest, const void *source, size_t nelems, int pe,              \
                                                   void *stream)                                                       \
    {                                                                                                                  \
        return tshmem_putmem_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, bits / 8), pe, stream);          \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_get##bits##_on_stream(void *dest, const void *source, size_t nelems, int pe,              \
                                                   void *stream)                                                       \
    {                                                                                                                  \
        return tshmem_getmem_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, bits / 8), pe, stream);          \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_put##bits##_nbi_on_stream(void *dest, const void *source, size_t nelems, int pe,          \
                                                       void *stream)                                                   \
    {                                                                                                                  \
        return tshmem_putmem_nbi_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, bits / 8), pe, stream);      \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_get##bits##_nbi_on_stream(void *dest, const void *source, size_t nelems, int pe,          \
                                                       void *stream)                                                   \
    {                                                                                                                  \
        return tshmem_getmem_nbi_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, bits / 8), pe, stream);      \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_iput##bits##_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,      \
                                                    size_t nelems, int pe, void *stream)                               \
    {                                                                                                                  \
        return tutti_shmem_put_blocks_on_stream(dest, source, dst, sst, 1, nelems, bits / 8, pe, stream);              \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_iget##bits##_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,      \
                                                    size_t nelems, int pe, void *stream)                               \
    {                                                                                                                  \
        return tutti_shmem_get_blocks_on_stream(dest, source, dst, sst, 1, nelems, bits / 8, pe, stream);              \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_ibput##bits##_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,     \
                                                     size_t bsize, size_t nblocks, int pe, void *stream)               \
    {                                                                                                                  \
        return tutti_shmem_put_blocks_on_stream(dest, source, dst, sst, bsize, nblocks, bits / 8, pe, stream);         \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_ibget##bits##_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,     \
                                                     size_t bsize, size_t nblocks, int pe, void *stream)               \
    {                                                                                                                  \
        return tutti_shmem_get_blocks_on_stream(dest, source, dst, sst, bsize, nblocks, bits / 8, pe, stream);         \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_put##bits##_signal_on_stream(void *dest, const void *source, size_t nelems,               \
                                                          uint64_t *signal, uint64_t value, int operation, int pe,     \
                                                          void *stream)                                                \
    {                                                                                                                  \
        return tshmem_putmem_signal_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, bits / 8), signal, value, \
                                              operation, pe, stream);                                                  \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_put##bits##_signal_nbi_on_stream(void *dest, const void *source, size_t nelems,           \
                                                              uint64_t *signal, uint64_t value, int operation, int pe, \
                                                              void *stream)                                            \
    {                                                                                                                  \
        return tshmem_putmem_signal_nbi_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, bits / 8), signal,    \
                                                  value, operation, pe, stream);                                       \
    }
TSHMEM_SIZES(TSHMEM_CALLS, )
#undef TSHMEM_CALLS

TSHMEM_INLINE int tshmem_alltoallsmem_on_stream(tshmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                                                ptrdiff_t sst, size_t bytes, void *stream)
{
    return tutti_shmem_alltoalls_on_stream(team, dest, source, dst, sst, bytes, 1, stream);
}

TSHMEM_INLINE int tshmem_team_sync_on_stream(tshmem_team_t team, void *stream)
{
    return tshmem_sync_on_stream(team, stream);
}

#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_INLINE int tshmem_##name##_broadcast_on_stream(tshmem_team_t team, type *dest, const type *source,          \
                                                          size_t nelems, int root, void *stream)                       \
    {                                                                                                                  \
        return tshmem_broadcastmem_on_stream(team, dest, source, tutti_shmem_stream_bytes(nelems, sizeof(type)), root, \
                                             stream);                                                                  \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_collect_on_stream(tshmem_team_t team, type *dest, const type *source,            \
                                                        size_t nelems, void *stream)                                   \
    {                                                                                                                  \
        return tshmem_collectmem_on_stream(team, dest, source, tutti_shmem_stream_bytes(nelems, sizeof(type)),         \
                                           stream);                                                                    \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_fcollect_on_stream(tshmem_team_t team, type *dest, const type *source,           \
                                                         size_t nelems, void *stream)                                  \
    {                                                                                                                  \
        return tshmem_fcollectmem_on_stream(team, dest, source, tutti_shmem_stream_bytes(nelems, sizeof(type)),        \
                                            stream);                                                                   \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_alltoall_on_stream(tshmem_team_t team, type *dest, const type *source,           \
                                                         size_t nelems, void *stream)                                  \
    {                                                                                                                  \
        return tshmem_alltoallmem_on_stream(team, dest, source, tutti_shmem_stream_bytes(nelems, sizeof(type)),        \
                                            stream);                                                                   \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_alltoalls_on_stream(tshmem_team_t team, type *dest, const type *source,          \
                                                          ptrdiff_t dst, ptrdiff_t sst, size_t nelems, void *stream)   \
    {                                                                                                                  \
        return tutti_shmem_alltoalls_on_stream(team, dest, source, dst, sst, nelems, sizeof(type), stream);            \
    }
TSHMEM_RMA(TSHMEM_CALLS, )
#undef TSHMEM_CALLS

#define TSHMEM_REDUCTION(name, type, kind, op, id)                                                                     \
    TSHMEM_INLINE int tshmem_##name##_##op##_reduce_on_stream(tshmem_team_t team, type *dest, const type *source,      \
                                                              size_t nelems, void *stream)                             \
    {                                                                                                                  \
        return tutti_shmem_reduce_on_stream(team, dest, source, nelems, TSHMEM_ID_##kind(type), TSHMEM_OP_##id,        \
                                            stream);                                                                   \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_##op##_reducescatter_on_stream(tshmem_team_t team, type *dest,                   \
                                                                     const type *source, size_t nelems, void *stream)  \
    {                                                                                                                  \
        return tutti_shmem_reducescatter_on_stream(team, dest, source, nelems, TSHMEM_ID_##kind(type), TSHMEM_OP_##id, \
                                                   stream);                                                            \
    }
#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_REDUCTION(name, type, kind, and, AND)                                                                       \
    TSHMEM_REDUCTION(name, type, kind, or, OR)                                                                         \
    TSHMEM_REDUCTION(name, type, kind, xor, XOR)
TSHMEM_BITS(TSHMEM_CALLS, )
#undef TSHMEM_CALLS
#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_REDUCTION(name, type, kind, max, MAX)                                                                       \
    TSHMEM_REDUCTION(name, type, kind, min, MIN)
TSHMEM_RMA(TSHMEM_CALLS, )
#undef TSHMEM_CALLS
#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_REDUCTION(name, type, kind, sum, SUM)                                                                       \
    TSHMEM_REDUCTION(name, type, kind, prod, PROD)                                                                     \
    TSHMEM_INLINE int tshmem_##name##_sum_inscan_on_stream(tshmem_team_t team, type *dest, const type *source,         \
                                                           size_t nelems, void *stream)                                \
    {                                                                                                                  \
        return tutti_shmem_scan_on_stream(team, dest, source, nelems, TSHMEM_ID_##kind(type), 0, stream);              \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_sum_exscan_on_stream(tshmem_team_t team, type *dest, const type *source,         \
                                                           size_t nelems, void *stream)                                \
    {                                                                                                                  \
        return tutti_shmem_scan_on_stream(team, dest, source, nelems, TSHMEM_ID_##kind(type), 1, stream);              \
    }
TSHMEM_ARITH(TSHMEM_CALLS, )
#undef TSHMEM_CALLS
#undef TSHMEM_REDUCTION
#pragma pop_macro("TSHMEM_INLINE")

#include "tutti/shmem_stream_words.h"

#endif
