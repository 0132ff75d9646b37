/* The typed calls of tutti/shmem.h, one set a type of shmem.def. Included by that file and, with other names, by
 * shmem_names.h: each defines TSHMEM_NAME(type, call), TSHMEM_PLAIN(call) and TSHMEM_DO(call), which is what
 * is called, before. tutti/device.h makes the forms of groups of threads; TSHMEM_GROUP_FORMS leaves out calls without
 * group forms.
 *
 * Local: put, get, p, g and their strided and nbi forms, put_signal, atomics, waits and tests (which wait for peers).
 * Collective over the team: broadcast, collect, fcollect, alltoall, alltoalls, reduce, reducescatter, scans. */
#ifndef TSHMEM_FIRST
#define TSHMEM_FIRST
#define TSHMEM_GIVEN
#endif

/* iput, iget: element i from source + i * sst to dest + i * dst. ibput, ibget: the same with blocks of bsize elements.
 */
#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_INLINE void TSHMEM_NAME(name, put)(TSHMEM_FIRST type * dest, const type *source, size_t nelems, int pe)     \
    {                                                                                                                  \
        TSHMEM_DO(tshmem_putmem)(TSHMEM_GIVEN dest, source, nelems * sizeof(type), pe);                                \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, get)(TSHMEM_FIRST type * dest, const type *source, size_t nelems, int pe)     \
    {                                                                                                                  \
        TSHMEM_DO(tshmem_getmem)(TSHMEM_GIVEN dest, source, nelems * sizeof(type), pe);                                \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, put_nbi)(TSHMEM_FIRST type * dest, const type *source, size_t nelems, int pe) \
    {                                                                                                                  \
        TSHMEM_DO(tshmem_putmem_nbi)(TSHMEM_GIVEN dest, source, nelems * sizeof(type), pe);                            \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, get_nbi)(TSHMEM_FIRST type * dest, const type *source, size_t nelems, int pe) \
    {                                                                                                                  \
        TSHMEM_DO(tshmem_getmem_nbi)(TSHMEM_GIVEN dest, source, nelems * sizeof(type), pe);                            \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, iput)(TSHMEM_FIRST type * dest, const type *source, ptrdiff_t dst,            \
                                               ptrdiff_t sst, size_t nelems, int pe)                                   \
    {                                                                                                                  \
        TSHMEM_DO(tutti_shmem_put_blocks)(TSHMEM_GIVEN dest, source, dst, sst, 1, nelems, sizeof(type), pe);           \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, iget)(TSHMEM_FIRST type * dest, const type *source, ptrdiff_t dst,            \
                                               ptrdiff_t sst, size_t nelems, int pe)                                   \
    {                                                                                                                  \
        TSHMEM_DO(tutti_shmem_get_blocks)(TSHMEM_GIVEN dest, source, dst, sst, 1, nelems, sizeof(type), pe);           \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, ibput)(TSHMEM_FIRST type * dest, const type *source, ptrdiff_t dst,           \
                                                ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)                   \
    {                                                                                                                  \
        TSHMEM_DO(tutti_shmem_put_blocks)(TSHMEM_GIVEN dest, source, dst, sst, bsize, nblocks, sizeof(type), pe);      \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, ibget)(TSHMEM_FIRST type * dest, const type *source, ptrdiff_t dst,           \
                                                ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)                   \
    {                                                                                                                  \
        TSHMEM_DO(tutti_shmem_get_blocks)(TSHMEM_GIVEN dest, source, dst, sst, bsize, nblocks, sizeof(type), pe);      \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, put_signal)(TSHMEM_FIRST type * dest, const type *source, size_t nelems,      \
                                                     uint64_t *signal, uint64_t value, int operation, int pe)          \
    {                                                                                                                  \
        TSHMEM_DO(tshmem_putmem_signal)                                                                                \
        (TSHMEM_GIVEN dest, source, nelems * sizeof(type), signal, value, operation, pe);                              \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, put_signal_nbi)(TSHMEM_FIRST type * dest, const type *source, size_t nelems,  \
                                                         uint64_t *signal, uint64_t value, int operation, int pe)      \
    {                                                                                                                  \
        TSHMEM_DO(tshmem_putmem_signal_nbi)                                                                            \
        (TSHMEM_GIVEN dest, source, nelems * sizeof(type), signal, value, operation, pe);                              \
    }
