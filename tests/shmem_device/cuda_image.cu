/* The interpreter of random programs in CUDA, of one image (cuda_images.h): so many names at once would take the compiler too
 * long. */
#define CUDA_KERNELS
#include "shmem_device/cuda_pes.h"

#include "tutti/device.h"

#include "shmem_device/cuda_images.h"
#include "support/random.h"

/* A call as a function of its own, which the compiler works on apart. */
template <auto call, typename... types> static __device__ __noinline__ auto apart(types... arguments)
{
    return call(arguments...);
}

#define CALLED(call)      apart<call>
#define TEST_FN           static __device__ __noinline__ __attribute__((unused))
#define TYPED_REDUCTIONS  /* with the type in an argument, each call would hold the reductions of all types */
#define INTERPRET_FORMS   IMAGE_FORMS
#define INTERPRET_CONTEXTS IMAGE_CONTEXTS
#define INTERPRET_GRIDS   IMAGE_GRIDS
#define LIST_RMA          IMAGE_RMA
#define LIST_ARITH        IMAGE_ARITH
#define LIST_BITS         IMAGE_BITS
#define LIST_WAIT         IMAGE_WAIT
#define LIST_AMO          IMAGE_AMO
#define LIST_AMO_FLOATING IMAGE_AMO_FLOATING
#define LIST_BITWISE      IMAGE_BITWISE
#include "shmem_device/interpret.inc"

static_assert(IMAGE_BY_THREAD == 1 << FORM_THREAD && IMAGE_BY_WARP == 1 << FORM_WARP &&
                  IMAGE_BY_BLOCK == 1 << FORM_BLOCK && IMAGE_BY_WORK_GROUP == 1 << FORM_WORK_GROUP,
              "the forms' bits");

/* Now and then a warp comes later, up to some microseconds. */
static __device__ void delay(uint64_t *random)
{
    const uint64_t draw = random_next(random);
    const long long cycles = draw % 8 ? 0 : (long long)(draw / 8 % 4000);
    for (const long long start = clock64(); clock64() - start < cycles;)
        ;
}

/* Block b is PE first + b; gridded: all are PE first's, and come to what is the grid's. */
static __global__ void __launch_bounds__(CUDA_THREADS) run(const struct cuda_program *programs, int first, int gridded)
{
    const struct cuda_program *const own = &programs[first + (gridded ? 0 : (int)blockIdx.x)];
    const int alone = !gridded || blockIdx.x == 0;
    cuda_pe_is(own->state);
    uint64_t random = random_mix((uint64_t)(first + (int)blockIdx.x) * CUDA_THREADS + threadIdx.x / 32);
    for (int i = 0; i < own->count; i++) {
        if (alone && threadIdx.x % 32 == 0)
            *(volatile uint32_t *)&own->at[threadIdx.x / 32] = (uint32_t)i + 1;
#if IMAGE_GRIDS
        if (own->list[i].call == CALL_GRID) {
            delay(&random);
            if (alone && own->fenced)
                tshmem_quiet_block();
            interpret_grid(&own->list[i], own->heap);
            continue;
        }
#endif
        if (!alone)
            continue;
        delay(&random);
        if (own->fenced)
            tshmem_quiet_block();
        interpret(&own->list[i], own->heap);
    }
    if (alone)
        tshmem_quiet_block();
    if (alone && threadIdx.x % 32 == 0)
        *(volatile uint32_t *)&own->at[threadIdx.x / 32] = (uint32_t)own->count + 1;
}

/* The rows, as this compiler numbers them. */
#define IMAGE_ROW(name, type, kind, what) ROW_##name,
static const int rows[] = {IMAGE_ARITH(IMAGE_ROW, ) - 1};

extern "C" const struct cuda_image CUDA_IMAGE_NAME;
const struct cuda_image CUDA_IMAGE_NAME = {(const void *)run, rows, IMAGE_FORMS, IMAGE_CONTEXTS, IMAGE_GRIDS};
