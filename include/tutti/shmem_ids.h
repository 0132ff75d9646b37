/* The numbers of types and operators of reductions in kernels. */
#ifndef TUTTI_SHMEM_IDS_H
#define TUTTI_SHMEM_IDS_H

/* Numbered as the types of Tutti's kernels. */
enum tshmem_type {
    TSHMEM_INT8,
    TSHMEM_UINT8,
    TSHMEM_INT16,
    TSHMEM_UINT16,
    TSHMEM_INT32,
    TSHMEM_UINT32,
    TSHMEM_INT64,
    TSHMEM_UINT64,
    TSHMEM_ID_HALF,
    TSHMEM_ID_BFLOAT16,
    TSHMEM_ID_FLOAT,
    TSHMEM_ID_DOUBLE,
    TSHMEM_ID_COMPLEXF,
    TSHMEM_ID_COMPLEXD,
    TSHMEM_ID_LONGDOUBLE,
    TSHMEM_TYPES
};
enum tshmem_op {
    TSHMEM_OP_AND,
    TSHMEM_OP_OR,
    TSHMEM_OP_XOR,
    TSHMEM_OP_MAX,
    TSHMEM_OP_MIN,
    TSHMEM_OP_SUM,
    TSHMEM_OP_PROD,
    TSHMEM_OPS
};

#endif
