/* Parts of the programs of moves_nodes.c: datatypes, and a sum that stays open. */
#ifndef TUTTI_TESTS_MPI_MOVES_NODES_H
#define TUTTI_TESTS_MPI_MOVES_NODES_H

#include <mpi.h>

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

/* A sum of ints that stays open over another call of its communicator: their messages must not meet. begin: of `n` ints
 * in memory of the kind (enum kit_kind); want: the result. end: 0 if it is right, otherwise -1. open, close: its
 * memory. */
void moves_sum_open(int most);
void moves_sum_close(void);
void moves_sum_begin(MPI_Comm comm, int kind, int n, const int *mine, const int *want);
int moves_sum_end(void);

#endif
