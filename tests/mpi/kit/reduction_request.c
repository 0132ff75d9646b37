#include "reduction_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.h"

#define VECTOR_PARAMETERS(COUNT) const void *, void *, COUNT, MPI_Datatype, MPI_Op, MPI_Comm
#define ROOTED_PARAMETERS(COUNT) const void *, void *, COUNT, MPI_Datatype, MPI_Op, int, MPI_Comm
#define LISTED_PARAMETERS(COUNT) const void *, void *, const COUNT[], MPI_Datatype, MPI_Op, MPI_Comm
#if MPI_VERSION < 4
int MPI_Iallreduce_c(VECTOR_PARAMETERS(MPI_Count), MPI_Request *);
int MPI_Ireduce_c(ROOTED_PARAMETERS(MPI_Count), MPI_Request *);
int MPI_Ireduce_scatter_c(LISTED_PARAMETERS(MPI_Count), MPI_Request *);
int MPI_Ireduce_scatter_block_c(VECTOR_PARAMETERS(MPI_Count), MPI_Request *);
int MPI_Iscan_c(VECTOR_PARAMETERS(MPI_Count), MPI_Request *);
int MPI_Iexscan_c(VECTOR_PARAMETERS(MPI_Count), MPI_Request *);
int MPI_Allreduce_init_c(VECTOR_PARAMETERS(MPI_Count), MPI_Info, MPI_Request *);
int MPI_Reduce_init_c(ROOTED_PARAMETERS(MPI_Count), MPI_Info, MPI_Request *);
int MPI_Reduce_scatter_init_c(LISTED_PARAMETERS(MPI_Count), MPI_Info, MPI_Request *);
int MPI_Reduce_scatter_block_init_c(VECTOR_PARAMETERS(MPI_Count), MPI_Info, MPI_Request *);
int MPI_Scan_init_c(VECTOR_PARAMETERS(MPI_Count), MPI_Info, MPI_Request *);
int MPI_Exscan_init_c(VECTOR_PARAMETERS(MPI_Count), MPI_Info, MPI_Request *);
#endif
#pragma weak MPI_Iallreduce_c
#pragma weak MPI_Ireduce_c
#pragma weak MPI_Ireduce_scatter_c
#pragma weak MPI_Ireduce_scatter_block_c
#pragma weak MPI_Iscan_c
#pragma weak MPI_Iexscan_c
#pragma weak MPI_Allreduce_init_c
#pragma weak MPI_Reduce_init_c
#pragma weak MPI_Reduce_scatter_init_c
#pragma weak MPI_Reduce_scatter_block_init_c
#pragma weak MPI_Scan_init_c
#pragma weak MPI_Exscan_init_c
#pragma weak MPI_Allreduce_init
#pragma weak MPI_Reduce_init
#pragma weak MPI_Reduce_scatter_init
#pragma weak MPI_Reduce_scatter_block_init
#pragma weak MPI_Scan_init
#pragma weak MPI_Exscan_init

const char *const rreq_names[RREQ_CALLS] = {
    "MPI_Iallreduce", "MPI_Ireduce", "MPI_Ireduce_scatter", "MPI_Ireduce_scatter_block", "MPI_Iscan", "MPI_Iexscan"};
const char *const rreq_init_names[RREQ_CALLS] = {"MPI_Allreduce_init",      "MPI_Reduce_init",
                                                 "MPI_Reduce_scatter_init", "MPI_Reduce_scatter_block_init",
                                                 "MPI_Scan_init",           "MPI_Exscan_init"};

int rreq_large(void)
{
    return MPI_Iallreduce_c != NULL;
}

int rreq_persistent(void)
{
    return MPI_Allreduce_init && MPI_Exscan_init;
}

static int value(int rank, int round, int i)
{
    return (rank + 1) * (i % 1000 + 3) + round * (rank + 2);
}

