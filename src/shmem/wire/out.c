/* Sent messages: this PE's operations in pieces, and answers. */
#include <string.h>

#include "shmem/wire/own.h"

static size_t bytes_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- own operations ---- */

static int op_asks(const struct tutti_wire_op *op)
{
    return op->what == TUTTI_WIRE_GET || (op->what == TUTTI_WIRE_AMO && op->fetches);
}

static int has_blocks(const struct tutti_wire_op *op)
{
    return (op->what == TUTTI_WIRE_PUT || op->what == TUTTI_WIRE_GET) && op->n > 0 && op->block > 0;
}

/* The next piece of an operation: whole blocks, or some of the bytes of a large one. */
struct piece {
    size_t n, block, bytes;
    ptrdiff_t step, here_step;
    uint64_t at;
    char *here;
};

static struct piece next_piece(const struct tutti_wire_op *op)
{
    const size_t block = op->block * op->bytes;
    struct piece piece = {.n = 1,
                          .bytes = op->bytes,
                          .block = op->block,
                          .step = op->step,
                          .here_step = op->here_step,
                          .at = op->at + (uint64_t)((int64_t)op->block_at * op->step * (int64_t)op->bytes),
                          .here = (char *)op->here + (ptrdiff_t)op->block_at * op->here_step * (ptrdiff_t)op->bytes};
    if (block <= TUTTI_WIRE_PIECE) {
        piece.n = bytes_least(op->n - op->block_at, TUTTI_WIRE_PIECE / block);
    } else {
        piece.bytes = 1;
        piece.block = bytes_least(block - op->byte_at, TUTTI_WIRE_PIECE);
        piece.at += op->byte_at;
        piece.here += op->byte_at;
    }
    return piece;
}

/* 1 if it was the last one. */
static int pass_piece(struct tutti_wire_op *op, const struct piece *piece)
{
    const size_t block = op->block * op->bytes;
    if (block <= TUTTI_WIRE_PIECE) {
        op->block_at += piece->n;
    } else {
        op->byte_at += piece->block;
        if (op->byte_at == block) {
            op->byte_at = 0;
            op->block_at++;
        }
    }
    return op->block_at == op->n;
}

static void head_describe(struct head *head, const struct tutti_wire_op *op, const struct piece *piece, int last)
{
    static const uint32_t whats[] = {
        [TUTTI_WIRE_PUT] = PUT, [TUTTI_WIRE_GET] = GET, [TUTTI_WIRE_AMO] = AMO, [TUTTI_WIRE_NOTICE] = NOTICE};
    *head = (struct head){.what = whats[op->what], .fetches = (uint32_t)op->fetches};
    if (piece) {
        head->at = piece->at;
        head->n = piece->n;
        head->block = piece->block;
        head->bytes = (uint32_t)piece->bytes;
        head->step = piece->step;
    }
    if (last && op->changes) {
        head->changes = 1;
        head->amo = (uint32_t)op->amo;
        head->word = op->word;
        head->word_bytes = op->word_bytes;
        head->value = op->value;
        head->compare = op->compare;
    }
}

static void peer_ask(struct peer *peer, struct tutti_wire_op *op, const struct piece *piece, uint64_t number)
{
    struct ask *at = &peer->ask[peer->asked++ % TUTTI_WIRE_CREDITS];
    *at = (struct ask){.op = op, .number = number};
    if (piece) {
        at->to = piece->here;
        at->n = piece->n;
        at->block = piece->block;
        at->bytes = piece->bytes;
    }
    op->asked++;
}

/* The operation has been sent: from now on its last message identifies it. */
static void message_sent(struct peer *peer, struct tutti_wire_op *op, struct message *message)
{
    peer->first = op->next;
    if (!peer->first)
        peer->end = &peer->first;
    op->next = NULL;
    op->last = peer->sent;
    if (op_asks(op))
        return;
    if (op->confirmed) {
        *peer->unconfirmed_end = op;
        peer->unconfirmed_end = &op->next;
    } else {
        message->op = op;
    }
}

