/* The grid's family by kernels: a grid of some blocks for each PE, all at once, on one GPU or on all; every strategy,
 * kind of operand and operation against the oracle; by loads and stores, and with PEs of other nodes by the ring.
 * TUTTI_TEST_ROUNDS and TUTTI_TEST_SECONDS end a run, TUTTI_TEST_SEED repeats one. TUTTI_TEST_TOGETHER=1: for the
 * sanitizers, which let no two launches run at once: one PE. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shmem_device/cuda_grid.h"
#include "shmem_device/cuda_pes.h"
#include "shmem_device/cuda_serve.h"
#include "support/check.h"
#include "support/oracle.h"
#include "support/random.h"

#define GRID_DECLARE(number) extern const struct cuda_grid cuda_grid_##number;
#define GRID_ADDRESS(number) &cuda_grid_##number,
CUDA_GRID_LIST(GRID_DECLARE)
static const struct cuda_grid *const images[] = {CUDA_GRID_LIST(GRID_ADDRESS)};
enum { IMAGES = sizeof images / sizeof *images };

static struct cuda_pes pes;
static struct program_heap *heap[PROGRAM_PES];
static char should[GRID_CALLS][PROGRAM_PART];
static int cooperative; /* 1: cooperative launches run at once here */
static long spreads;    /* rounds on several GPUs */
static uint64_t requests;

/* The driver says nowhere whether cooperative launches of several streams run at once: they are seen to. */
static void probe(void)
{
    void *memory;
    uint32_t all = 2;
    cuda_must((int)cudaHostAlloc(&memory, 2 * sizeof(uint32_t), cudaHostAllocPortable), "pinned memory");
    uint32_t *came = memory, *gave_up = came + 1;
    came[0] = came[1] = 0;
    void *arguments[] = {&came, &all, &gave_up};
    for (int pe = 0; pe < 2; pe++)
        cuda_pes_launch_together(&pes, pe, cuda_grid_probe, 2, 32, arguments);
    cuda_pes_join(&pes, 10);
    cooperative = *gave_up == 0;
    printf("cooperative launches %s\n", cooperative ? "run at once" : "do not run at once: ordinary ones are made");
}

static const struct cuda_grid *image_of(int type)
{
    for (int i = 0; i < IMAGES; i++) {
        if (images[i]->type == type)
            return images[i];
    }
    return NULL;
}

static void look(const struct grid_case *c, int count, int pe)
{
    const size_t bytes = c->n * c->parts * oracle_size(c->type);
    const int in_place = c->in_place && c->where == 0;
    for (int again = 0; again < GRID_CALLS; again++) {
        const char *const is = (in_place ? heap[pe]->gotten : heap[pe]->out) + again * GRID_PITCH;
        size_t i = 0;
        while (i < bytes && is[i] == should[again][i])
            i++;
        CHECK(i == bytes,
              "call %d strategy %d where %d type %d op %d n %zu parts %zu root %d in place %d, PE %d of %d: byte %zu",
              again, c->strategy, c->where, c->type, c->op, c->n, c->parts, c->root, c->in_place, pe, count, i);
    }
}

