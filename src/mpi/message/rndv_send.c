/* Sends by rendezvous: makes the rendezvous, chooses its protocol, and sends the RTS. */
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/trace.h"
#include "mpi/message/requests.h"
#include "mpi/message/rndv_send.h"
#include "mpi/real/attached.h"
#include "mpi/real/errors.h"
#include "mpi/real/self.h"
#include "p2p/again.h"

/* ---- making ---- */

enum { BURST = 2, POLL_TURNS = 4 }; /* BURST: requests that are open beside a message of a burst */

/* All elements are in this allocation of a GPU, from `lowest` on. */
static void send_place_in(struct tutti_send_request *sent, const struct tutti_memory *memory, const char *lowest)
{
    sent->core.gpu = memory->gpu;
    sent->core.allocation = memory->id;
    sent->core.extent = memory->bytes;
    sent->core.lowest = lowest;
}

/* Finds the GPU that holds the elements, and their lowest byte if one allocation does. 0: no GPU holds them all. */
static int send_place(struct tutti_send_request *sent, const struct tutti_memory *memory)
{
    struct tutti_seen seen; /* large, so its unused part is not cleared */
    const char *first, *end;
    tutti_seen_begin(&seen, memory);
    tutti_elements_span(&sent->core.elements, &first, &end);
    if (tutti_seen_holds(&seen, first, end)) {
        send_place_in(sent, &seen.memory, first);
        return 1;
    }
    const struct tutti_places *places = tutti_elements_places(&sent->core.elements);
    sent->core.gpu = places->gpu;
    return places->device && tutti_places_reached(places);
}

/* How the data must leave: `now` if they must be out of the program's buffer before the receiver fetches them, since
 * the call is to return without the receiver, or receives into the buffer, or the receiver is this thread. */
static void send_leaves_how(struct tutti_send_request *sent, int peer, int blocking)
{
    const enum tutti_send_mode mode = sent->message.mode;
    const int own = peer == tutti_node_rank(tutti_door.node);
    sent->core.local = mode == TUTTI_SEND_BUFFERED || own;
    sent->core.now =
        mode == TUTTI_SEND_BUFFERED || mode == TUTTI_SEND_REPLACED || (own && blocking && !tutti_door.multiple);
}

static struct tutti_send_request *give_up(struct tutti_send_request *sent)
{
    if (sent->core.rndv && sent->row)
        sent->row->ops->cancel(&tutti_p2p, &sent->core);
    else if (sent->core.rndv)
        tutti_endpoint_withdraw(tutti_endpoint, sent->core.rndv);
    tutti_send_destroy(sent);
    return NULL;
}

/* Withdraws the rendezvous, and frees the request of a send whose RTS was not sent. */
static struct tutti_send_request *rndv_take_back(struct tutti_send_request *sent, int with_request)
{
    if (with_request) {
        tutti_self_complete(sent->tag);
        tutti_next.MPI_Wait(&sent->request, MPI_STATUS_IGNORE);
    }
    return give_up(sent);
}

/* 1 if so many bytes end between two basic elements. */
static int rts_ends_well(const struct tutti_layout *layout, unsigned length)
{
    return (layout->basic > 0 && layout->basic != UINT_MAX && length % layout->basic == 0) ||
           length % layout->size == 0;
}

int tutti_rts_fits(const struct tutti_message *message, const struct tutti_layout *layout, uint64_t bytes)
{
    if (bytes >= TUTTI_SHORT_RTS_LEAST &&
        bytes < TUTTI_RTS_BYTES) /* the RTS is filled up to the length of the message */
        return 1;
    if (message->type == tutti_handles.packed) /* the receiver may use any type, so the RTS may end inside an element */
        return 0;
    return rts_ends_well(layout, (unsigned)tutti_rts_length(bytes));
}

/* Bytes of the RTS of a message that fits. */
static int rts_bytes_of(const struct tutti_layout *layout, uint64_t bytes, int peer)
{
    const int lean = bytes >= TUTTI_RTS_BYTES && rts_ends_well(layout, TUTTI_LEAN_RTS_BYTES) &&
                     tutti_endpoint_takes_short(tutti_endpoint, peer);
    return lean ? TUTTI_LEAN_RTS_BYTES : tutti_rts_length(bytes);
}

/* Writes the RTS into sent->text. The tag and the bytes of the rendezvous are set. */
static void write_rts(struct tutti_send_request *sent)
{
    struct tutti_rndv *rndv = sent->core.rndv;
    if (sent->core.bytes < TUTTI_RTS_BYTES) {
        tutti_short_rts_write(&tutti_p2p, rndv, sent->text);
        return;
    }
    struct tutti_rts_head head = {.sequence = atomic_load(&rndv->sequence),
                                  .bytes = sent->core.bytes,
                                  .number = tutti_endpoint_number(tutti_endpoint, rndv),
                                  .rank = tutti_node_rank(tutti_door.node)};
    tutti_node_key(tutti_door.node, head.key);
    memcpy(sent->text, &head, sizeof head);
}

