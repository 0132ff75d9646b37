/* The ring by itself on a GPU: all threads of a grid send, a thread of the host compares every request and answers,
 * across wraps of the ring and of the turns, the end of 32 bits and of 64. TUTTI_TEST_MESSAGES (10^8 take about a
 * minute), TUTTI_TEST_SEED. */
#include "shmem_device/cuda_messages.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TSHMEM_STATE() ((const struct tshmem_state *)NULL)
#define TSHMEM_KERNELS
#include "shmem_device/ring_host.h"

#include "shmem/proxy/proxy.h"
#include "shmem_device/cuda_pes.h"
#include "support/check.h"

enum { LIMIT_MS = 20000, JOIN_S = 100 };

static void *pinned(size_t bytes)
{
    void *memory;
    cuda_must((int)cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "pinned memory");
    memset(memory, 0, bytes);
    return memory;
}

/* Waits, and lets the kernel's waits leave where it does not end. */
static void join(cudaStream_t stream, uint32_t *abort_word)
{
    const double begun = cuda_seconds();
    cudaError_t status;
    while ((status = cudaStreamQuery(stream)) == cudaErrorNotReady && cuda_seconds() < begun + JOIN_S + 10) {
        if (cuda_seconds() > begun + JOIN_S)
            __atomic_store_n(abort_word, 1, __ATOMIC_RELEASE);
        usleep(200);
    }
    cuda_must((int)status, "the kernel");
}

static void many(uint64_t seed, uint64_t slots, uint64_t first, uint64_t messages)
{
    static uint64_t next[MESSAGES_PRODUCERS];
    const size_t words = MESSAGES_PRODUCERS * sizeof(uint64_t);
    uint32_t *const abort_word = pinned(sizeof *abort_word), *const wrong = pinned(sizeof *wrong);
    struct messages m = {seed, messages / MESSAGES_PRODUCERS, pinned(words), pinned(words), pinned(words), wrong};
    struct tutti_ring_counters *own, *const own_first = calloc(1, sizeof *own_first);
    struct tutti_ring ring;
    void *const memory = pinned(tutti_ring_bytes(slots)), *made;
    struct ring_host host = {.ring = &ring,
                             .words = {m.sent, m.brought, m.done},
                             .seed = seed,
                             .random = random_mix(seed + 77),
                             .producers = MESSAGES_PRODUCERS,
                             .next = next};
    struct tshmem_state state = {.bytes = sizeof state,
                                 .version = TSHMEM_STATE_VERSION,
                                 .pes = TSHMEM_PES_MAX,
                                 .abort = abort_word,
                                 .limit_ns = (uint64_t)LIMIT_MS * 1000000};
    const struct dim3 grid = {MESSAGES_BLOCKS, 1, 1}, block = {MESSAGES_THREADS, 1, 1};
    void *arguments[] = {&m};
    cudaStream_t stream;
    pthread_t thread;
    memset(next, 0, sizeof next);
    tutti_ring_init(&ring, memory, slots, first);
    ring_host_register(&host);
    ring_counters_init(own_first, first);
    cuda_must((int)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    cuda_must((int)cudaMalloc(&made, sizeof *own), "the kernels' counters");
    own = made;
    cuda_must((int)cudaMemcpy(own, own_first, sizeof *own, cudaMemcpyHostToDevice), "the kernels' counters");
    const struct tutti_ring_kernel_view view = tutti_ring_kernel_view(&ring, memory, own);
    tutti_proxy_publish(&view, &state.ring);
    CHECK(messages_bind(&state) == 0, "binding the state");
    cuda_must((int)cudaDeviceSynchronize(), "set-up");
    const double begun = cuda_seconds();
    if (pthread_create(&thread, NULL, ring_host_thread, &host) != 0)
        abort();
    cuda_must((int)cudaLaunchKernel(messages_kernel, grid, block, arguments, 0, stream), "a launch");
    join(stream, abort_word);
    const double took = cuda_seconds() - begun;
    atomic_store(&host.stop, 1);
    pthread_join(thread, NULL);
    cuda_must((int)cudaMemcpy(own_first, own, sizeof *own, cudaMemcpyDeviceToHost), "reading the counters");
    CHECK(*wrong == 0 && host.wrong == 0 && *abort_word == 0,
          "seed %llu, %llu slots from %llx on: %u producers have got something wrong, %llu requests are, aborted %u",
          (unsigned long long)seed, (unsigned long long)slots, (unsigned long long)first, *wrong,
          (unsigned long long)host.wrong, *abort_word);
    CHECK(own_first->next - first == m.each * MESSAGES_PRODUCERS && ring.consumed == own_first->next &&
              ring.completed == ring.consumed,
          "%llu of %llu requests are complete", (unsigned long long)(ring.completed - first),
          (unsigned long long)(m.each * MESSAGES_PRODUCERS));
    for (int i = 0; i < TUTTI_RING_COMPLETIONS; i++)
        CHECK((own_first->taken[i] & 1) == 0, "completion %d is still taken", i);
    printf("%llu messages, %llu slots: %.2f million a second, each compared\n",
           (unsigned long long)(m.each * MESSAGES_PRODUCERS), (unsigned long long)slots,
           1e-6 * (double)(m.each * MESSAGES_PRODUCERS) / took);
    cuda_must((int)cudaFree(own), "freeing");
    cuda_must((int)cudaStreamDestroy(stream), "freeing");
    void *const given[] = {memory, m.sent, m.brought, m.done, wrong, abort_word};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        cuda_must((int)cudaFreeHost(given[i]), "freeing");
    free(own_first);
}

int main(void)
{
    const uint64_t seed = check_seed(), messages = (uint64_t)check_many("TUTTI_TEST_MESSAGES", 4000000);
    struct cudaFuncAttributes about;
    cuda_begin();
    cuda_must((int)cudaFuncGetAttributes(&about, messages_kernel), "loading the kernel");
    many(seed, 4096, (UINT64_C(1) << 32) - 8192, messages);
    many(seed + 1, 256, 0 - UINT64_C(256) * 300, messages / 20);
    printf("seed %llu: %ld checks, %ld failed\n", (unsigned long long)seed, check_done(), check_failed());
    return check_failed() != 0;
}
