/* Types with absolute addresses that reach host memory and memory of the device: their elements are located, and parts
 * of their packed form are moved to and from them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "describe_any.h"
#include "dtype/places.h"
#include "support/check.h"
#include "support/random.h"

enum { KINDS = 2, HOST = 0, DEVICE = 1, SLOTS = 24, SLOT = 64, COUNT = 3, ROOM = SLOTS * SLOT * COUNT };

static const struct tutti_device *device;
static char *memory[KINDS];

/* A type of some blocks in slots of the memories in `kinds` (a bit each), and where each of its bytes is. */
struct drawn {
    const struct tutti_plan *plan;
    uint64_t bytes;
    char *place[ROOM];
    int kind[ROOM];
};

static void draw(struct any_room *room, uint64_t *state, unsigned kinds, struct drawn *out)
{
    uint64_t lengths[SLOTS], n = 0;
    int64_t offsets[SLOTS];
    int kind[SLOTS];
    const uint64_t equal =
        random_next(state) % 2 ? 1 + random_next(state) % SLOT : 0; /* a plan may make strides of them */
    const uint64_t most = random_next(state) % 2 ? 2 : SLOTS;
    for (int s = 0; s < SLOTS; s++) {
        if (random_next(state) % 2 && n + (unsigned)__builtin_popcount(kinds) <= SLOTS - (unsigned)s)
            continue;
        do {
            kind[n] = (int)(random_next(state) % KINDS);
        } while (!(kinds >> kind[n] & 1));
        if (n == 0 || __builtin_popcount(kinds) == 1)
            kind[n] = kinds & 1u << HOST ? HOST : kind[n]; /* the least is there */
        lengths[n] = equal ? equal : 1 + random_next(state) % SLOT;
        offsets[n] = (int64_t)(intptr_t)(memory[kind[n]] + s * SLOT);
        if (++n == most)
            break;
    }
    any_type list = any_indexed(room, n, lengths, 0, offsets, any_bytes(room, 1));
    CHECK(tutti_plan_build(any_resized(room, 0, SLOTS * SLOT, list), &out->plan) == TUTTI_OK, "no plan");
    out->bytes = 0;
    for (int e = 0; e < COUNT; e++) {
        for (uint64_t b = 0; b < n; b++) {
            for (uint64_t i = 0; i < lengths[b]; i++) {
                out->kind[out->bytes] = kind[b];
                out->place[out->bytes++] = (char *)(intptr_t)offsets[b] + e * SLOTS * SLOT + i;
            }
        }
    }
}

static char byte_at(const char *place)
{
    char byte;
    return device->memory.copy_now(&byte, place, 1) == TUTTI_OK ? byte : 0;
}

static void check(struct any_room *room, uint64_t *state, unsigned kinds)
{
    static struct drawn d;
    char packed[ROOM], fill[ROOM];
    struct tutti_places places;
    int has[KINDS] = {0};
    draw(room, state, kinds, &d);
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < ROOM; i++)
            fill[i] = (char)random_next(state);
        CHECK(device->memory.copy_now(memory[k], fill, ROOM) == TUTTI_OK, "filling");
    }
    for (uint64_t i = 0; i < d.bytes; i++)
        has[d.kind[i]] = 1;
    tutti_places_of(d.plan, COUNT, NULL, &places);
    CHECK(places.host == has[HOST] && places.device == has[DEVICE],
          "kinds %u: told of host %d, device %d; is %d and %d", kinds, places.host, places.device, has[HOST],
          has[DEVICE]);
    void *pinned = packed; /* or ordinary memory, also where a kernel could reach the elements */
    if (tutti_places_reached(&places) && random_next(state) % 2)
        CHECK(device->memory.alloc_pinned(ROOM, &pinned) == TUTTI_OK, "no pinned memory");
    for (int round = 0; round < 4; round++) {
        const uint64_t first = random_next(state) % d.bytes, bytes = random_next(state) % (d.bytes - first + 1);
        int wrong = 0;
        CHECK(tutti_packed_move(TUTTI_PACK, &places, d.plan, COUNT, NULL, first, bytes, pinned) == TUTTI_OK, "packing");
        for (uint64_t i = 0; i < bytes; i++)
            wrong += ((char *)pinned)[i] != byte_at(d.place[first + i]);
        for (uint64_t i = 0; i < bytes; i++)
            ((char *)pinned)[i] = (char)random_next(state);
        memcpy(fill, pinned, bytes);
        CHECK(tutti_packed_move(TUTTI_UNPACK, &places, d.plan, COUNT, NULL, first, bytes, pinned) == TUTTI_OK,
              "unpacking");
        for (uint64_t i = 0; i < bytes; i++)
            wrong += fill[i] != byte_at(d.place[first + i]);
        CHECK(!wrong, "kinds %u: %d wrong of %llu bytes from %llu on", kinds, wrong, (unsigned long long)bytes,
              (unsigned long long)first);
    }
    if (pinned != packed)
        device->memory.free_pinned(pinned);
    tutti_plan_drop(d.plan);
}

int main(void)
{
    char why[200];
    void *at;
    uint64_t state = check_seed();
    printf("seed %llu\n", (unsigned long long)state);
    device = tutti_device();
    if (!device || device->open(why, sizeof why) != TUTTI_OK)
        return CHECK_SKIP;
    memory[HOST] = malloc(ROOM);
    CHECK(device->memory.alloc(-1, ROOM, &at) == TUTTI_OK, "no device memory");
    memory[DEVICE] = at;
    for (int round = 0; round < 400 && check_failed() == 0; round++) {
        struct any_room room = {NULL};
        check(&room, &state, 1 + (unsigned)round % 3);
        any_free(&room);
    }
    free(memory[HOST]);
    device->memory.free(memory[DEVICE]);
    printf("%ld checks\n", check_done());
    return check_failed() > 0;
}