TSHMEM_RMA(TSHMEM_CALLS, )
#undef TSHMEM_CALLS

#ifndef TSHMEM_CTX_FORMS /* collectives are of teams */
#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_INLINE int TSHMEM_NAME(name, broadcast)(tshmem_team_t team, type * dest, const type *source, size_t nelems, \
                                                   int root)                                                           \
    {                                                                                                                  \
        return TSHMEM_DO(tutti_shmem_broadcast)(team, dest, source, nelems, sizeof(type), root);                       \
    }                                                                                                                  \
    TSHMEM_INLINE int TSHMEM_NAME(name, collect)(tshmem_team_t team, type * dest, const type *source, size_t nelems)   \
    {                                                                                                                  \
        return TSHMEM_DO(tutti_shmem_collect)(team, dest, source, nelems, sizeof(type));                               \
    }                                                                                                                  \
    TSHMEM_INLINE int TSHMEM_NAME(name, fcollect)(tshmem_team_t team, type * dest, const type *source, size_t nelems)  \
    {                                                                                                                  \
        return TSHMEM_DO(tutti_shmem_fcollect)(team, dest, source, nelems, sizeof(type));                              \
    }                                                                                                                  \
    TSHMEM_INLINE int TSHMEM_NAME(name, alltoall)(tshmem_team_t team, type * dest, const type *source, size_t nelems)  \
    {                                                                                                                  \
        return TSHMEM_DO(tutti_shmem_alltoalls)(team, dest, source, 1, 1, nelems, sizeof(type));                       \
    }                                                                                                                  \
    TSHMEM_INLINE int TSHMEM_NAME(name, alltoalls)(tshmem_team_t team, type * dest, const type *source, ptrdiff_t dst, \
                                                   ptrdiff_t sst, size_t nelems)                                       \
    {                                                                                                                  \
        return TSHMEM_DO(tutti_shmem_alltoalls)(team, dest, source, dst, sst, nelems, sizeof(type));                   \
    }
TSHMEM_RMA(TSHMEM_CALLS, )
#undef TSHMEM_CALLS
/* Of bytes: dst and sst count bytes too. */
TSHMEM_INLINE int TSHMEM_PLAIN(alltoallsmem)(tshmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                                             ptrdiff_t sst, size_t bytes)
{
    return TSHMEM_DO(tutti_shmem_alltoalls)(team, dest, source, dst, sst, bytes, 1);
}
#endif

#ifndef TSHMEM_GROUP_FORMS /* one element is one thread's */
#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_INLINE void TSHMEM_NAME(name, p)(TSHMEM_FIRST type * dest, type value, int pe)                              \
    {                                                                                                                  \
        TSHMEM_DO(tutti_shmem_p)(TSHMEM_GIVEN dest, &value, sizeof value, pe);                                         \
    }                                                                                                                  \
    TSHMEM_INLINE type TSHMEM_NAME(name, g)(TSHMEM_FIRST const type *source, int pe)                                   \
    {                                                                                                                  \
        type value = 0;                                                                                                \
        TSHMEM_DO(tutti_shmem_g)(TSHMEM_GIVEN & value, source, sizeof value, pe);                                      \
        return value;                                                                                                  \
    }
TSHMEM_RMA(TSHMEM_CALLS, )
#undef TSHMEM_CALLS
#endif

