/* Sending to other nodes. Nothing of a message stays behind when a call returns: other calls of the program need not
 * know of it for the receiver to get it all. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "mpi/bounce/stage.h"
#include "mpi/message/far.h"
#include "mpi/message/letters.h"
#include "mpi/message/requests.h"
#include "mpi/real/errors.h"

/* What a request stands for. */
struct tutti_far_mail {
    struct tutti_message message;
    const struct tutti_plan *plan; /* held */
    uint64_t bytes, fragment;
    int world, gpu, whole; /* world: the receiver */
    unsigned char text[TUTTI_FAR_MAIL_BYTES];
};

/* ---- may it, and what of it ---- */

/* 1 where the message goes in fragments. The caller lets go of the plan then. */
static int look(const struct tutti_message *message, struct tutti_far_mail *mail)
{
    if (likely(!tutti_far_on) || tutti_inside || message->mode == TUTTI_SEND_BUFFERED || message->count <= 0 ||
        message->tag < 0 || message->type == tutti_handles.no_type)
        return 0;
    const struct tutti_layout *layout = tutti_layout_of(message->type);
    struct tutti_places places;
    uint64_t bytes;
    if (!layout || !layout->plan || __builtin_mul_overflow((uint64_t)message->count, layout->plan->size, &bytes) ||
        bytes <= TUTTI_FAR_MAIL_BYTES || bytes < tutti_lane_least ||
        tutti_rules_message_far(bytes) != TUTTI_PROTOCOL_pipelined)
        return 0;
    const int world = tutti_lanes_world(message->comm, message->dest);
    if (world < 0 || tutti_node_find(tutti_door.node, world) >= 0 || !tutti_mail_fits(message, layout))
        return 0;
    tutti_places_of(layout->plan, message->count, message->buffer, &places);
    if (!places.device || !tutti_places_reached(&places))
        return 0;
    mail->fragment = tutti_pipelined_fragment(bytes);
    if (mail->fragment == 0)
        return 0;
    mail->message = *message;
    mail->bytes = bytes;
    mail->world = world;
    mail->gpu = tutti_fragment_gpu(&places);
    mail->whole = layout->in_order && (layout->solid || message->count == 1);
    mail->plan = tutti_plan_hold(layout->plan);
    return 1;
}

void tutti_far_let_go(struct tutti_far_mail *mail)
{
    if (!mail)
        return;
    tutti_plan_drop(mail->plan);
    free(mail);
}

/* ---- mails ---- */

/* NULL: there is no memory, or no tag, now. */
static struct tutti_outgoing *offer(struct tutti_far_mail *mail)
{
    const struct tutti_elements elements = {.plan = mail->plan,
                                            .count = mail->message.count,
                                            .buffer = (void *)(uintptr_t)mail->message.buffer,
                                            .whole = mail->whole};
    struct tutti_pipelined_mail head;
    struct tutti_outgoing *out =
        tutti_pipelined_offer(tutti_far, &elements, mail->bytes, mail->fragment, mail->gpu, mail->world, &head);
    if (out)
        memcpy(mail->text, &head, sizeof head);
    return out;
}

/* The mail is on its way then. NULL: *code says why, or (MPI_SUCCESS) the message is left to the MPI. */
static struct tutti_outgoing *begin(struct tutti_far_mail *mail, MPI_Request *request, int *code)
{
    const struct tutti_message *m = &mail->message;
    *code = MPI_SUCCESS;
    struct tutti_outgoing *out = offer(mail);
    if (!out)
        return NULL;
    *code = (m->mode == TUTTI_SEND_READY ? tutti_real.MPI_Irsend : tutti_real.MPI_Issend)(
        mail->text, TUTTI_FAR_MAIL_BYTES, tutti_handles.byte, m->dest, m->tag, m->comm, request);
    if (*code == MPI_SUCCESS)
        return out;
    tutti_outgoing_withdraw(out);
    return NULL;
}

static void count(const struct tutti_far_mail *mail)
{
    const struct tutti_protocol_row *row = &tutti_protocols[TUTTI_PROTOCOL_pipelined];
    tutti_count(mail->message.name, row->outcome, row->reason);
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

static int failed(const struct tutti_far_mail *mail, int status)
{
    tutti_error("%s: sending device memory to another node failed: %s", mail->message.name, tutti_status_text(status));
    return tutti_fail_comm(mail->message.comm, tutti_error_code(status));
}

/* request: of a blocking call, the mail's. An MPI code. */
static int carry(struct tutti_outgoing *out, const struct tutti_far_mail *mail, MPI_Request *request)
{
    const int status = tutti_outgoing_carry(out, request ? is_matched : NULL, request);
    return status == TUTTI_OK ? MPI_SUCCESS : failed(mail, status);
}

int tutti_far_send(const struct tutti_message *message, int *code)
{
    struct tutti_far_mail mail;
    MPI_Request request;
    if (likely(!look(message, &mail)))
        return 0;
    TUTTI_INSIDE();
    memset(mail.text, 0, sizeof mail.text);
    struct tutti_outgoing *out = begin(&mail, &request, code);
    if (out) {
        count(&mail);
        *code = carry(out, &mail, &request);
        if (*code == MPI_SUCCESS)
            tutti_progress_wait(&(const struct tutti_wait){.done = is_matched, .with = &request});
    }
    tutti_plan_drop(mail.plan);
    return out || *code != MPI_SUCCESS;
}

static struct tutti_far_mail *new_mail(const struct tutti_message *message)
{
    struct tutti_far_mail mail, *made = NULL;
    if (likely(!look(message, &mail)))
        return NULL;
    if ((made = malloc(sizeof *made)) == NULL) {
        tutti_plan_drop(mail.plan);
        return NULL;
    }
    memset(mail.text, 0, sizeof mail.text);
    *made = mail;
    return made;
}

int tutti_far_isend(const struct tutti_message *message, MPI_Request *request, int *code)
{
    struct tutti_far_mail *mail = new_mail(message);
    if (!mail)
        return 0;
    TUTTI_INSIDE();
    struct tutti_outgoing *out = begin(mail, request, code);
    if (!out) {
        tutti_far_let_go(mail);
        return *code != MPI_SUCCESS;
    }
    count(mail);
    *code = carry(out, mail, NULL);
    if (*code == MPI_SUCCESS)
        *code = tutti_pipelined_put(*request, message->comm, mail, 0);
    return 1;
}

int tutti_far_init(const struct tutti_message *message, struct tutti_span *span, MPI_Request *request, int *code)
{
    struct tutti_far_mail *mail = new_mail(message);
    if (!mail)
        return 0;
    TUTTI_INSIDE();
    *code = (message->mode == TUTTI_SEND_READY ? tutti_real.MPI_Rsend_init : tutti_real.MPI_Ssend_init)(
        mail->text, TUTTI_FAR_MAIL_BYTES, tutti_handles.byte, message->dest, message->tag, message->comm, request);
    if (*code != MPI_SUCCESS) {
        tutti_far_let_go(mail);
        return 1;
    }
    tutti_span_close(span);
    *code = tutti_pipelined_put(*request, message->comm, mail, 1);
    return 1;
}

int tutti_far_start(struct tutti_far_mail *mail, MPI_Request *request)
{
    TUTTI_INSIDE();
    struct tutti_outgoing *out = offer(mail);
    if (!out)
        return failed(mail, TUTTI_ERR_MEMORY);
    int code = tutti_real.MPI_Start(request);
    if (code != MPI_SUCCESS) {
        tutti_outgoing_withdraw(out);
        return code;
    }
    count(mail);
    return carry(out, mail, NULL);
}
