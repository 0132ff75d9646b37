#include "mpi/reduce/stream_reduce.h"

#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "core/types.h"
#include "kernels/reduce.h"
#include "mpi/comm/starting.h"
#include "mpi/real/handles.h"

enum {
    ROOM_MOST = 64 << 20, /* bytes of contributions that a rank receives at a time */
    PIECE_LEAST = 64 << 10,
    WHOLE_MOST = 32 << 10 /* up to here, and with two ranks, each rank of an Allreduce combines all */
};
enum { PHASE_NEXT, PHASE_CONTRIBUTIONS, PHASE_RESULTS };

/* ---- life ---- */

static int reduction_room(struct tutti_stream_reduction *r)
{
    const size_t n = (size_t)r->ranks, most = r->each < r->call.count ? r->each : r->call.count;
    r->result = calloc(n, sizeof *r->result);
    r->list = calloc(4 * n, sizeof *r->list);
    r->from = calloc(3 * n, sizeof *r->from);
    r->room = malloc((n + (size_t)r->form->hierarchy->nodes) * most * r->size + 1);
    return r->result && r->list && r->from && r->room ? TUTTI_OK : TUTTI_ERR_MEMORY;
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
                                         .size = tutti_type_size(call->type),
                                         .request = tutti_handles.no_request};
    if (call->collective == TUTTI_COLLECTIVE_BARRIER)
        return TUTTI_OK;
    const size_t most = ROOM_MOST / (size_t)n > PIECE_LEAST ? ROOM_MOST / (size_t)n : PIECE_LEAST;
    r->each = (form->piece < most ? form->piece : most) / r->size;
    r->two = call->collective == TUTTI_COLLECTIVE_ALLREDUCE && n > 2 && call->count * r->size > WHOLE_MOST;
    if (call->counts && (r->counts = malloc((size_t)n * sizeof *r->counts)) != NULL)
        r->call.counts = memcpy(r->counts, call->counts, (size_t)n * sizeof *r->counts);
    if (reduction_room(r) != TUTTI_OK || (call->counts && !r->counts))
        return TUTTI_ERR_MEMORY;
    for (int q = 0; q < n; q++)
        r->result[q] = tutti_result_of(&r->call, q, n);
    r->in_bytes = call->count * r->size;
    r->out_bytes = r->result[r->me].count * r->size;
    return TUTTI_OK;
}

void tutti_stream_reduction_close(struct tutti_stream_reduction *r)
{
    free(r->counts);
    free(r->result);
    free(r->list);
    free(r->from);
    free(r->room);
    *r = (struct tutti_stream_reduction){.in = NULL};
}

/* ---- a piece ---- */

static size_t piece_of(const struct tutti_stream_reduction *r)
{
    return r->call.count - r->at < r->each ? r->call.count - r->at : r->each;
}

/* The elements of the piece that rank q combines, from the beginning of the piece on. */
static struct tutti_result combined_by(const struct tutti_stream_reduction *r, int q)
{
    const size_t n = piece_of(r), end = r->at + n;
    if (r->two) {
        const size_t begin = n * (size_t)q / (size_t)r->ranks;
        return (struct tutti_result){begin, n * ((size_t)q + 1) / (size_t)r->ranks - begin};
    }
    const size_t first = r->result[q].begin, last = first + r->result[q].count;
    const size_t begin = first > r->at ? first : r->at, stop = last < end ? last : end;
    return begin < stop ? (struct tutti_result){begin - r->at, stop - begin} : (struct tutti_result){0, 0};
}

/* 1 if rank q combines a contribution of rank p. */
static int contributes(const struct tutti_stream_reduction *r, int p, int q)
{
    return r->call.collective == TUTTI_COLLECTIVE_SCAN     ? p <= q
           : r->call.collective == TUTTI_COLLECTIVE_EXSCAN ? p < q
                                                           : 1;
}

static int send_contributions(struct tutti_stream_reduction *r)
{
    const int n = r->ranks;
    int *const sends = r->list, *const sent = sends + n, *const receives = sent + n, *const received = receives + n;
    const struct tutti_result mine = combined_by(r, r->me);
    const size_t bytes = mine.count * r->size;
    for (int q = 0; q < n; q++) {
        const struct tutti_result theirs = combined_by(r, q);
        const int goes = q != r->me && contributes(r, r->me, q), comes = q != r->me && contributes(r, q, r->me);
        sends[q] = goes ? (int)(theirs.count * r->size) : 0;
        sent[q] = (int)(theirs.begin * r->size);
        receives[q] = comes ? (int)bytes : 0;
        received[q] = (int)((size_t)q * bytes);
        r->from[q] = q == r->me ? r->in + (r->at + mine.begin) * r->size : r->room + (size_t)q * bytes;
    }
    r->phase = PHASE_CONTRIBUTIONS;
    return tutti_next.MPI_Ialltoallv(r->in + r->at * r->size, sends, sent, tutti_handles.byte, r->room, receives,
                                     received, tutti_handles.byte, r->comm, &r->request);
}

