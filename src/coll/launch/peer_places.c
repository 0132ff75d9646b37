#include "coll/launch/peer_places.h"

#include <string.h>

#include "coll/algorithm.h"
#include "coll/state.h"
#include "core/counters.h"
#include "core/types.h"
#include "team/expose.h"

/* 1 if peers store into this rank's result. */
static int places_gets(const struct tutti_team *team, const struct tutti_call *call, enum tutti_shape shape)
{
    return shape == TUTTI_SHAPE_ALL || (shape == TUTTI_SHAPE_ROOT && team->rank == call->root);
}

/* 1 if a peer may read the contribution later than this rank stores its result over it. */
static int places_over(const struct tutti_call *call, enum tutti_shape shape)
{
    return shape == TUTTI_SHAPE_SEGMENTS && call->in == call->out;
}

static void places_expose(struct tutti_team *team, struct tutti_stream *stream, struct tutti_expose_buffer exposed,
                          uint64_t there[])
{
    struct tutti_expose_buffer buffer[TUTTI_MAX_GPUS];
    for (int r = 0; r < team->size; r++)
        buffer[r] = exposed;
    tutti_expose(team, stream, buffer, there);
}

void tutti_peer_places_of(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                          struct tutti_peer_places *places)
{
    const enum tutti_shape shape = tutti_shape_of(call);
    const int gets = places_gets(team, call, shape), over = places_over(call, shape);
    int all = 1;
    memset(places, 0, sizeof *places);
    places->bytes = call->count * tutti_type_size(call->type);
    const struct tutti_expose_buffer in = {call->in, over ? 0 : places->bytes, call->in_id},
                                     out = {call->out, gets ? places->bytes : 0, call->out_id};
    places_expose(team, stream, in, places->there[TUTTI_PLACE_SOURCE]);
    places_expose(team, stream, out, places->there[TUTTI_PLACE_RESULT]);
    for (int r = 0; r < team->size; r++) {
        if (r != team->rank)
            all &= places->there[TUTTI_PLACE_SOURCE][r] != 0 && (!gets || places->there[TUTTI_PLACE_RESULT][r] != 0);
    }
    if (!all) {
        memset(places->there, 0, sizeof places->there);
        return;
    }
    tutti_coll_of(team)->direct_runs++;
    tutti_count("buffers of reductions", TUTTI_OUTCOME_MAPPED, "reached by the kernels of all ranks");
}
