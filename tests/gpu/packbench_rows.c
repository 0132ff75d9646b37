/* The layouts that packbench measures. */
#include "packbench.h"

#include <stdio.h>
#include <string.h>

#include "core/status.h"
#include "rim.h"

enum { ENTRIES = 100000 };

static void *alloc(uint64_t bytes)
{
    void *memory = NULL;
    need(device->memory.alloc(gpu, bytes, &memory) == TUTTI_OK, "allocating");
    need(device->stream.fill(stream, memory, 1, bytes) == TUTTI_OK && device->stream.sync(stream) == TUTTI_OK,
         "filling");
    return memory;
}

static const struct tutti_plan *plan_of(const struct tutti_description *what)
{
    const struct tutti_plan *plan;
    need(tutti_plan_build(what, &plan) == TUTTI_OK, "building a plan");
    return plan;
}

static void one_job(struct row *row, const struct tutti_plan *plan, void *memory, void *packed)
{
    row->jobs = 1;
    row->payload = plan->size;
    row->job[0] =
        (struct tutti_pack_job){.plan = plan, .count = 1, .memory = memory, .packed = packed, .bytes = plan->size};
}

/* One element of the type in `bytes` of memory, of which packing touches `touched`. */
static void show_type(const char *name, const struct tutti_description *what, uint64_t bytes, uint64_t touched)
{
    const struct tutti_plan *plan = plan_of(what);
    void *memory = alloc(bytes), *packed = alloc(plan->size);
    struct row row = {.name = name, .touched = touched};
    one_job(&row, plan, memory, packed);
    need(tutti_pack_prepare(gpu, plan) == TUTTI_OK, "tutti_pack_prepare");
    show(&row);
    tutti_plan_drop(plan);
    device->memory.free(memory);
    device->memory.free(packed);
}

static uint64_t sectors(uint64_t blocks, uint64_t block, uint64_t stride)
{
    if (stride < 32)
        return (blocks * stride + 31) / 32 * 32;
    return blocks * ((block + 31) / 32 * 32);
}

static int wanted(const char *name, const char *only)
{
    return !only || strstr(name, only) != NULL;
}

/* `total` bytes in blocks, `stride` apart. */
static void vector(const char *only, uint64_t total, uint64_t block, uint64_t stride, unsigned off)
{
    char name[64];
    snprintf(name, sizeof name, "%llu KiB of %llu B every %llu%s", (unsigned long long)total >> 10,
             (unsigned long long)block, (unsigned long long)stride, off ? ", odd address" : "");
    if (!wanted(name, only))
        return;
    const struct tutti_description bytes = {.form = TUTTI_FORM_BYTES, .bytes = block};
    const struct tutti_description *child = &bytes;
    const uint64_t n = total / block;
    const struct tutti_description what = {
        .form = TUTTI_FORM_VECTOR, .children = 1, .child = &child, .count = n, .length = 1, .stride = (int64_t)stride};
    unsigned char *memory = alloc(n * stride + 256), *packed = alloc(total + 256);
    struct row row = {.name = name, .copies = 2};
    const struct tutti_plan *plan = plan_of(&what);
    one_job(&row, plan, memory + off, packed);
    row.touched = sectors(n, block, stride);
    row.copy = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = (CUdeviceptr)memory + off,
                               .srcPitch = stride,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstDevice = (CUdeviceptr)packed,
                               .dstPitch = block,
                               .WidthInBytes = block,
                               .Height = n,
                               .Depth = 1};
    show(&row);
    tutti_plan_drop(plan);
    device->memory.free(memory);
    device->memory.free(packed);
}

