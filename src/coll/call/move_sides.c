/* Moves in stream order of elements that are not runs of bytes: packed before the move, and unpacked after it, by
 * kernels in the same stream. What a rank sends to itself is moved here if one of the two layouts is not a run. */
#include "coll/move_sides.h"

#include "coll/move/packing.h"
#include "coll/state.h"
#include "core/status.h"

struct sides {
    struct tutti_team *team;
    struct tutti_stream *stream;
    int gpu;
    struct tutti_packing packing;
    struct tutti_move_flow flow;
};

/* 1: what this rank sends to itself is done. */
static int sides_own(struct sides *x, const struct tutti_elements *from, const struct tutti_elements *to)
{
    if (tutti_packing_bytes(from) == 0)
        return 1;
    if (from->whole && to->whole)
        return 0;
    tutti_packing_own(&x->packing, from, to, x->team->size == 1); /* its scratch would never be freed */
    return 1;
}

/* Runs and jobs of all blocks. Elements for several ranks are packed once. */
static void sides_fill(struct sides *x, const struct tutti_move_sides *sides)
{
    const int ranks = x->team->size, rank = x->team->rank;
    const int own_done = sides_own(x, &sides->send[rank], &sides->receive[rank]);
    x->flow = (struct tutti_move_flow){.send[0].at = NULL};
    for (int r = 0; r < ranks; r++) {
        const struct tutti_elements *from = &sides->send[r], *to = &sides->receive[r];
        const uint64_t in = tutti_packing_bytes(from), out = tutti_packing_bytes(to);
        if (r == rank && own_done)
            continue;
        if (in > 0 && from->whole && !sides->aside) {
            x->flow.send[r].at = tutti_elements_run(from);
        } else if (in > 0) {
            x->flow.send[r].at = tutti_packing_sent(&x->packing, from);
        }
        if (out > 0 && to->whole) {
            x->flow.receive[r].at = tutti_elements_run(to);
        } else if (out > 0) {
            x->flow.receive[r].at = tutti_packing_received(&x->packing, to);
        }
        x->flow.send[r].bytes = in;
        x->flow.receive[r].bytes = out;
    }
}

static int sides_hold(const struct sides *x)
{
    const struct tutti_packing *packing = &x->packing;
    int status = TUTTI_OK;
    for (unsigned i = 0; i < packing->packs && status == TUTTI_OK; i++) {
        status = tutti_coll_hold_plan(x->team, packing->pack[i].plan);
        if (status == TUTTI_OK && packing->pack[i].to_plan)
            status = tutti_coll_hold_plan(x->team, packing->pack[i].to_plan);
    }
    for (unsigned i = 0; i < packing->unpacks && status == TUTTI_OK; i++)
        status = tutti_coll_hold_plan(x->team, packing->unpack[i].plan);
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
    struct sides x; /* without an initialiser, which would clear room for many jobs */
    x.team = team;
    x.stream = stream;
    x.gpu = gpu;
    tutti_packing_begin(&x.packing, NULL);
    sides_fill(&x, sides);
    if (x.packing.used > 0) { /* again, now that there is room */
        const int status = tutti_coll_spare(team, gpu, x.packing.used);
        if (status != TUTTI_OK)
            return status;
        tutti_packing_begin(&x.packing, tutti_coll_of(team)->spare[tutti_coll_of(team)->spares - 1]);
        sides_fill(&x, sides);
    }
    int status = sides_hold(&x);
    if (status == TUTTI_OK)
        status = sides_launch(&x, x.packing.pack, x.packing.packs);
    if (status == TUTTI_OK)
        status = sides_move(&x, call, why);
    return status == TUTTI_OK ? sides_launch(&x, x.packing.unpack, x.packing.unpacks) : status;
}
