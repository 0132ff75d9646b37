/* The receiver: what messages of the channel bring or name arrives in the buffer, and is counted by partition. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "part/own.h"

int tutti_part_receive_done(const struct tutti_part *part)
{
    return part->args.peer < 0 || part->status != TUTTI_OK ||
           (part->record && part->unnamed == 0 && part->missing == 0);
}

/* Data of an INLINE message. Kernels read pinned memory alone. A status. */
static int receive_inline(struct tutti_part *part, uint64_t first, uint64_t bytes, const void *data)
{
    struct tutti_bounce *bounce = NULL;
    void *memory = (void *)(uintptr_t)data;
    const uint64_t capacity = tutti_part_capacity(part), room = first < capacity ? capacity - first : 0;
    const uint64_t stored = bytes < room ? bytes : room;
    int status = TUTTI_OK;
    if (part->elements.places.device && stored > 0) {
        if (!(memory = tutti_part_memory(part, stored, &bounce)))
            return TUTTI_ERR_MEMORY;
        memcpy(memory, data, stored);
    }
    if (stored > 0)
        status = tutti_elements_move(TUTTI_UNPACK, &part->elements, first, stored, memory);
    if (bounce)
        tutti_bounce_give(bounce);
    tutti_part_landed(part, first, bytes);
    return status;
}

/* A message of this round. */
static void receive_take(struct tutti_part *part, const struct tutti_part_head *head, const void *data)
{
    const uint64_t each = part->record->partitions > 0 ? part->record->bytes / (uint64_t)part->record->partitions : 0;
    const uint64_t first = head->first * each;
    int status = TUTTI_OK;
    if (head->way == TUTTI_PART_GIVEN_UP) {
        tutti_part_fail(part, head->tag);
        return;
    }
    part->unnamed -= head->n ? head->n : part->unnamed;
    if (head->way == TUTTI_PART_INLINE)
        status = receive_inline(part, first, head->bytes, data);
    else if (head->way == TUTTI_PART_RNDV)
        status = tutti_part_rndv_receive(part, first, head);
    else
        status = tutti_part_pieces_add(part, first, head->bytes, head->piece, 0);
    if (status == TUTTI_OK && head->way == TUTTI_PART_PIECES)
        status = tutti_part_pieces_poll(part);
    tutti_part_fail(part, status);
}

/* A status. */
static int receive_keep(struct tutti_part_record *record, const struct tutti_part_head *head, const void *data)
{
    const size_t bytes = head->way == TUTTI_PART_INLINE ? head->bytes : 0;
    struct tutti_part_early *early = malloc(sizeof *early + bytes);
    if (!early)
        return TUTTI_ERR_MEMORY;
    early->next = NULL;
    early->head = *head;
    if (bytes)
        memcpy(early->data, data, bytes);
    *record->last = early;
    record->last = &early->next;
    return TUTTI_OK;
}

void tutti_part_receive_data(int source, const struct tutti_part_head *head, const void *data)
{
    struct tutti_part_record *record = tutti_part_record_of(source, head->id);
    struct tutti_part *part = record ? record->receive : NULL;
    if (!record) {
        tutti_error("partitions from rank %d have no receive: it was freed before they arrived", source);
        return;
    }
    if (part && atomic_load_explicit(&part->active, memory_order_relaxed) && part->round == head->round)
        receive_take(part, head, data);
    else if (receive_keep(record, head, data) != TUTTI_OK)
        tutti_error("out of memory: partitions from rank %d are lost", source);
}

/* Messages of this round that came before it. */
static void receive_early(struct tutti_part *part)
{
    struct tutti_part_record *record = part->record;
    while (record->early && record->early->head.round == part->round) {
        struct tutti_part_early *early = record->early;
        record->early = early->next;
        if (!record->early)
            record->last = &record->early;
        receive_take(part, &early->head, early->data);
        free(early);
    }
}

void tutti_part_receive_bound(struct tutti_part *part)
{
    const uint64_t partitions = (uint64_t)part->record->partitions;
    part->unnamed = partitions ? partitions : 1;
    part->missing = part->record->bytes;
    part->truncated = part->record->bytes > tutti_part_capacity(part);
    receive_early(part);
}

int tutti_part_receive_start(struct tutti_part *part)
{
    for (int i = 0; i < part->args.partitions; i++)
        atomic_store_explicit(&part->left[i], part->each, memory_order_relaxed);
    part->unnamed = 1;
    part->missing = 0;
    if (part->record)
        tutti_part_receive_bound(part);
    return TUTTI_OK;
}