static void one(uint64_t seed, uint64_t *random, int count)
{
    static const unsigned sizes[] = {32, 64, 128, 33, 256, 1, 96, 20};
    struct grid_case c;
    const unsigned threads = sizes[random_next(random) % 8], blocks = 1 + (unsigned)(random_next(random) % 4);
    const int launched = cooperative && random_next(random) % 2;
    const int spread = cuda_gpus() > 1 && random_next(random) % 2, far = random_next(random) % 3 != 0;
    do
        grid_draw(&c, random, count, blocks, threads, GRID_OF_THREAD);
    while (!image_of(c.type));
    const void *const kernel = image_of(c.type)->kernel;
    snprintf(
        cuda_doing, sizeof cuda_doing,
        "seed %llu: %d PEs of %u blocks of %u threads on %d GPUs, %s, far %d: type %d op %d strategy %d where %d n %zu "
        "root %d in place %d",
        (unsigned long long)seed, count, blocks, threads, spread ? cuda_gpus() : 1,
        launched ? "cooperative" : "ordinary", far, c.type, c.op, c.strategy, c.where, c.n, c.root, c.in_place);
    CHECK(cuda_pes_resident(kernel, threads) >= blocks * (unsigned)count, "all blocks find room");
    cuda_pes_open(&pes, count, 5000, spread);
    cuda_serve(&pes, far ? CUDA_RING_NODES : CUDA_RING_NONE, 64, seed);
    spreads += spread;
    for (int pe = 0; pe < count; pe++) {
        memset(heap[pe], 0, sizeof **heap);
        for (int again = 0; again < GRID_CALLS; again++)
            grid_fill(&c, pe, again, heap[pe]->gotten + again * GRID_PITCH);
        cuda_must((int)cudaMemcpy(pes.heap[pe], heap[pe], sizeof **heap, cudaMemcpyHostToDevice), "writing a heap");
    }
    cuda_pes_settle("writing");
    for (int pe = 0; pe < count; pe++) {
        void *arguments[] = {&c, &pes.state[pe], &pes.heap[pe]};
        if (launched)
            cuda_pes_launch_together(&pes, pe, kernel, blocks, threads, arguments);
        else
            cuda_pes_launch(&pes, pe, kernel, blocks, threads, arguments);
    }
    for (int again = 0; again < GRID_CALLS; again++)
        grid_expect(&c, count, again, should[again]);
    CHECK(cuda_pes_join(&pes, 20) == 0, "the kernels end");
    requests += cuda_serve_end(&pes);
    for (int pe = 0; pe < count; pe++) {
        cuda_must((int)cudaMemcpy(heap[pe], pes.heap[pe], sizeof **heap, cudaMemcpyDeviceToHost), "reading a heap");
        uint32_t wrong;
        memcpy(&wrong, heap[pe]->results, sizeof wrong);
        CHECK(wrong == 0, "PE %d: %u calls have not returned 0", pe, wrong);
        CHECK(pes.abort[pe] == 0, "PE %d has aborted", pe);
        if (c.root < 0 || c.root == pe)
            look(&c, count, pe);
    }
    if (check_failed() != 0)
        fprintf(stderr, "%s\n", cuda_doing);
}

int main(void)
{
    cuda_begin();
    const uint64_t seed = check_seed();
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 2000);
    const int together = (int)check_setting("TUTTI_TEST_TOGETHER", 0);
    const double end = cuda_seconds() + (double)check_setting("TUTTI_TEST_SECONDS", 60);
    long i = 0;
    cuda_pes_make(&pes, sizeof(struct program_heap));
    for (int pe = 0; pe < PROGRAM_PES; pe++)
        heap[pe] = malloc(sizeof **heap);
    for (int image = 0; image < IMAGES; image++)
        cuda_pes_load(images[image]->kernel);
    cuda_pes_load(cuda_grid_probe);
    cuda_pes_open(&pes, 2, 5000, 0);
    if (!together)
        probe();
    for (; i < rounds && check_failed() == 0 && cuda_seconds() < end; i++) {
        uint64_t random = random_mix(seed + (uint64_t)i);
        one(seed + (uint64_t)i, &random, together ? 1 : 1 + (int)(random_next(&random) % PROGRAM_PES));
    }
    CHECK(i < 40 || together || requests > 0, "no requests");
    CHECK(i < 40 || together || cuda_gpus() < 2 || spreads > 0, "nothing on several GPUs");
    printf("seed %llu: %ld reductions, of which %ld on %d GPUs, %llu requests, %ld checks, %ld failed\n",
           (unsigned long long)seed, GRID_CALLS * i, GRID_CALLS * spreads, cuda_gpus(), (unsigned long long)requests,
           check_done(), check_failed());
    return check_failed() != 0 || i == 0;
}
