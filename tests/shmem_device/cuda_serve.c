#include "shmem_device/cuda_serve.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "device/device.h"
#include "kernels/args.h"
#include "shmem/ring/proxy.h"
#include "support/check.h"
#include "support/random.h"

/* ---- the device, as far as the path needs it ---- */

static int told(cudaError_t status)
{
    if (status != cudaSuccess)
        fprintf(stderr, "the proxy: %s\n", cudaGetErrorString(status));
    return status == cudaSuccess ? TUTTI_OK : TUTTI_ERR_DEVICE;
}

static int choose(int gpu)
{
    return told(cudaSetDevice(gpu));
}

static int stream_create(int gpu, struct tutti_stream **out)
{
    (void)gpu;
    return told(cudaStreamCreateWithFlags((cudaStream_t *)(void *)out, cudaStreamNonBlocking));
}

static int stream_destroy(struct tutti_stream *stream)
{
    return told(cudaStreamDestroy((cudaStream_t)(void *)stream));
}

static int event_create(int gpu, struct tutti_event **out)
{
    (void)gpu;
    return told(cudaEventCreateWithFlags((cudaEvent_t *)(void *)out, cudaEventDisableTiming));
}

static int event_destroy(struct tutti_event *event)
{
    return told(cudaEventDestroy((cudaEvent_t)(void *)event));
}

static int event_record(struct tutti_event *event, struct tutti_stream *stream)
{
    return told(cudaEventRecord((cudaEvent_t)(void *)event, (cudaStream_t)(void *)stream));
}

static int event_query(struct tutti_event *event)
{
    const cudaError_t status = cudaEventQuery((cudaEvent_t)(void *)event);
    return status == cudaErrorNotReady ? 0 : told(status) == TUTTI_OK ? 1 : TUTTI_ERR_DEVICE;
}

static int copy(struct tutti_stream *stream, void *to, const void *from, size_t bytes)
{
    return told(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, (cudaStream_t)(void *)stream));
}

static const struct tutti_device device = {.name = "the CUDA runtime",
                                           .choose = choose,
                                           .stream_create = stream_create,
                                           .stream_destroy = stream_destroy,
                                           .event_create = event_create,
                                           .event_destroy = event_destroy,
                                           .event_record = event_record,
                                           .event_query = event_query,
                                           .copy = copy};

static int launch(struct tutti_stream *stream, int operation, size_t bytes, struct tutti_amo_args *args)
{
    const struct dim3 one = {1, 1, 1};
    struct cuda_amo amo = {operation,   (unsigned)bytes, args->at,
                           args->value, args->expected,  (uint64_t *)(uintptr_t)args->was};
    void *arguments[] = {&amo};
    return told(cudaLaunchKernel(cuda_amo_kernel, one, one, arguments, 0, (cudaStream_t)(void *)stream));
}

/* ---- servers ---- */

static struct server {
    struct tutti_proxy proxy;
    struct tshmem_state state; /* as the proxy reads it */
    struct tshmem_ring_own *own;
} servers[PROGRAM_PES];
static int count;
static atomic_int ending;
static pthread_t thread;

/* One thread for all: there may be fewer cores than PEs. */
static void *run(void *unused)
{
    int broken[PROGRAM_PES] = {0};
    (void)unused;
    while (!atomic_load(&ending)) {
        for (int pe = 0; pe < count; pe++)
            broken[pe] |= !broken[pe] && tutti_proxy_poll(&servers[pe].proxy) < 0;
    }
    return NULL;
}

static void open_one(struct cuda_pes *pes, int pe, uint64_t slots)
{
    struct server *const server = &servers[pe];
    void *memory;
    memset(server, 0, sizeof *server);
    server->state = pes->told[pe];
    cuda_must((int)cudaHostAlloc(&memory, tutti_ring_bytes(slots), cudaHostAllocPortable), "a ring");
    server->proxy = (struct tutti_proxy){.state = &server->state,
                                         .near = &tutti_near_device,
                                         .device = &device,
                                         .launch = launch,
                                         .memory = memory,
                                         .seen = memory};
    tutti_ring_lay(&server->proxy.ring, memory, slots, 0);
    cuda_must((int)cudaMalloc(&memory, sizeof *server->own), "the kernels' counters");
    cuda_must((int)cudaMemset(memory, 0, sizeof *server->own), "the kernels' counters");
    server->own = memory;
    tutti_ring_tell(&server->proxy.ring, server->proxy.seen, server->own, &pes->told[pe].ring);
    CHECK(tutti_near_device.open(&server->proxy) == TUTTI_OK, "the path");
}

void cuda_serve(struct cuda_pes *pes, enum cuda_ring how, uint64_t slots, uint64_t seed)
{
    uint64_t random = random_mix(seed);
    struct cudaFuncAttributes about;
    count = how == CUDA_RING_NONE ? 0 : pes->count;
    if (count == 0)
        return;
    cuda_must((int)cudaFuncGetAttributes(&about, cuda_amo_kernel), "loading the atomics");
    for (int pe = 0; pe < count; pe++) {
        open_one(pes, pe, slots);
        struct tshmem_ring_state *const ring = &pes->told[pe].ring;
        ring->elements = ring->atomics = how == CUDA_RING_FORCED;
        for (int i = 0; i < TSHMEM_CUTS * TSHMEM_GROUPS; i++)
            ring->cutover[i / TSHMEM_GROUPS][i % TSHMEM_GROUPS] =
                how == CUDA_RING_FORCED ? 1 : random_next(&random) % 600;
    }
    cuda_pes_tell(pes);
    cuda_must((int)cudaDeviceSynchronize(), "rings");
    atomic_store(&ending, 0);
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        abort();
}

uint64_t cuda_serve_end(struct cuda_pes *pes)
{
    uint64_t requests = 0;
    if (count == 0)
        return 0;
    atomic_store(&ending, 1);
    pthread_join(thread, NULL);
    for (int pe = 0; pe < count; pe++) {
        struct server *const server = &servers[pe];
        uint64_t next;
        cuda_must((int)cudaMemcpy(&next, &server->own->next, sizeof next, cudaMemcpyDeviceToHost), "counters");
        CHECK(pes->abort[pe] || server->proxy.ring.completed == next, "PE %d: %llu of %llu requests are complete", pe,
              (unsigned long long)server->proxy.ring.completed, (unsigned long long)next);
        requests += next;
        tutti_near_device.close(&server->proxy);
        cuda_must((int)cudaFree(server->own), "freeing");
        cuda_must((int)cudaFreeHost(server->proxy.memory), "freeing");
    }
    count = 0;
    return requests;
}
