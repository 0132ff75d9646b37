/* Sends to other nodes. When a send has completed, the receiver gets the whole message without further calls of this
 * program. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "mpi/bounce/stage.h"
#include "mpi/message/far.h"
#include "mpi/message/requests.h"
#include "mpi/message/rndv.h"
#include "mpi/real/errors.h"

/* What a request stands for. */
struct tutti_far_rts {
    struct tutti_message message;
    struct tutti_p2p_send core; /* of which the plan is held */
    const struct tutti_protocol_row *row;
    unsigned char text[TUTTI_FAR_RTS_BYTES];
};

/* ---- whether and what to send ---- */

/* 1 if the message goes in fragments. Then the caller releases the plan. */
static int far_send_look(const struct tutti_message *message, struct tutti_far_rts *rts)
{
    if (likely(!tutti_far_on) || tutti_inside || message->mode == TUTTI_SEND_BUFFERED || message->count <= 0 ||
        message->tag < 0 || message->type == tutti_handles.no_type)
        return 0;
    const struct tutti_layout *layout = tutti_layout_of(message->type);
    uint64_t bytes;
    if (!layout || !layout->plan || __builtin_mul_overflow((uint64_t)message->count, layout->plan->size, &bytes) ||
        bytes <= TUTTI_FAR_RTS_BYTES || !(rts->row = tutti_p2p_first(&tutti_rules_of_messages, 1, bytes, &(int){0})))
        return 0;
    const int world = tutti_endpoints_world(message->comm, message->dest);
    if (world < 0 || tutti_node_find(tutti_door.node, world) >= 0 ||
        !tutti_rts_fits(message, layout, TUTTI_FAR_RTS_BYTES))
        return 0;
    rts->core = (struct tutti_p2p_send){
        .elements = tutti_message_elements(message->buffer, message->count, layout), .bytes = bytes, .to = world};
    if (!rts->row->ops->can(&tutti_p2p, &rts->core))
        return 0;
    rts->message = *message;
    tutti_plan_hold(layout->plan);
    return 1;
}

void tutti_far_release(struct tutti_far_rts *rts)
{
    if (!rts)
        return;
    tutti_plan_drop(rts->core.elements.plan);
    free(rts);
}

/* ---- RTSs ---- */

/* NULL: there is no memory, or no free tag, now. */
static struct tutti_outgoing *far_send_offer(struct tutti_far_rts *rts)
{
    if (!rts->row->ops->post(&tutti_p2p, &rts->core, NULL))
        return NULL;
    memcpy(rts->text, &rts->core.rts, sizeof rts->core.rts);
    return rts->core.out;
}

/* Sends the RTS. NULL: *code is the error, or MPI_SUCCESS: the MPI takes the message. */
static struct tutti_outgoing *far_send_begin(struct tutti_far_rts *rts, MPI_Request *request, int *code)
{
    const struct tutti_message *m = &rts->message;
    *code = MPI_SUCCESS;
    struct tutti_outgoing *out = far_send_offer(rts);
    if (!out)
        return NULL;
    *code = (m->mode == TUTTI_SEND_READY ? tutti_next.MPI_Irsend : tutti_next.MPI_Issend)(
        rts->text, TUTTI_FAR_RTS_BYTES, tutti_handles.byte, m->dest, m->tag, m->comm, request);
    if (*code == MPI_SUCCESS)
        return out;
    rts->row->ops->cancel(&tutti_p2p, &rts->core);
    return NULL;
}

static void far_send_count(const struct tutti_far_rts *rts)
{
    tutti_count_made(rts->message.name, rts->row->reason, rts->core.bytes);
}

/* ---- calls ---- */

