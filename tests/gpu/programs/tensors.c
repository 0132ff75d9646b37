/* PyTorch's tensors of the CPU in memory of the simulated GPU. Preloaded behind Tutti, this library allocates tensors
 * by tutti_alloc(): PyTorch calls posix_memalign() with an alignment of 64 bytes for them. A program that passes such
 * tensors to MPI then passes device memory. Allocations that tutti_alloc() refuses are made by the C library. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <dlfcn.h>

#include "tutti/tutti.h"

enum { SLOTS = 1 << 20, ALIGNMENT = 64 };

static void (*real_free)(void *);
static int (*real_memalign)(void **, size_t, size_t);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *taken[SLOTS]; /* addresses, open addressing; GONE where one was */
#define GONE ((void *)1)
static _Atomic uintptr_t lowest = UINTPTR_MAX, highest;
static _Thread_local int inside;

static size_t slot_of(const void *address)
{
    return (size_t)(((uintptr_t)address >> 6) * 0x9e3779b97f4a7c15u >> 44) & (SLOTS - 1);
}

static int remember(void *address)
{
    int stored = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = slot_of(address), n = 0; n < SLOTS && !stored; i = (i + 1) & (SLOTS - 1), n++) {
        if (!taken[i] || taken[i] == GONE) {
            taken[i] = address;
            stored = 1;
        }
    }
    if ((uintptr_t)address < atomic_load(&lowest))
        atomic_store(&lowest, (uintptr_t)address);
    if ((uintptr_t)address > atomic_load(&highest))
        atomic_store(&highest, (uintptr_t)address);
    pthread_mutex_unlock(&lock);
    return stored;
}

static int forget(const void *address)
{
    int found = 0;
    if ((uintptr_t)address < atomic_load(&lowest) || (uintptr_t)address > atomic_load(&highest))
        return 0;
    pthread_mutex_lock(&lock);
    for (size_t i = slot_of(address), n = 0; n < SLOTS && taken[i] && !found; i = (i + 1) & (SLOTS - 1), n++) {
        if (taken[i] == address) {
            taken[i] = GONE;
            found = 1;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

__attribute__((constructor)) static void find(void)
{
    if (!real_free)
        *(void **)(void *)&real_free = dlsym(RTLD_NEXT, "free");
    if (!real_memalign)
        *(void **)(void *)&real_memalign = dlsym(RTLD_NEXT, "posix_memalign");
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (!real_memalign)
        find();
    if (alignment == ALIGNMENT && bytes > 0 && !inside) {
        void *device = NULL;
        inside = 1;
        const int status = tutti_alloc(bytes, &device);
        inside = 0;
        if (status == 0 && remember(device)) {
            *out = device;
            return 0;
        }
    }
    return real_memalign(out, alignment, bytes);
}

void free(void *address)
{
    if (!real_free)
        find();
    if (address && !inside && forget(address)) {
        inside = 1;
        tutti_free(address);
        inside = 0;
        return;
    }
    real_free(address);
}