/* A message before it has a rendezvous. */
struct rndv_send_ask {
    const struct tutti_layout *layout;
    uint64_t bytes;
    const char *lowest; /* its first byte, if it is one run of bytes in one allocation of a GPU; otherwise NULL */
    int peer, reached;  /* reached: 1: the peer was asked whether it receives such messages, and does */
    struct tutti_p2p_asked asked;
};

static const char *lowest_of_run(const struct tutti_message *message, const struct tutti_memory *memory,
                                 const struct rndv_send_ask *ask)
{
    const struct tutti_layout *layout = ask->layout;
    const char *const base = memory->base, *const lowest = (const char *)message->buffer + layout->true_lower;
    const int is = layout->in_order && (layout->solid || message->count == 1) && memory->kind == TUTTI_MEMORY_DEVICE &&
                   lowest >= base && lowest + ask->bytes <= base + memory->bytes;
    return is ? lowest : NULL;
}

/* 1 if the message is a short one, and surely no part of a burst, that the peer probably receives into memory of the
 * host: the MPI is to have it. */
static int send_is_for_host(const struct tutti_message *message, const struct rndv_send_ask *ask, int blocking)
{
    return (blocking || message->mode == TUTTI_SEND_WAITED) && message->mode != TUTTI_SEND_BUFFERED && ask->lowest &&
           tutti_p2p_goes_to_host(&tutti_p2p, ask->peer, ask->bytes);
}

/* 1 if the message is a short one, of one run of bytes, that its call does not wait for. */
static int send_is_unwaited(const struct tutti_message *message, const struct rndv_send_ask *ask, int blocking)
{
    const enum tutti_send_mode mode = message->mode;
    return !blocking && ask->bytes <= TUTTI_LANDING_BYTES && ask->lowest &&
           (mode == TUTTI_SEND || mode == TUTTI_SEND_SYNCHRONOUS || mode == TUTTI_SEND_READY);
}

/* 1 if the MPI is to have the message, or the peer does not receive such messages, and the reason is set. Decides only
 * for messages of one run of bytes in one allocation; no rendezvous is taken for that. */
static int send_leaves(const struct tutti_memory *memory, struct rndv_send_ask *ask)
{
    const struct tutti_protocol_rules *const rules = &tutti_rules_of_messages;
    if (!ask->lowest)
        return 0;
    /* The program meets the GPU with this message, also if the MPI carries it. */
    if (tutti_endpoint_use(tutti_endpoint, memory->gpu) < 0)
        return 0;
    ask->reached = tutti_p2p_row_reaches(&tutti_p2p, ask->asked.row, ask->peer, memory->gpu, ask->bytes, rules) &&
                   tutti_p2p_is_looked_for(&tutti_p2p, ask->peer, ask->bytes);
    return !ask->reached || tutti_p2p_leaves(&tutti_p2p, ask->peer, memory, ask->bytes, &ask->asked, rules);
}

/* A new request of the message, without a place and a rendezvous. NULL without memory. */
static struct tutti_send_request *send_described(const struct tutti_message *message, const struct rndv_send_ask *ask,
                                                 int blocking)
{
    struct tutti_send_request *sent = tutti_send_new(message);
    if (!sent)
        return NULL;
    sent->core.elements = tutti_message_elements(message->buffer, message->count, ask->layout);
    sent->core.bytes = ask->bytes;
    sent->core.asked = ask->asked;
    send_leaves_how(sent, ask->peer, blocking);
    sent->rts_bytes = rts_bytes_of(ask->layout, ask->bytes, ask->peer);
    sent->plan_held = ask->layout->derived;
    if (sent->plan_held)
        tutti_plan_hold(ask->layout->plan);
    return sent;
}

