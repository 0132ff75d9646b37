#include "coll/launch/flow.h"
#include "coll/launch/cache.h"
#include "coll/launch/peer_places.h"
#include "coll/state.h"

#include <string.h>

#include "core/log.h"
#include "core/phases.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"

int tutti_flow_can(const struct tutti_team *team)
{
    return team->gpus == team->size;
}

int tutti_flow_row_can(const struct tutti_team *team, const struct tutti_call *call)
{
    (void)call;
    return tutti_flow_can(team);
}

int tutti_flow_lines_can(const struct tutti_team *team, const struct tutti_call *call)
{
    (void)call;
    return tutti_flow_can(team) && team->lines;
}

int tutti_flow_leaders_can(const struct tutti_team *team)
{
    int of[TUTTI_MAX_GPUS] = {0}, most = 0;
    if (team->gpus < 2 || team->gpus == team->size)
        return 0;
    for (int r = 0; r < team->size; r++) {
        const int n = ++of[team->gpu_of[r]];
        most = n > most ? n : most;
    }
    return most <= TUTTI_MAX_GPUS;
}

int tutti_flow_segments(const struct tutti_call *call)
{
    return tutti_shape_of(call) == TUTTI_SHAPE_SEGMENTS;
}

/* Elements of the longest piece that a rank gets: of the contribution, or of the longest segment. */
static size_t longest_piece(const struct tutti_team *team, const struct tutti_call *call)
{
    if (call->collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK)
        return call->count / (size_t)team->size;
    if (call->collective != TUTTI_COLLECTIVE_REDUCE_SCATTER)
        return call->count;
    size_t longest = 0;
    for (int r = 0; r < team->size; r++)
        longest = call->counts[r] > longest ? call->counts[r] : longest;
    return longest;
}

unsigned tutti_flow_blocks(const struct tutti_team *team, size_t units, size_t each, size_t most)
{
    size_t blocks = (units + each - 1) / each;
    size_t cap = tutti_coll_blocks(team);
    if (cap > most)
        cap = most;
    if (blocks > cap)
        blocks = cap;
    return blocks < 1 ? 1 : (unsigned)blocks;
}

unsigned tutti_flow_blocks_in(size_t room, size_t least, unsigned blocks)
{
    size_t most = room / least;
    return most >= blocks ? blocks : most < 1 ? 1 : (unsigned)most;
}

size_t tutti_ll_room(const struct tutti_team *team)
{
    return tutti_channel_region(team, TUTTI_REGION_LL).each / (size_t)team->size / 1024 * 1024;
}

void tutti_flow_rows(const struct tutti_team *team, size_t bytes, size_t least, size_t most, size_t room,
                     struct tutti_flow *flow)
{
    const unsigned pairs = tutti_flow_blocks(team, bytes, 2 * least, most);
    const unsigned blocks = tutti_flow_blocks_in(room, least, 2 * pairs);
    flow->rows = blocks > 1 ? 2 : 1;
    flow->blocks = blocks > 1 ? blocks / 2 * 2 : 1;
}

/* Shared by all launches of a call. */
void tutti_flow_args(struct tutti_team *team, const struct tutti_call *call, struct tutti_flow_args *args)
{
    const struct tutti_region packets = tutti_channel_region(team, TUTTI_REGION_LL);
    *args = (struct tutti_flow_args){
        .ranks = (uint32_t)team->size,
        .rank = (uint32_t)team->rank,
        .root = (uint32_t)call->root,
        .over = call->in == call->out,
        .contributions = (uint32_t)team->size,
        .number = (uint32_t)team->rank,
        .locals = 1,
        .outs = 1,
        .shape = (uint32_t)tutti_shape_of(call),
        .bytes = team->channel_bytes,
        .packets = packets.begin,
        .packets_stride = packets.stride,
        .abort = &team->words_device->abort,
        .done = &team->words_device->done,
        .noticed = &team->words_device->noticed,
        .where = &team->words_device->where,
        .failed = &team->words_device->failed,
        .timeout_ns = (uint64_t)tutti_settings()->timeout_seconds * 1000000000u,
        .mail = &team->words_device->mail,
        .answer = &team->words_device->answer,
        .linger_ns = (uint64_t)tutti_coll_of(team)->linger.us * 1000,
        .expected = team->mail.sequence + 1,
        .host_wait = tutti_team_host_wait,
        .host_wait_with = team,
    };
    memcpy(args->window, team->window, sizeof args->window);
}

