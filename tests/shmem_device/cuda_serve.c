#include "shmem_device/cuda_serve.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "kernels/args.h"
#include "shmem/proxy/proxy.h"
#include "support/check.h"
#include "support/cuda_device.h"
#include "support/random.h"

static int launch(struct tutti_shmem *unused, struct tutti_stream *stream, int operation, size_t bytes,
                  struct tutti_amo_args *args)
{
    const struct dim3 one = {1, 1, 1};
    (void)unused;
    struct cuda_amo amo = {operation,   (unsigned)bytes, args->at,
                           args->value, args->expected,  (uint64_t *)(uintptr_t)args->was};
    void *arguments[] = {&amo};
    const cudaError_t status = cudaLaunchKernel(cuda_amo_kernel, one, one, arguments, 0, (cudaStream_t)(void *)stream);
    return status == cudaSuccess ? TUTTI_OK : TUTTI_ERR_DEVICE;
}

/* ---- servers ---- */

static struct server {
    struct tutti_proxy proxy;
    struct tutti_ring_server ring;
    struct tshmem_state state; /* as the proxy reads it */
    struct tutti_ring_counters *own;
} servers[PROGRAM_PES];
static int count, spread;
static atomic_int ending;
static uint64_t wanted[PROGRAM_PES]; /* when it is: requests that there are */
static pthread_t thread;

/* A barrier's words to PEs of other nodes may be under way when its kernel has ended. */
static int is_behind(const int *broken)
{
    for (int pe = 0; pe < count; pe++) {
        if (!broken[pe] && servers[pe].ring.ring.completed != wanted[pe])
            return 1;
    }
    return 0;
}

/* One thread for all: there may be fewer cores than PEs. A stream takes launches while its GPU is the current one. */
static void *run(void *unused)
{
    int broken[PROGRAM_PES] = {0};
    (void)unused;
    for (double end = 0; end == 0 || (is_behind(broken) && cuda_seconds() < end);) {
        if (end == 0 && atomic_load(&ending))
            end = cuda_seconds() + 5;
        for (int pe = 0; pe < count; pe++) {
            if (spread && cudaSetDevice(servers[pe].proxy.gpu) != cudaSuccess)
                broken[pe] = 1;
            broken[pe] |= !broken[pe] && tutti_ring_server_poll(&servers[pe].ring) < 0;
        }
    }
    return NULL;
}

static void open_one(struct cuda_pes *pes, int pe, uint64_t slots)
{
    struct server *const server = &servers[pe];
    void *memory;
    memset(server, 0, sizeof *server);
    server->state = pes->told[pe];
    cuda_pes_on(pes, pe);
    cuda_must((int)cudaHostAlloc(&memory, tutti_ring_bytes(slots), cudaHostAllocPortable), "a ring");
    server->proxy = (struct tutti_proxy){.state = &server->state,
                                         .near = &tutti_near_device,
                                         .gpu = pes->gpu[pe],
                                         .device = &cuda_device,
                                         .launch = launch};
    server->ring.owner = (struct tutti_ring_owner){.name = "a PE", .abort = server->state.abort};
    server->ring.memory = memory;
    tutti_ring_init(&server->ring.ring, memory, slots, 0);
    cuda_must((int)cudaMalloc(&memory, sizeof *server->own), "the kernels' counters");
    cuda_must((int)cudaMemset(memory, 0, sizeof *server->own), "the kernels' counters");
    server->own = memory;
    const struct tutti_ring_kernel_view view =
        tutti_ring_kernel_view(&server->ring.ring, server->ring.memory, server->own);
    tutti_proxy_publish(&view, &pes->told[pe].ring);
    CHECK(tutti_proxy_open(&server->proxy, &server->ring) == TUTTI_OK, "the path");
}

static void keep_apart(struct cuda_pes *pes, int pe, const int *node)
{
    struct tshmem_team_state teams[TSHMEM_TEAMS_MAX];
    cuda_must((int)cudaMemcpy(teams, pes->team[pe], sizeof teams, cudaMemcpyDeviceToHost), "reading teams");
    program_apart(&pes->told[pe], teams, node);
    cuda_must((int)cudaMemcpy(pes->team[pe], teams, sizeof teams, cudaMemcpyHostToDevice), "writing teams");
}

void cuda_serve(struct cuda_pes *pes, enum cuda_ring how, uint64_t slots, uint64_t seed)
{
    uint64_t random = random_mix(seed);
    int node[PROGRAM_PES];
    count = how == CUDA_RING_NONE ? 0 : pes->count;
    if (count == 0)
        return;
    cuda_pes_load(cuda_amo_kernel);
    spread = 0;
    for (int pe = 0; pe < count; pe++)
        spread |= pes->gpu[pe] != pes->gpu[0];
    program_nodes(node, count, seed);
    for (int pe = 0; pe < count; pe++) {
        open_one(pes, pe, slots);
        if (how == CUDA_RING_NODES)
            keep_apart(pes, pe, node);
        struct tshmem_ring_state *const ring = &pes->told[pe].ring;
        ring->elements = how == CUDA_RING_FORCED;
        ring->atomics = how == CUDA_RING_FORCED || how == CUDA_RING_NODES;
        for (int i = 0; i < TSHMEM_CUTS * TSHMEM_GROUPS; i++)
            ring->cutover[i / TSHMEM_GROUPS][i % TSHMEM_GROUPS] = how == CUDA_RING_FORCED ? 1
                                                                  : how == CUDA_RING_CUT  ? random_next(&random) % 600
                                                                                          : 0;
    }
    cuda_pes_tell(pes);
    cuda_pes_settle("rings");
    atomic_store(&ending, 0);
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        abort();
}

uint64_t cuda_serve_end(struct cuda_pes *pes)
{
    uint64_t requests = 0;
    if (count == 0)
        return 0;
    for (int pe = 0; pe < count; pe++) {
        cuda_pes_on(pes, pe);
        cuda_must((int)cudaMemcpy(&wanted[pe], &servers[pe].own->next, sizeof wanted[pe], cudaMemcpyDeviceToHost),
                  "counters");
    }
    atomic_store(&ending, 1);
    pthread_join(thread, NULL);
    for (int pe = 0; pe < count; pe++) {
        struct server *const server = &servers[pe];
        const uint64_t next = wanted[pe];
        cuda_pes_on(pes, pe);
        CHECK(pes->abort[pe] || server->ring.ring.completed == next, "PE %d: %llu of %llu requests are complete", pe,
              (unsigned long long)server->ring.ring.completed, (unsigned long long)next);
        requests += next;
        tutti_proxy_close(&server->proxy);
        cuda_must((int)cudaFree(server->own), "freeing");
        cuda_must((int)cudaFreeHost(server->ring.memory), "freeing");
    }
    count = 0;
    return requests;
}