/* The message is like the last one to its peer, and takes the same way. NULL: it does not. */
static struct tutti_send_request *send_again(const struct tutti_message *message, const struct tutti_memory *memory,
                                             const struct rndv_send_ask *ask, int with_request, int blocking)
{
    if (!memory->id || !tutti_p2p_is_like(&tutti_p2p, ask->peer, ask->bytes, memory->id) || !ask->lowest ||
        !tutti_rts_fits(message, ask->layout, ask->bytes))
        return NULL;
    static __thread unsigned turn;
    if (turn++ % POLL_TURNS == 0)
        tutti_endpoint_poll(tutti_endpoint);
    struct tutti_send_request *sent = send_described(message, ask, blocking);
    if (!sent)
        return NULL;
    if (ask->asked.verdict.alone) /* otherwise the first poll sets it: of a window it comes soon */
        sent->core.since = tutti_now_ns();
    send_place_in(sent, memory, ask->lowest);
    sent->row = tutti_p2p_again(&tutti_p2p, &sent->core, ask->peer, message->tag, ask->bytes < TUTTI_RTS_BYTES);
    if (sent->row && with_request && tutti_self_request(0, &sent->request, &sent->tag) != 0) {
        sent->tag = -1;
        sent->row = NULL;
    }
    if (!sent->row)
        return give_up(sent);
    write_rts(sent);
    tutti_trace(TUTTI_TRACE_POSTED, ask->bytes);
    return sent;
}

/* Takes a rendezvous for the message, which is on sent->core.gpu, and writes its RTS. 0: not possible. */
static int rndv_take(struct tutti_send_request *sent, int peer, int with_request)
{
    struct tutti_rndv *const rndv = tutti_endpoint_rndv(tutti_endpoint, peer, sent->core.gpu);
    sent->core.rndv = rndv;
    if (!rndv)
        return TUTTI_NO(MANY);
    rndv->tag = sent->message.tag;
    rndv->bytes = sent->core.bytes;
    if (with_request && tutti_self_request(0, &sent->request, &sent->tag) != 0) {
        sent->tag = -1;
        return 0;
    }
    if (sent->core.bytes < TUTTI_RTS_BYTES)
        tutti_endpoint_shorten(tutti_endpoint, rndv);
    write_rts(sent);
    sent->core.since = tutti_now_ns();
    TUTTI_RNDV_SET(rndv->ended, 0);
    TUTTI_RNDV_SET(rndv->posted, tutti_trace_stamp());
    return 1;
}

/* NULL: the MPI takes the message. Neither blocking calls nor persistent sends get a request here. */
static struct tutti_send_request *new_send(const struct tutti_message *message, const struct tutti_memory *memory,
                                           int with_request, int blocking)
{
    int peer = tutti_endpoint && !tutti_inside ? tutti_endpoints_peer(message->comm, message->dest) : -1;
    if (peer < 0 || message->count <= 0 || message->type == tutti_handles.no_type) {
        tutti_why_set(peer < 0 ? tutti_endpoints_why(message->comm, message->dest) : TUTTI_REASON_MACHINE);
        return NULL;
    }
    const struct tutti_layout *layout = tutti_layout_of(message->type);
    uint64_t bytes;
    if (!layout || !layout->plan || __builtin_mul_overflow((uint64_t)message->count, layout->plan->size, &bytes))
        return TUTTI_NONE(TYPE);
    if (bytes == 0) /* of a type without elements: a receive of 0 bytes takes no RTS */
        return NULL;
    if (message->mode == TUTTI_SEND_BUFFERED && !tutti_attached_takes(bytes)) /* an error, which is the MPI's */
        return TUTTI_NONE(ATTACHED);
    if (message->mode == TUTTI_SEND_BUFFERED && bytes < TUTTI_SHORT_RTS_LEAST)
        return TUTTI_NONE(SHORT);
    struct rndv_send_ask ask = {.layout = layout, .bytes = bytes, .peer = peer};
    ask.asked.verdict.alone = blocking || atomic_load_explicit(&tutti_requests_open, memory_order_relaxed) < BURST;
    ask.lowest = lowest_of_run(message, memory, &ask);
    if (send_is_for_host(message, &ask, blocking))
        return TUTTI_NONE(TO_HOST);
    struct tutti_send_request *sent = send_again(message, memory, &ask, with_request, blocking);
    if (sent)
        return sent;
    tutti_endpoint_poll(tutti_endpoint);
    if (!(ask.asked.row = tutti_p2p_first(&tutti_rules_of_messages, 0, bytes, &ask.asked.from)))
        return NULL;
    if (!tutti_rts_fits(message, layout, bytes))
        return message->type == tutti_handles.packed ? TUTTI_NONE(TYPE_PACKED) : TUTTI_NONE(TYPE_UNEVEN);
    ask.asked.verdict.unwaited = send_is_unwaited(message, &ask, blocking);
    if (send_leaves(memory, &ask))
        return NULL;
    if (!(sent = send_described(message, &ask, blocking)))
        return TUTTI_NONE(MEMORY);
    if (ask.lowest)
        send_place_in(sent, memory, ask.lowest);
    enum tutti_reason reason = ask.lowest || send_place(sent, memory) ? TUTTI_REASON_NONE : TUTTI_REASON_SEVERAL;
    /* The program meets the GPU with this message, also if the MPI carries it. */
    if (reason == TUTTI_REASON_NONE && !ask.reached && tutti_endpoint_use(tutti_endpoint, sent->core.gpu) < 0)
        reason = TUTTI_REASON_OTHER_GPU;
    if (reason == TUTTI_REASON_NONE && !ask.reached &&
        (!tutti_p2p_reaches(&tutti_p2p, peer, sent->core.gpu, bytes, &tutti_rules_of_messages) ||
         !tutti_p2p_is_looked_for(&tutti_p2p, peer, bytes)))
        return give_up(sent);
    if (reason != TUTTI_REASON_NONE) {
        tutti_why_set(reason);
        return give_up(sent);
    }
    if (!rndv_take(sent, peer, with_request))
        return give_up(sent);
    if ((sent->row = tutti_p2p_choose(&tutti_p2p, &sent->core, &tutti_rules_of_messages, NULL)) == NULL)
        return rndv_take_back(sent, with_request);
    tutti_trace(TUTTI_TRACE_POSTED, bytes);
    tutti_p2p_again_learn(&tutti_p2p, &sent->core, peer, sent->row);
    return sent;
}

