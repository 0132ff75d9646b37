#include "counted.h"

#include <stdatomic.h>
#include <string.h>

#include "core/lives.h"
#include "core/status.h"
#include "support/check.h"

enum { SHIFT = 20 };

static atomic_char freed[COUNTED_IDS], is_mapped[COUNTED_IDS];
static atomic_int mapped, refusals, resets, last = COUNTED_IDS;

static uint64_t id_at(const void *pointer)
{
    return (uintptr_t)pointer >> SHIFT;
}

const void *counted_address(uint64_t id)
{
    return (const void *)(uintptr_t)(id << SHIFT);
}

struct tutti_export counted_name(uint64_t id)
{
    return (struct tutti_export){.id = id, .base = id << SHIFT, .bytes = COUNTED_BYTES};
}

void counted_free(uint64_t id)
{
    atomic_store(&freed[id], 1);
}

int counted_is_mapped(uint64_t id)
{
    return atomic_load(&is_mapped[id]);
}

int counted_mapped(void)
{
    return atomic_load(&mapped);
}

void counted_refuse(int n)
{
    atomic_store(&refusals, n);
}

int counted_refuses(void)
{
    return atomic_load(&refusals);
}

void counted_reset_meanwhile(void)
{
    atomic_store(&resets, 1);
}

static int active(void)
{
    return 1;
}

static int open_it(char *why, size_t size)
{
    (void)why;
    (void)size;
    return TUTTI_OK;
}

static int gpus(void)
{
    return 1;
}

static int current(int *gpu)
{
    *gpu = 0;
    return TUTTI_OK;
}

static int uuid(int gpu, unsigned char out[16])
{
    memset(out, 1 + gpu, 16);
    return TUTTI_OK;
}

static int reach(int gpu, const unsigned char peer[16])
{
    (void)gpu;
    (void)peer;
    return 1;
}

static void classify(const void *pointer, struct tutti_memory *out)
{
    const uint64_t id = id_at(pointer);
    const int device = id > 0 && id < COUNTED_IDS && !atomic_load(&freed[id]);
    *out = (struct tutti_memory){.kind = device ? TUTTI_MEMORY_DEVICE : TUTTI_MEMORY_HOST, .id = device ? id : 0};
}

static int alloc(int gpu, size_t bytes, void **device)
{
    (void)gpu;
    (void)bytes;
    *device = (void *)(uintptr_t)counted_address((uint64_t)atomic_fetch_sub(&last, 1) - 1);
    return TUTTI_OK;
}

static int free_it(void *device)
{
    counted_free(id_at(device));
    return TUTTI_OK;
}

static int export_memory(const void *pointer, struct tutti_export *out, int *fd)
{
    *fd = -1;
    *out = counted_name(id_at(pointer));
    return TUTTI_OK;
}

/* Nothing is mapped for the GPU after that. */
static void reset_gpu(void)
{
    for (int id = 0; id < COUNTED_IDS; id++)
        atomic_store(&is_mapped[id], 0);
    atomic_store(&mapped, 0);
    tutti_gpu_reset(0);
}

static int import_memory(int gpu, const struct tutti_export *what, int fd, void **base)
{
    (void)gpu;
    (void)fd;
    const int is_reset = atomic_exchange(&resets, 0);
    int left = atomic_load(&refusals);
    while (left > 0 && !atomic_compare_exchange_weak(&refusals, &left, left - 1))
        ;
    if (is_reset && left > 0)
        reset_gpu();
    if (left > 0)
        return TUTTI_ERR_DEVICE;
    CHECK(!atomic_exchange(&is_mapped[what->id], 1), "allocation %llu is mapped twice", (unsigned long long)what->id);
    atomic_fetch_add(&mapped, 1);
    *base = (void *)(uintptr_t)what->base;
    if (is_reset)
        reset_gpu();
    return TUTTI_OK;
}

static int release_memory(int gpu, const struct tutti_export *what, void *base)
{
    (void)gpu;
    (void)base;
    CHECK(atomic_exchange(&is_mapped[what->id], 0), "allocation %llu is not mapped", (unsigned long long)what->id);
    atomic_fetch_sub(&mapped, 1);
    return TUTTI_OK;
}

static uint64_t joined_ns(void)
{
    return COUNTED_JOINED_NS;
}

const struct tutti_device counted_device = {.name = "counting",
                                            .kinds = "",
                                            .simulates = 1,
                                            .open = open_it,
                                            .active = active,
                                            .gpu.count = gpus,
                                            .gpu.current = current,
                                            .gpu.uuid = uuid,
                                            .gpu.reach = reach,
                                            .memory.classify = classify,
                                            .memory.alloc = alloc,
                                            .memory.free = free_it,
                                            .share.export = export_memory,
                                            .share.import = import_memory,
                                            .share.release = release_memory,
                                            .share.joined_ns = joined_ns};
