#include "bench/common/helper.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

const void *bench_helper(const char *name, const char *symbol, char *why, size_t size)
{
    char path[PATH_MAX], own[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    own[n > 0 ? n : 0] = '\0';
    snprintf(path, sizeof path, "%.3900s/%s", dirname(own), name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const void *found = library ? dlsym(library, symbol) : NULL;
    if (!found)
        snprintf(why, size, "%s", access(path, F_OK) != 0 ? "it is not in this build" : dlerror());
    return found;
}
