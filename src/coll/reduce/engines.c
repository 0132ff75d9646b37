/* engines: copy engines push chunks of every rank's contribution into the windows of the results' owners; an owner
 * combines a chunk with its own, by the kernel of `direct`, while the next chunks arrive. Copies and kernels are
 * ordered by marks that kernels of one block store and await (kernels/move_step.inc): few blocks wait, and none for
 * long while it holds a multiprocessor that moves data. Copy engines move 5 to 10 % more a second through NVLink than
 * stores of kernels do.
 *
 * After a barrier the rings of all windows are free (coll/move/engines.c says why); this rank's side streams carry
 * chunk c to each peer in turn, and the call's stream combines the chunks that have arrived. A sender has SLOTS slots
 * in each window; the owner acknowledges a chunk when it has combined it, and the sender waits for that before it uses
 * the slot again. Of both streams the calls are made in the order of the chunks, copies LAG chunks ahead: the mark of a
 * chunk belongs to the step before the next copy of its side stream. So a device that makes this rank wait when its
 * queues are full, or runs a kernel on the calling thread, makes it wait only for calls that peers have made. For the
 * same reason a rank may put all into the call's stream, in that order (side_streams.h says when): its peers see the
 * same marks, so each rank decides for itself. */
#include "coll/launch/side_streams.h"
#include "coll/move/runs.h"
#include "coll/state.h"
#include "core/status.h"
#include "core/types.h"

enum {
    SLOTS = 4, /* see engines_combine() */
    LAG = TUTTI_SIDES,
    LAST_BYTES = 4 << 20, /* of the last chunk at most, if slots are not small */
    TAPERS = 64,          /* more than the halvings from two slots to a chunk of GRAIN */
    GRAIN = 64,           /* chunks begin at multiples of so many elements */
    BLOCKS_MOST = 128
};
_Static_assert(SLOTS > LAG + 1, "a rank that waits for a copy has said that it has used what was in the slot before");

enum { PHASE_ARRIVED, PHASE_USED }; /* of marks */

/* What a side stream has copied without having stored its mark. */
struct engines_copied {
    int peer; /* -1: nothing */
    size_t chunk;
};

struct engines {
    struct tutti_team *team;
    const struct tutti_call *call;
    struct tutti_stream *stream;
    struct tutti_side_streams *sides; /* NULL: all is put into the call's stream */
    const char *in;
    struct tutti_result part[TUTTI_MAX_GPUS];
    size_t size;                       /* of an element */
    size_t begin;                      /* of the slots in every window, in bytes */
    size_t most;                       /* elements of a chunk, for which a slot has room */
    size_t full;                       /* chunks that are as long */
    size_t rounds;                     /* and all of them, for the longest result */
    struct tutti_result taper[TAPERS]; /* elements of the others: their places in each result */
    unsigned used;                     /* side streams, by their marks: the same on all ranks; 0: none */
    uint32_t copied_by;                /* bits of side streams whose event this call has recorded */
    int over;                          /* 1: the result lies over what peers get */
    struct tutti_flow_args args;
    struct engines_copied copied[TUTTI_SIDES]; /* by each side stream, or for its marks; [0]: if none is used */
};

static size_t engines_longest(const struct engines *x)
{
    size_t longest = 0;
    for (int r = 0; r < x->team->size; r++)
        longest = x->part[r].count > longest ? x->part[r].count : longest;
    return longest;
}

static size_t engines_most(const struct tutti_team *team, size_t size)
{
    const size_t ring = 2 * tutti_channel_region(team, TUTTI_REGION_CHUNKS).stride;
    return ring / (size_t)(team->size - 1) / SLOTS / size / GRAIN * GRAIN;
}

/* How the call is cut, from facts that all ranks share. By the times of whole calls each copy between
 * kernels costs about 8 us besides its bytes, so chunks are as long as slots. The last chunk is combined when all has
 * arrived, so the rest, of up to two slots, is halved again and again. */
static void engines_cut(struct engines *x)
{
    const struct tutti_region region = tutti_channel_region(x->team, TUTTI_REGION_CHUNKS);
    const size_t longest = engines_longest(x), some = LAST_BYTES / x->size / GRAIN * GRAIN;
    x->begin = region.begin + region.stride;
    x->most = engines_most(x->team, x->size);
    const size_t last = x->most / 4 < some ? x->most / 4 : some;
    x->full = longest > 2 * x->most ? (longest - 1) / x->most - 1 : 0;
    x->rounds = x->full;
    for (size_t at = x->full * x->most; at < longest; x->rounds++) {
        const size_t left = longest - at, half = (left / 2 + GRAIN - 1) / GRAIN * GRAIN;
        struct tutti_result *taper = &x->taper[x->rounds - x->full];
        *taper = (struct tutti_result){at, half < left && left > last ? half : left};
        at += taper->count;
    }
}

