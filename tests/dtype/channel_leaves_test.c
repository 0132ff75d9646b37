/* A channel asks a kernel that stays to leave before a launch that the kernel does not take, which would wait for it in
 * the stream, and when the kernel need not stay after a call: a fetch whose forecast expects no further one, and the
 * second launch of a pair. Random calls with a device whose kernels do nothing: what the kernel has in its mail shows
 * whether it was asked. TUTTI_LINGER_US: kernels stay by themselves (-1), not (0), or on request.
 * channel_leaves_test [seed] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/settings.h"
#include "core/status.h"
#include "dtype/pack.h"
#include "dtype/pack/channel.h"
#include "fake_memory.h"
#include "support/check.h"
#include "support/random.h"

enum {
    CALLS = 40000,
    PARTS = 8,
    WIDE_UNITS = 4000,
    BYTES = WIDE_UNITS * 16,
    BLOCKS = 16,
    BURSTS = 12,
    STAY_NS = 1000000000
};
enum launch { SMALL, WIDE, MANY, LAUNCHES }; /* MANY: parts, which no kernel that stays takes */

/* The last kernel that stays. */
static struct {
    int is_there;    /* it was launched, and has neither left nor been asked to */
    uint32_t number; /* of its launch */
    uint32_t begun;  /* mails before its launch */
    int was_asked;
} kernel;
static int launches, stays, unasked, aheads;
static struct tutti_pack_channel *channel;
static unsigned char memory[2][BYTES];
static uint64_t state;
static uint64_t stays_ns;

/* 1 if the last mail is empty: it asks the kernel to leave. */
static int mail_is_empty(void)
{
    const struct tutti_pack_mail *const mail = channel->stay.mail;
    for (unsigned i = 0; i < TUTTI_PACK_MAIL_WORDS; i++) {
        const uint64_t word = __atomic_load_n(&mail->word[i], __ATOMIC_ACQUIRE);
        if (word >> 32 != channel->stay.sequence || (uint32_t)word != 0)
            return 0;
    }
    return channel->stay.sequence != kernel.begun;
}

/* The kernel reads its mail, and serves a launch or leaves. */
static void kernel_looks(void)
{
    if (!kernel.is_there || channel->stay.sequence == kernel.begun)
        return;
    kernel.begun = channel->stay.sequence;
    channel->stay.answer->served = channel->stay.sequence;
    *channel->done = TUTTI_PACK_REPORT;
}

/* Something is put into the stream: a kernel that is there and was not asked would hold it up. */
static void stream_gets(void)
{
    if (kernel.is_there && mail_is_empty())
        kernel.is_there = 0;
    unasked += kernel.is_there;
    kernel.is_there = 0;
    launches++;
}

static int fake_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch)
{
    (void)stream;
    (void)launch;
    stream_gets();
    *channel->done = TUTTI_PACK_REPORT;
    return TUTTI_OK;
}

static int fake_stay(struct tutti_stream *stream, const struct tutti_pack_stay_args *args)
{
    (void)stream;
    stream_gets();
    stays++;
    kernel.is_there = 1;
    kernel.number = args->stay.number;
    kernel.begun = args->stay.sequence;
    *channel->done = TUTTI_PACK_REPORT;
    return TUTTI_OK;
}

static uint64_t fake_stay_ns(void)
{
    return stays_ns;
}

static unsigned fake_blocks(int gpu)
{
    (void)gpu;
    return BLOCKS;
}

static int fake_create(int gpu, struct tutti_stream **out)
{
    (void)gpu;
    *out = (struct tutti_stream *)(void *)memory;
    return TUTTI_OK;
}

static int fake_query(struct tutti_stream *stream)
{
    (void)stream;
    return 1;
}

static const struct tutti_device fake = {
    .memory = {.map_host = fake_map, .alloc = fake_alloc},
    .stream = {.create = fake_create, .fill = fake_fill, .query = fake_query},
    .launch = {.pack = fake_pack, .stay_pack = fake_stay, .stay_ns = fake_stay_ns, .stay_blocks = fake_blocks}};

static void make_launch(struct tutti_pack_args *args, enum launch kind)
{
    static const struct tutti_pack_dim dim = {.from = 16, .to = 16};
    struct tutti_pack_part *const part = (struct tutti_pack_part *)(void *)args->pool;
    const unsigned parts = kind == MANY ? PARTS : 1, units = kind == WIDE ? WIDE_UNITS : 1, dims = kind == WIDE;
    for (unsigned p = 0; p < parts; p++)
        part[p] = (struct tutti_pack_part){.from = memory[0] + (size_t)p * 16,
                                           .to = memory[1] + (size_t)p * 16,
                                           .first = p,
                                           .units = units,
                                           .tile = TUTTI_PACK_THREADS,
                                           .at = (uint16_t)(parts * sizeof *part / 8),
                                           .way = TUTTI_PACK_WORDS,
                                           .word = 16,
                                           .dims = (uint8_t)dims,
                                           .list_dim = TUTTI_PACK_NO_LIST};
    memcpy(args->pool + parts * sizeof *part / 8, &dim, 16);
    args->head =
        (struct tutti_pack_head){.parts = parts,
                                 .blocks = kind == MANY ? PARTS : (units - 1) / TUTTI_PACK_THREADS + 1,
                                 .launch_number = 1,
                                 .bytes = (uint32_t)(sizeof args->head + parts * sizeof *part + (size_t)dims * 16),
                                 .done = channel->done_device,
                                 .ended = channel->ended};
}