/* What a launch gives a rank of its segment: at most `n` elements, from `at` on. */
struct flow_segment {
    size_t begin, n;
};

static struct flow_segment flow_segment(struct tutti_result all, size_t at, size_t n)
{
    const size_t left = all.count > at ? all.count - at : 0;
    return (struct flow_segment){all.begin + (all.count < at ? all.count : at), left < n ? left : n};
}

/* The `turn`-th rank of a GPU, in order; -1: there are fewer. */
static int flow_rank_of(const struct tutti_team *team, int gpu, int turn)
{
    for (int r = 0; r < team->size; r++) {
        if (team->gpu_of[r] == gpu && turn-- == 0)
            return r;
    }
    return -1;
}

/* A leader has as many segments as its GPU has ranks: each launch is for one of them on every GPU. */
static int flow_turns(const struct tutti_team *team, const struct tutti_call *call, const struct tutti_locals *locals)
{
    int turns = 1;
    while (locals && tutti_flow_segments(call)) {
        int more = 0;
        for (int gpu = 0; gpu < team->gpus; gpu++)
            more |= flow_rank_of(team, gpu, turns) >= 0;
        if (!more)
            break;
        turns++;
    }
    return turns;
}

/* Launch `turn` of a reduce-scatter by leaders, after piece_of_locals(). */
static void segments_of_locals(const struct tutti_team *team, const struct tutti_call *call,
                               const struct tutti_locals *locals, struct tutti_flow_args *args, int turn, size_t at,
                               size_t n)
{
    const size_t size = tutti_type_size(call->type);
    for (int gpu = 0; gpu < team->gpus; gpu++) {
        const int rank = flow_rank_of(team, gpu, turn);
        const struct tutti_result all =
            rank < 0 ? (struct tutti_result){0, 0} : tutti_result_of(call, rank, team->size);
        const struct flow_segment segment = flow_segment(all, at, n);
        args->begin[gpu] = segment.begin;
        args->n[gpu] = segment.n;
    }
    for (int l = 0; l < locals->n; l++) {
        args->result[l] = (uint64_t)(uintptr_t)locals->in[l];
        args->result_n[l] = (uint64_t)locals->rank[l];
    }
    args->in = locals->in[0];
    args->outs = 1;
    args->over = turn < locals->n && locals->in[turn] == locals->out[turn];
    args->out = args->n[team->gpu_index] > 0 ? (char *)locals->out[turn] + at * size : NULL;
}

/* The launch's part of a call of leaders, as flow_piece(). */
static void piece_of_locals(const struct tutti_team *team, const struct tutti_call *call,
                            const struct tutti_locals *locals, struct tutti_flow_args *args, size_t at)
{
    const size_t offset = at * tutti_type_size(call->type);
    args->ranks = (uint32_t)team->gpus;
    args->rank = (uint32_t)team->gpu_index;
    args->root = (uint32_t)team->gpu_of[call->root];
    args->number = (uint32_t)locals->rank[0];
    args->locals = (uint32_t)locals->n;
    args->in = (const char *)locals->in[0] + offset;
    args->out = NULL;
    args->outs = 0;
    for (int l = 0; l < locals->n; l++) {
        args->begin[l] = (uint64_t)(uintptr_t)locals->in[l] + offset;
        args->n[l] = (uint64_t)locals->rank[l];
        if (args->shape == TUTTI_SHAPE_ROOT && locals->rank[l] != call->root)
            continue;
        if (args->outs == 0 && locals->out[l])
            args->out = (char *)locals->out[l] + offset;
        args->result[args->outs++] = (uint64_t)(uintptr_t)locals->out[l] + offset;
    }
    if (args->outs == 0) /* another GPU's rank gets the result */
        args->outs = 1;
}

/* The launch's part of the call: `n` elements from `at` on, of the contribution or of every segment. */
static void flow_piece(const struct tutti_team *team, const struct tutti_call *call, const struct tutti_locals *locals,
                       struct tutti_flow_args *args, int turn, size_t at, size_t n)
{
    size_t size = tutti_type_size(call->type), begins = 0;
    if (locals) {
        args->count = n;
        piece_of_locals(team, call, locals, args, at);
        if (args->shape == TUTTI_SHAPE_SEGMENTS)
            segments_of_locals(team, call, locals, args, turn, at, n);
        return;
    }
    args->in = call->in;
    args->out = (char *)call->out + at * size;
    args->count = n;
    if (args->shape != TUTTI_SHAPE_SEGMENTS) {
        args->in = (const char *)call->in + at * size;
        return;
    }
    for (int r = 0; r < team->size; r++) {
        const size_t count = call->counts ? call->counts[r] : call->count / (size_t)team->size;
        const struct flow_segment segment = flow_segment((struct tutti_result){begins, count}, at, n);
        args->begin[r] = segment.begin;
        args->n[r] = segment.n;
        begins += count;
    }
    if (args->n[team->rank] == 0) /* its segment has ended: no address behind the end */
        args->out = call->out;
}

