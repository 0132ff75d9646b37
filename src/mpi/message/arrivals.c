#include "mpi/message/arrivals.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/reserve.h"
#include "core/settings.h"
#include "mpi/message/letters.h"
#include "mpi/real/errors.h"

int tutti_watch_open(struct tutti_watch *watch, const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm)
{
    *watch = (struct tutti_watch){.buffer = (void *)(uintptr_t)buffer, .count = count, .type = type, .comm = comm};
    if ((!tutti_lane && !tutti_far_on) || count <= 0 || type == tutti_handles.no_type || tutti_inside)
        return 0;
    const int active = tutti_door.device && tutti_door.device->active();
    if (tutti_lane && active)
        tutti_lanes_poll(buffer, 0);
    uint64_t least = tutti_lane && tutti_lane_listens(tutti_lane) ? TUTTI_MAIL_BYTES : tutti_lane_least;
    if ((active || tutti_far_hears()) && tutti_far_on && least > TUTTI_FAR_MAIL_BYTES)
        least = TUTTI_FAR_MAIL_BYTES;
    struct tutti_layout *layout = tutti_layout_of(type);
    if (!layout || __builtin_mul_overflow((uint64_t)count, (uint64_t)layout->size, &watch->capacity) ||
        watch->capacity < least)
        return 0;
    watch->size = layout->size;
    watch->extent = layout->extent;
    watch->whole = layout->in_order && (layout->solid || count == 1);
    if (layout->plan)
        watch->plan = tutti_plan_hold(layout->plan);
    else if (layout->derived && tutti_real.MPI_Type_dup(type, &watch->type) != MPI_SUCCESS)
        return 0;
    watch->own_type = !layout->plan && layout->derived;
    return 1;
}

void tutti_watch_close(struct tutti_watch *watch)
{
    if (watch->plan)
        tutti_plan_drop(watch->plan);
    watch->plan = NULL;
    if (watch->own_type)
        tutti_real.MPI_Type_free(&watch->type);
    watch->own_type = 0;
}

struct tutti_watch *tutti_watch_new(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm)
{
    struct tutti_watch made, *watch;
    if (!tutti_watch_open(&made, buffer, count, type, comm))
        return NULL;
    static struct tutti_reserve reserve;
    if (!(watch = tutti_reserve_take(&reserve, sizeof *watch))) {
        tutti_error("out of memory: messages from ranks of this node may be lost (TUTTI_MESSAGES=mpi does without)");
        tutti_watch_close(&made);
        return NULL;
    }
    *watch = made;
    return watch;
}

void tutti_watch_free(struct tutti_watch *watch)
{
    if (watch)
        tutti_watch_close(watch);
    free(watch);
}

/* ---- is it a mail? ---- */

/* The first bytes of what the MPI has received. */
static int first_bytes(const struct tutti_watch *watch, const struct tutti_span *span, unsigned char *out)
{
    const void *at = span->staged ? span->host : watch->buffer;
    if (span->staged && (span->packed || span->prefix)) {
        memcpy(out, span->memory, TUTTI_MAIL_BYTES);
        return 1;
    }
    if (watch->plan) {
        tutti_plan_pack_host(watch->plan, (uint64_t)watch->count, at, 0, TUTTI_MAIL_BYTES, out);
        return 1;
    }
    MPI_Count size = watch->size, few = size > 0 ? (TUTTI_MAIL_BYTES + size - 1) / size : 0;
    if (few <= 0 || few > watch->count || few * size > INT_MAX)
        return 0;
    int position = 0;
    char *packed = malloc((size_t)(few * size));
    int fine = packed && tutti_real.MPI_Pack(at, (int)few, watch->type, packed, (int)(few * size), &position,
                                             tutti_handles.self) == MPI_SUCCESS;
    if (fine)
        memcpy(out, packed, TUTTI_MAIL_BYTES);
    free(packed);
    return fine;
}

