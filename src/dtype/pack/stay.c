#include "dtype/pack/stay.h"

#include <string.h>

#include "core/status.h"

enum {
    BLOCKS_MOST = 2,    /* whose work one block does before a launch would begin */
    ALONE_BYTES = 4096, /* for which a second block saves no time */
    FEW = 4,            /* blocks of a kernel that stays for copies of up to 16 KiB, */
    SOME = 16,          /* of up to 128 KiB; for longer ones it has all it may */
    SOME_UNITS = 8192,
    /* Of a copy. Longer ones go by engines, in the same time. */
    LONGEST = TUTTI_PACK_STAY_BLOCKS * TUTTI_PACK_STAY_TIMES * TUTTI_PACK_SHORT_UNITS,
    LATELY = 16 /* launches for which a kernel has as many blocks as an earlier launch wanted */
};

static int is_there(const struct tutti_stay *stay)
{
    return stay->may_be_there && __atomic_load_n(&stay->answer->left, __ATOMIC_ACQUIRE) != stay->number;
}

static void stay_post(struct tutti_stay *stay, const uint32_t word[], unsigned words)
{
    const uint64_t sequence = ++stay->sequence;
    for (unsigned i = 0; i < words; i++)
        __atomic_store_n(&stay->mail->word[i], sequence << 32 | word[i], __ATOMIC_RELEASE);
}

/* 1 if the part moves one run of bytes. */
static int is_run(const struct tutti_pack_mailed *call, const struct tutti_pack_part *part)
{
    int64_t step[2]; /* of the only dimension, as struct tutti_pack_dim begins */
    if (part->dims == 0)
        return part->units == 1;
    memcpy(step, (const char *)call + sizeof(struct tutti_pack_head) + (size_t)part->at * 8, sizeof step);
    return part->dims == 1 && step[0] == part->word && step[1] == part->word;
}

/* The only part of a launch that copies one run of bytes, which the most blocks of a kernel can copy at once; NULL: it
 * is another launch. */
static const struct tutti_pack_part *only_run(const struct tutti_pack_mailed *call, struct tutti_pack_part *part)
{
    struct tutti_pack_head head;
    memcpy(&head, call, sizeof head);
    memcpy(part, (const char *)call + sizeof head, sizeof *part);
    return head.parts == 1 && part->way == TUTTI_PACK_WORDS && part->flags == 0 && part->units <= LONGEST &&
                   is_run(call, part)
               ? part
               : NULL;
}

/* Blocks of a kernel that copies the run in the least time, and of the least one that can, where it has `most` at most:
 * more than that if none can. */
static unsigned stay_wants(const struct tutti_pack_part *part)
{
    if (part->units <= TUTTI_PACK_SHORT_UNITS)
        return part->units * part->word <= ALONE_BYTES ? 1 : FEW;
    return part->units <= SOME_UNITS ? SOME : TUTTI_PACK_STAY_BLOCKS;
}

static unsigned stay_needs(const struct tutti_pack_part *part, unsigned most)
{
    const unsigned shares = (part->units - 1) / TUTTI_PACK_SHORT_UNITS + 1;
    return most > 1 && shares > most && shares <= most * TUTTI_PACK_STAY_TIMES ? most : shares;
}

/* The least shares of which each of `blocks` blocks has one, as powers of two beside the least of all. Of long copies a
 * block has several of the largest size, which are all under way at once. */
static uint32_t stay_share(const struct tutti_pack_part *part, uint32_t blocks)
{
    const uint32_t most = stay_wants(part) == 1 ? 1 : blocks;
    uint32_t share = 0;
    while (share < TUTTI_PACK_SHARE_MOST && (part->units - 1) >> (TUTTI_PACK_SHARE_LEAST + share) >= most)
        share++;
    return share;
}

