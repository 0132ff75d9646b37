/* What OpenSHMEM 1.5 deprecates and programs still use: old names, waits, atomics without "atomic", and collectives
 * over active sets, PE_start + i * 2^logPE_stride for i below PE_size. Included by tutti/shmem_names.h alone.
 *
 * A collective of an active set is made by its PEs, and takes a symmetric pSync of at least SHMEM_SYNC_SIZE longs that
 * hold SHMEM_SYNC_VALUE, and do again on return; it may be given to the next call at once. pWrk is not used. In them
 * each PE gets what it needs from the others, between two meetings at the first PE of the set: they are for programs
 * that have them, not for speed. */
#ifndef TUTTI_SHMEM_DEPRECATED_H
#define TUTTI_SHMEM_DEPRECATED_H

#include <stdlib.h>
#include <string.h>

enum { SHMEM_SYNC_VALUE = 0, SHMEM_SYNC_SIZE = 4 };
#define SHMEM_BARRIER_SYNC_SIZE        SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE          SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE        SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE         SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE       SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE      SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE  1
#define _SHMEM_SYNC_VALUE              SHMEM_SYNC_VALUE
#define _SHMEM_SYNC_SIZE               SHMEM_SYNC_SIZE
#define _SHMEM_BARRIER_SYNC_SIZE       SHMEM_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE         SHMEM_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE       SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE        SHMEM_SYNC_SIZE
#define _SHMEM_ALLTOALL_SYNC_SIZE      SHMEM_SYNC_SIZE
#define _SHMEM_ALLTOALLS_SYNC_SIZE     SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE
#define _SHMEM_CMP_EQ                  TSHMEM_CMP_EQ
#define _SHMEM_CMP_NE                  TSHMEM_CMP_NE
#define _SHMEM_CMP_GT                  TSHMEM_CMP_GT
#define _SHMEM_CMP_GE                  TSHMEM_CMP_GE
#define _SHMEM_CMP_LT                  TSHMEM_CMP_LT
#define _SHMEM_CMP_LE                  TSHMEM_CMP_LE
#define _SHMEM_MAJOR_VERSION           TSHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION           TSHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN            TSHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING           TSHMEM_VENDOR_STRING

#define start_pes  tutti_openshmem_start_pes
#define _my_pe     tshmem_my_pe
#define _num_pes   tshmem_n_pes
#define shmalloc   tshmem_malloc
#define shfree     tshmem_free
#define shrealloc  tshmem_realloc
#define shmemalign tshmem_align

/* Caches are coherent. */
#define shmem_clear_cache_inv()        ((void)0)
#define shmem_set_cache_inv()          ((void)0)
#define shmem_clear_cache_line_inv(at) ((void)(at))
#define shmem_set_cache_line_inv(at)   ((void)(at))
#define shmem_udcflush()               ((void)0)
#define shmem_udcflush_line(at)        ((void)(at))

#define TSHMEM_OLD static inline __attribute__((unused))

/* ---- atomics and waits ---- */

#define shmem_fetch tshmem_atomic_fetch
#define shmem_set   tshmem_atomic_set
#define shmem_swap  tshmem_atomic_swap
#define shmem_cswap tshmem_atomic_compare_swap
#define shmem_fadd  tshmem_atomic_fetch_add
#define shmem_finc  tshmem_atomic_fetch_inc
#define shmem_add   tshmem_atomic_add
#define shmem_inc   tshmem_atomic_inc

#define TSHMEM_OLD_MOVES(ROW)                                                                                          \
    ROW(int, int) ROW(long, long) ROW(longlong, long long) ROW(float, float) ROW(double, double)
#define TSHMEM_OLD_ADDS(ROW)  ROW(int, int) ROW(long, long) ROW(longlong, long long)
#define TSHMEM_OLD_WAITS(ROW) ROW(short, short) TSHMEM_OLD_ADDS(ROW)

#define TSHMEM_OLD_ROW(name, type)                                                                                     \
    TSHMEM_OLD type shmem_##name##_fetch(const type *source, int pe)                                                   \
    {                                                                                                                  \
        return tshmem_##name##_atomic_fetch(source, pe);                                                               \
    }                                                                                                                  \
    TSHMEM_OLD void shmem_##name##_set(type *dest, type value, int pe)                                                 \
    {                                                                                                                  \
        tshmem_##name##_atomic_set(dest, value, pe);                                                                   \
    }                                                                                                                  \
    TSHMEM_OLD type shmem_##name##_swap(type *dest, type value, int pe)                                                \
    {                                                                                                                  \
        return tshmem_##name##_atomic_swap(dest, value, pe);                                                           \
    }
