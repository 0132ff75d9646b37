/* tutti info: what was found and what is in force, on one screen: about 30 lines of at most 100 columns. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "tools/info/info.h"
#include "tutti/tutti.h"

enum { COLUMNS = 100, LABEL = 11, MPIS = 6, GROUPS = 3, SHOWN = 5 };

/* Writes the words of `text` into the columns from `indent` on, the first line behind `column`; a word that is longer
 * than a line stays whole. */
static void write_wrapped(int column, int indent, const char *text)
{
    int empty = 1;
    for (const char *at = text; *at; at += strspn(at, " ")) {
        const int n = (int)strcspn(at, " ");
        if (!empty && column + 1 + n > COLUMNS) {
            printf("\n%*s", indent, "");
            column = indent;
            empty = 1;
        }
        column += printf("%s%.*s", empty ? "" : " ", n, at);
        empty = 0;
        at += n;
    }
    putchar('\n');
}

/* A line of a part: the part's name before its first one. */
static void write_label(const char **label)
{
    printf("%s%-*s", (*label)[0] ? "\n" : "", LABEL, *label);
    *label = "";
}

static void write_line(const char **label, const char *text)
{
    write_label(label);
    write_wrapped(LABEL, LABEL, text);
}

static void write_mpis(const struct info *info)
{
    const char *label = "MPIs";
    char line[1024] = "front ends in this build:";
    if (info->mpis.n == 0)
        write_line(&label, "none in PATH");
    for (int i = 0; i < info->mpis.n && i < MPIS; i++) {
        const struct tool_mpi *mpi = &info->mpis.mpi[i];
        write_label(&label);
        printf("%-9s %-8s %s%s\n", tool_family_title(mpi->family), mpi->version, mpi->launcher,
               !mpi->abi                        ? " (its library was not found)"
               : !info_front_of(info, mpi->abi) ? " (no front end in this build)"
                                                : "");
    }
    if (info->mpis.n > MPIS)
        write_line(&label, "... more: --machine");
    size_t used = strlen(line);
    for (int i = 0; i < 3; i++) {
        if (info->front[i].path)
            used += (size_t)snprintf(line + used, sizeof line - used, " %s", tool_abi_name(info->front[i].abi));
    }
    write_line(&label, line);
}

/* Equal but for digits. */
static int are_alike(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "0123456789");
        b += strspn(b, "0123456789");
        if (*a != *b || !*a)
            return *a == *b;
    }
}

static const char *reach_of(const struct info_device *device)
{
    int least = 1;
    for (int g = 0; g < device->gpus; g++) {
        for (int p = 0; p < device->gpus; p++) {
            if (p != g && device->gpu[g].reaches[p] < least)
                least = device->gpu[g].reaches[p];
        }
    }
    return device->gpus < 2 ? ""
           : least > 0      ? ", each reaches every other's memory"
                            : ", not all known to reach each other's memory: --machine";
}

static void write_device(const char **label, const struct info_device *device)
{
    char line[1024];
    write_label(label);
    const int indent = LABEL + printf("%-4s  ", device->name);
    if (device->status != TUTTI_OK) {
        snprintf(line, sizeof line, "not available: %s", device->why);
        write_wrapped(indent, indent, line);
        return;
    }
    snprintf(line, sizeof line, "%s, %d GPU%s%s", device->chosen ? "in use" : "not in use", device->gpus,
             device->gpus == 1 ? "" : "s", reach_of(device));
    write_wrapped(indent, indent, line);
    for (int g = 0, groups = 0, end; g < device->gpus && groups < GROUPS; g = end, groups++) {
        for (end = g + 1; end < device->gpus && are_alike(device->gpu[g].text, device->gpu[end].text);)
            end++;
        char number[32] = "";
        if (end > g + 1)
            snprintf(number, sizeof number, "-%d", end - 1);
        snprintf(line, sizeof line, "GPU %d%s: %s", g, number, device->gpu[g].text);
        printf("%*s", indent, "");
        write_wrapped(indent, indent, line);
    }
}

static void write_state(void *with, const char *line)
{
    write_line(with, line);
}

static void write_settings(const struct info *info)
{
    const char *label = "Settings";
    struct tutti_setting_row row;
    char line[1024], shown[600];
    int all = 0, set = 0;
    for (; tutti_settings_row(all, &row); all++) {
        if (!row.set || strcmp(row.name, "TUTTI_RULES") == 0 || set++ >= SHOWN)
            continue;
        snprintf(line, sizeof line, "%s=%s", row.name, tutti_plain(row.value, shown, sizeof shown));
        write_line(&label, line);
    }
    for (const char *at = info->wrong; *at; at += strspn(at, "\n")) {
        const int n = (int)strcspn(at, "\n");
        snprintf(line, sizeof line, "NOT VALID: %.*s", n, at);
        write_line(&label, line);
        at += n;
    }
    snprintf(line, sizeof line, "%d of %d differ from their defaults%s", set, all,
             set > SHOWN ? "; --settings lists all of them" : "");
    write_line(&label, line);
}

static void write_rules(const struct info *info)
{
    const struct info_rules *measured = &info->measured;
    const char *label = "Rules", *user = tutti_settings()->rules;
    char line[TUTTI_RULES_BYTES], shown[200];
    snprintf(line, sizeof line, "TUTTI_RULES: %s%s", *user ? tutti_plain(user, shown, sizeof shown) : "none",
             strlen(user) > sizeof shown / 2 ? " ..." : "");
    write_line(&label, line);
    if (measured->rules[0])
        snprintf(line, sizeof line, "measured: %s, for %s", measured->path, measured->entry);
    else
        snprintf(line, sizeof line, "measured: %s", measured->why[0] ? measured->why : "none: the file is not valid");
    write_line(&label, line);
    snprintf(line, sizeof line, "defaults: of the device %s", info->used);
    write_line(&label, line);
}

void info_screen_print(const struct info *info)
{
    const char *devices = "Devices", *state = "State";
    printf("Tutti %s  %s\n", tutti_version(), info->preload ? info->preload : "");
    write_mpis(info);
    for (int i = 0; i < info->devices; i++)
        write_device(&devices, &info->device[i]);
    info_obstacles(info, write_state, &state);
    write_settings(info);
    write_rules(info);
    puts("\nIn full: tutti info --machine, --settings, --rules; for programs: --json");
}
