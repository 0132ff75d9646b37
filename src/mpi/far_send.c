/* Sending in chunks. Nothing of a message stays behind when a call returns: other calls of the program need not know
 * of it for the receiver to get it all. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/settings.h"
#include "mpi/far_own.h"
#include "mpi/letters.h"
#include "mpi/requests.h"

enum {
    MOST_CHUNKS = 65536, /* of a message; chunks of a longer one are longer */
    SHY = 1 << 16
};

/* Pairs of ranks and tags, hashed, by which messages as long as mails were sent. */
static _Atomic uint64_t shy[SHY / 64];

static unsigned shy_bit(int world, int tag)
{
    return (unsigned)(((uint64_t)(unsigned)world << 32 | (unsigned)tag) * 0x9e3779b97f4a7c15u >> 48) % SHY;
}

void tutti_far_alike(MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    MPI_Count size = 0;
    if (type == tutti_handles.no_type || tutti_real.MPI_Type_size_x(type, &size) != MPI_SUCCESS ||
        size * count != TUTTI_FAR_MAIL_BYTES)
        return;
    const int world = tutti_lanes_world(comm, dest);
    const unsigned bit = shy_bit(world, tag);
    if (world >= 0)
        atomic_fetch_or(&shy[bit / 64], UINT64_C(1) << bit % 64);
}

/* ---- may it, and what of it ---- */

/* A short message has shorter ones, so that there is something to do at the same time, a very long one longer ones. */
static uint64_t chunk_of(uint64_t bytes)
{
    const uint64_t usual = (uint64_t)tutti_settings()->message_chunk, least = (bytes + MOST_CHUNKS - 1) / MOST_CHUNKS;
    uint64_t chunk = usual;
    if (bytes < 4 * usual)
        chunk = bytes / 4 > usual / 4 ? bytes / 4 : usual / 4;
    if (chunk < least)
        chunk = least;
    return (chunk + 1023) / 1024 * 1024;
}

/* 1 where the message goes in chunks. The caller lets go of the plan then. */
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
        tutti_rules_message_far(bytes) != TUTTI_WAY_pipelined)
        return 0;
    const int world = tutti_lanes_world(message->comm, message->dest);
    if (world < 0 || tutti_node_find(tutti_door.node, world) >= 0 || !tutti_mail_fits(message, layout))
        return 0;
    const unsigned bit = shy_bit(world, message->tag);
    if (atomic_load_explicit(&shy[bit / 64], memory_order_relaxed) >> bit % 64 & 1)
        return 0;
    tutti_places_of(layout->plan, message->count, message->buffer, &places);
    if (!places.device || !tutti_places_reached(&places))
        return 0;
    const uint64_t chunk = chunk_of(bytes);
    if (chunk > INT_MAX)
        return 0;
    mail->message = *message;
    mail->bytes = bytes;
    mail->chunk = chunk < bytes ? chunk : bytes;
    mail->world = world;
    mail->gpu = tutti_far_gpu(&places);
    mail->whole = layout->in_order && (layout->solid || message->count == 1);
    if (tutti_far_clashes(mail))
        return 0;
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

static void write_text(struct tutti_far_mail *mail, const struct tutti_far_out *out)
{
    struct tutti_far_head head = {.sequence = out->sequence,
                                  .bytes = out->bytes,
                                  .chunk = out->size,
                                  .tag = TUTTI_FAR_TAGS_FROM + out->tag,
                                  .rank = tutti_door.rank};
    tutti_far_key(head.key);
    memcpy(mail->text, &head, sizeof head);
}

/* Sends word of the mail, before it. */
static int speak(struct tutti_far_out *out, uint64_t bytes)
{
    out->word = (struct tutti_far_word){.sequence = out->sequence, .bytes = bytes, .tag = out->of_message};
    return tutti_real.MPI_Isend(&out->word, (int)sizeof out->word, tutti_handles.byte, out->world, TUTTI_FAR_WORD_TAG,
                                tutti_lane_box, &out->spoken);
}

/* The mail was not sent. */
static void take_back(struct tutti_far_out *out)
{
    tutti_real.MPI_Wait(&out->spoken, MPI_STATUS_IGNORE);
    if (speak(out, 0) == MPI_SUCCESS)
        tutti_real.MPI_Wait(&out->spoken, MPI_STATUS_IGNORE);
    tutti_far_out_give_up(out);
}

/* The mail is on its way then. NULL: *code says why, or (MPI_SUCCESS) the message is left to the MPI. */
static struct tutti_far_out *begin(struct tutti_far_mail *mail, MPI_Request *request, int *code)
{
    const struct tutti_message *m = &mail->message;
    *code = MPI_SUCCESS;
    struct tutti_far_out *out = tutti_far_out_new(mail);
    if (!out)
        return NULL;
    if (speak(out, out->bytes) != MPI_SUCCESS) {
        tutti_far_out_give_up(out);
        return NULL;
    }
    write_text(mail, out);
    *code = (m->mode == TUTTI_SEND_READY ? tutti_real.MPI_Irsend : tutti_real.MPI_Issend)(
        mail->text, TUTTI_FAR_MAIL_BYTES, tutti_handles.byte, m->dest, m->tag, m->comm, request);
    if (*code == MPI_SUCCESS)
        return out;
    take_back(out);
    return NULL;
}

static void count(const struct tutti_far_mail *mail)
{
    tutti_count(mail->message.name, "accelerated", "pipelined to another node");
}

/* ---- calls ---- */

int tutti_far_send(const struct tutti_message *message, int *code)
{
    struct tutti_far_mail mail;
    MPI_Request request;
    unsigned rounds = 0;
    if (likely(!look(message, &mail)))
        return 0;
    TUTTI_INSIDE();
    memset(mail.text, 0, sizeof mail.text);
    struct tutti_far_out *out = begin(&mail, &request, code);
    if (out) {
        count(&mail);
        *code = tutti_far_out_carry(out, &mail, &request);
        tutti_far_out_leave(out);
        while (*code == MPI_SUCCESS && !tutti_far_complete(&request))
            tutti_far_wait(&rounds);
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
    struct tutti_far_out *out = begin(mail, request, code);
    if (!out) {
        tutti_far_let_go(mail);
        return *code != MPI_SUCCESS;
    }
    count(mail);
    *code = tutti_far_out_carry(out, mail, NULL);
    tutti_far_out_leave(out);
    if (*code == MPI_SUCCESS)
        *code = tutti_pending_put(*request, message->comm, &(struct tutti_pending){.far = mail});
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
    *code = tutti_pending_put(*request, message->comm, &(struct tutti_pending){.far = mail, .persistent = 1});
    return 1;
}

int tutti_far_start(struct tutti_far_mail *mail, MPI_Request *request)
{
    TUTTI_INSIDE();
    struct tutti_far_out *out = tutti_far_out_new(mail);
    if (!out)
        return tutti_far_failed(mail, TUTTI_ERR_MEMORY);
    if (speak(out, out->bytes) != MPI_SUCCESS) {
        tutti_far_out_give_up(out);
        return tutti_far_failed(mail, TUTTI_ERR_TRANSPORT);
    }
    write_text(mail, out);
    int code = tutti_real.MPI_Start(request);
    if (code != MPI_SUCCESS) {
        take_back(out);
        return code;
    }
    count(mail);
    code = tutti_far_out_carry(out, mail, NULL);
    tutti_far_out_leave(out);
    return code;
}
