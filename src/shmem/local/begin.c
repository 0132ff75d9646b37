/* Other ways to begin than tshmem_init(): see tutti/shmem_begin.h. */
#include "tutti/shmem_begin.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shmem/space.h"

static int64_t first_bytes;
static int host_heaps;

int64_t tutti_shmem_first_bytes(void)
{
    return first_bytes;
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
    if (dlsym(RTLD_DEFAULT, "MPI_Init") || !dladdr((const void *)&first_bytes, &own) || !own.dli_fname)
        return 0;
    const char *slash = strrchr(own.dli_fname, '/');
    const int folder = slash ? (int)(slash + 1 - own.dli_fname) : 0;
    const int length = snprintf(path, sizeof path, "%.*slibtutti.so", folder, own.dli_fname);
    return length < (int)sizeof path && dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL;
}

int tutti_shmem_init_at(const void *comm)
{
    const struct tutti_shmem_host *host = tutti_shmem_served();
    return host ? host->start_at(comm) : TUTTI_ERR_UNAVAILABLE;
}

int tutti_shmem_init_as(int pe, int pes, uint64_t id)
{
    const struct tutti_shmem_host *host = tutti_shmem_served();
    if (pe < 0 || pe >= pes)
        return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, "tshmem_init", "there is no PE %d of %d", pe, pes);
    return host ? host->start_as(pe, pes, id) : TUTTI_ERR_UNAVAILABLE;
}

/* Power of two that a letter behind a number stands for; -1: none. */
static int shift_of(const char *text)
{
    static const char letters[] = "KMGT";
    const char *letter = *text && !text[1] ? strchr(letters, toupper((unsigned char)*text)) : NULL;
    return !*text ? 0 : letter ? 10 * (int)(letter - letters + 1) : -1;
}

int tutti_shmem_heap_from(const char *variable)
{
    const double mib = 1 << 20, most = 1 << 20; /* MiB: as TUTTI_SHMEM_HEAP_MB */
    const char *text = getenv(variable);
    char *end;
    if (!text || !*text || getenv("TUTTI_SHMEM_HEAP_MB"))
        return TUTTI_OK;
    const double number = strtod(text, &end);
    const int shift = shift_of(end);
    const double size = shift < 0 ? -1 : number * (double)((int64_t)1 << shift) / mib;
    if (end == text || !(size > 0 && size <= most))
        return tutti_shmem_fail(TUTTI_ERR_SETTING, "tshmem_init",
                                "%s=%s is no size of a heap: give bytes, or a number and K, M, G or T, up to 1T",
                                variable, text);
    const int64_t whole = (int64_t)size;
    first_bytes = (whole + (size > (double)whole)) << 20;
    return TUTTI_OK;
}
