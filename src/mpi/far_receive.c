/* Receiving in chunks: into pinned memory, from where a kernel puts them where they belong; where the program's buffer
 * is host memory, straight there if the elements are one run of bytes. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "mpi/arrivals.h"
#include "mpi/far_own.h"
#include "mpi/letters.h"
#include "mpi/nonblocking.h"

enum { DEPTH = 8 };

enum way {
    BY_KERNEL,
    BY_COPIES, /* elements in memory of several kinds */
    BY_HOST,
    STRAIGHT,
    AS_A_WHOLE, /* without a plan: unpacked by the MPI when all is there */
    DROPPED     /* too long for the buffer */
};

struct tutti_far_in {
    struct tutti_far_in *next;
    enum way way;
    struct tutti_far_head head;
    const struct tutti_plan *plan; /* held */
    MPI_Count count;
    char *buffer;
    char *memory; /* STRAIGHT: where the message begins; AS_A_WHOLE: of all of it; BY_HOST, DROPPED: of DEPTH
                     chunks */
    int gpu, whole;
    struct tutti_places places;
    uint64_t n, asked, come, stored; /* of chunks */
    atomic_int done;
    int status;
    struct slot {
        MPI_Request request;
        struct tutti_far_piece *piece; /* BY_KERNEL, BY_COPIES */
    } slot[DEPTH];
};

static struct tutti_far_in *all; /* under tutti_far_lock */

static uint64_t length(const struct tutti_far_in *in, uint64_t i)
{
    return i + 1 < in->n ? in->head.chunk : in->head.bytes - i * in->head.chunk;
}

static enum way way_of(const struct tutti_watch *watch, struct tutti_far_in *in)
{
    if (watch->far_mail.bytes > watch->capacity)
        return DROPPED;
    if (!watch->plan)
        return AS_A_WHOLE;
    in->places = (struct tutti_places){.gpu = -1};
    if (tutti_door.device && tutti_door.device->active())
        tutti_places_of(watch->plan, watch->count, watch->buffer, &in->places);
    if (in->places.device)
        return tutti_places_reached(&in->places) ? BY_KERNEL : BY_COPIES;
    return watch->whole ? STRAIGHT : BY_HOST;
}

/* Host memory, and where pinned memory is needed one piece, so that there is a way to the end. */
static int equip(struct tutti_far_in *in)
{
    const uint64_t few = in->n < DEPTH ? in->n : DEPTH;
    switch (in->way) {
    case BY_KERNEL:
    case BY_COPIES:
        in->gpu = tutti_far_gpu(&in->places);
        in->slot[0].piece = tutti_far_piece_take(in->head.chunk, in->gpu);
        return in->slot[0].piece != NULL;
    case STRAIGHT:
        in->memory = in->buffer + in->plan->true_lower;
        return 1;
    default:
        in->memory = malloc(in->way == AS_A_WHOLE ? in->head.bytes : few * in->head.chunk);
        return in->memory != NULL;
    }
}

static void release(struct tutti_far_in *in)
{
    for (int i = 0; i < DEPTH; i++) {
        if (in->slot[i].piece && in->stored == in->come) /* after a failure the device or the MPI may still use it */
            tutti_far_piece_give(in->slot[i].piece);
    }
    if (in->way != STRAIGHT && in->asked == in->come)
        free(in->memory);
    if (in->plan)
        tutti_plan_drop(in->plan);
    free(in);
}

