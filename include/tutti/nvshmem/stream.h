/* NVSHMEM's calls in the order of a stream, on the host: those of tutti/shmem_stream.h, whose status NVSHMEM's
 * void calls cannot return: errors are printed, and kept for tshmem_error(). Included by nvshmem.h alone. */
#ifndef TUTTI_NVSHMEM_STREAM_H
#define TUTTI_NVSHMEM_STREAM_H

TUTTI_NVSHMEM void nvshmemx_putmem_on_stream(void *dest, const void *source, size_t bytes, int pe, cudaStream_t stream)
{
    tshmem_putmem_on_stream(dest, source, bytes, pe, stream);
}

TUTTI_NVSHMEM void nvshmemx_getmem_on_stream(void *dest, const void *source, size_t bytes, int pe, cudaStream_t stream)
{
    tshmem_getmem_on_stream(dest, source, bytes, pe, stream);
}

TUTTI_NVSHMEM void nvshmemx_putmem_nbi_on_stream(void *dest, const void *source, size_t bytes, int pe,
                                                 cudaStream_t stream)
{
    tshmem_putmem_nbi_on_stream(dest, source, bytes, pe, stream);
}

TUTTI_NVSHMEM void nvshmemx_getmem_nbi_on_stream(void *dest, const void *source, size_t bytes, int pe,
                                                 cudaStream_t stream)
{
    tshmem_getmem_nbi_on_stream(dest, source, bytes, pe, stream);
}

TUTTI_NVSHMEM void nvshmemx_putmem_signal_on_stream(void *dest, const void *source, size_t bytes, uint64_t *signal,
                                                    uint64_t value, int operation, int pe, cudaStream_t stream)
{
    tshmem_putmem_signal_on_stream(dest, source, bytes, signal, value, operation, pe, stream);
}

TUTTI_NVSHMEM void nvshmemx_putmem_signal_nbi_on_stream(void *dest, const void *source, size_t bytes, uint64_t *signal,
                                                        uint64_t value, int operation, int pe, cudaStream_t stream)
{
    tshmem_putmem_signal_nbi_on_stream(dest, source, bytes, signal, value, operation, pe, stream);
}

TUTTI_NVSHMEM void nvshmemx_signal_op_on_stream(uint64_t *signal, uint64_t value, int operation, int pe,
                                                cudaStream_t stream)
{
    tshmem_signal_op_on_stream(signal, value, operation, pe, stream);
}

TUTTI_NVSHMEM void nvshmemx_signal_wait_until_on_stream(uint64_t *signal, int comparison, uint64_t value,
                                                        cudaStream_t stream)
{
    tshmem_signal_wait_until_on_stream(signal, comparison, value, stream);
}

TUTTI_NVSHMEM void nvshmemx_quiet_on_stream(cudaStream_t stream)
{
    tshmem_quiet_on_stream(stream);
}

TUTTI_NVSHMEM void nvshmemx_barrier_all_on_stream(cudaStream_t stream)
{
    tshmem_barrier_all_on_stream(stream);
}

TUTTI_NVSHMEM void nvshmemx_sync_all_on_stream(cudaStream_t stream)
{
    tshmem_sync_all_on_stream(stream);
}

/* Collectives that move bytes, and those that move none: 0 or a negative status. */
#define nvshmemx_barrier_on_stream      tshmem_barrier_on_stream
#define nvshmemx_team_sync_on_stream    tshmem_team_sync_on_stream
#define nvshmemx_broadcastmem_on_stream tshmem_broadcastmem_on_stream
#define nvshmemx_fcollectmem_on_stream  tshmem_fcollectmem_on_stream
#define nvshmemx_alltoallmem_on_stream  tshmem_alltoallmem_on_stream

