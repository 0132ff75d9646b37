/* Other ways to begin than tshmem_init(): see tutti/shmem_begin.h. */
#include "tutti/shmem_begin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shmem/local/openshmem.h"
#include "shmem/space.h"

static int64_t asked_mib;
static int host_heaps;

int64_t tutti_shmem_asked_mib(void)
{
    return asked_mib;
}

void tutti_shmem_heap_on_host(void)
{
    host_heaps = 1;
}

int tutti_shmem_host_heaps(void)
{
    return host_heaps;
}

int tutti_shmem_load_front(void)
{
    char path[PATH_MAX];
    Dl_info own;
    if (dlsym(RTLD_DEFAULT, "MPI_Init") || !dladdr((const void *)&asked_mib, &own) || !own.dli_fname)
        return 0;
    const char *slash = strrchr(own.dli_fname, '/');
    const int folder = slash ? (int)(slash + 1 - own.dli_fname) : 0;
    const int length = snprintf(path, sizeof path, "%.*slibtutti.so", folder, own.dli_fname);
    return length < (int)sizeof path && dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL;
}

int tutti_shmem_init_at(const void *comm)
{
    const struct tutti_shmem_host *host = tutti_shmem_served("tshmem_init");
    return host ? host->start_at(comm) : TUTTI_ERR_UNAVAILABLE;
}

int tutti_shmem_init_as(int pe, int pes, uint64_t id)
{
    const struct tutti_shmem_host *host = tutti_shmem_served("tshmem_init");
    if (pe < 0 || pe >= pes)
        return tutti_shmem_answer(TUTTI_ERR_ARGUMENT, "tshmem_init", "there is no PE %d of %d", pe, pes);
    return host ? host->start_as(pe, pes, id) : TUTTI_ERR_UNAVAILABLE;
}

int tutti_shmem_heap_from(const char *variable)
{
    const char *text = getenv(variable);
    const int64_t mib = text && *text ? tutti_shmem_read_mib(text) : 0;
    if (mib < 0)
        return tutti_shmem_answer(TUTTI_ERR_SETTING, "tshmem_init",
                                  "%s=%s is no size of a heap: give bytes, or a number and K, M, G or T, up to 1T",
                                  variable, text);
    asked_mib = mib;
    return TUTTI_OK;
}