/* `x` bytes by `y` by `z` out of the middle of a cube of 1024 bytes by 1024 by 1024. */
static void cube(const char *only, uint64_t x, uint64_t y, uint64_t z)
{
    char name[64];
    snprintf(name, sizeof name, "%llu x %llu x %llu of 1024^3", (unsigned long long)x, (unsigned long long)y,
             (unsigned long long)z);
    if (!wanted(name, only))
        return;
    const struct tutti_description byte = {.form = TUTTI_FORM_BYTES, .bytes = 1};
    const struct tutti_description *child = &byte;
    const uint64_t sizes[] = {1024, 1024, 1024}, subsizes[] = {z, y, x}, starts[] = {0, 0, 0};
    const struct tutti_description what = {.form = TUTTI_FORM_SUBARRAY,
                                           .children = 1,
                                           .child = &child,
                                           .dims = 3,
                                           .sizes = sizes,
                                           .subsizes = subsizes,
                                           .starts = starts};
    unsigned char *memory = alloc(UINT64_C(1) << 30), *packed = alloc(x * y * z);
    struct row row = {.name = name, .copies = 3};
    const struct tutti_plan *plan = plan_of(&what);
    one_job(&row, plan, memory, packed);
    row.touched = sectors(y * z, x, 1024);
    row.copy = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = (CUdeviceptr)memory,
                               .srcPitch = 1024,
                               .srcHeight = 1024,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstDevice = (CUdeviceptr)packed,
                               .dstPitch = x,
                               .dstHeight = y,
                               .WidthInBytes = x,
                               .Height = y,
                               .Depth = z};
    show(&row);
    tutti_plan_drop(plan);
    device->memory.free(memory);
    device->memory.free(packed);
}

/* n columns of n elements: contiguous(n, resized(vector(n, 1, n))). */
static void transpose(const char *only, uint64_t n, uint64_t element)
{
    char name[64];
    snprintf(name, sizeof name, "transpose %llu^2 of %llu B", (unsigned long long)n, (unsigned long long)element);
    if (!wanted(name, only))
        return;
    const struct tutti_description bytes = {.form = TUTTI_FORM_BYTES, .bytes = element};
    const struct tutti_description *child = &bytes;
    const struct tutti_description column = {.form = TUTTI_FORM_VECTOR,
                                             .children = 1,
                                             .child = &child,
                                             .count = n,
                                             .length = 1,
                                             .stride = (int64_t)(n * element)};
    const struct tutti_description *of_column = &column;
    const struct tutti_description narrow = {
        .form = TUTTI_FORM_RESIZED, .children = 1, .child = &of_column, .extent = (int64_t)element};
    const struct tutti_description *of_narrow = &narrow;
    const struct tutti_description what = {
        .form = TUTTI_FORM_CONTIGUOUS, .children = 1, .child = &of_narrow, .count = n};
    void *memory = alloc(n * n * element), *packed = alloc(n * n * element);
    struct row row = {.name = name};
    const struct tutti_plan *plan = plan_of(&what);
    one_job(&row, plan, memory, packed);
    row.touched = row.payload;
    show(&row);
    tutti_plan_drop(plan);
    device->memory.free(memory);
    device->memory.free(packed);
}

/* ENTRIES blocks, in an order without a rule; unequal: of 1 to 4 times `block`. */
static void list(const char *only, uint64_t block, int unequal)
{
    char name[64];
    snprintf(name, sizeof name, "list of %d x %llu%s B", ENTRIES, (unsigned long long)block, unequal ? " to x 4" : "");
    if (!wanted(name, only))
        return;
    static int64_t offsets[ENTRIES];
    static uint64_t lengths[ENTRIES];
    const uint64_t slot = unequal ? 6 * block : 2 * block;
    uint64_t touched = 0, state = 1;
    for (int i = 0; i < ENTRIES; i++) {
        state = state * UINT64_C(6364136223846793005) + 1;
        offsets[i] = (int64_t)((uint64_t)i * slot + (state >> 60 & 1) * block);
        lengths[i] = unequal ? 1 + (state >> 61 & 3) : 1;
        touched += slot < 32 ? slot : (lengths[i] * block + 31) / 32 * 32;
    }
    const struct tutti_description bytes = {.form = TUTTI_FORM_BYTES, .bytes = block};
    const struct tutti_description *child = &bytes;
    const struct tutti_description what = {.form = unequal ? TUTTI_FORM_INDEXED : TUTTI_FORM_BLOCKS,
                                           .children = 1,
                                           .child = &child,
                                           .count = ENTRIES,
                                           .length = 1,
                                           .lengths = lengths,
                                           .offsets = offsets};
    show_type(name, &what, ENTRIES * slot + 256, touched);
}

