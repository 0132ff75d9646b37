/* Packing kernels against a naive walk of layouts made by hand: the matrix of blocks, strides, misalignment and counts,
 * transposes, negative strides, lists, interleaved segments, parts of messages, many jobs at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pack_kit.h"

static uint64_t seed;

static uint64_t dice(uint64_t n)
{
    return random_next(&seed) % n;
}

static struct kit_layout plain(uint64_t block)
{
    struct kit_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.plan.segments = 1;
    layout.plan.size = block;
    layout.segment[0].block = block;
    return layout;
}

/* Puts a slower dimension round the only segment. */
static void repeat(struct kit_layout *layout, uint64_t count, int64_t stride)
{
    struct tutti_segment *s = &layout->segment[0];
    if (count < 2)
        return;
    memmove(s->dim + 1, s->dim, s->dims * sizeof s->dim[0]);
    s->dim[0] = (struct tutti_dim){count, stride, (int64_t)layout->plan.size};
    s->dims++;
    if (s->entries)
        s->list_at++;
    layout->plan.size *= count;
}

static void matrix(void)
{
    static const uint64_t blocks[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12,  13,  14,   15,   16,
                                      17, 24, 31, 32, 33, 40, 63, 64, 65, 127, 128, 129, 512, 4096, 65536};
    for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
        const uint64_t block = blocks[b];
        const uint64_t strides[] = {block,
                                    block + 1,
                                    block + 2,
                                    block + 4,
                                    block + 8,
                                    block | 1,
                                    block + (block & 1 ? 2 : 3),
                                    (block + 15) / 16 * 16,
                                    (block + 15) / 16 * 16 + 16,
                                    31,
                                    512,
                                    4096,
                                    4104};
        for (size_t s = 0; s < sizeof strides / sizeof strides[0]; s++) {
            if (strides[s] < block)
                continue;
            const uint64_t most = 200000 / strides[s] + 2, many = 3 + dice(most < 40000 ? most : 40000);
            const uint64_t counts[] = {0, 1, 2, many};
            for (size_t c = 0; c < 4; c++) {
                struct kit_layout layout = plain(block);
                const int by_count = (int)dice(2); /* the count is the call's, or one of the layout's dimensions */
                char what[96];
                snprintf(what, sizeof what, "block %llu stride %llu count %llu", (unsigned long long)block,
                         (unsigned long long)strides[s], (unsigned long long)counts[c]);
                if (!by_count)
                    repeat(&layout, counts[c], (int64_t)strides[s]);
                kit_finish(&layout, by_count ? (int64_t)strides[s] : INT64_MIN, 0);
                const uint64_t n = by_count ? counts[c] : counts[c] > 0;
                kit_check_both(&seed, &layout, n, 0, 0, what);
                kit_check_both(&seed, &layout, n, (unsigned)dice(16), (unsigned)dice(16), what);
                if (c == 3) {
                    kit_check_both(&seed, &layout, n, 1u << dice(4), 0, what);
                    kit_check_both(&seed, &layout, n, 8, 8, what);
                    kit_check_both(&seed, &layout, n, 0, (unsigned)dice(16), what);
                }
                kit_free(&layout);
            }
        }
    }
}

/* Dimensions that lie in memory in another order than in the message. */
static void transposes(void)
{
    static const uint64_t elements[] = {1, 2, 4, 8, 16, 3, 12, 24, 40};
    for (size_t e = 0; e < sizeof elements / sizeof elements[0]; e++) {
        for (int round = 0; round < 30; round++) {
            const uint64_t block = elements[e], pad = dice(3) * block;
            uint64_t n[3] = {2 + dice(90), 2 + dice(90), 1 + dice(4)};
            int order[3] = {0, 1, 2}; /* order[0] is the fastest in memory */
            for (int i = 2; i > 0; i--) {
                const int j = (int)dice((uint64_t)i + 1), held = order[i];
                order[i] = order[j];
                order[j] = held;
            }
            int64_t stride[3];
            uint64_t span = block + dice(2) * block;
            for (int i = 0; i < 3; i++) {
                stride[order[i]] = (int64_t)span;
                span = span * n[order[i]] + pad;
            }
            struct kit_layout layout = plain(block);
            for (int i = 0; i < 3; i++) {
                const int back = dice(4) == 0;
                if (back && n[i] > 1)
                    layout.segment[0].offset += stride[i] * (int64_t)(n[i] - 1);
                repeat(&layout, n[i], back ? -stride[i] : stride[i]);
            }
            kit_finish(&layout, INT64_MIN, (int64_t)dice(3) * (int64_t)block);
            char what[120];
            snprintf(what, sizeof what, "transpose of %llu x %llu x %llu by %llu", (unsigned long long)n[0],
                     (unsigned long long)n[1], (unsigned long long)n[2], (unsigned long long)block);
            kit_check_both(&seed, &layout, 1, 0, 0, what);
            kit_check_both(&seed, &layout, 1 + dice(3), round % 3 == 2 ? (unsigned)dice(16) : 0, 0, what);
            kit_free(&layout);
        }
    }
}

