#include "bench/common/energy_meter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/clock.h"
#include "core/settings.h"
#include "device/device.h"
#include "tutti/energy.h"
#include "tutti/tutti.h"

enum { SOURCES = 64, UUID_TEXT = 48 };

static struct {
    struct tutti_energy *meter; /* NULL: another rank of the node reads */
    int sources, window;
    struct tutti_energy_source source[SOURCES];
    struct tutti_energy_figure figure[SOURCES]; /* of the last window */
    uint64_t start, opened;
    double cpu;
} energy;

/* "GPU-01234567-89ab-...", as NVML writes it; empty where the GPU is simulated. */
static void gpu_uuid(const struct bench_plan *plan, char out[UUID_TEXT])
{
    const struct tutti_device *device = tutti_device();
    const int gpus = tutti_gpu_count();
    unsigned char u[16];
    memset(out, 0, UUID_TEXT);
    if (!device || device->interface != TUTTI_GPU_INTERFACE_CUDA || gpus <= 0 ||
        device->gpu.uuid(plan->node_rank % gpus, u) != 0)
        return;
    int n = snprintf(out, UUID_TEXT, "GPU-");
    for (int i = 0; i < 16; i++)
        n += snprintf(out + n, UUID_TEXT - (size_t)n, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", u[i]);
}

/* UUIDs of the GPUs that ranks of this node use, each once, with commas. Freed by the caller. */
static char *gpus_of_node(const struct bench_plan *plan)
{
    MPI_Comm node;
    int n;
    char mine[UUID_TEXT];
    gpu_uuid(plan, mine);
    bench_mpi.Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    bench_mpi.Comm_size(node, &n);
    char *all = bench_ordinary((size_t)n * UUID_TEXT), *list = bench_ordinary((size_t)n * UUID_TEXT + 1);
    bench_mpi.Allgather(mine, UUID_TEXT, MPI_CHAR, all, UUID_TEXT, MPI_CHAR, node);
    bench_mpi.Comm_free(&node);
    list[0] = '\0';
    for (int r = 0; r < n; r++) {
        const char *uuid = all + (size_t)r * UUID_TEXT;
        if (!uuid[0] || strstr(list, uuid))
            continue;
        strcat(strcat(list, list[0] ? "," : ""), uuid);
    }
    free(all);
    return list;
}

void bench_energy_meters_open(const struct bench_plan *plan)
{
    char *gpus = gpus_of_node(plan);
    const int by_setting = tutti_settings()->energy_gpus[0] || !gpus[0];
    const struct tutti_energy_options options = {.gpus = by_setting ? NULL : gpus, .every_rank = 1};
    if (plan->node_rank == 0) {
        bench_must(tutti_energy_open(&options, &energy.meter), "opening the energy counters");
        energy.sources = tutti_energy_sources(energy.meter);
        energy.sources = energy.sources < SOURCES ? energy.sources : SOURCES;
    }
    for (int s = 0; s < energy.sources; s++)
        tutti_energy_source(energy.meter, s, &energy.source[s]);
    energy.opened = tutti_now_ns();
    free(gpus);
}

void bench_energy_meters_close(const struct bench_plan *plan)
{
    const double all = (double)(tutti_now_ns() - energy.opened) * 1e-9;
    if (energy.meter)
        bench_say(plan, "meter %.6f %.6f", tutti_energy_own_seconds(energy.meter), all);
    tutti_energy_close(energy.meter);
    energy.meter = NULL;
}

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6 -
           (energy.meter ? tutti_energy_own_seconds(energy.meter) : 0);
}

void bench_energy_begin(void)
{
    energy.window = energy.meter ? tutti_energy_begin(energy.meter) : 0;
    bench_must(energy.window, "opening a window of the energy counters");
    energy.cpu = cpu_seconds();
    energy.start = tutti_now_ns();
}

/* The least number of updates of a counter of the kind that has any; -1: no counter has any. */
static long least_updates(int kind)
{
    long least = -1;
    for (int s = 0; s < energy.sources; s++) {
        const long updates = energy.figure[s].updates;
        if (energy.source[s].kind == kind && updates > 0 && (least < 0 || updates < least))
            least = updates;
    }
    return least;
}

static long window_updates(void)
{
    const long gpus = least_updates(TUTTI_ENERGY_GPU);
    return gpus >= 0 ? gpus : least_updates(TUTTI_ENERGY_PACKAGE);
}

int bench_energy_enough(double seconds, long updates)
{
    const double lasted = (double)(tutti_now_ns() - energy.start) * 1e-9;
    int enough = lasted >= seconds;
    if (enough && energy.meter && lasted < 4 * seconds) {
        bench_must(tutti_energy_look(energy.meter, energy.window, energy.figure, SOURCES), "reading energy counters");
        const long seen = window_updates();
        enough = seen < 0 || seen >= updates;
    }
    return bench_all_agree(enough);
}

/* Sum over the sources of the kind on this node; NAN if one is unavailable or the kind has no source. */
static double node_sum(int kind, int integral)
{
    double sum = 0;
    int n = 0;
    for (int s = 0; s < energy.sources; s++) {
        if (energy.source[s].kind != kind)
            continue;
        sum += integral ? energy.figure[s].integral : energy.figure[s].joules;
        n++;
    }
    return n ? sum : NAN;
}

void bench_energy_end(const struct bench_plan *plan, struct bench_energy_window *out)
{
    const double seconds = (double)(tutti_now_ns() - energy.start) * 1e-9;
    double mine[ENERGY_PARTS] = {0};
    mine[ENERGY_CPU] = cpu_seconds() - energy.cpu;
    if (energy.meter) {
        bench_must(tutti_energy_end(energy.meter, energy.window, energy.figure, SOURCES), "reading energy counters");
        mine[ENERGY_COUNTER] = node_sum(TUTTI_ENERGY_GPU, 0);
        mine[ENERGY_INTEGRAL] = node_sum(TUTTI_ENERGY_GPU, 1);
        mine[ENERGY_PACKAGE] = node_sum(TUTTI_ENERGY_PACKAGE, 0);
        mine[ENERGY_DRAM] = node_sum(TUTTI_ENERGY_DRAM, 0);
    }
    bench_mpi.Allreduce(mine, out->part, ENERGY_PARTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    out->seconds = bench_longest(seconds);
    out->updates = plan->rank == 0 ? (double)window_updates() : 0;
}

void bench_energy_say_sources(const struct bench_plan *plan)
{
    for (int s = 0; energy.meter && s < energy.sources; s++) {
        const struct tutti_energy_source *source = &energy.source[s];
        const struct tutti_energy_figure *f = &energy.figure[s];
        bench_say(plan, "source %s|%s|%s|%d|%.0f|%.0f|%.0f|%.0f|%s", source->name, source->id, source->model,
                  f->scope == TUTTI_ENERGY_MODULE, f->clock_mhz, f->memory_clock_mhz, f->celsius, f->cap_w, f->reason);
    }
}
