/* The interpreter's images for CUDA: each has the calls of one form, by the typed names of two types; the last one has
 * those of all forms, without types. All types of the kernels are there. */
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
};

struct cuda_image {
    const void *kernel; /* (const struct cuda_program *programs, int first): block b is PE first + b */
    const int *rows;    /* as in program_rows; ends with -1 */
    int forms;          /* a bit for each of enum FORM_... */
};

/* ROW(number) */
#define CUDA_IMAGE_LIST(ROW) ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)

/* The lists of rows of image number IMAGE, as those of shmem.def: families that a row is in there must be here. */
#define IMAGE_NONE(ROW, what)
#ifdef IMAGE
#if IMAGE == 0
#define CUDA_IMAGE_NAME           cuda_image_0
#define IMAGE_FORMS               (1 << FORM_BLOCK)
#define IMAGE_RMA(ROW, what)      ROW(int32, int32_t, INTEGER, what) ROW(float, float, FLOAT, what)
#define IMAGE_INTEGER(ROW, what)  ROW(int32, int32_t, INTEGER, what)
#define IMAGE_WORD                IMAGE_INTEGER
#define IMAGE_FLOATING(ROW, what) ROW(float, float, FLOAT, what)
#elif IMAGE == 1
#define CUDA_IMAGE_NAME          cuda_image_1
#define IMAGE_FORMS              (1 << FORM_WARP)
#define IMAGE_RMA(ROW, what)     ROW(ulong, unsigned long, INTEGER, what) ROW(half, __half, HALF, what)
#define IMAGE_INTEGER(ROW, what) ROW(ulong, unsigned long, INTEGER, what)
#define IMAGE_WORD               IMAGE_INTEGER
#elif IMAGE == 2
#define CUDA_IMAGE_NAME           cuda_image_2
#define IMAGE_FORMS               (1 << FORM_THREAD)
#define IMAGE_RMA(ROW, what)      ROW(int16, int16_t, INTEGER, what) ROW(double, double, DOUBLE, what)
#define IMAGE_INTEGER(ROW, what)  ROW(int16, int16_t, INTEGER, what)
#define IMAGE_FLOATING(ROW, what) ROW(double, double, DOUBLE, what)
#elif IMAGE == 3
#define CUDA_IMAGE_NAME          cuda_image_3
#define IMAGE_FORMS              (1 << FORM_WORK_GROUP)
#define IMAGE_RMA(ROW, what)     ROW(uint8, uint8_t, INTEGER, what) ROW(bfloat16, __nv_bfloat16, BFLOAT16, what)
#define IMAGE_INTEGER(ROW, what) ROW(uint8, uint8_t, INTEGER, what)
#elif IMAGE == 4
#define CUDA_IMAGE_NAME          cuda_image_4
#define IMAGE_FORMS              (1 << FORM_BLOCK)
#define IMAGE_RMA(ROW, what)     ROW(uint32, uint32_t, INTEGER, what)
#define IMAGE_INTEGER            IMAGE_RMA
#define IMAGE_WORD               IMAGE_RMA
#define IMAGE_COMPLEX(ROW, what) ROW(complexf, float2, COMPLEXF, what)
#elif IMAGE == 5
#define CUDA_IMAGE_NAME          cuda_image_5
#define IMAGE_FORMS              (1 << FORM_WARP)
#define IMAGE_RMA(ROW, what)     ROW(int64, int64_t, INTEGER, what)
#define IMAGE_INTEGER            IMAGE_RMA
#define IMAGE_WORD               IMAGE_RMA
#define IMAGE_COMPLEX(ROW, what) ROW(complexd, double2, COMPLEXD, what)
#elif IMAGE == 6
#define CUDA_IMAGE_NAME      cuda_image_6
#define IMAGE_FORMS          (1 << FORM_BLOCK)
#define IMAGE_RMA(ROW, what) ROW(uint16, uint16_t, INTEGER, what) ROW(int8, int8_t, INTEGER, what)
#define IMAGE_INTEGER        IMAGE_RMA
#else
#define CUDA_IMAGE_NAME cuda_image_7
#define IMAGE_FORMS     15
#define IMAGE_RMA       IMAGE_NONE
#endif

#ifndef IMAGE_INTEGER
#define IMAGE_INTEGER IMAGE_NONE
#endif
#ifndef IMAGE_WORD
#define IMAGE_WORD IMAGE_NONE /* of 4 or 8 bytes: atomics and waits */
#endif
#ifndef IMAGE_FLOATING
#define IMAGE_FLOATING IMAGE_NONE
#endif
#ifndef IMAGE_COMPLEX
#define IMAGE_COMPLEX IMAGE_NONE
#endif
#define IMAGE_ARITH(ROW, what) IMAGE_RMA(ROW, what) IMAGE_COMPLEX(ROW, what)
#define IMAGE_BITS             IMAGE_INTEGER
#define IMAGE_WAIT             IMAGE_WORD
#define IMAGE_AMO              IMAGE_WORD
#define IMAGE_BITWISE          IMAGE_WORD
#define IMAGE_AMO_FLOATING     IMAGE_FLOATING
#endif

#endif
