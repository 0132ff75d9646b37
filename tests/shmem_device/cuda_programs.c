/* Random programs by kernels of one GPU, against the model: PEs are launches that run at once, or the blocks of one. A
 * round is a program of one image's rows (cuda_images.h). TUTTI_TEST_ROUNDS and TUTTI_TEST_SECONDS end a run,
 * TUTTI_TEST_SEED repeats one, TUTTI_TEST_TOGETHER=1 makes every round one launch. Every third round goes by the ring,
 * another one does from some size on; TUTTI_TEST_RING=0, 1, 2: none, all, from some size on, in all rounds. */
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

static uint64_t requests;

static void make(void)
{
    void *memory;
    cuda_pes_make(&pes, sizeof(struct program_heap));
    cuda_must((int)cudaMalloc(&memory, sizeof *programs * PROGRAM_PES), "programs");
    programs = memory;
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
        told[pe] = (struct cuda_program){pes.state[pe], lists[pe], pes.heap[pe], program->count, fenced};
        cuda_must((int)cudaMemcpy(lists[pe], program->list[pe], sizeof **lists * (size_t)program->count,
                                  cudaMemcpyHostToDevice),
                  "writing commands");
        cuda_must((int)cudaMemcpy(pes.heap[pe], heap[pe], sizeof **heap, cudaMemcpyHostToDevice), "writing a heap");
    }
    cuda_must((int)cudaMemcpy(programs, told, sizeof told, cudaMemcpyHostToDevice), "writing programs");
    cuda_must((int)cudaDeviceSynchronize(), "writing");
}

static void one(uint64_t seed, int together)
{
    static const unsigned sizes[] = {64, 32, 1, 256, 96, 20, 50, 128};
    uint64_t random = random_mix(~seed);
    const int image = (int)(seed % IMAGES), count = 1 + (int)(random_next(&random) % PROGRAM_PES);
    const unsigned threads = sizes[random_next(&random) % (sizeof sizes / sizeof *sizes)];
    const void *const kernel = images[image]->kernel;
    struct program program;
    int first = 0;
    void *arguments[] = {&programs, &first};
    together |= (int)(random_next(&random) % 2);
    program_draw(&program, count, seed, images[image]->rows, 1, images[image]->forms);
    const int row = images[image]->rows[0];
    const long wanted = check_setting("TUTTI_TEST_RING", CUDA_RINGS);
    const enum cuda_ring how = (enum cuda_ring)(wanted < CUDA_RINGS ? (uint64_t)wanted : seed / IMAGES % CUDA_RINGS);
    snprintf(cuda_doing, sizeof cuda_doing, "seed %llu: image %d (%s, forms %d), %d PEs, %u threads, %s, ring %d",
             (unsigned long long)seed, image, row < 0 ? "no rows" : program_rows[row].name, images[image]->forms, count,
             threads, together ? "one launch" : "a launch each", (int)how);
    cuda_pes_open(&pes, count, 5000);
    cuda_serve(&pes, how, 64, seed);
    for (int pe = 0; pe < count; pe++) {
        program_fill(heap[pe], &program, pe);
        memcpy(model[pe], heap[pe], sizeof **model);
    }
    send(&program, how != CUDA_RING_NONE);
    if (together)
        cuda_pes_launch_together(0, kernel, (unsigned)count, threads, arguments);
    for (; !together && first < count; first++)
        cuda_pes_launch(first, kernel, 1, threads, arguments);
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
    const long rounds = check_setting("TUTTI_TEST_ROUNDS", 280);
    const int together = (int)check_setting("TUTTI_TEST_TOGETHER", 0);
    const double end = cuda_seconds() + (double)check_setting("TUTTI_TEST_SECONDS", 60);
    long i = 0;
    make();
    for (; i < rounds && check_failed() == 0 && cuda_seconds() < end; i++)
        one(seed + (uint64_t)i, together);
    CHECK(i < 3L * IMAGES || requests > 0 || check_setting("TUTTI_TEST_RING", CUDA_RINGS) == CUDA_RING_NONE,
          "no requests");
    printf("seed %llu: %ld programs of %d images, %llu requests, %ld checks, %ld failed\n", (unsigned long long)seed, i,
           IMAGES, (unsigned long long)requests, check_done(), check_failed());
    return check_failed() != 0 || i == 0;
}
