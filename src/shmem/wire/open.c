/* Beginning and end of a wire: its buffers, its receives, the last messages. */
#include <stdlib.h>

#include "shmem/wire/own.h"

enum { BUFFER = HEAD + TUTTI_WIRE_PIECE, BUFFERS = RECEIVES + REQUESTS + REPLIES };

static _Atomic(struct tutti_shmem_wire *) lost;

static void message_lay_out(struct message *message, char *buffer)
{
    message->head = (struct head *)(void *)buffer;
    message->data = buffer + HEAD;
}

static void lay_out_pool(struct message *messages, int n, struct message **pool, char *buffers)
{
    for (int i = 0; i < n; i++) {
        message_lay_out(&messages[i], buffers + (size_t)i * BUFFER);
        messages[i].home = pool;
        messages[i].next = *pool;
        *pool = &messages[i];
    }
}

static void wire_lay_out(struct tutti_shmem_wire *wire)
{
    char *buffers = wire->room;
    for (int i = 0; i < RECEIVES; i++)
        message_lay_out(&wire->receive[i], buffers + (size_t)i * BUFFER);
    buffers += (size_t)RECEIVES * BUFFER;
    lay_out_pool(wire->request, REQUESTS, &wire->free_requests, buffers);
    lay_out_pool(wire->reply, REPLIES, &wire->free_replies, buffers + (size_t)REQUESTS * BUFFER);
}

static void free_all(struct tutti_shmem_wire *wire)
{
    for (int i = 0; i < wire->peers; i++)
        free(wire->known[i]);
    free(wire->peer);
    free(wire->known);
    free(wire);
}

static struct tutti_shmem_wire *wire_allocate(int size)
{
    struct tutti_shmem_wire *wire = calloc(1, sizeof *wire);
    if (!wire)
        return NULL;
    wire->peer = calloc((size_t)size, sizeof *wire->peer);
    wire->known = calloc((size_t)size, sizeof *wire->known);
    if (wire->peer && wire->known)
        return wire;
    free_all(wire);
    return NULL;
}

int tutti_wire_open(struct tutti_transport *transport, const unsigned char *far, const struct tutti_wire_local *local,
                    char *heap, uint64_t heap_bytes, const struct tutti_wire_users *users,
                    struct tutti_shmem_wire **out)
{
    struct tutti_shmem_wire *wire = wire_allocate(transport->size);
    if (!wire)
        return TUTTI_ERR_MEMORY;
    int status = local->room(users->with, (size_t)BUFFERS * BUFFER, &wire->room);
    if (status != TUTTI_OK) {
        free_all(wire);
        return status;
    }
    wire->far = far;
    pthread_mutex_init(&wire->lock, NULL);
    wire->transport = transport;
    wire->local = local;
    wire->users = *users;
    wire->heap = heap;
    atomic_init(&wire->heap_bytes, heap_bytes);
    wire->sending_end = &wire->sending;
    wire->batch_end = &wire->batch;
    wire_lay_out(wire);
    for (int i = 0; i < RECEIVES && status == TUTTI_OK; i++)
        status = tutti_wire_post_receive(wire, &wire->receive[i]);
    if (status != TUTTI_OK) {
        tutti_wire_close(wire);
        return status;
    }
    *out = wire;
    return TUTTI_OK;
}

/* Cancels the receives; 1 once the transport has released all buffers. */
static int wire_take_back(struct tutti_shmem_wire *wire)
{
    int free_to_go = !wire->sending && !wire->begun;
    for (int i = 0; i < RECEIVES; i++) {
        struct message *message = &wire->receive[i];
        int cancelled = 1;
        if (message->under_way &&
            wire->transport->ops->cancel(wire->transport, &message->transfer, &cancelled) != TUTTI_OK)
            cancelled = 0;
        free_to_go &= cancelled;
    }
    for (int i = 0; i < wire->peers; i++) {
        const struct peer *peer = wire->known[i];
        free_to_go &= !peer->ack.under_way && !peer->abort.under_way && !peer->bye.under_way;
    }
    return free_to_go;
}

void tutti_wire_grow(struct tutti_shmem_wire *wire, uint64_t heap_bytes)
{
    atomic_store_explicit(&wire->heap_bytes, heap_bytes, memory_order_release);
}

void tutti_wire_close(struct tutti_shmem_wire *wire)
{
    if (!wire)
        return;
    while (wire->spare) {
        struct tutti_wire_op *op = wire->spare;
        wire->spare = op->next;
        free(op);
    }
    if (!wire_take_back(wire)) { /* the transport may still use them: kept to the end of the process */
        wire->next = atomic_load(&lost);
        while (!atomic_compare_exchange_weak(&lost, &wire->next, wire))
            ;
        return;
    }
    wire->local->give(wire->users.with, wire->room);
    pthread_mutex_destroy(&wire->lock);
    free_all(wire);
}

/* ---- the end ---- */

void tutti_wire_leave(struct tutti_shmem_wire *wire)
{
    pthread_mutex_lock(&wire->lock);
    for (int i = 0; i < wire->peers && wire->status == TUTTI_OK; i++) {
        struct peer *peer = wire->known[i];
        if (peer->said_bye)
            continue;
        const int status = tutti_wire_give_control(wire, peer, &peer->bye, BYE, 0);
        peer->said_bye = 1;
        if (status != TUTTI_OK)
            tutti_wire_fail(wire, -1, status);
    }
    pthread_mutex_unlock(&wire->lock);
}

int tutti_wire_left(struct tutti_shmem_wire *wire)
{
    pthread_mutex_lock(&wire->lock);
    int left = !wire->sending && !wire->begun;
    for (int i = 0; i < wire->peers; i++) {
        const struct peer *peer = wire->known[i];
        left &= peer->said_bye && peer->has_bye && !peer->bye.under_way && !peer->ack.under_way;
    }
    const int status = wire->status;
    pthread_mutex_unlock(&wire->lock);
    return status != TUTTI_OK ? status : left;
}
