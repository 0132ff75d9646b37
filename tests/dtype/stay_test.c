/* Packing launches by mail to a kernel that stays: a thread is the GPU's stream, and runs the kernels in C. Random
 * launches of copies, small, of several and too many blocks, of too many arguments, with pauses about as long as the
 * kernel stays, and other users of the stream in between. Each is done once, every byte is compared. [seed] */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/status.h"
#include "dtype/pack/stay.h"
#include "kernels/pack.h"
#include "support/check.h"
#include "support/random.h"

/* dtype.stay-fibers runs the kernel in threads that take turns, whose clock is slower. */
#ifndef STAY_CALLS
#define STAY_CALLS  2000
#define STAY_SLOWER 1
#define STAY_WIDE   19
#endif
enum {
    CALLS = STAY_CALLS,
    PARTS = 8,
    UNITS = 1200,
    BYTES = UNITS * 16,
    WIDE = STAY_WIDE,                                             /* blocks of the largest kernel */
    LONG = WIDE * TUTTI_PACK_STAY_TIMES * TUTTI_PACK_SHORT_UNITS, /* units that it takes */
    WIDE_BYTES = (LONG + 100) * 16,
    LINGER_NS = 100000,
    TILE = 256
};
static const uint64_t limit_ns = UINT64_C(30000000000);

/* ---- the stream ---- */

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_full, closed; /* a launch waits, as each is waited for before the next */
    int is_busy;
    int stays;
    struct tutti_pack_stay_args stay;
    struct tutti_pack_args args;
} stream = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static int fresh, staying, lacks;

static void stream_put(const struct tutti_pack_args *args, const struct tutti_pack_stay_args *stay)
{
    pthread_mutex_lock(&stream.lock);
    while (stream.is_full)
        pthread_cond_wait(&stream.changed, &stream.lock);
    stream.is_full = 1;
    stream.stays = stay != NULL;
    if (stay)
        stream.stay = *stay;
    else if (args)
        memcpy(&stream.args, args, args->head.bytes);
    else
        stream.closed = 1;
    pthread_cond_broadcast(&stream.changed);
    pthread_mutex_unlock(&stream.lock);
}

static void *stream_run(void *with)
{
    (void)with;
    for (;;) {
        static struct tutti_pack_args args;
        pthread_mutex_lock(&stream.lock);
        stream.is_busy = 0;
        pthread_cond_broadcast(&stream.changed);
        while (!stream.is_full)
            pthread_cond_wait(&stream.changed, &stream.lock);
        stream.is_busy = 1;
        const struct tutti_pack_stay_args stay = stream.stay;
        const int stays = stream.stays, closed = stream.closed;
        memcpy(&args, &stream.args, sizeof args);
        stream.is_full = 0;
        pthread_cond_broadcast(&stream.changed);
        pthread_mutex_unlock(&stream.lock);
        if (closed)
            return NULL;
        for (uint32_t block = 0; !stays && block < args.head.blocks; block++)
            tutti_pack_host(&args, block);
        if (stays)
            tutti_pack_stay_host(&stay);
    }
}

static void stream_drain(void)
{
    pthread_mutex_lock(&stream.lock);
    while (stream.is_full || stream.is_busy)
        pthread_cond_wait(&stream.changed, &stream.lock);
    pthread_mutex_unlock(&stream.lock);
}

static int fake_pack(struct tutti_stream *with, const struct tutti_pack_launch *launch)
{
    (void)with;
    fresh++;
    stream_put(launch->args, NULL);
    return TUTTI_OK;
}

static int fake_stay(struct tutti_stream *with, const struct tutti_pack_stay_args *args)
{
    (void)with;
    if (lacks)
        return TUTTI_ERR_UNAVAILABLE;
    staying++;
    stream_put(NULL, args);
    return TUTTI_OK;
}

static const struct tutti_device fake = {.launch = {.pack = fake_pack, .stay_pack = fake_stay}};

/* ---- one launch ---- */

static uint64_t state;
static unsigned char from[PARTS][BYTES], to[PARTS][BYTES], wide_from[WIDE_BYTES], wide_to[WIDE_BYTES];
static volatile uint32_t done;
static struct tutti_pack_relay relay;
static struct tutti_pack_args args;
static int all_wide; /* 1: parts are of more words than one block copies */

/* One copy in eight is longer than a share for each block. */
static uint32_t wide_units(void)
{
    return random_next(&state) % 8 ? WIDE * TUTTI_PACK_SHORT_UNITS : LONG;
}