/* What this rank gets: first element of the reduced vector, how many, of how many ranks. */
static int results(const struct reduction_request *q, int *begin, int *depth)
{
    *begin = 0;
    *depth = q->size;
    switch (q->call) {
    case RREQ_REDUCE:
        return q->rank == q->root ? q->count : 0;
    case RREQ_REDUCE_SCATTER:
        for (int r = 0; r < q->rank; r++)
            *begin += q->counts[r];
        return q->counts[q->rank];
    case RREQ_REDUCE_SCATTER_BLOCK:
        *begin = q->count / q->size * q->rank;
        return q->count / q->size;
    case RREQ_SCAN:
        *depth = q->rank + 1;
        return q->count;
    case RREQ_EXSCAN:
        *depth = q->rank;
        return q->rank > 0 ? q->count : 0;
    default:
        return q->count;
    }
}

void rreq_open(struct reduction_request *q, enum rreq_call call, int count, MPI_Comm comm, enum kit_kind kind, int root,
               int in_place)
{
    *q = (struct reduction_request){
        .call = call, .count = count, .comm = comm, .root = root, .in_place = in_place, .op = MPI_SUM, .type = MPI_INT};
    q->request = MPI_REQUEST_NULL;
    MPI_Comm_rank(comm, &q->rank);
    MPI_Comm_size(comm, &q->size);
    if (call == RREQ_REDUCE_SCATTER_BLOCK)
        q->count = (count + q->size - 1) / q->size * q->size;
    for (int r = 0, left = count; r < q->size; r++) { /* uneven, some of them empty */
        q->counts[r] = r == q->size - 1 ? left : r % 2 == 1 ? 0 : left / 2;
        q->large_counts[r] = q->counts[r];
        left -= q->counts[r];
    }
    q->sent = malloc(sizeof(int) * (size_t)q->count);
    kit_open(&q->in, kind, sizeof(int) * (size_t)q->count);
    kit_open(&q->out, kind, sizeof(int) * (size_t)q->count);
    rreq_fill(q, 0);
}

void rreq_close(struct reduction_request *q)
{
    kit_close(&q->in);
    kit_close(&q->out);
    free(q->sent);
}

void rreq_fill(struct reduction_request *q, int round)
{
    size_t bytes = sizeof(int) * (size_t)q->count;
    q->round = round;
    for (int i = 0; i < q->count; i++)
        q->sent[i] = value(q->rank, round, i);
    q->send = kit_put(&q->in, 0, q->sent, bytes);
    q->recv = kit_put(&q->out, 0, q->in_place ? q->sent : NULL, bytes);
    if (q->in_place)
        q->send = MPI_IN_PLACE;
    if (q->in_place && q->call == RREQ_REDUCE && q->rank != q->root) {
        q->send = q->recv;
        q->recv = NULL;
    }
}

int rreq_start(struct reduction_request *q, int large)
{
    switch (q->call) {
    case RREQ_ALLREDUCE:
        return large ? MPI_Iallreduce_c(q->send, q->recv, q->count, q->type, q->op, q->comm, &q->request)
                     : MPI_Iallreduce(q->send, q->recv, q->count, q->type, q->op, q->comm, &q->request);
    case RREQ_REDUCE:
        return large ? MPI_Ireduce_c(q->send, q->recv, q->count, q->type, q->op, q->root, q->comm, &q->request)
                     : MPI_Ireduce(q->send, q->recv, q->count, q->type, q->op, q->root, q->comm, &q->request);
    case RREQ_REDUCE_SCATTER:
        return large ? MPI_Ireduce_scatter_c(q->send, q->recv, q->large_counts, q->type, q->op, q->comm, &q->request)
                     : MPI_Ireduce_scatter(q->send, q->recv, q->counts, q->type, q->op, q->comm, &q->request);
    case RREQ_REDUCE_SCATTER_BLOCK:
        return large ? MPI_Ireduce_scatter_block_c(q->send, q->recv, q->count / q->size, q->type, q->op, q->comm,
                                                   &q->request)
                     : MPI_Ireduce_scatter_block(q->send, q->recv, q->count / q->size, q->type, q->op, q->comm,
                                                 &q->request);
    case RREQ_SCAN:
        return large ? MPI_Iscan_c(q->send, q->recv, q->count, q->type, q->op, q->comm, &q->request)
                     : MPI_Iscan(q->send, q->recv, q->count, q->type, q->op, q->comm, &q->request);
    default:
        return large ? MPI_Iexscan_c(q->send, q->recv, q->count, q->type, q->op, q->comm, &q->request)
                     : MPI_Iexscan(q->send, q->recv, q->count, q->type, q->op, q->comm, &q->request);
    }
}

