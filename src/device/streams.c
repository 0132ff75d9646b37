/* The public streams of tutti.h. A program holds the device's own handle; what belongs to it is found here. */
#include <pthread.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/status.h"
#include "device/device.h"
#include "tutti/tutti.h"

struct entry {
    struct entry *next;
    struct tutti_own_stream own;
};
static struct entry *entries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int streams_can(const struct tutti_device *device)
{
    if (device->stream.create && device->stream.wrap && device->stream.identity)
        return 1;
    tutti_device_missing(device, "stream.wrap");
    return 0;
}

static int streams_make(const struct tutti_device *device, struct entry *entry)
{
    int gpu = -1, status = device->gpu.meet ? device->gpu.meet(&gpu) : device->gpu.current(&gpu);
    if (status == TUTTI_OK)
        status = tutti_own_stream_create(device, gpu, &entry->own);
    if (status != TUTTI_OK)
        tutti_own_stream_destroy(device, &entry->own);
    return status;
}

int tutti_stream_create(void **stream)
{
    char why[256] = "";
    const struct tutti_device *device = tutti_device();
    if (!stream)
        return TUTTI_ERR_ARGUMENT;
    int status = device ? device->open(why, sizeof why) : TUTTI_ERR_UNAVAILABLE;
    if (status == TUTTI_OK && !streams_can(device))
        status = TUTTI_ERR_UNAVAILABLE;
    if (status != TUTTI_OK)
        return status;
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return TUTTI_ERR_MEMORY;
    status = streams_make(device, entry);
    if (status != TUTTI_OK) {
        free(entry);
        return status;
    }
    *stream = entry->own.handle;
    pthread_mutex_lock(&lock);
    entry->next = entries;
    entries = entry;
    pthread_mutex_unlock(&lock);
    return TUTTI_OK;
}

int tutti_stream_destroy(void *stream)
{
    const struct tutti_device *device = tutti_device();
    if (!stream)
        return TUTTI_OK;
    pthread_mutex_lock(&lock);
    struct entry **at = &entries;
    while (*at && (*at)->own.handle != stream)
        at = &(*at)->next;
    struct entry *entry = *at;
    if (entry)
        *at = entry->next;
    pthread_mutex_unlock(&lock);
    if (!device || !entry)
        return TUTTI_ERR_ARGUMENT;
    const int status = device->stream.sync(entry->own.stream), ended = tutti_own_stream_destroy(device, &entry->own);
    free(entry);
    return status != TUTTI_OK ? status : ended;
}

/* NULL if `stream` was not made by tutti_stream_create(). */
static struct tutti_stream *streams_find(void *handle)
{
    pthread_mutex_lock(&lock);
    struct entry *entry = entries;
    while (entry && entry->own.handle != handle)
        entry = entry->next;
    struct tutti_stream *stream = entry ? entry->own.stream : NULL;
    pthread_mutex_unlock(&lock);
    return stream;
}

int tutti_stream_sync(void *stream)
{
    struct tutti_stream *found = streams_find(stream);
    return found ? tutti_device()->stream.sync(found) : TUTTI_ERR_ARGUMENT;
}

int tutti_stream_copy(void *stream, void *to, const void *from, size_t bytes)
{
    struct tutti_stream *found = streams_find(stream);
    if (!found || (bytes && (!to || !from)))
        return TUTTI_ERR_ARGUMENT;
    return tutti_device()->stream.copy(found, to, from, bytes);
}