TSHMEM_OLD_MOVES(TSHMEM_OLD_ROW)
#undef TSHMEM_OLD_ROW

#define TSHMEM_OLD_ROW(name, type)                                                                                     \
    TSHMEM_OLD type shmem_##name##_cswap(type *dest, type expected, type value, int pe)                                \
    {                                                                                                                  \
        return tshmem_##name##_atomic_compare_swap(dest, expected, value, pe);                                         \
    }                                                                                                                  \
    TSHMEM_OLD type shmem_##name##_fadd(type *dest, type value, int pe)                                                \
    {                                                                                                                  \
        return tshmem_##name##_atomic_fetch_add(dest, value, pe);                                                      \
    }                                                                                                                  \
    TSHMEM_OLD type shmem_##name##_finc(type *dest, int pe)                                                            \
    {                                                                                                                  \
        return tshmem_##name##_atomic_fetch_inc(dest, pe);                                                             \
    }                                                                                                                  \
    TSHMEM_OLD void shmem_##name##_add(type *dest, type value, int pe)                                                 \
    {                                                                                                                  \
        tshmem_##name##_atomic_add(dest, value, pe);                                                                   \
    }                                                                                                                  \
    TSHMEM_OLD void shmem_##name##_inc(type *dest, int pe)                                                             \
    {                                                                                                                  \
        tshmem_##name##_atomic_inc(dest, pe);                                                                          \
    }
TSHMEM_OLD_ADDS(TSHMEM_OLD_ROW)
#undef TSHMEM_OLD_ROW

/* Until the word is no longer `value`. */
#define TSHMEM_OLD_ROW(name, type)                                                                                     \
    TSHMEM_OLD void shmem_##name##_wait(type *word, type value)                                                        \
    {                                                                                                                  \
        tshmem_##name##_wait_until(word, TSHMEM_CMP_NE, value);                                                        \
    }
TSHMEM_OLD_WAITS(TSHMEM_OLD_ROW)
#undef TSHMEM_OLD_ROW
TSHMEM_OLD void shmem_wait(long *word, long value)
{
    tshmem_long_wait_until(word, TSHMEM_CMP_NE, value);
}

/* ---- active sets ---- */

struct tshmem_active {
    int start, stride, size, mine; /* mine: number of this PE in the set */
    long *sync;                    /* [0]: at the first PE: how many have come; [1]: go on; [2]: a count for all */
};

TSHMEM_OLD struct tshmem_active tshmem_active_of(int start, int log_stride, int size, long *sync, const char *call)
{
    struct tshmem_active set = {start, 1 << log_stride, size, 0, sync};
    tutti_shmem_as(call); /* until the call ends, in errors of those that it is made of */
    set.mine = (tshmem_my_pe() - start) / set.stride;
    return set;
}

TSHMEM_OLD void tshmem_active_end(const struct tshmem_active *set)
{
    (void)set;
    tutti_shmem_as(NULL);
}
#define TSHMEM_ACTIVE(set)                                                                                             \
    const struct tshmem_active set __attribute__((cleanup(tshmem_active_end))) =                                       \
        tshmem_active_of(start, log_stride, size, sync, __func__)

TSHMEM_OLD int tshmem_active_pe(const struct tshmem_active *set, int number)
{
    return set->start + number * set->stride;
}

/* All members have come, and what they have put is there. */
TSHMEM_OLD void tshmem_active_meet(const struct tshmem_active *set)
{
    tshmem_quiet();
    if (set->mine != 0) {
        tshmem_long_atomic_inc(&set->sync[0], set->start);
        tshmem_long_wait_until(&set->sync[1], TSHMEM_CMP_NE, SHMEM_SYNC_VALUE);
        tshmem_long_atomic_set(&set->sync[1], SHMEM_SYNC_VALUE, tshmem_my_pe());
        tshmem_quiet();
        return;
    }
    tshmem_long_wait_until(&set->sync[0], TSHMEM_CMP_EQ, SHMEM_SYNC_VALUE + set->size - 1);
    tshmem_long_atomic_set(&set->sync[0], SHMEM_SYNC_VALUE, tshmem_my_pe());
    tshmem_quiet();
    for (int i = 1; i < set->size; i++)
        tshmem_long_atomic_set(&set->sync[1], SHMEM_SYNC_VALUE + 1, tshmem_active_pe(set, i));
    tshmem_quiet();
}

