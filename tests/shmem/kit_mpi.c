/* Runs a test with the ranks of an MPI as PEs: the address space over all, twice, then over a communicator in another
 * order. */
#include <mpi.h>
#include <stdio.h>

#include "shmem/kit.h"

static int back_to_front;

int shmem_rank_of(int pe)
{
    return back_to_front ? tshmem_n_pes() - 1 - pe : pe;
}

int shmem_open_operations(tshmem_ctx_t ctx)
{
    (void)ctx;
    return -1;
}

static void once(int rank, int size)
{
    CHECK(tshmem_my_pe() == rank && tshmem_n_pes() == size, "PE %d of %d", tshmem_my_pe(), tshmem_n_pes());
    void *filled = shmem_fill_heap();
    shmem_test();
    tshmem_free(filled);
    CHECK(tshmem_error() == 0, "an error is left over");
    CHECK(tshmem_finalize() == 0, "finalize");
    CHECK(tshmem_n_pes() == 0, "nothing is left of it");
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check_rank(rank);
    if (CHECK(tshmem_init() == 0, "tshmem_init"))
        once(rank, size);
    MPI_Comm back;
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &back);
    back_to_front = 1;
    if (CHECK(tshmem_init_comm(back) == 0, "tshmem_init_comm"))
        once(size - 1 - rank, size);
    MPI_Comm_free(&back);
    long mine[2] = {check_failed(), check_done()}, all[2];
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld checks, %ld failed\n", all[1], all[0]);
    MPI_Finalize();
    return all[0] != 0 || all[1] == 0;
}
