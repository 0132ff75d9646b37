/* tutti info: what is here, what is on, and why the rest is not. */
#include "tools/info/info.h"

#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "core/log.h"
#include "core/phases.h"
#include "core/settings.h"
#include "core/status.h"
#include "kernels/reduce.h"
#include "tools/common/commands.h"
#include "tools/start/start.h"
#include "tutti/tutti.h"

enum { KEY_JSON = 256 };

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "Write it as JSON", 0},
    {.name = NULL},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    int *json = state->input;
    if (key == KEY_JSON) {
        *json = 1;
        return 0;
    }
    if (key == ARGP_KEY_ARG)
        tool_refuse("info: '%s' is not understood: info takes no argument", argument);
    return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Says which MPIs and devices were found, who reaches whose memory, what is switched on and why not, and all "
           "settings and rules. Needs no MPI.",
};

static const struct {
    const char *name, *text;
} device_list[] = {
#define TUTTI_DEVICE(name_, text_) {#name_, text_},
#include "tutti/devices.def"
#undef TUTTI_DEVICE
};

static const struct {
    const char *name, *text;
} algorithm_list[] = {
#define TUTTI_ALGORITHM(name_, order, text_) {#name_, text_},
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
};

static void read_gpus(const struct tutti_device *device, struct info_device *out)
{
    unsigned char uuid[INFO_GPUS][16];
    memset(uuid, 0, sizeof uuid);
    int n = device->gpus ? device->gpus() : 0;
    out->gpus = n < 0 ? 0 : n < INFO_GPUS ? n : INFO_GPUS;
    for (int g = 0; g < out->gpus; g++) {
        struct info_gpu *gpu = &out->gpu[g];
        if (!device->describe || device->describe(g, gpu->text, sizeof gpu->text) != TUTTI_OK)
            snprintf(gpu->text, sizeof gpu->text, "GPU %d", g);
        if (device->uuid && device->uuid(g, uuid[g]) == TUTTI_OK) {
            for (int i = 0; i < 16; i++)
                snprintf(gpu->uuid + 2 * i, 3, "%02x", uuid[g][i]);
        }
    }
    for (int g = 0; g < out->gpus; g++) {
        for (int p = 0; p < out->gpus; p++) {
            int known = device->reach && out->gpu[p].uuid[0];
            out->gpu[g].reaches[p] = known ? (signed char)(device->reach(g, uuid[p]) > 0) : -1;
        }
    }
}

static void read_devices(struct info *info)
{
    const struct tutti_device *used = tutti_device();
    info->used = used ? used->name : "none";
    info->simulates = used && used->simulates;
    info->rules = tutti_rules_default(used);
    int listed = (int)(sizeof device_list / sizeof device_list[0]);
    for (int i = 0; i < listed && i < INFO_DEVICES; i++) {
        struct info_device *out = &info->device[info->devices++];
        out->name = device_list[i].name;
        out->text = device_list[i].text;
        const struct tutti_device *device = tutti_device_at(i, &out->built);
        if (!device || !out->built) {
            out->built = 0;
            out->status = TUTTI_ERR_UNAVAILABLE;
            snprintf(out->why, sizeof out->why, "left out of this build");
            continue;
        }
        out->chosen = device == used;
        out->status = device->open(out->why, sizeof out->why);
        if (out->status == TUTTI_OK)
            read_gpus(device, out);
        else if (!out->why[0])
            snprintf(out->why, sizeof out->why, "%s", tutti_status_text(out->status));
    }
}

static void read_all(struct info *info)
{
    static const int abis[] = {TOOL_ABI_OPENMPI, TOOL_ABI_MPICH, TOOL_ABI_STANDARD};
    struct tutti_settings settings;
    size_t used = 0;
    if (tutti_settings_read(&settings, info->wrong, sizeof info->wrong) != TUTTI_OK)
        used = strlen(info->wrong);
    char rules[512];
    if (tutti_rules_check(settings.rules, rules, sizeof rules) != TUTTI_OK)
        snprintf(info->wrong + used, sizeof info->wrong - used, "TUTTI_RULES: %s\n", rules);
    tool_mpis_find(&info->mpis);
    for (int i = 0; i < 3; i++) {
        char *name = tool_print("libtutti-%s.so", tool_abi_name(abis[i]));
        info->front[i] = (struct info_front){abis[i], tool_installed_library(name)};
        free(name);
    }
    info->preload = tool_installed_library("libtutti.so");
    read_devices(info);
    info_rules_read(info);
}

