// A program written for Intel SHMEM, compiled as it is: its ways to begin, and the calls of the host, with a type in
// their names and without, with a team and without.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ishmem.h>
#include <ishmemx.h>
#include <mpi.h>

static int failures;

#define CHECK(fine)                                                                                                    \
    do {                                                                                                               \
        if (!(fine)) {                                                                                                 \
            std::fprintf(stderr, "%s:%d: PE %d: not so: %s\n", __FILE__, __LINE__, ishmem_my_pe(), #fine);             \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

static void moves()
{
    const int me = ishmem_my_pe(), n = ishmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    long *ring = static_cast<long *>(ishmem_malloc(4 * sizeof(long)));
    uint64_t *signal = static_cast<uint64_t *>(ishmem_calloc(1, sizeof(uint64_t)));
    const long mine[2] = {10 + me, 20 + me}, least[1] = {3};
    ishmem_p(ring, 5L + me, next);
    ishmemx_ibput(ring + 1, mine, 1, 1, 1, 1, next);
    ishmem_barrier_all();
    CHECK(ishmem_g(ring, me) == 5 + before && ishmem_long_g(ring + 1, me) == 10 + before);
    ishmem_put64_signal(ring + 2, mine, 2, signal, 3, ISHMEM_SIGNAL_SET, next);
    ishmem_uint64_wait_until(signal, ISHMEM_CMP_EQ, 3);
    CHECK(ishmem_g(ring + 3, me) == 20 + before && ishmem_signal_fetch(signal) == 3);
    ishmem_barrier_all();
    ishmem_p(ring, 0L, me);
    ishmem_barrier_all();
    CHECK(ishmem_atomic_fetch_add(ring, 1L, next) == 0);
    ishmem_wait_until(ring, ISHMEM_CMP_EQ, 1L);
    ishmem_long_wait_until_all_vector(ring, 1, nullptr, ISHMEM_CMP_LE, least);
    CHECK(ishmem_test_all_vector(ring, 1, nullptr, ISHMEM_CMP_LE, least) == 1);
    ishmem_barrier_all();
    ishmem_free(signal);
    ishmem_free(ring);
}

static void collectives()
{
    const int me = ishmem_my_pe(), n = ishmem_n_pes();
    int *sum = static_cast<int *>(ishmem_malloc(2 * sizeof(int)));
    signed char *bits = static_cast<signed char *>(ishmem_malloc(2));
    ishmem_p(sum, me + 1, me);
    ishmem_barrier_all();
    CHECK(ishmem_int_sum_reduce(sum + 1, sum, 1) == 0 && ishmem_g(sum + 1, me) == n * (n + 1) / 2);
    CHECK(ishmem_max_reduce(ISHMEM_TEAM_WORLD, sum + 1, sum, 1) == 0 && ishmem_g(sum + 1, me) == n);
    CHECK(ishmem_sum_exscan(sum + 1, sum, 1) == 0 && ishmem_g(sum + 1, me) == me * (me + 1) / 2);
    CHECK(ishmem_broadcast(sum + 1, sum, 1, n - 1) == 0 && ishmem_g(sum + 1, me) == n);
    CHECK(ishmem_broadcastmem(sum + 1, sum, sizeof(int), 0) == 0 && ishmem_g(sum + 1, me) == 1);
    ishmem_schar_p(bits, static_cast<signed char>(1 << me), me);
    ishmem_barrier_all();
    CHECK(ishmem_schar_or_reduce(bits + 1, bits, 1) == 0 && ishmem_schar_g(bits + 1, me) == (1 << n) - 1);
    ishmem_team_t rest = ISHMEM_TEAM_INVALID;
    CHECK(ishmem_team_split_strided(ISHMEM_TEAM_WORLD, 0, 1, n, nullptr, 0, &rest) == 0 &&
          ishmem_team_n_pes(rest) == n);
    ishmem_team_destroy(rest);
    ishmem_free(bits);
    ishmem_free(sum);
}

static void use(int pe, int pes)
{
    int up = 0;
    unsigned long then = 0, now = 0;
    ishmemx_query_initialized(&up);
    CHECK(up && ishmem_my_pe() == pe && ishmem_n_pes() == pes && ishmem_team_n_pes(ISHMEMX_TEAM_NODE) > 0);
    CHECK(ishmemx_runtime_get_type() == ISHMEMX_RUNTIME_MPI);
    ishmemx_timestamp(ishmemx_ts_handle(&then));
    moves();
    collectives();
    ishmemx_timestamp_nbi(ishmemx_ts_handle(&now));
    CHECK(then != 0 && now > then);
    if (pe == 0)
        ishmemx_print("ishmemx_print\n", STDOUT);
    ishmemx_print("not to be seen", DEBUG);
    ishmem_finalize();
    ishmemx_query_initialized(&up);
    CHECK(!up);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ishmem_init();
    use(rank, size);
    ishmemx_attr_t attr;
    MPI_Comm turned;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
    attr.runtime = ISHMEMX_RUNTIME_MPI;
    attr.initialize_runtime = false;
    attr.mpi_comm = &turned;
    ishmemx_init_attr(&attr);
    use(size - 1 - rank, size);
    MPI_Comm_free(&turned);
    ishmemx_attr_t none;
    none.gpu = false;
    ishmemx_init_attr(&none);
    CHECK(std::getenv("TUTTI_SHMEM_HEAP") || !tutti_is_device(ishmem_malloc(8)));
    use(rank, size);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures != 0;
}
