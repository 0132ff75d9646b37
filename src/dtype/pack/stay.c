#include "dtype/pack/stay.h"

#include <string.h>

#include "core/status.h"

enum { BLOCKS_MOST = 2 /* whose work one block does before a launch would begin */ };

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

/* The only part of a launch that copies one run of bytes, and whether one block does it at once; NULL: it is another
 * launch. */
static const struct tutti_pack_part *only_run(const struct tutti_pack_mailed *call, struct tutti_pack_part *part)
{
    struct tutti_pack_head head;
    memcpy(&head, call, sizeof head);
    memcpy(part, (const char *)call + sizeof head, sizeof *part);
    return head.parts == 1 && part->way == TUTTI_PACK_WORDS && part->flags == 0 &&
                   part->units <= TUTTI_PACK_SHORT_UNITS && is_run(call, part)
               ? part
               : NULL;
}

/* The launch as a short mail; 0: it needs a longer one. */
static int stay_shorten(const struct tutti_pack_mailed *call, uint32_t word[TUTTI_PACK_SHORT_WORDS])
{
    struct tutti_pack_head head;
    struct tutti_pack_part part;
    if (!only_run(call, &part))
        return 0;
    memcpy(&head, call, sizeof head);
    word[TUTTI_PACK_SHORT_WHAT] = part.units | (uint32_t)__builtin_ctz(part.word) << TUTTI_PACK_SHORT_SHIFT |
                                  (head.near ? TUTTI_PACK_SHORT_NEAR : 0) | TUTTI_PACK_SHORT_MARK;
    word[TUTTI_PACK_SHORT_NUMBER] = head.launch_number;
    memcpy(&word[TUTTI_PACK_SHORT_FROM], &part.from, sizeof part.from);
    memcpy(&word[TUTTI_PACK_SHORT_TO], &part.to, sizeof part.to);
    memcpy(&word[TUTTI_PACK_SHORT_DONE], &head.done, sizeof head.done);
    return 1;
}

/* A run that several blocks would copy, by one block in as few rounds as it can. */
static void stay_gather_blocks(struct tutti_pack_mailed *call)
{
    struct tutti_pack_head head;
    struct tutti_pack_part part;
    if (!only_run(call, &part))
        return;
    memcpy(&head, call, sizeof head);
    head.blocks = 1;
    part.tile = part.units;
    memcpy(call, &head, sizeof head);
    memcpy((char *)call + sizeof head, &part, sizeof part);
}

void tutti_stay_leave(struct tutti_stay *stay)
{
    static const struct tutti_pack_mailed nothing;
    if (is_there(stay))
        stay_post(stay, nothing.word, TUTTI_PACK_MAIL_WORDS);
    stay->may_be_there = 0;
}

static int stay_begin(struct tutti_stay *stay, const struct tutti_device *device, struct tutti_stream *stream,
                      const struct tutti_pack_mailed *call, uint64_t linger_ns)
{
    struct tutti_pack_stay_args what = {.first = *call,
                                        .stay = {.mail = stay->mail_seen,
                                                 .answer = stay->answer_seen,
                                                 .linger_ns = linger_ns,
                                                 .sequence = stay->sequence,
                                                 .number = stay->number + 1 + (stay->number + 1 == 0)}};
    const int status = device->launch.stay_pack(stream, &what);
    if (status != TUTTI_OK)
        return status;
    stay->number = what.stay.number;
    stay->may_be_there = 1;
    return TUTTI_OK;
}

int tutti_stay_takes(const struct tutti_pack_launch *launch)
{
    const struct tutti_pack_head *const head = &launch->args->head;
    struct tutti_pack_part part;
    return head->bytes <= TUTTI_PACK_MAIL_BYTES && head->launch_number != 0 &&
           (head->blocks <= BLOCKS_MOST || only_run((const void *)launch->args, &part));
}

int tutti_stay_launch(struct tutti_stay *stay, const struct tutti_device *device, struct tutti_stream *stream,
                      const struct tutti_pack_launch *launch, uint64_t linger_ns, int *launched)
{
    *launched = 0;
    if (stay->off || linger_ns == 0 || !device->launch.stay_pack || !tutti_stay_takes(launch))
        return TUTTI_ERR_UNAVAILABLE;
    struct tutti_pack_mailed call;
    int status = TUTTI_OK;
    if (device->launch.mail_pack)
        status = device->launch.mail_pack(stream, launch, &call);
    else
        memcpy(&call, launch->args, sizeof call);
    if (status != TUTTI_OK)
        return status;
    stay_gather_blocks(&call);
    if (is_there(stay)) {
        uint32_t word[TUTTI_PACK_SHORT_WORDS];
        stay->mailed = 1;
        if (stay_shorten(&call, word))
            stay_post(stay, word, TUTTI_PACK_SHORT_WORDS);
        else
            stay_post(stay, call.word, TUTTI_PACK_MAIL_WORDS);
        memcpy(stay->args, &call, sizeof call);
        return TUTTI_OK;
    }
    status = stay_begin(stay, device, stream, &call, linger_ns);
    stay->off = status == TUTTI_ERR_UNAVAILABLE;
    *launched = status == TUTTI_OK;
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