void tutti_far_begin(struct tutti_watch *watch)
{
    struct tutti_far_in *in = calloc(1, sizeof *in);
    if (in) {
        in->head = watch->far_mail;
        in->n = (in->head.bytes + in->head.chunk - 1) / in->head.chunk;
        in->count = watch->count;
        in->buffer = watch->buffer;
        in->plan = watch->plan ? tutti_plan_hold(watch->plan) : NULL;
        in->whole = watch->whole;
        in->way = way_of(watch, in);
    }
    if (!in || !equip(in)) {
        tutti_error("no memory for a message of %llu bytes from another node: it is lost",
                    (unsigned long long)watch->far_mail.bytes);
        if (in && in->plan)
            tutti_plan_drop(in->plan);
        free(in);
        watch->state = TUTTI_WATCH_FAILED;
        watch->code = MPI_ERR_NO_MEM;
        return;
    }
    pthread_mutex_lock(&tutti_far_lock);
    const int first =
        watch->state == TUTTI_WATCH_FAR && !watch->far; /* a call that looks on may come at the same time */
    if (first) {
        struct tutti_far_in **at = &all; /* in order of arrival */
        while (*at)
            at = &(*at)->next;
        *at = in;
        watch->far = in;
        atomic_fetch_add_explicit(&tutti_far_moving, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&tutti_far_lock);
    if (!first)
        release(in);
}

static char *place(struct tutti_far_in *in, uint64_t i)
{
    switch (in->way) {
    case BY_KERNEL:
    case BY_COPIES:
        return in->slot[i % DEPTH].piece->memory;
    case STRAIGHT:
    case AS_A_WHOLE:
        return in->memory + i * in->head.chunk;
    default:
        return in->memory + i % DEPTH * in->head.chunk;
    }
}

/* Asks the MPI for the next chunk. 0: there is no memory now, or it failed. */
static int ask(struct tutti_far_in *in)
{
    const uint64_t i = in->asked;
    struct slot *slot = &in->slot[i % DEPTH];
    const int pinned = in->way == BY_KERNEL || in->way == BY_COPIES;
    if (pinned && !slot->piece && !(slot->piece = tutti_far_piece_take(in->head.chunk, in->gpu)))
        return 0;
    if (tutti_real.MPI_Irecv(place(in, i), (int)length(in, i), tutti_handles.byte, in->head.rank, in->head.tag,
                             tutti_lane_box, &slot->request) != MPI_SUCCESS) {
        in->status = TUTTI_ERR_TRANSPORT;
        return 0;
    }
    in->asked++;
    return 1;
}

/* A chunk has come. */
static int store(struct tutti_far_in *in)
{
    const uint64_t i = in->come, first = i * in->head.chunk, bytes = length(in, i);
    switch (in->way) {
    case BY_KERNEL:
        return tutti_far_move(TUTTI_UNPACK, in->gpu, in->plan, in->count, in->buffer, in->whole, first, bytes,
                              in->slot[i % DEPTH].piece);
    case BY_COPIES:
        return tutti_packed_move(TUTTI_UNPACK, &in->places, in->plan, in->count, in->buffer, first, bytes,
                                 place(in, i));
    case BY_HOST:
        tutti_plan_unpack_host(in->plan, (uint64_t)in->count, in->buffer, first, bytes, place(in, i));
        return TUTTI_OK;
    default:
        return TUTTI_OK;
    }
}

/* 1 where the chunk lies where it belongs. */
static int is_stored(struct tutti_far_in *in)
{
    if (in->way != BY_KERNEL)
        return 1;
    const int done = tutti_door.device->event_query(in->slot[in->stored % DEPTH].piece->event);
    if (done < 0)
        in->status = done;
    return done > 0;
}

static void step(struct tutti_far_in *in)
{
    int flag = 1;
    while (in->status == TUTTI_OK && in->stored < in->come && is_stored(in))
        in->stored++;
    while (in->status == TUTTI_OK && in->asked < in->n && in->asked - in->stored < DEPTH && ask(in))
        ;
    while (in->status == TUTTI_OK && in->come < in->asked) {
        if (tutti_real.MPI_Test(&in->slot[in->come % DEPTH].request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            in->status = TUTTI_ERR_TRANSPORT;
        if (!flag || in->status != TUTTI_OK)
            break;
        in->status = store(in);
        in->come++;
    }
    if (in->stored == in->n || in->status != TUTTI_OK)
        atomic_store_explicit(&in->done, 1, memory_order_release);
}

void tutti_far_advance(void)
{
    for (struct tutti_far_in *in = all; in; in = in->next) {
        if (!atomic_load_explicit(&in->done, memory_order_relaxed))
            step(in);
    }
}

static void end(struct tutti_watch *watch, struct tutti_span *span)
{
    struct tutti_far_in *in = watch->far;
    if (in->status == TUTTI_OK && in->way == AS_A_WHOLE)
        in->status = tutti_watch_unpack(watch, span, in->memory);
    pthread_mutex_lock(&tutti_far_lock);
    struct tutti_far_in **at = &all;
    while (*at != in)
        at = &(*at)->next;
    *at = in->next;
    watch->state = in->status == TUTTI_OK && in->way != DROPPED ? TUTTI_WATCH_FETCHED : TUTTI_WATCH_FAILED;
    watch->code = in->status != TUTTI_OK ? tutti_error_code(in->status) : MPI_ERR_TRUNCATE;
    watch->far = NULL;
    pthread_mutex_unlock(&tutti_far_lock);
    atomic_fetch_sub_explicit(&tutti_far_moving, 1, memory_order_relaxed);
    release(in);
}

void tutti_far_fetch(struct tutti_watch *const watches[], struct tutti_span *const spans[], int n, int wait)
{
    unsigned rounds = 0;
    int left = 0;
    for (int i = 0; i < n; i++) {
        if (watches[i]->state == TUTTI_WATCH_FAR && !watches[i]->far)
            tutti_far_begin(watches[i]);
        left += watches[i]->state == TUTTI_WATCH_FAR;
    }
    while (left > 0) {
        tutti_far_poll();
        left = 0;
        for (int i = 0; i < n; i++) {
            if (watches[i]->state != TUTTI_WATCH_FAR)
                continue;
            if (atomic_load_explicit(&watches[i]->far->done, memory_order_acquire))
                end(watches[i], spans[i]);
            else
                left++;
        }
        if (!wait)
            return;
        if (left > 0) { /* the sender may be waiting in the same way for this rank */
            tutti_letters_poll();
            tutti_nonblocking_pause(&rounds);
        }
    }
}
