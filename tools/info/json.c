#include "tools/info/info.h"

#include <string.h>

#include "core/settings.h"
#include "core/status.h"
#include "kernels/reduce.h"
#include "tools/start/start.h"
#include "tutti/tutti.h"

#ifdef TUTTI_JANSSON
#include <jansson.h>

static json_t *json_text(const char *value)
{
    return value ? json_string_nocheck(value) : json_null();
}

static json_t *json_mpis(const struct info *info)
{
    json_t *all = json_array();
    for (int i = 0; i < info->mpis.n; i++) {
        const struct tool_mpi *mpi = &info->mpis.mpi[i];
        json_t *abis = json_array();
        for (int a = TOOL_ABI_OPENMPI; a <= TOOL_ABI_STANDARD; a *= 2) {
            if (mpi->abi & a)
                json_array_append_new(abis, json_text(tool_abi_name(a)));
        }
        const struct info_front *front = info_front_of(info, mpi->abi);
        json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "name",
                                             tool_family_name(mpi->family), "title", tool_family_title(mpi->family),
                                             "version", mpi->version, "launcher", mpi->launcher, "libraries",
                                             json_text(mpi->libraries[0] ? mpi->libraries : NULL), "interfaces", abis,
                                             "front_end", json_text(front ? front->path : NULL)));
    }
    return all;
}

static json_t *json_devices(const struct info *info)
{
    json_t *all = json_array();
    for (int i = 0; i < info->devices; i++) {
        const struct info_device *device = &info->device[i];
        json_t *gpus = json_array();
        for (int g = 0; g < device->gpus; g++) {
            json_t *reaches = json_array();
            for (int p = 0; p < device->gpus; p++) {
                int known = device->gpu[g].reaches[p];
                json_array_append_new(reaches, known < 0 ? json_null() : json_boolean(known));
            }
            json_array_append_new(gpus, json_pack("{s:o, s:s, s:o}", "name", json_text(device->gpu[g].text), "uuid",
                                                  device->gpu[g].uuid, "reaches", reaches));
        }
        json_array_append_new(all,
                              json_pack("{s:s, s:b, s:b, s:b, s:o, s:o}", "name", device->name, "built", device->built,
                                        "in_use", device->chosen, "available", device->status == TUTTI_OK, "why_not",
                                        json_text(device->status == TUTTI_OK ? NULL : device->why), "gpus", gpus));
    }
    return all;
}

static json_t *json_settings(void)
{
    json_t *all = json_array();
    struct tutti_setting_row row;
    for (int i = 0; tutti_settings_row(i, &row); i++)
        json_array_append_new(all, json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:s}", "group", row.group, "name",
                                             row.name, "value", json_text(row.value), "default", row.standard,
                                             "allowed", row.allowed, "when", row.when, "text", row.text));
    return all;
}

static void add_line(void *with, const char *line)
{
    json_array_append_new(with, json_text(line));
}

static json_t *json_lines(const char *all)
{
    json_t *out = json_array();
    for (const char *at = all; *at; at += strspn(at, "\n")) {
        size_t n = strcspn(at, "\n");
        json_array_append_new(out, json_stringn_nocheck(at, n));
        at += n;
    }
    return out;
}

void info_json(const struct info *info)
{
    json_t *state = json_array(), *fronts = json_object();
    info_obstacles(info, add_line, state);
    for (int i = 0; i < 3; i++)
        json_object_set_new(fronts, tool_abi_name(info->front[i].abi), json_text(info->front[i].path));
    json_t *all = json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:s, s:o, s:o, s:o, s:{s:o, s:o, s:o, s:o, s:s, s:s}}",
                            "version", tutti_version(), "mpis", json_mpis(info), "preload", json_text(info->preload),
                            "front_ends", fronts, "device", info->used, "devices", json_devices(info), "host_kernels",
                            tutti_kernel_host_isa(), "state", state, "settings", json_settings(), "not_valid",
                            json_lines(info->wrong), "rules", "user", json_text(tutti_settings()->rules), "file",
                            json_text(info->measured.path[0] ? info->measured.path : NULL), "device",
                            json_text(info->measured.entry[0] ? info->measured.entry : NULL), "measured",
                            json_text(info->measured.rules), "defaults", info->rules, "common", tutti_rules_common());
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}
#else
void info_json(const struct info *info)
{
    (void)info;
    tool_refuse("this build has no JSON: Jansson was not there when it was built (Debian: libjansson-dev)");
}
#endif
