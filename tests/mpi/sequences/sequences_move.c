/* The calls of a sequence that move data in stream order: their counts, what becomes of their buffers, the calls
 * themselves. */
#include "sequences.h"

int seq_moves(enum seq_kind kind)
{
    return kind >= SEQ_BCAST && kind <= SEQ_ALLTOALLV;
}

static int has_lists(enum seq_kind kind)
{
    return kind == SEQ_GATHERV || kind == SEQ_SCATTERV || kind == SEQ_ALLGATHERV || kind == SEQ_ALLTOALLV;
}

/* Elements that go from one rank to another. */
static size_t move_cell(const struct seq_call *call, int from, int to)
{
    switch (call->kind) {
    case SEQ_BCAST:
    case SEQ_SCATTER:
        return from == call->root ? call->count : 0;
    case SEQ_GATHER:
        return to == call->root ? call->count : 0;
    case SEQ_GATHERV:
        return to == call->root ? (size_t)call->counts[from] : 0;
    case SEQ_SCATTERV:
        return from == call->root ? (size_t)call->counts[to] : 0;
    case SEQ_ALLGATHERV:
        return (size_t)call->counts[from];
    case SEQ_ALLTOALLV: /* each count once on each side; in place both ways are alike */
        return (size_t)call->counts[(call->in_place ? from + to : call->shape.size + to - from) % call->shape.size];
    default:
        return call->count;
    }
}

/* 1 if a block goes to each rank. */
static int move_sends_each(enum seq_kind kind)
{
    return kind == SEQ_SCATTER || kind == SEQ_SCATTERV || kind == SEQ_ALLTOALL || kind == SEQ_ALLTOALLV;
}

/* Where the block for that rank begins in the contribution of `from`. */
static size_t move_begin(const struct seq_call *call, int from, int to)
{
    size_t at = 0;
    for (int r = 0; r < to && move_sends_each(call->kind); r++)
        at += move_cell(call, from, r);
    return at;
}

void seq_move_draw(struct seq_call *call, int in_place)
{
    if (has_lists(call->kind)) /* drawn already; in all at most what a contribution may be */
        call->count = 0;
    else if (call->kind != SEQ_BCAST)
        call->count = call->total / (unsigned)call->shape.size;
    else
        call->count = call->total;
    call->in_place = call->kind == SEQ_BCAST || (in_place && call->kind >= SEQ_ALLGATHER); /* one buffer on all ranks */
    call->total = 0;
    for (int q = 0; q < call->shape.size; q++) {
        const size_t mine = seq_move_elements(call, q, 0);
        call->total = mine > call->total ? mine : call->total;
    }
}

size_t seq_move_elements(const struct seq_call *call, int q, int which)
{
    size_t sent = move_begin(call, q, call->shape.size), got = 0;
    if (call->kind == SEQ_BCAST)
        return which ? 0 : call->count;
    for (int r = 0; r < call->shape.size; r++) {
        got += move_cell(call, r, q);
        if (!move_sends_each(call->kind) && move_cell(call, q, r) > sent)
            sent = move_cell(call, q, r);
    }
    return which || call->in_place ? got : sent;
}

int seq_move_pieces(const struct seq_call *call, int q, int times, struct seq_piece pieces[SEQ_RANKS])
{
    size_t at = 0;
    int n = 0;
    if (call->kind == SEQ_BCAST) {
        pieces[0] = (struct seq_piece){call->root, 0, call->count};
        return 1;
    }
    for (int r = 0; r < call->shape.size; r++) {
        const size_t elements = move_cell(call, r, q);
        struct seq_piece piece = {r, move_begin(call, r, q), elements};
        if (call->in_place && !move_sends_each(call->kind)) /* its own block lay where it lies in all results */
            piece.begin = at;
        else if (call->in_place && times % 2 == 0) /* there and back again */
            piece = (struct seq_piece){q, at, elements};
        at += elements;
        if (elements > 0)
            pieces[n++] = piece;
    }
    return n;
}

int seq_move_enqueue(const struct seq_call *call, void *in_memory, void *out_memory, int q, MPI_Comm comm)
{
    const MPI_Datatype type = call->handle->type;
    const int n = (int)call->count, root = call->root, ranks = call->shape.size;
    const void *in = call->in_place ? MPI_IN_PLACE : in_memory;
    void *out = call->in_place ? in_memory : out_memory;
    int to[SEQ_RANKS], to_at[SEQ_RANKS], of[SEQ_RANKS], of_at[SEQ_RANKS];
    for (int r = 0; r < ranks; r++) {
        to[r] = (int)move_cell(call, q, r);
        of[r] = (int)move_cell(call, r, q);
        to_at[r] = (int)move_begin(call, q, r);
        of_at[r] = r ? of_at[r - 1] + of[r - 1] : 0;
    }
    switch (call->kind) {
    case SEQ_BCAST:
        return call->large ? MPIX_Bcast_enqueue_c(out, n, type, root, comm)
                           : MPIX_Bcast_enqueue(out, n, type, root, comm);
    case SEQ_GATHER:
        return MPIX_Gather_enqueue(in, n, type, out, n, type, root, comm);
    case SEQ_GATHERV:
        return MPIX_Gatherv_enqueue(in, to[root], type, out, of, of_at, type, root, comm);
    case SEQ_SCATTER:
        return MPIX_Scatter_enqueue(in, n, type, out, n, type, root, comm);
    case SEQ_SCATTERV:
        return MPIX_Scatterv_enqueue(in, to, to_at, type, out, of[root], type, root, comm);
    case SEQ_ALLGATHER:
        return call->large ? MPIX_Allgather_enqueue_c(in, n, type, out, n, type, comm)
                           : MPIX_Allgather_enqueue(in, n, type, out, n, type, comm);
    case SEQ_ALLGATHERV:
        return MPIX_Allgatherv_enqueue(in, to[q], type, out, of, of_at, type, comm);
    case SEQ_ALLTOALL:
        return call->large ? MPIX_Alltoall_enqueue_c(in, n, type, out, n, type, comm)
                           : MPIX_Alltoall_enqueue(in, n, type, out, n, type, comm);
    default:
        return MPIX_Alltoallv_enqueue(in, to, to_at, type, out, of, of_at, type, comm);
    }
}
