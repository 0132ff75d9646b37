/* The door's side of collectives that move data (coll/move.h): a call's buffers as blocks. */
#include "mpi/move/mover.h"

#include <stdlib.h>

#include "mpi/comm/comms.h"
#include "mpi/comm/hints.h"
#include "mpi/move/mover_own.h"
#include "mpi/move/pattern.h"
#include "mpi/real/errors.h"

/* ---- blocks as elements ---- */

/* 1 if elements that have bytes lie nowhere: there is no buffer, and the type has no addresses. A list of types may
 * have the addresses beside it. */
static int mover_lies_nowhere(const struct tutti_buffer *buffer, const struct tutti_mover_block *block)
{
    return unlikely(!buffer->buffer) && block->layout->plan && block->layout->plan->true_lower == 0 &&
           (!buffer->types || !block->at);
}

/* Blocks of one side. 0 if a type has no plan and the call needs plans, or the arguments are wrong. */
static int mover_elements(struct tutti_mover *x, const struct tutti_buffer *buffer, struct tutti_mover_block *from,
                          int n, struct tutti_move_block *to)
{
    const char *counted = NULL;
    struct tutti_layout *layout = NULL;
    MPI_Datatype last = tutti_handles.no_type;
    for (int i = 0; i < n; i++) {
        struct tutti_mover_block *block = &from[i];
        MPI_Count bytes;
        to[i] = (struct tutti_move_block){.rank = block->rank};
        if (block->count == 0)
            continue;
        if (!layout || block->type != last)
            layout = tutti_layout_of(last = block->type);
        block->layout = layout;
        if (!layout || (!layout->plan && !x->takes_any) || !tutti_layout_committed(layout, block->type) ||
            __builtin_mul_overflow(block->count, layout->size, &bytes))
            return TUTTI_NO(TYPE);
        if (bytes > 0 && mover_lies_nowhere(buffer, block))
            return TUTTI_NO(OTHER);
        to[i].elements = tutti_message_elements(block->at, block->count, layout);
        x->without += !layout->plan && bytes > 0;
        to[i].bytes = (uint64_t)bytes;
        x->bytes += block->at == counted ? 0 : (uint64_t)bytes;
        counted = block->at;
    }
    return 1;
}

/* 1 if the MPI takes the type of a buffer, of which no block was looked at. */
static int mover_takes_type(const struct tutti_buffer *buffer)
{
    if (buffer->buffer == MPI_IN_PLACE || buffer->types)
        return 1;
    struct tutti_layout *layout = tutti_layout_of(buffer->type);
    return layout && tutti_layout_committed(layout, buffer->type);
}

/* Blocks without gaps of one buffer, which is asked about at its two ends. */
static void mover_find(const struct tutti_buffer *buffer, const struct tutti_move_block *block, int n)
{
    const char *first = NULL, *end = NULL, *from, *to;
    if (!tutti_found_now || buffer->types || !buffer->buffer || buffer->buffer == MPI_IN_PLACE)
        return;
    for (int i = 0; i < n; i++) {
        if (block[i].bytes == 0)
            continue;
        if (!block[i].elements.whole)
            return;
        tutti_elements_span(&block[i].elements, &from, &to);
        first = !first || from < first ? from : first;
        end = to > end ? to : end;
    }
    if (first)
        tutti_found_span(first, end);
}

static int mover_describe_blocks(struct tutti_mover *x)
{
    if (!tutti_mover_blocks_open(&x->blocks, x->call, x->nonblocking, x->team->rank, x->team->size))
        return TUTTI_NO(EDGES);
    const int ins = x->blocks.ins, outs = x->blocks.outs;
    struct tutti_move *move = &x->move;
    move->send = ins + outs <= TUTTI_MOVER_FEW ? x->few : malloc(((size_t)ins + (size_t)outs) * sizeof *move->send);
    if (!move->send)
        return TUTTI_NO(MEMORY);
    move->receive = move->send + ins;
    move->aside = x->blocks.aside;
    move->sends = ins;
    move->receives = outs;
    if (!mover_elements(x, &x->call->in, x->blocks.in, ins, move->send) ||
        !mover_elements(x, &x->call->out, x->blocks.out, outs, move->receive))
        return 0;
    mover_find(&x->call->in, move->send, ins);
    mover_find(&x->call->out, move->receive, outs);
    /* A rank alone that moves nothing, as in a broadcast: the MPI, which looks at the types, is not called otherwise.
     */
    if (x->team->size == 1 && x->bytes == 0 && !(mover_takes_type(&x->call->in) && mover_takes_type(&x->call->out)))
        return TUTTI_NO(TYPE);
    return 1;
}

