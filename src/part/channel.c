/* The channel: short messages that every rank expects from any rank, once it has created a receive. Those of one sender
 * are handled in the order in which they were sent. */
#include <stdlib.h>
#include <string.h>

#include "part/own.h"

enum { SLOTS = 8 };

/* Receives that are posted: the transport fills them in the order in which they were posted. */
static struct {
    struct tutti_transfer transfer;
    _Alignas(struct tutti_part_head) unsigned char memory[TUTTI_PART_ROOM];
} slot[SLOTS];
static int listening, oldest;

/* Messages that the transport has not sent yet, and spare ones. */
static struct outgoing {
    struct outgoing *next;
    struct tutti_transfer transfer;
    struct tutti_part *of;
    struct tutti_bounce *bounce; /* of memory that kernels write; NULL: `own` is used */
    _Alignas(struct tutti_part_head) unsigned char own[TUTTI_PART_ROOM];
} * sending, *spare;

static int slot_post(int i)
{
    struct tutti_transport *transport = tutti_part_engine.transport;
    return transport->ops->receive(transport, slot[i].memory, TUTTI_PART_ROOM, TUTTI_ANY_RANK,
                                   tutti_part_engine.channel_tag, &slot[i].transfer);
}

int tutti_part_channel_listen(void)
{
    int status = TUTTI_OK;
    while (listening < SLOTS && status == TUTTI_OK) {
        status = slot_post(listening);
        listening += status == TUTTI_OK;
    }
    return status;
}

static void channel_handle(const struct tutti_transfer_status *came, const unsigned char *memory)
{
    struct tutti_part_head head;
    if (came->bytes < sizeof head)
        return;
    memcpy(&head, memory, sizeof head);
    if (head.way == TUTTI_PART_RECORD)
        tutti_part_engine.record_arrived(came->from, &head);
    else if (head.way == TUTTI_PART_PREPARED || head.way == TUTTI_PART_ASK)
        tutti_part_engine.prepared(came->from, &head, memory + sizeof head);
    else
        tutti_part_engine.data_arrived(came->from, &head, memory + sizeof head);
}

static void channel_receive(void)
{
    struct tutti_transport *transport = tutti_part_engine.transport;
    for (int i = 0; i < SLOTS && listening == SLOTS; i++) {
        struct tutti_transfer_status came;
        int done = 0;
        if (transport->ops->test(transport, &slot[oldest].transfer, &came, &done) != TUTTI_OK || !done)
            return;
        channel_handle(&came, slot[oldest].memory);
        if (slot_post(oldest) != TUTTI_OK) {
            listening = 0;
            return;
        }
        oldest = (oldest + 1) % SLOTS;
    }
}

/* 1: the transport has sent it. */
static int outgoing_ended(struct outgoing *message)
{
    struct tutti_transport *transport = tutti_part_engine.transport;
    int done = 0;
    const int status = transport->ops->test(transport, &message->transfer, NULL, &done);
    if (status == TUTTI_OK && !done)
        return 0;
    if (message->of) {
        tutti_part_fail(message->of, status);
        message->of->out--;
    }
    tutti_bounce_give(message->bounce);
    message->next = spare;
    spare = message;
    return 1;
}

void tutti_part_channel_poll(void)
{
    for (struct outgoing **at = &sending; *at;) {
        struct outgoing *message = *at, *next = message->next;
        if (outgoing_ended(message))
            *at = next;
        else
            at = &message->next;
    }
    channel_receive();
}

static struct outgoing *outgoing_new(struct tutti_part *of)
{
    struct outgoing *message = spare;
    if (message)
        spare = message->next;
    else if (!(message = malloc(sizeof *message)))
        return NULL;
    message->of = of;
    message->bounce = NULL;
    return message;
}

static int outgoing_failed(struct outgoing *message, int status)
{
    tutti_bounce_give(message->bounce);
    message->next = spare;
    spare = message;
    return status;
}

static int outgoing_send(struct outgoing *message, const unsigned char *memory, size_t bytes, int to)
{
    struct tutti_transport *transport = tutti_part_engine.transport;
    const int status =
        transport->ops->send(transport, memory, bytes, to, tutti_part_engine.channel_tag, 0, &message->transfer);
    if (status != TUTTI_OK)
        return outgoing_failed(message, status);
    if (message->of)
        message->of->out++;
    if (outgoing_ended(message)) /* as most are */
        return TUTTI_OK;
    message->next = sending;
    sending = message;
    return TUTTI_OK;
}

int tutti_part_channel_send(int to, const struct tutti_part_head *head, struct tutti_part *of)
{
    struct outgoing *message = outgoing_new(of);
    if (!message)
        return TUTTI_ERR_MEMORY;
    memcpy(message->own, head, sizeof *head);
    return outgoing_send(message, message->own, sizeof *head, to);
}

int tutti_part_channel_send_more(int to, const struct tutti_part_head *head, const void *data)
{
    struct outgoing *message = outgoing_new(NULL);
    if (!message)
        return TUTTI_ERR_MEMORY;
    memcpy(message->own, head, sizeof *head);
    memcpy(message->own + sizeof *head, data, head->bytes);
    return outgoing_send(message, message->own, sizeof *head + head->bytes, to);
}

int tutti_part_channel_send_data(const struct tutti_part_head *head, uint64_t first, struct tutti_part *of)
{
    struct outgoing *message = outgoing_new(of);
    if (!message)
        return TUTTI_ERR_MEMORY;
    unsigned char *memory = message->own;
    if (of->elements.places.device) {
        message->bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, TUTTI_PART_ROOM);
        if (!message->bounce)
            return outgoing_failed(message, TUTTI_ERR_MEMORY);
        memory = message->bounce->memory;
    }
    memcpy(memory, head, sizeof *head);
    const int status = tutti_elements_move(TUTTI_PACK, &of->elements, first, head->bytes, memory + sizeof *head);
    if (status != TUTTI_OK)
        return outgoing_failed(message, status);
    return outgoing_send(message, memory, sizeof *head + head->bytes, of->args.peer);
}

void tutti_part_channel_close(void)
{
    struct tutti_transport *transport = tutti_part_engine.transport;
    for (int i = 0; i < listening; i++) {
        int cancelled = 0, done = 0;
        if (transport->ops->cancel(transport, &slot[i].transfer, &cancelled) == TUTTI_OK && !cancelled)
            (void)transport->ops->test(transport, &slot[i].transfer, NULL, &done);
    }
    listening = oldest = 0;
    while (spare) {
        struct outgoing *next = spare->next;
        free(spare);
        spare = next;
    }
    sending = NULL; /* the transport still has their memory */
}
