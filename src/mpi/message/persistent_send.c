/* Persistent sends to ranks of the node. */
#include <limits.h>

#include "core/log.h"
#include "mpi/bounce/early.h"
#include "mpi/message/counted.h"
#include "mpi/message/requests.h"
#include "mpi/message/rndv.h"
#include "mpi/message/rndv_send.h"
#include "mpi/real/errors.h"
#include "mpi/real/lent.h"
#include "mpi/real/self.h"
#include "mpi/request/request.h"

enum { EAGER_MOST = 1024 }; /* bytes: MPIs have mostly sent so many when their call returns */

struct persistent_send {
    struct tutti_message message;
    struct tutti_stage stage;        /* for starts without a rendezvous */
    struct tutti_send_request *sent; /* under way */
    int tag, held;                   /* held: message.type is, as the program may free it before a start */
    int handed;                      /* 1: the MPI's request is started too, and completes with the send */
};

static struct persistent_send *persistent_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct persistent_send, entry);
}

static void drop_type(struct persistent_send *send)
{
    if (send->held)
        tutti_type_release(send->message.type);
}

/* A staged message, polled like a rendezvous. NULL: *code is the reason. */
static struct tutti_send_request *send_staged(struct persistent_send *send, const struct tutti_there *there,
                                              struct tutti_early *early, int *code)
{
    const struct tutti_message *m = &send->message;
    struct tutti_send_request *sent = tutti_send_new(m);
    int status = !sent                              ? TUTTI_ERR_MEMORY
                 : early->state == TUTTI_EARLY_NONE ? tutti_stage_in_from(&send->stage, &there->memory)
                                                    : tutti_early_fill(early, &send->stage);
    if (status != TUTTI_OK) {
        if (sent)
            tutti_send_destroy(sent);
        *code = tutti_stage_failed(m->name, m->comm, status);
        return NULL;
    }
    TUTTI_INSIDE();
#define SEND(call)                                                                                                     \
    (m->count > INT_MAX                                                                                                \
         ? tutti_next.call##_c(send->stage.host, m->count, send->stage.given, m->dest, m->tag, m->comm, &sent->rts)    \
         : tutti_next.call(send->stage.host, (int)m->count, send->stage.given, m->dest, m->tag, m->comm, &sent->rts))
    *code = m->mode == TUTTI_SEND_SYNCHRONOUS ? SEND(MPI_Issend)
            : m->mode == TUTTI_SEND_READY     ? SEND(MPI_Irsend)
                                              : SEND(MPI_Isend);
#undef SEND
    if (*code != MPI_SUCCESS) {
        tutti_send_destroy(sent);
        return NULL;
    }
    const enum tutti_reason reason = tutti_why_take(TUTTI_REASON_CALL);
    tutti_count_send(m->name, &send->stage, reason);
    if (reason == TUTTI_REASON_UNMAPPED)
        tutti_early_learn(early, &send->stage, there);
    return sent;
}

static int persistent_start(struct tutti_request *entry, MPI_Request *request)
{
    struct persistent_send *send = persistent_of(entry);
    int code = MPI_SUCCESS;
    if (send->sent) {
        tutti_error("%s: MPI_Start of a request that is active", send->message.name);
        return tutti_fail_comm(send->message.comm, MPI_ERR_REQUEST);
    }
    const struct tutti_message *const m = &send->message;
    struct tutti_there there = {.staged = send->stage.staged};
    struct tutti_early early;
    tutti_door.device->memory.classify(m->buffer, &there.memory);
    tutti_early_begin(&early, m->buffer, m->count, m->type, tutti_send_early(m->mode, &there.memory), &there);
    struct tutti_send_request *sent = tutti_send_begin(m, &there.memory, 0, &code);
    if (!sent && code == MPI_SUCCESS)
        sent = send_staged(send, &there, &early, &code);
    tutti_early_end(&early);
    if (!sent)
        return code;
    (void)request; /* it is started when the MPI is to complete it */
    send->handed = 0;
    sent->tag = send->tag;
    sent->borrowed = sent->claimed = 1;
    send->sent = sent;
    if (sent->core.rndv || send->stage.bytes > EAGER_MOST || !tutti_send_is_over(sent))
        tutti_send_list(sent);
    return code;
}

