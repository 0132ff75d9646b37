/* Matching: a send request announces itself by a record, and the receives of one communicator, source and tag take the
 * records in order. Records of one sender arrive in the order in which its requests were created. */
#include <stdlib.h>

#include "part/own.h"

static struct tutti_part_record *records; /* by source and id */
/* Those without a partner, in order. */
static struct tutti_part_record *announced, **announced_last = &announced;
static struct tutti_part *waiting, **waiting_last = &waiting;
static uint64_t *tags_used;

/* ---- tags of senders ---- */

enum { WORD = 64 };

/* Another tag each time, so that one is used again late. -1: all are in use, or there is no memory. */
static int part_tag_take(void)
{
    struct tutti_part_engine *engine = &tutti_part_engine;
    if (!tags_used && !(tags_used = calloc((size_t)engine->data_tags / WORD + 1, sizeof *tags_used)))
        return -1;
    for (int i = 0; i < engine->data_tags; i++) {
        const int tag = engine->next_tag;
        engine->next_tag = (tag + 1) % engine->data_tags;
        if (tags_used[tag / WORD] >> tag % WORD & 1)
            continue;
        tags_used[tag / WORD] |= UINT64_C(1) << tag % WORD;
        return engine->data_tag + tag;
    }
    return -1;
}

static void tag_give(int tag)
{
    const int at = tag - tutti_part_engine.data_tag;
    if (tags_used)
        tags_used[at / WORD] &= ~(UINT64_C(1) << at % WORD);
}

int tutti_part_match_send(struct tutti_part *part)
{
    part->id = ++tutti_part_engine.next_id;
    part->data_tag = part_tag_take();
    if (part->data_tag < 0)
        return TUTTI_ERR_MEMORY;
    const struct tutti_part_head head = {.id = part->id,
                                         .bytes = tutti_part_capacity(part),
                                         .comm = part->args.comm,
                                         .way = TUTTI_PART_RECORD,
                                         .n = (uint32_t)part->args.partitions,
                                         .first = (uint32_t)tutti_part_prequest_each(part),
                                         .tag = part->args.tag,
                                         .data_tag = part->data_tag};
    const int status = tutti_part_channel_send(part->args.peer, &head, NULL);
    if (status != TUTTI_OK)
        tag_give(part->data_tag);
    return status;
}

/* ---- pairs ---- */

static int match_is_pair(const struct tutti_part *receive, const struct tutti_part_record *record)
{
    return (uint64_t)receive->args.peer == record->of.source && receive->args.tag == record->tag &&
           receive->args.comm == record->comm;
}

static void record_free(struct tutti_part_record *record)
{
    HASH_DEL(records, record);
    while (record->early) {
        struct tutti_part_early *early = record->early;
        record->early = early->next;
        free(early);
    }
    free(record);
}

int tutti_part_match_receive(struct tutti_part *part)
{
    int status = tutti_part_channel_listen();
    if (status != TUTTI_OK)
        return status;
    tutti_part_channel_poll();
    for (struct tutti_part_record **at = &announced; *at; at = &(*at)->next) {
        struct tutti_part_record *record = *at;
        if (!match_is_pair(part, record))
            continue;
        *at = record->next;
        if (!record->next)
            announced_last = at;
        record->receive = part;
        part->record = record;
        return TUTTI_OK;
    }
    part->behind = NULL;
    *waiting_last = part;
    waiting_last = &part->behind;
    return TUTTI_OK;
}

/* The receive that takes the record; NULL: none yet. */
static struct tutti_part *waiting_take(const struct tutti_part_record *record)
{
    for (struct tutti_part **at = &waiting; *at; at = &(*at)->behind) {
        struct tutti_part *part = *at;
        if (!match_is_pair(part, record))
            continue;
        *at = part->behind;
        if (!part->behind)
            waiting_last = at;
        return part;
    }
    return NULL;
}

void tutti_part_match_record(int source, const struct tutti_part_head *head)
{
    struct tutti_part_record *record = calloc(1, sizeof *record);
    if (!record)
        return;
    record->of = (struct tutti_part_of){(uint64_t)source, head->id};
    record->comm = head->comm;
    record->bytes = head->bytes;
    record->tag = head->tag;
    record->data_tag = head->data_tag;
    record->partitions = (int)head->n;
    record->each = head->first;
    record->last = &record->early;
    HASH_ADD(hh, records, of, sizeof record->of, record);
    struct tutti_part *part = waiting_take(record);
    record->receive = part;
    if (!part) {
        *announced_last = record;
        announced_last = &record->next;
        return;
    }
    part->record = record;
    if (part->gone) {
        record_free(record);
        part->record = NULL;
        tutti_part_destroy(part);
    } else if (atomic_load_explicit(&part->active, memory_order_relaxed)) {
        tutti_part_engine.bound(part);
    }
}

struct tutti_part_record *tutti_part_record_of(int source, uint64_t id)
{
    const struct tutti_part_of of = {(uint64_t)source, id};
    struct tutti_part_record *record;
    HASH_FIND(hh, records, &of, sizeof of, record);
    return record;
}

int tutti_part_match_free(struct tutti_part *part)
{
    if (part->args.send) {
        tag_give(part->data_tag);
        return 1;
    }
    part->gone = !part->record;
    if (part->record)
        record_free(part->record);
    part->record = NULL;
    return !part->gone;
}

void tutti_part_match_close(void)
{
    while (records)
        record_free(records);
    announced = NULL;
    announced_last = &announced;
    while (waiting) {
        struct tutti_part *part = waiting;
        waiting = part->behind;
        if (part->gone)
            tutti_part_destroy(part);
    }
    waiting_last = &waiting;
    free(tags_used);
    tags_used = NULL;
}
