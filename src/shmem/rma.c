/* Put, get, atomics, signals and order: checks the arguments and calls the kind of the heap. */
#include "shmem/far.h"
#include "shmem/here.h"

/* Inlined: the functions of the C API are short. */
static inline void rma_put(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, int pe, int later,
                           const char *call)
{
    void *to = bytes ? tutti_shmem_at(space, dest, bytes, pe, call) : NULL;
    if (to)
        space->kind_of[pe]->copy(space, to, source, bytes, later);
}

static inline void rma_get(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, int pe, int later,
                           const char *call)
{
    const void *from = bytes ? tutti_shmem_from(space, source, bytes, pe, call) : NULL;
    if (from)
        space->kind_of[pe]->copy(space, dest, from, bytes, later);
}

void tutti_shmem_put(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, int pe, int later,
                     const char *call)
{
    rma_put(space, dest, source, bytes, pe, later, call);
}

void tutti_shmem_get(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, int pe, int later,
                     const char *call)
{
    rma_get(space, dest, source, bytes, pe, later, call);
}

void tshmem_putmem(void *dest, const void *source, size_t bytes, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    rma_put(space, dest, source, bytes, pe, 0, "tshmem_put");
}

void tshmem_getmem(void *dest, const void *source, size_t bytes, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    rma_get(space, dest, source, bytes, pe, 0, "tshmem_get");
}

void tshmem_putmem_nbi(void *dest, const void *source, size_t bytes, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    rma_put(space, dest, source, bytes, pe, 1, "tshmem_put_nbi");
}

void tshmem_getmem_nbi(void *dest, const void *source, size_t bytes, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    rma_get(space, dest, source, bytes, pe, 1, "tshmem_get_nbi");
}

void tutti_shmem_p(void *dest, const void *value, size_t bytes, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    void *to = tutti_shmem_at(space, dest, bytes, pe, "tshmem_p");
    if (to)
        space->kind_of[pe]->element(space, to, value, bytes);
}

void tutti_shmem_g(void *value, const void *source, size_t bytes, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const void *from = tutti_shmem_from(space, source, bytes, pe, "tshmem_g");
    tutti_shmem_far_serve(space);
    if (from)
        space->kind_of[pe]->element(space, value, from, bytes);
}

/* Bytes from the first to the last of n blocks in the heap; 0 if that is more than any heap has, or the stride is
 * not positive. */
static size_t rma_strided_reach(ptrdiff_t stride, size_t block, size_t n, size_t bytes)
{
    size_t last, elements, all;
    if (stride < 1 || __builtin_mul_overflow(n - 1, (size_t)stride, &last) ||
        __builtin_add_overflow(last, block, &elements) || __builtin_mul_overflow(elements, bytes, &all))
        return 0;
    return all;
}

void tutti_shmem_put_blocks(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                            size_t bytes, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    if (n == 0 || block == 0)
        return;
    const char *const call = block > 1 ? "tshmem_ibput" : "tshmem_iput";
    const size_t all = rma_strided_reach(dst, block, n, bytes);
    if (all == 0) {
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "a stride of %td elements: it begins with 1", dst);
        return;
    }
    void *to = tutti_shmem_at(space, dest, all, pe, call);
    if (to)
        space->kind_of[pe]->blocks(space, to, source, dst, sst, block, n, bytes);
}

void tutti_shmem_get_blocks(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                            size_t bytes, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    if (n == 0 || block == 0)
        return;
    const char *const call = block > 1 ? "tshmem_ibget" : "tshmem_iget";
    const size_t all = rma_strided_reach(sst, block, n, bytes);
    if (all == 0) {
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "a stride of %td elements: it begins with 1", sst);
        return;
    }
    const void *from = tutti_shmem_from(space, source, all, pe, call);
    if (from)
        space->kind_of[pe]->blocks(space, dest, from, dst, sst, block, n, bytes);
}

/* ---- signals ---- */

uint64_t *tutti_shmem_signal_at(struct tutti_shmem *space, uint64_t *signal, int operation, int pe, const char *call)
{
    if (operation != TSHMEM_SIGNAL_SET && operation != TSHMEM_SIGNAL_ADD) {
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "%d is no operation on signals: TSHMEM_SIGNAL_SET or _ADD",
                         operation);
        return NULL;
    }
    if ((uintptr_t)signal % sizeof *signal != 0) {
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "the signal at %p is not aligned to 8 bytes", (void *)signal);
        return NULL;
    }
    return tutti_shmem_at(space, signal, sizeof *signal, pe, call);
}

void tutti_shmem_put_signal(struct tutti_shmem *space, void *dest, const void *source, size_t bytes, uint64_t *signal,
                            uint64_t value, int operation, int pe, int later, const char *call)
{
    uint64_t *at = tutti_shmem_signal_at(space, signal, operation, pe, call);
    void *to = at && bytes ? tutti_shmem_at(space, dest, bytes, pe, call) : NULL;
    if (at && (to || bytes == 0))
        space->kind_of[pe]->put_signal(space, to, source, bytes, at, value, operation, later);
}

