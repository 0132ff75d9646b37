/* MPI's handles of Tutti's element types and operators. */
#include <dlfcn.h>

#include "bench/common/bench.h"
#include "bench/reductions/types.h"
#include "core/types.h"

int bench_type_is_own(int type)
{
    return type == TUTTI_TYPE_F16 || type == TUTTI_TYPE_BF16;
}

/* Handles of half precision are asked from the library in front, which makes them. */
static MPI_Datatype own_type(int type)
{
    int (*ask)(int which, void *handle, size_t size);
    *(void **)(void *)&ask = dlsym(RTLD_DEFAULT, "tutti_mpix_type");
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    if (!ask || ask(type == TUTTI_TYPE_F16 ? 0 : 1, &handle, sizeof handle) != 0)
        return MPI_DATATYPE_NULL;
    return handle;
}

MPI_Datatype bench_mpi_type(int type)
{
    if (bench_type_is_own(type))
        return own_type(type);
    switch (type) {
#define IS(id, handle)                                                                                                 \
    case TUTTI_TYPE_##id:                                                                                              \
        return handle;
        IS(I8, MPI_INT8_T)
        IS(U8, MPI_UINT8_T)
        IS(I16, MPI_INT16_T)
        IS(U16, MPI_UINT16_T)
        IS(I32, MPI_INT32_T)
        IS(U32, MPI_UINT32_T)
        IS(I64, MPI_INT64_T)
        IS(U64, MPI_UINT64_T)
        IS(F32, MPI_FLOAT)
        IS(F64, MPI_DOUBLE)
        IS(C32, MPI_C_FLOAT_COMPLEX)
        IS(C64, MPI_C_DOUBLE_COMPLEX)
        IS(F32_I32, MPI_FLOAT_INT)
        IS(F64_I32, MPI_DOUBLE_INT)
        IS(I64_I32, MPI_LONG_INT)
        IS(I32_I32, MPI_2INT)
        IS(I16_I32, MPI_SHORT_INT)
#ifdef MPI_2REAL
        IS(F32_F32, MPI_2REAL)
#endif
#ifdef MPI_2DOUBLE_PRECISION
        IS(F64_F64, MPI_2DOUBLE_PRECISION)
#endif
#undef IS
    }
    return MPI_DATATYPE_NULL;
}

MPI_Op bench_mpi_op(int op)
{
    switch (op) {
#define TUTTI_OP(id, name, kernel, signs, groups)                                                                      \
    case TUTTI_OP_##id:                                                                                                \
        return MPI_##id;
#include "tutti/ops.def"
#undef TUTTI_OP
    }
    return MPI_OP_NULL;
}
