/* Put, get, atomics, signals and order: what the arguments mean; the kind of the heaps does it. */
#include "shmem/far.h"
#include "shmem/space.h"

void tutti_shmem_put(void *dest, const void *source, size_t bytes, int pe, int later, const char *call)
{
    void *to = bytes ? tutti_shmem_at(dest, bytes, pe, call) : NULL;
    if (to)
        tutti_shmem.kind_of[pe]->copy(to, source, bytes, later);
}

void tutti_shmem_get(void *dest, const void *source, size_t bytes, int pe, int later, const char *call)
{
    const void *from = bytes ? tutti_shmem_from(source, bytes, pe, call) : NULL;
    if (from)
        tutti_shmem.kind_of[pe]->copy(dest, from, bytes, later);
}

void tshmem_putmem(void *dest, const void *source, size_t bytes, int pe)
{
    tutti_shmem_put(dest, source, bytes, pe, 0, "tshmem_put");
}

void tshmem_getmem(void *dest, const void *source, size_t bytes, int pe)
{
    tutti_shmem_get(dest, source, bytes, pe, 0, "tshmem_get");
}

void tshmem_putmem_nbi(void *dest, const void *source, size_t bytes, int pe)
{
    tutti_shmem_put(dest, source, bytes, pe, 1, "tshmem_put_nbi");
}

void tshmem_getmem_nbi(void *dest, const void *source, size_t bytes, int pe)
{
    tutti_shmem_get(dest, source, bytes, pe, 1, "tshmem_get_nbi");
}

void tutti_shmem_p(void *dest, const void *value, size_t bytes, int pe)
{
    void *to = tutti_shmem_at(dest, bytes, pe, "tshmem_p");
    if (to)
        tutti_shmem.kind_of[pe]->element(to, value, bytes);
}

void tutti_shmem_g(void *value, const void *source, size_t bytes, int pe)
{
    const void *from = tutti_shmem_from(source, bytes, pe, "tshmem_g");
    tutti_shmem_far_serve();
    if (from)
        tutti_shmem.kind_of[pe]->element(value, from, bytes);
}

/* Bytes that n blocks reach over on the heap's side; 0 where that is more than any heap, or not forwards. */
static size_t reach(ptrdiff_t stride, size_t block, size_t n, size_t bytes)
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
    if (n == 0 || block == 0)
        return;
    const char *const call = block > 1 ? "tshmem_ibput" : "tshmem_iput";
    const size_t all = reach(dst, block, n, bytes);
    if (all == 0) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "a stride of %td elements: it begins with 1", dst);
        return;
    }
    void *to = tutti_shmem_at(dest, all, pe, call);
    if (to)
        tutti_shmem.kind_of[pe]->blocks(to, source, dst, sst, block, n, bytes);
}

void tutti_shmem_get_blocks(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                            size_t bytes, int pe)
{
    if (n == 0 || block == 0)
        return;
    const char *const call = block > 1 ? "tshmem_ibget" : "tshmem_iget";
    const size_t all = reach(sst, block, n, bytes);
    if (all == 0) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "a stride of %td elements: it begins with 1", sst);
        return;
    }
    const void *from = tutti_shmem_from(source, all, pe, call);
    if (from)
        tutti_shmem.kind_of[pe]->blocks(dest, from, dst, sst, block, n, bytes);
}

/* ---- signals ---- */

uint64_t *tutti_shmem_signal_at(uint64_t *signal, int operation, int pe, const char *call)
{
    if (operation != TSHMEM_SIGNAL_SET && operation != TSHMEM_SIGNAL_ADD) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "%d is no operation on signals: TSHMEM_SIGNAL_SET or _ADD",
                         operation);
        return NULL;
    }
    if ((uintptr_t)signal % sizeof *signal != 0) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "the signal at %p is not aligned to 8 bytes", (void *)signal);
        return NULL;
    }
    return tutti_shmem_at(signal, sizeof *signal, pe, call);
}

void tutti_shmem_put_signal(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value,
                            int operation, int pe, int later, const char *call)
{
    uint64_t *at = tutti_shmem_signal_at(signal, operation, pe, call);
    void *to = at && bytes ? tutti_shmem_at(dest, bytes, pe, call) : NULL;
    if (at && (to || bytes == 0))
        tutti_shmem.kind_of[pe]->put_signal(to, source, bytes, at, value, operation, later);
}

void tshmem_putmem_signal(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value, int operation,
                          int pe)
{
    tutti_shmem_put_signal(dest, source, bytes, signal, value, operation, pe, 0, "tshmem_put_signal");
}

void tshmem_putmem_signal_nbi(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value,
                              int operation, int pe)
{
    tutti_shmem_put_signal(dest, source, bytes, signal, value, operation, pe, 1, "tshmem_put_signal_nbi");
}

void tshmem_signal_set(uint64_t *signal, uint64_t value, int pe)
{
    uint64_t *at = tutti_shmem_signal_at(signal, TSHMEM_SIGNAL_SET, pe, "tshmem_signal_set");
    if (at)
        tutti_shmem.kind_of[pe]->put_signal(NULL, NULL, 0, at, value, TSHMEM_SIGNAL_SET, 0);
}

void tshmem_signal_add(uint64_t *signal, uint64_t value, int pe)
{
    uint64_t *at = tutti_shmem_signal_at(signal, TSHMEM_SIGNAL_ADD, pe, "tshmem_signal_add");
    if (at)
        tutti_shmem.kind_of[pe]->put_signal(NULL, NULL, 0, at, value, TSHMEM_SIGNAL_ADD, 0);
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

uint64_t tutti_shmem_amo(int operation, void *dest, size_t bytes, uint64_t value, uint64_t compare, int pe)
{
    const char *const call = atomic_name(operation);
    if ((uintptr_t)dest % bytes != 0) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "%p is not aligned to %zu bytes", dest, bytes);
        return 0;
    }
    void *at = tutti_shmem_find(dest, bytes, pe, call, operation == TSHMEM_AMO_FETCH);
    tutti_shmem_far_serve();
    return at ? tutti_shmem.kind_of[pe]->amo(operation, at, bytes, value, compare) : 0;
}

/* ---- order: what was stored before is seen by everybody before what is stored later ---- */

void tutti_shmem_complete(int context, int (*far)(int pe), int pe)
{
    if (tutti_shmem.state.pes == 0)
        return;
    tutti_shmem.kind->quiet(context);
    tutti_shmem_proxy_quiet();
    if (tutti_shmem.wire)
        far(pe);
}

void tshmem_fence(void)
{
    tutti_shmem_complete(0, tutti_shmem_far_fence, -1);
}

void tshmem_quiet(void)
{
    tutti_shmem_complete(0, tutti_shmem_far_quiet, -1);
}

void tshmem_pe_quiet(int pe)
{
    if (tutti_shmem.state.pes > 0 && !tshmem_pe_accessible(pe))
        tutti_shmem_refuse(NULL, 0, pe, "tshmem_pe_quiet");
    else
        tutti_shmem_complete(0, tutti_shmem_far_quiet, pe);
}
