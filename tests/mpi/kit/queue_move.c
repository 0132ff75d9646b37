#include "queue_move.h"

#include <stdlib.h>
#include <string.h>

int queue_moves(enum queue_kind kind)
{
    return kind >= QUEUE_BCAST && kind <= QUEUE_ALLTOALLV;
}

static int has_lists(enum queue_kind kind)
{
    return kind == QUEUE_GATHERV || kind == QUEUE_SCATTERV || kind == QUEUE_ALLGATHERV || kind == QUEUE_ALLTOALLV;
}

/* Elements that go from one rank to another. */
static size_t move_cell(const struct queue *queue, const struct queue_step *step, int from, int to)
{
    switch (step->kind) {
    case QUEUE_BCAST:
    case QUEUE_SCATTER:
        return from == step->root ? step->count : 0;
    case QUEUE_GATHER:
        return to == step->root ? step->count : 0;
    case QUEUE_GATHERV:
        return to == step->root ? (size_t)step->counts[from] : 0;
    case QUEUE_SCATTERV:
        return from == step->root ? (size_t)step->counts[to] : 0;
    case QUEUE_ALLGATHERV:
        return (size_t)step->counts[from];
    case QUEUE_ALLTOALLV: /* in place both ways are alike */
        return (size_t)step->counts[(step->in_place ? from + to : from + 3 * to + 1) % queue->size];
    default:
        return step->count;
    }
}

/* 1 if a rank's buffer of that side has a block for each rank. */
static int move_each(enum queue_kind kind, int receive)
{
    if (kind == QUEUE_ALLTOALL || kind == QUEUE_ALLTOALLV)
        return 1;
    return receive
               ? kind == QUEUE_GATHER || kind == QUEUE_GATHERV || kind == QUEUE_ALLGATHER || kind == QUEUE_ALLGATHERV
               : kind == QUEUE_SCATTER || kind == QUEUE_SCATTERV;
}

/* Where the block for, or from, `other` begins in this rank's buffer: one behind the other, with lists of displacements
 * the last rank's first on the receiving side. */
static size_t move_place(const struct queue *queue, const struct queue_step *step, int rank, int other, int receive)
{
    const int last_first = receive && has_lists(step->kind);
    size_t at = 0;
    for (int r = 0; r < queue->size && move_each(step->kind, receive); r++) {
        if (last_first ? r > other : r < other)
            at += receive ? move_cell(queue, step, r, rank) : move_cell(queue, step, rank, r);
    }
    return at;
}

/* 1 if this rank's receive buffer is the first buffer, at the shift: in place. */
static int move_in_first(const struct queue_step *step, int rank)
{
    if (step->kind == QUEUE_BCAST)
        return step->in_place || rank == step->root;
    if (step->kind == QUEUE_GATHER || step->kind == QUEUE_GATHERV)
        return step->in_place && rank == step->root;
    return step->in_place && step->kind != QUEUE_SCATTER && step->kind != QUEUE_SCATTERV;
}

/* 1 if what this rank sends to itself stays where it is. */
static int move_stays(const struct queue_step *step, int rank)
{
    const int scatters = step->kind == QUEUE_SCATTER || step->kind == QUEUE_SCATTERV;
    return move_in_first(step, rank) || (scatters && step->in_place && rank == step->root);
}

/* Bytes between the members of an element stay as they are: 1 in `data` for all others. */
static void move_copy(const struct queue *queue, const char *data, char *to, const char *from, size_t n)
{
    const size_t size = queue->handle->size;
    for (size_t i = 0; i < n * size; i++) {
        if (data[i % size])
            to[i] = from[i];
    }
}

static void move_data(const struct queue *queue, char data[16])
{
    char ones[16];
    int bytes = 0, at = 0;
    memset(data, 0, 16);
    memset(ones, 1, sizeof ones);
    MPI_Type_size(queue->handle->type, &bytes);
    MPI_Unpack(ones, bytes, &at, data, 1, queue->handle->type, MPI_COMM_SELF);
}