/* Sends the RTS. On failure the rendezvous is withdrawn. */
static int rts_send(struct tutti_send_request *sent)
{
    const struct tutti_message *m = &sent->message;
    TUTTI_INSIDE();
    int (*const send[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = {
        [TUTTI_SEND] = tutti_next.MPI_Isend,           [TUTTI_SEND_SYNCHRONOUS] = tutti_next.MPI_Issend,
        [TUTTI_SEND_BUFFERED] = tutti_next.MPI_Ibsend, [TUTTI_SEND_READY] = tutti_next.MPI_Irsend,
        [TUTTI_SEND_REPLACED] = tutti_next.MPI_Isend,  [TUTTI_SEND_WAITED] = tutti_next.MPI_Isend};
    int code = send[m->mode](sent->text, sent->rts_bytes, tutti_handles.byte, m->dest, m->tag, m->comm, &sent->rts);
    if (code != MPI_SUCCESS)
        return code;
    tutti_endpoint_announce(tutti_endpoint, sent->core.rndv, tutti_door_alone());
    if (sent->row->outcome == TUTTI_OUTCOME_STAGED)
        tutti_count_staged(m->name, tutti_why_take(TUTTI_REASON_UNMAPPED), sent->row->reason, sent->core.bytes);
    else
        tutti_count_made(m->name, sent->row->reason, sent->core.bytes);
    tutti_trace(TUTTI_TRACE_RTS_SENT, 0);
    return MPI_SUCCESS;
}

struct tutti_send_request *tutti_send_begin(const struct tutti_message *message, const struct tutti_memory *memory,
                                            int blocking, int *code)
{
    struct tutti_send_request *sent = new_send(message, memory, 0, blocking);
    if (!sent)
        return NULL;
    *code = rts_send(sent);
    return *code == MPI_SUCCESS ? sent : give_up(sent);
}

/* ---- calls ---- */

int tutti_rndv_send(const struct tutti_message *message, const struct tutti_memory *memory, int *code)
{
    *code = MPI_SUCCESS;
    tutti_trace(TUTTI_TRACE_SEND, 0);
    struct tutti_send_request *sent = tutti_send_begin(message, memory, 1, code);
    if (!sent)
        return *code != MPI_SUCCESS;
    tutti_send_list(sent);
    tutti_send_await(sent);
    *code = sent->code == MPI_SUCCESS ? MPI_SUCCESS : tutti_fail_comm(message->comm, sent->code);
    tutti_send_release(sent);
    tutti_trace(TUTTI_TRACE_SENT, 0);
    return 1;
}

int tutti_rndv_isend(const struct tutti_message *message, const struct tutti_memory *memory, MPI_Request *request,
                     int *code)
{
    tutti_trace(TUTTI_TRACE_SEND, 0);
    struct tutti_send_request *sent = new_send(message, memory, 1, 0);
    if (!sent)
        return 0;
    *code = rts_send(sent);
    if (*code != MPI_SUCCESS) {
        rndv_take_back(sent, 1);
        return 1;
    }
    tutti_send_list(sent);
    *request = sent->request;
    *code = tutti_rndv_put(*request, message->comm, sent, memory);
    tutti_trace(TUTTI_TRACE_SENT, 0);
    return 1;
}

int tutti_send_deliver(const struct tutti_send_request *sent)
{
    return sent->code == MPI_SUCCESS ? MPI_SUCCESS : tutti_fail_comm(sent->message.comm, sent->code);
}
