/* Data in messages of their own, both directions: a run of packed bytes is cut into pieces, which the transport carries
 * under the tag of the send request. Both sides take the runs of a request in one order, and the pieces of a run too:
 * the receiver knows the runs by messages of the channel, which arrive in the order in which they were sent. */
#include <stdlib.h>

#include "part/own.h"

void tutti_part_pieces_init(struct tutti_part_pieces *pieces)
{
    pieces->last = &pieces->runs;
}

int tutti_part_pieces_add(struct tutti_part *part, uint64_t first, uint64_t bytes, uint64_t piece, int last)
{
    struct tutti_part_run *run = malloc(sizeof *run);
    if (!run)
        return TUTTI_ERR_MEMORY;
    *run = (struct tutti_part_run){.first = first, .bytes = bytes, .piece = piece, .last = last};
    *part->pieces.last = run;
    part->pieces.last = &run->next;
    return TUTTI_OK;
}

static void piece_release(struct tutti_part_pieces *pieces, struct tutti_part_piece *piece)
{
    if (piece->memory)
        tutti_part_memory_free(piece->memory, piece->bounce);
    piece->memory = NULL;
    piece->busy = 0;
    pieces->busy--;
}

/* A piece that does not fit into the receive's buffer is received all the same, and forgotten. */
static int piece_fits(const struct tutti_part *part, const struct tutti_part_piece *piece)
{
    return piece->first + piece->bytes <= tutti_part_capacity(part);
}

/* The transport has carried it. A status. */
static int piece_ended(struct tutti_part *part, struct tutti_part_piece *piece)
{
    int status = TUTTI_OK;
    if (!part->args.send) {
        if (piece->memory && piece_fits(part, piece))
            status = tutti_elements_move(TUTTI_UNPACK, &part->elements, piece->first, piece->bytes, piece->memory);
        tutti_part_landed(part, piece->first, piece->bytes);
    }
    piece_release(&part->pieces, piece);
    return status;
}

static int pieces_test(struct tutti_part *part)
{
    struct tutti_transport *transport = tutti_part_engine.transport;
    int result = TUTTI_OK;
    for (int i = 0; i < TUTTI_PART_DEPTH && part->pieces.busy > 0; i++) {
        struct tutti_part_piece *piece = &part->pieces.piece[i];
        int done = 0;
        if (!piece->busy)
            continue;
        int status = transport->ops->test(transport, &piece->transfer, NULL, &done);
        if (status == TUTTI_OK && !done)
            continue;
        const int ended = piece_ended(part, piece);
        status = status == TUTTI_OK ? ended : status;
        result = result == TUTTI_OK ? status : result;
    }
    return result;
}

static int piece_send(struct tutti_part *part, struct tutti_part_piece *piece, int last)
{
    struct tutti_transport *transport = tutti_part_engine.transport;
    const void *from = piece->memory;
    int status = TUTTI_OK;
    if (piece->memory)
        status = tutti_elements_move(TUTTI_PACK, &part->elements, piece->first, piece->bytes, piece->memory);
    else
        from = tutti_elements_run(&part->elements) + piece->first;
    /* The receiver matches the pieces in order: the last one acknowledges all, and the tag is free for another round or
     * request. */
    return status != TUTTI_OK ? status
                              : transport->ops->send(transport, from, piece->bytes, part->args.peer, part->data_tag,
                                                     last, &piece->transfer);
}

static int piece_receive(struct tutti_part *part, struct tutti_part_piece *piece)
{
    struct tutti_transport *transport = tutti_part_engine.transport;
    void *to = piece->memory ? piece->memory : tutti_elements_run(&part->elements) + piece->first;
    return transport->ops->receive(transport, to, piece->bytes, part->args.peer, part->record->data_tag,
                                   &piece->transfer);
}

/* 0: there is no memory now, and another piece of this request will give some back. A status, or 1. */
static int piece_begin(struct tutti_part *part, struct tutti_part_piece *piece, const struct tutti_part_run *run)
{
    piece->first = run->first + run->at;
    piece->bytes = run->bytes - run->at < run->piece ? run->bytes - run->at : run->piece;
    if (!tutti_part_is_direct(part) || !piece_fits(part, piece)) {
        piece->memory = tutti_part_memory(part, piece->bytes, &piece->bounce);
        if (!piece->memory)
            return part->pieces.busy > 0 ? 0 : TUTTI_ERR_MEMORY;
    }
    piece->busy = 1;
    part->pieces.busy++;
    const int last = run->last && run->at + piece->bytes == run->bytes;
    const int status = part->args.send ? piece_send(part, piece, last) : piece_receive(part, piece);
    if (status == TUTTI_OK)
        return 1;
    piece_release(&part->pieces, piece);
    return status;
}

int tutti_part_pieces_poll(struct tutti_part *part)
{
    struct tutti_part_pieces *pieces = &part->pieces;
    int status = pieces->busy > 0 ? pieces_test(part) : TUTTI_OK;
    for (int i = 0; i < TUTTI_PART_DEPTH && pieces->runs && status == TUTTI_OK; i++) {
        struct tutti_part_run *run = pieces->runs;
        struct tutti_part_piece *piece = &pieces->piece[i];
        if (piece->busy)
            continue;
        status = piece_begin(part, piece, run);
        if (status != 1)
            break;
        status = TUTTI_OK;
        run->at += piece->bytes;
        if (run->at < run->bytes)
            continue;
        pieces->runs = run->next;
        if (!pieces->runs)
            pieces->last = &pieces->runs;
        free(run);
    }
    if (status < 0) /* what is left cannot be carried: the round ends, with this status */
        tutti_part_pieces_close(pieces);
    return status;
}

void tutti_part_pieces_close(struct tutti_part_pieces *pieces)
{
    while (pieces->runs) {
        struct tutti_part_run *run = pieces->runs;
        pieces->runs = run->next;
        free(run);
    }
    pieces->last = &pieces->runs;
}
