/* The two launches of a call (TUTTI_PACK_FIRST, TUTTI_PACK_SECOND) on the host device: every byte is compared, with
 * pauses of any length between the two, launches of other users, and first launches without a second one. And when a
 * kernel stays: not for a while after second launches that it did not take. pair_test [seed [ROUNDS]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/status.h"
#include "dtype/pack.h"
#include "dtype/pack/channel.h"
#include "support/check.h"
#include "support/random.h"

enum { MOST = 20000, GUARD = 64 };

static uint64_t state;
static char *device_memory, *pinned, *want, *seen; /* device memory: as a device whose memory the host does not reach */
enum { ALL = MOST + 4 * GUARD };

static const char *look(void)
{
    CHECK(tutti_device()->memory.copy_now(seen, device_memory, 2 * MOST) == TUTTI_OK, "a copy fails");
    return seen;
}

/* ---- bytes ---- */

static void pause_us(long us)
{
    const struct timespec time = {0, us * 1000};
    if (us > 0)
        nanosleep(&time, NULL);
}

/* A launch, and what its notice promises. */
static void move(enum tutti_direction direction, size_t at, size_t host_at, size_t bytes, unsigned how)
{
    const struct tutti_pack_job job = {.direction = direction,
                                       .plan = tutti_plan_of_byte(),
                                       .count = bytes,
                                       .memory = device_memory + at,
                                       .packed = pinned + host_at,
                                       .bytes = bytes};
    struct tutti_pack_flight flight;
    int done = 0;
    CHECK(tutti_pack_begin(0, &job, 1, how, &flight) == TUTTI_OK, "a launch fails");
    while (done == 0)
        done = tutti_pack_poll(&flight);
    CHECK(done == 1, "a launch ends with %d", done);
    CHECK(memcmp(look() + at, pinned + host_at, bytes) == 0, "%zu bytes at %zu and %zu, flags %u, differ", bytes, at,
          host_at, how);
}

/* Elements out, changed by the host, and in elsewhere. */
static void call(void)
{
    const size_t bytes = 1 + random_next(&state) % (random_next(&state) % 4 ? 300 : MOST);
    const size_t at = GUARD + random_next(&state) % 40, back = GUARD + random_next(&state) % 40;
    const unsigned near = random_next(&state) % 2 ? TUTTI_PACK_NEAR : 0;
    for (size_t i = 0; i < bytes; i++)
        want[i] = (char)random_next(&state);
    CHECK(tutti_device()->memory.copy_now(device_memory + at, want, bytes) == TUTTI_OK, "a copy fails");
    move(TUTTI_PACK, at, 0, bytes, TUTTI_PACK_FIRST);
    if (random_next(&state) % 8 == 0) /* the call fails between its launches */
        return;
    if (random_next(&state) % 8 == 0) /* another call of the thread */
        move(TUTTI_UNPACK, ALL, 2 * MOST, 1 + random_next(&state) % 100, 0);
    pause_us(random_next(&state) % 3 ? 0 : (long)(random_next(&state) % 200));
    for (size_t i = 0; i < bytes; i++)
        pinned[i] = (char)(pinned[i] + 1);
    memcpy(want, look(), ALL);
    memcpy(want + back, pinned, bytes);
    move(TUTTI_UNPACK, back, 0, bytes, TUTTI_PACK_SECOND | near);
    CHECK(memcmp(want, look(), ALL) == 0, "bytes beside the message have changed");
}

/* ---- whether a kernel stays ---- */

/* For how long, after a launch of these flags. */
static uint64_t stays(struct tutti_pack_channel *channel, unsigned how)
{
    tutti_pack_channel_stays(channel, tutti_device(), how);
    return channel->linger_ns;
}

static void when_it_stays(void)
{
    struct tutti_pack_channel channel = {.gpu = 0};
    for (unsigned lost = 0; lost < 16; lost++) {
        CHECK(stays(&channel, TUTTI_PACK_FIRST) == TUTTI_PACK_PAIR_NS, "%u lost: it does not stay", lost);
        tutti_pack_channel_stayed(&channel, TUTTI_PACK_SECOND, 0);
        const unsigned most = lost < 11 ? 2u << lost : 4096;
        for (unsigned i = 0; i < most; i++) {
            CHECK(stays(&channel, TUTTI_PACK_FIRST) == 0, "%u lost: it stays again after %u calls", lost, i);
            tutti_pack_channel_stayed(&channel, TUTTI_PACK_SECOND, 0);
        }
    }
    (void)stays(&channel, TUTTI_PACK_FIRST);
    tutti_pack_channel_stayed(&channel, TUTTI_PACK_SECOND, 1);
    for (int i = 0; i < 100; i++) {
        CHECK(stays(&channel, TUTTI_PACK_FIRST) == TUTTI_PACK_PAIR_NS, "one that pays ends");
        tutti_pack_channel_stayed(&channel, TUTTI_PACK_SECOND, 1);
    }
    CHECK(stays(&channel, 0) == 0 && stays(&channel, TUTTI_PACK_SECOND) == 0, "a kernel stays for nothing");
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 3000;
    const struct tutti_device *device = tutti_device();
    char why[160];
    void *memory = NULL, *host = NULL;
    if (!device || device->open(why, sizeof why) != TUTTI_OK ||
        device->memory.alloc(0, 2 * MOST, &memory) != TUTTI_OK ||
        device->memory.alloc_pinned(3 * MOST, &host) != TUTTI_OK)
        return 1;
    device_memory = memory;
    pinned = host;
    want = malloc(2 * MOST);
    seen = malloc(2 * MOST);
    when_it_stays();
    for (long i = 0; i < rounds; i++)
        call();
    device->memory.free(memory);
    device->memory.free_pinned(host);
    free(want);
    free(seen);
    printf("pair_test: seed %s, %ld checks, %ld failed\n", argc > 1 ? argv[1] : "1", check_done(),
           (long)check_failed());
    return check_failed() > 0;
}