void tshmem_putmem_signal(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value, int operation,
                          int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    tutti_shmem_put_signal(space, dest, source, bytes, signal, value, operation, pe, 0, "tshmem_put_signal");
}

void tshmem_putmem_signal_nbi(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value,
                              int operation, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    tutti_shmem_put_signal(space, dest, source, bytes, signal, value, operation, pe, 1, "tshmem_put_signal_nbi");
}

void tshmem_signal_set(uint64_t *signal, uint64_t value, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    uint64_t *at = tutti_shmem_signal_at(space, signal, TSHMEM_SIGNAL_SET, pe, "tshmem_signal_set");
    if (at)
        space->kind_of[pe]->put_signal(space, NULL, NULL, 0, at, value, TSHMEM_SIGNAL_SET, 0);
}

void tshmem_signal_add(uint64_t *signal, uint64_t value, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    uint64_t *at = tutti_shmem_signal_at(space, signal, TSHMEM_SIGNAL_ADD, pe, "tshmem_signal_add");
    if (at)
        space->kind_of[pe]->put_signal(space, NULL, NULL, 0, at, value, TSHMEM_SIGNAL_ADD, 0);
}

/* ---- atomics on words of 4 and 8 bytes of any PE's heap ---- */

static const char *atomic_name(int operation)
{
    static const char *const names[][2] = {
        [TSHMEM_AMO_FETCH] = {"tshmem_atomic_fetch", "tshmem_atomic_fetch"},
        [TSHMEM_AMO_SET] = {"tshmem_atomic_set", "tshmem_atomic_set"},
        [TSHMEM_AMO_SWAP] = {"tshmem_atomic_swap", "tshmem_atomic_swap"},
        [TSHMEM_AMO_COMPARE_SWAP] = {"tshmem_atomic_compare_swap", "tshmem_atomic_compare_swap"},
        [TSHMEM_AMO_ADD] = {"tshmem_atomic_fetch_add or _inc", "tshmem_atomic_add or _inc"},
        [TSHMEM_AMO_AND] = {"tshmem_atomic_fetch_and", "tshmem_atomic_and"},
        [TSHMEM_AMO_OR] = {"tshmem_atomic_fetch_or", "tshmem_atomic_or"},
        [TSHMEM_AMO_XOR] = {"tshmem_atomic_fetch_xor", "tshmem_atomic_xor"},
        [TSHMEM_AMO_ADD_FLOAT] = {"tshmem_atomic_fetch_add", "tshmem_atomic_add"},
    };
    const unsigned what = (unsigned)operation & ~(unsigned)TSHMEM_AMO_NO_FETCH;
    return what < sizeof names / sizeof *names ? names[what][operation & TSHMEM_AMO_NO_FETCH ? 1 : 0] : "an atomic";
}

static inline uint64_t rma_amo(struct tutti_shmem *space, int operation, void *dest, size_t bytes, uint64_t value,
                               uint64_t compare, int pe)
{
    const char *const call = atomic_name(operation);
    if ((uintptr_t)dest % bytes != 0) {
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "%p is not aligned to %zu bytes", dest, bytes);
        return 0;
    }
    void *at = tutti_shmem_find(space, dest, bytes, pe, call, operation == TSHMEM_AMO_FETCH);
    tutti_shmem_far_serve(space);
    return at ? space->kind_of[pe]->amo(space, operation, at, bytes, value, compare) : 0;
}

uint64_t tutti_shmem_change(struct tutti_shmem *space, int operation, void *dest, size_t bytes, uint64_t value,
                            uint64_t compare, int pe)
{
    return rma_amo(space, operation, dest, bytes, value, compare, pe);
}

uint64_t tutti_shmem_amo(int operation, void *dest, size_t bytes, uint64_t value, uint64_t compare, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return rma_amo(space, operation, dest, bytes, value, compare, pe);
}

/* ---- order: earlier stores become visible to all PEs before later ones ---- */

void tutti_shmem_complete(struct tutti_shmem *space, int context, int (*far)(struct tutti_shmem *space, int pe), int pe)
{
    if (space->state.pes == 0)
        return;
    space->kind->quiet(space, context);
    tutti_shmem_proxy_quiet(space);
    if (space->wire)
        far(space, pe);
}

void tshmem_fence(void)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    tutti_shmem_complete(space, 0, tutti_shmem_far_fence, -1);
}

void tshmem_quiet(void)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    tutti_shmem_complete(space, 0, tutti_shmem_far_quiet, -1);
}

void tshmem_pe_quiet(int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    if (space->state.pes > 0 && !tshmem_pe_accessible(pe))
        tutti_shmem_refuse(space, NULL, 0, pe, "tshmem_pe_quiet");
    else
        tutti_shmem_complete(space, 0, tutti_shmem_far_quiet, pe);
}
