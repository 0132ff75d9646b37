/* Waits in stream order for own words that peers change: a kernel that looks at them. */
#include "shmem/stream/stream.h"

static int wait(const char *name, enum tutti_shmem_what what, int type, void *words, size_t n, const int *status,
                int comparison, uint64_t value, void *stream)
{
    const size_t size = (size_t)1 << type / 2; /* INT8, UINT8, INT16 ... */
    size_t bytes;
    struct tutti_shmem_streamed call = {.args = {.source = words,
                                                 .type = type,
                                                 .n = n,
                                                 .own = (void *)(uintptr_t)status,
                                                 .own_bytes = n * sizeof *status,
                                                 .comparison = comparison,
                                                 .value = value}};
    if (__builtin_mul_overflow(n, size, &bytes))
        bytes = SIZE_MAX;
    if (comparison < 0 || comparison >= TSHMEM_COMPARISON_COUNT)
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name, "%d is no comparison: TSHMEM_CMP_EQ ...", comparison);
    if (n > 0 && !tutti_shmem_at(words, bytes, tutti_shmem.state.me, name))
        return TUTTI_ERR_ARGUMENT;
    if (n > 0 && (uintptr_t)words % size != 0)
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name, "%p is not aligned to %zu bytes", words, size);
    if (n > 0 && status && tutti_shmem.gpu && !tutti_shmem_stream_reaches(status))
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name,
                                "the status array at %p is read by a kernel: it must be memory of GPU %d, as "
                                "tshmem_malloc gives it",
                                (const void *)status, tutti_shmem.gpu->gpu);
    if (n == 0)
        return TUTTI_OK;
    return tutti_shmem_stream_one(&call, what, 0, name, stream);
}

int tshmem_signal_wait_until_on_stream(uint64_t *signal, int comparison, uint64_t value, void *stream)
{
    return wait("tshmem_signal_wait_until_on_stream", TUTTI_SHMEM_DO_SIGNAL_WAIT, TSHMEM_UINT64, signal, 1, NULL,
                comparison, value, stream);
}

int tutti_shmem_wait_until_on_stream(int type, void *words, size_t n, const int *status, int comparison, uint64_t value,
                                     void *stream)
{
    static const char name[] = "tshmem_wait_until_on_stream";
    if (type < TSHMEM_INT8 || type > TSHMEM_UINT64)
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name, "type %d is no integer", type);
    return wait(name, TUTTI_SHMEM_DO_WAIT, type, words, n, status, comparison, value, stream);
}