TSHMEM_OLD void shmem_barrier(int start, int log_stride, int size, long *sync)
{
    TSHMEM_ACTIVE(set);
    tshmem_active_meet(&set);
}

TSHMEM_OLD void tshmem_active_sync(int start, int log_stride, int size, long *sync)
{
    shmem_barrier(start, log_stride, size, sync);
}

/* shmem_sync(team), or shmem_sync(PE_start, logPE_stride, PE_size, pSync). */
#undef shmem_sync
#define TSHMEM_SYNC_OF(a, b, c, d, call, ...) call
#define shmem_sync(...)                       TSHMEM_SYNC_OF(__VA_ARGS__, tshmem_active_sync, , , tshmem_sync, )(__VA_ARGS__)

TSHMEM_OLD void tshmem_active_broadcast(void *dest, const void *source, size_t bytes, int root,
                                        const struct tshmem_active *set)
{
    tshmem_active_meet(set);
    if (set->mine != root)
        tshmem_getmem(dest, source, bytes, tshmem_active_pe(set, root));
    tshmem_active_meet(set);
}

TSHMEM_OLD void tshmem_active_fcollect(void *dest, const void *source, size_t bytes, const struct tshmem_active *set)
{
    tshmem_active_meet(set);
    for (int i = 0; i < set->size; i++)
        tshmem_getmem((char *)dest + (size_t)i * bytes, source, bytes, tshmem_active_pe(set, i));
    tshmem_active_meet(set);
}

TSHMEM_OLD void tshmem_active_collect(void *dest, const void *source, size_t bytes, const struct tshmem_active *set)
{
    char *to = (char *)dest;
    tshmem_long_atomic_set(&set->sync[2], (long)bytes, tshmem_my_pe());
    tshmem_active_meet(set);
    for (int i = 0; i < set->size; i++) {
        const int pe = tshmem_active_pe(set, i);
        const size_t its = (size_t)tshmem_long_atomic_fetch(&set->sync[2], pe);
        tshmem_getmem(to, source, its, pe);
        to += its;
    }
    tshmem_active_meet(set);
    tshmem_long_atomic_set(&set->sync[2], SHMEM_SYNC_VALUE, tshmem_my_pe());
    tshmem_quiet();
}

/* n blocks of one element of `bytes` bytes to each member, strides in elements. */
TSHMEM_OLD void tshmem_active_alltoalls(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n,
                                        size_t bytes, const struct tshmem_active *set)
{
    const size_t from = (size_t)set->mine * n * (size_t)sst * bytes;
    tshmem_active_meet(set);
    for (int i = 0; i < set->size; i++)
        tutti_shmem_get_blocks((char *)dest + (size_t)i * n * (size_t)dst * bytes, (const char *)source + from, dst,
                               sst, 1, n, bytes, tshmem_active_pe(set, i));
    tshmem_active_meet(set);
}

#define TSHMEM_OLD_SIZE(bits)                                                                                          \
    TSHMEM_OLD void shmem_broadcast##bits(void *dest, const void *source, size_t n, int root, int start,               \
                                          int log_stride, int size, long *sync)                                        \
    {                                                                                                                  \
        TSHMEM_ACTIVE(set);                                                                                            \
        tshmem_active_broadcast(dest, source, n *((bits) / 8), root, &set);                                            \
    }                                                                                                                  \
    TSHMEM_OLD void shmem_collect##bits(void *dest, const void *source, size_t n, int start, int log_stride, int size, \
                                        long *sync)                                                                    \
    {                                                                                                                  \
        TSHMEM_ACTIVE(set);                                                                                            \
        tshmem_active_collect(dest, source, n *((bits) / 8), &set);                                                    \
    }                                                                                                                  \
    TSHMEM_OLD void shmem_fcollect##bits(void *dest, const void *source, size_t n, int start, int log_stride,          \
                                         int size, long *sync)                                                         \
    {                                                                                                                  \
        TSHMEM_ACTIVE(set);                                                                                            \
        tshmem_active_fcollect(dest, source, n *((bits) / 8), &set);                                                   \
    }                                                                                                                  \
    TSHMEM_OLD void shmem_alltoall##bits(void *dest, const void *source, size_t n, int start, int log_stride,          \
                                         int size, long *sync)                                                         \
    {                                                                                                                  \
        TSHMEM_ACTIVE(set);                                                                                            \
        tshmem_active_alltoalls(dest, source, 1, 1, n, (bits) / 8, &set);                                              \
    }                                                                                                                  \
    TSHMEM_OLD void shmem_alltoalls##bits(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n,      \
                                          int start, int log_stride, int size, long *sync)                             \
    {                                                                                                                  \
        TSHMEM_ACTIVE(set);                                                                                            \
        tshmem_active_alltoalls(dest, source, dst, sst, n, (bits) / 8, &set);                                          \
    }
