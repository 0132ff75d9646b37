/* What goes from one GPU to another is one run of bytes for the kernels: the blocks of the first GPU's ranks, one
 * behind the other. A block that all ranks of the other GPU receive goes there once. Where a run is not in one piece in
 * the ranks' buffers, a packing launch before the kernel makes it, and one behind the kernel hands it out; the launch
 * before also copies what stays on the GPU. Runs longer than their room in the scratch go in pieces, of the same bytes
 * on both sides. */
#include <stdlib.h>

#include "coll/move/lead_own.h"
#include "core/status.h"

/* One launch of a leader, with those around it. */
struct lead_piece {
    const struct tutti_lead *lead;
    uint64_t begin, end; /* bytes of all runs */
    struct tutti_pack_job *before, *after;
    unsigned befores, afters;
    struct tutti_move_flow flow; /* by GPU */
};

/* ---- the blocks of a run ---- */

/* A block of the run from one GPU to another, or one that its receivers share. */
struct lead_step {
    int from, to;
    uint64_t at, bytes; /* in the run */
    int again;          /* 1: the block is in the run already, for another rank of the GPU */
};

static const struct tutti_listed_block *lead_sent(const struct tutti_lead *x, int from, int to)
{
    return &x->rank[from].send[to];
}

static const struct tutti_listed_block *lead_taken(const struct tutti_lead *x, int from, int to)
{
    return &x->rank[to].receive[from];
}

/* A side of a run that is walked over: what its ranks send, or receive. */
struct lead_walk {
    const struct tutti_lead *lead;
    const struct tutti_listed_block *(*block)(const struct tutti_lead *x, int from, int to);
    int from, to;        /* GPUs */
    int next;            /* pair of ranks */
    int last;            /* rank whose block is in the run; -1: none yet */
    uint64_t last_bytes; /* of that block */
    uint64_t end;        /* of the run so far */
};

static struct lead_walk lead_walk_from(const struct tutti_lead *x, int from, int to, int sent)
{
    return (struct lead_walk){.lead = x, .block = sent ? lead_sent : lead_taken, .from = from, .to = to, .last = -1};
}

/* 0: there are no more. */
static int lead_walk_next(struct lead_walk *walk, struct lead_step *step)
{
    const struct tutti_team *team = walk->lead->team;
    const int ranks = team->size;
    while (walk->next < ranks * ranks) {
        const int from = walk->next / ranks, to = walk->next % ranks, mine = team->gpu_of[from] == walk->from;
        const uint64_t bytes = mine && team->gpu_of[to] == walk->to ? walk->block(walk->lead, from, to)->bytes : 0;
        walk->next += mine ? 1 : ranks;
        if (bytes == 0)
            continue;
        /* A receiver to which the sender has several edges gets as many copies, which are a block of their own. */
        const int again = tutti_lead_same(walk->lead->call) && walk->last == from && walk->last_bytes == bytes;
        *step = (struct lead_step){from, to, again ? walk->end - bytes : walk->end, bytes, again};
        walk->end += again ? 0 : bytes;
        walk->last = from;
        walk->last_bytes = bytes;
        return 1;
    }
    return 0;
}

static uint64_t lead_run_bytes(const struct tutti_lead *x, int from, int to, int sent)
{
    struct lead_walk walk = lead_walk_from(x, from, to, sent);
    struct lead_step step;
    while (lead_walk_next(&walk, &step))
        ;
    return walk.end;
}

uint64_t tutti_lead_longest(const struct tutti_lead *x)
{
    uint64_t longest = 0;
    if (tutti_lead_on(x->call, TUTTI_LEAD_EVEN))
        return tutti_lead_bound(x->team, x->call);
    for (int from = 0; from < x->team->gpus; from++) {
        for (int to = 0; to < x->team->gpus; to++) {
            const uint64_t bytes = from == to ? 0 : lead_run_bytes(x, from, to, 1);
            longest = bytes > longest ? bytes : longest;
        }
    }
    return longest;
}

/* ---- one piece ---- */

static const char *lead_source(const struct tutti_lead *x, const struct lead_step *step)
{
    return (const char *)x->in[step->from] + lead_sent(x, step->from, step->to)->at;
}

static char *lead_target(const struct tutti_lead *x, const struct lead_step *step)
{
    return (char *)x->out[step->to] + lead_taken(x, step->from, step->to)->at;
}

static struct tutti_pack_job lead_copy(const struct tutti_lead *x, const char *from, char *to, uint64_t bytes)
{
    return (struct tutti_pack_job){.direction = TUTTI_PACK,
                                   .plan = x->plan,
                                   .count = bytes,
                                   .memory = (void *)(uintptr_t)from,
                                   .packed = to,
                                   .bytes = bytes};
}

/* What stays on the GPU. */
static void lead_own(struct lead_piece *p)
{
    const struct tutti_lead *x = p->lead;
    const int gpu = x->team->gpu_index;
    for (int from = 0; from < x->team->size; from++) {
        for (int to = 0; to < x->team->size && x->team->gpu_of[from] == gpu; to++) {
            if (x->team->gpu_of[to] != gpu)
                continue;
            const struct lead_step step = {from, to, 0, lead_sent(x, from, to)->bytes, 0};
            const uint64_t room = lead_taken(x, from, to)->bytes, bytes = step.bytes < room ? step.bytes : room;
            if (bytes > 0 && lead_source(x, &step) != lead_target(x, &step))
                p->before[p->befores++] = lead_copy(x, lead_source(x, &step), lead_target(x, &step), bytes);
        }
    }
}

