/* Collectives that move data, in stream order. This rank checks everything, then passes its buffers to coll/move.h
 * as elements for each rank and from each. */
#include "mpi/move/mover_enqueue.h"

#include "coll/move_sides.h"
#include "mpi/comm/hints.h"
#include "mpi/comm/stream_calls.h"
#include "mpi/message/endpoints.h"
#include "mpi/move/pattern.h"
#include "mpi/real/errors.h"
#include "mpi/type/datatypes.h"

struct mover_enqueue {
    const struct tutti_collective_args *call;
    const struct tutti_comm *state;
    struct tutti_pattern pattern;
    struct tutti_move_sides sides;
    uint64_t bytes; /* of all blocks; a block for several ranks counts once */
    int code;       /* the error, and its reason */
    const char *why;
};

static int mover_wrong(struct mover_enqueue *x, int code, const char *why)
{
    x->code = code;
    x->why = why;
    return 0;
}

/* The layout of a buffer's elements; the buffer may be empty. */
static const struct tutti_layout *mover_layout_of(struct mover_enqueue *x, MPI_Datatype type)
{
    struct tutti_layout *layout = NULL;
    if (type == tutti_handles.no_type) {
        (void)mover_wrong(x, MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
    } else if (!(layout = tutti_layout_of(type))) {
        (void)mover_wrong(x, MPI_ERR_NO_MEM, "out of memory");
    } else if (!tutti_layout_committed(layout, type)) {
        (void)mover_wrong(x, MPI_ERR_TYPE, "the datatype is not committed");
    } else if (!layout->plan) {
        (void)mover_wrong(x, MPI_ERR_TYPE, "kernels cannot pack this datatype: describe the elements by another one");
    } else {
        return layout;
    }
    return NULL;
}

static int mover_is_reached(const struct mover_enqueue *x, struct tutti_elements *elements)
{
    const int gpu = x->state->stream->gpu;
    if (elements->whole)
        return tutti_stream_reaches(x->state->stream, tutti_elements_run(elements));
    const struct tutti_places *places = tutti_elements_places(elements);
    return tutti_places_reached(places) && (gpu < 0 || places->gpu < 0 || places->gpu == gpu);
}

/* One side of the call to be read: the buffer, and the elements made of it. */
struct mover_side {
    const struct tutti_pattern_side *pattern;
    const struct tutti_buffer *buffer;
    struct tutti_elements *to; /* by rank */
    int each;                  /* a block for each rank */
    int only;                  /* -1, or the one block that goes to all */
    const char *unreached;
};

static int mover_block(struct mover_enqueue *x, const struct mover_side *side, const struct tutti_layout *layout, int i,
                       struct tutti_elements *out)
{
    static const char many[] = "more elements than any memory has";
    const struct tutti_buffer *buffer = side->buffer;
    const MPI_Count count = tutti_buffer_count(buffer, i);
    MPI_Count bytes;
    if (count < 0)
        return mover_wrong(x, MPI_ERR_COUNT, "a negative number of elements");
    if (__builtin_mul_overflow(count, (MPI_Count)layout->plan->size, &bytes) || bytes > PTRDIFF_MAX)
        return mover_wrong(x, MPI_ERR_COUNT, many);
    if (bytes > 0)
        *out = tutti_message_elements(tutti_buffer_block(buffer, i, layout->extent), count, layout);
    if (__builtin_add_overflow(x->bytes, (uint64_t)bytes, &x->bytes) || x->bytes > PTRDIFF_MAX)
        return mover_wrong(x, MPI_ERR_COUNT, many);
    return 1;
}

/* The blocks of one side. Of blocks that are runs of bytes only the first one is classified. */
static int mover_fill(struct mover_enqueue *x, const struct mover_side *side)
{
    const struct tutti_pattern *pattern = &x->pattern;
    const struct tutti_buffer *buffer = side->buffer;
    const int stays = pattern->in_place != TUTTI_NOT_IN_PLACE || pattern->shared;
    struct tutti_elements shared = {.plan = NULL};
    int seen = 0;
    if (side->each && tutti_pattern_has_lists(x->call->collective) && (!buffer->counts || !buffer->displs))
        return mover_wrong(x, MPI_ERR_ARG, "no counts or no displacements");
    const struct tutti_layout *layout = mover_layout_of(x, buffer->type);
    if (!layout || (!side->each && !mover_block(x, side, layout, side->only < 0 ? 0 : side->only, &shared)))
        return 0;
    for (int r = 0; r < pattern->ranks; r++) {
        struct tutti_elements *to = &side->to[r];
        if (side->each && !mover_block(x, side, layout, r, to))
            return 0;
        if ((side->pattern->peers == TUTTI_PEERS_ROOT && r != x->call->root) || (stays && r == pattern->rank)) {
            to->plan = NULL;
            continue;
        }
        if (!side->each)
            *to = shared;
        if (!to->plan || (seen && (to->whole || !side->each)))
            continue;
        seen = 1;
        if (!buffer->buffer && to->whole)
            return mover_wrong(x, MPI_ERR_BUFFER, side->unreached);
        if (!mover_is_reached(x, to))
            return mover_wrong(x, MPI_ERR_BUFFER, side->unreached);
    }
    return 1;
}

/* MPI_IN_PLACE is the argument of this buffer, on ranks that have both. */
static int mover_places(struct mover_enqueue *x)
{
    const struct tutti_pattern *pattern = &x->pattern;
    const int sends = pattern->in_place == TUTTI_OWN_BLOCK_SENT || pattern->in_place == TUTTI_ALL_BLOCKS_SENT;
    if (pattern->send.used && x->call->in.buffer == MPI_IN_PLACE && !sends)
        return mover_wrong(x, MPI_ERR_BUFFER,
                           pattern->shared   ? "MPI_IN_PLACE as buffer"
                           : pattern->rooted ? "MPI_IN_PLACE as sendbuf, which the root alone may give"
                                             : "MPI_IN_PLACE as sendbuf");
    if (pattern->recv.used && x->call->out.buffer == MPI_IN_PLACE && pattern->in_place != TUTTI_OWN_BLOCK_KEPT)
        return mover_wrong(x, MPI_ERR_BUFFER,
                           pattern->shared   ? "MPI_IN_PLACE as buffer"
                           : pattern->rooted ? "MPI_IN_PLACE as recvbuf, which the root alone may give"
                                             : "MPI_IN_PLACE as recvbuf");
    return 1;
}

/* The elements that the call sends and receives on this rank. 0 after an error. */
static int mover_read(struct mover_enqueue *x)
{
    TUTTI_INSIDE();
    const struct tutti_collective_args *call = x->call;
    const struct tutti_team *team = x->state->team;
    const struct tutti_pattern *pattern = &x->pattern;
    if (team->size > TUTTI_MAX_GPUS)
        return mover_wrong(x, MPI_ERR_UNSUPPORTED_OPERATION, "more ranks than data movers in stream order take");
    (void)tutti_pattern_open_as(&x->pattern, call, team->rank, team->size); /* fails only with neighbours */
    if (pattern->rooted && (call->root < 0 || call->root >= team->size))
        return mover_wrong(x, MPI_ERR_ROOT, "the root is no rank of the communicator");
    if (!mover_places(x))
        return 0;
    const int sends_results = pattern->in_place == TUTTI_OWN_BLOCK_SENT || pattern->in_place == TUTTI_ALL_BLOCKS_SENT;
    struct mover_side in = {
        &pattern->send,
        sends_results ? &call->out : &call->in,
        x->sides.send,
        pattern->send.each,
        -1,
        "what is sent is not memory that kernels of the stream's GPU reach (device, managed or pinned)"};
    struct mover_side out = {
        &pattern->recv,
        &call->out,
        x->sides.receive,
        pattern->recv.each,
        -1,
        "what is received into is not memory that kernels of the stream's GPU reach (device, managed or pinned)"};
    if (pattern->in_place == TUTTI_OWN_BLOCK_SENT)
        in.only = pattern->rank;
    x->sides.aside = pattern->in_place == TUTTI_ALL_BLOCKS_SENT;
    const int only_keeps = pattern->in_place == TUTTI_OWN_BLOCK_SENT && pattern->rooted; /* the root of a gather */
    const int only_sends = pattern->in_place == TUTTI_OWN_BLOCK_KEPT;                    /* of a scatter */
    if (pattern->send.used && !only_keeps && !mover_fill(x, &in))
        return 0;
    if (pattern->recv.used && !only_sends && !mover_fill(x, &out))
        return 0;
    const struct tutti_elements *from = &x->sides.send[team->rank], *to = &x->sides.receive[team->rank];
    const uint64_t sent = from->plan ? tutti_elements_bytes(from) : 0, got = to->plan ? tutti_elements_bytes(to) : 0;
    if (sent != got)
        return mover_wrong(x, MPI_ERR_TRUNCATE, "a rank sends to itself as many bytes as it receives from itself");
    return 1;
}

static int mover_put(const struct mover_enqueue *x, const char **how)
{
    const struct tutti_mpix_stream *stream = x->state->stream;
    const struct tutti_call call = {
        .collective = x->call->collective, .root = x->call->root, .spare = tutti_comm_spares(x->call->comm, 1)};
    TUTTI_INSIDE();
    return tutti_move_enqueue_sides(x->state->team, stream->gpu, &call, &x->sides, stream->stream, how);
}

static int mover_enqueue(const struct tutti_collective_args *args)
{
    struct mover_enqueue x = {.call = args};
    const char *how = "";
    x.state = tutti_stream_comm(args->name, args->comm, &x.code);
    if (unlikely(!x.state))
        return x.code;
    if (unlikely(!mover_read(&x)))
        return tutti_stream_refuse(args->name, args->comm, x.code, x.why);
    if (x.bytes == 0 && !tutti_pattern_has_lists(args->collective)) /* on all ranks */
        return MPI_SUCCESS;
    if (unlikely(x.state->proxy)) { /* counted when it is made */
        const int put = x.state->proxy->move(x.state, args);
        return put == TUTTI_OK ? MPI_SUCCESS : tutti_stream_refuse_status(args->name, args->comm, put);
    }
    const int status = mover_put(&x, &how);
    if (unlikely(status != TUTTI_OK))
        return tutti_stream_refuse_status(args->name, args->comm, status);
    tutti_count_made(args->name, how, x.bytes);
    return MPI_SUCCESS;
}

#define WIDTHS_OF "mpi/move/mover_enqueue.inc"
#include "mpi/real/widths.inc"