/* 1 if no block of the buffer lies in memory of a device. */
static int mover_buffer_on_host(const struct tutti_buffer *buffer)
{
    struct tutti_memory memory;
    if (buffer->buffer == MPI_IN_PLACE)
        return 1;
    if (buffer->counts || buffer->displs || buffer->types || buffer->count < 0)
        return 0;
    if (buffer->count == 0)
        return 1;
    if (!tutti_type_find(buffer->type))
        return 0;
    tutti_memory_at(tutti_door.device, buffer->buffer, &memory);
    return memory.kind != TUTTI_MEMORY_DEVICE;
}

/* Whether this rank sends and receives: the root of a gather or scatter does both, the other ranks one. The MPI ignores
 * the other buffer there, so it may be anything. */
static void mover_uses(const struct tutti_collective_args *call, int *sends, int *receives)
{
    const struct tutti_mover_row *const row = tutti_mover_row(call->collective);
    const struct tutti_comm *state;
    *sends = *receives = 1;
    if (row->send == TUTTI_HOLDS_SHARED || (row->from != TUTTI_PEERS_ROOT && row->to != TUTTI_PEERS_ROOT) ||
        !(state = tutti_comm_find(call->comm)) || state->opening || !state->team || !state->team->whole)
        return;
    const int root = call->root == state->team->rank;
    *sends = row->from != TUTTI_PEERS_ROOT || root;
    *receives = row->to != TUTTI_PEERS_ROOT || root;
}

int tutti_mover_on_host(const struct tutti_collective_args *call)
{
    const int one = call->in.buffer == call->out.buffer && call->in.count == call->out.count &&
                    call->in.type == call->out.type && !call->out.counts && !call->out.types;
    int sends, receives;
    mover_uses(call, &sends, &receives);
    return (!sends || mover_buffer_on_host(&call->in)) && (!receives || one || mover_buffer_on_host(&call->out));
}

/* 1 if the MPI refuses such a call: the buffers are one, or a block that the rank sends to itself is received where it
 * is. */
static int mover_alias(const struct tutti_mover *x)
{
    const struct tutti_mover_blocks *blocks = &x->blocks;
    const int own = x->team->rank;
    if (likely(!tutti_quirks.refuses_alias))
        return 0;
    if (x->call->in.buffer == x->call->out.buffer && x->call->collective != TUTTI_COLLECTIVE_BCAST && blocks->ins > 0 &&
        blocks->outs > 0)
        return 1;
    for (int i = 0; i < blocks->ins; i++) {
        for (int j = 0; blocks->in[i].rank == own && blocks->in[i].count > 0 && j < blocks->outs; j++) {
            if (blocks->out[j].rank == own && blocks->out[j].count > 0 && blocks->out[j].at == blocks->in[i].at)
                return 1;
        }
    }
    return 0;
}

/* Bytes of a block of the buffer, if all have one length and a predefined type; 0: they do not. */
static size_t mover_block_bytes(const struct tutti_buffer *buffer)
{
    const struct tutti_layout *layout;
    MPI_Count bytes;
    if (buffer->counts || buffer->displs || buffer->types || buffer->count <= 0 || !buffer->buffer ||
        buffer->buffer == MPI_IN_PLACE || !tutti_type_find(buffer->type) || !(layout = tutti_layout_of(buffer->type)) ||
        __builtin_mul_overflow(layout->size, buffer->count, &bytes))
        return 0;
    return (size_t)bytes;
}

/* 1 if the rank sends from one kind of memory and receives into another, in a call that is short enough for the MPI:
 * its blocks need not be described. */
static int mover_leaves(struct tutti_mover *x)
{
    const struct tutti_collective_args *const args = x->call;
    const size_t in = mover_block_bytes(&args->in), out = in ? mover_block_bytes(&args->out) : 0;
    struct tutti_pattern pattern;
    struct tutti_memory from, to;
    if (!out || args->collective == TUTTI_COLLECTIVE_BCAST || tutti_pattern_has_neighbours(args->collective) ||
        tutti_pattern_open_as(&pattern, args, x->team->rank, x->team->size) != TUTTI_OK)
        return 0;
    const int both = pattern.send.used && pattern.recv.used && pattern.in_place == TUTTI_NOT_IN_PLACE;
    tutti_pattern_close(&pattern);
    if (!both)
        return 0;
    tutti_memory_at(tutti_door.device, args->in.buffer, &from);
    tutti_memory_at(tutti_door.device, args->out.buffer, &to);
    const struct tutti_memory *const host = from.kind == TUTTI_MEMORY_DEVICE ? &to : &from;
    const struct tutti_call call = {.collective = args->collective, .root = args->root, .move = &x->move};
    return (from.kind == TUTTI_MEMORY_DEVICE) != (to.kind == TUTTI_MEMORY_DEVICE) &&
           (host->kind == TUTTI_MEMORY_HOST || host->kind == TUTTI_MEMORY_PINNED) &&
           tutti_move_leaves(x->team, &call, in > out ? in : out, host->kind == TUTTI_MEMORY_HOST,
                             from.kind == TUTTI_MEMORY_DEVICE ? from.gpu : to.gpu);
}

