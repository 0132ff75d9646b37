/* Packages and DRAM: the domains of RAPL as Linux's powercap shows them, intel-rapl:0 (package-0) and intel-rapl:0:0
 * (dram). AMD's have the same names. intel-rapl-mmio:0 is the same package a second time and is left out. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "energy/source.h"

static int domain_number(int file, uint64_t *out)
{
    char text[32], *end;
    const ssize_t n = pread(file, text, sizeof text - 1, 0);
    if (n <= 0) {
        if (n == 0)
            errno = ENODATA;
        return 0;
    }
    text[n] = '\0';
    *out = strtoull(text, &end, 10);
    return end != text;
}

static void domain_read(struct energy_source *source, struct energy_reading *out)
{
    out->has_counter = domain_number(source->file, &out->counter_uj);
    if (!out->has_counter)
        snprintf(out->reason, sizeof out->reason, "the counter could not be read: %s", strerror(errno));
}

static void domain_close(struct energy_source *source)
{
    close(source->file);
}

static const struct energy_ops domain_ops = {.read = domain_read, .close = domain_close};

/* First line of FOLDER/NAME; 0 if there is none. */
static int domain_text(const char *folder, const char *name, char *out, int size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    const int found = file && fgets(out, size, file) != NULL;
    if (file)
        fclose(file);
    if (found)
        out[strcspn(out, "\n")] = '\0';
    return found;
}

static void domain_open(struct energy_sources *sources, const char *folder, int kind, const char *name)
{
    char path[PATH_MAX + 16], text[32] = "";
    uint64_t value;
    struct energy_source *source = energy_source_add(sources, kind, name);
    if (!source)
        return;
    struct tutti_energy_source *about = &source->about;
    snprintf(about->id, sizeof about->id, "%.90s", folder);
    snprintf(path, sizeof path, "%s/energy_uj", folder);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || !domain_number(file, &value)) {
        if (errno == EACCES || errno == EPERM)
            snprintf(about->reason, sizeof about->reason,
                     "no permission to read %.120s: Linux lets root alone read it since 5.10", path);
        else
            snprintf(about->reason, sizeof about->reason, "%.120s: %s", path, strerror(errno));
        if (file >= 0)
            close(file);
        return;
    }
    source->file = file;
    source->ops = &domain_ops;
    about->counter = 1;
    if (domain_text(folder, "max_energy_range_uj", text, sizeof text))
        source->range_uj = strtoull(text, NULL, 10);
}

static int domain_kind(const char *name)
{
    return strncmp(name, "package", 7) == 0 ? TUTTI_ENERGY_PACKAGE : strcmp(name, "dram") == 0 ? TUTTI_ENERGY_DRAM : -1;
}

static int is_domain(const struct dirent *entry)
{
    static const char prefix[] = "intel-rapl:";
    return strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0;
}

static int machine_is_virtual(const char *cpuinfo)
{
    char line[8192];
    int found = 0;
    FILE *file = fopen(cpuinfo, "r");
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, "flags", 5) == 0 && strstr(line, " hypervisor") != NULL;
    if (file)
        fclose(file);
    return found;
}

void energy_domains_open(struct energy_sources *sources, const char *folder, const char *cpuinfo)
{
    static const struct {
        int kind;
        const char *name;
    } kinds[] = {{TUTTI_ENERGY_PACKAGE, "package"}, {TUTTI_ENERGY_DRAM, "dram"}};
    struct dirent **entry = NULL;
    const int n = scandir(folder, &entry, is_domain, versionsort), error = errno;
    int found[TUTTI_ENERGY_KINDS] = {0};
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX], name[40], shown[48];
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        const int kind = domain_text(path, "name", name, sizeof name) ? domain_kind(name) : -1;
        /* The socket of a memory domain is the first number of its folder's name. */
        if (kind == TUTTI_ENERGY_DRAM)
            snprintf(shown, sizeof shown, "dram-%d", atoi(entry[i]->d_name + strlen("intel-rapl:")));
        else
            snprintf(shown, sizeof shown, "%s", kind >= 0 ? name : "");
        if (kind >= 0) {
            domain_open(sources, path, kind, shown);
            found[kind]++;
        }
        free(entry[i]);
    }
    free(entry);
    for (int k = 0; k < 2; k++) {
        char reason[256];
        if (found[kinds[k].kind])
            continue;
        const char *virtual = machine_is_virtual(cpuinfo) ? "; this is a virtual machine, which seldom has one" : "";
        if (n < 0)
            snprintf(reason, sizeof reason, "%.120s: %s%s", folder, strerror(error), virtual);
        else
            snprintf(reason, sizeof reason, "no domain %s in %.120s%s", kinds[k].name, folder, virtual);
        energy_source_missing(sources, kinds[k].kind, kinds[k].name, reason);
    }
}