/* g: waits for the stream, since it returns the value. */
#define TUTTI_NVSHMEM_CALLS(name, type, kind, what)                                                                    \
    TUTTI_NVSHMEM void nvshmemx_##name##_put_on_stream(type *dest, const type *source, size_t nelems, int pe,          \
                                                       cudaStream_t stream)                                            \
    {                                                                                                                  \
        tshmem_##name##_put_on_stream(dest, source, nelems, pe, stream);                                               \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_##name##_get_on_stream(type *dest, const type *source, size_t nelems, int pe,          \
                                                       cudaStream_t stream)                                            \
    {                                                                                                                  \
        tshmem_##name##_get_on_stream(dest, source, nelems, pe, stream);                                               \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_##name##_put_nbi_on_stream(type *dest, const type *source, size_t nelems, int pe,      \
                                                           cudaStream_t stream)                                        \
    {                                                                                                                  \
        tshmem_##name##_put_nbi_on_stream(dest, source, nelems, pe, stream);                                           \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_##name##_get_nbi_on_stream(type *dest, const type *source, size_t nelems, int pe,      \
                                                           cudaStream_t stream)                                        \
    {                                                                                                                  \
        tshmem_##name##_get_nbi_on_stream(dest, source, nelems, pe, stream);                                           \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_##name##_p_on_stream(type *dest, const type value, int pe, cudaStream_t stream)        \
    {                                                                                                                  \
        tshmem_##name##_p_on_stream(dest, value, pe, stream);                                                          \
    }                                                                                                                  \
    TUTTI_NVSHMEM type nvshmemx_##name##_g_on_stream(const type *source, int pe, cudaStream_t stream)                  \
    {                                                                                                                  \
        type value;                                                                                                    \
        memset((void *)&value, 0, sizeof value);                                                                       \
        tshmem_##name##_g_on_stream(&value, source, pe, stream);                                                       \
        tutti_stream_sync(stream);                                                                                     \
        return value;                                                                                                  \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_##name##_iput_on_stream(type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst,  \
                                                        size_t nelems, int pe, cudaStream_t stream)                    \
    {                                                                                                                  \
        tshmem_##name##_iput_on_stream(dest, source, dst, sst, nelems, pe, stream);                                    \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_##name##_iget_on_stream(type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst,  \
                                                        size_t nelems, int pe, cudaStream_t stream)                    \
    {                                                                                                                  \
        tshmem_##name##_iget_on_stream(dest, source, dst, sst, nelems, pe, stream);                                    \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_##name##_put_signal_on_stream(type *dest, const type *source, size_t nelems,           \
                                                              uint64_t *signal, uint64_t value, int operation, int pe, \
                                                              cudaStream_t stream)                                     \
    {                                                                                                                  \
        tshmem_##name##_put_signal_on_stream(dest, source, nelems, signal, value, operation, pe, stream);              \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_##name##_put_signal_nbi_on_stream(type *dest, const type *source, size_t nelems,       \
                                                                  uint64_t *signal, uint64_t value, int operation,     \
                                                                  int pe, cudaStream_t stream)                         \
    {                                                                                                                  \
        tshmem_##name##_put_signal_nbi_on_stream(dest, source, nelems, signal, value, operation, pe, stream);          \
    }                                                                                                                  \
    TUTTI_NVSHMEM int nvshmemx_##name##_broadcast_on_stream(nvshmem_team_t team, type *dest, const type *source,       \
                                                            size_t nelems, int root, cudaStream_t stream)              \
    {                                                                                                                  \
        return tshmem_##name##_broadcast_on_stream(team, dest, source, nelems, root, stream);                          \
    }                                                                                                                  \
    TUTTI_NVSHMEM int nvshmemx_##name##_fcollect_on_stream(nvshmem_team_t team, type *dest, const type *source,        \
                                                           size_t nelems, cudaStream_t stream)                         \
    {                                                                                                                  \
        return tshmem_##name##_fcollect_on_stream(team, dest, source, nelems, stream);                                 \
    }                                                                                                                  \
    TUTTI_NVSHMEM int nvshmemx_##name##_alltoall_on_stream(nvshmem_team_t team, type *dest, const type *source,        \
                                                           size_t nelems, cudaStream_t stream)                         \
    {                                                                                                                  \
        return tshmem_##name##_alltoall_on_stream(team, dest, source, nelems, stream);                                 \
    }
TSHMEM_RMA(TUTTI_NVSHMEM_CALLS, )
#undef TUTTI_NVSHMEM_CALLS

