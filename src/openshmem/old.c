/* OpenSHMEM's names that tutti/shmem.h has not: the beginning and the end of a program, and what OpenSHMEM 1.5
 * deprecates. */
#include <stdlib.h>

#include "openshmem/names.h"

/* ---- beginning and end ---- */

void pshmem_init(void)
{
    tutti_shmem_openshmem();
    tutti_shmem_init_or_end();
}

int pshmem_init_thread(int requested, int *provided)
{
    tutti_shmem_openshmem();
    return tshmem_init_thread(requested, provided);
}

void pstart_pes(int npes)
{
    (void)npes; /* the launcher's */
    tutti_shmem_openshmem();
    tutti_shmem_start_pes();
}

void pshmem_finalize(void)
{
    tshmem_finalize();
}

void pshmem_global_exit(int status)
{
    tshmem_global_exit(status);
}
void shmem_global_exit(int status) TUTTI_WEAK_ALIAS("pshmem_global_exit");

void pshmem_pcontrol(int level, ...)
{
    tshmem_pcontrol(level);
}
void shmem_pcontrol(int level, ...) TUTTI_WEAK_ALIAS("pshmem_pcontrol");

/* ---- other names of the same calls ---- */

int p_my_pe(void)
{
    return tshmem_my_pe();
}

int p_num_pes(void)
{
    return tshmem_n_pes();
}

void *pshmalloc(size_t bytes)
{
    return tshmem_malloc(bytes);
}

void pshfree(void *address)
{
    tshmem_free(address);
}

void *pshrealloc(void *address, size_t bytes)
{
    return tshmem_realloc(address, bytes);
}

void *pshmemalign(size_t alignment, size_t bytes)
{
    return tshmem_align(alignment, bytes);
}

void pshmem_pe_quiet(const int *pes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tshmem_pe_quiet(pes[i]);
}

/* A context is completed as a whole. */
void pshmem_ctx_pe_quiet(tshmem_ctx_t ctx, const int *pes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (tutti_shmem_ctx_pe(ctx, pes[i]) == TSHMEM_NO_PE)
            return;
    }
    if (n > 0)
        tshmem_ctx_quiet(ctx);
}

/* ---- caches, which are coherent ---- */

void pshmem_clear_cache_inv(void)
{
}

void pshmem_set_cache_inv(void)
{
}

void pshmem_clear_cache_line_inv(void *line)
{
    (void)line;
}

void pshmem_set_cache_line_inv(void *line)
{
    (void)line;
}

void pshmem_udcflush(void)
{
}

void pshmem_udcflush_line(void *line)
{
    (void)line;
}

/* ---- atomics and waits ---- */

#define ROW(name, type)                                                                                                \
    type pshmem_##name##_fetch(const type *source, int pe)                                                             \
    {                                                                                                                  \
        return tshmem_##name##_atomic_fetch(source, pe);                                                               \
    }                                                                                                                  \
    void pshmem_##name##_set(type *dest, type value, int pe)                                                           \
    {                                                                                                                  \
        tshmem_##name##_atomic_set(dest, value, pe);                                                                   \
    }                                                                                                                  \
    type pshmem_##name##_swap(type *dest, type value, int pe)                                                          \
    {                                                                                                                  \
        return tshmem_##name##_atomic_swap(dest, value, pe);                                                           \
    }
TSHMEM_OLD_MOVES(ROW)
#undef ROW

#define ROW(name, type)                                                                                                \
    type pshmem_##name##_cswap(type *dest, type expected, type value, int pe)                                          \
    {                                                                                                                  \
        return tshmem_##name##_atomic_compare_swap(dest, expected, value, pe);                                         \
    }                                                                                                                  \
    type pshmem_##name##_fadd(type *dest, type value, int pe)                                                          \
    {                                                                                                                  \
        return tshmem_##name##_atomic_fetch_add(dest, value, pe);                                                      \
    }                                                                                                                  \
    type pshmem_##name##_finc(type *dest, int pe)                                                                      \
    {                                                                                                                  \
        return tshmem_##name##_atomic_fetch_inc(dest, pe);                                                             \
    }                                                                                                                  \
    void pshmem_##name##_add(type *dest, type value, int pe)                                                           \
    {                                                                                                                  \
        tshmem_##name##_atomic_add(dest, value, pe);                                                                   \
    }                                                                                                                  \
    void pshmem_##name##_inc(type *dest, int pe)                                                                       \
    {                                                                                                                  \
        tshmem_##name##_atomic_inc(dest, pe);                                                                          \
    }
TSHMEM_OLD_ADDS(ROW)
#undef ROW

/* Until the word is no longer `value`. */
#define ROW(name, type)                                                                                                \
    void pshmem_##name##_wait(type *word, type value)                                                                  \
    {                                                                                                                  \
        tshmem_##name##_wait_until(word, TSHMEM_CMP_NE, value);                                                        \
    }