static int is_matched(void *with)
{
    MPI_Request *request = with;
    int flag = 1;
    if (*request != tutti_handles.no_request && tutti_next.MPI_Test(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        flag = 1;
    return flag;
}

static int far_send_failed(const struct tutti_message *message, int status)
{
    tutti_error("%s: sending device memory to another node failed: %s", message->name, tutti_status_text(status));
    return tutti_fail_comm(message->comm, tutti_error_code(status));
}

static struct tutti_far_rts *new_rts(const struct tutti_message *message)
{
    struct tutti_far_rts rts, *made = NULL;
    if (likely(!far_send_look(message, &rts)))
        return NULL;
    if ((made = malloc(sizeof *made)) == NULL) {
        tutti_plan_drop(rts.core.elements.plan);
        return NULL;
    }
    memset(rts.text, 0, sizeof rts.text);
    *made = rts;
    return made;
}

/* The message could not be carried. The MPI may still be sending the RTS, which is kept until its request has
 * completed; *request becomes null. An MPI code. */
static int far_send_abandon(struct tutti_far_rts *rts, MPI_Request *request, int status)
{
    const struct tutti_message message = rts->message;
    if (*request == tutti_handles.no_request)
        tutti_far_release(rts);
    else
        tutti_pipelined_abandon(*request, message.comm, rts);
    *request = tutti_handles.no_request;
    return far_send_failed(&message, status); /* last, since an error handler may not return */
}

int tutti_far_send(const struct tutti_message *message, int *code)
{
    struct tutti_far_rts *rts = new_rts(message);
    MPI_Request request;
    if (likely(!rts))
        return 0;
    TUTTI_INSIDE();
    struct tutti_outgoing *out = far_send_begin(rts, &request, code);
    if (!out) {
        tutti_far_release(rts);
        return *code != MPI_SUCCESS;
    }
    far_send_count(rts);
    const int status = tutti_outgoing_carry(out, is_matched, &request);
    if (status != TUTTI_OK) {
        *code = far_send_abandon(rts, &request, status);
        return 1;
    }
    tutti_progress_wait(&(const struct tutti_wait){.done = is_matched, .with = &request});
    tutti_far_release(rts);
    return 1;
}

int tutti_far_isend(const struct tutti_message *message, MPI_Request *request, int *code)
{
    struct tutti_far_rts *rts = new_rts(message);
    if (!rts)
        return 0;
    TUTTI_INSIDE();
    struct tutti_outgoing *out = far_send_begin(rts, request, code);
    if (!out) {
        tutti_far_release(rts);
        return *code != MPI_SUCCESS;
    }
    far_send_count(rts);
    const int status = tutti_outgoing_carry(out, NULL, NULL);
    *code = status == TUTTI_OK ? tutti_pipelined_put(*request, message->comm, rts, 0)
                               : far_send_abandon(rts, request, status);
    return 1;
}

int tutti_far_init(const struct tutti_message *message, struct tutti_stage *stage, MPI_Request *request, int *code)
{
    struct tutti_far_rts *rts = new_rts(message);
    if (!rts)
        return 0;
    TUTTI_INSIDE();
    *code = (message->mode == TUTTI_SEND_READY ? tutti_next.MPI_Rsend_init : tutti_next.MPI_Ssend_init)(
        rts->text, TUTTI_FAR_RTS_BYTES, tutti_handles.byte, message->dest, message->tag, message->comm, request);
    if (*code != MPI_SUCCESS) {
        tutti_far_release(rts);
        return 1;
    }
    tutti_stage_close(stage);
    *code = tutti_pipelined_put(*request, message->comm, rts, 1);
    return 1;
}

int tutti_far_start(struct tutti_far_rts *rts, MPI_Request *request)
{
    TUTTI_INSIDE();
    struct tutti_outgoing *out = far_send_offer(rts);
    if (!out)
        return far_send_failed(&rts->message, TUTTI_ERR_MEMORY);
    int code = tutti_next.MPI_Start(request);
    if (code != MPI_SUCCESS) {
        rts->row->ops->cancel(&tutti_p2p, &rts->core);
        return code;
    }
    far_send_count(rts);
    const int status = tutti_outgoing_carry(out, NULL, NULL);
    return status == TUTTI_OK ? MPI_SUCCESS : far_send_failed(&rts->message, status);
}
