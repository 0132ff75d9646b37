#include "core/nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Libraries that are open: one, unless a meter was given another name. */
static struct nvml_library {
    struct tutti_nvml calls; /* first: its users have this part */
    void *handle;
    int users, attached; /* starts that have not ended; 1: the first of them attached to all GPUs */
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

static struct nvml_library *nvml_of(const struct tutti_nvml *nvml)
{
    return (struct nvml_library *)(uintptr_t)nvml;
}

/* The lock is held. The library stops and starts again if it did not attach. */
static int nvml_attach(struct nvml_library *library)
{
    if (library->users > 0)
        library->calls.Shutdown();
    const int status = library->calls.Init_v2();
    library->attached = status == TUTTI_NVML_OK;
    return status;
}

int tutti_nvml_start(const struct tutti_nvml *nvml, int attach)
{
    struct nvml_library *const library = nvml_of(nvml);
    int status = TUTTI_NVML_OK;
    if (!nvml->Init_v2 || !nvml->Shutdown)
        return TUTTI_NVML_NOT_SUPPORTED;
    pthread_mutex_lock(&nvml_lock);
    if (attach && !library->attached)
        status = nvml_attach(library);
    else if (library->users == 0 &&
             (!nvml->InitWithFlags || nvml->InitWithFlags(TUTTI_NVML_NO_ATTACH) != TUTTI_NVML_OK))
        status = nvml_attach(library);
    library->users += status == TUTTI_NVML_OK;
    pthread_mutex_unlock(&nvml_lock);
    return status;
}

void tutti_nvml_end(const struct tutti_nvml *nvml)
{
    struct nvml_library *const library = nvml_of(nvml);
    pthread_mutex_lock(&nvml_lock);
    if (library->users > 0 && --library->users == 0) {
        nvml->Shutdown();
        library->attached = 0;
    }
    pthread_mutex_unlock(&nvml_lock);
}
