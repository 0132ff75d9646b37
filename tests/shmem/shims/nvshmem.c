/* A program written for NVSHMEM, compiled as it is: its ways to begin, one after the other, and the calls of the host.
 * It neither loads nor stores symmetric memory itself. */
#include <mpi.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <nvshmemx_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_pe.h"

static void moves(void)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    int *ring = nvshmem_malloc(4 * sizeof *ring);
    uint64_t *signal = nvshmem_calloc(2, sizeof *signal);
    const int mine[2] = {10 + me, 20 + me};
    int got[2] = {0, 0};
    nvshmem_int_p(ring, me, next);
    nvshmem_int_put_nbi(ring + 1, mine, 1, next);
    nvshmem_quiet();
    nvshmem_barrier_all();
    CHECK(nvshmem_int_g(ring, me) == before && nvshmem_int_g(ring + 1, me) == 10 + before);
    nvshmem_put32_signal(ring + 2, mine, 2, signal, 7, NVSHMEM_SIGNAL_SET, next);
    CHECK(nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, 7) == 7);
    nvshmem_getmem(got, ring + 2, sizeof got, me);
    CHECK(got[0] == 10 + before && got[1] == 20 + before);
    nvshmem_barrier_all();
    nvshmemx_signal_op(signal + 1, 3, NVSHMEM_SIGNAL_ADD, next);
    nvshmem_uint64_wait_until(signal + 1, NVSHMEM_CMP_EQ, 3);
    nvshmem_barrier_all();
    nvshmemx_signal_op(signal + 1, 40, NVSHMEM_SIGNAL_SET, next);
    nvshmem_uint64_wait_until_all(signal + 1, 1, NULL, NVSHMEM_CMP_EQ, 40);
    nvshmem_int_p(ring, 0, me);
    nvshmem_barrier_all();
    nvshmem_int_atomic_add(ring, me + 1, 0);
    nvshmem_quiet();
    nvshmem_barrier_all();
    CHECK(nvshmem_int_atomic_fetch(ring, 0) == n * (n + 1) / 2);
    CHECK(nvshmem_ptr(ring, me) == (void *)ring && nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, ring) == NULL);
    nvshmem_barrier_all();
    nvshmem_free(signal);
    nvshmem_free(ring);
}

static void collectives(void)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    double *all = nvshmem_malloc((size_t)(n + 2) * sizeof *all);
    nvshmem_team_t half = NVSHMEM_TEAM_INVALID;
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER, told = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_double_p(all + n, me + 0.5, me);
    nvshmem_barrier_all();
    CHECK(nvshmem_double_sum_reduce(NVSHMEM_TEAM_WORLD, all + n + 1, all + n, 1) == 0);
    CHECK(nvshmem_double_g(all + n + 1, me) == n * n / 2.0);
    CHECK(nvshmem_double_fcollect(NVSHMEM_TEAM_WORLD, all, all + n, 1) == 0);
    for (int pe = 0; pe < n; pe++)
        CHECK(nvshmem_double_g(all + pe, me) == pe + 0.5);
    config.num_contexts = 1;
    CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, &config,
                                     NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS, &half) == 0);
    CHECK((half != NVSHMEM_TEAM_INVALID) == (me % 2 == 0) && nvshmem_team_my_pe(half) == (me % 2 == 0 ? me / 2 : -1));
    if (half != NVSHMEM_TEAM_INVALID) {
        nvshmem_team_get_config(half, &told);
        CHECK(told.num_contexts == 1);
        CHECK(nvshmem_team_translate_pe(half, 0, NVSHMEM_TEAM_WORLD) == 0 && nvshmem_team_sync(half) == 0);
        nvshmem_team_destroy(half);
    }
    CHECK(nvshmem_team_n_pes(NVSHMEMX_TEAM_NODE) > 0 && nvshmem_team_n_pes(NVSHMEM_TEAM_SHARED) > 0);
    nvshmem_free(all);
}

/* The last PE and the first one, in this order, make a team by an id of the last one but one. */
static void by_id(void)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), index = me == n - 1 ? 0 : 1, creator = n > 2 ? n - 2 : 0;
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_t team = 5;
    nvshmemx_team_uniqueid_t id = 0;
    uint64_t *given = nvshmem_malloc(sizeof *given);
    CHECK(nvshmemx_team_init(&team, &config, 0, 1, 0) != 0 && team == NVSHMEM_TEAM_INVALID); /* without an id */
    for (int turn = 0; turn < 2 && n > 1; turn++) {
        if (me == creator) {
            for (int made = 0; made < (turn ? 64 : 1); made++) /* the second has the place of the first */
                CHECK(nvshmemx_team_get_uniqueid(&id) == 0);
            for (int pe = 0; pe < n; pe++)
                nvshmem_uint64_p(given, id, pe);
            nvshmem_quiet();
        }
        nvshmem_barrier_all();
        config.uniqueid = nvshmem_uint64_g(given, me);
        if (me == 0 || me == n - 1) {
            CHECK(nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, 2, index) == 0);
            CHECK(nvshmem_team_my_pe(team) == index && nvshmem_team_n_pes(team) == 2);
            CHECK(nvshmem_team_translate_pe(team, 0, NVSHMEM_TEAM_WORLD) == n - 1);
            nvshmem_team_destroy(team);
        }
        nvshmem_barrier_all();
    }
    nvshmem_free(given);
}