/* Chunk c of every result. The slots are used in turn by the full chunks and the one behind them, whose last half goes
 * to the next slot. */
struct engines_chunk {
    struct tutti_result of; /* elements of the longest result */
    size_t place;           /* in the sender's slots, in elements */
    size_t after;           /* chunks that have been used before it is sent */
};

static struct engines_chunk engines_chunk(const struct engines *x, size_t c)
{
    struct engines_chunk chunk = {.of = {c * x->most, x->most}, .place = c % SLOTS * x->most};
    if (c >= x->full)
        chunk.of = x->taper[c - x->full];
    chunk.after = c >= SLOTS ? c - SLOTS + 1 : 0;
    if (c <= x->full)
        return chunk;
    chunk.place = (x->full + 1) % SLOTS * x->most + chunk.of.begin - x->taper[1].begin;
    chunk.after = x->full + 1 >= SLOTS ? x->full + 2 - SLOTS : 0;
    return chunk;
}

/* A block may wait in each side stream beside one of the call's stream: with less room fewer of them are used, the same
 * number on all ranks. */
static unsigned engines_sides(const struct tutti_team *team)
{
    const struct tutti_device *device = team->device;
    const unsigned blocks = tutti_coll_blocks(team);
    if (!device->gpu.resident || device->gpu.resident(team->gpu) == 0)
        return TUTTI_SIDES;
    return blocks > TUTTI_SIDES ? TUTTI_SIDES : blocks - 1;
}

/* 1 if a block would store a result over elements of its own chunk that another block has yet to read. */
static int engines_clashes(const struct engines *x)
{
    const struct tutti_result *own = &x->part[x->team->rank];
    return x->over && own->begin < engines_chunk(x, 0).of.count && own->begin < own->count;
}

/* Local, before the call's launches: what takes memory. */
static int engines_begin(struct engines *x, struct tutti_team *team, const struct tutti_call *call,
                         struct tutti_stream *stream)
{
    *x = (struct engines){.team = team, .call = call, .stream = stream, .in = call->in};
    for (int r = 0; r < team->size; r++)
        x->part[r] = tutti_result_of(call, r, team->size);
    x->size = tutti_type_size(call->type);
    engines_cut(x);
    x->used = engines_sides(team);
    x->over = tutti_shape_of(call) == TUTTI_SHAPE_SEGMENTS && call->in == call->out && x->part[team->rank].begin > 0 &&
              x->part[team->rank].count > 0;
    for (int i = 0; i < TUTTI_SIDES; i++)
        x->copied[i].peer = -1;
    tutti_flow_args(team, call, &x->args);
    x->args.blocks = 1;
    int status = tutti_runs_prepare(team);
    if (status == TUTTI_OK && engines_clashes(x))
        status = tutti_coll_spare(team, team->gpu, call->count * x->size);
    x->sides = status == TUTTI_OK && x->used > 0 ? tutti_side_streams_take(team, stream) : NULL;
    return status;
}

/* Elements of the chunk of rank r's result. */
static size_t engines_elements(const struct engines *x, int r, const struct engines_chunk *chunk)
{
    const size_t left = x->part[r].count > chunk->of.begin ? x->part[r].count - chunk->of.begin : 0;
    return left < chunk->of.count ? left : chunk->of.count;
}

/* Its place in the contributions. */
static const char *engines_source(const struct engines *x, int r, const struct engines_chunk *chunk)
{
    return x->in + (x->part[r].begin + chunk->of.begin) * x->size;
}

static char *engines_slot(const struct engines *x, int to, int from, const struct engines_chunk *chunk)
{
    const size_t number = (size_t)(from < to ? from : from - 1);
    return (char *)x->team->window[to] + x->begin + (number * SLOTS * x->most + chunk->place) * x->size;
}

/* The side stream of rank `from` that carries chunk c to rank `to`. */
static unsigned engines_side(const struct engines *x, int from, int to, size_t c)
{
    const size_t peers = (size_t)x->team->size - 1, turn = (size_t)(to - from - 1 + x->team->size) % (peers + 1);
    return x->used > 0 ? (unsigned)((c * peers + turn) % x->used) : 0;
}

static struct tutti_stream *engines_stream(const struct engines *x, unsigned side)
{
    return x->sides ? x->sides->own[side].stream : x->stream;
}

