/* Moves in stream order of elements that are not runs of bytes: packed before the move, and unpacked after it, by
 * kernels in the same stream. What a rank sends to itself is moved here if one of the two layouts is not a run. */
#include "coll/move_sides.h"
#include "coll/state.h"
#include "core/status.h"

enum { SIDES_ALIGN = 256 }; /* of each packed run in the scratch */

struct sides {
    struct tutti_team *team;
    struct tutti_stream *stream;
    int gpu;
    char *scratch; /* NULL while runs are only counted */
    uint64_t used;
    struct tutti_move_flow flow;
    struct tutti_pack_job pack[TUTTI_MAX_GPUS + 1], unpack[TUTTI_MAX_GPUS];
    unsigned packs, unpacks;
};

static uint64_t sides_bytes(const struct tutti_elements *elements)
{
    return elements->plan && elements->count > 0 ? tutti_elements_bytes(elements) : 0;
}

static int sides_same(const struct tutti_elements *a, const struct tutti_elements *b)
{
    return a->plan == b->plan && a->count == b->count && a->buffer == b->buffer;
}

static char *sides_take(struct sides *x, uint64_t bytes)
{
    char *at = x->scratch + x->used;
    x->used += (bytes + SIDES_ALIGN - 1) / SIDES_ALIGN * SIDES_ALIGN;
    return at;
}

static void sides_pack(struct sides *x, const struct tutti_elements *elements, char *to)
{
    x->pack[x->packs++] = tutti_elements_job(TUTTI_PACK, elements, 0, sides_bytes(elements), to);
}

static void sides_unpack(struct sides *x, const struct tutti_elements *elements, char *from)
{
    x->unpack[x->unpacks++] = tutti_elements_job(TUTTI_UNPACK, elements, 0, sides_bytes(elements), from);
}

/* 1: what this rank sends to itself is done. */
static int sides_own(struct sides *x, const struct tutti_elements *from, const struct tutti_elements *to)
{
    const uint64_t bytes = sides_bytes(from);
    if (bytes == 0)
        return 1;
    if (from->whole && to->whole)
        return 0;
    if (from->whole) {
        sides_unpack(x, to, tutti_elements_run(from));
    } else if (to->whole) {
        sides_pack(x, from, tutti_elements_run(to));
    } else if (x->team->size == 1) { /* its scratch would never be freed */
        x->pack[x->packs++] = (struct tutti_pack_job){.direction = TUTTI_RELAYOUT,
                                                      .plan = from->plan,
                                                      .count = (uint64_t)from->count,
                                                      .memory = from->buffer,
                                                      .to_plan = to->plan,
                                                      .to_count = (uint64_t)to->count,
                                                      .to = to->buffer,
                                                      .bytes = bytes};
    } else {
        char *packed = sides_take(x, bytes);
        sides_pack(x, from, packed);
        sides_unpack(x, to, packed);
    }
    return 1;
}

/* Runs and jobs of all blocks. Elements for several ranks are packed once. */
static void sides_fill(struct sides *x, const struct tutti_move_sides *sides)
{
    const int ranks = x->team->size, rank = x->team->rank;
    const int own_done = sides_own(x, &sides->send[rank], &sides->receive[rank]);
    const struct tutti_elements *last = NULL;
    const char *packed = NULL;
    x->flow = (struct tutti_move_flow){.send[0].at = NULL};
    for (int r = 0; r < ranks; r++) {
        const struct tutti_elements *from = &sides->send[r], *to = &sides->receive[r];
        const uint64_t in = sides_bytes(from), out = sides_bytes(to);
        if (r == rank && own_done)
            continue;
        if (in > 0 && from->whole && !sides->aside) {
            x->flow.send[r].at = tutti_elements_run(from);
        } else if (in > 0) {
            if (!last || !sides_same(last, from)) {
                char *room = sides_take(x, in);
                sides_pack(x, from, room);
                packed = room;
                last = from;
            }
            x->flow.send[r].at = packed;
        }
        if (out > 0 && to->whole) {
            x->flow.receive[r].at = tutti_elements_run(to);
        } else if (out > 0) {
            x->flow.receive[r].at = sides_take(x, out);
            sides_unpack(x, to, x->flow.receive[r].at);
        }
        x->flow.send[r].bytes = in;
        x->flow.receive[r].bytes = out;
    }
}

static int sides_hold(struct sides *x)
{
    int status = TUTTI_OK;
    for (unsigned i = 0; i < x->packs && status == TUTTI_OK; i++) {
        status = tutti_coll_hold_plan(x->team, x->pack[i].plan);
        if (status == TUTTI_OK && x->pack[i].to_plan)
            status = tutti_coll_hold_plan(x->team, x->pack[i].to_plan);
    }
    for (unsigned i = 0; i < x->unpacks && status == TUTTI_OK; i++)
        status = tutti_coll_hold_plan(x->team, x->unpack[i].plan);
    return status;
}

static int sides_launch(const struct sides *x, const struct tutti_pack_job *jobs, unsigned n)
{
    return n > 0 ? tutti_pack_enqueue(x->stream, x->gpu, jobs, n) : TUTTI_OK;
}

/* The rest, by the kernels of all ranks; for a single rank, a copy. */
static int sides_move(struct sides *x, const struct tutti_call *call, const char **why)
{
    struct tutti_call moved = *call;
    const struct tutti_move_send *from = &x->flow.send[0];
    void *to = x->flow.receive[0].at;
    moved.flow = &x->flow;
    if (x->team->size > 1)
        return tutti_move_enqueue(x->team, &moved, x->stream, why);
    *why = "copy";
    if (from->bytes == 0 || from->at == to)
        return TUTTI_OK;
    return tutti_device()->stream.copy(x->stream, to, from->at, from->bytes);
}

int tutti_move_enqueue_sides(struct tutti_team *team, int gpu, const struct tutti_call *call,
                             const struct tutti_move_sides *sides, struct tutti_stream *stream, const char **why)
{
    struct sides x = {.team = team, .stream = stream, .gpu = gpu};
    sides_fill(&x, sides);
    if (x.used > 0) { /* again, now that there is room */
        const int status = tutti_coll_spare(team, gpu, x.used);
        if (status != TUTTI_OK)
            return status;
        x.scratch = tutti_coll_of(team)->spare[tutti_coll_of(team)->spares - 1];
        x.used = 0;
        x.packs = x.unpacks = 0;
        sides_fill(&x, sides);
    }
    int status = sides_hold(&x);
    if (status == TUTTI_OK)
        status = sides_launch(&x, x.pack, x.packs);
    if (status == TUTTI_OK)
        status = sides_move(&x, call, why);
    return status == TUTTI_OK ? sides_launch(&x, x.unpack, x.unpacks) : status;
}
