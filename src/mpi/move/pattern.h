/* Which blocks of which buffer this rank sends to, and receives from, which ranks in a collective: its row of
 * collectives.def, for this rank. */
#ifndef TUTTI_MPI_PATTERN_H
#define TUTTI_MPI_PATTERN_H

#include "coll/mover_row.h"
#include "mpi/comm/neighbours.h"
#include "mpi/move/collective.h"

/* The send buffer, or the receive buffer. */
struct tutti_pattern_side {
    int used; /* this rank sends, or receives; otherwise the MPI ignores the buffer */
    enum tutti_peers peers;
    int each; /* 1: a block for each peer; 0: one block for all of them */
    int n;    /* blocks of the buffer; 0 for MPI_IN_PLACE, and for counts without displacements */
};

/* The meaning of MPI_IN_PLACE; not set if the call does not allow it: the MPI refuses it. */
enum tutti_in_place {
    TUTTI_NOT_IN_PLACE,
    TUTTI_OWN_BLOCK_SENT,  /* this rank sends its own block of the receive buffer */
    TUTTI_OWN_BLOCK_KEPT,  /* this rank's block stays in the send buffer */
    TUTTI_ALL_BLOCKS_SENT, /* this rank sends all blocks of the receive buffer, and receives into them */
};

struct tutti_pattern {
    int inter, rank;
    int ranks;  /* of the communicator, or of the other group of an intercommunicator; 0 for calls with neighbours */
    int rooted; /* the call has a root */
    int root;   /* 1: this rank is the root; 0: the root is its peer; -1: another rank of the root's group */
    int shared; /* one buffer: to send at the root, to receive elsewhere */
    struct tutti_pattern_side send, recv;
    enum tutti_in_place in_place;
    struct tutti_neighbours neighbours;
};

/* Local. A status; tutti_pattern_close() in any case. */
int tutti_pattern_open(struct tutti_pattern *pattern, const struct tutti_collective_args *call);
/* The same for an intracommunicator whose size and rank are known. */
int tutti_pattern_open_as(struct tutti_pattern *pattern, const struct tutti_collective_args *call, int rank, int ranks);
void tutti_pattern_close(struct tutti_pattern *pattern);

/* 1 for calls with neighbours. */
int tutti_pattern_has_neighbours(enum tutti_collective collective);
/* 1 for calls with lists of counts and displacements. */
int tutti_pattern_has_lists(enum tutti_collective collective);
/* 1 for calls that, in place, send all blocks of the receive buffer. */
int tutti_pattern_exchanges(enum tutti_collective collective);
/* 1 if each buffer is one run of elements on all ranks that use it: contiguous.c. */
int tutti_pattern_is_contiguous(enum tutti_collective collective);

#endif