/* As tutti_reduce_host(), for any number of contributions. */
static void combine(const struct tutti_stream_reduction *r, const void *const in[], int n, void *out, size_t count)
{
    const void *some[TUTTI_MAX_RANKS];
    const int first = n < TUTTI_MAX_RANKS ? n : TUTTI_MAX_RANKS;
    if (n == 1)
        memcpy(out, in[0], count * r->size);
    else
        tutti_reduce_host(r->call.type, r->call.op, first, in, out, count);
    for (int next = first; next < n;) {
        int k = 1;
        for (some[0] = out; k < TUTTI_MAX_RANKS && next < n; k++)
            some[k] = in[next++];
        tutti_reduce_host(r->call.type, r->call.op, k, some, out, count);
    }
}

/* The ranks of each node in their order, then the nodes. */
static void combine_by_nodes(const struct tutti_stream_reduction *r, char *out, size_t count)
{
    const struct tutti_hierarchy *const h = r->form->hierarchy;
    const void **const some = r->from + r->ranks, **const of = some + r->ranks;
    char *node = r->room + (size_t)r->ranks * count * r->size;
    for (int k = 0; k < h->nodes; k++) {
        int n = 0;
        for (int p = 0; p < r->ranks; p++) {
            if (h->node_of[p] == k)
                some[n++] = r->from[p];
        }
        of[k] = n == 1 ? some[0] : node;
        if (n > 1)
            combine(r, some, n, node, count);
        node += count * r->size;
    }
    combine(r, of, h->nodes, out, count);
}

static void combine_mine(struct tutti_stream_reduction *r)
{
    const struct tutti_result mine = combined_by(r, r->me);
    char *const out = r->out + (r->at + mine.begin - r->result[r->me].begin) * r->size;
    const int depth = tutti_result_depth(&r->call, r->me, r->ranks);
    const int scans = r->call.collective == TUTTI_COLLECTIVE_SCAN || r->call.collective == TUTTI_COLLECTIVE_EXSCAN;
    if (mine.count == 0)
        return;
    if (scans || r->form->by_ranks)
        combine(r, r->from, scans ? depth : r->ranks, out, mine.count);
    else
        combine_by_nodes(r, out, mine.count);
}

static int send_results(struct tutti_stream_reduction *r)
{
    int *const receives = r->list, *const received = receives + r->ranks;
    for (int q = 0; q < r->ranks; q++) {
        const struct tutti_result theirs = combined_by(r, q);
        receives[q] = (int)(theirs.count * r->size);
        received[q] = (int)(theirs.begin * r->size);
    }
    r->phase = PHASE_RESULTS;
    return tutti_next.MPI_Iallgatherv(MPI_IN_PLACE, 0, tutti_handles.byte, r->out + r->at * r->size, receives, received,
                                      tutti_handles.byte, r->comm, &r->request);
}

/* ---- all ---- */

void tutti_stream_reduction_begin(struct tutti_stream_reduction *r)
{
    r->at = 0;
    r->phase = PHASE_NEXT;
}

static int reduction_continue(struct tutti_stream_reduction *r)
{
    if (r->phase == PHASE_CONTRIBUTIONS) {
        combine_mine(r);
        if (r->two)
            return send_results(r);
    }
    r->at += piece_of(r);
    return r->at < r->call.count ? send_contributions(r) : MPI_SUCCESS;
}

int tutti_stream_reduction_poll(struct tutti_stream_reduction *r)
{
    const int barrier = r->call.collective == TUTTI_COLLECTIVE_BARRIER;
    int ended = 0, code = MPI_SUCCESS;
    if (r->phase == PHASE_NEXT) {
        r->phase = PHASE_CONTRIBUTIONS;
        code = barrier ? tutti_next.MPI_Ibarrier(r->comm, &r->request) : send_contributions(r);
    }
    while (code == MPI_SUCCESS && tutti_next.MPI_Test(&r->request, &ended, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
        if (!ended)
            return 0;
        if (barrier)
            return 1;
        code = reduction_continue(r);
        if (code == MPI_SUCCESS && r->at >= r->call.count)
            return 1;
    }
    return TUTTI_ERR_TRANSPORT;
}
