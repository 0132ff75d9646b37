/* The sender: runs of partitions that are ready become messages. */
#include <string.h>

#include "core/settings.h"
#include "part/own.h"

enum { MERGED_BYTES = 1 << 20 }; /* partitions that become ready together travel together up to so many bytes */

int tutti_part_send_done(const struct tutti_part *part)
{
    return part->status != TUTTI_OK ? part->out == 0 : part->unready == 0 && part->out == 0;
}

/* A piece is unpacked by the receiver in memory of its own, perhaps, so it is short also where this side needs none. */
static uint64_t piece_bytes(const struct tutti_part *part)
{
    const uint64_t usual = (uint64_t)tutti_settings()->message_chunk;
    return tutti_part_is_direct(part) ? 4 * usual : usual;
}

/* Partitions [first, first + n) in one message. A status. */
static int send_run(struct tutti_part *part, uint32_t first, uint32_t n)
{
    const uint64_t from = first * part->each;
    struct tutti_part_head head = {
        .id = part->id, .round = part->round, .bytes = n * part->each, .first = first, .n = n};
    if (head.bytes > 0 && tutti_part_rndv_send(part, first, n, &head)) {
        const int status = tutti_part_channel_send(part->args.peer, &head, part);
        if (status == TUTTI_OK)
            tutti_part_rndv_sent();
        else
            tutti_part_rndv_withdraw(part);
        return status;
    }
    if (head.bytes <= TUTTI_PART_INLINE_MOST) {
        head.way = TUTTI_PART_INLINE;
        return tutti_part_channel_send_data(&head, from, part);
    }
    head.way = TUTTI_PART_PIECES;
    head.piece = piece_bytes(part);
    int status = tutti_part_channel_send(part->args.peer, &head, part);
    if (status == TUTTI_OK)
        status = tutti_part_pieces_add(part, from, head.bytes, head.piece, part->unready == 0);
    return status == TUTTI_OK ? tutti_part_pieces_poll(part) : status;
}

/* Partitions of a run of `n` that one message holds. */
static uint32_t run_length(const struct tutti_part *part, uint32_t n)
{
    const uint64_t most = part->each <= TUTTI_PART_INLINE_MOST / 2 && !part->elements.places.device
                              ? TUTTI_PART_INLINE_MOST
                              : MERGED_BYTES;
    uint64_t fit = part->each > 0 ? most / part->each : n;
    fit = fit > 0 ? fit : 1;
    return fit < n ? (uint32_t)fit : n;
}

int tutti_part_send_ready(struct tutti_part *part, uint32_t first, uint32_t n)
{
    int status = TUTTI_OK;
    if (part->args.peer < 0)
        return TUTTI_OK;
    while (n > 0 && status == TUTTI_OK) {
        const uint32_t length = run_length(part, n);
        status = send_run(part, first, length);
        first += length;
        n -= length;
    }
    return status;
}

/* A message of no partitions is sent all the same: its receive waits for it. */
int tutti_part_send_start(struct tutti_part *part)
{
    memset(part->ready, 0, (size_t)part->args.partitions);
    part->unready = part->args.partitions;
    return part->args.partitions == 0 && part->args.peer >= 0 ? send_run(part, 0, 0) : TUTTI_OK;
}
