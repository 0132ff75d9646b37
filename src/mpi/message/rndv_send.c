/* Making rendezvous, and the calls that send by them. */
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "dtype/wire.h"
#include "mpi/message/requests.h"
#include "mpi/message/rndv_send.h"
#include "mpi/real/attached.h"
#include "mpi/real/errors.h"
#include "mpi/real/own.h"

/* ---- making ---- */

int tutti_send_place(struct tutti_send_request *sent, struct tutti_seen *seen, const char **lowest)
{
    const struct tutti_plan *plan = sent->core.elements.plan;
    const MPI_Count reach = (sent->message.count - 1) * plan->extent;
    const char *first = (const char *)sent->message.buffer + plan->true_lower + (reach < 0 ? reach : 0);
    const char *end = (const char *)sent->message.buffer + plan->true_end + (reach > 0 ? reach : 0);
    struct tutti_places places;
    *lowest = first;
    if (tutti_seen_holds(seen, first, end)) {
        sent->core.gpu = seen->memory.gpu;
        return TUTTI_PLACE_ONE;
    }
    tutti_places_of(plan, sent->message.count, sent->message.buffer, &places);
    if (!places.device || !tutti_places_reached(&places))
        return TUTTI_PLACE_NONE;
    sent->core.gpu = places.gpu;
    return TUTTI_PLACE_SOME;
}

/* 1 where the receiver's kernels can read the message as it lies: the rendezvous says how. */
static int describe(struct tutti_send_request *sent, const struct tutti_layout *layout, const char *lowest)
{
    struct tutti_rndv *rndv = sent->core.rndv;
    rndv->count = (uint64_t)sent->message.count;
    rndv->lowest = lowest - (const char *)sent->message.buffer;
    rndv->layout_bytes = 0;
    if (layout->in_order && (layout->solid || sent->message.count == 1))
        return 1;
    rndv->layout_bytes = (uint32_t)tutti_plan_write(sent->core.elements.plan, rndv->layout, sizeof rndv->layout);
    return rndv->layout_bytes > 0;
}

/* 1 where the data must not wait for the receiver in the program's buffer, or would in vain: it is this thread. */
static int at_once(const struct tutti_send_request *sent, int peer, int blocking)
{
    const enum tutti_send_mode mode = sent->message.mode;
    return mode == TUTTI_SEND_BUFFERED || mode == TUTTI_SEND_REPLACED ||
           (blocking && !tutti_door.multiple && peer == tutti_node_rank(tutti_door.node));
}

int tutti_send_show(struct tutti_send_request *sent, const struct tutti_layout *layout, const char *lowest,
                    struct tutti_endpoint_memo *memo)
{
    struct tutti_rndv *rndv = sent->core.rndv;
    rndv->share.shared = 0;
    if (!lowest || !describe(sent, layout, lowest))
        return TUTTI_SHOWN_NOT;
    if (tutti_endpoint_share(tutti_endpoint, rndv, lowest, memo))
        return TUTTI_SHOWN_KNOWN;
    return rndv->share.shared ? TUTTI_SHOWN : TUTTI_SHOWN_NOT;
}

/* Fills the rendezvous and shows it. 0: there is no way. A message from an allocation that the receiver has mapped is
 * fetched from there. Another one is packed for the receiver, which learns of the allocation on the way, and maps it
 * where it comes again; or it is offered, where the receiver has not mapped the scratch yet either. */
static int post(struct tutti_send_request *sent, const struct tutti_layout *layout, const char *lowest, int peer,
                int blocking)
{
    struct tutti_rndv *rndv = sent->core.rndv;
    const int now = at_once(sent, peer, blocking);
    int from = 0, first = 0, shown = TUTTI_SHOWN_NOT;
    rndv->tag = sent->message.tag;
    rndv->bytes = sent->core.bytes;
    rndv->share.shared = 0;
    for (enum tutti_protocol way = tutti_rules_message(sent->core.bytes, &from); way != TUTTI_PROTOCOL_staged;
         way = tutti_rules_message(sent->core.bytes, &from)) {
        if (way == TUTTI_PROTOCOL_direct)
            shown = tutti_send_show(sent, layout, lowest, NULL);
        if (way == TUTTI_PROTOCOL_direct && shown == TUTTI_SHOWN_KNOWN && !now) {
            tutti_rndv_set(rndv, TUTTI_RNDV_GET);
            return 1;
        }
        if ((way == TUTTI_PROTOCOL_packed || shown != TUTTI_SHOWN_NOT) &&
            tutti_rendezvous_pack(tutti_endpoint_sends, &sent->core, now))
            return 1;
        if (now)
            return 0;                                               /* for lack of scratch, which says why */
        if (way == TUTTI_PROTOCOL_packed || shown == TUTTI_SHOWN) { /* the receiver maps what it can, or asks */
            tutti_endpoint_offer(tutti_endpoint, sent->core.gpu);
            tutti_rndv_set(rndv, TUTTI_RNDV_GET);
            return 1;
        }
    }
    tutti_why_set(tutti_rules_message(sent->core.bytes, &first) == TUTTI_PROTOCOL_direct ? TUTTI_REASON_UNSHARED
                                                                                         : tutti_rules_why(from));
    return 0;
}

