/* Element types and operators as numbers, made from the lists in include/tutti/. */
#ifndef TUTTI_CORE_TYPES_H
#define TUTTI_CORE_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef uint16_t tutti_f16;  /* IEEE binary16, as bits */
typedef uint16_t tutti_bf16; /* upper half of a binary32, as bits */
typedef struct {
    float re, im;
} tutti_c32;
typedef struct {
    double re, im;
} tutti_c64;
typedef struct {
    float value;
    int32_t index;
} tutti_f32_i32;
typedef struct {
    double value;
    int32_t index;
} tutti_f64_i32;
typedef struct {
    int64_t value;
    int32_t index;
} tutti_i64_i32;
typedef struct {
    int32_t value;
    int32_t index;
} tutti_i32_i32;
typedef struct {
    int16_t value;
    int32_t index;
} tutti_i16_i32;
typedef struct {
    float value;
    float index;
} tutti_f32_f32;
typedef struct {
    double value;
    double index;
} tutti_f64_f64;

enum tutti_type {
#define TUTTI_TYPE(id, name, ctype, bytes, class_, unsigned_) TUTTI_TYPE_##id,
#include "tutti/types.def"
#undef TUTTI_TYPE
    TUTTI_TYPES,
    TUTTI_TYPE_NONE = -1
};

enum tutti_op {
#define TUTTI_OP(id, name, kernel, signs, groups) TUTTI_OP_##id,
#include "tutti/ops.def"
#undef TUTTI_OP
    TUTTI_OPS,
    TUTTI_OP_NONE = -1
};

/* Groups of the standard's table of operators; CUINT counts as CINT there and says how to read the bits. */
enum tutti_group {
    TUTTI_GROUP_CINT = 1,
    TUTTI_GROUP_FINT = 2,
    TUTTI_GROUP_FLOAT = 4,
    TUTTI_GROUP_COMPLEX = 8,
    TUTTI_GROUP_LOGICAL = 16,
    TUTTI_GROUP_BYTE = 32,
    TUTTI_GROUP_MULTI = 64,
    TUTTI_GROUP_PAIR = 128,
    TUTTI_GROUP_CUINT = 256
};

size_t tutti_type_size(int type); /* bytes of one element, its extent */
const char *tutti_type_name(int type);
const char *tutti_op_name(int op);

/* Element type of an MPI type of `group` with `size` bytes; TUTTI_TYPE_NONE where no kernel type has that size. */
int tutti_type_of(enum tutti_group group, size_t size);
/* 1 if the standard allows `op` on types of `group` and kernels exist for it. */
int tutti_legal(int op, enum tutti_group group);
/* 1 if a kernel exists for the pair of element type and operator. */
int tutti_has_kernel(int type, int op);
/* The type whose kernel serves the pair: the unsigned one where signs do not matter. */
int tutti_kernel_type(int type, int op);

#endif
