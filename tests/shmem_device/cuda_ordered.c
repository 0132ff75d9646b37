/* Put with signal under delays, by kernels of one GPU, and of several if the machine has them (cuda_ordered.cu). As it
 * is, no old byte is read. In the builds without release or acquire some must be seen: otherwise the program reports it
 * and skips. TUTTI_TEST_SECONDS ends a run. ORDER_RING: everything goes by the ring. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "shmem_device/cuda_ordered.h"
#include "shmem_device/cuda_pes.h"
#include "shmem_device/cuda_serve.h"
#include "support/check.h"

#if defined(ORDER_UNRELEASED) || defined(ORDER_UNACQUIRED)
enum { BROKEN = 1 };
#else
enum { BROKEN = 0 };
#endif

#ifdef ORDER_RING
static const enum cuda_ring how = CUDA_RING_FORCED;
#else
static const enum cuda_ring how = CUDA_RING_NONE;
#endif

static struct cuda_pes pes;

/* One launch a PE, or one of all; back come the numbers of old bytes. */
static unsigned long long one(struct order *order, struct order *there, int together)
{
    unsigned long long wrong = 0;
    int pe = 0;
    void *arguments[] = {&there, &pe};
    cuda_must((int)cudaMemcpy(there, order, sizeof *order, cudaMemcpyHostToDevice), "writing");
    cuda_pes_settle("writing");
    if (together)
        cuda_pes_launch_together(&pes, 0, cuda_ordered_kernel, ORDER_PES, ORDER_THREADS, arguments);
    for (; !together && pe < ORDER_PES; pe++)
        cuda_pes_launch(&pes, pe, cuda_ordered_kernel, 1, ORDER_THREADS, arguments);
    CHECK(cuda_pes_join(&pes, 20) == 0, "the kernels end");
    cuda_must((int)cudaMemcpy(order, there, sizeof *order, cudaMemcpyDeviceToHost), "reading");
    for (pe = 0; pe < ORDER_PES; pe++) {
        CHECK(pes.abort[pe] == 0, "PE %d has aborted", pe);
        CHECK(BROKEN || order->wrong[pe] == 0, "PE %d has read %llu old bytes, last in round %llu", pe,
              order->wrong[pe], order->round[pe]);
        wrong += order->wrong[pe];
    }
    return wrong;
}

/* Until `end`; old bytes that were read. */
static unsigned long long rounds(struct order *order, struct order *there, int spread, int together, double end)
{
    unsigned long long wrong = 0;
    cuda_pes_open(&pes, ORDER_PES, 5000, spread);
    cuda_serve(&pes, how, 64, 1);
    for (int pe = 0; pe < ORDER_PES; pe++) {
        void *const heap = pes.heap[pe];
        order->state[pe] = pes.state[pe];
        order->heap[pe] = heap;
    }
    order->first = 1;
    memset(order->wrong, 0, sizeof order->wrong);
    while (check_failed() == 0 && cuda_seconds() < end && !(BROKEN && wrong)) {
        wrong = one(order, there, together);
        order->first += ORDER_ROUNDS;
    }
    const uint64_t requests = cuda_serve_end(&pes);
    CHECK((requests > 0) == (how != CUDA_RING_NONE), "%llu requests", (unsigned long long)requests);
    printf("seed %llu, on %d GPUs: %llu rounds, %llu old bytes\n", (unsigned long long)order->seed,
           spread ? cuda_gpus() : 1, (unsigned long long)order->first - 1, wrong);
    return wrong;
}

int main(void)
{
    struct order order;
    void *there;
    unsigned long long wrong = 0;
    cuda_begin();
    const int together = (int)check_setting("TUTTI_TEST_TOGETHER", 0), ways = cuda_gpus() > 1 && !together ? 2 : 1;
    const double seconds = (double)check_setting("TUTTI_TEST_SECONDS", 10), begun = cuda_seconds();
    memset(&order, 0, sizeof order);
    order.seed = check_seed();
    cuda_pes_make(&pes, sizeof(struct program_heap));
    cuda_pes_load(cuda_ordered_kernel);
    cuda_must((int)cudaMalloc(&there, sizeof order), "the order");
    for (int spread = 0; spread < ways && check_failed() == 0; spread++)
        wrong += rounds(&order, there, spread, together, begun + seconds * (spread + 1) / ways);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    if (BROKEN && !wrong && check_failed() == 0) {
        printf("skipped: what this build leaves out, the hardware does not show\n");
        return CHECK_SKIP;
    }
    return check_failed() != 0;
}
