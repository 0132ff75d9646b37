#include "bench/common/place.h"

#include <stdlib.h>
#include <string.h>

#include "bench/common/gpu.h"
#include "core/settings.h"
#include "device/device.h"
#include "tutti/tutti.h"

/* Number of different GPUs that the ranks have chosen. */
static int gpus_used(const struct bench_plan *plan, const struct tutti_device *device, int gpu)
{
    unsigned char mine[16] = {0}, *all = bench_ordinary(16 * (size_t)plan->size);
    if (!device || device->gpu.uuid(gpu, mine) != 0)
        bench_fail("rank %d cannot find out which GPU it has", plan->rank);
    bench_mpi.Allgather(mine, 16, MPI_BYTE, all, 16, MPI_BYTE, MPI_COMM_WORLD);
    int n = 0;
    for (int r = 0; r < plan->size; r++) {
        int first = 1;
        for (int s = 0; s < r; s++)
            first &= memcmp(all + 16 * r, all + 16 * s, 16) != 0;
        n += first;
    }
    free(all);
    return n;
}

int bench_choose_gpu(const struct bench_plan *plan)
{
    int gpus = tutti_gpu_count();
    if (gpus <= 0)
        bench_fail("rank %d sees no GPU of the %s device (%s)", plan->rank, tutti_device_name(),
                   gpus < 0 ? tutti_status_text(gpus) : "none there");
    bench_must(tutti_gpu_set(plan->node_rank % gpus), "choosing a GPU");
    bench_say(plan, "device %s", tutti_device_name());
    const struct tutti_device *device = tutti_device();
    int gpu = plan->node_rank % gpus;
    char text[256];
    if (device && device->gpu.describe && device->gpu.describe(gpu, text, sizeof text) == 0)
        bench_say(plan, "gpu %s", text);
    const int used = gpus_used(plan, device, gpu);
    bench_say(plan, "gpus %d", used);
    return used;
}

int bench_mpi_takes_device(void)
{
    const struct tutti_settings *settings = tutti_settings();
    if (!bench_on_cuda() || settings->mpi_gpu_aware == TUTTI_SET_NO)
        return 0;
    if (settings->mpi_gpu_aware == TUTTI_SET_YES)
        return 1;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    const char *offload = getenv("I_MPI_OFFLOAD"), *mode = getenv("I_MPI_OFFLOAD_MODE");
    if (strstr(text, "Intel"))
        return offload && strcmp(offload, "0") != 0 && mode && strcmp(mode, "cuda") == 0;
    return bench_mpi.Query_cuda_support && bench_mpi.Query_cuda_support() == 1;
}
