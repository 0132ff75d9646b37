/* Copies whose end the host sees by a word that the stream writes behind them: cuStreamSynchronize() returns up to a
 * microsecond later (two H200, out of a GPU: 8 bytes 9.0 and 8.1 us, 64 KiB 10.6 and 9.6). */
#include <string.h>

#include "core/lives.h"
#include "core/status.h"
#include "device/cuda/gpu.h"
#include "device/cuda/spin.h"
#include "progress/gate.h"

enum {
    WORDS = 64,          /* copies at a time */
    APART = 16,          /* words between two of them: a line each */
    SOME = 16,           /* copies before they are made, which takes longer than it saves them */
    SPINS = 1 << 12,     /* looks between two at the clock */
    PATIENCE_NS = 200000 /* then the driver waits, which knows whether the copy has failed */
};

/* Tried once: without them the driver waits. */
static void words_make(struct tutti_cuda_context *context)
{
    const size_t bytes = WORDS * APART * sizeof(uint32_t);
    void *made = NULL;
    CUdeviceptr seen = 0;
    if (!tutti_gate_apart_begin())
        return; /* a kernel waits, perhaps for what follows this copy */
    pthread_mutex_lock(&context->lock);
    if (!atomic_load(&context->words_tried) &&
        tutti_cuda.MemHostAlloc(&made, bytes, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS) {
        memset(made, 0, bytes);
        if (tutti_cuda.MemHostGetDevicePointer(&seen, made, 0) == CUDA_SUCCESS)
            context->words_seen = seen;
        if (seen)
            atomic_store(&context->words, made);
        else
            tutti_cuda.MemFreeHost(made);
    }
    atomic_store(&context->words_tried, 1);
    pthread_mutex_unlock(&context->lock);
    tutti_gate_apart_end();
}

/* Not where processes share the GPU: the word might wait for a turn there, and with MPS it comes 4 us later than the
 * driver returns, behind copies of 8 to 32 KiB of two processes at a time (one H200). */
int tutti_cuda_has_words(struct tutti_cuda_context *context)
{
    if (tutti_gpu_is_shared(context->gpu))
        return 0;
    if (__builtin_expect(atomic_load_explicit(&context->words, memory_order_acquire) != NULL, 1))
        return 1;
    if (!tutti_cuda.StreamWriteValue32 || atomic_load_explicit(&context->words_tried, memory_order_relaxed) ||
        atomic_fetch_add_explicit(&context->copies_out, 1, memory_order_relaxed) < SOME)
        return 0;
    words_make(context);
    return atomic_load_explicit(&context->words, memory_order_acquire) != NULL;
}

/* The number of a word that no other copy uses; -1: all are in use. */
static int words_take(struct tutti_cuda_context *context)
{
    uint64_t taken = atomic_load_explicit(&context->words_taken, memory_order_relaxed);
    while (~taken != 0) {
        const int free_one = __builtin_ctzll(~taken);
        if (atomic_compare_exchange_weak_explicit(&context->words_taken, &taken, taken | UINT64_C(1) << free_one,
                                                  memory_order_acquire, memory_order_relaxed))
            return free_one;
    }
    return -1;
}

static void words_give(struct tutti_cuda_context *context, int number)
{
    atomic_fetch_and_explicit(&context->words_taken, ~(UINT64_C(1) << number), memory_order_release);
}

struct word_awaited {
    const _Atomic(uint32_t) *word;
    uint32_t value;
};

static int word_is_there(void *with)
{
    const struct word_awaited *const w = with;
    return atomic_load_explicit(w->word, memory_order_acquire) == w->value;
}

CUresult tutti_cuda_await_stream(struct tutti_cuda_context *context, CUstream stream)
{
    const int number = words_take(context);
    if (number < 0)
        return tutti_cuda.StreamSynchronize(stream);
    const size_t place = (size_t)number * APART;
    _Atomic(uint32_t) *const word = &atomic_load_explicit(&context->words, memory_order_relaxed)[place];
    const uint32_t value = atomic_load_explicit(word, memory_order_relaxed) + 1;
    CUresult result = tutti_cuda.StreamWriteValue32(stream, context->words_seen + place * sizeof(uint32_t), value,
                                                    CU_STREAM_WRITE_VALUE_DEFAULT);
    const int written = result == CUDA_SUCCESS;
    struct word_awaited awaited = {word, value};
    if (!written || !tutti_cuda_spin(word_is_there, &awaited, SPINS, PATIENCE_NS))
        result = tutti_cuda.StreamSynchronize(stream);
    if (!written || result == CUDA_SUCCESS) /* otherwise the stream may write it later */
        words_give(context, number);
    return result;
}
