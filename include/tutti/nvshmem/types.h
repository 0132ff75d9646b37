/* Constants and types of NVSHMEM. Included by nvshmem.h alone, before tutti/shmem.h. */
#ifndef TUTTI_NVSHMEM_TYPES_H
#define TUTTI_NVSHMEM_TYPES_H

#ifdef __CUDACC_RTC__
#include "tutti/shmem_state.h" /* which has the types of numbers for NVRTC */
#else
/* As NVSHMEM's own header: programs rely on what it includes. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
/* Without CUDA's headers, on the host device, a stream is one of tutti_stream_create(). */
#ifdef __has_include
#if __has_include(<cuda_runtime.h>)
#include <cuda.h>
#include <cuda_runtime.h>
#define TUTTI_NVSHMEM_CUDA
#endif
#endif
#ifndef TUTTI_NVSHMEM_CUDA
typedef struct CUstream_st *cudaStream_t;
#elif defined(__cplusplus)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifdef __CUDACC__
#include <cooperative_groups.h>
#endif
#ifndef TUTTI_SHMEM_H
#ifndef TSHMEM_HALF
#define TSHMEM_HALF __half
#endif
#ifndef TSHMEM_BFLOAT16
#define TSHMEM_BFLOAT16 __nv_bfloat16
#endif
#endif
#endif
#endif

/* Version of OpenSHMEM, and that of NVSHMEM whose names these are. */
#define NVSHMEM_MAJOR_VERSION          1
#define NVSHMEM_MINOR_VERSION          5
#define NVSHMEM_VENDOR_MAJOR_VERSION   3
#define NVSHMEM_VENDOR_MINOR_VERSION   5
#define NVSHMEM_VENDOR_PATCH_VERSION   0
#define NVSHMEM_VENDOR_PACKAGE_VERSION 0
#define NVSHMEM_VENDOR_VERSION                                                                                         \
    (NVSHMEM_VENDOR_MAJOR_VERSION * 10000 + NVSHMEM_VENDOR_MINOR_VERSION * 100 + NVSHMEM_VENDOR_PATCH_VERSION)
#define NVSHMEM_VENDOR_STRING "Tutti"
#define NVSHMEM_MAX_NAME_LEN  256

#define NVSHMEM_THREAD_SINGLE     TSHMEM_THREAD_SINGLE
#define NVSHMEM_THREAD_FUNNELED   TSHMEM_THREAD_FUNNELED
#define NVSHMEM_THREAD_SERIALIZED TSHMEM_THREAD_SERIALIZED
#define NVSHMEM_THREAD_MULTIPLE   TSHMEM_THREAD_MULTIPLE
typedef int nvshmemx_thread_support_t;

#define NVSHMEM_CMP_EQ TSHMEM_CMP_EQ
#define NVSHMEM_CMP_NE TSHMEM_CMP_NE
#define NVSHMEM_CMP_GT TSHMEM_CMP_GT
#define NVSHMEM_CMP_GE TSHMEM_CMP_GE
#define NVSHMEM_CMP_LT TSHMEM_CMP_LT
#define NVSHMEM_CMP_LE TSHMEM_CMP_LE
typedef int nvshmemx_cmp_type_t;

#define NVSHMEM_SIGNAL_SET TSHMEM_SIGNAL_SET
#define NVSHMEM_SIGNAL_ADD TSHMEM_SIGNAL_ADD

#define NVSHMEM_TEAM_INVALID TSHMEM_TEAM_INVALID
#define NVSHMEM_TEAM_WORLD   TSHMEM_TEAM_WORLD
#define NVSHMEM_TEAM_SHARED  TSHMEM_TEAM_SHARED
#define NVSHMEMX_TEAM_NODE   TSHMEM_TEAM_NODE
#define NVSHMEM_PE_INVALID   (-1)

