/* Rounds of a ring of PEs: data of every length and alignment, then a signal, with delays between and before they are read;
 * who sees the signal sees the data. Compiled three times: as it is; with ORDER_UNRELEASED, where neither fence nor release
 * stands before the signal; with ORDER_UNACQUIRED, where the signal is waited for by relaxed loads. */
#define CUDA_KERNELS
#include "shmem_device/cuda_pes.h"

#ifdef ORDER_UNRELEASED
#define TUTTI_DEV_RELEASE "relaxed"
#define TUTTI_DEV_FENCE()
#define TUTTI_DEV_FENCE_RELEASE()
#endif
#ifdef ORDER_UNACQUIRED
#define TUTTI_DEV_ACQUIRE "relaxed"
#define TUTTI_DEV_SEEN()
#endif
#include "tutti/device.h"

#include "shmem_device/cuda_ordered.h"
#include "support/random.h"

/* Some of the times, up to some microseconds; each thread by itself. */
static __device__ void delay(uint64_t *random)
{
    const uint64_t draw = random_next(random);
    const long long cycles = draw % 4 ? 0 : (long long)(draw / 4 % 4000);
    for (const long long start = clock64(); clock64() - start < cycles;)
        ;
}

/* Looks at what was there before, so that it lies in this multiprocessor's cache. */
static __device__ void peek(const char *data, size_t n, char *sink)
{
    char sum = 0;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x)
        sum = (char)(sum + data[i]);
    if (sum == 17 && n == 0)
        *sink = sum;
    asm volatile("" ::"r"((int)sum) : "memory");
}

static __global__ void __launch_bounds__(ORDER_THREADS) run(struct order *order, int first)
{
    const int pe = first + (int)blockIdx.x, to = (pe + 1) % ORDER_PES, from = (pe + ORDER_PES - 1) % ORDER_PES;
    cuda_pe_is(order->state[pe]);
    struct program_heap *const heap = order->heap[pe];
    uint64_t random = random_mix(order->seed + order->first * 1024 + pe * ORDER_THREADS + threadIdx.x);
    for (uint64_t r = order->first; r < order->first + ORDER_ROUNDS; r++) {
        const size_t n = random_mix(r) % 24000, at = random_mix(r * 3) % 16, place = r % 2 * (PROGRAM_PART / 2);
        char *const dest = heap->in + place + at;
        uint64_t *const signal = &heap->signals[pe][0];
        for (size_t i = threadIdx.x; i < n; i += blockDim.x)
            heap->out[at + i] = (char)(r * 7 + (uint64_t)pe);
        if (r > 2) /* the receiver has read what was in this place */
            tshmem_signal_wait_until_block(&heap->signals[to][1], TSHMEM_CMP_GE, r - 2);
        delay(&random);
        if (r % 4 == 0) {
            tshmem_putmem_signal_block(dest, heap->out + at, n, signal, 1, TSHMEM_SIGNAL_ADD, to);
        } else if (r % 4 == 1) {
            __syncthreads();
            if (threadIdx.x < 32)
                tshmem_putmem_signal_nbi_warp(dest, heap->out + at, n, signal, r, TSHMEM_SIGNAL_SET, to);
        } else if (r % 4 == 2) {
            tshmem_putmem_signal_nbi_block(dest, heap->out + at, n, signal, r, TSHMEM_SIGNAL_SET, to);
        } else { /* the same by hand */
            tshmem_putmem_nbi_block(dest, heap->out + at, n, to);
            delay(&random);
            tshmem_fence_block();
            if (threadIdx.x == 0)
                tshmem_signal_set(signal, r, to);
        }
        peek(dest, n, heap->results);
        tshmem_signal_wait_until_block(&heap->signals[from][0], TSHMEM_CMP_GE, r);
        delay(&random);
        unsigned old = 0;
        for (size_t i = threadIdx.x; i < n; i += blockDim.x)
            old += dest[i] != (char)(r * 7 + (uint64_t)from);
        if (old) {
            atomicAdd(&order->wrong[pe], old);
            order->round[pe] = r;
        }
        __syncthreads();
        if (threadIdx.x == 0) { /* in every build: what is tried is the way of the data */
            __threadfence_system();
            tshmem_signal_set(&heap->signals[pe][1], r, from);
        }
        if (tutti_dev_state()->ring.slots) /* what was put without blocking is still being read */
            tshmem_quiet_block();
    }
}

const void *const cuda_ordered_kernel = (const void *)run;
