/* What builders of schedules use: lists that grow, messages, room in the scratch. */
#include <stdlib.h>
#include <string.h>

#include "core/types.h"
#include "part/coll/own.h"

enum { FIRST_ROOM = 8, ALIGNED = 256 };

/* Room for one more entry; 0 without memory. */
static int build_room(struct tutti_pcoll *p, void **list, int used, int *rooms, size_t size)
{
    if (used < *rooms)
        return 1;
    const int more = *rooms > 0 ? 2 * *rooms : FIRST_ROOM;
    void *larger = realloc(*list, (size_t)more * size);
    if (!larger) {
        p->failed = 1;
        return 0;
    }
    *list = larger;
    *rooms = more;
    return 1;
}
#define ROOM(p, list, used, rooms) build_room(p, (void **)(void *)&(list), used, &(rooms), sizeof *(list))

/* ---- messages ---- */

static int edge_new(struct tutti_pcoll *p, struct tutti_pcoll_edge edge)
{
    if (!ROOM(p, p->edge, p->edges, p->edge_room))
        return -1;
    p->edge[p->edges] = edge;
    return p->edges++;
}

int tutti_pcoll_edge_block(struct tutti_pcoll *p, int send, int peer, int label, enum tutti_pcoll_base base,
                           const struct tutti_pcoll_block *block, int partitions)
{
    return edge_new(p, (struct tutti_pcoll_edge){.peer = peer,
                                                 .send = send,
                                                 .label = label,
                                                 .partitions = partitions,
                                                 .base = base,
                                                 .offset = block->offset,
                                                 .count = block->count,
                                                 .plan = block->plan,
                                                 .in_order = block->in_order,
                                                 .solid = block->solid});
}

/* The plan of `bytes` bytes, the next of which begin `stride` bytes later. NULL without memory. */
static const struct tutti_plan *build_bytes_plan(struct tutti_pcoll *p, uint64_t bytes, int64_t stride)
{
    const struct tutti_description run = {.form = TUTTI_FORM_BYTES, .bytes = bytes};
    const struct tutti_description *const child[1] = {&run};
    const struct tutti_description spaced = {
        .form = TUTTI_FORM_RESIZED, .children = 1, .child = child, .lower = 0, .extent = stride};
    const struct tutti_plan *plan;
    if (!ROOM(p, p->plan, p->plans, p->plan_room))
        return NULL;
    if (tutti_plan_build(&spaced, &plan) != TUTTI_OK) {
        p->failed = 1;
        return NULL;
    }
    return p->plan[p->plans++] = plan;
}

int tutti_pcoll_edge_bytes(struct tutti_pcoll *p, int send, int peer, int label, struct tutti_pcoll_at at,
                           uint64_t bytes, int partitions)
{
    const struct tutti_plan *plan = bytes > 0 ? build_bytes_plan(p, bytes, at.stride) : NULL;
    return edge_new(p, (struct tutti_pcoll_edge){.peer = peer,
                                                 .send = send,
                                                 .label = label,
                                                 .partitions = partitions,
                                                 .base = at.base,
                                                 .offset = at.offset,
                                                 .count = plan ? 1 : 0,
                                                 .plan = plan,
                                                 .in_order = 1,
                                                 .solid = at.stride == (int64_t)bytes});
}

/* ---- steps ---- */

struct tutti_pcoll_step *tutti_pcoll_step(struct tutti_pcoll *p, int track)
{
    static struct tutti_pcoll_step none; /* without memory the schedule is not used */
    struct tutti_pcoll_track *t = &p->track[track];
    if (!ROOM(p, t->step, t->steps, t->step_room))
        return &none;
    t->step[t->steps] = (struct tutti_pcoll_step){.in = p->listed, .out = p->listed, .fold = -1, .copy = -1};
    return &t->step[t->steps++];
}

void tutti_pcoll_in(struct tutti_pcoll *p, struct tutti_pcoll_step *step, int edge)
{
    if (!ROOM(p, p->list, p->listed, p->list_room))
        return;
    p->list[p->listed++] = edge;
    step->ins++;
    step->out = p->listed;
}

