#include "coll/move/runs.h"

#include <string.h>

#include "bounce/bounce.h"
#include "coll/launch/cache.h"
#include "coll/move/packing.h"
#include "coll/mover_row.h"
#include "coll/state.h"
#include "core/counters.h"
#include "core/phases.h"
#include "core/status.h"
#include "team/expose.h"

/* The participants of a kernel: ranks, or leaders. */
struct runs_between {
    int n, own;
    uint64_t there[TUTTI_PLACES][TUTTI_MAX_GPUS]; /* see struct tutti_flow_args */
    /* A block that the kernel repeats, `most` bytes in all, in `to`, where the runs are; most = 0: none. */
    struct runs_repeat {
        const void *from;
        void *to;
        uint64_t bytes, most;
    } repeat;
};

static uint64_t runs_longest(const struct runs_between *between, const struct tutti_move_flow *flow)
{
    uint64_t longest = 0;
    for (int r = 0; r < between->n; r++) {
        if (r == between->own)
            continue;
        longest = flow->send[r].bytes > longest ? flow->send[r].bytes : longest;
        longest = flow->receive[r].bytes > longest ? flow->receive[r].bytes : longest;
    }
    return longest;
}

uint64_t tutti_runs_longest(const struct tutti_team *team, const struct tutti_move_flow *flow)
{
    return runs_longest(&(const struct runs_between){.n = team->size, .own = team->rank}, flow);
}

void tutti_runs_in_chunks(const struct tutti_team *team, enum tutti_kernel kernel, struct tutti_runs *runs)
{
    enum { CHUNK_LEAST = 2048, CHUNK_MOST = 64 << 10, BLOCKS_MOST = 128, GRAIN = 256 };
    const size_t set = tutti_channel_region(team, TUTTI_REGION_CHUNKS).stride; /* bytes of each of the sets of slots */
    const size_t peers = team->size > 1 ? (size_t)team->size - 1 : 1;
    *runs = (struct tutti_runs){
        .kernel = kernel, .region = TUTTI_REGION_CHUNKS, .most = UINT64_MAX, .worth = CHUNK_LEAST, .tells = 1};
    runs->blocks = tutti_flow_blocks_in(set / peers, CHUNK_LEAST, tutti_flow_blocks(team, BLOCKS_MOST, 1, BLOCKS_MOST));
    runs->room = set / (peers * runs->blocks) / GRAIN * GRAIN;
    if (runs->room > CHUNK_MOST)
        runs->room = CHUNK_MOST;
}

int tutti_runs_can(const struct tutti_team *team, const struct tutti_call *call, tutti_runs_shape *shape)
{
    struct tutti_runs runs;
    if (!call->flow)
        return 0; /* the reason is set */
    if (team->size > TUTTI_MAX_GPUS)
        return TUTTI_NO(MANY_GPUS);
    if (team->state != TUTTI_TEAM_OPEN)
        return 1;
    if (!tutti_flow_can(team))
        return TUTTI_NO(RULES);
    const uint64_t longest = tutti_runs_longest(team, call->flow);
    shape(team, longest, &runs);
    return longest <= runs.most || TUTTI_NO(RULES);
}

int tutti_runs_prepare(const struct tutti_team *team)
{
    int *const prepared = &tutti_coll_of(team)->moves_prepared;
    if (!*prepared && team->device->launch.prepare) {
        uint32_t kernels = 0;
        for (int kernel = 0; kernel < TUTTI_KERNELS; kernel++)
            kernels |= (uint32_t)tutti_kernel_moves(kernel) << kernel;
        const int status = team->device->launch.prepare(team->gpu, kernels, TUTTI_MOVES_TYPE, TUTTI_MOVES_OP);
        if (status != TUTTI_OK)
            return status;
    }
    *prepared = 1;
    return TUTTI_OK;
}

/* If every rank receives data from every other one, these data show that the peers have begun, and no tokens are
 * needed, if all runs have one length. */
static int runs_meet(const struct tutti_call *call, uint64_t longest)
{
    return longest > 0 && tutti_mover_is_even(call->collective);
}

/* The same on all ranks. */
static unsigned runs_apart(const struct tutti_call *call, const struct tutti_runs *runs)
{
    return TUTTI_RUNS_APART >> call->collective & 1 ? runs->apart : 0;
}