static struct tutti_send_request *give_up(struct tutti_send_request *sent)
{
    if (sent->core.rndv)
        tutti_endpoint_withdraw(tutti_endpoint, sent->core.rndv);
    tutti_send_destroy(sent);
    return NULL;
}

int tutti_rts_fits(const struct tutti_message *message, const struct tutti_layout *layout)
{
    if (message->type == tutti_handles.packed) /* the receiver's type may be anything */
        return 0;
    return (layout->basic > 0 && layout->basic != UINT_MAX && TUTTI_RTS_BYTES % layout->basic == 0) ||
           TUTTI_RTS_BYTES % layout->size == 0;
}

/* NULL: the message is left to the MPI. Blocking calls have no request, nor have persistent sends one of their own. */
static struct tutti_send_request *new_send(const struct tutti_message *message, int with_request, int blocking)
{
    int peer = tutti_endpoint && !tutti_inside ? tutti_endpoints_peer(message->comm, message->dest) : -1;
    if (peer < 0 || message->count <= 0 || message->type == tutti_handles.no_type) {
        tutti_why_set(tutti_endpoint ? TUTTI_REASON_MACHINE : tutti_endpoints_why(message->comm, message->dest));
        return NULL;
    }
    const struct tutti_layout *layout = tutti_layout_of(message->type);
    uint64_t bytes;
    int from = 0;
    if (!layout || !layout->plan || __builtin_mul_overflow((uint64_t)message->count, layout->plan->size, &bytes))
        return TUTTI_NONE(TYPE);
    if (message->mode == TUTTI_SEND_BUFFERED && !tutti_attached_takes(bytes)) /* an error, which is the MPI's */
        return TUTTI_NONE(ATTACHED);
    if (bytes < TUTTI_MESSAGE_SHORTEST)
        return TUTTI_NONE(SHORT);
    if (tutti_rules_message(bytes, &from) == TUTTI_PROTOCOL_staged) {
        tutti_why_set(tutti_rules_why(from));
        return NULL;
    }
    tutti_endpoint_poll(tutti_endpoint);
    if (!tutti_rts_fits(message, layout))
        return message->type == tutti_handles.packed ? TUTTI_NONE(TYPE_PACKED) : TUTTI_NONE(TYPE_UNEVEN);
    struct tutti_send_request *sent = calloc(1, sizeof *sent);
    const char *lowest;
    if (!sent)
        return TUTTI_NONE(MEMORY);
    *sent = (struct tutti_send_request){.message = *message,
                                        .core = {.elements = tutti_send_elements(message, layout), .bytes = bytes},
                                        .rts = tutti_handles.no_request,
                                        .tag = -1};
    struct tutti_seen seen = {.memory = {.kind = TUTTI_MEMORY_HOST}};
    const int place = tutti_send_place(sent, &seen, &lowest);
    /* The GPU is met by this message, whoever carries it. */
    enum tutti_reason reason = place == TUTTI_PLACE_NONE ? TUTTI_REASON_SEVERAL : TUTTI_REASON_NONE;
    if (reason == TUTTI_REASON_NONE && tutti_endpoint_use(tutti_endpoint, sent->core.gpu) < 0)
        reason = TUTTI_REASON_OTHER_GPU;
    if (reason == TUTTI_REASON_NONE && !tutti_endpoint_is_open(tutti_endpoint, peer))
        reason = TUTTI_REASON_GPU_LATE;
    if (reason == TUTTI_REASON_NONE && tutti_endpoint_mapped(tutti_endpoint, peer, sent->core.gpu) == TUTTI_MAPS_CANNOT)
        reason = TUTTI_REASON_SCRATCH_UNREACHED;
    if (reason == TUTTI_REASON_NONE && !(sent->core.rndv = tutti_endpoint_rndv(tutti_endpoint, peer, sent->core.gpu)))
        reason = TUTTI_REASON_MANY;
    if (reason != TUTTI_REASON_NONE) {
        tutti_why_set(reason);
        return give_up(sent);
    }
    if (place == TUTTI_PLACE_SOME)
        lowest = NULL;
    if (with_request && tutti_own_request(0, &sent->request, &sent->tag) != 0) {
        sent->tag = -1;
        return give_up(sent);
    }
    struct tutti_rts_head head = {.sequence = atomic_load(&sent->core.rndv->sequence),
                                  .bytes = bytes,
                                  .number = tutti_endpoint_number(tutti_endpoint, sent->core.rndv),
                                  .rank = tutti_node_rank(tutti_door.node)};
    tutti_node_key(tutti_door.node, head.key);
    memcpy(sent->text, &head, sizeof head);
    sent->core.since = tutti_now_ns();
    if (post(sent, layout, lowest, peer, blocking))
        return sent;
    if (with_request) { /* the receive that nothing completed */
        tutti_own_complete(sent->tag);
        tutti_real.MPI_Wait(&sent->request, MPI_STATUS_IGNORE);
    }
    return give_up(sent);
}

