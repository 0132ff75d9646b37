#include "word.h"

#include <mpi.h>
#include <unistd.h>

#include "core/clock.h"
#include "support/check.h"

static MPI_Win window = MPI_WIN_NULL;

atomic_int *kit_word_open(void)
{
    atomic_int *word = NULL;
    MPI_Aint bytes;
    int rank, unit;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPI_Win_allocate_shared(rank == 0 ? (MPI_Aint)sizeof *word : 0, (int)sizeof *word, MPI_INFO_NULL,
                                  MPI_COMM_WORLD, &word, &window) == MPI_SUCCESS &&
              MPI_Win_shared_query(window, 0, &bytes, &unit, &word) == MPI_SUCCESS,
          "MPI_Win_allocate_shared");
    if (rank == 0)
        atomic_store(word, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    return word;
}

void kit_word_close(void)
{
    MPI_Win_free(&window);
}

int kit_word_await(atomic_int *word, int least, uint64_t us)
{
    const uint64_t begun = tutti_now_ns();
    while (atomic_load(word) < least) {
        if (tutti_now_ns() - begun > us * 1000)
            return 0;
        usleep(100);
    }
    return 1;
}
