/* The receiver. Fragments arrive in pinned memory, from where a kernel stores them in the buffer. If the buffer is
 * host memory and the elements are one run of bytes, they are received in place. */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/status.h"
#include "p2p/pipelined_own.h"

enum { DEPTH = 8 };

enum way {
    BY_KERNEL,
    BY_COPIES, /* elements in memory of several kinds */
    BY_HOST,
    STRAIGHT,
    AS_A_WHOLE, /* without a plan */
    DROPPED     /* too long for the buffer */
};

struct tutti_incoming {
    struct tutti_pipelined *pipelined;
    struct tutti_sched *sched;
    struct tutti_pipelined_rts rts;
    struct tutti_elements elements; /* of which the plan is held */
    enum way way;
    char *memory;  /* STRAIGHT: where the message begins; AS_A_WHOLE: of all of it; BY_HOST, DROPPED: of DEPTH
                      fragments */
    int gpu, lost; /* lost: the transport may still write into `memory` */
    uint64_t n;    /* of fragments */
    struct slot {
        struct tutti_transfer_task receive;
        struct tutti_copy_task store;
        struct tutti_fragment *fragment; /* BY_KERNEL, BY_COPIES */
    } slot[DEPTH];
};

static uint64_t fragment_length(const struct tutti_incoming *in, uint64_t i)
{
    return tutti_fragment_bytes(in->rts.bytes, in->rts.fragment, in->n, i);
}

static int incoming_pinned(const struct tutti_incoming *in)
{
    return in->way == BY_KERNEL || in->way == BY_COPIES;
}

static char *fragment_place(struct tutti_incoming *in, uint64_t i)
{
    if (incoming_pinned(in))
        return in->slot[i % DEPTH].fragment->memory;
    if (in->way == STRAIGHT || in->way == AS_A_WHOLE)
        return in->memory + i * in->rts.fragment;
    return in->memory + i % DEPTH * in->rts.fragment;
}

/* ---- tasks ---- */

static int receive_ready(void *with, uint64_t i)
{
    struct tutti_incoming *in = with;
    struct slot *slot = &in->slot[i % DEPTH];
    if (incoming_pinned(in) && !slot->fragment &&
        !(slot->fragment = tutti_fragment_take(in->pipelined->fragments, in->rts.fragment, in->gpu)))
        return 0;
    slot->receive.memory = fragment_place(in, i);
    slot->receive.bytes = fragment_length(in, i);
    return 1;
}

/* Memory that the transport or the device may still use is lost. */
static void receive_ended(void *with, uint64_t i, enum tutti_task_end how)
{
    struct tutti_incoming *in = with;
    if (how != TUTTI_TASK_LOST)
        return;
    in->slot[i % DEPTH].fragment = NULL;
    in->lost = 1;
}

static int store_ready(void *with, uint64_t i)
{
    struct tutti_incoming *in = with;
    struct slot *slot = &in->slot[i % DEPTH];
    const struct tutti_elements *e = &in->elements;
    const uint64_t first = i * in->rts.fragment, bytes = fragment_length(in, i);
    if (in->way == BY_KERNEL) {
        const int status = tutti_fragment_copy(in->pipelined->fragments, TUTTI_UNPACK, in->gpu, e, first, bytes,
                                               slot->fragment, &slot->store);
        return status != TUTTI_OK ? status : 1;
    }
    slot->store.job = tutti_elements_job(TUTTI_UNPACK, e, first, bytes, fragment_place(in, i));
    slot->store.places = in->way == BY_COPIES ? &e->places : NULL;
    return 1;
}

static void store_ended(void *with, uint64_t i, enum tutti_task_end how)
{
    if (how == TUTTI_TASK_LOST)
        ((struct tutti_incoming *)with)->slot[i % DEPTH].fragment = NULL;
}

static const struct tutti_task_hooks receive_hooks = {.ready = receive_ready, .ended = receive_ended};
static const struct tutti_task_hooks store_hooks = {.ready = store_ready, .ended = store_ended};

/* Adds the tasks of fragment i; its last one, or a status. *receive: its first. */
static int add_fragment(struct tutti_incoming *in, uint64_t i, int *receive)
{
    struct slot *slot = &in->slot[i % DEPTH];
    *receive = tutti_task_receive(in->sched, &slot->receive, i);
    if (*receive < 0 || in->way == STRAIGHT || in->way == AS_A_WHOLE || in->way == DROPPED)
        return *receive;
    const int store = tutti_task_copy(in->sched, &slot->store, i);
    const int status = store < 0 ? store : tutti_sched_after(in->sched, store, *receive, TUTTI_AFTER_END);
    return status < 0 ? status : store;
}