/* Part p, of one block unless it is the only one, moves bytes from[p] to to[p], and is the last that does so. */
static unsigned prepare(unsigned parts)
{
    struct tutti_pack_part *const part = (struct tutti_pack_part *)(void *)args.pool;
    const unsigned behind = parts * (unsigned)sizeof *part / 8;
    unsigned words = 0;
    for (unsigned p = 0; p < parts; p++) {
        const uint32_t word = 1u << random_next(&state) % 5,
                       most = random_next(&state) % 2                ? 32
                              : random_next(&state) % 2              ? TILE
                              : parts > 1 || random_next(&state) % 2 ? UNITS
                                                                     : WIDE * TUTTI_PACK_SHORT_UNITS + 100,
                       least = TUTTI_PACK_THREADS * 16 / word + 1,
                       units = all_wide ? least + (uint32_t)(random_next(&state) % (wide_units() - least))
                                        : 1 + (uint32_t)(random_next(&state) % most);
        struct tutti_pack_dim dim = {.from = word, .to = word};
        unsigned char *const source = parts == 1 ? wide_from : from[p], *const target = parts == 1 ? wide_to : to[p];
        for (unsigned b = 0; b < units * word; b += 8) {
            const uint64_t eight = random_next(&state);
            memcpy(source + b, &eight, sizeof eight);
        }
        const size_t room = parts == 1 ? WIDE_BYTES : BYTES, used = (size_t)units * word + BYTES;
        memset(target, 0xa5, used < room ? used : room);
        part[p] = (struct tutti_pack_part){.from = source,
                                           .to = target,
                                           .first = p,
                                           .units = units,
                                           .tile = parts == 1 ? TILE : units,
                                           .at = (uint16_t)(behind + 2 * p),
                                           .way = TUTTI_PACK_WORDS,
                                           .word = (uint8_t)word,
                                           .dims = 1,
                                           .list_dim = TUTTI_PACK_NO_LIST};
        memcpy(args.pool + behind + (size_t)2 * p, &dim, 16);
        words += 2;
    }
    args.head = (struct tutti_pack_head){.parts = parts,
                                         .blocks = parts == 1 ? (part->units - 1) / TILE + 1 : parts,
                                         .launch_number = 1,
                                         .bytes = (uint32_t)(sizeof args.head + parts * sizeof *part + words * 8),
                                         .done = &done,
                                         .ended = &relay.ended};
    done = 0;
    return args.head.bytes;
}

static void compare(unsigned parts, int call)
{
    const struct tutti_pack_part *const part = (const struct tutti_pack_part *)(const void *)args.pool;
    for (unsigned p = 0; p < parts; p++) {
        const size_t moved = (size_t)part[p].units * part[p].word;
        int fine = memcmp(part[p].to, part[p].from, moved) == 0;
        const size_t all = parts == 1 ? (size_t)WIDE_BYTES : (size_t)BYTES;
        for (size_t b = moved; b < all && b < moved + BYTES; b++)
            fine &= part[p].to[b] == 0xa5;
        CHECK(fine, "launch %d: part %u of %u is wrong", call, p, parts);
    }
}

static void await(struct tutti_stay *stay, int call)
{
    const uint64_t start = tutti_now_ns();
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) != 1) {
        CHECK(tutti_stay_check(stay, &fake, NULL) == TUTTI_OK, "launch %d failed", call);
        if (!CHECK(tutti_now_ns() - start < limit_ns, "launch %d is not reported", call))
            exit(1);
        sched_yield();
    }
    stay->mailed = 0; /* as a channel does */
}

/* 1 if a kernel of so many blocks copies the only part. */
static int fits_alone(unsigned most)
{
    return ((const struct tutti_pack_part *)(const void *)args.pool)->units <=
           (most > 1 ? most * TUTTI_PACK_STAY_TIMES : 1) * TUTTI_PACK_SHORT_UNITS;
}

/* Returns 1 if it went by mail. */
static int launch(struct tutti_stay *stay, unsigned parts, uint64_t linger_ns, unsigned most, int call)
{
    const unsigned bytes = prepare(parts);
    const struct tutti_pack_launch what = {.args = &args};
    const int before = fresh + staying;
    int launched;
    const int serves = stay->serves && linger_ns == 0;
    const int status = tutti_stay_launch(stay, &fake, NULL, &what, linger_ns, most, &launched);
    const int fits = bytes <= TUTTI_PACK_MAIL_BYTES && (parts == 2 || (parts == 1 && fits_alone(most)));
    const int may = (linger_ns > 0 || (serves && status == TUTTI_OK)) && fits && !lacks;
    CHECK(status == (may ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE), "launch %d of %u parts: status %d", call, parts, status);
    CHECK(!serves || !launched, "launch %d: a kernel stays that need not", call);
    CHECK(launched == fresh + staying - before, "launch %d: not %d launches", call, launched);
    if (status == TUTTI_ERR_UNAVAILABLE) {
        tutti_stay_leave(stay);
        fake.launch.pack(NULL, &what);
    }
    return status == TUTTI_OK && !launched;
}