/* Elements with two members and a hole. */
static void structure(const char *only, uint64_t first, uint64_t second, uint64_t extent)
{
    char name[64];
    const uint64_t n = 1 << 19;
    snprintf(name, sizeof name, "512 Ki structs of %llu + %llu in %llu B", (unsigned long long)first,
             (unsigned long long)second, (unsigned long long)extent);
    if (!wanted(name, only))
        return;
    const struct tutti_description a = {.form = TUTTI_FORM_BYTES, .bytes = first};
    const struct tutti_description b = {.form = TUTTI_FORM_BYTES, .bytes = second};
    const struct tutti_description *members[] = {&a, &b};
    const uint64_t lengths[] = {1, 1};
    const int64_t offsets[] = {0, (int64_t)(extent - second)};
    const struct tutti_description what = {
        .form = TUTTI_FORM_STRUCT, .children = 2, .child = members, .count = 2, .lengths = lengths, .offsets = offsets};
    const struct tutti_plan *plan = plan_of(&what);
    void *memory = alloc(n * extent), *packed = alloc(n * plan->size);
    struct row row = {.name = name, .touched = n * extent};
    one_job(&row, plan, memory, packed);
    row.payload = n * plan->size;
    row.job[0].count = n;
    row.job[0].bytes = row.payload;
    need(tutti_pack_prepare(gpu, plan) == TUTTI_OK, "tutti_pack_prepare");
    show(&row);
    tutti_plan_drop(plan);
    device->memory.free(memory);
    device->memory.free(packed);
}

/* `loops` times a list of 500 blocks of 1 to 4 times `block`, told as a vector of it (kind 0), one whose loops do not
 * follow each other (1), or as the calls' count of a struct of two such lists (2). */
static void looped_list(const char *only, uint64_t block, uint64_t loops, int kind)
{
    static const char *const kinds[] = {"", ", apart", ", two in a struct"};
    enum { BLOCKS = 500 };
    char name[64];
    snprintf(name, sizeof name, "%llu x list of %d x %llu to x 4 B%s", (unsigned long long)loops, BLOCKS,
             (unsigned long long)block, kinds[kind]);
    if (!wanted(name, only))
        return;
    int64_t offsets[BLOCKS];
    uint64_t lengths[BLOCKS], touched = 0, state = 1;
    const uint64_t slot = 6 * block;
    for (int i = 0; i < BLOCKS; i++) {
        state = state * UINT64_C(6364136223846793005) + 1;
        offsets[i] = (int64_t)((uint64_t)i * slot + (state >> 60 & 1) * block);
        lengths[i] = 1 + (state >> 61 & 3);
        touched += slot < 32 ? slot : (lengths[i] * block + 31) / 32 * 32;
    }
    const struct tutti_description bytes = {.form = TUTTI_FORM_BYTES, .bytes = block}, *unit = &bytes;
    const struct tutti_description list = {.form = TUTTI_FORM_INDEXED,
                                           .children = 1,
                                           .child = &unit,
                                           .count = BLOCKS,
                                           .length = 1,
                                           .lengths = lengths,
                                           .offsets = offsets};
    const struct tutti_description *members[] = {&list, &list};
    const uint64_t ones[] = {1, 1}, span = BLOCKS * slot;
    const int64_t places[] = {0, (int64_t)(span + 4096)};
    const struct tutti_description two = {
        .form = TUTTI_FORM_STRUCT, .children = 2, .child = members, .count = 2, .lengths = ones, .offsets = places};
    const struct tutti_description *const child = kind == 2 ? &two : &list;
    const uint64_t extent = kind == 0 ? span : kind == 1 ? span + 4096 : 2 * span + 8192;
    const struct tutti_description what = {.form = TUTTI_FORM_VECTOR,
                                           .children = 1,
                                           .child = &child,
                                           .count = loops,
                                           .length = 1,
                                           .stride = (int64_t)extent};
    show_type(name, &what, loops * extent + 256, touched * loops * (kind == 2 ? 2 : 1));
}

/* What a rank of a 26-neighbour exchange packs: 256^3 cells of `cell` bytes with a rim of 3 on each side, in
 * `quantities` arrays; a message has them all (split 1), or one (split 8). */
