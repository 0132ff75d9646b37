#include "pack_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"

enum { GUARD = 80, JOBS_MOST = 512 };

static const struct tutti_device *device;
static struct tutti_stream *stream;

int kit_open(void)
{
    char why[256] = "";
    device = tutti_device();
    if (!device || device->open(why, sizeof why) != TUTTI_OK) {
        printf("skipped: %s\n", device ? why : "no device");
        return CHECK_SKIP;
    }
    if (device->gpu.count() < 1 && kit_on_gpu()) {
        printf("skipped: no GPU\n");
        return CHECK_SKIP;
    }
    return device->stream.create(0, &stream) == TUTTI_OK ? 0 : 1;
}

int kit_on_gpu(void)
{
    return !device->simulates;
}

void kit_close(void)
{
    device->stream.destroy(stream);
}

/* ---- layouts ---- */
static void walk(struct kit_layout *layout, const struct tutti_segment *s, uint32_t level, uint64_t packed,
                 int64_t memory, uint64_t block)
{
    const int has = s->entries > 0;
    if (level == s->dims + (uint32_t)has) {
        for (uint64_t x = 0; x < block; x++)
            layout->where[packed + x] = memory + (int64_t)x;
    } else if (has && level == s->list_at) {
        for (uint64_t e = 0; e < s->entries; e++) {
            const uint64_t begin = s->begins ? s->begins[e] : e * s->pitch;
            walk(layout, s, level + 1, packed + begin, memory + s->offsets[e],
                 s->begins ? s->begins[e + 1] - begin : block);
        }
    } else {
        const struct tutti_dim *dim = &s->dim[level - (uint32_t)(has && level > s->list_at)];
        for (uint64_t i = 0; i < dim->count; i++)
            walk(layout, s, level + 1, packed + i * (uint64_t)dim->packed, memory + (int64_t)i * dim->stride, block);
    }
}

static void kit_walk(struct kit_layout *layout)
{
    const struct tutti_plan *plan = &layout->plan;
    layout->where = malloc((plan->size ? plan->size : 1) * sizeof *layout->where);
    for (uint64_t p = 0; p < plan->size; p++)
        layout->where[p] = INT64_MIN;
    for (uint32_t i = 0; i < plan->segments; i++)
        walk(layout, &plan->segment[i], 0, plan->segment[i].packed, plan->segment[i].offset, plan->segment[i].block);
    for (uint64_t p = 0; p < plan->size; p++) {
        if (layout->where[p] == INT64_MIN) {
            fprintf(stderr, "the test's own layout leaves packed byte %llu out\n", (unsigned long long)p);
            abort();
        }
    }
}

void kit_finish(struct kit_layout *layout, int64_t extent, int64_t pad)
{
    static uint64_t ids = UINT64_C(1) << 62; /* beyond those of real plans */
    struct tutti_plan *plan = &layout->plan;
    plan->segment = layout->segment;
    plan->id = ids++;
    for (uint32_t i = 0; i < plan->segments; i++) {
        layout->segment[i].offsets = layout->offsets[i];
        layout->segment[i].begins = layout->begins[i];
    }
    kit_walk(layout);
    plan->true_lower = plan->true_end = plan->size ? layout->where[0] : 0;
    for (uint64_t p = 0; p < plan->size; p++) {
        const int64_t at = layout->where[p];
        plan->true_lower = at < plan->true_lower ? at : plan->true_lower;
        plan->true_end = at + 1 > plan->true_end ? at + 1 : plan->true_end;
    }
    plan->lower = plan->true_lower;
    plan->extent = extent != INT64_MIN ? extent : plan->true_end - plan->true_lower + pad;
}

void kit_free(struct kit_layout *layout)
{
    for (uint32_t i = 0; i < KIT_SEGMENTS; i++) {
        free(layout->offsets[i]);
        free(layout->begins[i]);
    }
    free(layout->where);
    memset(layout, 0, sizeof *layout);
}

void kit_of_plan(struct kit_layout *layout, const struct tutti_plan *plan)
{
    memset(layout, 0, sizeof *layout);
    layout->plan = *plan;
    kit_walk(layout);
}

/* ---- buffers ---- */
struct side {
    enum kit_memory kind;
    const struct kit_layout *layout; /* NULL: packed */
    uint64_t count;
    int64_t low; /* the image begins with this byte */
    size_t bytes, lead;
    unsigned char *image, *device, *seen;
    void *buffer; /* as jobs are given it */
};

static void bytes_of(unsigned char *to, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)(random_mix(seed + i / 8) >> i % 8 * 8);
}

static int alloc(enum kit_memory kind, size_t bytes, void **memory)
{
    if (kind == KIT_DEVICE)
        return device->memory.alloc(0, bytes, memory) == TUTTI_OK;
    if (kind == KIT_PINNED)
        return device->memory.alloc_pinned(bytes, memory) == TUTTI_OK;
    return posix_memalign(memory, 16, bytes) == 0;
}