/* The launch, whose only part this is, as a short mail to a kernel of so many blocks. */
static void stay_shorten(const struct tutti_pack_mailed *call, const struct tutti_pack_part *run, uint32_t blocks,
                         uint32_t word[TUTTI_PACK_SHORT_WORDS])
{
    struct tutti_pack_head head;
    memcpy(&head, call, sizeof head);
    word[TUTTI_PACK_SHORT_WHAT] = run->units | (uint32_t)__builtin_ctz(run->word) << TUTTI_PACK_SHORT_SHIFT |
                                  stay_share(run, blocks) << TUTTI_PACK_SHORT_SHARE |
                                  (head.near ? TUTTI_PACK_SHORT_NEAR : 0) | TUTTI_PACK_SHORT_MARK;
    word[TUTTI_PACK_SHORT_NUMBER] = head.launch_number;
    memcpy(&word[TUTTI_PACK_SHORT_FROM], &run->from, sizeof run->from);
    memcpy(&word[TUTTI_PACK_SHORT_TO], &run->to, sizeof run->to);
    memcpy(&word[TUTTI_PACK_SHORT_DONE], &head.done, sizeof head.done);
}

/* A run that several blocks would copy, by one block in as few rounds as it can. */
static void stay_gather_blocks(struct tutti_pack_mailed *call, struct tutti_pack_part *run)
{
    struct tutti_pack_head head;
    if (run->units > TUTTI_PACK_SHORT_UNITS)
        return;
    memcpy(&head, call, sizeof head);
    head.blocks = 1;
    run->tile = run->units;
    memcpy(call, &head, sizeof head);
    memcpy((char *)call + sizeof head, run, sizeof *run);
}

void tutti_stay_leave(struct tutti_stay *stay)
{
    static const struct tutti_pack_mailed nothing;
    if (is_there(stay))
        stay_post(stay, nothing.word, TUTTI_PACK_MAIL_WORDS);
    stay->may_be_there = 0;
}

/* Blocks of the kernel for a launch that wants so many: as many as one of the last launches wanted. */
static unsigned stay_size(struct tutti_stay *stay, unsigned wants)
{
    stay->lately -= stay->lately > 0;
    if (wants > 1 && (stay->lately == 0 || wants >= stay->wide)) {
        stay->wide = wants;
        stay->lately = LATELY;
    }
    return stay->lately > 0 ? stay->wide : wants;
}

static int stay_begin(struct tutti_stay *stay, const struct tutti_device *device, struct tutti_stream *stream,
                      const struct tutti_pack_mailed *call, const struct tutti_pack_part *run, uint64_t linger_ns,
                      unsigned blocks)
{
    struct tutti_pack_stay_args what = {.first = *call,
                                        .stay = {.mail = stay->mail_seen,
                                                 .answer = stay->answer_seen,
                                                 .linger_ns = linger_ns,
                                                 .sequence = stay->sequence,
                                                 .number = stay->number + 1 + (stay->number + 1 == 0),
                                                 .blocks = blocks,
                                                 .started = stay->started,
                                                 .relayed = stay->relayed,
                                                 .relay = stay->relay}};
    if (blocks > 1 && run)
        stay_shorten(call, run, blocks, what.first.word); /* otherwise it is the first block's alone */
    const int status = device->launch.stay_pack(stream, &what);
    if (status != TUTTI_OK)
        return status;
    stay->number = what.stay.number;
    stay->blocks = blocks;
    stay->started += blocks > 1 ? blocks : 0;
    stay->may_be_there = 1;
    return TUTTI_OK;
}

unsigned tutti_stay_blocks(const struct tutti_pack_launch *launch, unsigned most, uint64_t *bytes)
{
    const struct tutti_pack_head *const head = &launch->args->head;
    struct tutti_pack_part part;
    *bytes = 0;
    if (head->bytes > TUTTI_PACK_MAIL_BYTES || head->launch_number == 0)
        return 0;
    if (!only_run((const void *)launch->args, &part))
        return head->blocks <= BLOCKS_MOST;
    *bytes = (uint64_t)part.units * part.word;
    return stay_needs(&part, most);
}