void tutti_pcoll_out(struct tutti_pcoll *p, struct tutti_pcoll_step *step, int edge)
{
    if (!ROOM(p, p->list, p->listed, p->list_room))
        return;
    p->list[p->listed++] = edge;
    step->outs++;
}

/* ---- scratch ---- */

int64_t tutti_pcoll_scratch(struct tutti_pcoll *p, uint64_t bytes)
{
    const uint64_t at = p->scratch_bytes;
    p->scratch_bytes = (at + bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    return (int64_t)at;
}

struct tutti_pcoll_at tutti_pcoll_at(enum tutti_pcoll_base base, const struct tutti_pcoll_block *block)
{
    return (struct tutti_pcoll_at){.base = base, .offset = block->offset, .stride = block->count * block->plan->extent};
}

struct tutti_pcoll_at tutti_pcoll_slot(struct tutti_pcoll *p, const struct tutti_pcoll_block *block, int partitions)
{
    const int64_t elements = block->count * partitions;
    const int64_t all = elements > 0 ? (elements - 1) * block->plan->extent : 0;
    const int64_t low = block->plan->true_lower + (all < 0 ? all : 0);
    const int64_t end = block->plan->true_end + (all > 0 ? all : 0);
    const int64_t offset = tutti_pcoll_scratch(p, elements > 0 ? (uint64_t)(end - low) : 0);
    return (struct tutti_pcoll_at){
        .base = TUTTI_PCOLL_SCRATCH, .offset = offset - low, .stride = block->count * block->plan->extent};
}

/* ---- work ---- */

struct tutti_pcoll_fold *tutti_pcoll_fold(struct tutti_pcoll *p, struct tutti_pcoll_step *step, int terms, int groups,
                                          struct tutti_pcoll_at out, int64_t count)
{
    if (!ROOM(p, p->fold, p->folds, p->fold_room))
        return NULL;
    struct tutti_pcoll_fold *fold = &p->fold[p->folds];
    *fold = (struct tutti_pcoll_fold){.terms = terms, .groups = groups, .out = out, .count = count};
    fold->term = calloc((size_t)terms, sizeof *fold->term);
    fold->group_end = calloc((size_t)groups, sizeof *fold->group_end);
    if (!fold->term || !fold->group_end) {
        free(fold->term);
        free(fold->group_end);
        p->failed = 1;
        return NULL;
    }
    fold->group_end[groups - 1] = terms;
    step->fold = p->folds++;
    return fold;
}

static void copy_new(struct tutti_pcoll *p, struct tutti_pcoll_copy copy)
{
    if (ROOM(p, p->copy, p->copies, p->copy_room))
        p->copy[p->copies++] = copy;
}

void tutti_pcoll_copy(struct tutti_pcoll *p, struct tutti_pcoll_step *step, struct tutti_pcoll_copy copy)
{
    step->copy = p->copies;
    copy_new(p, copy);
    p->finish = p->copies;
}

void tutti_pcoll_finish(struct tutti_pcoll *p, struct tutti_pcoll_copy copy)
{
    copy_new(p, copy);
}

/* ---- facts ---- */

int tutti_pcoll_partial(const struct tutti_pcoll *p)
{
    return p->args.type != TUTTI_TYPE_F16 && p->args.type != TUTTI_TYPE_BF16;
}

int tutti_pcoll_exact(const struct tutti_pcoll *p)
{
    switch (p->args.type) {
    case TUTTI_TYPE_I8:
    case TUTTI_TYPE_U8:
    case TUTTI_TYPE_I16:
    case TUTTI_TYPE_U16:
    case TUTTI_TYPE_I32:
    case TUTTI_TYPE_U32:
    case TUTTI_TYPE_I64:
    case TUTTI_TYPE_U64:
        return 1;
    default:
        return 0;
    }
}

void tutti_pcoll_schedule_free(struct tutti_pcoll *p)
{
    for (int i = 0; i < p->folds; i++) {
        free(p->fold[i].term);
        free(p->fold[i].group_end);
    }
    for (int i = 0; i < p->plans; i++)
        tutti_plan_drop(p->plan[i]);
    for (int t = 0; t < TUTTI_PCOLL_TRACKS; t++)
        free(p->track[t].step);
    free(p->plan);
    free(p->fold);
    free(p->copy);
    free(p->list);
    free(p->edge);
}
