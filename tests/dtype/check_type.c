#include "dtype/check_type.h"

#include "core/status.h"
#include "dtype/oracle.h"
#include "dtype/plan/emit.h"
#include "support/check.h"
#include "support/random.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, WIDEST = 1 << 20 };

struct layout {
    const struct tutti_plan *plan;
    struct oracle_map map;
    int64_t lower, upper, true_lower, true_end;
    uint64_t size;
    int64_t *place; /* [size]: where each packed byte is in memory */
};

static int read_map(any_type what, struct layout *is)
{
    uint64_t next = 0;
    if (!oracle_walk(what, CHECK_TYPE_ENTRIES, &is->map))
        return CHECK(0, "the map is too long for this test");
    oracle_bounds(&is->map, &is->lower, &is->upper);
    for (size_t i = 0; i < is->map.n; i++)
        is->size += is->map.entry[i].bytes;
    is->place = malloc((is->size + 1) * sizeof *is->place);
    if (!is->place)
        return CHECK(0, "out of memory");
    for (size_t i = 0; i < is->map.n; i++) {
        struct oracle_entry e = is->map.entry[i];
        if (e.bytes == 0)
            continue;
        if (next == 0 || e.at < is->true_lower)
            is->true_lower = e.at;
        if (next == 0 || e.at + (int64_t)e.bytes > is->true_end)
            is->true_end = e.at + (int64_t)e.bytes;
        for (uint64_t k = 0; k < e.bytes; k++)
            is->place[next++] = e.at + (int64_t)k;
    }
    return 1;
}

/* ---- segments as the header defines them ---- */

static int put(int64_t *found, uint64_t size, uint64_t packed, int64_t at, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes; k++) {
        if (packed + k >= size || found[packed + k] != INT64_MIN)
            return CHECK(0, "packed byte %ju of %ju is there twice or beyond", (uintmax_t)(packed + k),
                         (uintmax_t)size);
        found[packed + k] = at + (int64_t)k;
    }
    return 1;
}

/* Level by level; `inner` is told how many packed bytes this level passes over. */
static int expand(const struct tutti_segment *s, uint32_t level, int64_t at, uint64_t packed, uint64_t size,
                  int64_t *found)
{
    uint32_t levels = s->dims + (s->entries > 0), d = level - (s->entries > 0 && level > s->list_at);
    if (level == levels)
        return put(found, size, packed, at, s->block);
    if (s->entries > 0 && level == s->list_at) {
        for (uint64_t e = 0; e < s->entries; e++) {
            uint64_t begin = s->begins ? s->begins[e] : e * s->pitch;
            if (s->begins ? !put(found, size, packed + begin, at + s->offsets[e], s->begins[e + 1] - begin)
                          : !expand(s, level + 1, at + s->offsets[e], packed + begin, size, found))
                return 0;
        }
        return 1;
    }
    if (s->dim[d].count < 2 || s->dim[d].packed <= 0)
        return CHECK(0, "a dimension of %ju steps, %jd packed bytes each", (uintmax_t)s->dim[d].count,
                     (intmax_t)s->dim[d].packed);
    for (uint64_t i = 0; i < s->dim[d].count; i++) {
        if (!expand(s, level + 1, at + (int64_t)i * s->dim[d].stride, packed + i * (uint64_t)s->dim[d].packed, size,
                    found))
            return 0;
    }
    return 1;
}

static int shape(const struct tutti_segment *s)
{
    int fine =
        CHECK(s->dims <= TUTTI_PLAN_DIMS && s->list_at <= s->dims, "%u dimensions, list at %u", s->dims, s->list_at);
    if (s->entries == 0)
        return fine && CHECK(s->block > 0 && !s->offsets && !s->begins && s->list_at == 0, "a segment of no list");
    if (s->begins)
        return fine && CHECK(s->block == 0 && s->list_at == s->dims && s->begins[0] == 0, "a list of mixed blocks");
    return fine && CHECK(s->block > 0 && s->pitch > 0 && s->offsets, "a list of equal blocks");
}

static int check_segments(const struct layout *is, const struct tutti_segment *s, uint32_t n, uint64_t count)
{
    uint64_t size = is->size * count;
    int64_t *found = malloc((size + 1) * sizeof *found);
    int fine = CHECK(found != NULL, "out of memory");
    for (uint64_t i = 0; fine && i < size; i++)
        found[i] = INT64_MIN;
    for (uint32_t i = 0; fine && i < n; i++)
        fine = shape(&s[i]) && expand(&s[i], 0, s[i].offset, s[i].packed, size, found);
    for (uint64_t i = 0; fine && i < size; i++) {
        int64_t wanted = is->place[i % is->size] + (int64_t)(i / is->size) * (is->upper - is->lower);
        fine = found[i] == wanted || CHECK(0, "packed byte %ju of %ju is at %jd, not at %jd", (uintmax_t)i,
                                           (uintmax_t)size, (intmax_t)wanted, (intmax_t)found[i]);
    }
    free(found);
    return fine;
}

