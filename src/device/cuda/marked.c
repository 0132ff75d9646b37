/* Short copies out of a GPU, whose end the host sees by the data: the pinned memory, which is the library's own, is
 * filled with a mark, and the copy has ended when no word of it is the mark any more. The last byte is there after 5.0
 * us (H200, 8 bytes); a word that the stream writes behind it is seen after 7.7 us, and the driver returns after 8.1.
 *
 * A GPU writes host memory in aligned units of at least four bytes (PCI Express), in any order, so each such word is
 * looked at. The source lies in words too: an engine that shifts bytes might write a word in two parts, and half of one
 * passes for a word that has arrived. Data that have the mark in them look as if they were missing: then the driver
 * waits, and later copies have another mark. */
#include <stdint.h>
#include <wchar.h>

#include "core/clock.h"
#include "core/fnv.h"
#include "device/cuda/gpu.h"
#include "device/cuda/spin.h"

enum {
    MOST = 2 << 10,     /* bytes: looking at all of more, line by line, takes longer than a word behind the copy */
    SPINS = 1 << 6,     /* looks between two at the clock */
    PATIENCE_NS = 30000 /* then the driver waits, which knows whether the copy has failed */
};
_Static_assert(sizeof(wchar_t) == sizeof(uint32_t), "wmemset() fills words");

static _Atomic uint32_t next_mark; /* 0: none yet */

static uint32_t mark_take(void)
{
    uint32_t mark = atomic_load_explicit(&next_mark, memory_order_relaxed);
    if (__builtin_expect(mark == 0, 0)) {
        mark = (uint32_t)(tutti_mix(tutti_now_ns() ^ (uint64_t)(uintptr_t)&mark) >> 32) | 1;
        atomic_store_explicit(&next_mark, mark, memory_order_relaxed);
    }
    return mark;
}

static void mark_change(uint32_t mark)
{
    atomic_store_explicit(&next_mark, (uint32_t)(tutti_mix((uint64_t)mark + 1) >> 32) | 1, memory_order_relaxed);
}

int tutti_cuda_can_mark(const void *to, CUdeviceptr from, size_t bytes)
{
    return bytes <= MOST && (bytes | (uintptr_t)to | from) % sizeof(uint32_t) == 0;
}

struct marked {
    const _Atomic(uint32_t) *word;
    size_t at, n; /* words before `at` have changed */
    uint32_t mark;
};

/* 1: all words have changed. */
static int marked_have_changed(void *with)
{
    struct marked *const m = with;
    while (m->at < m->n && atomic_load_explicit(&m->word[m->at], memory_order_relaxed) != m->mark)
        m->at++;
    if (m->at < m->n)
        return 0;
    atomic_thread_fence(memory_order_acquire);
    return 1;
}

CUresult tutti_cuda_copy_marked(void *to, CUdeviceptr from, size_t bytes)
{
    const uint32_t mark = mark_take();
    wmemset(to, (wchar_t)mark, bytes / sizeof mark);
    atomic_thread_fence(memory_order_seq_cst); /* before the GPU writes */
    CUresult result = tutti_cuda.MemcpyAsync((CUdeviceptr)to, from, bytes, CU_STREAM_LEGACY);
    struct marked marked = {to, 0, bytes / sizeof mark, mark};
    if (result != CUDA_SUCCESS || tutti_cuda_spin(marked_have_changed, &marked, SPINS, PATIENCE_NS))
        return result;
    result = tutti_cuda.StreamSynchronize(CU_STREAM_LEGACY);
    if (result == CUDA_SUCCESS && !marked_have_changed(&marked))
        mark_change(mark);
    return result;
}