static void persistent_claim(struct tutti_request *const entries[], int n)
{
    for (int i = 0; i < n; i++)
        entries[i]->claimed = persistent_of(entries[i])->sent && !persistent_of(entries[i])->handed;
}

static int persistent_claimed_done(const struct tutti_request *entry)
{
    return tutti_send_has_left(persistent_of(entry)->sent);
}

static void persistent_unclaim(struct tutti_request *entry)
{
    struct persistent_send *send = persistent_of(entry);
    if (!send->sent || send->handed)
        return;
    send->handed = 1;
    {
        TUTTI_INSIDE();
        tutti_next.MPI_Start(&entry->handle); /* of a receive of nothing: it gives no error, and no other handle */
    }
    tutti_send_unclaim(send->sent);
}

static int persistent_deliver(struct tutti_request *entry, MPI_Status *status)
{
    (void)status;
    return persistent_of(entry)->sent ? tutti_send_deliver(persistent_of(entry)->sent) : MPI_SUCCESS;
}

static void persistent_settle(struct tutti_request *entry)
{
    struct persistent_send *send = persistent_of(entry);
    if (send->sent)
        tutti_send_release(send->sent);
    send->sent = NULL;
}

static MPI_Comm *persistent_send_comm_at(struct tutti_request *entry)
{
    return persistent_of(entry)->sent ? &persistent_of(entry)->sent->message.comm : &entry->comm;
}

static void persistent_close(struct tutti_request *entry)
{
    persistent_settle(entry);
    tutti_self_release(persistent_of(entry)->tag);
    tutti_stage_close(&persistent_of(entry)->stage);
    drop_type(persistent_of(entry));
}

static const struct tutti_request_kind kind = {.name = "persistent send to a rank of the node",
                                               .stays = 1,
                                               .start = persistent_start,
                                               .comm = persistent_send_comm_at,
                                               .cancel = tutti_send_cancel,
                                               .claim = persistent_claim,
                                               .unclaim = persistent_unclaim,
                                               .begins_claimed = 1,
                                               .claimed_done = persistent_claimed_done,
                                               .deliver = persistent_deliver,
                                               .settle = persistent_settle,
                                               .close = persistent_close};

int tutti_persistent_send_is_fine(const struct tutti_message *message, const MPI_Request *request)
{
    return tutti_endpoint && request && message->mode != TUTTI_SEND_BUFFERED && message->count > 0 &&
           tutti_type_find(message->type) && tutti_self_tag_is_fine(message->tag) &&
           tutti_endpoints_peer(message->comm, message->dest) >= 0;
}

int tutti_persistent_send_new(const struct tutti_message *message, struct tutti_stage *stage, MPI_Request *request,
                              int *code)
{
    if (!tutti_endpoint || tutti_endpoints_peer(message->comm, message->dest) < 0) {
        tutti_why_set(tutti_endpoints_why(message->comm, message->dest));
        return 0;
    }
    if (!stage->staged || message->mode == TUTTI_SEND_BUFFERED)
        return TUTTI_NO(CALL);
    struct tutti_request *entry = tutti_request_new(&kind, tutti_handles.no_request, message->comm);
    if (!entry)
        return 0;
    TUTTI_INSIDE();
    struct persistent_send *send = persistent_of(entry);
    send->message = *message;
    send->stage = *stage;
    send->held = tutti_type_hold(message->type); /* and with it the packed form in the MPI's call */
    if (!send->held || tutti_self_request(1, &entry->handle, &send->tag) != 0) {
        drop_type(send);
        tutti_request_give(entry);
        return 0;
    }
    entry->persistent = 1;
    *request = entry->handle;
    *code = tutti_request_put(entry);
    return 1;
}