/* The segments of `count` elements, where each takes one more dimension. */
static int check_repeat(const struct layout *is, uint64_t count)
{
    const uint32_t segments = count > 0 ? is->plan->segments : 0;
    struct tutti_segment *s = malloc((segments + 1) * sizeof *s);
    uint32_t n = 0;
    int fine = CHECK(s != NULL, "out of memory");
    for (; fine && n < segments; n++) {
        s[n] = is->plan->segment[n];
        if (!tutti_segment_repeat(&s[n], count, is->plan->extent, is->plan->size))
            break;
    }
    if (fine && n > 0 && n == segments)
        fine = check_segments(is, s, n, count);
    free(s);
    return fine;
}

/* ---- bounds, overlaps ---- */

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int has_twice(const struct layout *is)
{
    int64_t *sorted = malloc((is->size + 1) * sizeof *sorted);
    int twice = 0;
    memcpy(sorted, is->place, is->size * sizeof *sorted);
    qsort(sorted, is->size, sizeof *sorted, ascending);
    for (uint64_t i = 1; i < is->size; i++)
        twice |= sorted[i] == sorted[i - 1];
    free(sorted);
    return twice;
}

static int check_bounds(const struct layout *is)
{
    const struct tutti_plan *p = is->plan;
    return CHECK(p->size == is->size, "size %ju, not %ju", (uintmax_t)p->size, (uintmax_t)is->size) &&
           CHECK(p->lower == is->lower && p->extent == is->upper - is->lower, "bounds %jd + %jd, not %jd + %jd",
                 (intmax_t)p->lower, (intmax_t)p->extent, (intmax_t)is->lower, (intmax_t)(is->upper - is->lower)) &&
           CHECK(p->true_lower == is->true_lower && p->true_end == is->true_end, "true bounds %jd..%jd, not %jd..%jd",
                 (intmax_t)p->true_lower, (intmax_t)p->true_end, (intmax_t)is->true_lower, (intmax_t)is->true_end) &&
           CHECK((int)p->overlaps == has_twice(is), "overlaps: %u", p->overlaps);
}

/* ---- packing ---- */

/* Where byte i of the message is, in a buffer whose byte 0 is `low`. */
static uint64_t at(const struct layout *is, int64_t low, uint64_t i)
{
    return (uint64_t)(is->place[i % is->size] + (int64_t)(i / is->size) * (is->upper - is->lower) - low);
}

static int check_copies(const struct layout *is, int64_t low, uint64_t span, uint64_t count, uint64_t first,
                        uint64_t bytes, uint64_t *state)
{
    uint8_t *memory = malloc(span + 2 * GUARD), *packed = malloc(bytes + 2 * GUARD), *again = malloc(span + 2 * GUARD),
            *wanted = malloc(span + 2 * GUARD);
    char *base = (char *)(uintptr_t)((uintptr_t)memory + GUARD - (uintptr_t)low);
    uint64_t seed = random_next(state);
    int fine = 1;
    for (uint64_t i = 0; i < span + 2 * GUARD; i++)
        memory[i] = (uint8_t)(seed + i * 7 + (i >> 8));
    memset(packed, 0xa5, bytes + 2 * GUARD);
    tutti_plan_pack_host(is->plan, count, base, first, bytes, packed + GUARD);
    for (uint64_t i = 0; fine && i < bytes + 2 * GUARD; i++) {
        uint8_t want = 0xa5;
        if (i >= GUARD && i < GUARD + bytes)
            want = memory[GUARD + at(is, low, first + i - GUARD)];
        fine = packed[i] == want ||
               CHECK(0, "pack [%ju, +%ju) of %ju elements: byte %jd is %02x, not %02x", (uintmax_t)first,
                     (uintmax_t)bytes, (uintmax_t)count, (intmax_t)i - GUARD, packed[i], want);
    }
    memset(again, 0x3c, span + 2 * GUARD);
    memset(wanted, 0x3c, span + 2 * GUARD);
    uint8_t *taken = calloc(span + 2 * GUARD, 1);
    int twice = 0;
    for (uint64_t i = 0; i < bytes; i++) {
        uint64_t place = GUARD + at(is, low, first + i);
        twice |= taken[place]++;
        wanted[place] = packed[GUARD + i];
    }
    tutti_plan_unpack_host(is->plan, count, (char *)(uintptr_t)((uintptr_t)again + GUARD - (uintptr_t)low), first,
                           bytes, packed + GUARD);
    for (uint64_t i = 0; fine && i < span + 2 * GUARD; i++) {
        if (!twice || !taken[i]) /* where a byte is written twice, any of the two may stay */
            fine = again[i] == wanted[i] ||
                   CHECK(0, "unpack [%ju, +%ju) of %ju elements: byte %jd is %02x, not %02x", (uintmax_t)first,
                         (uintmax_t)bytes, (uintmax_t)count, (intmax_t)i - GUARD, again[i], wanted[i]);
    }
    free(memory);
    free(packed);
    free(again);
    free(wanted);
    free(taken);
    return fine;
}

