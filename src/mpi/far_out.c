/* The chunks of messages that are sent: packing them, giving them to the MPI, and what is left when it has them. */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "mpi/far_own.h"
#include "mpi/requests.h"

enum {
    AHEAD = 4,         /* chunks that are being packed at a time */
    DEPTH = 8,         /* of a blocking send, packed and on their way */
    GRACE_NS = 3000000 /* how long the receiver may bring nothing on before more memory is taken */
};

/* Under tutti_far_lock. */
static struct tutti_far_out *all;
static uint64_t sequence, tags[TUTTI_FAR_TAGS / 64];
static int next_tag;

int tutti_far_clashes(const struct tutti_far_mail *mail)
{
    const uint64_t scope = tutti_comm_key(mail->message.comm);
    int clash = 0;
    pthread_mutex_lock(&tutti_far_lock);
    for (const struct tutti_far_out *out = all; out; out = out->next)
        clash |= out->world == mail->world && out->of_message == mail->message.tag && out->scope != scope &&
                 out->bytes != mail->bytes;
    pthread_mutex_unlock(&tutti_far_lock);
    return clash;
}

/* The lock is held. */
static int take_tag(void)
{
    for (int i = 0; i < TUTTI_FAR_TAGS; i++) {
        const int tag = next_tag;
        next_tag = (next_tag + 1) % TUTTI_FAR_TAGS;
        if (tags[tag / 64] >> tag % 64 & 1)
            continue;
        tags[tag / 64] |= UINT64_C(1) << tag % 64;
        return tag;
    }
    return -1;
}

/* The lock is held. */
static void destroy(struct tutti_far_out *out)
{
    struct tutti_far_out **at = &all;
    while (*at != out)
        at = &(*at)->next;
    *at = out->next;
    tags[out->tag / 64] &= ~(UINT64_C(1) << out->tag % 64);
    atomic_fetch_sub_explicit(&tutti_far_moving, 1, memory_order_relaxed);
    free(out);
}

