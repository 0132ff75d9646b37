/* Two reductions of one team at once, in two streams: either their results are right, or a PE reports it within the
 * limit, and all PEs' next calls are refused. Until that has been seen. TUTTI_TEST_ROUNDS: how often it is tried. */
#include <mpi.h>
#include <stdio.h>

#include "core/status.h"
#include "shmem/kit.h"

enum { ELEMENTS = 100000, STREAMS = 2 };

static uint64_t *source, *dest[STREAMS], host[ELEMENTS];
static void *streams[STREAMS];

static void look_at(int pes)
{
    for (int i = 0; i < STREAMS; i++) {
        size_t wrong = 0;
        shmem_load(host, dest[i], sizeof host);
        for (size_t k = 0; k < ELEMENTS; k++)
            wrong += host[k] != (uint64_t)pes * k + (uint64_t)(pes * (pes - 1) / 2);
        CHECK(wrong == 0, "%zu elements of sum %d are wrong, and nobody says so", wrong, i);
    }
}

static int once(int pes)
{
    int status = 0, any;
    for (int i = 0; i < STREAMS; i++)
        status |= tshmem_uint64_sum_reduce_on_stream(TSHMEM_TEAM_WORLD, dest[i], source, ELEMENTS, streams[i]);
    for (int i = 0; i < STREAMS; i++)
        CHECK(tutti_stream_sync(streams[i]) == 0, "the stream");
    const int told = tshmem_error();
    any = told != 0 || status != 0;
    MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!any) {
        look_at(pes);
        MPI_Barrier(MPI_COMM_WORLD);
        return 0;
    }
    CHECK(told == 0 || told == TUTTI_ERR_BROKEN || told == TUTTI_ERR_TIMEOUT, "PE %d is told: %d (%s)", tshmem_my_pe(),
          told, tutti_status_text(told));
    int seen = told == TUTTI_ERR_BROKEN; /* not only that something took too long */
    MPI_Allreduce(MPI_IN_PLACE, &seen, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(seen, "no PE is told that two were under way");
    CHECK(tshmem_uint64_sum_reduce_on_stream(TSHMEM_TEAM_WORLD, dest[0], source, 1, streams[0]) == TUTTI_ERR_BROKEN,
          "the next call of PE %d is refused", tshmem_my_pe());
    return 1;
}

int main(int argc, char **argv)
{
    const char *said = getenv("TUTTI_TEST_ROUNDS");
    const long rounds = said ? atol(said) : 200;
    int rank, told = 0;
    long round = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_rank(rank);
    CHECK(tshmem_init() == 0, "tshmem_init");
    source = tshmem_malloc(sizeof host);
    for (int i = 0; i < STREAMS; i++) {
        dest[i] = tshmem_malloc(sizeof host);
        CHECK(dest[i] && tutti_stream_create(&streams[i]) == 0, "a stream");
    }
    for (size_t k = 0; k < ELEMENTS; k++)
        host[k] = k + (uint64_t)rank;
    shmem_store(source, host, sizeof host);
    tshmem_barrier_all();
    const int pes = tshmem_n_pes();
    shmem_hush_begin();
    while (!told && round++ < rounds && check_failed() == 0)
        told = once(pes);
    shmem_hush_end();
    CHECK(told, "nobody was told in %ld rounds", rounds);
    for (int i = 0; i < STREAMS; i++)
        tutti_stream_destroy(streams[i]);
    tshmem_finalize();
    long mine[2] = {check_failed(), check_done()}, all[2];
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld checks, %ld failed, told in round %ld\n", all[1], all[0], round);
    MPI_Finalize();
    return all[0] != 0 || all[1] == 0;
}