/* The bytes of a step that are in the piece: from byte *skip of the block on; their number. */
static uint64_t lead_part(const struct lead_piece *p, const struct lead_step *step, uint64_t *skip)
{
    const uint64_t begin = step->at > p->begin ? step->at : p->begin;
    const uint64_t step_end = step->at + step->bytes, end = step_end < p->end ? step_end : p->end;
    *skip = begin - step->at;
    return begin < end ? end - begin : 0;
}

/* 1 if the blocks of the run lie one behind the other; *first: where. */
static int lead_together(struct lead_walk walk, char **first)
{
    struct lead_step step;
    *first = NULL;
    while (lead_walk_next(&walk, &step)) {
        if (step.again)
            continue;
        char *at =
            walk.block == lead_sent ? (char *)(uintptr_t)lead_source(walk.lead, &step) : lead_target(walk.lead, &step);
        *first = *first ? *first : at;
        if (at != *first + step.at)
            return 0;
    }
    return 1;
}

static uint64_t lead_piece_bytes(const struct lead_piece *p, uint64_t run)
{
    const uint64_t end = run < p->end ? run : p->end;
    return end > p->begin ? end - p->begin : 0;
}

/* The run for a GPU. room: in the scratch, if the blocks do not lie one behind the other. */
static void lead_send(struct lead_piece *p, int gpu, char *room)
{
    const struct tutti_lead *x = p->lead;
    struct lead_walk walk = lead_walk_from(x, x->team->gpu_index, gpu, 1);
    struct lead_step step;
    char *first;
    const int together = lead_together(walk, &first);
    while (lead_walk_next(&walk, &step)) {
        uint64_t skip;
        const uint64_t bytes = lead_part(p, &step, &skip);
        if (!together && !step.again && bytes > 0)
            p->before[p->befores++] =
                lead_copy(x, lead_source(x, &step) + skip, room + (step.at + skip - p->begin), bytes);
    }
    p->flow.send[gpu] = (struct tutti_move_send){.bytes = lead_piece_bytes(p, walk.end)};
    if (p->flow.send[gpu].bytes > 0)
        p->flow.send[gpu].at = together ? first + p->begin : room;
}

/* The run of a GPU: received where its blocks go first, if that is in one piece. */
static void lead_receive(struct lead_piece *p, int gpu, char *room)
{
    const struct tutti_lead *x = p->lead;
    struct lead_walk walk = lead_walk_from(x, gpu, x->team->gpu_index, 0);
    struct lead_step step;
    char *first;
    const int together = lead_together(walk, &first);
    while (lead_walk_next(&walk, &step)) {
        uint64_t skip;
        const uint64_t bytes = lead_part(p, &step, &skip);
        if (bytes == 0 || (together && !step.again))
            continue;
        const char *from = together ? first + (step.at + skip) : room + (step.at + skip - p->begin);
        p->after[p->afters++] = lead_copy(x, from, lead_target(x, &step) + skip, bytes);
    }
    p->flow.receive[gpu] = (struct tutti_move_receive){.bytes = lead_piece_bytes(p, walk.end)};
    if (p->flow.receive[gpu].bytes > 0)
        p->flow.receive[gpu].at = together ? first + p->begin : room;
}

static void lead_fill(struct lead_piece *p)
{
    const struct tutti_lead *x = p->lead;
    const struct tutti_team *team = x->team;
    p->befores = p->afters = 0;
    if (p->begin == 0)
        lead_own(p);
    for (int gpu = 0; gpu < team->gpus; gpu++) {
        if (gpu == team->gpu_index)
            continue;
        lead_send(p, gpu, x->scratch + x->room * (uint64_t)gpu);
        lead_receive(p, gpu, x->scratch + x->room * (uint64_t)(team->gpus + gpu));
    }
}

/* ---- all pieces ---- */

static int lead_launch_piece(struct lead_piece *p, const struct tutti_call *call, tutti_runs_shape *shape)
{
    struct tutti_team *team = p->lead->team;
    lead_fill(p);
    const struct tutti_runs_around around = {p->before, p->after, p->befores, p->afters};
    if (team->gpus > 1)
        return tutti_runs_lead(team, call, &around, shape);
    return p->befores > 0 ? tutti_pack_reached(team->gpu, p->before, p->befores, 0) : TUTTI_OK;
}

int tutti_lead_launch(struct tutti_lead *x, tutti_runs_shape *shape)
{
    struct tutti_team *team = x->team;
    struct tutti_call call = *x->call;
    struct lead_piece p = {.lead = x};
    const size_t most = (size_t)team->size * (size_t)team->size;
    int status = TUTTI_OK;
    call.flow = &p.flow;
    call.near = 0;
    if (x->longest > x->room) /* a piece may have no bytes for some GPUs */
        call.collective = TUTTI_COLLECTIVE_ALLTOALLV;
    p.before = malloc(2 * most * sizeof *p.before);
    if (!p.before)
        return tutti_team_break(team, TUTTI_ERR_MEMORY); /* peers would wait for this rank's kernel */
    p.after = p.before + most;
    tutti_team_mail_leave(team); /* or the launches would wait for it */
    do {
        p.end = p.begin + x->room;
        status = lead_launch_piece(&p, &call, shape);
        p.begin = p.end;
    } while (status == TUTTI_OK && p.begin < x->longest);
    free(p.before);
    return status == TUTTI_OK ? status : tutti_team_break(team, status);
}
