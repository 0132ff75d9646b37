/* What the ranks of a move publish when they arrive. Private to coll/. */
#ifndef TUTTI_COLL_MOVE_AGREE_H
#define TUTTI_COLL_MOVE_AGREE_H

#include "coll/move/moves.h"

/* Rows in one word: `usual`: for the call if all blocks of all ranks lie in device memory; `mixed`: if some lie in
 * memory of the host. */
#define TUTTI_MOVE_ROWS(usual, mixed) ((uint32_t)(usual) | (uint32_t)(mixed) << 16)
#define TUTTI_MOVE_USUAL(rows)        ((rows)&0xffff)
#define TUTTI_MOVE_MIXED(rows)        ((rows) >> 16)

/* What all ranks know of a call when all have arrived. */
struct tutti_move_agreed {
    uint32_t able;   /* rows that all ranks can run. At first TUTTI_MOVE_ROWS() of this rank */
    uint32_t first;  /* of these, rows to try before others: TUTTI_RULES names them on all ranks */
    uint32_t before; /* 1: some rank found out before the team was open, or has not prepared its kernels */
    uint64_t resets; /* ranks whose GPUs have been reset since the team was opened */
    int runs;        /* 1: the call is run when all agree: ranks that share GPUs offer what they have */
    int posted;      /* 1: all ranks have posted their blocks. At first of this rank */
    int hosted;      /* 1: some rank has blocks in memory of the host */
    unsigned piece;  /* struct tutti_move_runs.piece, of all ranks */
};

/* Bytes of the largest block of the move. */
size_t tutti_move_largest(const struct tutti_move *move);
/* Rows that need an open team: all whose kernels meet in its channels. */
uint32_t tutti_move_rows_of_teams(void);
/* 1: the GPU has been reset since the team was opened on it. */
int tutti_move_is_reset(const struct tutti_team *team);
/* Collective: this rank arrives, and reads what the peers have published. Where no row is left, the reason is set. A
 * status. */
int tutti_move_meet(struct tutti_team *team, const struct tutti_call *call, struct tutti_move_agreed *agreed);

#endif