const struct info_front *info_front_of(const struct info *info, int abi)
{
    for (int i = 0; i < 3; i++) {
        if ((info->front[i].abi & abi) && info->front[i].path)
            return &info->front[i];
    }
    return NULL;
}

void info_obstacles(const struct info *info, void (*say)(void *with, const char *line), void *with)
{
    int before = 0, ready = 0;
#define SAY(...)                                                                                                       \
    do {                                                                                                               \
        char *line = tool_print(__VA_ARGS__);                                                                          \
        say(with, line);                                                                                               \
        free(line);                                                                                                    \
        before = 1;                                                                                                    \
    } while (0)
    if (!info->preload)
        SAY("libtutti.so is not beside this command: nothing can be preloaded");
    if (info->mpis.n == 0)
        SAY("no MPI was found in PATH: install one (Debian: openmpi-bin or mpich) or name it with --mpi");
    for (int i = 0; i < info->mpis.n; i++) {
        const struct tool_mpi *mpi = &info->mpis.mpi[i];
        if (mpi->abi && !info_front_of(info, mpi->abi))
            SAY("%s %s: no front end for its interface is in this build, its calls are not accelerated",
                tool_family_title(mpi->family), mpi->version);
    }
    if (strcmp(info->used, "none") == 0)
        SAY("TUTTI_DEVICE=none: every call is passed on to the MPI");
    for (int i = 0; i < info->devices; i++) {
        const struct info_device *device = &info->device[i];
        if (device->chosen && device->status != TUTTI_OK)
            SAY("the %s device cannot be used: %s", device->name, device->why);
        ready |= device->chosen && device->status == TUTTI_OK;
    }
    if (ready && info->simulates)
        SAY("no GPU is used: the host device stands in for one, for tests and for trying things out");
    if (!before)
        SAY("nothing stands in the way: calls on device memory are accelerated");
#undef SAY
}

static void print_mpis(const struct info *info)
{
    puts("MPIs");
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

/* Many GPUs that are all alike, as the host device has, in a few lines. */
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
    printf("  Ranges for Nsight (TUTTI_NVTX): %s\n",
           tutti_phases_have_nvtx() ? "built in" : "left out: the headers of NVTX 3 were not found by the build");
}

static void print_line(void *with, const char *line)
{
    (void)with;
    printf("  %s\n", line);
}

static void print_settings(const struct info *info)
{
    struct tutti_setting_row row;
    puts("\nSettings (from the environment)");
    printf("  %-24s %-10s %-10s %s\n", "name", "value", "default", "allowed");
    for (int i = 0; tutti_settings_row(i, &row); i++) {
        const char *standard = row.standard[0] ? row.standard : "(empty)";
        char shown[1024];
        printf("  %-24s %-10s %-10s %s\n", row.name,
               row.value[0] ? tutti_plain(row.value, shown, sizeof shown) : "(empty)", standard, row.allowed);
        printf("      %s\n", row.text);
    }
    if (info->wrong[0])
        puts("\nNot valid");
    for (const char *at = info->wrong; *at; at += strspn(at, "\n")) {
        size_t n = strcspn(at, "\n");
        printf("  %.*s\n", (int)n, at);
        at += n;
    }
}

static void print_rules(const struct info *info)
{
    info_rules_print(info);
    puts("\nAlgorithms");
    for (size_t i = 0; i < sizeof algorithm_list / sizeof algorithm_list[0]; i++)
        printf("  %-14s %s\n", algorithm_list[i].name, algorithm_list[i].text);
}

int tool_info(int argc, char **argv)
{
    static struct info info;
    int json = 0;
    tool_check_options(options, argc, argv, 0);
    argp_parse(&argp, argc, argv, 0, NULL, &json);
    read_all(&info);
    if (json) {
        info_json(&info);
    } else {
        printf("Tutti %s\n\n", tutti_version());
        print_mpis(&info);
        print_devices(&info);
        puts("\nState");
        info_obstacles(&info, print_line, NULL);
        print_settings(&info);
        print_rules(&info);
    }
    for (int i = 0; i < 3; i++)
        free(info.front[i].path);
    free(info.preload);
    return fflush(stdout) == 0 ? 0 : 1;
}