static int check_packing(const struct layout *is, uint64_t count, uint64_t *state)
{
    int64_t extent = is->upper - is->lower, low = is->true_lower, high = is->true_end;
    uint64_t total = is->size * count, first = 0, bytes = total;
    if (count > 0 && extent < 0)
        low += (int64_t)(count - 1) * extent;
    else if (count > 0)
        high += (int64_t)(count - 1) * extent;
    if (high - low > WIDEST || total > WIDEST)
        return 1;
    if (!check_copies(is, low, (uint64_t)(high - low), count, 0, total, state))
        return 0;
    if (total > 0) {
        first = random_next(state) % total;
        bytes = random_next(state) % (total - first + 1);
    }
    return check_copies(is, low, (uint64_t)(high - low), count, first, bytes, state);
}

/* ---- the same layout, told otherwise ---- */

static int check_like(const struct layout *is, any_type like, const char *how)
{
    const struct tutti_plan *other = NULL;
    int status = tutti_plan_build(like, &other);
    if (!CHECK(status == TUTTI_OK, "as %s: %s", how, tutti_status_text(status)))
        return 0;
    int fine =
        CHECK(other == is->plan, "as %s: another plan, %u segments, not %u", how, other->segments, is->plan->segments);
    tutti_plan_drop(other);
    return fine;
}

/* Blocks of bytes, cut where they may be, or as long as they can be. */
static int check_canonical(const struct layout *is, uint64_t *state)
{
    struct any_room room = {0};
    uint64_t n = 0, *length = malloc((is->size + 1) * sizeof *length);
    int64_t *place = malloc((is->size + 1) * sizeof *place);
    any_type byte = any_bytes(&room, 1);
    for (uint64_t i = 0; i < is->size; i++) {
        if (n > 0 && is->place[i] == place[n - 1] + (int64_t)length[n - 1]) {
            length[n - 1]++;
        } else {
            place[n] = is->place[i];
            length[n++] = 1;
        }
    }
    int64_t extent = is->upper - is->lower;
    int fine = check_like(is, any_resized(&room, is->lower, extent, any_indexed(&room, n, length, 0, place, byte)),
                          "hindexed");
    if (fine && n <= 256) {
        any_type child[1024];
        uint64_t m = 0, lengths[1024];
        int64_t places[1024];
        for (uint64_t i = 0; i < n; i++) {
            for (uint64_t done = 0, part; done < length[i]; done += part) {
                part = m < 512 && i < 128 ? 1 + random_next(state) % (length[i] - done) : length[i] - done;
                child[m] = part % 4 == 0 ? any_bytes(&room, part) : byte;
                lengths[m] = part % 4 == 0 ? 1 : part;
                places[m++] = place[i] + (int64_t)done;
            }
        }
        fine = check_like(is, any_resized(&room, is->lower, extent, any_struct(&room, m, lengths, places, child)),
                          "struct");
    }
    free(length);
    free(place);
    any_free(&room);
    return fine;
}

int check_type(any_type what, uint64_t count, uint64_t *state)
{
    struct layout is = {0};
    int fine = read_map(what, &is);
    if (fine) {
        int status = tutti_plan_build(what, &is.plan);
        fine = CHECK(status == TUTTI_OK, "%s", tutti_status_text(status));
    }
    if (fine)
        fine = check_bounds(&is) && check_segments(&is, is.plan->segment, is.plan->segments, 1) &&
               check_repeat(&is, count) && check_packing(&is, count, state);
    if (fine && is.map.n <= CHECK_TYPE_CANONICAL)
        fine = check_canonical(&is, state);
    if (is.plan)
        tutti_plan_drop(is.plan);
    if (!fine)
        any_print(what, 4);
    free(is.place);
    oracle_free(&is.map);
    return fine;
}
