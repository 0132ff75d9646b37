/* The sender: runs of partitions that are ready become messages. */
#include "core/settings.h"
#include "part/own.h"

enum {
    MERGED_BYTES = 1 << 20, /* partitions that become ready together travel together up to so many bytes */
    RNDVS_MOST = 32 /* open rendezvous of a request from which its ready partitions wait for their neighbours: the
                     * receiver is behind, and all messages of the process share TUTTI_RNDVS */
};

int tutti_part_send_done(const struct tutti_part *part)
{
    return part->out == 0 && (part->status != TUTTI_OK || (part->marks.unready == 0 && part->held_n == 0));
}

/* A piece is unpacked by the receiver in memory of its own, perhaps, so it is short also where this side needs none. */
static uint64_t send_piece_bytes(const struct tutti_part *part)
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
    head.piece = send_piece_bytes(part);
    int status = tutti_part_channel_send(part->args.peer, &head, part);
    if (status == TUTTI_OK)
        status = tutti_part_pieces_add(part, from, head.bytes, head.piece,
                                       part->marks.unready == 0 || tutti_part_put_is_on(part));
    return status == TUTTI_OK ? tutti_part_pieces_poll(part) : status;
}

/* Partitions of a run of `n` that one message holds. */
static uint32_t send_run_length(const struct tutti_part *part, uint32_t n)
{
    const uint64_t most = part->each <= TUTTI_PART_INLINE_MOST / 2 && !part->elements.places.device
                              ? TUTTI_PART_INLINE_MOST
                              : MERGED_BYTES;
    uint64_t fit = part->each > 0 ? most / part->each : n;
    fit = fit > 0 ? fit : 1;
    return fit < n ? (uint32_t)fit : n;
}

/* They are marked as ready. A status. */
static int send_ready(struct tutti_part *part, uint32_t first, uint32_t n)
{
    int status = TUTTI_OK;
    if (part->args.peer < 0)
        return TUTTI_OK;
    while (n > 0 && status == TUTTI_OK) {
        const uint32_t length = send_run_length(part, n);
        status = send_run(part, first, length);
        first += length;
        n -= length;
    }
    return status;
}

/* A message of no partitions is sent all the same: its receive waits for it. */
int tutti_part_send_start(struct tutti_part *part)
{
    tutti_part_marks_start(&part->marks, part->args.partitions);
    part->held_n = 0;
    return part->args.partitions == 0 && part->args.peer >= 0 ? send_run(part, 0, 0) : TUTTI_OK;
}

static enum tutti_part_wrong send_check(const struct tutti_part *part)
{
    if (!part->args.send)
        return TUTTI_PART_NO_SEND;
    return atomic_load_explicit(&part->active, memory_order_relaxed) ? TUTTI_PART_FINE : TUTTI_PART_INACTIVE;
}

static int send_now(struct tutti_part *part)
{
    const uint32_t n = part->held_n;
    part->held_n = 0;
    return n > 0 ? send_ready(part, part->held_first, n) : TUTTI_OK;
}

/* 1: the transport has as many pieces of this request as it may have, and runs wait behind them; or the receiver has
 * not fetched many of its messages. */
static int send_waits(const struct tutti_part *part)
{
    return part->pieces.runs != NULL || part->rndvs >= RNDVS_MOST;
}

int tutti_part_send_held(struct tutti_part *part)
{
    return send_waits(part) ? TUTTI_OK : send_now(part);
}

/* Bytes up to which partitions wait for their neighbours. A small partition of host memory costs the MPIs more by its
 * message than by its bytes. A partition whose data could not begin to travel now loses nothing by waiting. */
static uint64_t send_hold_most(const struct tutti_part *part)
{
    if (part->each <= TUTTI_PART_INLINE_MOST / 2 && !part->elements.places.device)
        return TUTTI_PART_INLINE_MOST;
    return send_waits(part) ? MERGED_BYTES : 0;
}

/* Partitions wait for their neighbours until they have `most` bytes, all partitions are ready, or this process calls
 * the MPI for something else and no run waits. A status. */
static int send_hold(struct tutti_part *part, uint32_t first, uint32_t n, uint64_t most)
{
    int status = TUTTI_OK;
    if (part->held_n > 0 && first == part->held_first + part->held_n) {
        part->held_n += n;
    } else if (part->held_n > 0 && first + n == part->held_first) {
        part->held_first = first;
        part->held_n += n;
    } else {
        status = send_now(part);
        part->held_first = first;
        part->held_n = n;
    }
    if (status == TUTTI_OK && (part->marks.unready == 0 || most == 0 || (part->held_n + 1) * part->each > most))
        status = send_now(part);
    return status;
}

/* Sends what was marked, now or with others. */
static enum tutti_part_wrong send_marked(struct tutti_part *part, int first, int n)
{
    int status = part->status;
    if (status == TUTTI_OK)
        status = send_hold(part, (uint32_t)first, (uint32_t)n, send_hold_most(part));
    tutti_part_fail(part, status);
    return status == TUTTI_OK ? TUTTI_PART_FINE : TUTTI_PART_FAILED;
}

enum tutti_part_wrong tutti_part_send_stored(struct tutti_part *part, int first, int last)
{
    const enum tutti_part_wrong wrong = send_check(part);
    return wrong == TUTTI_PART_FINE ? tutti_part_mark(&part->marks, first, last) : wrong;
}

enum tutti_part_wrong tutti_part_send_range(struct tutti_part *part, int first, int last)
{
    const enum tutti_part_wrong wrong = tutti_part_send_stored(part, first, last);
    return wrong == TUTTI_PART_FINE ? send_marked(part, first, last - first + 1) : wrong;
}

/* Entries that follow each other travel together. */
enum tutti_part_wrong tutti_part_send_list(struct tutti_part *part, int n, const int partitions[])
{
    enum tutti_part_wrong wrong = n > 0 ? send_check(part) : TUTTI_PART_FINE;
    if (wrong == TUTTI_PART_FINE)
        wrong = tutti_part_mark_list(&part->marks, n, partitions);
    for (int i = 0, length; i < n && wrong == TUTTI_PART_FINE; i += length) {
        length = tutti_part_marks_run(n, partitions, i);
        wrong = send_marked(part, partitions[i], length);
    }
    return wrong;
}