/* In place, a reduce-scatter's result overlaps contributions; if all segments are as long as the first one, each
 * block overwrites elements that it has sent itself. */
static int flow_overlaps(const struct tutti_team *team, const struct tutti_call *call)
{
    return call->collective == TUTTI_COLLECTIVE_REDUCE_SCATTER && call->in == call->out && team->rank > 0 &&
           call->counts[team->rank] != call->counts[0] && call->counts[team->rank] > 0;
}

int tutti_flow_early(struct tutti_team *team, const struct tutti_stream *stream, unsigned blocks, uint32_t *early)
{
    const unsigned half = team->blocks / 2;
    int *const last = &tutti_coll_of(team)->early;
    /* The launch before may be of another team that takes turns. */
    const int may = stream == team->stream || (!*last && !team->turns) || blocks <= team->blocks - half;
    *early = stream != team->stream && blocks <= half;
    if (stream != team->stream)
        *last = (int)*early;
    return may;
}

/* How the launches of a call are made. */
struct flow_way {
    tutti_flow_shape *shape;
    uint32_t launch_number, notice;         /* of the last launch */
    const struct tutti_peer_places *places; /* where peers reach the buffers; NULL: nowhere */
};

static void flow_places(const struct tutti_team *team, const struct tutti_peer_places *places,
                        struct tutti_flow_args *args)
{
    memcpy(args->there, places->there, sizeof args->there);
    args->reached = 1;
    for (int r = 0; r < team->size; r++) {
        args->result_n[r] = places->bytes;
        args->reached &= r == team->rank || places->there[TUTTI_PLACE_SOURCE][r] != 0;
    }
}

static int launch_all(struct tutti_team *team, const struct tutti_call *call, const struct tutti_locals *locals,
                      struct tutti_stream *stream, const struct flow_way *way)
{
    struct tutti_flow_args args;
    struct tutti_flow flow = {.most = 0};
    size_t longest = longest_piece(team, call);
    int status = TUTTI_OK;
    tutti_flow_args(team, call, &args);
    way->shape(team, call, 0, &flow);
    if (flow.most == 0)
        return TUTTI_ERR_UNAVAILABLE;
    if (way->places)
        flow_places(team, way->places, &args);
    const size_t most = flow.most, pieces = longest > most ? (longest - 1) / most + 1 : 1;
    const size_t launches = pieces * (size_t)flow_turns(team, call, locals);
    for (size_t i = 0; i < launches && status == TUTTI_OK; i++) {
        const size_t at = i % pieces * most, n = longest - at < most ? longest - at : most;
        const int last = i + 1 == launches;
        flow_piece(team, call, locals, &args, (int)(i / pieces), at, n);
        way->shape(team, call, n, &flow);
        args.slice = flow.slice;
        const struct tutti_region region = tutti_channel_region(team, flow.region);
        args.region = region.begin;
        args.stride = region.stride;
        args.tells = (uint32_t)flow.tells;
        args.room = flow.room;
        args.chunk = flow.chunk;
        args.depth = flow.depth;
        args.blocks = flow.blocks;
        args.launch_number = last ? way->launch_number : 0;
        args.notice = last ? way->notice : 0;
        struct tutti_launch launch = {
            .kernel = locals ? flow.leads : flow.kernel,
            .type = call->type,
            .op = call->op,
            .blocks = flow.blocks,
            .threads = flow.threads,
            .rows = flow.rows,
            .gpu = team->gpu,
            .early = tutti_flow_early(team, stream, tutti_launched_blocks(flow.blocks, flow.rows), &args.early),
            .flow = &args};
        status = way->notice != 0 && launches == 1 ? tutti_launch_cached(team, &launch)
                                                   : team->device->launch.kernel(stream, &launch);
    }
    return status;
}

/* Scratch for a contribution that must be kept. */
static int flow_take_spare(struct tutti_team *team, size_t bytes)
{
    return tutti_coll_spare(team, team->gpu, bytes);
}

