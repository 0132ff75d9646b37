#include "mpi/bounce/scratch.h"

#include <pthread.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "mpi/bounce/stage.h"

enum { KEPT = 32, LEAST = 64 << 10, STEP = 2 << 20 };

/* Freeing device memory may wait for all that the GPU does: what was given back is kept, up to a limit. */
static struct tutti_scratch kept[KEPT];
static size_t taken; /* in use, and kept */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t limit(void)
{
    return (size_t)tutti_settings()->aware_mb << 20;
}

/* Memory of the host device in strict mode is out of an MPI's reach. */
static int wanted(const struct tutti_places *places, size_t bytes)
{
    const struct tutti_settings *settings = tutti_settings();
    return tutti_door.aware && places && places->device && tutti_places_reached(places) &&
           bytes >= (size_t)settings->aware_least &&
           !(settings->host_strict && strcmp(tutti_door.device->name, "host") == 0);
}

/* The lock is held. The smallest piece that is large enough and not four times too large. */
static int take_kept(struct tutti_scratch *out, int gpu, size_t room)
{
    int best = -1;
    for (int i = 0; i < KEPT; i++) {
        if (kept[i].memory && kept[i].gpu == gpu && kept[i].room >= room && kept[i].room / 4 <= room &&
            (best < 0 || kept[i].room < kept[best].room))
            best = i;
    }
    if (best < 0)
        return 0;
    *out = kept[best];
    kept[best].memory = NULL;
    return 1;
}

/* The lock is held. Frees what is kept, until there is room for so many bytes. */
static void make_room(size_t bytes)
{
    for (int i = 0; i < KEPT && taken + bytes > limit(); i++) {
        if (!kept[i].memory)
            continue;
        tutti_door.device->free(kept[i].memory);
        taken -= kept[i].room;
        kept[i].memory = NULL;
    }
}

static int take_device(struct tutti_scratch *out, int gpu, size_t bytes)
{
    size_t room = LEAST;
    while (room < bytes && room < STEP)
        room *= 2;
    if (room < bytes)
        room = (bytes + STEP - 1) / STEP * STEP;
    void *memory = NULL;
    pthread_mutex_lock(&lock);
    int found = take_kept(out, gpu, room);
    if (!found && room <= limit()) {
        make_room(room);
        if (taken + room <= limit() && tutti_door.device->alloc(gpu, room, &memory) == TUTTI_OK) {
            taken += room;
            *out = (struct tutti_scratch){.memory = memory, .room = room, .on_device = 1, .gpu = gpu};
            found = 1;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int tutti_scratch_take(struct tutti_scratch *scratch, const struct tutti_places *places, size_t bytes)
{
    if (wanted(places, bytes) && take_device(scratch, places->gpu, bytes))
        return 1;
    *scratch = (struct tutti_scratch){.gpu = -1};
    scratch->memory = tutti_pinned_take(bytes, &scratch->room);
    return scratch->memory != NULL;
}

void tutti_scratch_give(struct tutti_scratch *scratch)
{
    if (!scratch->on_device) {
        tutti_pinned_give(scratch->memory, scratch->room);
        scratch->memory = NULL;
        return;
    }
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < KEPT && kept[i].memory)
        i++;
    if (i < KEPT) {
        kept[i] = *scratch;
    } else {
        tutti_door.device->free(scratch->memory);
        taken -= scratch->room;
    }
    pthread_mutex_unlock(&lock);
    scratch->memory = NULL;
}

void tutti_scratch_close(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KEPT; i++) {
        if (kept[i].memory)
            tutti_door.device->free(kept[i].memory);
        kept[i].memory = NULL;
    }
    taken = 0;
    pthread_mutex_unlock(&lock);
}