/* Slots that a list's entries take, in random order. */
static void shuffle(int64_t *offsets, uint64_t n)
{
    for (uint64_t i = n - 1; i > 0; i--) {
        const uint64_t j = dice(i + 1);
        const int64_t held = offsets[i];
        offsets[i] = offsets[j];
        offsets[j] = held;
    }
}

static void equal_list(struct kit_layout *layout, uint64_t entries, uint64_t slot)
{
    struct tutti_segment *s = &layout->segment[0];
    int64_t *offsets = malloc(entries * sizeof *offsets);
    for (uint64_t e = 0; e < entries; e++)
        offsets[e] = (int64_t)(e * slot);
    shuffle(offsets, entries);
    layout->offsets[0] = s->offsets ? NULL : offsets;
    s->entries = entries;
    s->pitch = layout->plan.size;
    s->list_at = 0;
    layout->plan.size *= entries;
}

static void unequal_list(struct kit_layout *layout, uint64_t entries, uint64_t most, uint64_t grain)
{
    struct tutti_segment *s = &layout->segment[0];
    int64_t *offsets = malloc(entries * sizeof *offsets), slot = (int64_t)((most + dice(8)) * grain);
    uint64_t *begins = malloc((entries + 1) * sizeof *begins);
    begins[0] = 0;
    for (uint64_t e = 0; e < entries; e++) {
        offsets[e] = (int64_t)e * slot;
        begins[e + 1] = begins[e] + (1 + dice(most)) * grain;
    }
    shuffle(offsets, entries);
    layout->offsets[0] = offsets;
    layout->begins[0] = begins;
    s->entries = entries;
    s->block = 0;
    s->list_at = 0;
    layout->plan.size = begins[entries];
}

static void lists(void)
{
    for (int round = 0; round < 60; round++) {
        static const uint64_t blocks[] = {1, 2, 4, 8, 16, 12, 24, 40, 64, 100, 7, 3};
        const uint64_t block = blocks[dice(12)], inner = 1 + dice(3);
        struct kit_layout layout = plain(block);
        const uint64_t gap = dice(2) * 8;
        repeat(&layout, inner, (int64_t)(block + gap));
        equal_list(&layout, 2 + dice(round % 2 ? 3000 : 60), (block + gap) * inner + dice(2) * 16);
        const uint64_t entries = layout.segment[0].entries;
        if (dice(3) == 0)
            repeat(&layout, 2, (int64_t)(entries * ((block + gap) * inner + 16)));
        kit_finish(&layout, INT64_MIN, (int64_t)dice(2) * 16);
        char what[96];
        snprintf(what, sizeof what, "list of %llu x %llu x %llu", (unsigned long long)entries,
                 (unsigned long long)inner, (unsigned long long)block);
        kit_check_both(&seed, &layout, 1, 0, 0, what);
        kit_check_both(&seed, &layout, 1 + dice(4), (unsigned)dice(16), (unsigned)dice(16), what);
        kit_free(&layout);
    }
    for (int round = 0; round < 60; round++) {
        static const uint64_t grains[] = {1, 2, 4, 8, 16};
        struct kit_layout layout = plain(0);
        const uint64_t grain = grains[dice(5)], most = 1 + dice(round % 2 ? 9 : 200);
        unequal_list(&layout, 2 + dice(2000 / most + 10), most, grain);
        uint64_t apart = 5 * layout.segment[0].entries * (most + 8) * grain; /* in memory: more than all within takes */
        for (uint64_t loops = dice(3); loops > 0; loops--, apart *= 5)
            repeat(&layout, 2 + dice(3), (int64_t)(apart + dice(2) * grain));
        kit_finish(&layout, INT64_MIN, (int64_t)dice(2) * 16);
        char what[96];
        snprintf(what, sizeof what, "list of %llu blocks of up to %llu", (unsigned long long)layout.segment[0].entries,
                 (unsigned long long)(most * grain));
        kit_check_both(&seed, &layout, 1, 0, 0, what);
        kit_check_both(&seed, &layout, 1 + dice(5), (unsigned)dice(16), (unsigned)dice(16), what);
        kit_free(&layout);
    }
}

