/* The wire: messages, the batch of local work, beginning operations, and failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shmem/wire/own.h"

/* ---- peers ---- */

struct peer *tutti_wire_peer(struct tutti_shmem_wire *wire, int pe)
{
    struct peer *peer = wire->peer[pe];
    if (peer)
        return peer;
    peer = calloc(1, sizeof *peer);
    if (!peer)
        return NULL;
    peer->pe = pe;
    peer->end = &peer->first;
    peer->unconfirmed_end = &peer->unconfirmed;
    wire->peer[pe] = peer;
    wire->known[wire->peers++] = peer;
    return peer;
}

/* ---- failure ---- */

void tutti_wire_end_op(struct tutti_shmem_wire *wire, struct tutti_wire_op *op, int status)
{
    void (*ended)(struct tutti_wire_op *, int) = op->ended;
    const int kept = op->kept;
    op->next = NULL;
    atomic_store_explicit(&op->state, status == TUTTI_OK ? TUTTI_WIRE_DONE : status, memory_order_release);
    /* the user may free it from here on, unless it is kept */
    if (ended)
        ended(op, status);
    if (kept) {
        op->next = wire->spare;
        wire->spare = op;
    }
}

static void end_list(struct tutti_shmem_wire *wire, struct tutti_wire_op *op, int status)
{
    while (op) {
        struct tutti_wire_op *next = op->next;
        tutti_wire_end_op(wire, op, status);
        op = next;
    }
}

/* Ends each operation once: an operation that must still be sent or confirmed is in a list; otherwise a question or
 * message refers to it last. */
static void end_peer(struct tutti_shmem_wire *wire, struct peer *peer, int status)
{
    struct tutti_wire_op *last = NULL;
    for (uint64_t i = peer->answered; i < peer->asked; i++) {
        struct tutti_wire_op *op = peer->ask[i % TUTTI_WIRE_CREDITS].op;
        if (op != last && op != peer->first)
            tutti_wire_end_op(wire, op, status);
        last = op;
    }
    end_list(wire, peer->first, status);
    end_list(wire, peer->unconfirmed, status);
    peer->first = peer->unconfirmed = NULL;
    peer->end = &peer->first;
    peer->unconfirmed_end = &peer->unconfirmed;
}

void tutti_wire_fail(struct tutti_shmem_wire *wire, int from, int status)
{
    if (wire->status != TUTTI_OK)
        return;
    const int acknowledged = status, exits = status > 0;
    status = exits ? TUTTI_ERR_BROKEN : status;
    wire->status = status;
    if (exits) /* threads that wait for an operation read the status after its end */
        wire->users.ended(wire->users.with, from, acknowledged);
    for (struct message *message = wire->batch; message; message = message->next) {
        if (message->home && message->op)
            tutti_wire_end_op(wire, message->op, status);
        message->op = message->home ? NULL : message->op;
    }
    for (int i = 0; i < wire->peers; i++)
        end_peer(wire, wire->known[i], status);
    if (!exits)
        wire->users.ended(wire->users.with, from, acknowledged);
}

void tutti_wire_abort(struct tutti_shmem_wire *wire, int status)
{
    pthread_mutex_lock(&wire->lock);
    for (int pe = 0; pe < wire->transport->size; pe++) {
        struct peer *const peer = wire->far[pe] ? tutti_wire_peer(wire, pe) : NULL;
        if (peer && !peer->said_bye && !peer->abort.under_way)
            tutti_wire_give_control(wire, peer, &peer->abort, ABORT, status > 0 ? (uint64_t)status : 0);
    }
    tutti_wire_fail(wire, -1, status);
    pthread_mutex_unlock(&wire->lock);
}

/* ---- messages ---- */

struct message *tutti_wire_take_message(struct message **pool)
{
    struct message *message = *pool;
    if (message) {
        *pool = message->next;
        message->next = NULL;
        message->op = NULL;
    }
    return message;
}

/* Acknowledgements, which every message carries. */
static void head_sign(struct peer *peer, struct head *head)
{
    head->applied = peer->acknowledged = peer->applied;
}

int tutti_wire_give_message(struct tutti_shmem_wire *wire, struct message *message)
{
    head_sign(wire->peer[message->pe], message->head);
    const int status = wire->transport->ops->send(wire->transport, message->head, HEAD + message->head->data,
                                                  message->pe, TUTTI_WIRE_TAG, 0, &message->transfer);
    message->under_way = status == TUTTI_OK;
    message->next = NULL;
    *wire->sending_end = message;
    wire->sending_end = &message->next;
    return status;
}