struct tutti_far_out *tutti_far_out_new(const struct tutti_far_mail *mail)
{
    const uint64_t n = (mail->bytes + mail->chunk - 1) / mail->chunk;
    struct tutti_far_piece *piece = tutti_far_piece_take(mail->chunk, mail->gpu);
    struct tutti_far_out *out = piece ? calloc(1, sizeof *out + n * sizeof *out->chunk) : NULL;
    if (!out) {
        if (piece)
            tutti_far_piece_give(piece);
        return NULL;
    }
    *out = (struct tutti_far_out){.working = 1,
                                  .world = mail->world,
                                  .of_message = mail->message.tag,
                                  .scope = tutti_comm_key(mail->message.comm),
                                  .bytes = mail->bytes,
                                  .size = mail->chunk,
                                  .n = n,
                                  .spoken = tutti_handles.no_request};
    out->chunk[0].piece = piece;
    pthread_mutex_lock(&tutti_far_lock);
    out->tag = take_tag();
    out->sequence = ++sequence;
    if (out->tag >= 0) {
        out->next = all;
        all = out;
        atomic_fetch_add_explicit(&tutti_far_moving, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&tutti_far_lock);
    if (out->tag >= 0)
        return out;
    tutti_far_piece_give(piece);
    free(out);
    return NULL;
}

void tutti_far_out_give_up(struct tutti_far_out *out)
{
    if (out->chunk[0].piece)
        tutti_far_piece_give(out->chunk[0].piece);
    pthread_mutex_lock(&tutti_far_lock);
    destroy(out);
    pthread_mutex_unlock(&tutti_far_lock);
}

int tutti_far_complete(MPI_Request *request)
{
    int flag = 1;
    if (*request != tutti_handles.no_request && tutti_real.MPI_Test(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        flag = 1;
    return flag;
}

/* Chunks that have gone, in order. */
static void reap(struct tutti_far_out *out)
{
    while (out->gone < out->sent && tutti_far_complete(&out->chunk[out->gone].request)) {
        tutti_far_piece_give(out->chunk[out->gone].piece);
        out->chunk[out->gone++].piece = NULL;
    }
}

void tutti_far_reap(void)
{
    for (struct tutti_far_out *out = all, *next; out; out = next) {
        next = out->next;
        if (out->working)
            continue;
        reap(out);
        if (out->gone == out->sent && tutti_far_complete(&out->spoken))
            destroy(out);
    }
}

void tutti_far_out_leave(struct tutti_far_out *out)
{
    pthread_mutex_lock(&tutti_far_lock);
    out->working = 0;
    pthread_mutex_unlock(&tutti_far_lock);
}

static uint64_t length(const struct tutti_far_out *out, uint64_t i)
{
    return i + 1 < out->n ? out->size : out->bytes - i * out->size;
}

/* The last one is sent synchronously: when it is gone, all have been received, and the tag is free. */
static int send_chunk(struct tutti_far_out *out)
{
    struct tutti_far_chunk *chunk = &out->chunk[out->sent];
    const int last = out->sent + 1 == out->n, bytes = (int)length(out, out->sent), tag = TUTTI_FAR_TAGS_FROM + out->tag;
    int (*const send)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
        last ? tutti_real.MPI_Issend : tutti_real.MPI_Isend;
    const int code =
        send(chunk->piece->memory, bytes, tutti_handles.byte, out->world, tag, tutti_lane_box, &chunk->request);
    if (code == MPI_SUCCESS)
        out->sent++;
    return code;
}

/* Begins to pack the next chunk. 0: there is no memory now; negative: failed. */
static int pack_chunk(struct tutti_far_out *out, const struct tutti_far_mail *mail)
{
    struct tutti_far_chunk *chunk = &out->chunk[out->begun];
    chunk->request = tutti_handles.no_request;
    if (!chunk->piece && !(chunk->piece = tutti_far_piece_take(out->size, mail->gpu)))
        return 0;
    const int status = tutti_far_move(TUTTI_PACK, mail->gpu, mail->plan, mail->message.count, mail->message.buffer,
                                      mail->whole, out->begun * out->size, length(out, out->begun), chunk->piece);
    if (status != TUTTI_OK)
        return status;
    out->begun++;
    return 1;
}

void tutti_far_wait(unsigned *rounds)
{
    tutti_letters_poll();
    if (tutti_far_hears() && *rounds % 8 == 7) /* this rank may be sent as much as it sends */
        tutti_pending_look();
    if (tutti_nonblocking_busy())
        tutti_nonblocking_poll();
    tutti_nonblocking_pause(rounds);
}

int tutti_far_failed(const struct tutti_far_mail *mail, int status)
{
    tutti_error("%s: packing device memory failed: %s", mail->message.name, tutti_status_text(status));
    return tutti_fail_comm(mail->message.comm, tutti_error_code(status));
}

int tutti_far_out_carry(struct tutti_far_out *out, const struct tutti_far_mail *mail, MPI_Request *matched)
{
    const struct tutti_device *device = tutti_door.device;
    uint64_t since = tutti_now_ns(), limit = matched ? DEPTH : UINT64_MAX;
    unsigned rounds = 0;
    while (out->sent < out->n) {
        const uint64_t before = out->gone + out->begun + out->sent;
        reap(out);
        while (out->begun < out->n && out->begun - out->sent < AHEAD && out->begun - out->gone < limit) {
            const int status = pack_chunk(out, mail);
            if (status < 0)
                return tutti_far_failed(mail, status);
            if (status == 0)
                break;
        }
        if (out->sent < out->begun) {
            const int done = device->event_query(out->chunk[out->sent].piece->event);
            if (done < 0)
                return tutti_far_failed(mail, done);
            const int code = done ? send_chunk(out) : MPI_SUCCESS;
            if (code != MPI_SUCCESS)
                return tutti_fail_comm(mail->message.comm, code);
        }
        if (before != out->gone + out->begun + out->sent) {
            since = tutti_now_ns();
            rounds = 0;
            continue;
        }
        if (!matched || !tutti_far_complete(matched))
            since = out->sent < out->begun ? since : tutti_now_ns();
        else if (tutti_now_ns() - since > GRACE_NS)
            limit = UINT64_MAX;
        tutti_far_wait(&rounds);
    }
    return MPI_SUCCESS;
}
