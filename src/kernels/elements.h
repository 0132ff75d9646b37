/* How kernels hold elements: the types of types.def without hidden padding, so that an element is moved with all its
 * bytes, and the type in which each is accumulated. tutti_e_ID: element; tutti_a_ID: accumulator. */
#ifndef TUTTI_KERNELS_ELEMENTS_H
#define TUTTI_KERNELS_ELEMENTS_H

#include <stdint.h>

typedef int8_t tutti_e_I8;
typedef uint8_t tutti_e_U8;
typedef int16_t tutti_e_I16;
typedef uint16_t tutti_e_U16;
typedef int32_t tutti_e_I32;
typedef uint32_t tutti_e_U32;
typedef int64_t tutti_e_I64;
typedef uint64_t tutti_e_U64;
typedef uint16_t tutti_e_F16;
typedef uint16_t tutti_e_BF16;
typedef float tutti_e_F32;
typedef double tutti_e_F64;
typedef struct {
    float re, im;
} tutti_e_C32;
typedef struct {
    double re, im;
} tutti_e_C64;
typedef struct {
    float value;
    int32_t index;
} tutti_e_F32_I32;
typedef struct {
    double value;
    int32_t index, pad;
} tutti_e_F64_I32;
typedef struct {
    int64_t value;
    int32_t index, pad;
} tutti_e_I64_I32;
typedef struct {
    int32_t value, index;
} tutti_e_I32_I32;
typedef struct {
    int16_t value, pad;
    int32_t index;
} tutti_e_I16_I32;
typedef struct {
    float value, index;
} tutti_e_F32_F32;
typedef struct {
    double value, index;
} tutti_e_F64_F64;

typedef tutti_e_I8 tutti_a_I8;
typedef tutti_e_U8 tutti_a_U8;
typedef tutti_e_I16 tutti_a_I16;
typedef tutti_e_U16 tutti_a_U16;
typedef tutti_e_I32 tutti_a_I32;
typedef tutti_e_U32 tutti_a_U32;
typedef tutti_e_I64 tutti_a_I64;
typedef tutti_e_U64 tutti_a_U64;
typedef float tutti_a_F16; /* half precision: over all ranks in float, rounded once */
typedef float tutti_a_BF16;
typedef tutti_e_F32 tutti_a_F32;
typedef tutti_e_F64 tutti_a_F64;
typedef tutti_e_C32 tutti_a_C32;
typedef tutti_e_C64 tutti_a_C64;
typedef tutti_e_F32_I32 tutti_a_F32_I32;
typedef tutti_e_F64_I32 tutti_a_F64_I32;
typedef tutti_e_I64_I32 tutti_a_I64_I32;
typedef tutti_e_I32_I32 tutti_a_I32_I32;
typedef tutti_e_I16_I32 tutti_a_I16_I32;
typedef tutti_e_F32_F32 tutti_a_F32_F32;
typedef tutti_e_F64_F64 tutti_a_F64_F64;

#endif
