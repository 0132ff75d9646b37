/* What cannot be done, by two PEs on one GPU, and on two if the machine has two: the abort word reports it to the host,
 * collectives return an error, and all kernels leave within the limit. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shmem_device/cuda_errors.h"
#include "shmem_device/cuda_pes.h"
#include "support/check.h"

enum { PES = 2 };

static struct cuda_pes pes;

static void one(int which, int *status, int spread)
{
    cuda_pes_open(&pes, PES, which == ABORTED ? 60000 : 100, spread);
    if (which == NO_WAY) {
        pes.told[0].peer[1] = pes.told[1].peer[0] = NULL;
        cuda_pes_tell(&pes);
        cuda_pes_settle("writing states");
    }
    memset(status, 0, sizeof *status * PES);
    for (int pe = 0; pe < PES; pe++) {
        int *const own = status + pe;
        void *arguments[] = {&pes.state[pe], &pes.heap[pe], &which, (void *)&own};
        cuda_pes_launch(&pes, pe, cuda_errors_kernel, ERRORS_BLOCKS, ERRORS_THREADS, arguments);
    }
    if (which == ABORTED) {
        usleep(300000);
        CHECK(pes.abort[0] == 0, "PE 0 waits");
        __atomic_store_n(&pes.abort[0], 1, __ATOMIC_RELEASE);
    }
    const double before = cuda_seconds();
    CHECK(cuda_pes_join(&pes, 10) == 0, "case %d: the kernels leave", which);
    CHECK(cuda_seconds() - before < 5, "case %d: they leave in time", which);
    CHECK(__atomic_load_n(&pes.abort[0], __ATOMIC_ACQUIRE) != 0, "case %d: the host is told", which);
    const int no_status = which < NO_TEAM || which >= SILENT;
    CHECK(no_status || status[0] < 0, "case %d: status %d", which, status[0]);
}

int main(void)
{
    void *memory;
    cuda_begin();
    cuda_pes_make(&pes, sizeof(struct program_heap));
    cuda_must((int)cudaHostAlloc(&memory, sizeof(int) * PES, cudaHostAllocPortable), "pinned memory");
    cuda_pes_load(cuda_errors_kernel);
    for (int spread = 0; spread < (cuda_gpus() > 1 ? 2 : 1); spread++) {
        for (int which = 0; which < WHICH; which++)
            one(which, memory, spread);
    }
    printf("%d cases, %ld checks, %ld failed\n", WHICH, check_done(), check_failed());
    return check_failed() != 0;
}