/* Of NVSHMEM's own, which its tests of speed print errors by. */
#define NVSHMEMI_ERROR_PRINT(...)                                                                                      \
    do {                                                                                                               \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                                \
        fprintf(stderr, __VA_ARGS__);                                                                                  \
        fprintf(stderr, "\n");                                                                                         \
    } while (0)

/* Results of calls: 0, or another number. These are the numbers of NVSHMEM; failures of Tutti's own calls are its
 * negative statuses. */
enum nvshmemx_status {
    NVSHMEMX_SUCCESS = 0,
    NVSHMEMX_ERROR_INVALID_VALUE,
    NVSHMEMX_ERROR_OUT_OF_MEMORY,
    NVSHMEMX_ERROR_NOT_SUPPORTED,
    NVSHMEMX_ERROR_SYMMETRY,
    NVSHMEMX_ERROR_GPU_NOT_SELECTED,
    NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED,
    NVSHMEMX_ERROR_INTERNAL
};

typedef enum {
    NVSHMEM_STATUS_NOT_INITIALIZED = 0,
    NVSHMEM_STATUS_IS_BOOTSTRAPPED,
    NVSHMEM_STATUS_IS_INITIALIZED,
    NVSHMEM_STATUS_LIMITED_MPG,
    NVSHMEM_STATUS_FULL_MPG
} nvshmemx_init_status_t;

typedef uint64_t nvshmemx_team_uniqueid_t;
#define NVSHMEM_TEAM_UNIQUID_INITIALIZER UINT64_MAX

/* A team's configuration; config_mask: TSHMEM_TEAM_NUM_CONTEXTS, which NVSHMEM calls: */
typedef struct {
    int version;
    int num_contexts;
    nvshmemx_team_uniqueid_t uniqueid; /* of nvshmemx_team_init() */
} nvshmem_team_config_t;
#define NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS 1
#define NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID     2
#define NVSHMEM_TEAM_NUM_CONTEXTS             NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS
#define NVSHMEM_TEAM_CONFIG_INITIALIZER                                                                                \
    {                                                                                                                  \
        2, -1, NVSHMEM_TEAM_UNIQUID_INITIALIZER                                                                        \
    }

/* Of one job: made by one process, which gives it to all. */
typedef struct {
    int version;
    char internal[124];
} nvshmemx_uniqueid_t;
#define NVSHMEMX_UNIQUEID_INITIALIZER                                                                                  \
    {                                                                                                                  \
        1,                                                                                                             \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

typedef struct {
    int version;
    nvshmemx_uniqueid_t *id;
    int myrank;
    int nranks;
} nvshmemx_uniqueid_args_t;
#define NVSHMEMX_UNIQUEID_ARGS_INITIALIZER                                                                             \
    {                                                                                                                  \
        1, NULL, -1, -1                                                                                                \
    }

typedef struct {
    int version;
    nvshmemx_uniqueid_args_t uid_args;
    int cuda_device_id;
} nvshmemx_init_args_t;
#define NVSHMEMX_INIT_ARGS_INITIALIZER                                                                                 \
    {                                                                                                                  \
        2, NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, -1                                                                      \
    }

/* mpi_comm: points to an MPI_Comm. */
typedef struct {
    int version;
    void *mpi_comm;
    nvshmemx_init_args_t args;
} nvshmemx_init_attr_t;
#define NVSHMEMX_INIT_ATTR_INITIALIZER                                                                                 \
    {                                                                                                                  \
        2, NULL, NVSHMEMX_INIT_ARGS_INITIALIZER                                                                        \
    }
#define nvshmemx_init_init_attr_ver_only(attr) ((void)((attr).version = 2))

/* How nvshmemx_init_attr() begins: one of these. */
#define NVSHMEMX_INIT_WITH_MPI_COMM (1 << 1)
#define NVSHMEMX_INIT_WITH_SHMEM    (1 << 2)
#define NVSHMEMX_INIT_WITH_UNIQUEID (1 << 3)

#endif