static void halo(const char *only, uint64_t cell, uint64_t quantities, unsigned split)
{
    enum { INNER = 256, SIDE = INNER + 2 * RIM };
    char name[64];
    snprintf(name, sizeof name, "26 faces of 256^3 x %llu x %llu B%s", (unsigned long long)(quantities * split),
             (unsigned long long)cell, split > 1 ? ", 208 jobs" : "");
    if (!wanted(name, only))
        return;
    const uint64_t array = UINT64_C(1) * SIDE * SIDE * SIDE * cell;
    unsigned char *memory = alloc(array * quantities * split), *packed;
    struct row row = {.name = name};
    uint64_t at[FACES * QUANTITIES];
    for (int k = 0; k < RIM_WAYS; k++) {
        if (k == RIM_OWN)
            continue;
        uint64_t cells[3];
        const struct tutti_plan *plan = rim_plan(k, INNER, cell, quantities, cells);
        need(plan != NULL, "building a plan");
        for (unsigned q = 0; q < split; q++, row.jobs++) {
            row.job[row.jobs] =
                (struct tutti_pack_job){.plan = plan, .count = 1, .memory = memory + q * array, .bytes = plan->size};
            at[row.jobs] = row.payload;
            row.payload += plan->size;
            row.touched += sectors(cells[0] * cells[1], cells[2] * cell, SIDE * cell) * quantities;
        }
        row.payload = (row.payload + 255) / 256 * 256; /* a message by itself */
    }
    packed = alloc(row.payload);
    for (unsigned i = 0; i < row.jobs; i++)
        row.job[i].packed = packed + at[i];
    show(&row);
    for (unsigned i = 0; i < row.jobs; i += split)
        tutti_plan_drop(row.job[i].plan);
    device->memory.free(memory);
    device->memory.free(packed);
}

void rows(const char *only)
{
    static const uint64_t blocks[] = {1, 2, 4, 8, 16, 32, 64, 512};
    const uint64_t mib = 1 << 20;
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        vector(only, mib, blocks[i], 2 * blocks[i], 0);
        if (blocks[i] < 64)
            vector(only, mib, blocks[i], 512, 0);
    }
    vector(only, mib, 12, 24, 0);
    vector(only, mib, 24, 40, 0);
    vector(only, mib, 513, 1027, 0);
    vector(only, mib, 100, 201, 1);
    vector(only, 8 * mib, 1, 2, 0);
    vector(only, 8 * mib, 2, 4, 0);
    vector(only, 8 * mib, 3, 5, 0);
    vector(only, 8 * mib, 1, 16, 0);
    vector(only, 8 * mib, 4, 8, 0);
    vector(only, 8 * mib, 8, 16, 0);
    vector(only, 64 * mib, 8, 16, 0);
    vector(only, 64 * mib, 64, 128, 0);
    vector(only, 64 * mib, 63, 128, 1);
    vector(only, 64 * mib, 17, 40, 1);
    vector(only, 64 * mib, 31, 63, 1);
    vector(only, 64 * mib, 201, 401, 1);
    vector(only, 64 * mib, 1023, 2048, 1);
    /* What stops single bytes far apart: lines that the second cache holds or not, and sectors that share one. */
    vector(only, mib / 4, 1, 512, 0);
    vector(only, mib, 1, 32, 0);
    vector(only, mib, 1, 64, 0);
    vector(only, mib, 1, 128, 0);
    vector(only, mib, 1, 256, 0);
    vector(only, 256 * mib, 512, 1024, 0);
    vector(only, 256 * mib, 4096, 8192, 0);
    for (uint64_t x = 1; x <= 1024; x *= 4)
        cube(only, x, x < 32 ? 1024 : 1024 * 32 / x, x < 32 ? 1024 / x : 32);
    cube(only, 8, 1024, 128);
    cube(only, 512, 2048 / 64, 64);
    for (uint64_t element = 1; element <= 16; element *= 2)
        transpose(only, 1024, element);
    transpose(only, 4096, 8);
    list(only, 8, 0);
    list(only, 24, 0);
    list(only, 64, 0);
    list(only, 8, 1);
    list(only, 64, 1);
    structure(only, 8, 4, 16);
    structure(only, 8, 1, 16);
    structure(only, 12, 24, 64);
    for (int kind = 0; kind < 3; kind++)
        looped_list(only, 16, 200, kind);
    looped_list(only, 5, 200, 1);
    halo(only, 8, 1, 1);
    halo(only, 64, 1, 1);
    halo(only, 8, QUANTITIES, 1);
    halo(only, 8, 1, QUANTITIES);
}