TSHMEM_OLD_WAITS(ROW)
#undef ROW
void pshmem_wait(long *word, long value)
{
    tshmem_long_wait_until(word, TSHMEM_CMP_NE, value);
}

void pshmem_wait_until(long *word, int comparison, long value)
{
    tshmem_long_wait_until(word, comparison, value);
}

/* ---- active sets ----
 * Each PE gets what it needs from the others, between two meetings at the first PE of the set: they are for programs
 * that have them, not for speed. */

struct active {
    int start, stride, size, mine; /* mine: number of this PE in the set */
    long *sync; /* [0]: at the first PE: the number of PEs that have arrived; [1]: continue; [2]: a count for all */
    long rest;  /* what sync holds between calls: of the <shmem.h> that the program was compiled with */
};

static struct active active_of(int start, int log_stride, int size, long *sync, const char *call)
{
    const int me = tshmem_my_pe();
    tutti_shmem_as(call); /* until the call ends, in errors of those that it is made of */
    struct active set = {start, 1 << log_stride, size, 0, sync, tshmem_long_atomic_fetch(&sync[1], me)};
    set.mine = (me - start) / set.stride;
    return set;
}

static void active_end(const struct active *set)
{
    (void)set;
    tutti_shmem_as(NULL);
}
/* The set that the parameters name, until the end of the function. call: the program's, without the p of pshmem_. */
#define ACTIVE(set, call)                                                                                              \
    const struct active set __attribute__((cleanup(active_end))) = active_of(start, log_stride, size, sync, call)

static int active_pe(const struct active *set, int number)
{
    return set->start + number * set->stride;
}

/* All members have arrived, and their puts are complete. */
static void active_meet(const struct active *set)
{
    tshmem_quiet();
    if (set->mine != 0) {
        tshmem_long_atomic_inc(&set->sync[0], set->start);
        tshmem_long_wait_until(&set->sync[1], TSHMEM_CMP_NE, set->rest);
        tshmem_long_atomic_set(&set->sync[1], set->rest, tshmem_my_pe());
        tshmem_quiet();
        return;
    }
    tshmem_long_wait_until(&set->sync[0], TSHMEM_CMP_EQ, set->rest + set->size - 1);
    tshmem_long_atomic_set(&set->sync[0], set->rest, tshmem_my_pe());
    tshmem_quiet();
    for (int i = 1; i < set->size; i++)
        tshmem_long_atomic_set(&set->sync[1], set->rest + 1, active_pe(set, i));
    tshmem_quiet();
}

void pshmem_barrier(int start, int log_stride, int size, long *sync)
{
    ACTIVE(set, __func__ + 1);
    active_meet(&set);
}

void tutti_openshmem_sync(int start, int log_stride, int size, long *sync)
{
    ACTIVE(set, "shmem_sync");
    active_meet(&set);
}

static void active_broadcast(void *dest, const void *source, size_t bytes, int root, const struct active *set)
{
    active_meet(set);
    if (set->mine != root)
        tshmem_getmem(dest, source, bytes, active_pe(set, root));
    active_meet(set);
}

static void active_fcollect(void *dest, const void *source, size_t bytes, const struct active *set)
{
    active_meet(set);
    for (int i = 0; i < set->size; i++)
        tshmem_getmem((char *)dest + (size_t)i * bytes, source, bytes, active_pe(set, i));
    active_meet(set);
}

static void active_collect(void *dest, const void *source, size_t bytes, const struct active *set)
{
    char *to = (char *)dest;
    tshmem_long_atomic_set(&set->sync[2], (long)bytes, tshmem_my_pe());
    active_meet(set);
    for (int i = 0; i < set->size; i++) {
        const int pe = active_pe(set, i);
        const size_t its = (size_t)tshmem_long_atomic_fetch(&set->sync[2], pe);
        tshmem_getmem(to, source, its, pe);
        to += its;
    }
    active_meet(set);
    tshmem_long_atomic_set(&set->sync[2], set->rest, tshmem_my_pe());
    tshmem_quiet();
}

/* n blocks of one element of `bytes` bytes to each member, strides in elements. */
static void active_alltoalls(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, size_t bytes,
                             const struct active *set)
{
    const size_t from = (size_t)set->mine * n * (size_t)sst * bytes;
    active_meet(set);
    for (int i = 0; i < set->size; i++)
        tutti_shmem_get_blocks((char *)dest + (size_t)i * n * (size_t)dst * bytes, (const char *)source + from, dst,
                               sst, 1, n, bytes, active_pe(set, i));
    active_meet(set);
}

