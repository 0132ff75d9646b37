#include "resources.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"

static long entries(const char *folder)
{
    long n = 0;
    DIR *open = opendir(folder);
    while (open && readdir(open))
        n++;
    if (open)
        closedir(open);
    return n - 3; /* itself and its parent, and the descriptor of the folder */
}

void resources_now(struct resources *out)
{
    char line[1024];
    *out = (struct resources){.descriptors = entries("/proc/self/fd"), .threads = entries("/proc/self/task") + 1};
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) {
        out->mappings++;
        out->shared += strstr(line, "memfd:tutti-device") != NULL;
    }
    if (maps)
        fclose(maps);
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmRSS: %ld", &out->kilobytes);
    if (status)
        fclose(status);
}

void resources_compare(const char *what, const struct resources *before, const struct resources *after, long slack)
{
    if (check_setting("TUTTI_TEST_SHOW", 0))
        printf("%s: descriptors %ld %ld, device memory %ld %ld, mappings %ld %ld, KiB %ld %ld, threads %ld %ld\n", what,
               before->descriptors, after->descriptors, before->shared, after->shared, before->mappings,
               after->mappings, before->kilobytes, after->kilobytes, before->threads, after->threads);
    CHECK(after->descriptors - before->descriptors <= slack, "%s: %ld descriptors, %ld before", what,
          after->descriptors, before->descriptors);
    CHECK(after->shared - before->shared <= slack, "%s: %ld pieces of device memory mapped, %ld before", what,
          after->shared, before->shared);
    /* Each piece splits what is reserved for others; the MPI and the C library map a few more of their own. */
    CHECK(after->mappings - before->mappings <= 4 * slack, "%s: %ld mappings, %ld before", what, after->mappings,
          before->mappings);
    CHECK(after->threads - before->threads <= 1, "%s: %ld threads, %ld before", what, after->threads, before->threads);
}
