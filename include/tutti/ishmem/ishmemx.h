/* <ishmemx.h>: Intel SHMEM's extensions, on the host. */
#ifndef TUTTI_ISHMEMX_H
#define TUTTI_ISHMEMX_H

#include "tutti/ishmem/ishmem.h"

#include <time.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif

#include "tutti/words_push.h"

#define ISHMEMX_TEAM_NODE TSHMEM_TEAM_NODE

/* ---- begin ---- */

typedef enum {
    ISHMEMX_RUNTIME_MPI,
    ISHMEMX_RUNTIME_OPENSHMEM,
    ISHMEMX_RUNTIME_PMI,
    ISHMEMX_RUNTIME_INVALID
} ishmemx_runtime_type_t;

/* runtime: Tutti's is always an MPI; a program that names another one begins as ishmem_init() does. initialize_runtime:
 * false where the program has begun the MPI. gpu: false: heaps are in host memory. mpi_comm: points to an MPI_Comm,
 * whose ranks become the PEs; NULL: all processes. */
#ifdef __cplusplus
struct ishmemx_attr_t {
    ishmemx_runtime_type_t runtime = ISHMEMX_RUNTIME_MPI;
    bool initialize_runtime = true;
    bool gpu = true;
    void *mpi_comm = nullptr;
};
#else
typedef struct {
    ishmemx_runtime_type_t runtime;
    bool initialize_runtime, gpu;
    void *mpi_comm;
} ishmemx_attr_t;
#endif

/* Collective. Failures end the program. */
TUTTI_ISHMEM void ishmemx_init_attr(ishmemx_attr_t *attr)
{
    int status = tutti_shmem_heap_from("ISHMEM_SYMMETRIC_SIZE");
    if (!attr->gpu)
        tutti_shmem_heap_on_host();
    if (status == 0 && (attr->mpi_comm || !attr->initialize_runtime))
        status = tutti_shmem_init_at(attr->mpi_comm);
    else if (status == 0)
        status = tshmem_init();
    tutti_shmem_must(status, "ishmemx_init_attr");
}

TUTTI_ISHMEM ishmemx_runtime_type_t ishmemx_runtime_get_type(void)
{
    return ISHMEMX_RUNTIME_MPI;
}

TUTTI_ISHMEM void ishmemx_query_initialized(int *initialized)
{
    *initialized = tshmem_n_pes() > 0;
}

/* ---- signals, and blocks of elements ---- */

#define ishmemx_signal_set tshmem_signal_set
#define ishmemx_signal_add tshmem_signal_add

#define TUTTI_ISHMEMX_BLOCKS(call, way, type, bytes)                                                                   \
    TSHMEM_INLINE void ishmemx_##call(type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,      \
                                      size_t nblocks, int pe)                                                          \
    {                                                                                                                  \
        tutti_shmem_##way##_blocks(dest, source, dst, sst, bsize, nblocks, bytes, pe);                                 \
    }
#define TUTTI_ISHMEMX_CALLS(name, type, kind, what)                                                                    \
    TUTTI_ISHMEMX_BLOCKS(name##_ibput, put, type, sizeof(type))                                                        \
    TUTTI_ISHMEMX_BLOCKS(name##_ibget, get, type, sizeof(type))
TSHMEM_RMA(TUTTI_ISHMEMX_CALLS, )
#undef TUTTI_ISHMEMX_CALLS
#define TUTTI_ISHMEMX_CALLS(bits, what)                                                                                \
    TUTTI_ISHMEMX_BLOCKS(ibput##bits, put, void, bits / 8)                                                             \
    TUTTI_ISHMEMX_BLOCKS(ibget##bits, get, void, bits / 8)
TSHMEM_SIZES(TUTTI_ISHMEMX_CALLS, )
#undef TUTTI_ISHMEMX_CALLS
#undef TUTTI_ISHMEMX_BLOCKS

#ifdef __cplusplus
template <class T>
TSHMEM_INLINE void ishmemx_ibput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
                                 int pe)
{
    tshmem_ibput(dest, source, dst, sst, bsize, nblocks, pe);
}
template <class T>
TSHMEM_INLINE void ishmemx_ibget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
                                 int pe)
{
    tshmem_ibget(dest, source, dst, sst, bsize, nblocks, pe);
}
#endif

/* ---- printing, and times; local ---- */

typedef enum { DEBUG, WARNING, ERROR, STDOUT, STDERR } ishmemx_print_msg_type_t;

/* DEBUG is printed where ISHMEM_DEBUG is set, ERROR ends all processes; STDOUT and STDERR are printed as they are. */
TUTTI_ISHMEM void tutti_ishmem_print(const char *file, long line, const char *func, const char *out,
                                     ishmemx_print_msg_type_t type)
{
    static const char *const kinds[] = {"DEBUG", "WARN", "ERROR"};
    if (type == STDOUT || type == STDERR)
        fputs(out, type == STDOUT ? stdout : stderr);
    else if (type != DEBUG || getenv("ISHMEM_DEBUG"))
        fprintf(stderr, "[%04d] %s: %s:%ld: %s: %s\n", tshmem_my_pe(), kinds[type], file, line, func, out);
    if (type == ERROR)
        tshmem_global_exit(EXIT_FAILURE);
}

#ifdef __cplusplus
TUTTI_ISHMEM void ishmemx_print(const char *file, long int line, const char *func, const char *out,
                                ishmemx_print_msg_type_t type)
{
    tutti_ishmem_print(file, line, func, out, type);
}
TUTTI_ISHMEM void ishmemx_print(const char *out, ishmemx_print_msg_type_t type)
{
    tutti_ishmem_print("", 0, "", out, type);
}
TUTTI_ISHMEM void ishmemx_print(const char *out)
{
    tutti_ishmem_print("", 0, "", out, DEBUG);
}
#endif

typedef uintptr_t ishmemx_ts_handle_t;

TUTTI_ISHMEM ishmemx_ts_handle_t ishmemx_ts_handle(unsigned long *pointer)
{
    return (ishmemx_ts_handle_t)pointer;
}

/* Stores the time: the processor's counter where it has one, as Intel SHMEM does, otherwise nanoseconds. */
TUTTI_ISHMEM void ishmemx_timestamp(ishmemx_ts_handle_t dst)
{
#if defined(__x86_64__)
    *(unsigned long *)dst = (unsigned long)__builtin_ia32_rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *(unsigned long *)dst = (unsigned long)now.tv_sec * 1000000000ul + (unsigned long)now.tv_nsec;
#endif
}

TUTTI_ISHMEM void ishmemx_timestamp_nbi(ishmemx_ts_handle_t dst)
{
    ishmemx_timestamp(dst);
}

#include "tutti/words_pop.h"

#endif
