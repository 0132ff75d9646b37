/* engines: copy engines push the blocks into the receivers' windows and copy them out again, between barriers of one
 * thread block each; any size, in pieces. In stream order, where buffers of peers cannot be mapped, no way takes fewer
 * multiprocessors. A window's slots lie in the ring of the region of chunks (kernels/flow.inc): what a launch before
 * this call left there, every rank has read when the first barrier ends, and no launch after it writes there before
 * this rank has begun the same launch, behind its copies. */
#include "coll/move/runs.h"
#include "core/status.h"

struct engines {
    struct tutti_team *team;
    struct tutti_stream *stream;
    const struct tutti_move_flow *flow;
    size_t slots; /* where they begin in every channel */
    size_t room;  /* bytes of each */
};

static size_t engines_room(const struct tutti_team *team)
{
    enum { ALIGN = 256 };
    const size_t peers = team->size > 1 ? (size_t)team->size - 1 : 1;
    return 2 * tutti_channel_region(team, TUTTI_REGION_CHUNKS).stride / peers / ALIGN * ALIGN;
}

static void engines_shape(const struct tutti_team *team, uint64_t longest, struct tutti_runs *runs)
{
    (void)longest;
    *runs = (struct tutti_runs){.most = engines_room(team) > 0 ? UINT64_MAX : 0};
}

/* The slot of rank `from` in the channel of rank `to`. */
static char *move_engines_slot(const struct engines *x, int to, int from)
{
    return (char *)x->team->window[to] + x->slots + (size_t)(from < to ? from : from - 1) * x->room;
}

static uint64_t engines_left(const struct engines *x, uint64_t bytes, uint64_t at)
{
    const uint64_t left = bytes > at ? bytes - at : 0;
    return left < x->room ? left : x->room;
}

/* The piece from byte `at` on of all runs: into the windows, or out of this rank's own. */
static int engines_copy(const struct engines *x, uint64_t at, int out)
{
    const struct tutti_team *team = x->team;
    int status = TUTTI_OK;
    for (int i = 1; i < team->size && status == TUTTI_OK; i++) {
        const int peer = (team->rank + i) % team->size; /* ranks begin with different peers */
        const struct tutti_move_send *from = &x->flow->send[peer];
        const struct tutti_move_receive *to = &x->flow->receive[peer];
        const uint64_t bytes = engines_left(x, out ? to->bytes : from->bytes, at);
        if (bytes > 0 && out)
            status = team->device->stream.copy(x->stream, (char *)to->at + at, move_engines_slot(x, team->rank, peer),
                                               bytes);
        else if (bytes > 0)
            status = team->device->stream.copy(x->stream, move_engines_slot(x, peer, team->rank),
                                               (const char *)from->at + at, bytes);
    }
    return status == TUTTI_OK ? status : tutti_team_break(x->team, status);
}

static int engines_own(const struct engines *x)
{
    const struct tutti_move_send *from = &x->flow->send[x->team->rank];
    void *to = x->flow->receive[x->team->rank].at;
    if (from->bytes == 0 || from->at == to)
        return TUTTI_OK;
    const int status = x->team->device->stream.copy(x->stream, to, from->at, from->bytes);
    return status == TUTTI_OK ? status : tutti_team_break(x->team, status);
}

static int move_engines_put(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream)
{
    const struct tutti_region region = tutti_channel_region(team, TUTTI_REGION_CHUNKS);
    const struct engines x = {team, stream, call->flow, region.begin + region.stride, engines_room(team)};
    const uint64_t longest =
        tutti_runs_longest(team, call->flow); /* alike on all ranks, and so is the number of pieces */
    int status = engines_own(&x);
    for (uint64_t at = 0; at < longest && status == TUTTI_OK; at += x.room) {
        status = tutti_runs_barrier(team, call, stream, 0);
        if (status == TUTTI_OK)
            status = engines_copy(&x, at, 0);
        if (status == TUTTI_OK)
            status = tutti_runs_barrier(team, call, stream, 0);
        if (status == TUTTI_OK)
            status = engines_copy(&x, at, 1);
    }
    return status;
}

/* Calls of which all ranks know the longest run: they go through as many pieces. What has to be packed takes kernels.
 */
static int move_engines_can(const struct tutti_team *team, const struct tutti_call *call)
{
    if (call->move && call->move->runs.packed)
        return TUTTI_NO(TYPE);
    return tutti_runs_can(team, call, engines_shape);
}

static int move_engines_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    *fits = 1;
    tutti_waiting_begin(team);
    tutti_flow_number(team);
    int status = move_engines_put(team, call, team->stream);
    if (status == TUTTI_OK) /* says when all is over */
        status = tutti_runs_barrier(team, call, team->stream, tutti_flow_notice(call));
    return tutti_flow_finish(team, status);
}

const struct tutti_algorithm tutti_move_engines = {
    .name = "engines",
    .collectives = TUTTI_RUNS_KNOWN,
    .waits_for_peers = 1,
    .spares = 1,
    .can = move_engines_can,
    .run = move_engines_run,
    .enqueue = move_engines_put,
    .how = "copied through the windows by the copy engines",
};