int tutti_wire_give_control(struct tutti_shmem_wire *wire, struct peer *peer, struct control *control, enum what what,
                            uint64_t value)
{
    control->head = (struct head){.what = (uint32_t)what, .value = value};
    head_sign(peer, &control->head);
    const int status = wire->transport->ops->send(wire->transport, &control->head, sizeof control->head, peer->pe,
                                                  TUTTI_WIRE_TAG, 0, &control->transfer);
    control->under_way = status == TUTTI_OK;
    return status;
}

/* 1 once the transport has released it. */
static int has_gone(struct tutti_shmem_wire *wire, struct tutti_transfer *transfer, int *under_way)
{
    int done = 1;
    if (!*under_way)
        return 1;
    const int status = wire->transport->ops->test(wire->transport, transfer, NULL, &done);
    if (status != TUTTI_OK) {
        tutti_wire_fail(wire, -1, status);
        done = 1;
    }
    *under_way = !done;
    return done;
}

static void look_after_sends(struct tutti_shmem_wire *wire)
{
    struct message **at = &wire->sending;
    while (*at) {
        struct message *message = *at;
        if (!has_gone(wire, &message->transfer, &message->under_way)) {
            at = &message->next;
            continue;
        }
        *at = message->next;
        message->next = *message->home;
        *message->home = message;
    }
    wire->sending_end = at;
    for (int i = 0; i < wire->peers; i++) {
        struct peer *peer = wire->known[i];
        has_gone(wire, &peer->ack.transfer, &peer->ack.under_way);
        has_gone(wire, &peer->abort.transfer, &peer->abort.under_way);
        has_gone(wire, &peer->bye.transfer, &peer->bye.under_way);
    }
}

/* Acknowledges messages to peers that do not know yet. */
static void wire_acknowledge(struct tutti_shmem_wire *wire)
{
    for (int i = 0; i < wire->peers && wire->status == TUTTI_OK; i++) {
        struct peer *peer = wire->known[i];
        if (peer->acknowledged == peer->applied || peer->ack.under_way || peer->said_bye)
            continue;
        const int status = tutti_wire_give_control(wire, peer, &peer->ack, ACK, 0);
        if (status != TUTTI_OK)
            tutti_wire_fail(wire, -1, status);
    }
}

/* ---- the batch ---- */

static void message_finish(struct tutti_shmem_wire *wire, struct message *message)
{
    if (message->home)
        tutti_wire_finish_send(wire, message);
    else
        tutti_wire_finish_receive(wire, message);
}

void tutti_wire_batch(struct tutti_shmem_wire *wire, struct message *message, int status)
{
    if (status != TUTTI_OK)
        tutti_wire_fail(wire, -1, status);
    if (!wire->local->ended || wire->status != TUTTI_OK) {
        message_finish(wire, message);
        return;
    }
    message->next = NULL;
    *wire->batch_end = message;
    wire->batch_end = &message->next;
    wire->begun = 1;
}

/* 1 if no local work is under way: all messages in the batch have been finished. */
static int wire_settle(struct tutti_shmem_wire *wire)
{
    if (!wire->begun)
        return 1;
    const int ended = wire->local->ended(wire->users.with);
    if (ended < 0)
        tutti_wire_fail(wire, -1, ended);
    if (ended <= 0)
        return 0;
    struct message *message = wire->batch;
    wire->batch = NULL;
    wire->batch_end = &wire->batch;
    wire->begun = 0;
    while (message) {
        struct message *next = message->next;
        message_finish(wire, message);
        message = next;
    }
    return 1;
}

/* ---- the user's side ---- */

static void wire_poll(struct tutti_shmem_wire *wire)
{
    if (wire->status == TUTTI_OK && wire_settle(wire)) {
        tutti_wire_take(wire);
        if (wire->status == TUTTI_OK)
            tutti_wire_push(wire);
        wire_settle(wire);
        wire_acknowledge(wire);
    }
    look_after_sends(wire);
}

void tutti_wire_poll(struct tutti_shmem_wire *wire)
{
    if (pthread_mutex_trylock(&wire->lock) != 0)
        return;
    wire_poll(wire);
    pthread_mutex_unlock(&wire->lock);
}

