/* Buffers in all kinds of memory. Managed memory is CUDA's; on other devices it is ordinary memory.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "every.h"
#include "tutti/tutti.h"

static void *managed(size_t bytes)
{
    enum { ATTACH_GLOBAL = 1 };
    static int (*alloc)(unsigned long long *, size_t, unsigned);
    unsigned long long address = 0;
    if (!alloc) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW);
        *(void **)(void *)&alloc = driver ? dlsym(driver, "cuMemAllocManaged") : NULL;
    }
    return alloc && alloc(&address, bytes, ATTACH_GLOBAL) == 0 ? (void *)(uintptr_t)address : NULL;
}

static void managed_free(void *memory)
{
    static int (*release)(unsigned long long);
    if (!release)
        *(void **)(void *)&release = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemFree_v2");
    release((unsigned long long)(uintptr_t)memory);
}

/* The kind that there is in place of another. */
static enum every_kind kind_here(enum every_kind kind)
{
    if (kit_plain || (kind == EVERY_MANAGED && strcmp(tutti_device_name(), "cuda") != 0))
        return EVERY_HOST;
    return kind;
}

void every_buffer_open(struct every_buffer *buffer, enum every_kind kind, size_t bytes)
{
    void *memory = NULL;
    *buffer = (struct every_buffer){.kind = kind_here(kind), .bytes = bytes};
    if (buffer->kind == EVERY_MANAGED && !(memory = managed(bytes))) /* a GPU without it */
        buffer->kind = EVERY_HOST;
    if (buffer->kind == EVERY_HOST)
        memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    else if (buffer->kind == EVERY_PINNED)
        CHECK(tutti_device()->memory.alloc_pinned(bytes, &memory) == 0, "%zu bytes of pinned memory", bytes);
    else if (buffer->kind == EVERY_DEVICE)
        CHECK(tutti_alloc(bytes, &memory) == 0, "%zu bytes of device memory", bytes);
    if (!memory) {
        fprintf(stderr, "rank %d: no memory of kind %d for %zu bytes\n", kit_rank, (int)kind, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    buffer->base = memory;
}

static void copy(const struct every_buffer *buffer, void *to, const void *from)
{
    if (buffer->kind != EVERY_DEVICE)
        memcpy(to, from, buffer->bytes);
    else
        CHECK(tutti_copy(to, from, buffer->bytes) == 0, "a copy of %zu bytes", buffer->bytes);
}

void every_buffer_write(struct every_buffer *buffer, const char *data)
{
    copy(buffer, buffer->base, data);
}

void every_buffer_read(const struct every_buffer *buffer, char *data)
{
    copy(buffer, data, buffer->base);
}

void every_buffer_close(struct every_buffer *buffer)
{
    if (!buffer->base)
        return;
    if (buffer->kind == EVERY_HOST)
        free(buffer->base);
    else if (buffer->kind == EVERY_MANAGED)
        managed_free(buffer->base);
    else if (buffer->kind == EVERY_PINNED)
        tutti_device()->memory.free_pinned(buffer->base);
    else
        tutti_free(buffer->base);
    buffer->base = NULL;
}
