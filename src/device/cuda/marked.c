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

enum {
    MOST = 8 << 10,     /* bytes: looking at all of more takes longer than it saves */
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

/* The first word from `at` on that is the mark; n: none. */
static size_t marked_from(const _Atomic(uint32_t) *word, size_t at, size_t n, uint32_t mark)
{
    while (at < n && atomic_load_explicit(&word[at], memory_order_relaxed) != mark)
        at++;
    return at;
}

/* 1: all words have changed; 0: they have not for so long that the driver is to wait. */
static int marked_all_come(const _Atomic(uint32_t) *word, size_t n, uint32_t mark)
{
    uint64_t begin = 0;
    size_t at = 0;
    for (unsigned looks = 1; (at = marked_from(word, at, n, mark)) < n; looks++) {
        tutti_pause();
        if (looks % SPINS != 0)
            continue;
        const uint64_t now = tutti_now_ns();
        begin = begin ? begin : now;
        if (now - begin > PATIENCE_NS)
            return 0;
    }
    atomic_thread_fence(memory_order_acquire);
    return 1;
}

CUresult tutti_cuda_copy_marked(void *to, CUdeviceptr from, size_t bytes)
{
    const uint32_t mark = mark_take();
    const size_t n = bytes / sizeof mark;
    _Atomic(uint32_t) *const word = to;
    wmemset(to, (wchar_t)mark, n);
    atomic_thread_fence(memory_order_seq_cst); /* before the GPU writes */
    CUresult result = tutti_cuda.MemcpyAsync((CUdeviceptr)to, from, bytes, CU_STREAM_LEGACY);
    if (result != CUDA_SUCCESS || marked_all_come(word, n, mark))
        return result;
    result = tutti_cuda.StreamSynchronize(CU_STREAM_LEGACY);
    if (result == CUDA_SUCCESS && marked_from(word, 0, n, mark) < n)
        mark_change(mark);
    return result;
}
