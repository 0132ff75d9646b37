// The generic names as C++ overloads: compiled, and run on one PE by whoever starts it under an MPI.
#include <mpi.h>

#include <complex>
#include <cstdio>

#include "tutti/shmem_names.h"

int main()
{
    int failed = 0;
    if (tshmem_init() != 0)
        return 1;
    int *ints = static_cast<int *>(tshmem_calloc(8, sizeof(int)));
    double *doubles = static_cast<double *>(shmem_calloc(8, sizeof(double)));
    const int next = (tshmem_my_pe() + 1) % tshmem_n_pes(), values[2] = {4, 5};
    tshmem_barrier_all();
    tshmem_put(ints, values, 2, next);
    tshmem_p(doubles, 1.5, next);
    shmem_barrier_all();
    failed += ints[0] != 4 || ints[1] != 5 || doubles[0] != 1.5;
    failed += tshmem_g(static_cast<const int *>(ints), next) != 4;
    failed += tshmem_atomic_fetch(doubles, next) != 1.5;
    shmem_barrier_all();
    tshmem_atomic_add(ints + 2, 3, 0);
    tshmem_atomic_fetch_inc(ints + 2, 0);
    if (tshmem_my_pe() == 0)
        tshmem_wait_until(ints + 2, TSHMEM_CMP_EQ, 4 * tshmem_n_pes());
    doubles[1] = 2;
    failed += tshmem_sum_reduce(TSHMEM_TEAM_WORLD, doubles + 2, doubles + 1, 1) != 0;
    failed += doubles[2] != 2.0 * tshmem_n_pes();
    failed += tshmem_broadcast(TSHMEM_TEAM_WORLD, ints + 4, ints, 2, 0) != 0 || ints[5] != 5;
    std::complex<double> *complex = static_cast<std::complex<double> *>(tshmem_calloc(2, sizeof(*complex)));
    complex[0] = {1, -2};
    failed += tshmem_sum_reduce(TSHMEM_TEAM_WORLD, complex + 1, complex, 1) != 0;
    failed += complex[1] != complex[0] * static_cast<double>(tshmem_n_pes());
    tshmem_ctx_t ctx;
    failed += tshmem_ctx_create(TSHMEM_CTX_SERIALIZED, &ctx) != 0;
    shmem_barrier_all();
    tshmem_put(ctx, ints, values, 2, next);
    tshmem_put_nbi(ctx, ints + 2, values, 1, next);
    tshmem_p(ctx, doubles, 2.5, next);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    failed += ints[1] != 5 || ints[2] != 4 || tshmem_g(ctx, doubles, next) != 2.5;
    failed += shmem_atomic_fetch_add(ctx, ints + 6, 0, next) != 0 || shmem_ctx_int_g(ctx, ints, next) != 4;
    shmem_ctx_destroy(ctx);
    std::printf("%d failed\n", failed);
    return tshmem_finalize() != 0 || failed != 0;
}