/* Elements of several segments, that interleave where they are repeated. */
static void structure(struct kit_layout *layout, uint64_t grain, unsigned segments, uint64_t most, uint64_t repeats)
{
    memset(layout, 0, sizeof *layout);
    uint64_t packed = 0, memory = 0;
    for (unsigned i = 0; i < segments; i++) {
        struct tutti_segment *s = &layout->segment[i];
        s->block = (1 + dice(most)) * grain;
        s->packed = packed;
        s->offset = (int64_t)(memory += dice(3) * grain);
        const uint64_t inner = 1 + dice(3), stride = s->block + dice(3) * grain;
        if (inner > 1)
            s->dim[s->dims++] = (struct tutti_dim){inner, (int64_t)stride, (int64_t)s->block};
        if (dice(5) == 0) { /* a short list, of equal blocks or not */
            const uint64_t entries = 2 + dice(5), slot = stride * inner + most * grain;
            layout->offsets[i] = malloc(entries * sizeof(int64_t));
            for (uint64_t e = 0; e < entries; e++)
                layout->offsets[i][e] = (int64_t)(e * slot);
            s->entries = entries;
            if (inner == 1 && dice(2)) {
                layout->begins[i] = malloc((entries + 1) * sizeof(uint64_t));
                layout->begins[i][0] = 0;
                for (uint64_t e = 0; e < entries; e++)
                    layout->begins[i][e + 1] = layout->begins[i][e] + (1 + dice(most)) * grain;
                s->block = 0;
                packed += layout->begins[i][entries];
            } else {
                s->pitch = s->block * inner;
                packed += s->pitch * entries;
            }
            memory += slot * entries;
        } else {
            packed += s->block * inner;
            memory += stride * inner;
        }
    }
    for (unsigned i = 0; repeats > 1 && i < segments; i++) {
        struct tutti_segment *s = &layout->segment[i];
        memmove(s->dim + 1, s->dim, s->dims * sizeof s->dim[0]);
        s->dim[0] = (struct tutti_dim){repeats, (int64_t)memory, (int64_t)packed};
        s->dims++;
        s->list_at += s->entries > 0;
    }
    layout->plan.segments = segments;
    layout->plan.size = packed * repeats;
    kit_finish(layout, (int64_t)(memory * repeats + dice(2) * 16 * grain), 0);
}

static void structures(void)
{
    for (int round = 0; round < 120; round++) {
        static const uint64_t grains[] = {1, 2, 4, 8, 16};
        const uint64_t grain = grains[dice(5)];
        const unsigned segments = 2 + (unsigned)dice(KIT_SEGMENTS - 1);
        const uint64_t most = round % 3 == 0 ? 300 : 6, repeats = round % 4 == 3 ? 1 + dice(40) : 1;
        struct kit_layout layout;
        structure(&layout, grain, segments, most, repeats);
        const uint64_t count = 1 + dice(20000 / layout.plan.size + 2);
        char what[96];
        snprintf(what, sizeof what, "struct of %u segments, %llu bytes", segments,
                 (unsigned long long)layout.plan.size);
        kit_check_both(&seed, &layout, count, 0, 0, what);
        kit_check_both(&seed, &layout, 1 + dice(4), (unsigned)dice(16), (unsigned)dice(16), what);
        kit_free(&layout);
    }
}

/* Straight from one layout into another of the same size. */
static void relayouts(void)
{
    for (int round = 0; round < 120; round++) {
        static const uint64_t grains[] = {1, 2, 4, 8, 16};
        const uint64_t grain = grains[dice(5)], blocks[2] = {grain * (1 + dice(4)), grain * (1 + dice(4))};
        struct kit_layout side[2];
        uint64_t count[2];
        for (int i = 0; i < 2; i++) {
            const int kind = round % 4 == 0 ? 0 : (int)dice(4);
            side[i] = plain(blocks[i]);
            if (kind == 1) {
                repeat(&side[i], 2 + dice(5), (int64_t)(blocks[i] + dice(3) * grain));
                kit_finish(&side[i], INT64_MIN, (int64_t)(dice(3) * grain));
            } else if (kind == 2) {
                equal_list(&side[i], 2 + dice(9), blocks[i] + dice(2) * grain);
                kit_finish(&side[i], INT64_MIN, (int64_t)(dice(3) * grain));
            } else if (kind == 3) {
                structure(&side[i], grain, 2 + (unsigned)dice(4), 4, 1);
            } else {
                repeat(&side[i], 2 + dice(5), (int64_t)(blocks[i] * 3));
                kit_finish(&side[i], INT64_MIN, (int64_t)(dice(3) * grain));
            }
        }
        count[0] = side[1].plan.size * (1 + dice(3));
        count[1] = side[0].plan.size * (count[0] / side[1].plan.size);
        struct kit_case test = {.layout = &side[0],
                                .to_layout = &side[1],
                                .count = count[0],
                                .to_count = count[1],
                                .direction = TUTTI_RELAYOUT,
                                .memory_off = (unsigned)(dice(2) * dice(16)),
                                .packed_off = (unsigned)(dice(2) * dice(16)),
                                .bytes = count[0] * side[0].plan.size,
                                .now = (int)dice(2)};
        const uint64_t total = test.bytes;
        kit_check(&test, "relayout");
        test.first = dice(total);
        test.bytes = 1 + dice(total - test.first);
        kit_check(&test, "relayout");
        /* And into memory of the same layout. */
        test.to_layout = &side[0];
        test.to_count = count[0];
        kit_check(&test, "relayout of equal layouts");
        kit_free(&side[0]);
        kit_free(&side[1]);
    }
}