static uint64_t engines_mark(unsigned word, size_t c)
{
    return (uint64_t)word << 32 | (uint64_t)(c + 1);
}

struct engines_step {
    uint64_t mark[TUTTI_MAX_GPUS], await[TUTTI_MAX_GPUS];
};

/* Marks of `phase` are stored, those of the other one are awaited. */
static int engines_put_step(struct engines *x, struct tutti_stream *stream, unsigned phase,
                            const struct engines_step *step)
{
    enum { THREADS = 32 };
    x->args.depth = phase;
    for (int r = 0; r < x->team->size; r++) {
        x->args.there[TUTTI_PLACE_RESULT][r] = step->mark[r];
        x->args.there[TUTTI_PLACE_SOURCE][r] = step->await[r];
    }
    const struct tutti_launch launch = {.kernel = TUTTI_KERNEL_MOVE_STEP,
                                        .type = TUTTI_MOVES_TYPE,
                                        .op = TUTTI_MOVES_OP,
                                        .blocks = 1,
                                        .threads = THREADS,
                                        .gpu = x->team->gpu,
                                        .flow = &x->args};
    return x->team->device->launch.kernel(stream, &launch);
}

/* The step of side stream k before its next copy: stores the mark of the last one, and waits until chunk `used` - 1 has
 * been used by `peer`; 0: for nothing. */
static int engines_step_side(struct engines *x, unsigned k, int peer, size_t used)
{
    struct engines_copied *last = &x->copied[k];
    struct engines_step step = {.mark = {0}};
    if (last->peer < 0 && used == 0)
        return TUTTI_OK;
    if (last->peer >= 0)
        step.mark[last->peer] = engines_mark(k, last->chunk);
    if (used > 0)
        step.await[peer] = engines_mark(0, used - 1);
    last->peer = -1;
    return engines_put_step(x, engines_stream(x, k), PHASE_ARRIVED, &step);
}

/* Chunk c to `peer`. */
static int engines_push(struct engines *x, int peer, size_t c)
{
    const int rank = x->team->rank;
    const unsigned k = engines_side(x, rank, peer, c);
    const struct engines_chunk chunk = engines_chunk(x, c);
    const size_t n = engines_elements(x, peer, &chunk);
    int status = engines_step_side(x, k, peer, n > 0 ? chunk.after : 0);
    if (status != TUTTI_OK || n == 0)
        return status;
    status = x->team->device->stream.copy(engines_stream(x, k), engines_slot(x, peer, rank, &chunk),
                                          engines_source(x, peer, &chunk), n * x->size);
    x->copied[k] = (struct engines_copied){peer, c};
    if (status == TUTTI_OK && x->over && x->sides) {
        status = x->team->device->event.record(x->sides->done[k], x->sides->own[k].stream);
        x->copied_by |= UINT32_C(1) << k;
    }
    return status;
}

static unsigned engines_blocks(const struct engines *x, size_t bytes)
{
    enum { BLOCK_BYTES = 16 * 512 };
    const size_t blocks = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    const unsigned have = tutti_coll_blocks(x->team), rest = have > x->used ? have - x->used : 1;
    const unsigned most = rest < BLOCKS_MOST ? rest : BLOCKS_MOST;
    return blocks < most ? (unsigned)blocks : most;
}

/* Combines chunk c of this rank's result when it has arrived from all peers. */
static int engines_combine(struct engines *x, size_t c)
{
    const int rank = x->team->rank, ranks = x->team->size;
    const struct engines_chunk chunk = engines_chunk(x, c);
    const size_t n = engines_elements(x, rank, &chunk);
    struct engines_step step = {.mark = {0}};
    struct tutti_kernel_args args = {.ranks = (uint32_t)ranks, .outs = 1, .gpus = 1, .shape = TUTTI_SHAPE_ALL};
    int status = TUTTI_OK;
    if (n == 0)
        return TUTTI_OK;
    for (int r = 0; r < ranks; r++) {
        args.in[r] = r == rank ? engines_source(x, rank, &chunk) : engines_slot(x, rank, r, &chunk);
        if (r == rank)
            continue;
        step.await[r] = engines_mark(engines_side(x, r, rank, c), c);
        if (c > 0) /* its sender may wait for the slot */
            step.mark[r] = engines_mark(0, c - 1);
    }
    args.out[0] = (char *)x->call->out + chunk.of.begin * x->size;
    args.count = args.slice = n;
    args.blocks = engines_blocks(x, n * x->size);
    /* The result overwrites what this rank has pushed in chunks up to c: those copies have been made. So have LAG
     * later ones, which wait for slots whose chunks peers have combined, and acknowledged, before chunk c. A capture
     * refuses a wait for an event that it has not recorded. */
    for (unsigned k = 0; k < x->used && status == TUTTI_OK; k++) {
        if (x->copied_by >> k & 1)
            status = x->team->device->event.wait(x->stream, x->sides->done[k]);
    }
    if (status == TUTTI_OK)
        status = engines_put_step(x, x->stream, PHASE_USED, &step);
    const struct tutti_launch launch = {.kernel = TUTTI_KERNEL_DIRECT,
                                        .type = x->call->type,
                                        .op = x->call->op,
                                        .blocks = args.blocks,
                                        .gpu = x->team->gpu,
                                        .args = &args};
    return status == TUTTI_OK ? x->team->device->launch.kernel(x->stream, &launch) : status;
}

