/* What the kernel calls of <tutti/device.h>. */
#ifndef TUTTI_BENCH_TUTTI_CALLS_H
#define TUTTI_BENCH_TUTTI_CALLS_H

#include "tutti/device.h"

#ifdef __CUDACC__
/* In the form that fits the group. */
#define GAS_CALL(call, ...)                                                                                            \
    do {                                                                                                               \
        if (gas_by == GAS_BY_THREAD)                                                                                   \
            call(__VA_ARGS__);                                                                                         \
        else if (gas_by == GAS_BY_WARP)                                                                                \
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

#define GAS_DO_P(word, value, pe)                    tshmem_uint64_p(word, value, pe)
#define GAS_DO_ADD(word, value, pe)                  tshmem_uint64_atomic_add(word, value, pe)
#define GAS_DO_FETCH_ADD(word, value, pe)            tshmem_uint64_atomic_fetch_add(word, value, pe)
#define GAS_DO_BLOCKING_GET(dest, source, bytes, pe) GAS_CALL(tshmem_getmem, dest, source, bytes, pe)
#define GAS_DO_PUT_SIGNAL(dest, source, bytes, signal, value, pe)                                                      \
    GAS_CALL(tshmem_putmem_signal, dest, source, bytes, signal, value, TSHMEM_SIGNAL_SET, pe)
#define GAS_DO_WAIT(signal, value)             GAS_CALL(tshmem_signal_wait_until, signal, TSHMEM_CMP_EQ, value)
#define GAS_DO_BARRIER(team)                   GAS_CALL(tshmem_barrier, team)
#define GAS_DO_SYNC(team)                      GAS_CALL(tshmem_sync, team)
#define GAS_DO_TEAM_SUM(team, dest, source, n) GAS_CALL(tshmem_float_sum_reduce, team, dest, source, n)

/* Requests that do nothing. */
DEVICE void gas_request(int wait)
{
    struct tutti_dev_request nothing = TUTTI_DEV_ZERO;
    if (wait)
        (void)tutti_dev_ring_call(&nothing);
    else
        (void)tutti_dev_ring_send(&nothing, 0);
}
#define GAS_DO_REQUEST_WAIT() gas_request(1)
#define GAS_DO_REQUEST()      gas_request(0)

#endif
