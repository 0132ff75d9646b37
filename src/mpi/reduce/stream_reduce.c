#include "mpi/reduce/stream_reduce.h"

#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "core/types.h"
#include "kernels/reduce.h"
#include "mpi/comm/starting.h"
#include "mpi/real/handles.h"
#include "sched/tasks.h"

enum {
    ROOM_MOST = 64 << 20, /* bytes of contributions that a rank receives at a time */
    PIECE_LEAST = 64 << 10,
    PARTS = 4,
    LEAST = 2,            /* a piece is at most that part of the call, and at least that part of the longest piece */
    WHOLE_MOST = 32 << 10 /* up to here, and with two ranks, each rank of an Allreduce combines all */
};

/* ---- life ---- */

/* Bytes of a piece, alike on all ranks. */
static size_t reduction_piece(const struct tutti_stream_reduction *r)
{
    const size_t n = (size_t)r->ranks * TUTTI_STREAM_PIECES;
    const size_t room = ROOM_MOST / n > PIECE_LEAST ? ROOM_MOST / n : PIECE_LEAST;
    const size_t most = r->form->piece < room ? r->form->piece : room, part = r->call.count * r->size / PARTS;
    return part > most ? most : part < most / LEAST ? most / LEAST : part;
}

int tutti_stream_reduction_open(struct tutti_stream_reduction *r, const struct tutti_call *call, MPI_Comm comm,
                                const struct tutti_stream_reduction_form *form)
{
    const int n = form->hierarchy->ranks->size;
    *r = (struct tutti_stream_reduction){.comm = comm,
                                         .form = form,
                                         .call = *call,
                                         .ranks = n,
                                         .me = form->hierarchy->ranks->rank,
                                         .size = tutti_type_size(call->type)};
    r->result = calloc((size_t)n, sizeof *r->result);
    if (!r->result)
        return TUTTI_ERR_MEMORY;
    if (call->collective == TUTTI_COLLECTIVE_BARRIER)
        return TUTTI_OK;
    if (call->counts && !(r->counts = malloc((size_t)n * sizeof *r->counts)))
        return TUTTI_ERR_MEMORY;
    if (call->counts)
        r->call.counts = memcpy(r->counts, call->counts, (size_t)n * sizeof *r->counts);
    for (int q = 0; q < n; q++)
        r->result[q] = tutti_result_of(&r->call, q, n);
    r->two = call->collective == TUTTI_COLLECTIVE_ALLREDUCE && n > 2 && call->count * r->size > WHOLE_MOST;
    r->each = reduction_piece(r) / r->size + 1;
    r->each = r->each < call->count ? r->each : call->count;
    r->pieces = r->each > 0 ? (call->count + r->each - 1) / r->each : 1;
    return TUTTI_OK;
}

void tutti_stream_reduction_close(struct tutti_stream_reduction *r)
{
    free(r->counts);
    free(r->result);
    *r = (struct tutti_stream_reduction){.counts = NULL};
}

/* ---- a piece ---- */

static size_t align_up(size_t bytes)
{
    enum { LINE = 256 };
    return (bytes + LINE - 1) / LINE * LINE;
}

/* Elements of a piece that this rank combines, at most. */
static size_t mine_most(const struct tutti_stream_reduction *r)
{
    const size_t all = r->result[r->me].count;
    return r->two ? r->each / (size_t)r->ranks + 1 : all < r->each ? all : r->each;
}

struct tutti_stream_room tutti_stream_piece_room(const struct tutti_stream_reduction *r)
{
    const size_t others = (size_t)r->ranks + (size_t)r->form->hierarchy->nodes, mine = mine_most(r);
    return (struct tutti_stream_room){.in = align_up(r->each * r->size),
                                      .room = align_up(others * mine * r->size),
                                      .out = align_up((r->two ? r->each : mine) * r->size)};
}

