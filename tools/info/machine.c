/* tutti info --machine: MPIs and devices in full. */
#include <stdlib.h>
#include <string.h>

#include "core/phases.h"
#include "core/status.h"
#include "kernels/reduce.h"
#include "tools/info/info.h"
#include "tutti/tutti.h"

static void print_mpis(const struct info *info)
{
    printf("Tutti %s\n\nMPIs\n", tutti_version());
    if (info->mpis.n == 0)
        puts("  none in PATH");
    for (int i = 0; i < info->mpis.n; i++) {
        const struct tool_mpi *mpi = &info->mpis.mpi[i];
        printf("  %-9s %-8s launcher %s\n", tool_family_title(mpi->family), mpi->version, mpi->launcher);
        if (!mpi->abi) {
            puts("                     its library was not found beside the launcher");
            continue;
        }
        printf("                     library in %s\n", mpi->libraries);
        for (int a = TOOL_ABI_OPENMPI; a <= TOOL_ABI_STANDARD; a *= 2) {
            if (mpi->abi & a)
                printf("                     interface %s: served by libtutti-%s.so%s\n", tool_abi_title(a),
                       tool_abi_name(a), info_front_of(info, a) ? "" : ", which this build left out");
        }
    }
    puts("\nFront ends");
    printf("  %-20s %s\n", "libtutti.so", info->preload ? info->preload : "not found");
    for (int i = 0; i < 3; i++) {
        char *name = tool_print("libtutti-%s.so", tool_abi_name(info->front[i].abi));
        printf("  %-20s %s\n", name,
               info->front[i].path ? info->front[i].path : "left out: its MPI header was not found by the build");
        free(name);
    }
}

static void print_reach(const struct info_device *device)
{
    if (device->gpus < 2)
        return;
    printf("    reaches   ");
    for (int p = 0; p < device->gpus; p++)
        printf(" %3d", p);
    putchar('\n');
    for (int g = 0; g < device->gpus; g++) {
        printf("      GPU %3d ", g);
        for (int p = 0; p < device->gpus; p++) {
            int reaches = device->gpu[g].reaches[p];
            printf(" %3s", p == g ? "own" : reaches < 0 ? "?" : reaches ? "yes" : "no");
        }
        putchar('\n');
    }
}

/* Prints many equal GPUs, as the host device has, in a few lines. */
static void print_gpus(const struct info_device *device)
{
    int shown = device->gpus > 16 ? 2 : device->gpus, all = 1;
    if (device->gpus == 0)
        puts("    open, no GPU yet");
    for (int g = 0; g < shown; g++)
        printf("    GPU %d  %s  %s\n", g, device->gpu[g].text, device->gpu[g].uuid);
    if (shown == device->gpus) {
        print_reach(device);
        return;
    }
    for (int g = 0; g < device->gpus; g++) {
        for (int p = 0; p < device->gpus; p++)
            all &= device->gpu[g].reaches[p] == 1;
    }
    printf("    ... up to GPU %d; %s\n", device->gpus - 1,
           all ? "each reaches every other's memory" : "not all reach each other's memory: see --json");
}

static void print_devices(const struct info *info)
{
    puts("\nDevices");
    for (int i = 0; i < info->devices; i++) {
        const struct info_device *device = &info->device[i];
        printf("  %-5s %s: %s\n", device->name, device->chosen ? "in use" : "not in use", device->text);
        if (device->status != TUTTI_OK) {
            printf("    not available: %s\n", device->why);
            continue;
        }
        print_gpus(device);
    }
    printf("  Kernels on the host use: %s\n", tutti_kernel_host_isa());
    printf("  Ranges for Nsight (TUTTI_STATS=times): %s\n",
           tutti_phases_have_nvtx() ? "built in" : "left out: the headers of NVTX 3 were not found by the build");
}

void info_machine_print(const struct info *info)
{
    print_mpis(info);
    print_devices(info);
}