static void one_call(unsigned how, enum launch kind, long linger_us)
{
    static struct tutti_pack_args args;
    int launched = 0;
    const int was_there = kernel.is_there, before = launches;
    make_launch(&args, kind);
    const struct tutti_pack_launch launch = {.args = &args};
    tutti_pack_channel_stays(channel, &fake, how);
    tutti_pack_channel_begin(channel);
    const int status = tutti_pack_channel_launch(channel, &fake, &launch, &launched);
    CHECK(status == TUTTI_OK, "a launch of kind %u: status %d", kind, status);
    const int ahead = launches - before == 2 && kernel.is_there; /* of a kernel for the next one */
    aheads += ahead;
    CHECK(!ahead || channel->choice.forecast.stays, "a kernel waits for a next call of kind %u, which is not expected",
          how);
    CHECK(launched == launches - before - ahead, "%d launches, not %d", launches - before, launched);
    CHECK(launched || was_there, "a launch is mailed, and no kernel is there");
    kernel_looks();
    struct tutti_pack_flight flight = {.device = &fake, .channel = channel, .mailed = !launched};
    CHECK(tutti_pack_channel_poll(&flight) == 1, "a launch of kind %u has not ended", kind);
    const int stays_on = channel->choice.forecast.stays;
    tutti_pack_channel_stayed(channel, how, !launched);
    const int ends = (how & TUTTI_PACK_SECOND && linger_us <= 0) || (channel->fetches && !stays_on);
    if (kernel.is_there && mail_is_empty()) {
        kernel.is_there = 0;
        kernel.was_asked++;
        CHECK(ends, "a kernel that is to stay is asked to leave after a call of kind %u", how);
    }
    CHECK(!ends || !kernel.is_there, "a kernel stays in vain after a call of kind %u", how);
}

/* By itself, when nothing comes for long enough. */
static void kernel_leaves(void)
{
    if (!kernel.is_there)
        return;
    channel->stay.answer->left = kernel.number;
    kernel.is_there = 0;
}

/* Bursts of as many fetches each, which a channel learns. Returns their number. */
static int bursts(long linger_us)
{
    const int length = 2 + (int)(random_next(&state) % 6);
    enum launch kind = random_next(&state) % 2 ? SMALL : WIDE;
    for (int i = 0; i < BURSTS * length; i++) {
        stays_ns = i % length ? STAY_NS : 1; /* 1: the first one comes too late */
        if (random_next(&state) % 30 == 0)
            kind = kind == SMALL ? WIDE : SMALL;
        one_call(TUTTI_PACK_KEEP | TUTTI_PACK_ALONE, kind, linger_us);
    }
    return BURSTS * length;
}

static void random_calls(long linger_us)
{
    static const unsigned kinds[] = {TUTTI_PACK_KEEP | TUTTI_PACK_ALONE, TUTTI_PACK_KEEP | TUTTI_PACK_FIRST,
                                     TUTTI_PACK_KEEP, TUTTI_PACK_NEAR};
    for (int i = 0, pair = 0; i < 10 || pair; i++) {
        const unsigned how = pair ? TUTTI_PACK_KEEP | TUTTI_PACK_SECOND : kinds[random_next(&state) % 4];
        const int is_pair = (how & (TUTTI_PACK_FIRST | TUTTI_PACK_SECOND)) != 0 && random_next(&state) % 16;
        pair = (how & TUTTI_PACK_FIRST) != 0;
        stays_ns = STAY_NS;
        one_call(how, is_pair ? SMALL : (enum launch)(random_next(&state) % LAUNCHES), linger_us);
    }
}

int main(int argc, char **argv)
{
    const long linger_us = tutti_settings()->linger_us;
    state = argc > 1 ? strtoull(argv[1], NULL, 0) : 7;
    if (!CHECK(tutti_pack_channel_take(&fake, 0, &channel) == TUTTI_OK, "no channel"))
        return 1;
    for (int call = 0; call < CALLS; call++) {
        if (random_next(&state) % 8 == 0)
            random_calls(linger_us);
        else
            call += bursts(linger_us);
        if (random_next(&state) % 8 == 0)
            kernel_leaves();
    }
    CHECK(unasked == 0, "%d launches wait for a kernel that was not asked to leave", unasked);
    CHECK(stays > 100 && (linger_us > 0 || kernel.was_asked > 100), "%d kernels stayed, %d were asked", stays,
          kernel.was_asked);
    CHECK(linger_us < 0 ? aheads > 100 : aheads == 0, "%d kernels were launched for the next call", aheads);
    printf("%d calls, %d launches, %d kernels stay, %d of them launched for the next call, %d are asked to leave\n",
           CALLS, launches, stays, aheads, kernel.was_asked);
    return check_failed() != 0;
}