void queue_move_model(struct queue *queue, const struct queue_step *step)
{
    const size_t size = queue->handle->size, bytes = queue->elements * size;
    char *before[QUEUE_RANKS], data[16];
    move_data(queue, data);
    for (int r = 0; r < queue->size; r++) {
        before[r] = malloc(bytes);
        if (!before[r])
            abort();
        memcpy(before[r], queue->model[r][0] + step->shift * size, bytes - step->shift * size);
    }
    for (int to = 0; to < queue->size; to++) {
        char *out = move_in_first(step, to) ? queue->model[to][0] + step->shift * size : queue->model[to][1];
        for (int from = 0; from < queue->size; from++) {
            const int sends_results = move_in_first(step, from) && step->kind != QUEUE_BCAST;
            const size_t n = move_cell(queue, step, from, to);
            const size_t own =
                move_each(step->kind, 0) ? (size_t)to : (size_t)from; /* its block of the receive buffer */
            const size_t begin =
                sends_results ? move_place(queue, step, from, (int)own, 1) : move_place(queue, step, from, to, 0);
            if (n > 0 && (from != to || !move_stays(step, to)))
                move_copy(queue, data, out + move_place(queue, step, to, from, 1) * size, before[from] + begin * size,
                          n);
        }
    }
    for (int r = 0; r < queue->size; r++)
        free(before[r]);
}

/* Both forms of a call. */
#define EITHER(call, ...) (large ? call##_c(__VA_ARGS__) : call(__VA_ARGS__))
/* The same where arguments are lists, whose types differ. */
#define EITHER_V(call, wide, narrow) (large ? call##_c wide : call narrow)

int queue_move_put(struct queue *queue, const struct queue_step *step)
{
    const int rank = queue->rank, large = step->seed % 7 == 0, n = (int)step->count, root = step->root;
    const MPI_Datatype type = queue->handle->type;
    const MPI_Comm comm = queue->comm;
    char *first = queue->buffer[0] + step->shift * queue->handle->size;
    const int in_first = move_in_first(step, rank), stays = move_stays(step, rank);
    const int scatters = step->kind == QUEUE_SCATTER || step->kind == QUEUE_SCATTERV;
    const void *in = in_first ? MPI_IN_PLACE : first;
    void *out = scatters && stays ? MPI_IN_PLACE : in_first ? first : queue->buffer[1];
    int to[QUEUE_RANKS], to_at[QUEUE_RANKS], of[QUEUE_RANKS], of_at[QUEUE_RANKS];
    MPI_Count to_c[QUEUE_RANKS], of_c[QUEUE_RANKS];
    MPI_Aint to_at_c[QUEUE_RANKS], of_at_c[QUEUE_RANKS];
    for (int r = 0; r < queue->size; r++) {
        to_c[r] = to[r] = (int)move_cell(queue, step, rank, r);
        of_c[r] = of[r] = (int)move_cell(queue, step, r, rank);
        to_at_c[r] = to_at[r] = (int)move_place(queue, step, rank, r, 0);
        of_at_c[r] = of_at[r] = (int)move_place(queue, step, rank, r, 1);
    }
    switch (step->kind) {
    case QUEUE_BCAST:
        return EITHER(MPIX_Bcast_enqueue, in_first ? first : queue->buffer[1], n, type, root, comm);
    case QUEUE_GATHER:
        return EITHER(MPIX_Gather_enqueue, in, n, type, rank == root ? out : NULL, n, type, root, comm);
    case QUEUE_GATHERV:
        return EITHER_V(MPIX_Gatherv_enqueue, (in, to_c[root], type, out, of_c, of_at_c, type, root, comm),
                        (in, to[root], type, out, of, of_at, type, root, comm));
    case QUEUE_SCATTER:
        return EITHER(MPIX_Scatter_enqueue, rank == root ? first : NULL, n, type, out, n, type, root, comm);
    case QUEUE_SCATTERV:
        return EITHER_V(MPIX_Scatterv_enqueue, (first, to_c, to_at_c, type, out, of_c[root], type, root, comm),
                        (first, to, to_at, type, out, of[root], type, root, comm));
    case QUEUE_ALLGATHER:
        return EITHER(MPIX_Allgather_enqueue, in, n, type, out, n, type, comm);
    case QUEUE_ALLGATHERV:
        return EITHER_V(MPIX_Allgatherv_enqueue, (in, to_c[rank], type, out, of_c, of_at_c, type, comm),
                        (in, to[rank], type, out, of, of_at, type, comm));
    case QUEUE_ALLTOALL:
        return EITHER(MPIX_Alltoall_enqueue, in, n, type, out, n, type, comm);
    default:
        return EITHER_V(MPIX_Alltoallv_enqueue, (in, to_c, to_at_c, type, out, of_c, of_at_c, type, comm),
                        (in, to, to_at, type, out, of, of_at, type, comm));
    }
}