static void runs_args(struct tutti_team *team, const struct tutti_call *call, const struct runs_between *between,
                      const struct tutti_runs *runs, uint64_t longest, struct tutti_flow_args *args)
{
    const struct tutti_region region = tutti_channel_region(team, runs->region);
    tutti_flow_args(team, call, args);
    args->ranks = (uint32_t)between->n;
    args->rank = (uint32_t)between->own;
    args->root = (uint32_t)(between->n < team->size ? team->gpu_of[call->root] : call->root);
    args->in = NULL;
    args->out = NULL;
    args->over = 0;
    args->shape = runs_meet(call, longest) ? TUTTI_SHAPE_ALL : TUTTI_SHAPE_SEGMENTS;
    args->tells = (uint32_t)runs->tells;
    args->region = region.begin;
    args->stride = region.stride;
    args->room = runs->room;
    args->slice = runs->worth;
    args->depth = runs->blocks - runs_apart(call, runs);
    args->count = runs->direct;
    if (between->repeat.most > 0) {
        args->in = between->repeat.from;
        args->out = between->repeat.to;
        args->count = between->repeat.bytes;
        args->chunk = between->repeat.most;
    }
    memcpy(args->there, between->there, sizeof args->there);
    for (int r = 0; r < between->n; r++) {
        args->begin[r] = (uint64_t)(uintptr_t)call->flow->send[r].at;
        args->n[r] = call->flow->send[r].bytes;
        args->result[r] = (uint64_t)(uintptr_t)call->flow->receive[r].at;
        args->result_n[r] = call->flow->receive[r].bytes;
    }
}

/* 1 if this rank sends itself what it sends to no other rank. */
static int runs_own_is_apart(const struct runs_between *between, const struct tutti_move_flow *flow, uint64_t longest)
{
    const struct tutti_move_send *const own = &flow->send[between->own];
    const uint64_t bytes = flow->receive[between->own].bytes;
    int same = own->at == flow->receive[between->own].at;
    for (int r = 0; r < between->n; r++)
        same |= r != between->own && flow->send[r].at == own->at && flow->send[r].bytes == own->bytes;
    return bytes > 0 && bytes <= longest && !same;
}

/* Thread blocks. Those for the peers also copy this rank's run to itself. If that run is the longest, it decides how
 * many blocks are launched. Launches of all blocks have some for it alone where the row and the call have any. */
static unsigned runs_blocks(const struct runs_between *between, const struct tutti_call *call,
                            const struct tutti_runs *runs, uint64_t longest)
{
    const uint64_t own = call->flow->receive[between->own].bytes, most = own > longest ? own : longest;
    const uint64_t blocks = (most + runs->worth - 1) / runs->worth;
    const unsigned apart = runs_apart(call, runs), parts = runs->blocks - apart;
    if (blocks >= parts)
        return apart && runs_own_is_apart(between, call->flow, longest) ? runs->blocks : parts;
    return blocks < 1 ? 1 : (unsigned)blocks;
}

/* Grains of the longest part of a run of n bytes, as tutti_move_part() cuts it: blocks' parts are whole grains. */
static uint64_t runs_grains(const struct tutti_runs *runs, uint64_t n)
{
    const uint64_t worth = (n + runs->worth - 1) / runs->worth;
    const uint64_t parts = worth < 1 ? 1 : worth < runs->blocks ? worth : runs->blocks;
    return ((n + runs->grain - 1) / runs->grain + parts - 1) / parts;
}

int tutti_runs_few(const struct tutti_runs *runs, const struct tutti_move_flow *flow, int n, int own)
{
    const unsigned warps = runs->threads / 32, peers = (unsigned)n - 1;
    uint64_t most = 0;
    if (runs->grain == 0 || peers == 0 || warps < peers)
        return 0;
    for (int r = 0; r < n; r++) {
        if (r == own)
            continue;
        const uint64_t to = runs_grains(runs, flow->send[r].bytes), from = runs_grains(runs, flow->receive[r].bytes);
        most = to > most ? to : most;
        most = from > most ? from : most;
    }
    return most <= warps / peers;
}

