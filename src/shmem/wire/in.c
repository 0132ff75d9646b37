/* Received messages: the agent, which executes operations of other PEs on this heap, and answers to this PE's
 * questions. The content of a message is checked before use. */
#include <string.h>

#include "core/log.h"
#include "shmem/wire/own.h"
#include "tutti/shmem.h"

int tutti_wire_post_receive(struct tutti_shmem_wire *wire, struct message *message)
{
    const int status = wire->transport->ops->receive(wire->transport, message->head, HEAD + TUTTI_WIRE_PIECE,
                                                     TUTTI_ANY_RANK, TUTTI_WIRE_TAG, &message->transfer);
    message->under_way = status == TUTTI_OK;
    return status;
}

static int is_inside(const struct tutti_shmem_wire *wire, uint64_t at, uint64_t bytes)
{
    const uint64_t all = atomic_load_explicit(&wire->heap_bytes, memory_order_relaxed);
    return at <= all && bytes <= all - at;
}

/* 1 if the blocks lie in the heap, and have at most a piece's bytes together. */
static int are_there(const struct tutti_shmem_wire *wire, const struct head *head)
{
    const uint64_t step = head->step < 0 ? UINT64_MAX : (uint64_t)head->step;
    uint64_t bytes, last, all;
    if (head->n == 0 || head->block == 0 || head->bytes == 0 || __builtin_mul_overflow(head->n, head->block, &bytes) ||
        __builtin_mul_overflow(bytes, head->bytes, &bytes) || bytes > TUTTI_WIRE_PIECE ||
        __builtin_mul_overflow(head->n - 1, step, &last) || __builtin_add_overflow(last, head->block, &all) ||
        __builtin_mul_overflow(all, head->bytes, &all))
        return 0;
    return is_inside(wire, head->at, all);
}

static int is_word(const struct tutti_shmem_wire *wire, const struct head *head)
{
    return (head->word_bytes == 4 || head->word_bytes == 8) && head->word % head->word_bytes == 0 &&
           is_inside(wire, head->word, head->word_bytes) && head->amo <= TSHMEM_AMO_ADD_FLOAT;
}

static int word_change(struct tutti_shmem_wire *wire, const struct head *head, uint64_t *was)
{
    if (!is_word(wire, head))
        return TUTTI_ERR_BROKEN;
    return wire->local->amo(wire->users.with, (int)head->amo, wire->heap + head->word, head->word_bytes, head->value,
                            head->compare, was);
}

/* ---- one function per kind of message: begins the local work; a status ---- */

static int take_put(struct tutti_shmem_wire *wire, struct message *message)
{
    const struct head *head = message->head;
    int status = TUTTI_OK;
    if (head->n > 0 && (!are_there(wire, head) || head->data != head->n * head->block * head->bytes))
        return TUTTI_ERR_BROKEN;
    if (head->n > 0)
        status = wire->local->blocks(wire->users.with, wire->heap + head->at, message->data, (ptrdiff_t)head->step,
                                     (ptrdiff_t)head->block, head->block, head->n, head->bytes);
    if (status == TUTTI_OK && head->changes)
        status = word_change(wire, head, NULL);
    return status;
}

static int may_ask(const struct peer *peer)
{
    return peer->owed_in - peer->owed_out < TUTTI_WIRE_CREDITS;
}

static int take_get(struct tutti_shmem_wire *wire, struct message *message)
{
    return are_there(wire, message->head) && may_ask(wire->peer[message->pe]) ? TUTTI_OK : TUTTI_ERR_BROKEN;
}

static int take_amo(struct tutti_shmem_wire *wire, struct message *message)
{
    if (message->head->fetches && !may_ask(wire->peer[message->pe]))
        return TUTTI_ERR_BROKEN;
    return word_change(wire, message->head, message->head->fetches ? (uint64_t *)(void *)message->data : NULL);
}

static int take_notice(struct tutti_shmem_wire *wire, struct message *message)
{
    (void)wire;
    return message->head->data <= TUTTI_WIRE_PIECE ? TUTTI_OK : TUTTI_ERR_BROKEN;
}

static int take_reply(struct tutti_shmem_wire *wire, struct message *message)
{
    struct peer *peer = wire->peer[message->pe];
    const struct ask *ask = &peer->ask[peer->taken_answers % TUTTI_WIRE_CREDITS];
    if (peer->taken_answers == peer->asked || ask->number != message->head->number ||
        message->head->data != ask->n * ask->block * ask->bytes)
        return TUTTI_ERR_BROKEN;
    peer->taken_answers++;
    message->op = ask->op;
    if (!ask->to)
        return TUTTI_OK;
    return wire->local->blocks(wire->users.with, ask->to, message->data, ask->op->here_step, (ptrdiff_t)ask->block,
                               ask->block, ask->n, ask->bytes);
}

static int take_nothing(struct tutti_shmem_wire *wire, struct message *message)
{
    (void)wire;
    (void)message;
    return TUTTI_OK;
}

/* ---- once the local work has ended ---- */

static void message_applied(struct tutti_shmem_wire *wire, struct message *message)
{
    wire->peer[message->pe]->applied++;
}