/* The pushes of chunk c; after the last one, the marks that are owed. */
static int engines_push_all(struct engines *x, size_t c)
{
    int status = TUTTI_OK;
    for (int i = 1; i < x->team->size && status == TUTTI_OK; i++) /* ranks begin with different peers */
        status = engines_push(x, (x->team->rank + i) % x->team->size, c);
    for (unsigned k = 0; k < (x->used > 0 ? x->used : 1) && c + 1 == x->rounds && status == TUTTI_OK; k++)
        status = engines_step_side(x, k, 0, 0);
    return status;
}

static int engines_put(struct engines *x)
{
    const struct tutti_device *device = x->team->device;
    int status = TUTTI_OK;
    if (engines_clashes(x)) {
        void *const kept = tutti_coll_of(x->team)->spare[tutti_coll_of(x->team)->spares - 1];
        status = device->stream.copy(x->stream, kept, x->in, x->call->count * x->size);
        x->in = kept;
        x->over = 0;
    }
    if (status == TUTTI_OK)
        status = tutti_runs_barrier(x->team, x->call, x->stream, 0);
    if (status == TUTTI_OK && x->sides)
        status = tutti_side_streams_fork(x->team, x->sides, x->used, x->stream);
    for (size_t c = 0; c < x->rounds + LAG && status == TUTTI_OK; c++) {
        if (c < x->rounds)
            status = engines_push_all(x, c);
        if (c >= LAG && status == TUTTI_OK)
            status = engines_combine(x, c - LAG);
    }
    if (status == TUTTI_OK && x->sides)
        status = tutti_side_streams_join(x->team, x->sides, x->used, x->stream);
    return status == TUTTI_OK ? status : tutti_team_break(x->team, status);
}

static int reduce_engines_can(const struct tutti_team *team, const struct tutti_call *call)
{
    if (!tutti_flow_can(team) || team->size < 2 || team->size > TUTTI_MAX_GPUS)
        return 0;
    return team->state != TUTTI_TEAM_OPEN || engines_most(team, tutti_type_size(call->type)) > 0;
}

/* Later, peers may wait in kernels for this rank. A failure occurs again in the run. */
static void engines_prepare(struct tutti_team *team, int in_stream)
{
    (void)tutti_runs_prepare(team);
    (void)tutti_side_streams_open(team, in_stream ? NULL : team->stream);
}

static int engines_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    struct engines x;
    *fits = 1;
    int status = engines_begin(&x, team, call, team->stream);
    if (status != TUTTI_OK)
        return tutti_team_break(team, status);
    tutti_waiting_begin(team);
    tutti_flow_number(team);
    status = engines_put(&x);
    if (status == TUTTI_OK) /* reports the end */
        status = tutti_runs_barrier(team, call, team->stream, tutti_flow_notice(call));
    status = tutti_flow_finish(team, status);
    tutti_side_streams_give(team, team->stream, x.sides);
    return status;
}

static int engines_enqueue(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream)
{
    struct engines x;
    int status = engines_begin(&x, team, call, stream);
    if (status != TUTTI_OK)
        return tutti_team_break(team, status);
    status = engines_put(&x);
    tutti_side_streams_give(team, stream, x.sides);
    return status;
}

const struct tutti_algorithm tutti_reduce_engines = {
    .name = "engines",
    .collectives = TUTTI_ON(REDUCE) | TUTTI_ON_REDUCE_SCATTERS,
    .kernels = TUTTI_LAUNCHES(DIRECT),
    .waits_for_peers = 1,
    .can = reduce_engines_can,
    .prepare = engines_prepare,
    .run = engines_run,
    .enqueue = engines_enqueue,
};