static void send_piece(struct tutti_shmem_wire *wire, struct peer *peer, struct message *message)
{
    struct tutti_wire_op *op = peer->first;
    const int with_data = has_blocks(op);
    struct piece piece = {.n = 0};
    int last = 1, status = TUTTI_OK;
    if (with_data) {
        piece = next_piece(op);
        last = pass_piece(op, &piece);
    }
    message->pe = peer->pe;
    head_describe(message->head, op, with_data ? &piece : NULL, last);
    message->head->number = ++peer->sent;
    if (op_asks(op))
        peer_ask(peer, op, with_data ? &piece : NULL, peer->sent);
    if (op->what == TUTTI_WIRE_NOTICE) {
        message->head->data = op->note_bytes;
        memcpy(message->data, op->here ? op->here : op->note, op->note_bytes);
    } else if (op->what == TUTTI_WIRE_PUT && with_data) {
        message->head->data = (uint32_t)(piece.n * piece.block * piece.bytes);
        status = wire->local->blocks(wire->users.with, message->data, piece.here, (ptrdiff_t)piece.block,
                                     piece.here_step, piece.block, piece.n, piece.bytes);
    }
    if (last)
        message_sent(peer, op, message);
    tutti_wire_batch(wire, message, status);
}

void tutti_wire_finish_send(struct tutti_shmem_wire *wire, struct message *message)
{
    struct tutti_wire_op *op = message->op;
    message->op = NULL;
    if (wire->status != TUTTI_OK) {
        if (op)
            tutti_wire_end_op(wire, op, wire->status);
        message->next = *message->home;
        *message->home = message;
        return;
    }
    const int status = tutti_wire_give_message(wire, message);
    if (op)
        tutti_wire_end_op(wire, op, status);
    if (status != TUTTI_OK)
        tutti_wire_fail(wire, -1, status);
}

void tutti_wire_confirm(struct tutti_shmem_wire *wire, struct peer *peer)
{
    while (peer->unconfirmed && peer->unconfirmed->last <= peer->acked) {
        struct tutti_wire_op *op = peer->unconfirmed;
        peer->unconfirmed = op->next;
        if (!peer->unconfirmed)
            peer->unconfirmed_end = &peer->unconfirmed;
        tutti_wire_end_op(wire, op, TUTTI_OK);
    }
}

static int may_send(const struct tutti_shmem_wire *wire, const struct peer *peer)
{
    return wire->status == TUTTI_OK && peer->first && wire->free_requests &&
           peer->sent - peer->acked < TUTTI_WIRE_CREDITS &&
           (!op_asks(peer->first) || peer->asked - peer->answered < TUTTI_WIRE_CREDITS);
}

/* ---- answers ---- */

static void peer_answer(struct tutti_shmem_wire *wire, struct peer *peer, struct message *message)
{
    const struct head *question = &peer->owed[peer->owed_out++ % TUTTI_WIRE_CREDITS];
    int status = TUTTI_OK;
    message->pe = peer->pe;
    *message->head = (struct head){.what = REPLY, .number = question->number, .value = question->value};
    if (question->what == GET) {
        message->head->data = (uint32_t)(question->n * question->block * question->bytes);
        status =
            wire->local->blocks(wire->users.with, message->data, wire->heap + question->at, (ptrdiff_t)question->block,
                                (ptrdiff_t)question->step, question->block, question->n, question->bytes);
    }
    tutti_wire_batch(wire, message, status);
}

/* Sends one message of each PE in turn, as long as any PE may send: no PE waits for the large operation of another. */
void tutti_wire_push(struct tutti_shmem_wire *wire)
{
    const int size = wire->peers;
    int moved;
    if (size == 0)
        return;
    do {
        moved = 0;
        for (int i = 0; i < size; i++) {
            struct peer *peer = wire->known[(wire->turn + i) % size];
            if (wire->status == TUTTI_OK && peer->owed_out < peer->owed_in && wire->free_replies) {
                peer_answer(wire, peer, tutti_wire_take_message(&wire->free_replies));
                moved = 1;
            }
            if (may_send(wire, peer)) {
                send_piece(wire, peer, tutti_wire_take_message(&wire->free_requests));
                moved = 1;
            }
        }
        wire->turn = (wire->turn + 1) % size;
    } while (moved);
}
