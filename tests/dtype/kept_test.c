/* Launches of packing kernels that are kept ready, over a device that only records: each launch is done once, with the
 * arguments that it was given; repeated ones are not launched afresh; nothing is left. In a fiber they are made ready
 * when its job is done, if their channel is idle then. kept_test [seed] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lives.h"
#include "core/status.h"
#include "dtype/pack.h"
#include "dtype/pack/channel.h"
#include "dtype/pack/kept.h"
#include "fake_memory.h"
#include "progress/engine.h"
#include "progress/fiber.h"
#include "support/check.h"
#include "support/random.h"

enum { DIFFERENT = 40, ROUNDS = 40000, MOST_LIVE = 17, SEEN = TUTTI_LAUNCH_SEEN };

struct tutti_prepared {
    unsigned char args[TUTTI_PACK_FEW_BYTES];
    int gone; /* its context is */
};

static uint64_t state;
static int fresh, replayed, live, refuses;
static unsigned char done[TUTTI_PACK_FEW_BYTES]; /* what was launched last */

static int fake_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch)
{
    (void)stream;
    fresh++;
    memcpy(done, launch->args, launch->args->head.bytes < sizeof done ? launch->args->head.bytes : sizeof done);
    return TUTTI_OK;
}

static int fake_keep(struct tutti_stream *stream, const struct tutti_pack_launch *launch, struct tutti_prepared **out)
{
    (void)stream;
    if (refuses)
        return TUTTI_ERR_DEVICE;
    CHECK(launch->reaches == 1 && launch->reach[0].start == done, "what is reached is not kept");
    *out = calloc(1, sizeof **out);
    memcpy((*out)->args, launch->args, launch->args->head.bytes);
    live++;
    CHECK(live <= MOST_LIVE, "%d launches are kept", live);
    return TUTTI_OK;
}

static int fake_kept(struct tutti_stream *stream, struct tutti_prepared *prepared)
{
    (void)stream;
    if (prepared->gone)
        return TUTTI_ERR_UNAVAILABLE;
    replayed++;
    memcpy(done, prepared->args, sizeof done);
    prepared->gone = random_next(&state) % 500 == 0;
    return TUTTI_OK;
}

static void fake_drop(struct tutti_prepared *prepared)
{
    live -= prepared != NULL;
    free(prepared);
}

static int fake_create(int gpu, struct tutti_stream **out)
{
    (void)gpu;
    *out = (struct tutti_stream *)(void *)done;
    return TUTTI_OK;
}

static int fake_destroy(struct tutti_stream *stream)
{
    (void)stream;
    return TUTTI_OK;
}

static int fake_unmap(int gpu, void *pointer)
{
    (void)gpu, (void)pointer;
    return TUTTI_OK;
}

static const struct tutti_device fake = {
    .memory = {.map_host = fake_map, .unmap_host = fake_unmap, .alloc = fake_alloc},
    .stream = {.create = fake_create, .destroy = fake_destroy, .fill = fake_fill},
    .launch = {.pack = fake_pack, .keep_pack = fake_keep, .kept = fake_kept, .drop = fake_drop}};

static void one(struct tutti_kept_packs **all, uint64_t number, uint32_t bytes, int fill)
{
    static struct tutti_pack_args args;
    const struct tutti_pack_reach reach = {.at = 8, .start = done, .bytes = 8};
    const struct tutti_pack_launch launch = {&args, &reach, 1};
    args.head = (struct tutti_pack_head){.parts = 1, .blocks = (uint32_t)number + 1, .bytes = bytes};
    memset(args.pool, 0, sizeof args.pool);
    args.pool[(bytes - sizeof args.head) / 8 - 1] = number; /* the last word alone may tell them apart */
    args.head.blocks = number % 2 ? 1 : args.head.blocks;
    const int before = fresh + replayed;
    CHECK(tutti_kept_packs_launch(all, &fake, NULL, &launch) == TUTTI_OK && fresh + replayed == before + 1,
          "a launch is done %d times", fresh + replayed - before);
    CHECK(memcmp(done, &args, bytes < sizeof done ? bytes : sizeof done) == 0, "launch %d has another's arguments",
          (int)number);
    if (fill)
        tutti_kept_packs_fill(*all, &fake, NULL);
}

static void run(void)
{
    struct tutti_kept_packs *all = NULL;
    for (int i = 0; i < 2 * SEEN; i++) {
        fresh = replayed = 0;
        one(&all, 5, 96, 1);
        CHECK(replayed == (i >= SEEN), "launch %d of one that repeats is%s kept", i, replayed ? "" : " not");
    }
    fresh = replayed = 0;
    one(&all, 5, 1024, 1);
    CHECK(fresh == 1 && replayed == 0, "too many arguments to be kept");
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t most = i / 1000 % 2 ? DIFFERENT : 8;
        one(&all, random_next(&state) % most, random_next(&state) % 4 ? 96 : TUTTI_PACK_FEW_BYTES,
            random_next(&state) % 3 > 0);
    }
    CHECK(replayed > ROUNDS / 4, "only %d of %d were kept", replayed, ROUNDS);
    tutti_kept_packs_free(all, &fake);
    CHECK(live == 0, "%d are left", live);
}

