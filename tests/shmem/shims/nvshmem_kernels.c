/* NVSHMEM's names in kernels, on the host device: each process is a kernel of one thread, which is every group. */
#define TSHMEM_KERNELS
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>

#include "check_pe.h"

static void kernel(float *data, uint64_t *signal, int *sums)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    const float row[3] = {1.0f + (float)me, 2.0f + (float)me, 3.0f + (float)me};
    CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED);
    nvshmem_float_p(data, row[0], next);
    nvshmemx_float_put_nbi_block(data + 1, row, 3, next);
    nvshmem_quiet();
    nvshmemx_signal_op(signal, 1, NVSHMEM_SIGNAL_SET, next);
    nvshmem_uint64_wait_until_all(signal, 1, NULL, NVSHMEM_CMP_GE, 1);
    CHECK(data[0] == 1.0f + (float)before && data[3] == 3.0f + (float)before);
    nvshmem_barrier_all();
    nvshmemx_float_put_signal_warp(data, row + 1, 2, signal, 2, NVSHMEM_SIGNAL_ADD, next);
    CHECK(nvshmem_signal_wait_until(signal, NVSHMEM_CMP_EQ, 3) == 3);
    CHECK(data[0] == 2.0f + (float)before && data[1] == 3.0f + (float)before);
    CHECK(nvshmemx_barrier_warpgroup(NVSHMEM_TEAM_WORLD) == 0);
    sums[0] = me + 1;
    CHECK(nvshmemx_int_sum_reduce_warp(NVSHMEM_TEAM_WORLD, sums + 1, sums, 1) == 0 && sums[1] == n * (n + 1) / 2);
    CHECK(nvshmem_int_atomic_fetch_add(sums, 1, next) == next + 1);
    nvshmemx_sync_all_warp();
    CHECK(nvshmem_int_g(sums, me) == me + 2);
    CHECK(nvshmemx_int_fcollect_block(NVSHMEM_TEAM_WORLD, sums + 2, sums, 1) == 0);
    for (int pe = 0; pe < n; pe++)
        CHECK(sums[2 + pe] == pe + 2);
    nvshmemx_barrier_all_block();
}

int main(void)
{
    nvshmem_init();
    float *data = nvshmem_calloc(4, sizeof *data);
    uint64_t *signal = nvshmem_calloc(1, sizeof *signal);
    int *sums = nvshmem_calloc((size_t)nvshmem_n_pes() + 2, sizeof *sums);
    kernel(data, signal, sums);
    nvshmem_free(sums);
    nvshmem_free(signal);
    nvshmem_free(data);
    nvshmem_finalize();
    return failures != 0;
}
