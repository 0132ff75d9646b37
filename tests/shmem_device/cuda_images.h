/* The interpreter's images for CUDA: the first and the last one have the calls of two forms each, without types; each
 * other one those of one form, by the typed names of one type. All types of the kernels are there. */
#ifndef TUTTI_TESTS_SHMEM_CUDA_IMAGES_H
#define TUTTI_TESTS_SHMEM_CUDA_IMAGES_H

#include "shmem_device/program.h"

enum { CUDA_THREADS = 256 }; /* of a block, at most */

/* What a kernel knows of a PE's program: all in device memory. */
struct cuda_program {
    const struct tshmem_state *state;
    const struct command *list;
    char *heap;
    int count;
    int fenced;   /* what goes by the ring has no order by itself, and programs want one */
    uint32_t *at; /* pinned: the command that each warp of the first block is at, plus 1 */
};

struct cuda_image {
    const void *kernel; /* (const struct cuda_program *programs, int first, int gridded): block b is PE first + b;
                           gridded: all blocks are PE first's, of which one runs what is none of the grid's */
    const int *rows;    /* as in program_rows; ends with -1 */
    int forms;          /* a bit for each of enum FORM_... */
    int contexts;       /* 1: it has the calls with contexts */
    int grids;          /* 1: reductions of grids are there */
};

/* 1 << FORM_..., as numbers that #if knows: to it an enumerator is 0. */
#define IMAGE_BY_THREAD     1
#define IMAGE_BY_WARP       2
#define IMAGE_BY_BLOCK      4
#define IMAGE_BY_WORK_GROUP 8

/* ROW(number). A program of fewer images defines its own list: one image is enough for random programs of its calls. */
#ifndef CUDA_IMAGE_LIST
#define CUDA_IMAGE_LIST(ROW)                                                                                           \
    ROW(0)                                                                                                             \
    ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7) ROW(8) ROW(9) ROW(10) ROW(11) ROW(12) ROW(13) ROW(14) ROW(15)
#endif

#ifdef IMAGE
#define IMAGE_NONE(ROW, what)
/* Of image number IMAGE: its row, by the lists of shmem.def that it is in. IMAGE_GRIDS: with reductions of grids, which
 * take the compiler as long as all the rest; so do calls with contexts, IMAGE_CONTEXTS: some of each form have them.
 * WORD      integers with atomics and waits
 * NARROW    other integers
 * FLOATING  numbers with an atomic sum
 * PLAIN     other numbers
 * COMPLEX   in reductions alone */
#if IMAGE == 0
#define IMAGE_FORMS (IMAGE_BY_THREAD | IMAGE_BY_BLOCK)
#elif IMAGE == 1
#define IMAGE_GRIDS           1
#define IMAGE_FORMS           IMAGE_BY_BLOCK
#define IMAGE_WORD(ROW, what) ROW(int32, int32_t, INTEGER, what)
#elif IMAGE == 2
#define IMAGE_FORMS           IMAGE_BY_WARP
#define IMAGE_WORD(ROW, what) ROW(ulong, unsigned long, INTEGER, what)
#elif IMAGE == 3
#define IMAGE_FORMS               IMAGE_BY_THREAD
#define IMAGE_FLOATING(ROW, what) ROW(double, double, DOUBLE, what)
#elif IMAGE == 4
#define IMAGE_FORMS             IMAGE_BY_WORK_GROUP
#define IMAGE_NARROW(ROW, what) ROW(uint8, uint8_t, INTEGER, what)
#elif IMAGE == 5
#define IMAGE_GRIDS               1
#define IMAGE_FORMS               IMAGE_BY_WARP
#define IMAGE_FLOATING(ROW, what) ROW(float, float, FLOAT, what)
#elif IMAGE == 6
#define IMAGE_FORMS            IMAGE_BY_BLOCK
#define IMAGE_PLAIN(ROW, what) ROW(half, __half, HALF, what)
#elif IMAGE == 7
#define IMAGE_FORMS              IMAGE_BY_WARP
#define IMAGE_COMPLEX(ROW, what) ROW(complexd, double2, COMPLEXD, what)
#elif IMAGE == 8
#define IMAGE_FORMS             IMAGE_BY_THREAD
#define IMAGE_NARROW(ROW, what) ROW(int16, int16_t, INTEGER, what)
#elif IMAGE == 9
#define IMAGE_FORMS           IMAGE_BY_WORK_GROUP
#define IMAGE_WORD(ROW, what) ROW(uint32, uint32_t, INTEGER, what)
#elif IMAGE == 10
#define IMAGE_FORMS            IMAGE_BY_WARP
#define IMAGE_PLAIN(ROW, what) ROW(bfloat16, __nv_bfloat16, BFLOAT16, what)
#elif IMAGE == 11
#define IMAGE_FORMS           IMAGE_BY_THREAD
#define IMAGE_WORD(ROW, what) ROW(int64, int64_t, INTEGER, what)
#elif IMAGE == 12
#define IMAGE_FORMS              IMAGE_BY_BLOCK
#define IMAGE_COMPLEX(ROW, what) ROW(complexf, float2, COMPLEXF, what)
#elif IMAGE == 13
#define IMAGE_FORMS             IMAGE_BY_BLOCK
#define IMAGE_NARROW(ROW, what) ROW(uint16, uint16_t, INTEGER, what)
#elif IMAGE == 14
#define IMAGE_FORMS             IMAGE_BY_WARP
#define IMAGE_NARROW(ROW, what) ROW(int8, int8_t, INTEGER, what)
#elif IMAGE == 15
#define IMAGE_FORMS (IMAGE_BY_WARP | IMAGE_BY_WORK_GROUP)
#endif

#ifndef IMAGE_GRIDS
#define IMAGE_GRIDS 0
#endif
#define IMAGE_CONTEXTS (IMAGE == 2 || IMAGE == 3 || IMAGE == 4 || IMAGE == 11 || IMAGE == 13)
#ifndef IMAGE_WORD
#define IMAGE_WORD IMAGE_NONE
#endif
#ifndef IMAGE_NARROW
#define IMAGE_NARROW IMAGE_NONE
#endif
#ifndef IMAGE_FLOATING
#define IMAGE_FLOATING IMAGE_NONE
#endif
#ifndef IMAGE_PLAIN
#define IMAGE_PLAIN IMAGE_NONE
#endif
#ifndef IMAGE_COMPLEX
#define IMAGE_COMPLEX IMAGE_NONE
#endif
#define IMAGE_BITS(ROW, what)  IMAGE_WORD(ROW, what) IMAGE_NARROW(ROW, what)
#define IMAGE_RMA(ROW, what)   IMAGE_BITS(ROW, what) IMAGE_FLOATING(ROW, what) IMAGE_PLAIN(ROW, what)
#define IMAGE_ARITH(ROW, what) IMAGE_RMA(ROW, what) IMAGE_COMPLEX(ROW, what)
#define IMAGE_WAIT             IMAGE_WORD
#define IMAGE_AMO              IMAGE_WORD
#define IMAGE_BITWISE          IMAGE_WORD
#define IMAGE_AMO_FLOATING     IMAGE_FLOATING

#define IMAGE_NAME_OF(number) cuda_image_##number
#define IMAGE_NAME(number)    IMAGE_NAME_OF(number)
#define CUDA_IMAGE_NAME       IMAGE_NAME(IMAGE)
#endif

#endif