/* ---- channels ---- */

/* So many launches of one kind, after which one is to be made ready. */
static void repeat(struct tutti_pack_channel *channel, uint64_t number)
{
    static struct tutti_pack_args args;
    const struct tutti_pack_reach reach = {.at = 8, .start = done, .bytes = 8};
    const struct tutti_pack_launch launch = {&args, &reach, 1};
    int launched;
    args.head = (struct tutti_pack_head){.parts = 1, .blocks = 1, .bytes = 96};
    args.pool[(96 - sizeof args.head) / 8 - 1] = number;
    tutti_pack_channel_stays(channel, &fake, TUTTI_PACK_KEEP);
    for (int i = 0; i < SEEN; i++)
        CHECK(tutti_pack_channel_launch(channel, &fake, &launch, &launched) == TUTTI_OK, "a launch fails");
    CHECK(tutti_kept_packs_lack(channel->kept), "nothing is to be made ready");
    tutti_pack_channel_keep(channel);
}

static void in_fiber(void *unused)
{
    struct tutti_pack_channel *channel, *other;
    const int before = live;
    (void)unused;
    if (!CHECK(tutti_pack_channel_take(&fake, 0, &channel) == TUTTI_OK, "no channel") ||
        !CHECK(tutti_pack_channel_take(&fake, 0, &other) == TUTTI_OK && other != channel, "no second channel"))
        return;
    repeat(channel, 1);
    repeat(other, 2);
    CHECK(live == before, "a launch is made ready before the job is done");
    tutti_pack_channel_give(other); /* the first one is used further on */
    CHECK(tutti_pack_channel_is_idle(0), "no channel is idle");
    tutti_fiber_catch_up();
    CHECK(tutti_pack_channel_is_idle(0), "the channel whose launch is made ready is not given back");
    CHECK(live == before + 1 && !tutti_kept_packs_lack(other->kept) && tutti_kept_packs_lack(channel->kept),
          "%d launches are made ready, of two channels of which one is idle", live - before);
    tutti_pack_channel_keep(channel);
    tutti_pack_channel_give(channel);
}

/* The GPU is reset before a launch is made ready: the channel's stream has gone with it. */
static void over_a_reset(void *unused)
{
    struct tutti_pack_channel *channel, *next;
    const int before = live;
    (void)unused;
    if (!CHECK(tutti_pack_channel_take(&fake, 1, &channel) == TUTTI_OK, "no channel"))
        return;
    repeat(channel, 4);
    tutti_pack_channel_give(channel);
    tutti_gpu_reset(1);
    tutti_fiber_catch_up();
    CHECK(live == before, "a launch is made ready in a stream that a reset has ended");
    CHECK(!tutti_pack_channel_is_idle(1), "a channel of an earlier life is idle");
    if (CHECK(tutti_pack_channel_take(&fake, 1, &next) == TUTTI_OK, "no channel after a reset"))
        tutti_pack_channel_give(next);
}

static int fibers_ended(void *unused)
{
    (void)unused;
    return atomic_load(&tutti_fibers_open) == 0;
}

static void channels(void)
{
    struct tutti_pack_channel *channel, *other, *third;
    CHECK(tutti_fiber_start(in_fiber, NULL) == TUTTI_OK, "no fiber");
    tutti_progress_wait(&(const struct tutti_wait){.done = fibers_ended});
    tutti_fibers_end();
    CHECK(live == 2, "%d launches of two channels are ready", live);
    CHECK(tutti_fiber_start(over_a_reset, NULL) == TUTTI_OK, "no fiber");
    tutti_progress_wait(&(const struct tutti_wait){.done = fibers_ended});
    tutti_fibers_end();
    if (!CHECK(tutti_pack_channel_take(&fake, 0, &channel) == TUTTI_OK &&
                   tutti_pack_channel_take(&fake, 0, &other) == TUTTI_OK &&
                   tutti_pack_channel_take(&fake, 0, &third) == TUTTI_OK && channel != other && other != third,
               "a channel is idle twice"))
        return;
    repeat(channel, 3);
    CHECK(live == 3, "outside of fibers a launch is not made ready at once");
    tutti_pack_channel_give(channel);
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    run();
    refuses = 1;
    struct tutti_kept_packs *all = NULL;
    for (int i = 0; i < 2 * SEEN; i++)
        one(&all, 5, 96, 1);
    tutti_kept_packs_free(all, &fake);
    tutti_kept_packs_free(NULL, &fake);
    refuses = 0;
    channels();
    printf("%ld checks\n", check_done());
    return check_failed() > 0;
}