/* 1 if peers are expected to leave the call to the MPI: its blocks need not be described. */
static int mover_declines(struct tutti_mover *x)
{
    const struct tutti_collective_args *const args = x->call;
    const size_t in = mover_block_bytes(&args->in), out = mover_block_bytes(&args->out);
    const struct tutti_call call = {.collective = args->collective, .root = args->root, .move = &x->move};
    return x->begins && (in || out) && tutti_move_declines(x->team, &call, in > out ? in : out);
}

/* 0 if this rank cannot take part, and the reason. */
static int mover_describe(struct tutti_mover *x)
{
    if (!tutti_device_active(tutti_door.device))
        return TUTTI_NO(HOST_SOME);
    if (!tutti_endpoint)
        return TUTTI_NO(APART);
    tutti_endpoint_poll(tutti_endpoint);
    if (x->on_host && !tutti_move_is_asked(x->team, x->call->collective))
        return TUTTI_NO(HOST_SOME);
    if (tutti_found_now && mover_leaves(x))
        return TUTTI_NO(HOST_SOME);
    if (mover_declines(x))
        return TUTTI_NO(HOST_BEFORE);
    if (!mover_describe_blocks(x))
        return 0;
    return !mover_alias(x) || TUTTI_NO(ALIAS);
}

void tutti_mover_begin(struct tutti_mover *mover, const struct tutti_collective_args *call, struct tutti_team *team,
                       int nonblocking)
{
    mover->call = call;
    mover->team = team;
    mover->nonblocking = nonblocking;
    mover->on_host = mover->begins = 0;
    tutti_mover_blocks_none(&mover->blocks);
    mover->move.send = mover->few;
    mover->bytes = 0;
    mover->takes_any = mover->without = 0;
    mover->packed = NULL;
}

static void mover_empty(struct tutti_mover *mover)
{
    struct tutti_move *const move = &mover->move;
    move->send = mover->few;
    move->receive = NULL;
    move->sends = move->receives = move->aside = move->joins = 0;
    move->spare = tutti_comm_spares(mover->call->comm, 0);
    move->current = -1;
    move->name = mover->call->name;
    move->worker = &mover->p2p;
    move->failed = TUTTI_OK;
    move->truncated = 0;
    tutti_move_clear(move);
}

int tutti_mover_describe_blocks(struct tutti_mover *mover)
{
    TUTTI_INSIDE();
    mover_empty(mover);
    mover->takes_any = 1;
    return mover_describe_blocks(mover);
}

int tutti_mover_describe(struct tutti_mover *mover, struct tutti_transport *transport)
{
    TUTTI_INSIDE();
    int current;
    mover->p2p = (struct tutti_p2p_worker){
        .endpoint = tutti_endpoint, .node = tutti_p2p.node, .transport = transport, .pipelined = tutti_p2p.pipelined};
    mover_empty(mover);
    if (!mover_describe(mover))
        return 0;
    if (mover->nonblocking && tutti_door.device->gpu.current(&current) == TUTTI_OK)
        mover->move.current = current; /* the GPU of this thread; the worker is another thread */
    return 1;
}

void tutti_mover_close(struct tutti_mover *mover)
{
    tutti_mover_blocks_close(&mover->blocks);
    free(mover->packed);
    if (mover->move.send != mover->few)
        free(mover->move.send);
}

int tutti_mover_code(const struct tutti_mover *mover, int status)
{
    const struct tutti_move *move = &mover->move;
    if (status == TUTTI_OK && move->truncated)
        return MPI_ERR_TRUNCATE;
    if (status == TUTTI_OK)
        status = move->failed;
    return status == TUTTI_OK ? MPI_SUCCESS : tutti_error_code(status);
}

void tutti_mover_count(const struct tutti_mover *mover, const char *how)
{
    if (mover->move.runs.host != TUTTI_HOSTED_ALL) /* no bytes of device memory */
        tutti_count_made(mover->call->name, mover->bytes ? how : "no data on this rank", mover->bytes);
}
