/* Nonblocking and persistent reductions behind one structure: buffers, start, and what must come out. */
#ifndef TUTTI_TESTS_IREQ_H
#define TUTTI_TESTS_IREQ_H

#include "kit.h"

enum ireq_call {
    IREQ_ALLREDUCE,
    IREQ_REDUCE,
    IREQ_REDUCE_SCATTER,
    IREQ_REDUCE_SCATTER_BLOCK,
    IREQ_SCAN,
    IREQ_EXSCAN,
    IREQ_CALLS
};
extern const char *const ireq_names[IREQ_CALLS];      /* "MPI_Iallreduce" ... */
extern const char *const ireq_init_names[IREQ_CALLS]; /* "MPI_Allreduce_init" ... */

struct ireq {
    enum ireq_call call;
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
void ireq_open(struct ireq *q, enum ireq_call call, int count, MPI_Comm comm, enum kit_kind kind, int root,
               int in_place);
void ireq_close(struct ireq *q);
/* New contents, which follow from the round. */
void ireq_fill(struct ireq *q, int round);
/* Starts the nonblocking call (large: its _c form, where ireq_large()); returns its code. */
int ireq_start(struct ireq *q, int large);
/* Makes the persistent request. */
int ireq_init(struct ireq *q, int large);
/* Looks at the results, guards and contributions of the last fill. */
void ireq_check(struct ireq *q, const char *where);
/* 1 where the results are those of the last fill; says nothing. */
int ireq_right(struct ireq *q);
/* 1 where the _c forms and the _init calls can be called. */
int ireq_large(void);
int ireq_persistent(void);
/* Calls counted under the name of either width. */
unsigned long long ireq_counted(const char *name, const char *word);

#endif