#define SIZE(bits)                                                                                                     \
    void pshmem_broadcast##bits(void *dest, const void *source, size_t n, int root, int start, int log_stride,         \
                                int size, long *sync)                                                                  \
    {                                                                                                                  \
        ACTIVE(set, __func__ + 1);                                                                                     \
        active_broadcast(dest, source, n *((bits) / 8), root, &set);                                                   \
    }                                                                                                                  \
    void pshmem_collect##bits(void *dest, const void *source, size_t n, int start, int log_stride, int size,           \
                              long *sync)                                                                              \
    {                                                                                                                  \
        ACTIVE(set, __func__ + 1);                                                                                     \
        active_collect(dest, source, n *((bits) / 8), &set);                                                           \
    }                                                                                                                  \
    void pshmem_fcollect##bits(void *dest, const void *source, size_t n, int start, int log_stride, int size,          \
                               long *sync)                                                                             \
    {                                                                                                                  \
        ACTIVE(set, __func__ + 1);                                                                                     \
        active_fcollect(dest, source, n *((bits) / 8), &set);                                                          \
    }                                                                                                                  \
    void pshmem_alltoall##bits(void *dest, const void *source, size_t n, int start, int log_stride, int size,          \
                               long *sync)                                                                             \
    {                                                                                                                  \
        ACTIVE(set, __func__ + 1);                                                                                     \
        active_alltoalls(dest, source, 1, 1, n, (bits) / 8, &set);                                                     \
    }                                                                                                                  \
    void pshmem_alltoalls##bits(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int start,     \
                                int log_stride, int size, long *sync)                                                  \
    {                                                                                                                  \
        ACTIVE(set, __func__ + 1);                                                                                     \
        active_alltoalls(dest, source, dst, sst, n, (bits) / 8, &set);                                                 \
    }
SIZE(32)
SIZE(64)
#undef SIZE

/* Reductions: results are made aside, since dest may be source, and stored after all members have read the sources.
 * Members are combined in order, so that all get the same bits. */
#define REDUCE(name, type, op, combined)                                                                               \
    void pshmem_##name##_##op##_to_all(type *dest, const type *source, int n, int start, int log_stride, int size,     \
                                       type *work, long *sync)                                                         \
    {                                                                                                                  \
        enum { PIECE = 256 };                                                                                          \
        ACTIVE(set, __func__ + 1);                                                                                     \
        const size_t all = n > 0 ? (size_t)n : 0;                                                                      \
        type *result = (type *)malloc((all + 1) * sizeof(type)), theirs[PIECE];                                        \
        (void)work;                                                                                                    \
        if (!result)                                                                                                   \
            tshmem_global_exit(1); /* the others would wait */                                                         \
        active_meet(&set);                                                                                             \
        tshmem_getmem(result, source, all * sizeof(type), active_pe(&set, 0));                                         \
        for (int i = 1; i < set.size; i++) {                                                                           \
            for (size_t from = 0; from < all; from += PIECE) {                                                         \
                const size_t piece = all - from < (size_t)PIECE ? all - from : (size_t)PIECE;                          \
                tshmem_getmem(theirs, source + from, piece * sizeof(type), active_pe(&set, i));                        \
                for (size_t k = 0; k < piece; k++) {                                                                   \
                    const type a = result[from + k], b = theirs[k];                                                    \
                    result[from + k] = (type)(combined);                                                               \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        active_meet(&set);                                                                                             \
        tshmem_putmem(dest, result, all * sizeof(type), tshmem_my_pe());                                               \
        free(result);                                                                                                  \
    }
#define ROW(name, type)                                                                                                \
    REDUCE(name, type, and, a &b)                                                                                      \
    REDUCE(name, type, or, a | b)                                                                                      \
    REDUCE(name, type, xor, a ^ b)
TSHMEM_OLD_WHOLE(ROW)
#undef ROW
#define ROW(name, type)                                                                                                \
    REDUCE(name, type, max, a > b ? a : b)                                                                             \
    REDUCE(name, type, min, a < b ? a : b)
TSHMEM_OLD_ORDER(ROW)
#undef ROW
#define ROW(name, type)                                                                                                \
    REDUCE(name, type, sum, a + b)                                                                                     \
    REDUCE(name, type, prod, a *b)
TSHMEM_OLD_ARITH(ROW)
#undef ROW

/* ---- the same by the names of programs ---- */

#define TSHMEM_ROW(result, name, ...)       result shmem##name(__VA_ARGS__) TUTTI_WEAK_ALIAS("pshmem" #name);
#define TSHMEM_ROW_NONE(result, name)       result shmem##name(void) TUTTI_WEAK_ALIAS("pshmem" #name);
#define TSHMEM_ROW_WHOLE(result, name, ...) result name(__VA_ARGS__) TUTTI_WEAK_ALIAS("p" #name);
#define TSHMEM_ROW_WHOLE_NONE(result, name) result name(void) TUTTI_WEAK_ALIAS("p" #name);
#include "tutti/shmem_old.def"