static void release(enum kit_memory kind, void *memory)
{
    if (kind == KIT_DEVICE)
        device->memory.free(memory);
    else if (kind == KIT_PINNED)
        device->memory.free_pinned(memory);
    else
        free(memory);
}

static int make(struct side *side, enum kit_memory kind, const struct kit_layout *layout, uint64_t count,
                uint64_t bytes, unsigned off, uint64_t seed)
{
    void *memory = NULL;
    int64_t low = 0, high = (int64_t)bytes;
    if (layout && count) {
        const int64_t last = (int64_t)(count - 1) * layout->plan.extent;
        low = layout->plan.true_lower + (last < 0 ? last : 0);
        high = layout->plan.true_end + (last > 0 ? last : 0);
    }
    *side = (struct side){.layout = layout, .count = count, .low = low, .lead = GUARD + off};
    side->bytes = side->lead + (size_t)(high - low) + GUARD;
    /* The buffer's address minus `low` is aligned but for `off`, as if the buffer had been. */
    side->lead += (size_t)((uint64_t)low & 15);
    side->bytes += (size_t)((uint64_t)low & 15);
    side->image = malloc(side->bytes);
    side->seen = malloc(side->bytes);
    bytes_of(side->image, side->bytes, seed);
    side->kind = kind;
    if (!CHECK(alloc(kind, side->bytes, &memory), "no memory"))
        return 0;
    side->device = memory;
    side->buffer = (void *)((uintptr_t)memory + side->lead - (uintptr_t)low);
    return device->memory.copy_now(memory, side->image, side->bytes) == TUTTI_OK;
}

static void drop(struct side *side)
{
    free(side->image);
    free(side->seen);
    if (side->device)
        release(side->kind, side->device);
}

/* Byte p of the packed form, in the image. */
static unsigned char *at(const struct side *side, uint64_t p, uint64_t first)
{
    if (!side->layout)
        return side->image + side->lead + (p - first);
    const uint64_t size = side->layout->plan.size;
    const int64_t offset = (int64_t)(p / size) * side->layout->plan.extent + side->layout->where[p % size];
    return side->image + side->lead + (offset - side->low);
}

static int same(struct side *side, const char *which, unsigned job, const char *what)
{
    if (device->memory.copy_now(side->seen, side->device, side->bytes) != TUTTI_OK)
        return 0;
    size_t wrong = 0, first = 0;
    for (size_t i = side->bytes; i-- > 0;) {
        if (side->seen[i] != side->image[i]) {
            wrong++;
            first = i;
        }
    }
    return CHECK(wrong == 0, "%s: job %u: %zu of %zu bytes of the %s differ, the first at %lld: %02x instead of %02x",
                 what, job, wrong, side->bytes, which, (long long)first - (long long)side->lead + side->low,
                 side->seen[first], side->image[first]);
}

int kit_check_all(const struct kit_case *tests, unsigned n, int now, const char *what)
{
    static _Atomic uint64_t seeds = 1;
    uint64_t seed = 0;
    struct side *from = calloc(n, sizeof *from), *to = calloc(n, sizeof *to);
    struct tutti_pack_job *jobs = calloc(n, sizeof *jobs);
    int fine = 1;
    for (unsigned i = 0; i < n; i++) {
        const struct kit_case *t = &tests[i];
        const int unpack = t->direction == TUTTI_UNPACK, relayout = t->direction == TUTTI_RELAYOUT;
        seeds += 1 << 24;
        seed = seeds;
        fine = fine && make(&from[i], unpack ? t->packed : t->memory, unpack ? NULL : t->layout, t->count, t->bytes,
                            unpack ? t->packed_off : t->memory_off, seed);
        fine = fine && make(&to[i], unpack ? t->memory : t->packed, unpack ? t->layout : t->to_layout,
                            relayout ? t->to_count : t->count, t->bytes, unpack ? t->memory_off : t->packed_off, ~seed);
        if (!fine)
            break;
        jobs[i] = (struct tutti_pack_job){.direction = t->direction,
                                          .plan = &t->layout->plan,
                                          .count = t->count,
                                          .memory = unpack ? to[i].buffer : from[i].buffer,
                                          .packed = unpack ? from[i].buffer : to[i].buffer,
                                          .first = t->first,
                                          .bytes = t->bytes};
        if (relayout) {
            jobs[i].to_plan = &t->to_layout->plan;
            jobs[i].to_count = t->to_count;
            jobs[i].to = to[i].buffer;
        }
    }
    if (fine) {
        const int status = now ? tutti_pack_now(0, jobs, n) : tutti_pack_enqueue(stream, 0, jobs, n);
        const int waited = now ? TUTTI_OK : device->stream.sync(stream);
        fine = CHECK(status == TUTTI_OK && waited == TUTTI_OK, "%s: %s", what,
                     tutti_status_text(status != TUTTI_OK ? status : waited));
    }
    for (unsigned i = 0; fine && i < n; i++) {
        const struct kit_case *t = &tests[i];
        for (uint64_t p = t->first; p < t->first + t->bytes; p++)
            *at(&to[i], p, t->first) = *at(&from[i], p, t->first);
        fine = same(&to[i], "target", i, what) && same(&from[i], "source", i, what);
    }
    for (unsigned i = 0; i < n; i++) {
        drop(&from[i]);
        drop(&to[i]);
    }
    free(from);
    free(to);
    free(jobs);
    return fine;
}