/* One launch for many jobs: few, as many as old kernels take, and more than any takes. */
static void many(void)
{
    static const unsigned numbers[] = {2, 26, 60, 208, 600};
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        const unsigned n = numbers[k];
        struct kit_layout *layouts = calloc(n, sizeof *layouts);
        struct kit_case *tests = calloc(n, sizeof *tests);
        for (unsigned i = 0; i < n; i++) {
            struct kit_layout *layout = &layouts[i];
            *layout = plain(1 + dice(40));
            repeat(layout, 2 + dice(6), (int64_t)(layout->plan.size + dice(9)));
            if (dice(3) == 0)
                equal_list(layout, 3, 600);
            else
                repeat(layout, 2 + dice(6), 600);
            kit_finish(layout, INT64_MIN, 0);
            const uint64_t count = dice(4);
            tests[i] = (struct kit_case){.layout = layout,
                                         .to_layout = layout,
                                         .count = count,
                                         .to_count = count,
                                         .memory_off = (unsigned)dice(16),
                                         .packed_off = (unsigned)dice(16),
                                         .bytes = count * layout->plan.size,
                                         .direction = (enum tutti_direction)dice(3)};
            if (tests[i].direction != TUTTI_RELAYOUT)
                tests[i].to_layout = NULL;
        }
        char what[32];
        snprintf(what, sizeof what, "%u jobs at once", n);
        kit_check_all(tests, n, 0, what);
        kit_check_all(tests, n, 1, what);
        for (unsigned i = 0; i < n; i++)
            kit_free(&layouts[i]);
        free(layouts);
        free(tests);
    }
}

/* Jobs that are one again and again, in one call: as one by one. */
static void alike(void)
{
    enum { JOBS = 7, ROOM = 1 << 20 };
    for (int round = 0; round < 120; round++) {
        struct kit_layout layout = plain(1 + dice(40));
        repeat(&layout, 2 + dice(9), (int64_t)(layout.plan.size + dice(3) * 8));
        if (dice(3) == 0)
            equal_list(&layout, 5, 600);
        else
            repeat(&layout, 2 + dice(5), 600);
        kit_finish(&layout, INT64_MIN, 0);
        const uint64_t count = 1 + dice(3), bytes = count * layout.plan.size;
        const uint64_t apart[2] = {10000 + dice(3) * 8, dice(2) ? bytes : bytes + dice(99)};
        const unsigned jobs = 2 + (unsigned)dice(JOBS - 1), alone = (unsigned)dice(jobs), back = (unsigned)dice(2);
        struct kit_case tests[JOBS];
        uint64_t at[JOBS][2];
        for (unsigned i = 0; i < jobs; i++) {
            tests[i] = (struct kit_case){
                .layout = &layout, .count = count, .bytes = bytes, .direction = (enum tutti_direction)(round % 2)};
            const unsigned place = back ? jobs - 1 - i : i;
            at[i][0] = ROOM / 2 + place * apart[0] + (round % 3 == 0 && i >= alone ? 48 : 0);
            at[i][1] = ROOM / 2 + place * apart[1];
        }
        char what[64];
        snprintf(what, sizeof what, "%u jobs alike of %llu bytes", jobs, (unsigned long long)bytes);
        kit_check_in(tests, jobs, ROOM, at, round % 5 != 0, what);
        kit_check_all(tests, 2, round % 5 != 0, what); /* in allocations of their own */
        kit_free(&layout);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"matrix", matrix},       {"transposes", transposes},
                 {"lists", lists},         {"structures", structures},
                 {"relayouts", relayouts}, {"many", many},
                 {"alike", alike}};
    int status = kit_open();
    if (status != 0)
        return status;
    const uint64_t begin = check_seed();
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (argc > 1 && strcmp(argv[1], parts[i].name) != 0)
            continue;
        const long before = check_done();
        seed = begin;
        parts[i].run();
        printf("%s: %ld checks\n", parts[i].name, check_done() - before);
    }
    kit_close();
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() > 0 || check_done() == 0;
}