void tutti_flow_prepare(struct tutti_team *team, const struct tutti_call *call)
{
    if (team->state == TUTTI_TEAM_OPEN && tutti_flow_can(team) && flow_overlaps(team, call))
        (void)flow_take_spare(team, call->count * tutti_type_size(call->type));
}

/* A result that overlaps contributions is stored in scratch, and copied. */
static int launch_apart(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                        const struct flow_way *way)
{
    struct tutti_call apart = *call;
    size_t size = tutti_type_size(call->type), bytes = call->count * size;
    int status = flow_take_spare(team, bytes);
    if (status != TUTTI_OK)
        return status;
    void *const spare = tutti_coll_of(team)->spare[tutti_coll_of(team)->spares - 1];
    apart.in = spare;
    status = team->device->stream.copy(stream, spare, call->in, bytes);
    return status == TUTTI_OK ? launch_all(team, &apart, NULL, stream, way) : status;
}

static int flow_put(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                    const struct flow_way *way)
{
    if (stream == team->stream)
        tutti_team_mail_leave(team); /* or the launch would wait for it */
    int status =
        flow_overlaps(team, call) ? launch_apart(team, call, stream, way) : launch_all(team, call, NULL, stream, way);
    return status == TUTTI_OK || status == TUTTI_ERR_UNAVAILABLE ? status : tutti_team_break(team, status);
}

int tutti_flow_put(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                   uint32_t launch_number, tutti_flow_shape *shape)
{
    return flow_put(team, call, stream, &(const struct flow_way){.shape = shape, .launch_number = launch_number});
}

int tutti_flow_put_mapped(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                          tutti_flow_shape *shape)
{
    struct tutti_peer_places places;
    tutti_peer_places_of(team, call, stream, &places);
    return flow_put(team, call, stream, &(const struct flow_way){.shape = shape, .places = &places});
}

uint32_t tutti_flow_number(struct tutti_team *team)
{
    if (++team->epoch == 0)
        team->epoch = 2;
    return team->epoch;
}

static int flow_run(struct tutti_team *team, const struct tutti_call *call, tutti_flow_shape *shape,
                    const struct tutti_peer_places *places)
{
    if (flow_overlaps(team, call)) { /* before waiting_begin, which blocks allocations, this thread's too */
        int taken = flow_take_spare(team, call->count * tutti_type_size(call->type));
        if (taken != TUTTI_OK)
            return tutti_team_break(team, taken);
    }
    tutti_waiting_begin(team);
    tutti_flow_number(team);
    const struct flow_way way = {.shape = shape, .notice = tutti_flow_notice(call), .places = places};
    return tutti_flow_finish(team, flow_put(team, call, team->stream, &way));
}

int tutti_flow_run(struct tutti_team *team, const struct tutti_call *call, tutti_flow_shape *shape)
{
    return flow_run(team, call, shape, NULL);
}

int tutti_flow_run_mapped(struct tutti_team *team, const struct tutti_call *call, tutti_flow_shape *shape)
{
    struct tutti_peer_places places;
    tutti_peer_places_of(team, call, team->stream, &places);
    return flow_run(team, call, shape, &places);
}

int tutti_flow_run_locals(struct tutti_team *team, const struct tutti_call *call, const struct tutti_locals *locals,
                          tutti_flow_shape *shape)
{
    tutti_waiting_begin(team);
    tutti_flow_number(team);
    const struct flow_way way = {.shape = shape, .notice = tutti_flow_notice(call)};
    int status = launch_all(team, call, locals, team->stream, &way);
    return tutti_flow_finish(team, status == TUTTI_OK ? status : tutti_team_break(team, status));
}

uint32_t tutti_flow_notice(const struct tutti_call *call)
{
    return TUTTI_NOTICE_EPOCH | (call->near ? TUTTI_NOTICE_NEAR : 0);
}

int tutti_flow_finish(struct tutti_team *team, int launched)
{
    int status = launched;
    tutti_phase(TUTTI_PHASE_KERNEL);
    if (status == TUTTI_OK)
        status = tutti_team_await_notice(team);
    else if (status != TUTTI_ERR_UNAVAILABLE)
        tutti_team_drain(team); /* the caller may free the buffers of copies before the launch that has failed */
    tutti_waiting_end(team);
    if (status == TUTTI_OK)
        tutti_launch_cache_fill(team);
    return status;
}