/* Puts the launch into the mail; run: NULL, or its only part. */
static void stay_mail(struct tutti_stay *stay, const struct tutti_pack_mailed *call, const struct tutti_pack_part *run)
{
    uint32_t word[TUTTI_PACK_SHORT_WORDS];
    stay->mailed = 1;
    if (run) {
        stay_shorten(call, run, stay->blocks, word);
        stay->relayed += TUTTI_PACK_BLOCKS_OF(word[TUTTI_PACK_SHORT_WHAT], stay->blocks) > 1;
        stay_post(stay, word, TUTTI_PACK_SHORT_WORDS);
    } else {
        stay_post(stay, call->word, TUTTI_PACK_MAIL_WORDS);
    }
    memcpy(stay->args, call, sizeof *call);
}

int tutti_stay_launch(struct tutti_stay *stay, const struct tutti_device *device, struct tutti_stream *stream,
                      const struct tutti_pack_launch *launch, uint64_t linger_ns, unsigned most, int *launched)
{
    *launched = 0;
    if (stay->off || !device->launch.stay_pack || (linger_ns == 0 && !(stay->serves && is_there(stay))))
        return TUTTI_ERR_UNAVAILABLE;
    uint64_t bytes;
    const unsigned blocks = tutti_stay_blocks(launch, most, &bytes);
    if (blocks == 0 || blocks > most)
        return TUTTI_ERR_UNAVAILABLE;
    struct tutti_pack_mailed call;
    int status = TUTTI_OK;
    if (device->launch.mail_pack)
        status = device->launch.mail_pack(stream, launch, &call);
    else
        memcpy(&call, launch->args, sizeof call);
    if (status != TUTTI_OK)
        return status;
    struct tutti_pack_part part;
    const struct tutti_pack_part *const run = only_run(&call, &part);
    if (run)
        stay_gather_blocks(&call, &part);
    const unsigned size = stay_size(stay, run ? stay_wants(run) : 1);
    if (is_there(stay) && blocks <= stay->blocks && stay->blocks <= size) {
        stay_mail(stay, &call, run);
        return TUTTI_OK;
    }
    if (linger_ns == 0)
        return TUTTI_ERR_UNAVAILABLE;
    tutti_stay_leave(stay); /* also one that has more blocks than launches want by now */
    status = stay_begin(stay, device, stream, &call, run, linger_ns, size < most ? size : most);
    stay->off = status == TUTTI_ERR_UNAVAILABLE;
    *launched = status == TUTTI_OK;
    return status;
}

int tutti_stay_ahead(struct tutti_stay *stay, const struct tutti_device *device, struct tutti_stream *stream,
                     const struct tutti_pack_launch *launch, uint64_t linger_ns, unsigned most)
{
    /* A short mail of no words. */
    static const struct tutti_pack_mailed nothing = {.word = {[TUTTI_PACK_SHORT_WHAT] = TUTTI_PACK_SHORT_MARK}};
    struct tutti_pack_part part;
    uint64_t bytes;
    if (stay->off || !device->launch.stay_pack)
        return TUTTI_ERR_UNAVAILABLE;
    const unsigned blocks = tutti_stay_blocks(launch, most, &bytes);
    if (blocks == 0 || blocks > most)
        return TUTTI_ERR_UNAVAILABLE;
    const unsigned size = stay_size(stay, only_run((const void *)launch->args, &part) ? stay_wants(&part) : 1);
    tutti_stay_leave(stay);
    const int status = stay_begin(stay, device, stream, &nothing, NULL, linger_ns, size < most ? size : most);
    stay->off = status == TUTTI_ERR_UNAVAILABLE;
    return status;
}

int tutti_stay_check(struct tutti_stay *stay, const struct tutti_device *device, struct tutti_stream *stream)
{
    if (!stay->mailed || is_there(stay))
        return TUTTI_OK;
    stay->mailed = 0;
    stay->may_be_there = 0;
    if (__atomic_load_n(&stay->answer->served, __ATOMIC_RELAXED) == stay->sequence) /* its notice came before */
        return TUTTI_OK;
    const struct tutti_pack_launch launch = {.args = (const struct tutti_pack_args *)(const void *)stay->args};
    return device->launch.pack(stream, &launch);
}