/* In the order of a stream, with heaps in the memory of a GPU. */
static void streams(void)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    int *words = nvshmem_calloc(4, sizeof *words);
    uint64_t *signal = nvshmem_calloc(1, sizeof *signal);
    void *made = NULL;
    CHECK(tutti_stream_create(&made) == 0);
    cudaStream_t stream = (cudaStream_t)made;
    nvshmemx_int_p_on_stream(words, 5 + me, next, stream);
    nvshmemx_signal_op_on_stream(signal, 1, NVSHMEM_SIGNAL_SET, next, stream);
    nvshmemx_signal_wait_until_on_stream(signal, NVSHMEM_CMP_EQ, 1, stream);
    nvshmemx_barrier_all_on_stream(stream);
    CHECK(nvshmemx_int_g_on_stream(words, me, stream) == 5 + before);
    CHECK(nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, words + 1, words, 1, stream) == 0);
    nvshmemx_put32_signal_on_stream(words + 2, words, 1, signal, 1, NVSHMEM_SIGNAL_ADD, next, stream);
    nvshmemx_uint64_wait_until_on_stream(signal, NVSHMEM_CMP_GE, 2, stream);
    nvshmemx_quiet_on_stream(stream);
    CHECK(tutti_stream_sync(made) == 0);
    CHECK(nvshmem_int_g(words + 1, me) == 5 * n + n * (n - 1) / 2);
    CHECK(nvshmem_int_g(words + 2, me) == 5 + (before + n - 1) % n);
    nvshmem_barrier_all();
    tutti_stream_destroy(made);
    nvshmem_free(signal);
    nvshmem_free(words);
}

static void use(int pe, int pes)
{
    int major = 0, minor = 0, patch = -1;
    char name[NVSHMEM_MAX_NAME_LEN];
    CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED && nvshmem_my_pe() == pe && nvshmem_n_pes() == pes);
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    CHECK(major * 10000 + minor * 100 + patch == NVSHMEM_VENDOR_VERSION);
    nvshmem_info_get_name(name);
    CHECK(strcmp(name, "Tutti") == 0 && nvshmemx_buffer_register(name, sizeof name) == NVSHMEMX_SUCCESS);
    moves();
    collectives();
    by_id();
    if (getenv("TUTTI_SHMEM_HEAP") && strcmp(getenv("TUTTI_SHMEM_HEAP"), "device") == 0)
        streams();
    nvshmem_finalize();
    CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
}

/* What cannot begin says so on all ranks, and leaves nothing behind. */
static void refused(int rank, int size, const nvshmemx_uniqueid_t *id)
{
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t other = *id;
    setenv("NVSHMEM_SYMMETRIC_SIZE", "12q", 1);
    CHECK(nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_SHMEM, NULL) != 0);
    setenv("NVSHMEM_SYMMETRIC_SIZE", "3.5M", 1);
    CHECK(nvshmemx_set_attr_uniqueid_args(size, size, id, &attr) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0); /* none was set */
    CHECK(nvshmemx_set_attr_uniqueid_args(rank, size + 1, id, &attr) == NVSHMEMX_SUCCESS);
    CHECK(nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0); /* another number of PEs */
    nvshmemx_set_attr_uniqueid_args(0, size, id, &attr);
    CHECK(nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0); /* all of them PE 0 */
    other.internal[0] = (char)(other.internal[0] + (rank == 0));
    nvshmemx_set_attr_uniqueid_args(rank, size, &other, &attr);
    CHECK(nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0); /* another id on rank 0 */
    CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
    CHECK(nvshmemx_buffer_register_symmetric(&other, sizeof other, 0) == NULL);
}

int main(int argc, char **argv)
{
    int rank, size;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    if (rank == 0)
        nvshmemx_get_uniqueid(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    refused(rank, size, &id);
    nvshmemx_set_attr_uniqueid_args(size - 1 - rank, size, &id, &attr);
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) == 0);
    CHECK(tshmem_state_get()->heap_bytes < (uint64_t)512 << 20); /* 16 times 4 MiB, and its own: not of the 64 MiB */
    use(size - 1 - rank, size);

    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &comm);
    attr.mpi_comm = &comm;
    if (rank != 0) { /* all but the first process */
        CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr) == 0);
        use(rank - 1, size - 1);
    }
    MPI_Comm_free(&comm);
    MPI_Barrier(MPI_COMM_WORLD);

    nvshmem_init();
    use(rank, size);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures != 0;
}
