/* Nonblocking and persistent reductions behind one structure: buffers, start, and what must come out. */
#ifndef TUTTI_TESTS_REDUCTION_REQUEST_H
#define TUTTI_TESTS_REDUCTION_REQUEST_H

#include "kit.h"

enum rreq_call {
    RREQ_ALLREDUCE,
    RREQ_REDUCE,
    RREQ_REDUCE_SCATTER,
    RREQ_REDUCE_SCATTER_BLOCK,
    RREQ_SCAN,
    RREQ_EXSCAN,
    RREQ_CALLS
};
extern const char *const rreq_names[RREQ_CALLS];      /* "MPI_Iallreduce" ... */
extern const char *const rreq_init_names[RREQ_CALLS]; /* "MPI_Allreduce_init" ... */

struct reduction_request {
    enum rreq_call call;
    int count; /* of one contribution; a multiple of the ranks for REDUCE_SCATTER_BLOCK */
    int counts[64], root, in_place, round;
    MPI_Count large_counts[64];
    MPI_Comm comm;
    int rank, size;
    MPI_Op op;         /* MPI_SUM unless changed after open */
    MPI_Datatype type; /* MPI_INT unless changed after open */
    struct kit_buffer in, out;
    int *sent;
    void *send, *recv;
    MPI_Request request;
};

/* Collective over comm (no call of MPI but its rank and size). Buffers of this kind on this rank; int, sum. */
void rreq_open(struct reduction_request *q, enum rreq_call call, int count, MPI_Comm comm, enum kit_kind kind, int root,
               int in_place);
void rreq_close(struct reduction_request *q);
/* New contents, which follow from the round. */
void rreq_fill(struct reduction_request *q, int round);
/* Starts the nonblocking call (large: its _c form, where rreq_large()); returns its code. */
int rreq_start(struct reduction_request *q, int large);
/* Makes the persistent request. */
int rreq_init(struct reduction_request *q, int large);
/* Looks at the results, guards and contributions of the last fill. */
void rreq_check(struct reduction_request *q, const char *where);
/* 1 if the results are those of the last fill; says nothing. */
int rreq_right(struct reduction_request *q);
/* 1 if the _c forms and the _init calls can be called. */
int rreq_large(void);
int rreq_persistent(void);
/* Calls counted under the name of either width. */
unsigned long long rreq_counted(const char *name, const char *word);

#endif
