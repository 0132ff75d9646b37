/* Parts of the programs of moves_nodes.c: datatypes, and a sum that stays open. */
#ifndef TUTTI_TESTS_MPI_MOVES_NODES_H
#define TUTTI_TESTS_MPI_MOVES_NODES_H

#include <mpi.h>

#include "movers.h"

/* Types of 1, 2 and 3 ints, without gaps and with; a unit of 6 ints is a number of any of them. Ranks of a call differ
 * in the gaps alone: Open MPI chooses algorithms, and cuts messages, by the size of each rank's type. */
enum { TYPES = 6 };
extern const struct moves_layout {
    int ints, extent, at[3];
} moves_layouts[TYPES];
/* The second ones, of those with gaps, are the same in many levels of no effect: they have no plan. */
extern MPI_Datatype moves_types[2][TYPES];
void moves_types_make(void);
void moves_types_free(void);

enum call { KIT_MOVERS(KIT_NUMBER) MOVES, ALLREDUCE = MOVES, REDUCE, CALLS };

/* 1 if a buffer is one block, also where there are several ranks. */
static inline int sends_one(enum call call)
{
    return call == BCAST || call == GATHER || call == GATHERV || call == ALLGATHER || call == ALLGATHERV;
}

static inline int receives_one(enum call call)
{
    return call == BCAST || call == SCATTER || call == SCATTERV;
}

enum moves_form { MOVES_BLOCKING, MOVES_NONBLOCKING, MOVES_PERSISTENT };
/* The arguments of a call, as far as it has them; lists by side. */
struct moves_args {
    enum call call;
    MPI_Comm comm;
    const void *in;
    void *out;
    int one, got, root; /* counts of the first block of each side */
    MPI_Datatype of, to;
    int *counts[2], *displs[2], *bytes_at[2];
    MPI_Datatype *types[2];
};
/* Makes and completes the call, by the completion call that `how` draws. again: before each start of a persistent call,
 * which is started one to three times. An MPI code. */
int moves_call(const struct moves_args *a, enum moves_form form, unsigned how, void (*again)(void));
/* Completes a started call by one of the completion calls. An MPI code. */
int moves_complete(MPI_Request *request, unsigned how);
/* The same on all ranks for one `how`. Persistent calls need the library in front. */
enum moves_form moves_form_of(unsigned how);

/* Call i of those of MPI_COMM_WORLD in which a rank dies, `count` ints in all: a blocking one; two that are open
 * together. An MPI code. */
int moves_blocking_call(long i, int count, const void *in, void *out);
int moves_open_calls(long i, int count, const void *in, void *out, void *other);

/* A sum of ints that stays open over another call of its communicator: their messages must not meet. begin: of `n` ints
 * in memory of the kind (enum kit_kind); want: the result. end: 0 if it is right, otherwise -1. open, close: its
 * memory. */
void moves_sum_open(int most);
void moves_sum_close(void);
void moves_sum_begin(MPI_Comm comm, int kind, int n, const int *mine, const int *want);
int moves_sum_end(void);

#endif