int rreq_init(struct reduction_request *q, int large)
{
    MPI_Info info = MPI_INFO_NULL;
    switch (q->call) {
    case RREQ_ALLREDUCE:
        return large ? MPI_Allreduce_init_c(q->send, q->recv, q->count, q->type, q->op, q->comm, info, &q->request)
                     : MPI_Allreduce_init(q->send, q->recv, q->count, q->type, q->op, q->comm, info, &q->request);
    case RREQ_REDUCE:
        return large
                   ? MPI_Reduce_init_c(q->send, q->recv, q->count, q->type, q->op, q->root, q->comm, info, &q->request)
                   : MPI_Reduce_init(q->send, q->recv, q->count, q->type, q->op, q->root, q->comm, info, &q->request);
    case RREQ_REDUCE_SCATTER:
        return large ? MPI_Reduce_scatter_init_c(q->send, q->recv, q->large_counts, q->type, q->op, q->comm, info,
                                                 &q->request)
                     : MPI_Reduce_scatter_init(q->send, q->recv, q->counts, q->type, q->op, q->comm, info, &q->request);
    case RREQ_REDUCE_SCATTER_BLOCK:
        return large ? MPI_Reduce_scatter_block_init_c(q->send, q->recv, q->count / q->size, q->type, q->op, q->comm,
                                                       info, &q->request)
                     : MPI_Reduce_scatter_block_init(q->send, q->recv, q->count / q->size, q->type, q->op, q->comm,
                                                     info, &q->request);
    case RREQ_SCAN:
        return large ? MPI_Scan_init_c(q->send, q->recv, q->count, q->type, q->op, q->comm, info, &q->request)
                     : MPI_Scan_init(q->send, q->recv, q->count, q->type, q->op, q->comm, info, &q->request);
    default:
        return large ? MPI_Exscan_init_c(q->send, q->recv, q->count, q->type, q->op, q->comm, info, &q->request)
                     : MPI_Exscan_init(q->send, q->recv, q->count, q->type, q->op, q->comm, info, &q->request);
    }
}

static int first_wrong(struct reduction_request *q, const int *got)
{
    int begin, depth, n = results(q, &begin, &depth), wrong = -1;
    for (int i = 0; i < n && wrong < 0; i++) {
        int want = 0;
        for (int r = 0; r < depth; r++)
            want += value(r, q->round, begin + i);
        if (got[i] != want)
            wrong = i;
    }
    return wrong;
}

int rreq_right(struct reduction_request *q)
{
    return first_wrong(q, (const int *)(void *)kit_get(&q->out, NULL)) < 0;
}

void rreq_check(struct reduction_request *q, const char *where)
{
    const int *got = (const int *)(void *)kit_get(&q->out, NULL);
    int wrong = first_wrong(q, got);
    CHECK(wrong < 0, "%s: %s of %d ints, round %d, rank %d: element %d is %d", where, rreq_names[q->call], q->count,
          q->round, q->rank, wrong, wrong < 0 ? 0 : got[wrong]);
    if (!q->in_place)
        CHECK(memcmp(kit_get(&q->in, NULL), q->sent, sizeof(int) * (size_t)q->count) == 0,
              "%s: %s wrote to its send buffer", where, rreq_names[q->call]);
}

unsigned long long rreq_counted(const char *name, const char *word)
{
    char large[64];
    snprintf(large, sizeof large, "%s_c", name);
    return kit_counted(name, word) + kit_counted(large, word);
}