static unsigned char *image_of(unsigned char *image, const struct kit_case *test, const uint64_t *at, uint64_t p)
{
    const uint64_t size = test->layout->plan.size;
    return image + at[0] + ((int64_t)(p / size) * test->layout->plan.extent + test->layout->where[p % size]);
}

int kit_check_in(const struct kit_case *tests, unsigned n, size_t bytes, uint64_t (*at)[2], int now, const char *what)
{
    static _Atomic uint64_t seeds = 1;
    struct tutti_pack_job jobs[JOBS_MOST];
    unsigned char *image[2], *seen = malloc(bytes);
    void *memory[2] = {NULL, NULL};
    int fine = n <= JOBS_MOST && seen != NULL;
    for (int side = 0; side < 2; side++) {
        image[side] = malloc(bytes);
        seeds += 1 << 24;
        bytes_of(image[side], bytes, seeds);
        fine = fine && CHECK(alloc(KIT_DEVICE, bytes, &memory[side]), "no memory") &&
               device->memory.copy_now(memory[side], image[side], bytes) == TUTTI_OK;
    }
    for (unsigned i = 0; fine && i < n; i++)
        jobs[i] = (struct tutti_pack_job){.direction = tests[i].direction,
                                          .plan = &tests[i].layout->plan,
                                          .count = tests[i].count,
                                          .memory = (unsigned char *)memory[0] + at[i][0],
                                          .packed = (unsigned char *)memory[1] + at[i][1],
                                          .bytes = tests[i].bytes};
    if (fine) {
        const int status = now ? tutti_pack_now(0, jobs, n) : tutti_pack_enqueue(stream, 0, jobs, n);
        fine = CHECK(status == TUTTI_OK && (now || device->stream.sync(stream) == TUTTI_OK), "%s: %s", what,
                     tutti_status_text(status));
    }
    for (unsigned i = 0; fine && i < n; i++) {
        for (uint64_t p = 0; p < tests[i].bytes; p++) {
            unsigned char *element = image_of(image[0], &tests[i], at[i], p), *packed = image[1] + at[i][1] + p;
            *(tests[i].direction == TUTTI_UNPACK ? element : packed) =
                *(tests[i].direction == TUTTI_UNPACK ? packed : element);
        }
    }
    for (int side = 0; side < 2; side++) {
        fine = fine && device->memory.copy_now(seen, memory[side], bytes) == TUTTI_OK &&
               CHECK(memcmp(seen, image[side], bytes) == 0, "%s, %s: the %s differs", what,
                     tests[0].direction == TUTTI_UNPACK ? "unpack" : "pack", side ? "packed side" : "memory");
        free(image[side]);
        if (memory[side])
            release(KIT_DEVICE, memory[side]);
    }
    free(seen);
    return fine;
}

int kit_check(const struct kit_case *test, const char *what)
{
    char text[320];
    static const char *const names[] = {"pack", "unpack", "relayout"};
    snprintf(text, sizeof text, "%s, %s of %llu elements at +%u, packed at +%u, bytes %llu + %llu%s", what,
             names[test->direction], (unsigned long long)test->count, test->memory_off, test->packed_off,
             (unsigned long long)test->first, (unsigned long long)test->bytes, test->now ? ", now" : "");
    return kit_check_all(test, 1, test->now, text);
}

void kit_check_both(uint64_t *random, const struct kit_layout *layout, uint64_t count, unsigned memory_off,
                    unsigned packed_off, const char *what)
{
    static long turn;
    const uint64_t total = layout->plan.size * count;
    if (turn++ % check_every("TUTTI_TEST_EVERY", 1) != 0)
        return;
    struct kit_case test = {.layout = layout, .count = count, .memory_off = memory_off, .packed_off = packed_off};
    for (int direction = TUTTI_PACK; direction <= TUTTI_UNPACK; direction++) {
        if (direction == TUTTI_UNPACK && layout->plan.overlaps)
            break;
        test.direction = (enum tutti_direction)direction;
        test.first = 0;
        test.bytes = total;
        test.now = (int)(random_next(random) % 4 == 0);
        kit_check(&test, what);
        if (turn % 8 == 0) /* what is known from before, at other addresses */
            kit_check(&test, what);
        if (total < 2)
            continue;
        test.first = random_next(random) % total;
        test.bytes = random_next(random) % (total - test.first) + 1;
        kit_check(&test, what);
    }
}
