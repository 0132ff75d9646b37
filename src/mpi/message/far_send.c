/* Sending to other nodes. Nothing of a message stays behind when a call returns: other calls of the program need not
 * know of it for the receiver to get it all. */
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
    const struct tutti_plan *plan; /* held */
    uint64_t bytes, fragment;
    int world, gpu, whole; /* world: the receiver */
    unsigned char text[TUTTI_FAR_RTS_BYTES];
};

/* ---- may it, and what of it ---- */

/* 1 where the message goes in fragments. The caller lets go of the plan then. */
static int look(const struct tutti_message *message, struct tutti_far_rts *rts)
{
    if (likely(!tutti_far_on) || tutti_inside || message->mode == TUTTI_SEND_BUFFERED || message->count <= 0 ||
        message->tag < 0 || message->type == tutti_handles.no_type)
        return 0;
    const struct tutti_layout *layout = tutti_layout_of(message->type);
    struct tutti_places places;
    uint64_t bytes;
    if (!layout || !layout->plan || __builtin_mul_overflow((uint64_t)message->count, layout->plan->size, &bytes) ||
        bytes <= TUTTI_FAR_RTS_BYTES || bytes < TUTTI_MESSAGE_SHORTEST ||
        tutti_rules_message_far(bytes) != TUTTI_PROTOCOL_pipelined)
        return 0;
    const int world = tutti_endpoints_world(message->comm, message->dest);
    if (world < 0 || tutti_node_find(tutti_door.node, world) >= 0 || !tutti_rts_fits(message, layout))
        return 0;
    tutti_places_of(layout->plan, message->count, message->buffer, &places);
    if (!places.device || !tutti_places_reached(&places))
        return TUTTI_NO(UNREACHED);
    rts->fragment = tutti_pipelined_fragment(bytes);
    if (rts->fragment == 0)
        return 0;
    rts->message = *message;
    rts->bytes = bytes;
    rts->world = world;
    rts->gpu = tutti_fragment_gpu(&places);
    rts->whole = layout->in_order && (layout->solid || message->count == 1);
    rts->plan = tutti_plan_hold(layout->plan);
    return 1;
}

void tutti_far_let_go(struct tutti_far_rts *rts)
{
    if (!rts)
        return;
    tutti_plan_drop(rts->plan);
    free(rts);
}

/* ---- RTSs ---- */

/* NULL: there is no memory, or no tag, now. */
static struct tutti_outgoing *offer(struct tutti_far_rts *rts)
{
    const struct tutti_elements elements = {.plan = rts->plan,
                                            .count = rts->message.count,
                                            .buffer = (void *)(uintptr_t)rts->message.buffer,
                                            .whole = rts->whole};
    struct tutti_pipelined_rts head;
    struct tutti_outgoing *out =
        tutti_pipelined_offer(tutti_far, &elements, rts->bytes, rts->fragment, rts->gpu, rts->world, &head);
    if (out)
        memcpy(rts->text, &head, sizeof head);
    return out;
}

/* The RTS is on its way then. NULL: *code says why, or (MPI_SUCCESS) the message is left to the MPI. */
static struct tutti_outgoing *begin(struct tutti_far_rts *rts, MPI_Request *request, int *code)
{
    const struct tutti_message *m = &rts->message;
    *code = MPI_SUCCESS;
    struct tutti_outgoing *out = offer(rts);
    if (!out)
        return NULL;
    *code = (m->mode == TUTTI_SEND_READY ? tutti_real.MPI_Irsend : tutti_real.MPI_Issend)(
        rts->text, TUTTI_FAR_RTS_BYTES, tutti_handles.byte, m->dest, m->tag, m->comm, request);
    if (*code == MPI_SUCCESS)
        return out;
    tutti_outgoing_withdraw(out);
    return NULL;
}

static void count(const struct tutti_far_rts *rts)
{
    const struct tutti_protocol_row *row = &tutti_protocols[TUTTI_PROTOCOL_pipelined];
    tutti_count_made(rts->message.name, row->reason, rts->bytes);
}

/* ---- calls ---- */