/* Receives are made in order, as all fragments have one tag; a slot is used again when it has been stored. */
static int incoming_build(struct tutti_incoming *in)
{
    int status = TUTTI_OK, before = 0, last[DEPTH];
    if (!(in->sched = tutti_sched_new("message from another node")))
        return TUTTI_ERR_MEMORY;
    for (int s = 0; s < DEPTH; s++) {
        in->slot[s].receive = (struct tutti_transfer_task){.user = {&receive_hooks, in},
                                                           .transport = in->pipelined->transport,
                                                           .rank = in->rts.rank,
                                                           .tag = in->rts.tag};
        in->slot[s].store.user = (struct tutti_task_user){&store_hooks, in};
    }
    for (uint64_t i = 0; i < in->n && status == TUTTI_OK; i++) {
        int receive, end = add_fragment(in, i, &receive);
        status = end < 0 ? end : TUTTI_OK;
        if (status == TUTTI_OK && i > 0)
            status = tutti_sched_after(in->sched, receive, before, TUTTI_AFTER_POST);
        if (status == TUTTI_OK && i >= DEPTH)
            status = tutti_sched_after(in->sched, receive, last[i % DEPTH], TUTTI_AFTER_END);
        before = receive;
        last[i % DEPTH] = end;
    }
    return status;
}

/* ---- life ---- */

static enum way pipelined_in_way_of(struct tutti_incoming *in, uint64_t capacity)
{
    const struct tutti_device *device = tutti_device();
    struct tutti_elements *e = &in->elements;
    if (in->rts.bytes > capacity)
        return DROPPED;
    if (!e->plan)
        return AS_A_WHOLE;
    if (!tutti_device_active(device)) { /* so no element lies there */
        e->places = (struct tutti_places){.gpu = -1};
        e->placed = 1;
    }
    if (tutti_elements_places(e)->device)
        return tutti_places_reached(&e->places) ? BY_KERNEL : BY_COPIES;
    return e->whole ? STRAIGHT : BY_HOST;
}

/* Takes host memory, and one piece of pinned memory if it is needed, so that the message can always be finished. */
static int incoming_equip(struct tutti_incoming *in)
{
    const uint64_t few = in->n < DEPTH ? in->n : DEPTH;
    if (incoming_pinned(in)) {
        in->gpu = tutti_fragment_gpu(&in->elements.places);
        in->slot[0].fragment = tutti_fragment_take(in->pipelined->fragments, in->rts.fragment, in->gpu);
        return in->slot[0].fragment != NULL;
    }
    if (in->way == STRAIGHT)
        in->memory = tutti_elements_run(&in->elements);
    else
        in->memory = malloc(in->way == AS_A_WHOLE ? in->rts.bytes : few * in->rts.fragment);
    return in->memory != NULL;
}

/* Accepts only what the sender's side of this protocol writes: the numbers are used without further checks. */
static int is_sound(const struct tutti_pipelined *p, const struct tutti_pipelined_rts *rts)
{
    return rts->bytes > 0 && rts->fragment > 0 && rts->fragment <= rts->bytes && rts->fragment <= TUTTI_TRANSFER_MOST &&
           (rts->bytes - 1) / rts->fragment < TUTTI_FRAGMENTS_MOST && rts->tag >= p->first_tag &&
           rts->tag - p->first_tag < p->tags && rts->rank >= 0 && rts->rank < p->transport->size;
}

int tutti_pipelined_accept(struct tutti_pipelined *pipelined, const struct tutti_pipelined_rts *rts,
                           const struct tutti_elements *elements, uint64_t capacity, struct tutti_incoming **out)
{
    if (!is_sound(pipelined, rts))
        return TUTTI_ERR_ARGUMENT;
    struct tutti_incoming *in = calloc(1, sizeof *in);
    if (!in)
        return TUTTI_ERR_MEMORY;
    in->pipelined = pipelined;
    in->rts = *rts;
    in->n = (rts->bytes - 1) / rts->fragment + 1;
    in->elements = *elements;
    if (elements->plan)
        tutti_plan_hold(elements->plan);
    in->way = pipelined_in_way_of(in, capacity);
    tutti_step_open(pipelined->step);
    if (!incoming_equip(in) || incoming_build(in) != TUTTI_OK) {
        tutti_incoming_free(in);
        return TUTTI_ERR_MEMORY;
    }
    *out = in;
    return TUTTI_OK;
}

int tutti_incoming_start(struct tutti_incoming *in)
{
    const int status = tutti_pipelined_note_rts(in->pipelined, &in->rts);
    if (status == TUTTI_OK)
        tutti_sched_start(in->sched);
    return status;
}

int tutti_incoming_done(const struct tutti_incoming *in)
{
    return tutti_sched_done(in->sched);
}

int tutti_incoming_status(const struct tutti_incoming *in)
{
    return tutti_sched_status(in->sched);
}

int tutti_incoming_truncated(const struct tutti_incoming *in)
{
    return in->way == DROPPED;
}

void *tutti_incoming_packed(const struct tutti_incoming *in)
{
    return in->way == AS_A_WHOLE ? in->memory : NULL;
}

void tutti_incoming_free(struct tutti_incoming *in)
{
    if (!in)
        return;
    struct tutti_pipelined *p = in->pipelined;
    for (int i = 0; i < DEPTH; i++) {
        if (in->slot[i].fragment)
            tutti_fragment_give(p->fragments, in->slot[i].fragment);
    }
    if (in->way != STRAIGHT && !in->lost)
        free(in->memory);
    if (in->elements.plan)
        tutti_plan_drop(in->elements.plan);
    tutti_sched_free(in->sched);
    free(in);
    tutti_step_close(p->step);
}