static int runs_launch_between(struct tutti_team *team, const struct tutti_call *call,
                               const struct runs_between *between, struct tutti_stream *stream, uint32_t notice,
                               tutti_runs_shape *shape)
{
    struct tutti_flow_args args;
    struct tutti_runs runs;
    const uint64_t longest = runs_longest(between, call->flow);
    shape(team, longest, &runs);
    if (longest > runs.most)
        return TUTTI_ERR_UNAVAILABLE;
    if (stream == team->stream)
        tutti_team_mail_leave(team); /* or the launch would wait for it */
    runs_args(team, call, between, &runs, longest, &args);
    args.notice = notice;
    args.blocks = runs_blocks(between, call, &runs, longest);
    args.few = between->repeat.most == 0 && (uint32_t)tutti_runs_few(&runs, call->flow, between->n, between->own);
    struct tutti_launch launch = {.kernel = runs.kernel,
                                  .type = TUTTI_MOVES_TYPE,
                                  .op = TUTTI_MOVES_OP,
                                  .blocks = args.blocks,
                                  .threads = runs.threads,
                                  .gpu = team->gpu,
                                  .early = tutti_flow_early(team, stream, args.blocks, &args.early),
                                  .flow = &args};
    const int status = notice ? tutti_launch_cached(team, &launch) : team->device->launch.kernel(stream, &launch);
    return status == TUTTI_OK ? status : tutti_team_break(team, status);
}

static void runs_count_direct(struct tutti_team *team)
{
    tutti_coll_of(team)->direct_runs++;
    tutti_count("results of data movers", TUTTI_OUTCOME_MAPPED, "long runs, stored by their senders");
}

/* Publishes this rank's buffer of the broadcast's message, and reads the addresses of the other ranks' buffers. Unless
 * this rank reaches all of them, it uses no address. */
static void runs_expose_message(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                                uint64_t there[])
{
    const struct tutti_move_flow *flow = call->flow;
    const int other = call->root == 0 ? 1 : 0;
    const struct tutti_expose_buffer message =
        team->rank == call->root
            ? (struct tutti_expose_buffer){.at = flow->send[other].at, .bytes = flow->send[other].bytes}
            : (struct tutti_expose_buffer){.at = flow->receive[call->root].at,
                                           .bytes = flow->receive[call->root].bytes};
    struct tutti_expose_buffer buffer[TUTTI_MAX_GPUS];
    int all = 1;
    for (int r = 0; r < team->size; r++)
        buffer[r] = message;
    tutti_expose(team, stream, buffer, there);
    for (int r = 0; r < team->size; r++)
        all &= r == team->rank || there[r] != 0;
    if (!all)
        memset(there, 0, (size_t)team->size * sizeof *there);
    else
        runs_count_direct(team);
}

/* The participants are all ranks of the team. If the row stores into results, this rank publishes the addresses of its
 * long results to their senders. */
static void runs_between_ranks(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                               tutti_runs_shape *shape, struct runs_between *between)
{
    struct tutti_expose_buffer buffer[TUTTI_MAX_GPUS];
    struct tutti_runs runs;
    *between = (struct runs_between){.n = team->size, .own = team->rank};
    shape(team, tutti_runs_longest(team, call->flow), &runs);
    if (runs.hands_on)
        runs_expose_message(team, call, stream, between->there[TUTTI_PLACE_SOURCE]);
    if (!runs.direct)
        return;
    for (int r = 0; r < team->size; r++) {
        const struct tutti_move_receive *to = &call->flow->receive[r];
        buffer[r] = (struct tutti_expose_buffer){.at = to->at, .bytes = to->bytes > runs.direct ? to->bytes : 0};
    }
    tutti_expose(team, stream, buffer, between->there[TUTTI_PLACE_RESULT]);
    for (int r = 0; r < team->size; r++) {
        if (between->there[TUTTI_PLACE_RESULT][r] != 0)
            runs_count_direct(team);
    }
}

