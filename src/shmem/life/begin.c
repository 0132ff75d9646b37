/* Other ways to begin than tshmem_init(): see tutti/shmem_begin.h. */
#include "tutti/shmem_begin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "shmem/here.h"
#include "shmem/life/life.h"

int tutti_shmem_load_front(void)
{
    static const char name[] = "libtutti.so"; /* in this library: the program looks for its folder */
    char path[PATH_MAX];
    Dl_info own;
    if (dlsym(RTLD_DEFAULT, "MPI_Init") || !dladdr((const void *)&name, &own) || !own.dli_fname)
        return 0;
    const char *slash = strrchr(own.dli_fname, '/');
    const int folder = slash ? (int)(slash + 1 - own.dli_fname) : 0;
    const int length = snprintf(path, sizeof path, "%.*s%s", folder, own.dli_fname, name);
    return length < (int)sizeof path && dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL;
}

int tutti_shmem_init_at(const void *comm)
{
    const struct tutti_shmem_host *host = tutti_shmem_served("tshmem_init");
    return host ? host->start_at(comm) : TUTTI_ERR_UNAVAILABLE;
}

int tutti_shmem_init_as(int pe, int pes, uint64_t id)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const struct tutti_shmem_host *host = tutti_shmem_served("tshmem_init");
    if (pe < 0 || pe >= pes)
        return tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, "tshmem_init", "there is no PE %d of %d", pe, pes);
    return host ? host->start_as(pe, pes, id) : TUTTI_ERR_UNAVAILABLE;
}
