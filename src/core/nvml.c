#include "core/nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Libraries that are open: one, unless a meter was given another name. */
static struct nvml_library {
    struct tutti_nvml calls;
    void *handle;
    struct nvml_library *next;
} * libraries;
static pthread_mutex_t nvml_lock = PTHREAD_MUTEX_INITIALIZER;

static void nvml_find(struct nvml_library *library)
{
    *(void **)(void *)&library->calls.ErrorString = dlsym(library->handle, "nvmlErrorString");
#define FIND(name, arguments) *(void **)(void *)&library->calls.name = dlsym(library->handle, "nvml" #name);
    TUTTI_NVML_CALLS(FIND)
#undef FIND
}

/* The lock is held. Two names of one library have one handle. */
static struct nvml_library *nvml_library_of(void *handle)
{
    struct nvml_library *library = libraries;
    while (library && library->handle != handle)
        library = library->next;
    if (library || !(library = calloc(1, sizeof *library))) {
        dlclose(handle); /* opened once more */
        return library;
    }
    library->handle = handle;
    nvml_find(library);
    library->next = libraries;
    return libraries = library;
}

const struct tutti_nvml *tutti_nvml_open(const char *name, char *why, size_t size)
{
    pthread_mutex_lock(&nvml_lock);
    void *const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *const text = handle ? NULL : dlerror();
    const struct nvml_library *const library = handle ? nvml_library_of(handle) : NULL;
    if (!library)
        snprintf(why, size, "%s", handle ? "out of memory" : text ? text : "it cannot be opened");
    pthread_mutex_unlock(&nvml_lock);
    return library ? &library->calls : NULL;
}
