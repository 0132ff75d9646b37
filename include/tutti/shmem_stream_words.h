/* Atomics, and waits and tests of several words, in the order of a stream: as in tutti/shmem_stream.h, which alone
 * includes this.
 *
 * Local. A call writes its result where its first argument points, when the stream reaches the call. That,
 * arrays of indices, status and values are memory of the GPU of the heap (tshmem_malloc(), tutti_alloc()), which a
 * kernel reads and writes in stream order: they stay as they are until then. Words are symmetric, single values are
 * read at once. */
#ifndef TUTTI_SHMEM_STREAM_WORDS_H
#define TUTTI_SHMEM_STREAM_WORDS_H

#ifdef __cplusplus
extern "C" {
#endif

/* What the typed names are made of. operation: enum tshmem_amo, on 4 or 8 bytes; *fetched: the value before, of as
 * many; of operations that fetch nothing it may be NULL. */
TUTTI_API int tutti_shmem_amo_on_stream(int operation, void *fetched, void *dest, size_t bytes, uint64_t value,
                                        uint64_t compare, int pe, void *stream);
/* which, type: TSHMEM_WAIT_..., INT8 to UINT64. *answer: of a test of ALL an int, 1 or 0; of ANY and SOME a size_t, as
 * tutti_shmem_wait() returns it (of several that hold the lowest); of a wait for ALL none, NULL. indices: of SOME, n
 * size_t. status: NULL, or n int. values: n with VECTOR, otherwise one, which is read at once from the host's memory.
 * With FROM_1 words are numbered from 1 on, and 0 means no word. */
TUTTI_API int tutti_shmem_wait_on_stream(int which, int type, const void *words, size_t n, void *answer,
                                         size_t *indices, const int *status, int comparison, const void *values,
                                         void *stream);

#ifdef __cplusplus
}
#endif

#pragma push_macro("TSHMEM_INLINE")
#undef TSHMEM_INLINE
#define TSHMEM_INLINE static inline __attribute__((unused)) /* in CUDA C++ too: of the host */

/* ---- atomics, of any PE. To PEs of other nodes: those that fetch are done when the stream continues, the others past
 * tshmem_quiet_on_stream(). The nbi forms are the same as those without. ---- */

#define TSHMEM_AMO_PUT(type, operation, fetched, dest, given, expected)                                                \
    TSHMEM_AMO_BITS(type) bits, other;                                                                                 \
    bits.word = other.word = 0;                                                                                        \
    bits.value = (given);                                                                                              \
    other.value = (expected);                                                                                          \
    return tutti_shmem_amo_on_stream(operation, fetched, (void *)(uintptr_t)(dest), sizeof(type), bits.word,           \
                                     other.word, pe, stream)