int tutti_runs_barrier(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                       uint32_t notice)
{
    static const struct tutti_move_flow nothing;
    const struct tutti_runs runs = {.kernel = TUTTI_KERNEL_MOVE_LL,
                                    .region = TUTTI_REGION_LL,
                                    .room = tutti_ll_room(team),
                                    .worth = 1,
                                    .blocks = 1};
    const struct tutti_call empty = {.collective = call->collective, .root = call->root, .flow = &nothing};
    struct tutti_flow_args args;
    if (stream == team->stream)
        tutti_team_mail_leave(team); /* or the launch would wait for it */
    runs_args(team, &empty, &(const struct runs_between){.n = team->size, .own = team->rank}, &runs, 0, &args);
    args.shape = TUTTI_SHAPE_NOTHING;
    args.notice = notice;
    args.blocks = 1;
    struct tutti_launch launch = {.kernel = runs.kernel,
                                  .type = TUTTI_MOVES_TYPE,
                                  .op = TUTTI_MOVES_OP,
                                  .blocks = 1,
                                  .threads = 32,
                                  .gpu = team->gpu,
                                  .early = tutti_flow_early(team, stream, 1, &args.early),
                                  .flow = &args};
    const int status = team->device->launch.kernel(stream, &launch);
    return status == TUTTI_OK ? status : tutti_team_break(team, status);
}

int tutti_runs_put(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                   tutti_runs_shape *shape)
{
    struct runs_between between;
    runs_between_ranks(team, call, stream, shape, &between);
    return runs_launch_between(team, call, &between, stream, 0, shape);
}

static int runs_pack(struct tutti_team *team, const struct tutti_pack_job *jobs, unsigned n)
{
    return n > 0 ? tutti_pack_enqueue(team->stream, team->gpu, jobs, n) : TUTTI_OK;
}

/* Puts the packing launches before the move, the move, and the launches after it into the team's stream. */
static int runs_run_around(struct tutti_team *team, const struct tutti_call *call, const struct runs_between *between,
                           const struct tutti_runs_around *around, tutti_runs_shape *shape)
{
    tutti_waiting_begin(team);
    tutti_phase(TUTTI_PHASE_LAUNCH);
    tutti_flow_number(team);
    int status = runs_pack(team, around->before, around->befores);
    if (status == TUTTI_OK)
        status = runs_launch_between(team, call, between, team->stream, tutti_flow_notice(call), shape);
    if (status == TUTTI_OK)
        status = runs_pack(team, around->after, around->afters);
    status = tutti_flow_finish(team, status);
    if (status == TUTTI_OK && around->afters > 0) /* this wait needs no peer */
        status = team->device->stream.sync(team->stream);
    return status == TUTTI_OK ? status : tutti_team_break(team, status);
}

int tutti_runs_lead(struct tutti_team *team, const struct tutti_call *call, const struct tutti_runs_around *around,
                    tutti_runs_shape *shape)
{
    return runs_run_around(team, call, &(const struct runs_between){.n = team->gpus, .own = team->gpu_index}, around,
                           shape);
}

/* If all that would be packed is one short block that goes to ranks several times, the kernel repeats it in the
 * scratch: a launch less. It must be the kernel of packets, with one block. */
static void runs_repeat(const struct tutti_team *team, const struct tutti_call *call, const struct tutti_packing *x,
                        struct tutti_move_flow *flow, tutti_runs_shape *shape, struct runs_between *between)
{
    enum { REPEAT_MOST = 2048 };
    const struct tutti_move *move = call->move;
    struct runs_repeat repeat = {.to = x->scratch};
    struct tutti_runs runs;
    if (move->runs.packed != TUTTI_PACKED_JOINED || move->runs.pieces > 1 || x->unpacks > 0 || x->ins > 0 ||
        x->outs > 0)
        return;
    for (int i = 0; i < move->sends; i++) {
        const struct tutti_move_block *block = &move->send[i];
        if (block->bytes == 0 || !(move->runs.joined_sends >> block->rank & 1))
            continue;
        const void *run = tutti_elements_run(&block->elements);
        if (repeat.from && (repeat.from != run || repeat.bytes != block->bytes))
            return;
        repeat.from = run;
        repeat.bytes = block->bytes;
        repeat.most = flow->send[block->rank].bytes > repeat.most ? flow->send[block->rank].bytes : repeat.most;
    }
    const uint64_t longest = runs_longest(between, flow);
    shape(team, longest, &runs);
    if (repeat.most > REPEAT_MOST || runs.kernel != TUTTI_KERNEL_MOVE_LL ||
        runs_blocks(between, call, &runs, longest) > 1)
        return;
    for (int r = 0; r < team->size; r++) {
        if (move->runs.joined_sends >> r & 1)
            flow->send[r].at = repeat.to;
    }
    between->repeat = repeat;
}