TSHMEM_OLD_SIZE(32)
TSHMEM_OLD_SIZE(64)
#undef TSHMEM_OLD_SIZE

/* Reductions: results are made aside, since dest may be source, and stored when nobody reads sources any more. Members
 * are combined in order, so that all get the same bits. */
#define TSHMEM_OLD_REDUCE(name, type, op, combined)                                                                    \
    TSHMEM_OLD void shmem_##name##_##op##_to_all(type *dest, const type *source, int n, int start, int log_stride,     \
                                                 int size, type *work, long *sync)                                     \
    {                                                                                                                  \
        enum { PIECE = 256 };                                                                                          \
        TSHMEM_ACTIVE(set);                                                                                            \
        const size_t all = n > 0 ? (size_t)n : 0;                                                                      \
        type *result = (type *)malloc((all + 1) * sizeof(type)), theirs[PIECE];                                        \
        (void)work;                                                                                                    \
        if (!result)                                                                                                   \
            tshmem_global_exit(1); /* the others would wait */                                                         \
        tshmem_active_meet(&set);                                                                                      \
        tshmem_getmem(result, source, all * sizeof(type), tshmem_active_pe(&set, 0));                                  \
        for (int i = 1; i < set.size; i++) {                                                                           \
            for (size_t from = 0; from < all; from += PIECE) {                                                         \
                const size_t piece = all - from < (size_t)PIECE ? all - from : (size_t)PIECE;                          \
                tshmem_getmem(theirs, source + from, piece * sizeof(type), tshmem_active_pe(&set, i));                 \
                for (size_t k = 0; k < piece; k++) {                                                                   \
                    const type a = result[from + k], b = theirs[k];                                                    \
                    result[from + k] = (type)(combined);                                                               \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        tshmem_active_meet(&set);                                                                                      \
        tshmem_putmem(dest, result, all * sizeof(type), tshmem_my_pe());                                               \
        free(result);                                                                                                  \
    }
#define TSHMEM_OLD_WHOLE(ROW) ROW(short, short) ROW(int, int) ROW(long, long) ROW(longlong, long long)
#define TSHMEM_OLD_ORDER(ROW) TSHMEM_OLD_WHOLE(ROW) ROW(float, float) ROW(double, double) ROW(longdouble, long double)
#if defined(__CUDACC__)
#define TSHMEM_OLD_ARITH TSHMEM_OLD_ORDER
#else
#define TSHMEM_OLD_ARITH(ROW) TSHMEM_OLD_ORDER(ROW) ROW(complexf, float _Complex) ROW(complexd, double _Complex)
#endif
#define TSHMEM_OLD_ROW(name, type)                                                                                     \
    TSHMEM_OLD_REDUCE(name, type, and, a &b)                                                                           \
    TSHMEM_OLD_REDUCE(name, type, or, a | b)                                                                           \
    TSHMEM_OLD_REDUCE(name, type, xor, a ^ b)
TSHMEM_OLD_WHOLE(TSHMEM_OLD_ROW)
#undef TSHMEM_OLD_ROW
#define TSHMEM_OLD_ROW(name, type)                                                                                     \
    TSHMEM_OLD_REDUCE(name, type, max, a > b ? a : b)                                                                  \
    TSHMEM_OLD_REDUCE(name, type, min, a < b ? a : b)
TSHMEM_OLD_ORDER(TSHMEM_OLD_ROW)
#undef TSHMEM_OLD_ROW
#define TSHMEM_OLD_ROW(name, type)                                                                                     \
    TSHMEM_OLD_REDUCE(name, type, sum, a + b)                                                                          \
    TSHMEM_OLD_REDUCE(name, type, prod, a *b)
TSHMEM_OLD_ARITH(TSHMEM_OLD_ROW)
#undef TSHMEM_OLD_ROW

#undef TSHMEM_ACTIVE
#undef TSHMEM_OLD_REDUCE
#undef TSHMEM_OLD_WHOLE
#undef TSHMEM_OLD_ORDER
#undef TSHMEM_OLD_ARITH
#undef TSHMEM_OLD_MOVES
#undef TSHMEM_OLD_ADDS
#undef TSHMEM_OLD_WAITS
#undef TSHMEM_OLD

#endif
