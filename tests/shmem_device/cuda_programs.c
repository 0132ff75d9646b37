/* Random programs by kernels, against the model: PEs are launches that run at once, on one GPU or on all, of one block
 * or, with reductions of grids, of several; or they are the blocks of one launch. A round is a program of one image's
 * rows (cuda_images.h). TUTTI_TEST_ROUNDS and TUTTI_TEST_SECONDS end a run, TUTTI_TEST_SEED repeats one,
 * TUTTI_TEST_TOGETHER=1 makes every round one launch. Every fourth round goes by the ring, another one does from some
 * size on, another one has PEs of other nodes; TUTTI_TEST_RING=0 to 3: none, all, from some size on, nodes, in all
 * rounds. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shmem_device/cuda_images.h"
#include "shmem_device/cuda_pes.h"
#include "shmem_device/cuda_serve.h"
#include "support/check.h"
#include "support/random.h"

#define IMAGE_DECLARE(number) extern const struct cuda_image cuda_image_##number;
#define IMAGE_ADDRESS(number) &cuda_image_##number,
CUDA_IMAGE_LIST(IMAGE_DECLARE)
static const struct cuda_image *const images[] = {CUDA_IMAGE_LIST(IMAGE_ADDRESS)};
enum { IMAGES = sizeof images / sizeof *images };

static struct cuda_pes pes;
static struct command *lists[PROGRAM_PES]; /* device memory */
static struct cuda_program *programs;      /* the same: [PROGRAM_PES] */
static struct program_heap *heap[PROGRAM_PES], *model[PROGRAM_PES];

enum { WARPS = CUDA_THREADS / 32 };
static uint32_t (*at)[WARPS]; /* [PROGRAM_PES]: see struct cuda_program */
static const struct program *under_way;

static uint64_t requests;
static long spreads, grids; /* rounds on several GPUs; rounds with grids of several blocks */

/* What a round is run as. */
struct way {
    int together, spread, gridded;
    unsigned blocks, threads;
};

/* At which commands the warps are. */
static void say_where(void)
{
    for (int pe = 0; pe < under_way->pes; pe++) {
        for (int warp = 0; warp < WARPS; warp++) {
            const uint32_t i = *(volatile uint32_t *)&at[pe][warp];
            const struct command *const c = &under_way->list[pe][i > 0 ? i - 1 : 0];
            if (i > 0 && i <= (uint32_t)under_way->count)
                fprintf(stderr,
                        "PE %d, warp %d: command %u of %d: call %d form %d row %d type %d op %d extra %d team %d pe %d "
                        "n %llu of %llu bytes, dst %lld sst %lld dest %llu source %llu value %llu compare %llu mask "
                        "%llu context %llx\n",
                        pe, warp, i - 1, under_way->count, c->call, c->form, c->row, c->type, c->op, c->extra, c->team,
                        c->pe, (unsigned long long)c->n, (unsigned long long)c->bytes, (long long)c->dst,
                        (long long)c->sst, (unsigned long long)c->dest, (unsigned long long)c->source,
                        (unsigned long long)c->value, (unsigned long long)c->compare, (unsigned long long)c->mask,
                        (unsigned long long)c->ctx);
        }
    }
}

static void make(void)
{
    void *memory;
    cuda_pes_make(&pes, sizeof(struct program_heap));
    cuda_must((int)cudaMalloc(&memory, sizeof *programs * PROGRAM_PES), "programs");
    programs = memory;
    cuda_must((int)cudaHostAlloc(&memory, sizeof *at * PROGRAM_PES, cudaHostAllocPortable | cudaHostAllocMapped),
              "words");
    at = memory;
    cuda_pes_say = say_where;
    for (int pe = 0; pe < PROGRAM_PES; pe++) {
        cuda_must((int)cudaMalloc(&memory, sizeof **lists * PROGRAM_LIST), "commands");
        lists[pe] = memory;
        heap[pe] = malloc(sizeof **heap);
        model[pe] = malloc(sizeof **model);
    }
}

/* Programs and heaps to the GPU. */
static void send(const struct program *program, int fenced)
{
    struct cuda_program told[PROGRAM_PES];
    memset(told, 0, sizeof told);
    for (int pe = 0; pe < program->pes; pe++) {
        told[pe] = (struct cuda_program){pes.state[pe], lists[pe], pes.heap[pe], program->count, fenced, at[pe]};
        cuda_must((int)cudaMemcpy(lists[pe], program->list[pe], sizeof **lists * (size_t)program->count,
                                  cudaMemcpyHostToDevice),
                  "writing commands");
        cuda_must((int)cudaMemcpy(pes.heap[pe], heap[pe], sizeof **heap, cudaMemcpyHostToDevice), "writing a heap");
    }
    cuda_must((int)cudaMemcpy(programs, told, sizeof told, cudaMemcpyHostToDevice), "writing programs");
    cuda_pes_settle("writing");
}

