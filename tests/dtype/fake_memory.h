/* Memory of a GPU that tests pretend: the host's. What a channel of packing launches asks of a device. */
#ifndef TUTTI_TESTS_FAKE_MEMORY_H
#define TUTTI_TESTS_FAKE_MEMORY_H

#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "device/device.h"

static int fake_map(int gpu, void *pointer, size_t bytes, void **seen)
{
    (void)gpu;
    (void)bytes;
    *seen = pointer;
    return TUTTI_OK;
}

static int fake_alloc(int gpu, size_t bytes, void **out)
{
    (void)gpu;
    *out = calloc(1, bytes);
    return *out ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static int fake_fill(struct tutti_stream *stream, void *to, int value, size_t bytes)
{
    (void)stream;
    memset(to, value, bytes);
    return TUTTI_OK;
}

#endif
