/* Launches of packing kernels that are kept ready, over a device that only records: each launch is done once, with the
 * arguments that it was given; repeated ones are not launched afresh; nothing is left. kept_test [seed] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "dtype/pack/kept.h"
#include "support/check.h"
#include "support/random.h"

/* SEEN: a launch is made ready when it is made for the 24th time, so few repetitions cost no more than new launches. */
enum { DIFFERENT = 40, ROUNDS = 40000, MOST_LIVE = 17, SEEN = 24 };

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

static const struct tutti_device fake = {
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
    printf("%ld checks\n", check_done());
    return check_failed() > 0;
}
