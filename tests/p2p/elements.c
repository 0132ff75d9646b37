#include "p2p/elements.h"

#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "support/check.h"
#include "support/random.h"

enum { GUARD = 64, BLOCKS = 12 };
static const char untouched = 0x5a;

static char byte_of(uint64_t seed, uint64_t i)
{
    return (char)(random_mix(seed + i / 8) >> i % 8 * 8);
}

/* A type of at least one byte whose elements do not overlap. */
static any_type draw(struct any_room *room, uint64_t *state)
{
    uint64_t lengths[BLOCKS], n = 1 + random_next(state) % BLOCKS, block = 1 + random_next(state) % 500;
    int64_t offsets[BLOCKS], at = (int64_t)(random_next(state) % 100) - 50;
    switch (random_next(state) % 4) {
    case 0:
        return any_bytes(room, block);
    case 1:
        return any_vector(room, n, block, (int64_t)(block + random_next(state) % 64), any_bytes(room, 1));
    case 2:
        return any_resized(room, 0, (int64_t)(block + random_next(state) % 64), any_bytes(room, block));
    default:
        for (uint64_t b = 0; b < n; b++) {
            lengths[b] = 1 + random_next(state) % 200;
            offsets[b] = at;
            at += (int64_t)(lengths[b] + random_next(state) % 100);
        }
        return any_indexed(room, n, lengths, 0, offsets, any_bytes(room, 1));
    }
}

/* The bytes of an element are one run. */
static int is_run(const struct tutti_plan *plan)
{
    return plan->segments == 1 && plan->segment[0].dims == 0 && plan->segment[0].entries == 0 &&
           plan->segment[0].block == plan->size;
}

static void *device_memory(size_t bytes)
{
    void *at = NULL;
    CHECK(tutti_device()->memory.alloc(-1, bytes, &at) == TUTTI_OK, "no device memory");
    return at;
}

/* Half of the bytes on the host, half on the device. */
static void open_both(struct kit_side *side, uint64_t bytes)
{
    side->room = bytes + 2 * GUARD;
    side->host = malloc(side->room);
    side->device = device_memory(side->room);
    const uint64_t half = bytes / 2, lengths[] = {half, bytes - half};
    const int64_t offsets[] = {(intptr_t)side->host + GUARD, (intptr_t)side->device + GUARD};
    any_type both = any_indexed(&side->types, 2, lengths, 0, offsets, any_bytes(&side->types, 1));
    CHECK(tutti_plan_build(both, &side->elements.plan) == TUTTI_OK, "no plan");
    side->elements.count = 1;
    side->capacity = bytes;
}

void kit_make(struct kit_side *side, enum kit_memory memory, uint64_t bytes, int fewer, uint64_t *state)
{
    const uint64_t least = fewer ? 1 + random_next(state) % (bytes - 1) : bytes;
    *side = (struct kit_side){.memory = memory};
    struct tutti_elements *e = &side->elements;
    if (memory == KIT_BOTH) {
        open_both(side, least);
    } else {
        CHECK(tutti_plan_build(draw(&side->types, state), &e->plan) == TUTTI_OK, "no plan");
        e->count = (int64_t)(least / e->plan->size);
        e->count +=
            fewer ? e->count == 0 : least % e->plan->size > 0; /* one that does not fit at all has one element */
        if (!fewer)
            e->count += (int64_t)(random_next(state) % 2);
        side->capacity = (uint64_t)e->count * e->plan->size;
        e->whole = is_run(e->plan) && (e->count == 1 || e->plan->extent == (int64_t)e->plan->size);
        side->room = (size_t)((e->count - 1) * e->plan->extent + e->plan->true_end - e->plan->true_lower) + 2 * GUARD;
        char *at =
            memory == KIT_DEVICE ? (side->device = device_memory(side->room)) : (side->host = malloc(side->room));
        e->buffer = at + GUARD - e->plan->true_lower;
    }
    char *fill = malloc(side->room);
    memset(fill, untouched, side->room);
    if (side->host)
        memcpy(side->host, fill, side->room);
    if (side->device)
        CHECK(tutti_device()->memory.copy_now(side->device, fill, side->room) == TUTTI_OK, "filling");
    free(fill);
}

void kit_shut(struct kit_side *side)
{
    tutti_plan_drop(side->elements.plan);
    any_free(&side->types);
    free(side->host);
    if (side->device)
        tutti_device()->memory.free(side->device);
}

char *kit_pattern(uint64_t seed, uint64_t bytes)
{
    char *packed = malloc(bytes + 1);
    for (uint64_t i = 0; i < bytes; i++)
        packed[i] = byte_of(seed, i);
    return packed;
}

/* What the memory holds with the message in it: of the host, and of the device. */
static void image(const struct kit_side *side, uint64_t seed, uint64_t bytes, char *host, char *device)
{
    char *packed = kit_pattern(seed, bytes);
    memset(host, untouched, side->room);
    memset(device, untouched, side->room);
    if (side->memory == KIT_BOTH) {
        const uint64_t half = side->capacity / 2;
        memcpy(host + GUARD, packed, bytes < half ? bytes : half);
        if (bytes > half)
            memcpy(device + GUARD, packed + half, bytes - half);
    } else if (bytes > 0) {
        char *at = (side->memory == KIT_DEVICE ? device : host) + GUARD - side->elements.plan->true_lower;
        tutti_plan_unpack_host(side->elements.plan, (uint64_t)side->elements.count, at, 0, bytes, packed);
    }
    free(packed);
}

void kit_fill(struct kit_side *side, uint64_t seed, uint64_t bytes)
{
    char *host = malloc(side->room), *device = malloc(side->room);
    image(side, seed, bytes, host, device);
    if (side->host)
        memcpy(side->host, host, side->room);
    if (side->device)
        CHECK(tutti_device()->memory.copy_now(side->device, device, side->room) == TUTTI_OK, "filling");
    free(host);
    free(device);
}

void kit_judge(const struct kit_side *side, uint64_t seed, uint64_t bytes, const char *packed, int number)
{
    char *host = malloc(side->room), *device = malloc(side->room), *is = malloc(side->room);
    image(side, seed, packed ? 0 : bytes, host, device);
    if (packed) {
        char *expected = kit_pattern(seed, bytes);
        CHECK(memcmp(packed, expected, bytes) == 0, "message %d: wrong bytes", number);
        free(expected);
    }
    if (side->host)
        CHECK(memcmp(side->host, host, side->room) == 0, "message %d: wrong bytes on the host", number);
    if (side->device) {
        CHECK(tutti_device()->memory.copy_now(is, side->device, side->room) == TUTTI_OK, "reading");
        CHECK(memcmp(is, device, side->room) == 0, "message %d: wrong bytes on the device", number);
    }
    free(host);
    free(device);
    free(is);
}