/* By the bits of an element. */
#define TSHMEM_CALLS(bits, what)                                                                                       \
    TSHMEM_INLINE void TSHMEM_PLAIN(put##bits)(TSHMEM_FIRST void *dest, const void *source, size_t nelems, int pe)     \
    {                                                                                                                  \
        TSHMEM_DO(tshmem_putmem)(TSHMEM_GIVEN dest, source, nelems * (bits / 8), pe);                                  \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_PLAIN(get##bits)(TSHMEM_FIRST void *dest, const void *source, size_t nelems, int pe)     \
    {                                                                                                                  \
        TSHMEM_DO(tshmem_getmem)(TSHMEM_GIVEN dest, source, nelems * (bits / 8), pe);                                  \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_PLAIN(put##bits##_nbi)(TSHMEM_FIRST void *dest, const void *source, size_t nelems,       \
                                                     int pe)                                                           \
    {                                                                                                                  \
        TSHMEM_DO(tshmem_putmem_nbi)(TSHMEM_GIVEN dest, source, nelems * (bits / 8), pe);                              \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_PLAIN(get##bits##_nbi)(TSHMEM_FIRST void *dest, const void *source, size_t nelems,       \
                                                     int pe)                                                           \
    {                                                                                                                  \
        TSHMEM_DO(tshmem_getmem_nbi)(TSHMEM_GIVEN dest, source, nelems * (bits / 8), pe);                              \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_PLAIN(iput##bits)(TSHMEM_FIRST void *dest, const void *source, ptrdiff_t dst,            \
                                                ptrdiff_t sst, size_t nelems, int pe)                                  \
    {                                                                                                                  \
        TSHMEM_DO(tutti_shmem_put_blocks)(TSHMEM_GIVEN dest, source, dst, sst, 1, nelems, bits / 8, pe);               \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_PLAIN(iget##bits)(TSHMEM_FIRST void *dest, const void *source, ptrdiff_t dst,            \
                                                ptrdiff_t sst, size_t nelems, int pe)                                  \
    {                                                                                                                  \
        TSHMEM_DO(tutti_shmem_get_blocks)(TSHMEM_GIVEN dest, source, dst, sst, 1, nelems, bits / 8, pe);               \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_PLAIN(ibput##bits)(TSHMEM_FIRST void *dest, const void *source, ptrdiff_t dst,           \
                                                 ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)                  \
    {                                                                                                                  \
        TSHMEM_DO(tutti_shmem_put_blocks)(TSHMEM_GIVEN dest, source, dst, sst, bsize, nblocks, bits / 8, pe);          \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_PLAIN(ibget##bits)(TSHMEM_FIRST void *dest, const void *source, ptrdiff_t dst,           \
                                                 ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)                  \
    {                                                                                                                  \
        TSHMEM_DO(tutti_shmem_get_blocks)(TSHMEM_GIVEN dest, source, dst, sst, bsize, nblocks, bits / 8, pe);          \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_PLAIN(put##bits##_signal)(TSHMEM_FIRST void *dest, const void *source, size_t nelems,    \
                                                        uint64_t *signal, uint64_t value, int operation, int pe)       \
    {                                                                                                                  \
        TSHMEM_DO(tshmem_putmem_signal)                                                                                \
        (TSHMEM_GIVEN dest, source, nelems * (bits / 8), signal, value, operation, pe);                                \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_PLAIN(put##bits##_signal_nbi)(TSHMEM_FIRST void *dest, const void *source,               \
                                                            size_t nelems, uint64_t *signal, uint64_t value,           \
                                                            int operation, int pe)                                     \
    {                                                                                                                  \
        TSHMEM_DO(tshmem_putmem_signal_nbi)                                                                            \
        (TSHMEM_GIVEN dest, source, nelems * (bits / 8), signal, value, operation, pe);                                \
    }
TSHMEM_SIZES(TSHMEM_CALLS, )
#undef TSHMEM_CALLS

#ifndef TSHMEM_GROUP_FORMS
/* ---- atomics: each sees the word whole, in one order with all others on it. Fetching ones return the value before;
 * their nbi forms store it at *fetch, which holds it past tshmem_quiet(). They order no other memory. ---- */

/* The bits of an element as a word, and back. */
#ifndef TSHMEM_AMO_BITS
#define TSHMEM_AMO_BITS(type)                                                                                          \
    union {                                                                                                            \
        uint64_t word;                                                                                                 \
        type value;                                                                                                    \
    }
#endif
#define TSHMEM_AMO_CALL(type, operation, dest, given, expected, pe)                                                    \
    TSHMEM_AMO_BITS(type) bits, other;                                                                                 \
    bits.word = other.word = 0;                                                                                        \
    bits.value = (given);                                                                                              \
    other.value = (expected);                                                                                          \
    bits.word = TSHMEM_DO(tutti_shmem_amo)(TSHMEM_GIVEN operation, (void *)(uintptr_t)(dest), sizeof(type), bits.word, \
                                           other.word, pe)

#define TSHMEM_FETCHING(name, type, call, operation)                                                                   \
    TSHMEM_INLINE type TSHMEM_NAME(name, atomic_fetch_##call)(TSHMEM_FIRST type * dest, type value, int pe)            \
    {                                                                                                                  \
        TSHMEM_AMO_CALL(type, operation, dest, value, 0, pe);                                                          \
        return bits.value;                                                                                             \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, atomic_fetch_##call##_nbi)(TSHMEM_FIRST type * fetch, type * dest,            \
                                                                    type value, int pe)                                \
    {                                                                                                                  \
        *fetch = TSHMEM_NAME(name, atomic_fetch_##call)(TSHMEM_GIVEN dest, value, pe);                                 \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, atomic_##call)(TSHMEM_FIRST type * dest, type value, int pe)                  \
    {                                                                                                                  \
        TSHMEM_AMO_CALL(type, (operation) | TSHMEM_AMO_NO_FETCH, dest, value, 0, pe);                                  \
    }

#define TSHMEM_CALLS(name, type, kind, adds)                                                                           \
    TSHMEM_INLINE type TSHMEM_NAME(name, atomic_fetch)(TSHMEM_FIRST const type *source, int pe)                        \
    {                                                                                                                  \
        TSHMEM_AMO_CALL(type, TSHMEM_AMO_FETCH, source, 0, 0, pe);                                                     \
        return bits.value;                                                                                             \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, atomic_fetch_nbi)(TSHMEM_FIRST type * fetch, const type *source, int pe)      \
    {                                                                                                                  \
        *fetch = TSHMEM_NAME(name, atomic_fetch)(TSHMEM_GIVEN source, pe);                                             \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, atomic_set)(TSHMEM_FIRST type * dest, type value, int pe)                     \
    {                                                                                                                  \
        TSHMEM_AMO_CALL(type, TSHMEM_AMO_SET, dest, value, 0, pe);                                                     \
    }                                                                                                                  \
    TSHMEM_INLINE type TSHMEM_NAME(name, atomic_swap)(TSHMEM_FIRST type * dest, type value, int pe)                    \
    {                                                                                                                  \
        TSHMEM_AMO_CALL(type, TSHMEM_AMO_SWAP, dest, value, 0, pe);                                                    \
        return bits.value;                                                                                             \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, atomic_swap_nbi)(TSHMEM_FIRST type * fetch, type * dest, type value, int pe)  \
    {                                                                                                                  \
        *fetch = TSHMEM_NAME(name, atomic_swap)(TSHMEM_GIVEN dest, value, pe);                                         \
    }                                                                                                                  \
    TSHMEM_FETCHING(name, type, add, adds)
TSHMEM_AMO(TSHMEM_CALLS, TSHMEM_AMO_ADD)
TSHMEM_AMO_FLOATING(TSHMEM_CALLS, TSHMEM_AMO_ADD_FLOAT)
#undef TSHMEM_CALLS

#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_INLINE type TSHMEM_NAME(name, atomic_compare_swap)(TSHMEM_FIRST type * dest, type expected, type value,     \
                                                              int pe)                                                  \
    {                                                                                                                  \
        TSHMEM_AMO_CALL(type, TSHMEM_AMO_COMPARE_SWAP, dest, value, expected, pe);                                     \
        return bits.value;                                                                                             \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, atomic_compare_swap_nbi)(TSHMEM_FIRST type * fetch, type * dest,              \
                                                                  type expected, type value, int pe)                   \
    {                                                                                                                  \
        *fetch = TSHMEM_NAME(name, atomic_compare_swap)(TSHMEM_GIVEN dest, expected, value, pe);                       \
    }                                                                                                                  \
    TSHMEM_INLINE type TSHMEM_NAME(name, atomic_fetch_inc)(TSHMEM_FIRST type * dest, int pe)                           \
    {                                                                                                                  \
        return TSHMEM_NAME(name, atomic_fetch_add)(TSHMEM_GIVEN dest, 1, pe);                                          \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, atomic_fetch_inc_nbi)(TSHMEM_FIRST type * fetch, type * dest, int pe)         \
    {                                                                                                                  \
        *fetch = TSHMEM_NAME(name, atomic_fetch_add)(TSHMEM_GIVEN dest, 1, pe);                                        \
    }                                                                                                                  \
    TSHMEM_INLINE void TSHMEM_NAME(name, atomic_inc)(TSHMEM_FIRST type * dest, int pe)                                 \
    {                                                                                                                  \
        TSHMEM_NAME(name, atomic_add)(TSHMEM_GIVEN dest, 1, pe);                                                       \
    }
TSHMEM_AMO(TSHMEM_CALLS, )
#undef TSHMEM_CALLS

#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_FETCHING(name, type, and, TSHMEM_AMO_AND)                                                                   \
    TSHMEM_FETCHING(name, type, or, TSHMEM_AMO_OR)                                                                     \
    TSHMEM_FETCHING(name, type, xor, TSHMEM_AMO_XOR)
TSHMEM_BITWISE(TSHMEM_CALLS, )
#undef TSHMEM_CALLS
#undef TSHMEM_FETCHING
#undef TSHMEM_AMO_CALL
#endif

#ifndef TSHMEM_CTX_FORMS
/* ---- waits and tests of own words in the heap, which peers change by put_signal, atomics, or p behind a fence. Once
 * they return, what the peer had put before is seen. Masked words (status[i] not zero) are left out. ---- */
#ifndef TSHMEM_ID_INTEGER
/* Number of an integer type in enum tshmem_type; of the others it is TSHMEM_ID_kind. */
#define TSHMEM_ID_INTEGER(type)                                                                                        \
    ((sizeof(type) == 1   ? TSHMEM_INT8                                                                                \
      : sizeof(type) == 2 ? TSHMEM_INT16                                                                               \
      : sizeof(type) == 4 ? TSHMEM_INT32                                                                               \
                          : TSHMEM_INT64) +                                                                            \
     ((type)-1 > (type)1))
#define TSHMEM_ID_HALF(type)       TSHMEM_ID_HALF
#define TSHMEM_ID_BFLOAT16(type)   TSHMEM_ID_BFLOAT16
#define TSHMEM_ID_FLOAT(type)      TSHMEM_ID_FLOAT
#define TSHMEM_ID_DOUBLE(type)     TSHMEM_ID_DOUBLE
#define TSHMEM_ID_COMPLEXF(type)   TSHMEM_ID_COMPLEXF
#define TSHMEM_ID_COMPLEXD(type)   TSHMEM_ID_COMPLEXD
#define TSHMEM_ID_LONGDOUBLE(type) TSHMEM_ID_LONGDOUBLE
#endif
#define TSHMEM_WAITS(name, type, call, result, give, which, vector, value_type, value)                                 \
    TSHMEM_INLINE result TSHMEM_NAME(name, call##_all##vector)(type * words, size_t n, const int *status,              \
                                                               int comparison, value_type)                             \
    {                                                                                                                  \
        give TSHMEM_DO(tutti_shmem_wait)(TSHMEM_WAIT_ALL | (which), TSHMEM_ID_INTEGER(type), words, n, NULL, status,   \
                                         comparison, value);                                                           \
    }                                                                                                                  \
    TSHMEM_INLINE size_t TSHMEM_NAME(name, call##_any##vector)(type * words, size_t n, const int *status,              \
                                                               int comparison, value_type)                             \
    {                                                                                                                  \
        return TSHMEM_DO(tutti_shmem_wait)(TSHMEM_WAIT_ANY | (which), TSHMEM_ID_INTEGER(type), words, n, NULL, status, \
                                           comparison, value);                                                         \
    }                                                                                                                  \
    TSHMEM_INLINE size_t TSHMEM_NAME(name, call##_some##vector)(type * words, size_t n, size_t * indices,              \
                                                                const int *status, int comparison, value_type)         \
    {                                                                                                                  \
        return TSHMEM_DO(tutti_shmem_wait)(TSHMEM_WAIT_SOME | (which), TSHMEM_ID_INTEGER(type), words, n, indices,     \
                                           status, comparison, value);                                                 \
    }
#define TSHMEM_CALLS(name, type, kind, what)                                                                           \
    TSHMEM_INLINE void TSHMEM_NAME(name, wait_until)(type * word, int comparison, type value)                          \
    {                                                                                                                  \
        TSHMEM_DO(tutti_shmem_wait)                                                                                    \
        (TSHMEM_WAIT_ALL, TSHMEM_ID_INTEGER(type), word, 1, NULL, NULL, comparison, &value);                           \
    }                                                                                                                  \
    TSHMEM_INLINE int TSHMEM_NAME(name, test)(type * word, int comparison, type value)                                 \
    {                                                                                                                  \
        return (int)TSHMEM_DO(tutti_shmem_wait)(TSHMEM_WAIT_ALL | TSHMEM_WAIT_TEST, TSHMEM_ID_INTEGER(type), word, 1,  \
                                                NULL, NULL, comparison, &value);                                       \
    }                                                                                                                  \
    TSHMEM_WAITS(name, type, wait_until, void, (void), 0, , type value, &value)                                        \
    TSHMEM_WAITS(name, type, wait_until, void, (void), TSHMEM_WAIT_VECTOR, _vector, const type *values, values)        \
    TSHMEM_WAITS(name, type, test, int, return (int), TSHMEM_WAIT_TEST, , type value, &value)                          \
    TSHMEM_WAITS(name, type, test, int, return (int), TSHMEM_WAIT_TEST | TSHMEM_WAIT_VECTOR, _vector,                  \
                 const type *values, values)
TSHMEM_WAIT(TSHMEM_CALLS, )
#undef TSHMEM_CALLS
#undef TSHMEM_WAITS

/* ---- reductions over a team: elements are combined in order of PE, with the same bits on all PEs. reducescatter:
 * source holds a block of nelems for each PE, dest gets this PE's. Scans: dest gets the sum over the PEs up to this one
 * (inclusive) or before it (exclusive; zero on the first). ---- */
#define TSHMEM_REDUCTION(name, type, kind, op, id)                                                                     \
    TSHMEM_INLINE int TSHMEM_NAME(name, op##_reduce)(tshmem_team_t team, type * dest, const type *source,              \
                                                     size_t nelems)                                                    \
    {                                                                                                                  \
        return TSHMEM_DO(tutti_shmem_reduce)(team, dest, source, nelems, TSHMEM_ID_##kind(type), TSHMEM_OP_##id);      \
    }                                                                                                                  \
    TSHMEM_INLINE int TSHMEM_NAME(name, op##_reducescatter)(tshmem_team_t team, type * dest, const type *source,       \
                                                            size_t nelems)                                             \
    {                                                                                                                  \
        return TSHMEM_DO(tutti_shmem_reducescatter)(team, dest, source, nelems, TSHMEM_ID_##kind(type),                \
                                                    TSHMEM_OP_##id);                                                   \
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
    TSHMEM_INLINE int TSHMEM_NAME(name, sum_inscan)(tshmem_team_t team, type * dest, const type *source,               \
                                                    size_t nelems)                                                     \
    {                                                                                                                  \
        return TSHMEM_DO(tutti_shmem_scan)(team, dest, source, nelems, TSHMEM_ID_##kind(type), 0);                     \
    }                                                                                                                  \
    TSHMEM_INLINE int TSHMEM_NAME(name, sum_exscan)(tshmem_team_t team, type * dest, const type *source,               \
                                                    size_t nelems)                                                     \
    {                                                                                                                  \
        return TSHMEM_DO(tutti_shmem_scan)(team, dest, source, nelems, TSHMEM_ID_##kind(type), 1);                     \
    }
TSHMEM_ARITH(TSHMEM_CALLS, )
#undef TSHMEM_CALLS
#undef TSHMEM_REDUCTION
#endif
#undef TSHMEM_FIRST
#undef TSHMEM_GIVEN