static void message_owe(struct tutti_shmem_wire *wire, struct message *message)
{
    struct peer *peer = wire->peer[message->pe];
    peer->owed[peer->owed_in++ % TUTTI_WIRE_CREDITS] = *message->head;
    peer->applied++;
}

static void end_amo(struct tutti_shmem_wire *wire, struct message *message)
{
    if (!message->head->fetches) {
        message_applied(wire, message);
        return;
    }
    memcpy(&message->head->value, message->data, sizeof message->head->value);
    message_owe(wire, message);
}

static void end_notice(struct tutti_shmem_wire *wire, struct message *message)
{
    wire->peer[message->pe]->applied++;
    wire->users.notice(wire->users.with, message->pe, message->data, message->head->data);
}

static void end_reply(struct tutti_shmem_wire *wire, struct message *message)
{
    struct tutti_wire_op *op = message->op;
    wire->peer[message->pe]->answered++;
    op->was = message->head->value;
    if (--op->asked == 0 && op->last != 0)
        tutti_wire_end_op(wire, op, TUTTI_OK);
}

static void end_nothing(struct tutti_shmem_wire *wire, struct message *message)
{
    (void)wire;
    (void)message;
}

static void end_abort(struct tutti_shmem_wire *wire, struct message *message)
{
    const uint64_t value = message->head->value;
    tutti_wire_fail(wire, message->pe, value & TUTTI_WIRE_EXIT ? (int)(value & 0x1ff) : TUTTI_ERR_BROKEN);
}

static void end_bye(struct tutti_shmem_wire *wire, struct message *message)
{
    wire->peer[message->pe]->has_bye = 1;
}

static const struct {
    int (*take)(struct tutti_shmem_wire *wire, struct message *message);
    void (*end)(struct tutti_shmem_wire *wire, struct message *message);
} rows[WHATS] = {
    [PUT] = {take_put, message_applied},  [GET] = {take_get, message_owe},   [AMO] = {take_amo, end_amo},
    [NOTICE] = {take_notice, end_notice}, [REPLY] = {take_reply, end_reply}, [ACK] = {take_nothing, end_nothing},
    [ABORT] = {take_nothing, end_abort},  [BYE] = {take_nothing, end_bye},
};

/* Checks the head of a message: number, credit, size, and acknowledgements of this PE's own messages. */
static int message_check(struct tutti_shmem_wire *wire, struct message *message,
                         const struct tutti_transfer_status *came)
{
    const struct head *head = message->head;
    const int control = head->what >= ACK;
    if (came->from < 0 || came->from >= wire->transport->size || !wire->far[came->from])
        return TUTTI_ERR_BROKEN;
    struct peer *const peer = tutti_wire_peer(wire, came->from);
    if (!peer)
        return TUTTI_ERR_MEMORY;
    if (came->bytes < sizeof *head || head->what >= WHATS ||
        (control ? head->data != 0 : came->bytes != HEAD + (size_t)head->data) || head->applied > peer->sent)
        return TUTTI_ERR_BROKEN;
    if (head->what < REPLY && (head->number != ++peer->came || head->number > peer->acknowledged + TUTTI_WIRE_CREDITS))
        return TUTTI_ERR_BROKEN;
    if (head->applied > peer->acked) {
        peer->acked = head->applied;
        tutti_wire_confirm(wire, peer);
    }
    return TUTTI_OK;
}

void tutti_wire_finish_receive(struct tutti_shmem_wire *wire, struct message *message)
{
    wire->head = (wire->head + 1) % RECEIVES;
    wire->taken--;
    if (wire->status == TUTTI_OK)
        rows[message->head->what].end(wire, message);
    if (wire->status != TUTTI_OK)
        return;
    const int status = tutti_wire_post_receive(wire, message);
    if (status != TUTTI_OK)
        tutti_wire_fail(wire, -1, status);
}

/* Takes the oldest receive first: messages of one PE are handled in order. 1: there was one. */
static int wire_take_message(struct tutti_shmem_wire *wire)
{
    struct message *message = &wire->receive[(wire->head + wire->taken) % RECEIVES];
    struct tutti_transfer_status came;
    int done = 0;
    if (wire->taken == RECEIVES || wire->status != TUTTI_OK)
        return 0;
    int status = wire->transport->ops->test(wire->transport, &message->transfer, &came, &done);
    if (status == TUTTI_OK && !done)
        return 0;
    message->under_way = 0;
    wire->taken++;
    if (status == TUTTI_OK) {
        message->pe = came.from;
        status = message_check(wire, message, &came);
    }
    if (status == TUTTI_OK)
        status = rows[message->head->what].take(wire, message);
    if (status == TUTTI_ERR_BROKEN)
        tutti_error("the address space: a message of PE %d is not right", came.from);
    tutti_wire_batch(wire, message, status);
    return 1;
}

void tutti_wire_take(struct tutti_shmem_wire *wire)
{
    enum { MOST = 4 * RECEIVES }; /* then own messages are sent, too */
    for (int i = 0; i < MOST && wire_take_message(wire); i++)
        ;
}
