/* What the first messages of an allocation ask the GPU's driver, over a pretended driver that counts its calls: once
 * what the memory is, one copy, and what a copy needs. Later ones of the same allocation ask no more. Two ranks;
 * messages are carried by the MPI, since no mapping pays yet. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "fake_libcuda.h"
#include "support/check.h"
#include "tutti/tutti.h"

/* CALLS: cuPointerGetAttributes; cuCtxGetId twice (was a context reset?); cuCtxGetCurrent; two changes of the mode of
 * captures; cuStreamIsCapturing; cuMemcpy. */
enum { ALLOCATIONS = 6, MESSAGES = 4, CALLS = 8, TAG = 3 };

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 4096, 60000};
    static char data[60000], got[60000];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_rank(rank);
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    struct fake_control *const fake = library ? fake_of(library) : NULL;
    for (int a = 0; fake && a < ALLOCATIONS; a++) {
        const int bytes = sizes[a % 3];
        void *memory = NULL;
        CHECK(tutti_alloc((size_t)bytes, &memory) == 0, "no memory");
        memset(data, 'a' + a, sizeof data);
        CHECK(tutti_copy(memory, data, (size_t)bytes) == 0, "no copy");
        for (int m = 0; m < MESSAGES; m++) {
            const unsigned long calls = fake->calls, questions = fake->queries, waits = fake->waits;
            if (rank == 0)
                MPI_Send(memory, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            else
                MPI_Recv(memory, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (a == 0) /* the process meets its GPU */
                continue;
            CHECK(fake->calls - calls == CALLS && fake->queries - questions == 1 && fake->waits == waits,
                  "message %d of %d bytes: %lu calls, %lu questions, %lu waits", m, bytes, fake->calls - calls,
                  fake->queries - questions, fake->waits - waits);
        }
        CHECK(tutti_copy(got, memory, (size_t)bytes) == 0 && memcmp(got, data, (size_t)bytes) == 0, "other data");
        CHECK(tutti_free(memory) == 0, "not freed");
    }
    CHECK(fake, "the pretended driver was not found");
    MPI_Finalize();
    printf("driver_calls: rank %d, %ld checks, %ld failed\n", rank, check_done(), check_failed());
    return check_failed() > 0;
}