void tutti_watch_arrived(struct tutti_watch *watch, const struct tutti_span *span, const MPI_Status *status)
{
    unsigned char text[TUTTI_MAIL_BYTES];
    uint64_t key[2];
    TUTTI_INSIDE();
    watch->state = TUTTI_WATCH_PLAIN;
    const MPI_Count bytes = tutti_received(status);
    if (tutti_far_on && bytes == TUTTI_FAR_MAIL_BYTES && first_bytes(watch, span, text)) {
        memcpy(&watch->far_mail, text, sizeof watch->far_mail);
        if (tutti_far_is_mail(&watch->far_mail)) {
            watch->mail.bytes = watch->far_mail.bytes;
            watch->state = TUTTI_WATCH_FAR;
        }
        return;
    }
    if (!tutti_lane || bytes != TUTTI_MAIL_BYTES || !first_bytes(watch, span, text))
        return;
    memcpy(&watch->mail, text, sizeof watch->mail);
    tutti_node_key(tutti_door.node, key);
    if (memcmp(watch->mail.key, key, sizeof key) == 0)
        watch->state = TUTTI_WATCH_LETTER;
}

/* ---- fetching ---- */

/* One letter while it is fetched. */
struct fetch {
    struct tutti_watch *watch;
    struct tutti_span *span;
    struct tutti_letter *letter;
    struct tutti_mapping *held;
    int offered;                   /* the data lie in the sender's buffer */
    const struct tutti_plan *from; /* of the sender; held */
    void *bounce;                  /* pinned: where kernels do not reach the buffer */
    size_t room;
};

static void fail(struct tutti_watch *watch, int code)
{
    watch->state = TUTTI_WATCH_FAILED;
    watch->code = code;
}

static void end_fetch(struct fetch *f, int status)
{
    tutti_lane_release(tutti_lane, f->held);
    if (f->from)
        tutti_plan_drop(f->from);
    tutti_pinned_give(f->bounce, f->room);
    if (status == TUTTI_OK)
        f->watch->state = TUTTI_WATCH_FETCHED;
    else
        fail(f->watch, tutti_error_code(status));
    tutti_letter_set(f->letter, TUTTI_LETTER_DONE);
}

int tutti_watch_unpack(const struct tutti_watch *watch, struct tutti_span *span, char *packed)
{
    const uint64_t bytes = watch->mail.bytes;
    if (watch->plan) {
        struct tutti_places places;
        tutti_places_of(watch->plan, watch->count, watch->buffer, &places);
        if (!places.device) {
            tutti_plan_unpack_host(watch->plan, (uint64_t)watch->count, watch->buffer, 0, bytes, packed);
            return TUTTI_OK;
        }
        return tutti_packed_move(TUTTI_UNPACK, &places, watch->plan, watch->count, watch->buffer, 0, bytes, packed);
    }
    MPI_Count extent = watch->extent, size = watch->size;
    char *to = span->staged ? span->host : watch->buffer;
    for (uint64_t e = 0; e * (uint64_t)size < bytes; e++) {
        int position = 0;
        if (size > INT_MAX ||
            tutti_real.MPI_Unpack(packed + e * (uint64_t)size, (int)size, &position, to + (MPI_Count)e * extent, 1,
                                  watch->type, tutti_handles.self) != MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
    }
    return span->staged ? tutti_span_out(span, (MPI_Count)bytes) : TUTTI_OK;
}

static int unpack(const struct fetch *f, char *packed)
{
    return tutti_watch_unpack(f->watch, f->span, packed);
}

/* Data that the MPI carries, on the communicator of the lanes. */
struct tutti_mailed {
    MPI_Request request;
    char *packed; /* pinned */
    size_t room;
};

static void end_mailed(struct tutti_watch *watch)
{
    tutti_pinned_give(watch->mailed->packed, watch->mailed->room);
    free(watch->mailed);
    watch->mailed = NULL;
}

static int begin_mailed(struct tutti_watch *watch)
{
    const struct tutti_mail_head *mail = &watch->mail;
    if (mail->bytes > INT_MAX || !(watch->mailed = calloc(1, sizeof *watch->mailed)))
        return TUTTI_ERR_MEMORY;
    struct tutti_mailed *mailed = watch->mailed;
    mailed->packed = tutti_pinned_take(mail->bytes, &mailed->room);
    int status = mailed->packed ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK && tutti_real.MPI_Irecv(mailed->packed, (int)mail->bytes, tutti_handles.byte,
                                                   tutti_node_world(tutti_door.node, mail->rank), mail->number,
                                                   tutti_lane_box, &mailed->request) != MPI_SUCCESS)
        status = TUTTI_ERR_TRANSPORT;
    if (status != TUTTI_OK)
        end_mailed(watch);
    return status;
}