static struct way draw_way(const struct cuda_image *image, uint64_t *random, int together)
{
    static const unsigned sizes[] = {64, 32, 1, 256, 96, 20, 50, 128};
    struct way way = {.blocks = 1, .threads = sizes[random_next(random) % (sizeof sizes / sizeof *sizes)]};
    way.together = together || random_next(random) % 3 == 0;
    way.spread = !way.together && cuda_gpus() > 1 && random_next(random) % 4 != 0;
    way.gridded = !way.together && image->grids && random_next(random) % 4 != 0;
    if (way.gridded)
        way.blocks = 1 + (unsigned)(random_next(random) % 4);
    return way;
}

static void launch(const struct way *way, const void *kernel, int count)
{
    int first = 0, gridded = way->gridded;
    void *arguments[] = {&programs, &first, &gridded};
    if (way->together)
        cuda_pes_launch_together(&pes, 0, kernel, (unsigned)count, way->threads, arguments);
    for (; !way->together && first < count; first++)
        cuda_pes_launch(&pes, first, kernel, way->blocks, way->threads, arguments);
}

static void one(uint64_t seed, int together)
{
    uint64_t random = random_mix(~seed);
    const int number = (int)(seed % IMAGES), count = 1 + (int)(random_next(&random) % PROGRAM_PES);
    const struct cuda_image *const image = images[number];
    const struct way way = draw_way(image, &random, together);
    const unsigned grid_blocks = way.gridded ? way.blocks : 0;
    const struct program_kind kind = {image->rows, 1, image->forms, image->contexts, grid_blocks, way.threads};
    struct program program;
    program_draw(&program, count, seed, &kind);
    const int row = image->rows[0];
    const long wanted = check_setting("TUTTI_TEST_RING", CUDA_RINGS);
    const enum cuda_ring how = (enum cuda_ring)(wanted < CUDA_RINGS ? (uint64_t)wanted : seed / IMAGES % CUDA_RINGS);
    snprintf(cuda_doing, sizeof cuda_doing,
             "seed %llu: image %d (%s, forms %d), %d PEs on %d GPUs, %u blocks of %u threads, %s, ring %d",
             (unsigned long long)seed, number, row < 0 ? "no rows" : program_rows[row].name, image->forms, count,
             way.spread ? cuda_gpus() : 1, way.blocks, way.threads, way.together ? "one launch" : "a launch each",
             (int)how);
    CHECK(cuda_pes_resident(image->kernel, way.threads) >= way.blocks * (unsigned)count, "all blocks find room");
    cuda_pes_open(&pes, count, 5000, way.spread);
    cuda_serve(&pes, how, 64, seed);
    for (int pe = 0; pe < count; pe++) {
        program_fill(heap[pe], &program, pe);
        memcpy(model[pe], heap[pe], sizeof **model);
    }
    memset(at, 0, sizeof *at * PROGRAM_PES);
    under_way = &program;
    send(&program, how != CUDA_RING_NONE);
    launch(&way, image->kernel, count);
    spreads += way.spread && count > 1;
    grids += way.blocks > 1;
    program_model(&program, model);
    CHECK(cuda_pes_join(&pes, 20) == 0, "the programs' kernels end");
    const uint64_t asked = cuda_serve_end(&pes);
    CHECK(how != CUDA_RING_NONE || asked == 0, "%llu requests", (unsigned long long)asked);
    requests += asked;
    for (int pe = 0; pe < count; pe++) {
        char text[512] = "";
        cuda_must((int)cudaMemcpy(heap[pe], pes.heap[pe], sizeof **heap, cudaMemcpyDeviceToHost), "reading a heap");
        const int differs = program_differs(&program, pe, heap[pe], model[pe], text, sizeof text);
        CHECK(!differs, "%s", text);
        if (differs)
            program_explain(&program, pe, heap[pe], model[pe]);
        CHECK(pes.abort[pe] == 0, "PE %d has aborted", pe);
    }
    if (check_failed() != 0)
        fprintf(stderr, "%s\n", cuda_doing);
    program_free(&program);
}

int main(void)
{
    cuda_begin();
    const uint64_t seed = check_seed();
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 280);
    const int together = (int)check_setting("TUTTI_TEST_TOGETHER", 0);
    const double end = cuda_seconds() + (double)check_setting("TUTTI_TEST_SECONDS", 60);
    long i = 0;
    int gridded = 0; /* images with reductions of grids */
    make();
    for (int image = 0; image < IMAGES; image++) {
        cuda_pes_load(images[image]->kernel);
        gridded += images[image]->grids;
    }
    for (; i < rounds && check_failed() == 0 && cuda_seconds() < end; i++)
        one(seed + (uint64_t)i, together);
    CHECK(i < 3L * IMAGES || requests > 0 || check_setting("TUTTI_TEST_RING", CUDA_RINGS) == CUDA_RING_NONE,
          "no requests");
    CHECK(i < 3L * IMAGES || together || cuda_gpus() < 2 || spreads > 0, "nothing on several GPUs");
    CHECK(i < 3L * IMAGES || together || gridded == 0 || grids > 0, "no grids of several blocks");
    printf("seed %llu: %ld programs of %d images, of which %ld on %d GPUs and %ld of grids, %llu requests, %ld checks, "
           "%ld "
           "failed\n",
           (unsigned long long)seed, i, IMAGES, spreads, cuda_gpus(), grids, (unsigned long long)requests, check_done(),
           check_failed());
    return check_failed() != 0 || i == 0;
}