/* The lock is held. */
static int wire_begin(struct tutti_shmem_wire *wire, struct tutti_wire_op *op)
{
    if (wire->status != TUTTI_OK)
        return wire->status;
    struct peer *peer = tutti_wire_peer(wire, op->pe);
    if (!peer)
        return TUTTI_ERR_MEMORY;
    op->next = NULL;
    op->block_at = op->byte_at = op->asked = 0;
    op->last = 0;
    atomic_store_explicit(&op->state, TUTTI_WIRE_UNDER_WAY, memory_order_relaxed);
    *peer->end = op;
    peer->end = &op->next;
    return TUTTI_OK;
}

/* Sends what may be sent now. The lock is held. */
static void wire_send_ready(struct tutti_shmem_wire *wire)
{
    if (wire->status == TUTTI_OK && wire_settle(wire))
        tutti_wire_push(wire);
}

static int wire_is_wrong(const struct tutti_shmem_wire *wire, const struct tutti_wire_op *op)
{
    return op->pe < 0 || op->pe >= wire->transport->size || !wire->far[op->pe] ||
           op->note_bytes > (op->here ? (size_t)TUTTI_WIRE_PIECE : sizeof op->note);
}

static int begin_own(struct tutti_shmem_wire *wire, struct tutti_wire_op *op, int sends)
{
    if (wire_is_wrong(wire, op))
        return TUTTI_ERR_ARGUMENT;
    op->kept = 0;
    pthread_mutex_lock(&wire->lock);
    const int status = wire_begin(wire, op);
    if (sends)
        wire_send_ready(wire);
    pthread_mutex_unlock(&wire->lock);
    return status;
}

int tutti_wire_begin(struct tutti_shmem_wire *wire, struct tutti_wire_op *op)
{
    return begin_own(wire, op, 1);
}

int tutti_wire_queue(struct tutti_shmem_wire *wire, struct tutti_wire_op *op)
{
    return begin_own(wire, op, 0);
}

int tutti_wire_post(struct tutti_shmem_wire *wire, const struct tutti_wire_op *op)
{
    if (wire_is_wrong(wire, op))
        return TUTTI_ERR_ARGUMENT;
    pthread_mutex_lock(&wire->lock);
    struct tutti_wire_op *copy = wire->spare;
    int status = TUTTI_ERR_MEMORY;
    if (copy)
        wire->spare = copy->next;
    else
        copy = malloc(sizeof *copy);
    if (copy) {
        memcpy(copy, op, sizeof *copy);
        copy->kept = 1;
        status = wire_begin(wire, copy);
        if (status != TUTTI_OK) {
            copy->next = wire->spare;
            wire->spare = copy;
        }
        wire_send_ready(wire);
    }
    pthread_mutex_unlock(&wire->lock);
    return status;
}

static int wire_is_quiet(const struct peer *peer)
{
    return !peer || (!peer->first && peer->sent == peer->acked && peer->asked == peer->answered);
}

int tutti_wire_quiet(struct tutti_shmem_wire *wire, int pe)
{
    int quiet = 1;
    pthread_mutex_lock(&wire->lock);
    for (int i = 0; pe < 0 && i < wire->peers; i++)
        quiet &= wire_is_quiet(wire->known[i]);
    if (pe >= 0)
        quiet = wire_is_quiet(wire->peer[pe]);
    const int status = wire->status;
    pthread_mutex_unlock(&wire->lock);
    return status != TUTTI_OK ? status : quiet;
}

int tutti_wire_is_fenced(struct tutti_shmem_wire *wire)
{
    pthread_mutex_lock(&wire->lock);
    int fenced = !wire->begun;
    for (int i = 0; i < wire->peers; i++)
        fenced &= !wire->known[i]->first && wire->known[i]->asked == wire->known[i]->answered;
    const int status = wire->status;
    pthread_mutex_unlock(&wire->lock);
    return status != TUTTI_OK ? status : fenced;
}

void tutti_wire_where(struct tutti_shmem_wire *wire, char *text, size_t size)
{
    int n = 0;
    if (size > 0)
        text[0] = 0;
    if (pthread_mutex_trylock(&wire->lock) != 0)
        return;
    for (int i = 0; i < wire->peers && n >= 0 && (size_t)n + 48 < size; i++) {
        const struct peer *peer = wire->known[i];
        if (!wire_is_quiet(peer))
            n += snprintf(text + n, size - (size_t)n, " PE %d (%llu messages, %llu answers)", peer->pe,
                          (unsigned long long)(peer->sent - peer->acked),
                          (unsigned long long)(peer->asked - peer->answered));
    }
    pthread_mutex_unlock(&wire->lock);
}
