/* What the kernel calls of <tutti/device.h>. */
#ifndef TUTTI_BENCH_TUTTI_CALLS_H
#define TUTTI_BENCH_TUTTI_CALLS_H

#include "tutti/device.h"

#ifdef __CUDACC__
/* In the form that fits the group. */
#define GAS_CALL(call, ...)                                                                                            \
    do {                                                                                                               \
        if (threads() == 1)                                                                                            \
            call(__VA_ARGS__);                                                                                         \
        else if (threads() <= 32)                                                                                      \
            call##_warp(__VA_ARGS__);                                                                                  \
        else                                                                                                           \
            call##_block(__VA_ARGS__);                                                                                 \
    } while (0)
#else
#define GAS_CALL(call, ...) (void)call##_block(__VA_ARGS__)
#endif

#define GAS_DO_PUT(dest, source, bytes, pe)         GAS_CALL(tshmem_putmem_nbi, dest, source, bytes, pe)
#define GAS_DO_GET(dest, source, bytes, pe)         GAS_CALL(tshmem_getmem_nbi, dest, source, bytes, pe)
#define GAS_DO_QUIET()                              GAS_CALL(tshmem_quiet)
#define GAS_DO_PTR(at, pe)                          tshmem_ptr(at, pe)
#define GAS_DO_FCOLLECT(team, dest, source, bytes)  GAS_CALL(tshmem_fcollectmem, team, dest, source, bytes)
#define GAS_DO_BROADCAST(team, dest, source, bytes) GAS_CALL(tshmem_broadcastmem, team, dest, source, bytes, 0)
#define GAS_DO_GRID(call, c, dest, source, n, type, ...)                                                               \
    do {                                                                                                               \
        const struct tutti_grid_work gas_work = {(c).work, (c).work_bytes};                                            \
        call((c).team, TUTTI_GRID_GLOBAL, dest, source, n, type, TSHMEM_OP_SUM, __VA_ARGS__, &gas_work);               \
    } while (0)
#define GAS_DO_REDUCE(c, n)    GAS_DO_GRID(tutti_grid_reduce, c, (c).in, (c).out, n, TSHMEM_ID_FLOAT, 0, (c).strategy)
#define GAS_DO_ALLREDUCE(c, n) GAS_DO_GRID(tutti_grid_allreduce, c, (c).in, (c).out, n, TSHMEM_ID_FLOAT, (c).strategy)
#define GAS_DO_SUM(c, n)                                                                                               \
    GAS_DO_GRID(tutti_grid_allreduce, c, (c).part, (c).part, (size_t)(n), TSHMEM_ID_DOUBLE, (c).strategy)

#endif
