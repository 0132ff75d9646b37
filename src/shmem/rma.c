/* Put, get, signals and order, on heaps that the host reaches by loads and stores: each is complete on return. */
#include <string.h>

#include "shmem/space.h"

void tshmem_putmem(void *dest, const void *source, size_t bytes, int pe)
{
    void *to = bytes ? tutti_shmem_at(dest, bytes, pe, "tshmem_put") : NULL;
    if (to)
        memmove(to, source, bytes); /* to this very PE they may overlap */
}

void tshmem_getmem(void *dest, const void *source, size_t bytes, int pe)
{
    const void *from = bytes ? tutti_shmem_at(source, bytes, pe, "tshmem_get") : NULL;
    if (from)
        memmove(dest, from, bytes);
}

void tshmem_putmem_nbi(void *dest, const void *source, size_t bytes, int pe)
{
    tshmem_putmem(dest, source, bytes, pe);
}

void tshmem_getmem_nbi(void *dest, const void *source, size_t bytes, int pe)
{
    tshmem_getmem(dest, source, bytes, pe);
}

/* One element in one store or load, where there is such: a peer may be looking at it. */
static void copy_element(void *to, const void *from, size_t bytes)
{
    const uintptr_t both = (uintptr_t)to | (uintptr_t)from;
    if (bytes == 8 && both % 8 == 0)
        __atomic_store_n((uint64_t *)to, __atomic_load_n((const uint64_t *)from, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    else if (bytes == 4 && both % 4 == 0)
        __atomic_store_n((uint32_t *)to, __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    else if (bytes == 2 && both % 2 == 0)
        __atomic_store_n((uint16_t *)to, __atomic_load_n((const uint16_t *)from, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    else
        memcpy(to, from, bytes);
}

void tutti_shmem_p(void *dest, const void *value, size_t bytes, int pe)
{
    void *to = tutti_shmem_at(dest, bytes, pe, "tshmem_p");
    if (to)
        copy_element(to, value, bytes);
}

void tutti_shmem_g(void *value, const void *source, size_t bytes, int pe)
{
    const void *from = tutti_shmem_at(source, bytes, pe, "tshmem_g");
    if (from)
        copy_element(value, from, bytes);
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

static void copy_blocks(char *to, const char *from, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n, size_t bytes)
{
    for (size_t i = 0; i < n; i++) {
        if (block == 1)
            copy_element(to, from, bytes);
        else
            memmove(to, from, block * bytes);
        to += dst * (ptrdiff_t)bytes;
        from += sst * (ptrdiff_t)bytes;
    }
}

void tutti_shmem_put_blocks(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                            size_t bytes, int pe)
{
    if (n == 0 || block == 0)
        return;
    const size_t all = reach(dst, block, n, bytes);
    if (all == 0) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, "tshmem_iput", "a stride of %td elements: it begins with 1", dst);
        return;
    }
    void *to = tutti_shmem_at(dest, all, pe, "tshmem_iput");
    if (to)
        copy_blocks(to, source, dst, sst, block, n, bytes);
}

void tutti_shmem_get_blocks(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                            size_t bytes, int pe)
{
    if (n == 0 || block == 0)
        return;
    const size_t all = reach(sst, block, n, bytes);
    if (all == 0) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, "tshmem_iget", "a stride of %td elements: it begins with 1", sst);
        return;
    }
    const void *from = tutti_shmem_at(source, all, pe, "tshmem_iget");
    if (from)
        copy_blocks(dest, from, dst, sst, block, n, bytes);
}

/* ---- signals ---- */

static void send_signal(uint64_t *at, uint64_t value, int operation)
{
    if (operation == TSHMEM_SIGNAL_ADD)
        __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
    else
        __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

/* The signal at that PE; NULL where it, or the operation, is none. */
static uint64_t *signal_at(uint64_t *signal, int operation, int pe, const char *call)
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

void tshmem_putmem_signal(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value, int operation,
                          int pe)
{
    static const char call[] = "tshmem_put_signal";
    uint64_t *at = signal_at(signal, operation, pe, call);
    void *to = at && bytes ? tutti_shmem_at(dest, bytes, pe, call) : NULL;
    if (!at || (bytes && !to))
        return;
    if (to)
        memmove(to, source, bytes);
    send_signal(at, value, operation); /* a release: the data are seen before it */
}

void tshmem_putmem_signal_nbi(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value,
                              int operation, int pe)
{
    tshmem_putmem_signal(dest, source, bytes, signal, value, operation, pe);
}

void tshmem_signal_set(uint64_t *signal, uint64_t value, int pe)
{
    uint64_t *at = signal_at(signal, TSHMEM_SIGNAL_SET, pe, "tshmem_signal_set");
    if (at)
        send_signal(at, value, TSHMEM_SIGNAL_SET);
}

void tshmem_signal_add(uint64_t *signal, uint64_t value, int pe)
{
    uint64_t *at = signal_at(signal, TSHMEM_SIGNAL_ADD, pe, "tshmem_signal_add");
    if (at)
        send_signal(at, value, TSHMEM_SIGNAL_ADD);
}

/* ---- order: what was stored before is seen by everybody before what is stored later ---- */

void tshmem_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void tshmem_quiet(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void tshmem_pe_quiet(int pe)
{
    (void)pe;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