static struct tutti_pack_mail mail;
static struct tutti_pack_answer answer;

static void open_stay(struct tutti_stay *stay)
{
    stream_drain();
    memset(&relay, 0, sizeof relay);
    memset(&mail, 0, sizeof mail);
    memset(&answer, 0, sizeof answer);
    *stay = (struct tutti_stay){.mail = &mail,
                                .answer = &answer,
                                .mail_seen = &mail,
                                .answer_seen = &answer,
                                .relay = &relay,
                                .sequence = (uint32_t)-200, /* past the wrap soon */
                                .number = (uint32_t)-20,
                                .started = (uint32_t)-50,
                                .relayed = (uint32_t)-30};
    relay.started = stay->started;
    for (unsigned i = 0; i < TUTTI_PACK_SHORT_WORDS; i++)
        relay.word[i] = (uint64_t)stay->relayed << 32;
}

/* Mail to a kernel that has left, which its host has not seen yet, is launched; mail that was served is not. */
static void late(void)
{
    struct tutti_stay stay;
    struct tutti_pack_answer seen = {0, 0};
    open_stay(&stay);
    for (int call = 0; call < 20; call++) {
        tutti_stay_leave(&stay);
        CHECK(!launch(&stay, 2, LINGER_NS, 1, call), "mailed to a kernel that was asked to leave");
        await(&stay, call);
        compare(2, call);
        while (__atomic_load_n(&answer.left, __ATOMIC_ACQUIRE) != stay.number)
            sched_yield();
        seen.left = stay.number - 1;
        stay.answer = &seen;
        const int before = fresh;
        CHECK(launch(&stay, 2, LINGER_NS, 1, call), "launch %d is not mailed", call);
        CHECK(tutti_stay_check(&stay, &fake, NULL) == TUTTI_OK && fresh == before, "launched too early");
        stay.answer = &answer;
        await(&stay, call);
        compare(2, call);
        CHECK(fresh == before + 1, "mail that came late is launched %d times", fresh - before);
    }
    stay.mailed = stay.may_be_there = 1;
    answer.served = stay.sequence;
    answer.left = stay.number;
    const int before = fresh;
    CHECK(tutti_stay_check(&stay, &fake, NULL) == TUTTI_OK && fresh == before, "what was served is launched");
}

/* The kernel sees the first words of a mail before the others are written. */
static void slowly(void)
{
    struct tutti_stay stay;
    open_stay(&stay);
    for (int call = 0; call < 20; call++) {
        launch(&stay, 2, LINGER_NS, 1, call);
        await(&stay, call);
        prepare(2);
        memcpy(stay.args, &args, sizeof(struct tutti_pack_mailed));
        const uint64_t sequence = ++stay.sequence;
        const unsigned first = 1 + (unsigned)(random_next(&state) % (TUTTI_PACK_MAIL_WORDS - 1));
        stay.mailed = 1;
        for (unsigned i = 0; i < TUTTI_PACK_MAIL_WORDS; i++) {
            const uint64_t start = tutti_now_ns();
            while (i == first && tutti_now_ns() - start < LINGER_NS * STAY_SLOWER / 2)
                sched_yield();
            uint32_t word;
            memcpy(&word, stay.args + (size_t)i * 4, sizeof word);
            __atomic_store_n(&mail.word[i], sequence << 32 | word, __ATOMIC_RELEASE);
        }
        await(&stay, call);
        compare(2, call);
    }
}

static void bursts(void)
{
    struct tutti_stay stay;
    static const unsigned mosts[] = {1, 3, WIDE};
    int served = 0, wide = 0, call = 0;
    open_stay(&stay);
    fresh = staying = 0;
    /* How many are served depends on the machine. */
    for (; call < CALLS || served < CALLS / 100; call++) {
        const unsigned most = call < CALLS / 4 ? 1 : mosts[call / 25 % 3];
        const unsigned kind = (unsigned)(random_next(&state) % 16);
        const unsigned parts = kind == 0 ? 3 : kind == 1 ? PARTS : 1 + kind % 2;
        const uint64_t start = tutti_now_ns(),
                       pause = kind < 12 ? 0 : random_next(&state) % (2 * LINGER_NS * STAY_SLOWER);
        while (tutti_now_ns() - start < pause)
            sched_yield();
        if (random_next(&state) % 40 == 0)
            tutti_stay_leave(&stay);
        const uint32_t relayed = stay.relayed;
        const int mailed = launch(&stay, parts, random_next(&state) % 50 ? LINGER_NS : 0, most, call);
        served += mailed;
        wide += stay.relayed != relayed;
        await(&stay, call);
        compare(parts, call);
    }
    tutti_stay_leave(&stay);
    printf("%d launches, %d served, %d of them by several blocks, %d launched, %d kernels that stay\n", call, served,
           wide, fresh, staying);
}