int tutti_stream_piece_open(struct tutti_stream_piece *p, const struct tutti_stream_reduction *r, char *memory)
{
    const struct tutti_stream_room room = tutti_stream_piece_room(r);
    const size_t n = (size_t)r->ranks;
    *p = (struct tutti_stream_piece){.of = r, .in = memory, .request = tutti_handles.no_request};
    p->room = memory + room.in;
    p->out = p->room + room.room;
    p->list = calloc(4 * n, sizeof *p->list);
    p->from = calloc(3 * n, sizeof *p->from);
    return p->list && p->from ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

void tutti_stream_piece_close(struct tutti_stream_piece *p)
{
    free(p->list);
    free(p->from);
    p->list = NULL;
    p->from = NULL;
}

size_t tutti_stream_piece_count(const struct tutti_stream_reduction *r, size_t at)
{
    return r->call.count - at < r->each ? r->call.count - at : r->each;
}

struct tutti_result tutti_stream_piece_of(const struct tutti_stream_reduction *r, size_t at, int q)
{
    const size_t n = tutti_stream_piece_count(r, at), end = at + n;
    if (r->two) {
        const size_t begin = n * (size_t)q / (size_t)r->ranks;
        return (struct tutti_result){begin, n * ((size_t)q + 1) / (size_t)r->ranks - begin};
    }
    const size_t first = r->result[q].begin, last = first + r->result[q].count;
    const size_t begin = first > at ? first : at, stop = last < end ? last : end;
    return begin < stop ? (struct tutti_result){begin - at, stop - begin} : (struct tutti_result){0, 0};
}

/* 1 if rank q combines a contribution of rank p. */
static int contributes(const struct tutti_stream_reduction *r, int p, int q)
{
    return r->call.collective == TUTTI_COLLECTIVE_SCAN     ? p <= q
           : r->call.collective == TUTTI_COLLECTIVE_EXSCAN ? p < q
                                                           : 1;
}

int tutti_stream_piece_send(struct tutti_stream_piece *p)
{
    const struct tutti_stream_reduction *const r = p->of;
    const int n = r->ranks;
    int *const sends = p->list, *const sent = sends + n, *const receives = sent + n, *const received = receives + n;
    const size_t bytes = tutti_stream_piece_of(r, p->at, r->me).count * r->size;
    if (r->call.collective == TUTTI_COLLECTIVE_BARRIER)
        return tutti_next.MPI_Ibarrier(r->comm, &p->request);
    for (int q = 0; q < n; q++) {
        const struct tutti_result theirs = tutti_stream_piece_of(r, p->at, q);
        const int goes = q != r->me && contributes(r, r->me, q), comes = q != r->me && contributes(r, q, r->me);
        sends[q] = goes ? (int)(theirs.count * r->size) : 0;
        sent[q] = (int)(theirs.begin * r->size);
        receives[q] = comes ? (int)bytes : 0;
        received[q] = (int)((size_t)q * bytes);
    }
    return tutti_next.MPI_Ialltoallv(p->in, sends, sent, tutti_handles.byte, p->room, receives, received,
                                     tutti_handles.byte, r->comm, &p->request);
}

int tutti_stream_piece_send_results(struct tutti_stream_piece *p)
{
    const struct tutti_stream_reduction *const r = p->of;
    int *const receives = p->list, *const received = receives + r->ranks;
    for (int q = 0; q < r->ranks; q++) {
        const struct tutti_result theirs = tutti_stream_piece_of(r, p->at, q);
        receives[q] = (int)(theirs.count * r->size);
        received[q] = (int)(theirs.begin * r->size);
    }
    return tutti_next.MPI_Iallgatherv(MPI_IN_PLACE, 0, tutti_handles.byte, p->out, receives, received,
                                      tutti_handles.byte, r->comm, &p->request);
}

/* ---- combination, in the order of nodes and ranks ---- */

/* out = in[0] op in[1] ..., by the host, or by a kernel in the stream. A status. */
static int combine_few(const struct tutti_stream_reduction *r, const void *const in[], int n, void *out, size_t count,
                       struct tutti_stream *stream)
{
    if (stream)
        return tutti_combine_in_stream(stream, r->call.type, r->call.op, in, n, out, count);
    if (n == 1)
        memcpy(out, in[0], count * r->size);
    else
        tutti_reduce_host(r->call.type, r->call.op, n, in, out, count);
    return TUTTI_OK;
}

/* The same of any number of contributions. */
static int combine(const struct tutti_stream_reduction *r, const void *const in[], int n, void *out, size_t count,
                   struct tutti_stream *stream)
{
    const void *some[TUTTI_MAX_RANKS];
    const int first = n < TUTTI_MAX_RANKS ? n : TUTTI_MAX_RANKS;
    int status = combine_few(r, in, first, out, count, stream);
    for (int next = first; next < n && status == TUTTI_OK;) {
        int k = 1;
        for (some[0] = out; k < TUTTI_MAX_RANKS && next < n; k++)
            some[k] = in[next++];
        status = combine_few(r, some, k, out, count, stream);
    }
    return status;
}

/* The ranks of each node in their order, then the nodes. */
static int combine_by_nodes(const struct tutti_stream_piece *p, void *out, size_t count, struct tutti_stream *stream)
{
    const struct tutti_stream_reduction *const r = p->of;
    const struct tutti_hierarchy *const h = r->form->hierarchy;
    const void **const some = p->from + r->ranks, **const of = some + r->ranks;
    char *node = p->room + (size_t)r->ranks * count * r->size;
    int status = TUTTI_OK;
    for (int k = 0; k < h->nodes && status == TUTTI_OK; k++) {
        int n = 0;
        for (int q = 0; q < r->ranks; q++) {
            if (h->node_of[q] == k)
                some[n++] = p->from[q];
        }
        of[k] = n == 1 ? some[0] : node;
        if (n > 1)
            status = combine(r, some, n, node, count, stream);
        node += count * r->size;
    }
    return status == TUTTI_OK ? combine(r, of, h->nodes, out, count, stream) : status;
}

int tutti_stream_piece_combine(struct tutti_stream_piece *p, const void *own, void *out, struct tutti_stream *stream)
{
    const struct tutti_stream_reduction *const r = p->of;
    const struct tutti_result mine = tutti_stream_piece_of(r, p->at, r->me);
    const int scans = r->call.collective == TUTTI_COLLECTIVE_SCAN || r->call.collective == TUTTI_COLLECTIVE_EXSCAN;
    if (mine.count == 0)
        return TUTTI_OK;
    for (int q = 0; q < r->ranks; q++)
        p->from[q] = q == r->me ? own : p->room + (size_t)q * mine.count * r->size;
    if (scans || r->form->by_ranks)
        return combine(r, p->from, scans ? tutti_result_depth(&r->call, r->me, r->ranks) : r->ranks, out, mine.count,
                       stream);
    return combine_by_nodes(p, out, mine.count, stream);
}

/* ---- a call of one piece, by the host alone ---- */

int tutti_stream_piece_poll(struct tutti_stream_piece *p)
{
    const struct tutti_stream_reduction *const r = p->of;
    const struct tutti_result mine = tutti_stream_piece_of(r, 0, r->me);
    int ended = 0, code = MPI_SUCCESS;
    if (p->round == 0) {
        p->round = 1;
        code = tutti_stream_piece_send(p);
    }
    while (code == MPI_SUCCESS && tutti_next.MPI_Test(&p->request, &ended, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
        if (!ended)
            return 0;
        if (r->call.collective == TUTTI_COLLECTIVE_BARRIER || p->round == 2)
            return 1;
        const size_t begin = mine.begin * r->size;
        if (tutti_stream_piece_combine(p, p->in + begin, p->out + (r->two ? begin : 0), NULL) != TUTTI_OK || !r->two)
            return 1;
        p->round = 2;
        code = tutti_stream_piece_send_results(p);
    }
    return TUTTI_ERR_TRANSPORT;
}