/* Does not wait. 1: all has come, into watch->mailed; 0: not yet; negative: a status. */
static int receive_mailed(struct tutti_watch *watch)
{
    int flag = 0, status = watch->mailed ? TUTTI_OK : begin_mailed(watch);
    if (status != TUTTI_OK)
        return status;
    return tutti_real.MPI_Test(&watch->mailed->request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS ? flag
                                                                                                 : TUTTI_ERR_TRANSPORT;
}

static int reachable(const struct tutti_watch *watch)
{
    int gpu = tutti_lane_gpu(tutti_lane);
    return watch->plan && tutti_places_reached(&watch->places) &&
           (gpu < 0 || watch->places.gpu < 0 || watch->places.gpu == gpu);
}

/* What a kernel has to do, from `data`. The lanes' GPU reaches that. */
static int job_of(struct fetch *f, char *data, struct tutti_pack_job *job)
{
    struct tutti_watch *watch = f->watch;
    const uint64_t bytes = watch->mail.bytes;
    const int laid_out = f->offered && f->letter->layout_bytes > 0;
    if (watch->plan && !watch->placed)
        tutti_places_of(watch->plan, watch->count, watch->buffer, &watch->places);
    const int direct = reachable(watch);
    char *to = watch->buffer;
    struct tutti_lane_layout layout = {.plan = NULL};
    int status =
        laid_out ? tutti_lane_layout(tutti_lane, watch->mail.rank, f->letter, f->held, data, bytes, &layout) : TUTTI_OK;
    f->from = layout.plan;
    if (status != TUTTI_OK)
        return status;
    if (!direct && !(to = f->bounce = tutti_pinned_take(bytes, &f->room)))
        return TUTTI_ERR_MEMORY;
    *job = (struct tutti_pack_job){.bytes = bytes};
    if (laid_out) {
        job->plan = f->from;
        job->count = layout.count;
        job->memory = layout.memory;
    }
    const int as_it_is = !direct || watch->whole;
    if (laid_out && as_it_is) {
        job->direction = TUTTI_PACK;
        job->packed = direct ? to + watch->plan->true_lower : to;
    } else if (laid_out) {
        job->direction = TUTTI_RELAYOUT;
        job->to_plan = watch->plan;
        job->to_count = (bytes + watch->plan->size - 1) / watch->plan->size;
        job->to = to;
    } else if (direct) {
        job->direction = TUTTI_UNPACK;
        job->plan = watch->plan;
        job->count = (uint64_t)watch->count;
        job->memory = to;
        job->packed = data;
    } else { /* no kernel: a copy */
        job->bytes = 0;
        return tutti_door.device->copy_now(to, data, bytes);
    }
    return TUTTI_OK;
}

/* The message is too long for the buffer: its sender is let go. 0: later. */
static int drop(struct fetch *f)
{
    if (tutti_letter_is(f->letter, TUTTI_LETTER_MAILED)) {
        int came = receive_mailed(f->watch);
        if (came == 0)
            return 0;
        if (came == 1)
            end_mailed(f->watch);
    } else if (!tutti_letter_is(f->letter, TUTTI_LETTER_PACKED) && !tutti_letter_win(f->letter, TUTTI_LETTER_DONE)) {
        return 0;
    }
    end_fetch(f, TUTTI_OK);
    fail(f->watch, MPI_ERR_TRUNCATE);
    return -1;
}

/* Takes the letter as far as it can be taken now. 1: `job` is to be run; 0: later; -1: it is done, or has failed. */
static int begin(struct fetch *f, struct tutti_pack_job *job)
{
    struct tutti_watch *watch = f->watch;
    const struct tutti_mail_head *mail = &watch->mail;
    f->letter = tutti_lane_find(tutti_lane, mail->rank, mail->number, mail->sequence);
    if (!f->letter) {
        tutti_error("a message from rank %d of this node is lost: its letter is gone", mail->rank);
        fail(watch, tutti_error_code(TUTTI_ERR_MISMATCH));
        return -1;
    }
    if (mail->bytes > watch->capacity)
        return drop(f);
    char *data = NULL;
    int status = TUTTI_OK;
    switch (atomic_load_explicit(&f->letter->state, memory_order_acquire)) {
    case TUTTI_LETTER_OFFERED:
        data = tutti_lane_reach(tutti_lane, mail->rank, f->letter, 1, mail->bytes, &f->held);
        if (!data || !tutti_letter_win(f->letter, TUTTI_LETTER_CLAIMED)) {
            tutti_lane_release(tutti_lane, f->held);
            f->held = NULL;
            return 0; /* its owner packs it */
        }
        f->offered = 1;
        break;
    case TUTTI_LETTER_PACKED:
        data = tutti_lane_reach(tutti_lane, mail->rank, f->letter, 0, mail->bytes, &f->held);
        if (!data) {
            end_fetch(f, TUTTI_ERR_ARGUMENT);
            return -1;
        }
        tutti_lane_meet(tutti_lane, mail->rank, f->letter);
        break;
    case TUTTI_LETTER_MAILED:
        if ((status = receive_mailed(watch)) == 0)
            return 0;
        if (status == 1) {
            status = unpack(f, watch->mailed->packed);
            end_mailed(watch);
        }
        end_fetch(f, status);
        return -1;
    default:
        return 0;
    }
    status = job_of(f, data, job);
    if (status == TUTTI_OK && job->bytes > 0)
        return 1;
    if (status == TUTTI_OK)
        status = unpack(f, f->bounce);
    end_fetch(f, status);
    return -1;
}

static int run(struct fetch *fetches, struct tutti_pack_job *jobs, unsigned n)
{
    const int gpu = tutti_lane_gpu(tutti_lane);
    int status = tutti_pack_now(gpu, jobs, n);
    for (unsigned i = 0; i < n; i++) {
        int one = status;
        if (one == TUTTI_OK && fetches[i].bounce)
            one = unpack(&fetches[i], fetches[i].bounce);
        end_fetch(&fetches[i], one);
    }
    return status;
}

struct fetching {
    struct tutti_watch *const *watches;
    struct tutti_span *const *spans;
    int n;
};

/* Fetches what can be fetched now, in one launch. 1: nothing is left. */
static int fetch(void *with)
{
    enum { MOST = 64 };
    struct fetch fetches[MOST];
    struct tutti_pack_job jobs[MOST];
    const struct fetching *all = with;
    unsigned used = 0, left = 0;
    for (int i = 0; i < all->n; i++) {
        struct tutti_watch *watch = all->watches[i];
        if (watch->state != TUTTI_WATCH_LETTER)
            continue;
        if (used == MOST) {
            left++;
            continue;
        }
        fetches[used] = (struct fetch){.watch = watch, .span = all->spans[i]};
        int what = begin(&fetches[used], &jobs[used]);
        used += what == 1;
        if (what == 0 && tutti_lane_watch(tutti_lane, watch->mail.rank) != TUTTI_OK)
            fail(watch, tutti_error_code(TUTTI_ERR_PEER));
        else
            left += what == 0;
    }
    if (used)
        run(fetches, jobs, used);
    return left == 0;
}

void tutti_watch_fetch(struct tutti_watch *const watches[], struct tutti_span *const spans[], int n, int wait)
{
    struct fetching all = {watches, spans, n};
    TUTTI_INSIDE();
    tutti_far_fetch(watches, spans, n, wait);
    if (!fetch(&all) && wait) /* their owners may wait in the same way for messages of this rank */
        tutti_progress_wait(
            &(const struct tutti_wait){.done = fetch, .with = &all, .what = "for the data of a message of the node"});
}

int tutti_watch_end(const struct tutti_watch *watch, MPI_Status *status)
{
    TUTTI_INSIDE();
    if (watch->state == TUTTI_WATCH_FETCHED) {
        tutti_real.MPI_Status_set_elements_x(status, tutti_handles.byte, (MPI_Count)watch->mail.bytes);
        return MPI_SUCCESS;
    }
    if (watch->code == MPI_ERR_TRUNCATE)
        tutti_error("a message of %llu bytes came for a buffer of %llu", (unsigned long long)watch->mail.bytes,
                    (unsigned long long)watch->capacity);
    return tutti_fail_comm(watch->comm, watch->code);
}

int tutti_watch_finish(struct tutti_watch *watch, struct tutti_span *span, MPI_Status *status, int *code)
{
    if (watch->state == TUTTI_WATCH_WAITING)
        tutti_watch_arrived(watch, span, status);
    if (watch->state == TUTTI_WATCH_PLAIN)
        return 0;
    if (tutti_watch_is_open(watch))
        tutti_watch_fetch(&watch, &span, 1, 1);
    *code = tutti_watch_end(watch, status);
    return 1;
}
