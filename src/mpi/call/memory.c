/* MPI_Alloc_mem can give device memory, so that a program that names no GPU interface can have some: with the info key
 * mpi_memory_alloc_kinds (a list such as "system,cuda:device") where one of the kinds is a device's, and with
 * TUTTI_DEVICE=host set by hand and TUTTI_HOST_STRICT=0, where the memory can be used as any other. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "mpi/real/errors.h"
#include "mpi/real/kinds.h"
#include "tutti/tutti.h"

/* Device memory that was given, for a forked child: no device says there what memory is. */
static struct given {
    struct given *next;
    void *base;
} * all_given;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void memory_note(void *base)
{
    struct given *given = malloc(sizeof *given);
    if (!given)
        return;
    pthread_mutex_lock(&lock);
    *given = (struct given){all_given, base};
    all_given = given;
    pthread_mutex_unlock(&lock);
}

static void memory_forget(const void *base)
{
    pthread_mutex_lock(&lock);
    struct given **at = &all_given, *found;
    while (*at && (*at)->base != base)
        at = &(*at)->next;
    if ((found = *at) != NULL)
        *at = found->next;
    pthread_mutex_unlock(&lock);
    free(found);
}

/* In a child, which has one thread: the lock may be another's that is not there. */
static int was_given(const void *base)
{
    const struct given *given = all_given;
    while (given && given->base != base)
        given = given->next;
    return given != NULL;
}

int tutti_door_MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    const struct tutti_device *device = tutti_door.device;
    const struct tutti_settings *settings = tutti_settings();
    int everywhere = device && device->simulates && settings->device != TUTTI_SET_DEVICE_AUTO && !settings->host_strict;
    if (!device || size <= 0 || tutti_inside || !(everywhere || tutti_info_asks_device(info)))
        return tutti_next.MPI_Alloc_mem(size, info, baseptr);
    void *memory = NULL;
    char why[256];
    int gpu = -1, status = device->open(why, sizeof why);
    if (status == TUTTI_OK && device->gpu.meet)
        status = device->gpu.meet(&gpu);
    if (status == TUTTI_OK)
        status = device->memory.alloc(gpu, (size_t)size, &memory);
    if (status != TUTTI_OK)
        return tutti_next.MPI_Alloc_mem(size, info, baseptr);
    *(void **)baseptr = memory;
    memory_note(memory);
    tutti_count("MPI_Alloc_mem", TUTTI_OUTCOME_ACCELERATED, "device memory");
    return MPI_SUCCESS;
}

int tutti_door_MPI_Free_mem(void *base)
{
    if (unlikely(tutti_door.forked) && was_given(base)) {
        tutti_error(
            "MPI_Free_mem: %p is device memory of the process that this one was forked from, which alone may free "
            "it",
            base);
        return MPI_ERR_BASE;
    }
    if (likely(!tutti_on_device(base)))
        return tutti_next.MPI_Free_mem(base);
    struct tutti_memory memory;
    tutti_door.device->memory.classify(base, &memory);
    if (memory.base != base || tutti_free(base) != TUTTI_OK)
        return tutti_fail_self(MPI_ERR_BASE);
    memory_forget(base);
    return MPI_SUCCESS;
}