/* The bytes [begin, end) of each run, some of which may pass through scratch. */
static int runs_run_piece(struct tutti_team *team, const struct tutti_call *call, void *window, uint64_t begin,
                          uint64_t end, tutti_runs_shape *shape)
{
    struct runs_between between;
    struct tutti_packing x;
    struct tutti_move_flow flow;
    struct tutti_call piece = *call;
    tutti_packing_of(team, call->move, window, begin, end, &x, &flow);
    piece.flow = &flow;
    if (call->move->runs.pieces > 1) /* the last ones may have no bytes for some ranks */
        piece.collective = TUTTI_COLLECTIVE_ALLTOALLV;
    tutti_team_mail_leave(team); /* or the copies and launches would wait for it */
    int status = tutti_packing_copy_in(team, &x);
    if (status != TUTTI_OK)
        return tutti_team_break(team, status); /* peers would wait for this rank's kernel */
    runs_between_ranks(team, &piece, team->stream, shape, &between);
    runs_repeat(team, &piece, &x, &flow, shape, &between);
    const struct tutti_runs_around around = {x.pack, x.unpack, between.repeat.most > 0 ? 0 : x.packs, x.unpacks};
    status = runs_run_around(team, &piece, &between, &around, shape);
    if (status == TUTTI_OK && (status = tutti_packing_copy_out(team, &x)) != TUTTI_OK)
        status = tutti_team_break(team, status);
    return status;
}

static int runs_run_packed(struct tutti_team *team, const struct tutti_call *call, tutti_runs_shape *shape)
{
    const struct tutti_move_runs *runs = &call->move->runs;
    int status = TUTTI_OK;
    if (runs->pieces <= 1) {
        struct tutti_bounce *window = tutti_packing_window(team, call->move);
        status = runs_run_piece(team, call, window ? window->memory : NULL, 0, UINT64_MAX, shape);
        tutti_bounce_give_kept(window);
        return status;
    }
    for (uint64_t i = 0; i < runs->pieces && status == TUTTI_OK; i++)
        status = runs_run_piece(team, call, NULL, i << runs->piece, (i + 1) << runs->piece, shape);
    return status;
}

int tutti_runs_pack(struct tutti_team *team, struct tutti_move *move)
{
    struct tutti_packing x;
    struct tutti_move_flow flow;
    tutti_packing_of(team, move, NULL, 0, UINT64_MAX, &x, &flow);
    move->runs.flow = flow;
    tutti_team_mail_leave(team); /* or the launch would wait for it */
    int status = tutti_packing_copy_in(team, &x);
    if (status == TUTTI_OK)
        status = runs_pack(team, x.pack, x.packs);
    if (status == TUTTI_OK && x.packs + x.ins > 0) /* another rank reads the scratch */
        status = team->device->stream.sync(team->stream);
    return status;
}

int tutti_runs_unpack(struct tutti_team *team, struct tutti_move *move)
{
    struct tutti_packing x;
    struct tutti_move_flow flow;
    tutti_packing_of(team, move, NULL, 0, UINT64_MAX, &x, &flow);
    int status = runs_pack(team, x.unpack, x.unpacks);
    if (status == TUTTI_OK && x.unpacks > 0)
        status = team->device->stream.sync(team->stream);
    if (status == TUTTI_OK)
        status = tutti_packing_copy_out(team, &x);
    return status == TUTTI_OK ? status : tutti_team_break(team, status);
}

int tutti_runs_run(struct tutti_team *team, const struct tutti_call *call, tutti_runs_shape *shape)
{
    if (call->move && (call->move->runs.packed || call->move->runs.pieces > 1))
        return runs_run_packed(team, call, shape);
    struct runs_between between;
    runs_between_ranks(team, call, team->stream, shape, &between);
    tutti_waiting_begin(team);
    tutti_phase(TUTTI_PHASE_LAUNCH);
    tutti_flow_number(team);
    return tutti_flow_finish(team,
                             runs_launch_between(team, call, &between, team->stream, tutti_flow_notice(call), shape));
}
