/* tutti info: what was found, what is on, and why the rest is off. */
#include "tools/info/info.h"

#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "core/settings.h"
#include "core/status.h"
#include "tools/common/commands.h"
#include "tools/start/start.h"
#include "tutti/tutti.h"

enum { KEY_JSON = 256, KEY_MACHINE, KEY_SETTINGS, KEY_RULES };

static const struct argp_option options[] = {
    {"machine", KEY_MACHINE, NULL, 0,
     "MPIs and devices in full: folders, interfaces, UUIDs, which GPUs reach whose memory", 0},
    {"settings", KEY_SETTINGS, NULL, 0, "All settings: value, default, what each does, when to change it", 0},
    {"rules", KEY_RULES, NULL, 0, "All rules in force, their origins, and the algorithms that they may name", 0},
    {"json", KEY_JSON, NULL, 0, "All of it as JSON", 0},
    {.name = NULL},
};

static error_t info_parse(int key, char *argument, struct argp_state *state)
{
    int *view = state->input;
    if (key >= KEY_JSON && key <= KEY_RULES) {
        *view = key;
        return 0;
    }
    if (key == ARGP_KEY_ARG)
        tool_refuse("info: '%s' is not understood: info takes no argument", argument);
    return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
    .options = options,
    .parser = info_parse,
    .doc =
        "Shows on one screen the MPIs and devices that were found, what is enabled and why not, and the settings and "
        "rules in force. Needs no MPI.",
};

static const struct {
    const char *name, *text;
} device_list[] = {
#define TUTTI_DEVICE(name_, text_, nodes) {#name_, text_},
#include "tutti/devices.def"
#undef TUTTI_DEVICE
};

static void read_gpus(const struct tutti_device *device, struct info_device *out)
{
    unsigned char uuid[INFO_GPUS][16];
    memset(uuid, 0, sizeof uuid);
    int n = device->gpu.count ? device->gpu.count() : 0;
    out->gpus = n < 0 ? 0 : n < INFO_GPUS ? n : INFO_GPUS;
    for (int g = 0; g < out->gpus; g++) {
        struct info_gpu *gpu = &out->gpu[g];
        if (!device->gpu.describe || device->gpu.describe(g, gpu->text, sizeof gpu->text) != TUTTI_OK)
            snprintf(gpu->text, sizeof gpu->text, "GPU %d", g);
        if (device->gpu.uuid && device->gpu.uuid(g, uuid[g]) == TUTTI_OK) {
            for (int i = 0; i < 16; i++)
                snprintf(gpu->uuid + 2 * i, 3, "%02x", uuid[g][i]);
        }
    }
    for (int g = 0; g < out->gpus; g++) {
        for (int p = 0; p < out->gpus; p++) {
            int known = device->gpu.reach && out->gpu[p].uuid[0];
            out->gpu[g].reaches[p] = known ? (signed char)(device->gpu.reach(g, uuid[p]) > 0) : -1;
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
        SAY("no GPU is used: the host device simulates one, for tests and for trying things out");
    if (!before)
        SAY("ready: calls on device memory are accelerated");
#undef SAY
}

int tool_info(int argc, char **argv)
{
    static struct info info;
    int view = 0;
    tool_check_options(options, argc, argv, 0);
    argp_parse(&argp, argc, argv, 0, NULL, &view);
    read_all(&info);
    if (view == KEY_JSON)
        info_json(&info);
    else if (view == KEY_MACHINE)
        info_machine_print(&info);
    else if (view == KEY_SETTINGS)
        info_settings_print(&info);
    else if (view == KEY_RULES)
        info_rules_print(&info);
    else
        info_screen_print(&info);
    for (int i = 0; i < 3; i++)
        free(info.front[i].path);
    free(info.preload);
    return fflush(stdout) == 0 ? 0 : 1;
}