/* Copies for several blocks follow each other closely: few need a launch. Blocks of a kernel: as many as the copy
 * wants, or one that came not long before. */
static void wide_ones(void)
{
    static const unsigned mosts[] = {4, WIDE};
    struct tutti_stay stay;
    int wide = 0, call = 0;
    open_stay(&stay);
    all_wide = 1;
    for (; wide < CALLS / 40 + 8; call++) {
        const unsigned most = mosts[call / 50 % 2];
        const uint32_t relayed = stay.relayed;
        const int mailed = launch(&stay, 1, 20 * LINGER_NS, most, call);
        const struct tutti_pack_part *const part = (const struct tutti_pack_part *)(const void *)args.pool;
        const unsigned units = part->units, wants = units <= 1024 ? 4 : units <= 8192 ? 16 : 64;
        CHECK(!mailed || stay.blocks == 1 || stay.relayed != relayed, "launch %d of %u words goes to one block", call,
              units);
        CHECK(mailed || units > most * TUTTI_PACK_STAY_TIMES * TUTTI_PACK_SHORT_UNITS ||
                  stay.blocks >= (wants < most ? wants : most),
              "launch %d of %u words: a kernel of %u blocks", call, units, stay.blocks);
        wide += stay.relayed != relayed;
        await(&stay, call);
        compare(1, call);
    }
    all_wide = 0;
}

/* The second launch of each pair goes to the kernel of the first one, though no other is to follow; without `serves` it
 * does not. */
static void pairs(void)
{
    struct tutti_stay stay;
    open_stay(&stay);
    for (int call = 0; call < CALLS / 50; call++) { /* how many are served depends on the machine */
        stay.serves = call % 8 != 0;
        CHECK(!launch(&stay, 2, 20 * LINGER_NS, 1, call), "launch %d: the kernel before was not asked to leave", call);
        await(&stay, call);
        const unsigned parts = 1 + (unsigned)call % 2; /* a single one may be too long for that kernel */
        const int mailed = launch(&stay, parts, 0, WIDE, call);
        CHECK(stay.serves || !mailed, "launch %d is mailed", call);
        await(&stay, call);
        compare(parts, call);
        tutti_stay_leave(&stay);
    }
    stay.serves = 1;
    CHECK(!launch(&stay, 2, 0, 1, 0), "mailed to a kernel that was asked to leave");
    await(&stay, 0);
}

/* A kernel launched ahead, for launches like one, has no work of its own and serves the next ones. */
static void ahead(void)
{
    struct tutti_stay stay;
    open_stay(&stay);
    stay.serves = 1;
    for (int call = 0, served = 0; served < CALLS / 40; call++) { /* how many are served depends on the machine */
        const unsigned most = call % 3 == 0 ? 1 : call % 3 == 1 ? 4 : WIDE;
        all_wide = most > 1 && call % 2;
        CHECK(!launch(&stay, 1, 0, most, call), "launch %d: the kernel before was not asked to leave", call);
        const struct tutti_pack_launch like = {.args = &args};
        const int before = staying, made = !tutti_stay_ahead(&stay, &fake, NULL, &like, 20 * LINGER_NS, most);
        CHECK(made == fits_alone(most) && staying - before == made, "launch %d: %d kernels", call, made);
        for (int next = 0; next < 4; next++) {
            const int had = fresh, mailed = next > 0 && launch(&stay, 1, 0, most, call);
            await(&stay, call);
            compare(1, call);
            served += mailed && fresh == had;
        }
        tutti_stay_leave(&stay);
    }
}

static void without(void)
{
    struct tutti_stay stay;
    open_stay(&stay);
    lacks = 1;
    for (int call = 0; call < 4; call++) {
        CHECK(!launch(&stay, 2, LINGER_NS, 1, call), "mailed to a kernel that there is not");
        await(&stay, call);
    }
    CHECK(stay.off, "the device is asked again for a kernel that it lacks");
    lacks = 0;
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : tutti_now_ns();
    printf("seed %llu\n", (unsigned long long)state);
    if (pthread_create(&stream.thread, NULL, stream_run, NULL) != 0)
        return 2;
    late();
    slowly();
    bursts();
    ahead();
    wide_ones();
    pairs();
    without();
    stream_put(NULL, NULL);
    pthread_join(stream.thread, NULL);
    printf("%ld checks\n", check_done());
    return check_failed() > 0;
}