/* Sends the RTS. On failure nothing is left of the rendezvous. */
static int rts(struct tutti_send_request *sent)
{
    const struct tutti_message *m = &sent->message;
    TUTTI_INSIDE();
    int (*const send[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                        MPI_Request *) = {[TUTTI_SEND] = tutti_real.MPI_Isend,
                                          [TUTTI_SEND_SYNCHRONOUS] = tutti_real.MPI_Issend,
                                          [TUTTI_SEND_BUFFERED] = tutti_real.MPI_Ibsend,
                                          [TUTTI_SEND_READY] = tutti_real.MPI_Irsend,
                                          [TUTTI_SEND_REPLACED] = tutti_real.MPI_Isend};
    int code = send[m->mode](sent->text, TUTTI_RTS_BYTES, tutti_handles.byte, m->dest, m->tag, m->comm, &sent->rts);
    if (code != MPI_SUCCESS)
        return code;
    const int packed = tutti_rndv_is(sent->core.rndv, TUTTI_RNDV_BOUNCE);
    const struct tutti_protocol_row *row = &tutti_protocols[packed ? TUTTI_PROTOCOL_packed : TUTTI_PROTOCOL_direct];
    tutti_count_made(m->name, row->reason, sent->core.bytes);
    return MPI_SUCCESS;
}

struct tutti_send_request *tutti_send_begin(const struct tutti_message *message, int blocking, int *code)
{
    struct tutti_send_request *sent = new_send(message, 0, blocking);
    if (!sent)
        return NULL;
    *code = rts(sent);
    return *code == MPI_SUCCESS ? sent : give_up(sent);
}

/* ---- calls ---- */

int tutti_rndv_send(const struct tutti_message *message, int *code)
{
    *code = MPI_SUCCESS;
    struct tutti_send_request *sent = tutti_send_begin(message, 1, code);
    if (!sent)
        return *code != MPI_SUCCESS;
    tutti_send_list(sent);
    tutti_send_await(sent);
    *code = sent->code == MPI_SUCCESS ? MPI_SUCCESS : tutti_fail_comm(message->comm, sent->code);
    tutti_send_let_go(sent);
    return 1;
}

int tutti_rndv_isend(const struct tutti_message *message, MPI_Request *request, int *code)
{
    struct tutti_send_request *sent = new_send(message, 1, 0);
    if (!sent)
        return 0;
    *code = rts(sent);
    if (*code != MPI_SUCCESS) {
        tutti_own_complete(sent->tag);
        tutti_real.MPI_Wait(&sent->request, MPI_STATUS_IGNORE);
        give_up(sent);
        return 1;
    }
    tutti_send_list(sent);
    *request = sent->request;
    *code = tutti_rndv_put(*request, message->comm, sent);
    return 1;
}

int tutti_send_deliver(const struct tutti_send_request *sent)
{
    return sent->code == MPI_SUCCESS ? MPI_SUCCESS : tutti_fail_comm(sent->message.comm, sent->code);
}

int tutti_send_free(struct tutti_send_request *sent, MPI_Request *request)
{
    *request = tutti_handles.no_request;
    sent->given_up = 1;
    tutti_send_let_go(sent);
    return MPI_SUCCESS;
}