/* By the bits of an element. */
#define TUTTI_NVSHMEM_CALLS(bits, what)                                                                                \
    TUTTI_NVSHMEM void nvshmemx_put##bits##_on_stream(void *dest, const void *source, size_t nelems, int pe,           \
                                                      cudaStream_t stream)                                             \
    {                                                                                                                  \
        tshmem_put##bits##_on_stream(dest, source, nelems, pe, stream);                                                \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_get##bits##_on_stream(void *dest, const void *source, size_t nelems, int pe,           \
                                                      cudaStream_t stream)                                             \
    {                                                                                                                  \
        tshmem_get##bits##_on_stream(dest, source, nelems, pe, stream);                                                \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_put##bits##_nbi_on_stream(void *dest, const void *source, size_t nelems, int pe,       \
                                                          cudaStream_t stream)                                         \
    {                                                                                                                  \
        tshmem_put##bits##_nbi_on_stream(dest, source, nelems, pe, stream);                                            \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_get##bits##_nbi_on_stream(void *dest, const void *source, size_t nelems, int pe,       \
                                                          cudaStream_t stream)                                         \
    {                                                                                                                  \
        tshmem_get##bits##_nbi_on_stream(dest, source, nelems, pe, stream);                                            \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_iput##bits##_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,   \
                                                       size_t nelems, int pe, cudaStream_t stream)                     \
    {                                                                                                                  \
        tshmem_iput##bits##_on_stream(dest, source, dst, sst, nelems, pe, stream);                                     \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_iget##bits##_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,   \
                                                       size_t nelems, int pe, cudaStream_t stream)                     \
    {                                                                                                                  \
        tshmem_iget##bits##_on_stream(dest, source, dst, sst, nelems, pe, stream);                                     \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_put##bits##_signal_on_stream(void *dest, const void *source, size_t nelems,            \
                                                             uint64_t *signal, uint64_t value, int operation, int pe,  \
                                                             cudaStream_t stream)                                      \
    {                                                                                                                  \
        tshmem_putmem_signal_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, bits / 8), signal, value,        \
                                       operation, pe, stream);                                                         \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_put##bits##_signal_nbi_on_stream(void *dest, const void *source, size_t nelems,        \
                                                                 uint64_t *signal, uint64_t value, int operation,      \
                                                                 int pe, cudaStream_t stream)                          \
    {                                                                                                                  \
        tshmem_putmem_signal_nbi_on_stream(dest, source, tutti_shmem_stream_bytes(nelems, bits / 8), signal, value,    \
                                           operation, pe, stream);                                                     \
    }
TSHMEM_SIZES(TUTTI_NVSHMEM_CALLS, )
#undef TUTTI_NVSHMEM_CALLS

/* Waits for words of this PE. status, values: memory of the GPU. */
#define TUTTI_NVSHMEM_CALLS(name, type, kind, what)                                                                    \
    TUTTI_NVSHMEM void nvshmemx_##name##_wait_until_on_stream(type *word, int comparison, type value,                  \
                                                              cudaStream_t stream)                                     \
    {                                                                                                                  \
        tshmem_##name##_wait_until_on_stream(word, comparison, value, stream);                                         \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_##name##_wait_until_all_on_stream(type *words, size_t n, const int *status,            \
                                                                  int comparison, type value, cudaStream_t stream)     \
    {                                                                                                                  \
        tshmem_##name##_wait_until_all_on_stream(words, n, status, comparison, value, stream);                         \
    }                                                                                                                  \
    TUTTI_NVSHMEM void nvshmemx_##name##_wait_until_all_vector_on_stream(                                              \
        type *words, size_t n, const int *status, int comparison, type *values, cudaStream_t stream)                   \
    {                                                                                                                  \
        tshmem_##name##_wait_until_all_vector_on_stream(words, n, status, comparison, values, stream);                 \
    }
TSHMEM_WAIT(TUTTI_NVSHMEM_CALLS, )
#undef TUTTI_NVSHMEM_CALLS

/* Reductions: 0 or a negative status. */
#define TUTTI_NVSHMEM_REDUCTION(name, type, kind, op)                                                                  \
    TUTTI_NVSHMEM int nvshmemx_##name##_##op##_reduce_on_stream(nvshmem_team_t team, type *dest, const type *source,   \
                                                                size_t nelems, cudaStream_t stream)                    \
    {                                                                                                                  \
        return tshmem_##name##_##op##_reduce_on_stream(team, dest, source, nelems, stream);                            \
    }                                                                                                                  \
    TUTTI_NVSHMEM int nvshmemx_##name##_##op##_reducescatter_on_stream(                                                \
        nvshmem_team_t team, type *dest, const type *source, size_t nelems, cudaStream_t stream)                       \
    {                                                                                                                  \
        return tshmem_##name##_##op##_reducescatter_on_stream(team, dest, source, nelems, stream);                     \
    }
TSHMEM_BITS(TUTTI_NVSHMEM_REDUCTION, and)
TSHMEM_BITS(TUTTI_NVSHMEM_REDUCTION, or)
TSHMEM_BITS(TUTTI_NVSHMEM_REDUCTION, xor)
TSHMEM_RMA(TUTTI_NVSHMEM_REDUCTION, max)
TSHMEM_RMA(TUTTI_NVSHMEM_REDUCTION, min)
TSHMEM_ARITH(TUTTI_NVSHMEM_REDUCTION, sum)
TSHMEM_ARITH(TUTTI_NVSHMEM_REDUCTION, prod)
#undef TUTTI_NVSHMEM_REDUCTION

#endif