static int is_matched(void *with)
{
    MPI_Request *request = with;
    int flag = 1;
    if (*request != tutti_handles.no_request && tutti_real.MPI_Test(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        flag = 1;
    return flag;
}

static int failed(const struct tutti_message *message, int status)
{
    tutti_error("%s: sending device memory to another node failed: %s", message->name, tutti_status_text(status));
    return tutti_fail_comm(message->comm, tutti_error_code(status));
}

static struct tutti_far_rts *new_rts(const struct tutti_message *message)
{
    struct tutti_far_rts rts, *made = NULL;
    if (likely(!look(message, &rts)))
        return NULL;
    if ((made = malloc(sizeof *made)) == NULL) {
        tutti_plan_drop(rts.plan);
        return NULL;
    }
    memset(rts.text, 0, sizeof rts.text);
    *made = rts;
    return made;
}

/* The message could not be carried. The MPI may still be sending the RTS, which therefore lives until its request has
 * completed; *request is null afterwards. An MPI code. */
static int abandon(struct tutti_far_rts *rts, MPI_Request *request, int status)
{
    const struct tutti_message message = rts->message;
    if (*request == tutti_handles.no_request)
        tutti_far_let_go(rts);
    else
        tutti_pipelined_abandon(*request, message.comm, rts);
    *request = tutti_handles.no_request;
    return failed(&message, status); /* last: an error handler may not return */
}

int tutti_far_send(const struct tutti_message *message, int *code)
{
    struct tutti_far_rts *rts = new_rts(message);
    MPI_Request request;
    if (likely(!rts))
        return 0;
    TUTTI_INSIDE();
    struct tutti_outgoing *out = begin(rts, &request, code);
    if (!out) {
        tutti_far_let_go(rts);
        return *code != MPI_SUCCESS;
    }
    count(rts);
    const int status = tutti_outgoing_carry(out, is_matched, &request);
    if (status != TUTTI_OK) {
        *code = abandon(rts, &request, status);
        return 1;
    }
    tutti_progress_wait(&(const struct tutti_wait){.done = is_matched, .with = &request});
    tutti_far_let_go(rts);
    return 1;
}

int tutti_far_isend(const struct tutti_message *message, MPI_Request *request, int *code)
{
    struct tutti_far_rts *rts = new_rts(message);
    if (!rts)
        return 0;
    TUTTI_INSIDE();
    struct tutti_outgoing *out = begin(rts, request, code);
    if (!out) {
        tutti_far_let_go(rts);
        return *code != MPI_SUCCESS;
    }
    count(rts);
    const int status = tutti_outgoing_carry(out, NULL, NULL);
    *code = status == TUTTI_OK ? tutti_pipelined_put(*request, message->comm, rts, 0) : abandon(rts, request, status);
    return 1;
}

int tutti_far_init(const struct tutti_message *message, struct tutti_stage *stage, MPI_Request *request, int *code)
{
    struct tutti_far_rts *rts = new_rts(message);
    if (!rts)
        return 0;
    TUTTI_INSIDE();
    *code = (message->mode == TUTTI_SEND_READY ? tutti_real.MPI_Rsend_init : tutti_real.MPI_Ssend_init)(
        rts->text, TUTTI_FAR_RTS_BYTES, tutti_handles.byte, message->dest, message->tag, message->comm, request);
    if (*code != MPI_SUCCESS) {
        tutti_far_let_go(rts);
        return 1;
    }
    tutti_stage_close(stage);
    *code = tutti_pipelined_put(*request, message->comm, rts, 1);
    return 1;
}

int tutti_far_start(struct tutti_far_rts *rts, MPI_Request *request)
{
    TUTTI_INSIDE();
    struct tutti_outgoing *out = offer(rts);
    if (!out)
        return failed(&rts->message, TUTTI_ERR_MEMORY);
    int code = tutti_real.MPI_Start(request);
    if (code != MPI_SUCCESS) {
        tutti_outgoing_withdraw(out);
        return code;
    }
    count(rts);
    const int status = tutti_outgoing_carry(out, NULL, NULL);
    return status == TUTTI_OK ? MPI_SUCCESS : failed(&rts->message, status);
}