#define TSHMEM_FETCHED(name, type, call, operation)                                                                    \
    TSHMEM_INLINE int tshmem_##name##_atomic_fetch_##call##_on_stream(type *fetched, type *dest, type value, int pe,   \
                                                                      void *stream)                                    \
    {                                                                                                                  \
        TSHMEM_AMO_PUT(type, operation, fetched, dest, value, 0);                                                      \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_atomic_fetch_##call##_nbi_on_stream(type *fetched, type *dest, type value,       \
                                                                          int pe, void *stream)                        \
    {                                                                                                                  \
        return tshmem_##name##_atomic_fetch_##call##_on_stream(fetched, dest, value, pe, stream);                      \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_atomic_##call##_on_stream(type *dest, type value, int pe, void *stream)          \
    {                                                                                                                  \
        TSHMEM_AMO_PUT(type, (operation) | TSHMEM_AMO_NO_FETCH, (void *)0, dest, value, 0);                            \
    }

#define TSHMEM_CALLS(name, type, kind, adds)                                                                           \
    TSHMEM_INLINE int tshmem_##name##_atomic_fetch_on_stream(type *fetched, const type *source, int pe, void *stream)  \
    {                                                                                                                  \
        TSHMEM_AMO_PUT(type, TSHMEM_AMO_FETCH, fetched, source, 0, 0);                                                 \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_atomic_fetch_nbi_on_stream(type *fetched, const type *source, int pe,            \
                                                                 void *stream)                                         \
    {                                                                                                                  \
        return tshmem_##name##_atomic_fetch_on_stream(fetched, source, pe, stream);                                    \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_atomic_set_on_stream(type *dest, type value, int pe, void *stream)               \
    {                                                                                                                  \
        TSHMEM_AMO_PUT(type, TSHMEM_AMO_SET, (void *)0, dest, value, 0);                                               \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_atomic_swap_on_stream(type *fetched, type *dest, type value, int pe,             \
                                                            void *stream)                                              \
    {                                                                                                                  \
        TSHMEM_AMO_PUT(type, TSHMEM_AMO_SWAP, fetched, dest, value, 0);                                                \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_atomic_swap_nbi_on_stream(type *fetched, type *dest, type value, int pe,         \
                                                                void *stream)                                          \
    {                                                                                                                  \
        return tshmem_##name##_atomic_swap_on_stream(fetched, dest, value, pe, stream);                                \
    }                                                                                                                  \
    TSHMEM_FETCHED(name, type, add, adds)
TSHMEM_AMO(TSHMEM_CALLS, TSHMEM_AMO_ADD)
TSHMEM_AMO_FLOATING(TSHMEM_CALLS, TSHMEM_AMO_ADD_FLOAT)
#undef TSHMEM_CALLS

#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_INLINE int tshmem_##name##_atomic_compare_swap_on_stream(type *fetched, type *dest, type expected,          \
                                                                    type value, int pe, void *stream)                  \
    {                                                                                                                  \
        TSHMEM_AMO_PUT(type, TSHMEM_AMO_COMPARE_SWAP, fetched, dest, value, expected);                                 \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_atomic_compare_swap_nbi_on_stream(type *fetched, type *dest, type expected,      \
                                                                        type value, int pe, void *stream)              \
    {                                                                                                                  \
        return tshmem_##name##_atomic_compare_swap_on_stream(fetched, dest, expected, value, pe, stream);              \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_atomic_fetch_inc_on_stream(type *fetched, type *dest, int pe, void *stream)      \
    {                                                                                                                  \
        return tshmem_##name##_atomic_fetch_add_on_stream(fetched, dest, 1, pe, stream);                               \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_atomic_fetch_inc_nbi_on_stream(type *fetched, type *dest, int pe, void *stream)  \
    {                                                                                                                  \
        return tshmem_##name##_atomic_fetch_add_on_stream(fetched, dest, 1, pe, stream);                               \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_atomic_inc_on_stream(type *dest, int pe, void *stream)                           \
    {                                                                                                                  \
        return tshmem_##name##_atomic_add_on_stream(dest, 1, pe, stream);                                              \
    }
TSHMEM_AMO(TSHMEM_CALLS, )
#undef TSHMEM_CALLS

#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_FETCHED(name, type, and, TSHMEM_AMO_AND)                                                                    \
    TSHMEM_FETCHED(name, type, or, TSHMEM_AMO_OR)                                                                      \
    TSHMEM_FETCHED(name, type, xor, TSHMEM_AMO_XOR)
TSHMEM_BITWISE(TSHMEM_CALLS, )
#undef TSHMEM_CALLS
#undef TSHMEM_FETCHED
#undef TSHMEM_AMO_PUT

/* ---- waits for own words that peers change, and tests of them: a kernel of the GPU, which takes a place there while
 * it waits. What the stream does afterwards sees what was put before. ---- */

#define TSHMEM_WAITS(name, type, call, which, vector, value_type, value)                                               \
    TSHMEM_INLINE int tshmem_##name##_##call##_any##vector##_on_stream(                                                \
        size_t *index, const type *words, size_t n, const int *status, int comparison, value_type, void *stream)       \
    {                                                                                                                  \
        return tutti_shmem_wait_on_stream(TSHMEM_WAIT_ANY | (which), TSHMEM_ID_INTEGER(type), words, n, index,         \
                                          (size_t *)0, status, comparison, value, stream);                             \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_##call##_some##vector##_on_stream(size_t *found, const type *words, size_t n,    \
                                                                        size_t *indices, const int *status,            \
                                                                        int comparison, value_type, void *stream)      \
    {                                                                                                                  \
        return tutti_shmem_wait_on_stream(TSHMEM_WAIT_SOME | (which), TSHMEM_ID_INTEGER(type), words, n, found,        \
                                          indices, status, comparison, value, stream);                                 \
    }
#define TSHMEM_WAITS_ALL(name, type, vector, which, value_type, value)                                                 \
    TSHMEM_INLINE int tshmem_##name##_wait_until_all##vector##_on_stream(                                              \
        const type *words, size_t n, const int *status, int comparison, value_type, void *stream)                      \
    {                                                                                                                  \
        return tutti_shmem_wait_on_stream(TSHMEM_WAIT_ALL | (which), TSHMEM_ID_INTEGER(type), words, n, (void *)0,     \
                                          (size_t *)0, status, comparison, value, stream);                             \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_test_all##vector##_on_stream(                                                    \
        int *holds, const type *words, size_t n, const int *status, int comparison, value_type, void *stream)          \
    {                                                                                                                  \
        return tutti_shmem_wait_on_stream(TSHMEM_WAIT_ALL | TSHMEM_WAIT_TEST | (which), TSHMEM_ID_INTEGER(type),       \
                                          words, n, holds, (size_t *)0, status, comparison, value, stream);            \
    }
#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_INLINE int tshmem_##name##_wait_until_on_stream(const type *word, int comparison, type value, void *stream) \
    {                                                                                                                  \
        return tutti_shmem_wait_on_stream(TSHMEM_WAIT_ALL, TSHMEM_ID_INTEGER(type), word, 1, (void *)0, (size_t *)0,   \
                                          (const int *)0, comparison, &value, stream);                                 \
    }                                                                                                                  \
    TSHMEM_INLINE int tshmem_##name##_test_on_stream(int *holds, const type *word, int comparison, type value,         \
                                                     void *stream)                                                     \
    {                                                                                                                  \
        return tutti_shmem_wait_on_stream(TSHMEM_WAIT_ALL | TSHMEM_WAIT_TEST, TSHMEM_ID_INTEGER(type), word, 1, holds, \
                                          (size_t *)0, (const int *)0, comparison, &value, stream);                    \
    }                                                                                                                  \
    TSHMEM_WAITS_ALL(name, type, , 0, type value, &value)                                                              \
    TSHMEM_WAITS_ALL(name, type, _vector, TSHMEM_WAIT_VECTOR, const type *values, values)                              \
    TSHMEM_WAITS(name, type, wait_until, 0, , type value, &value)                                                      \
    TSHMEM_WAITS(name, type, wait_until, TSHMEM_WAIT_VECTOR, _vector, const type *values, values)                      \
    TSHMEM_WAITS(name, type, test, TSHMEM_WAIT_TEST, , type value, &value)                                             \
    TSHMEM_WAITS(name, type, test, TSHMEM_WAIT_TEST | TSHMEM_WAIT_VECTOR, _vector, const type *values, values)
TSHMEM_WAIT(TSHMEM_CALLS, )
#undef TSHMEM_CALLS
#undef TSHMEM_WAITS
#undef TSHMEM_WAITS_ALL
#pragma pop_macro("TSHMEM_INLINE")

#endif
