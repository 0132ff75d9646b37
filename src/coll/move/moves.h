/* Algorithms of the collectives that move data: their rows. Private to coll/. */
#ifndef TUTTI_COLL_MOVES_H
#define TUTTI_COLL_MOVES_H

#include "coll/algorithm.h"
#include "coll/move.h"

enum {
#define TUTTI_MOVE(name, order, text) TUTTI_MOVE_##name,
#include "tutti/moves.def"
#undef TUTTI_MOVE
    TUTTI_MOVES
};

/* A row's can() is local: it sees only this rank's blocks, and sets the reason if they do not fit. All ranks
 * exchange which rows they can run. run() is collective; with *fits = 0 nothing was done and the reason is set. */
#define TUTTI_MOVE(name, order, text) extern const struct tutti_algorithm tutti_move_##name;
#include "tutti/moves.def"
#undef TUTTI_MOVE
extern const struct tutti_algorithm *const tutti_moves[TUTTI_MOVES];

/* Local. 1 if kernels of one GPU reach all of the block, which has bytes: block->gpu, set here. */
int tutti_move_reaches(struct tutti_move *move, struct tutti_move_block *block);
/* Local. 1 and move->runs if every block of the move is one run of bytes, or can become one (runs.packed), with at
 * most one to and one from each rank, and kernels of one GPU reach all but those of the host: runs.gpu, -1 if there are
 * no bytes or any GPU will do. runs.near: 1: received runs lie in that GPU's own memory. */
int tutti_move_flatten(const struct tutti_team *team, struct tutti_move *move);
/* Local. The program has passed memory of this GPU to a call. */
void tutti_move_meets(int gpu);

/* Local. Rows that this rank's rules name for a call of so many ranks whose largest block here has so many bytes, bit i
 * of row i: those before a rule that names `mpi`, up to fetch. fetch alone if no rule fits. nonblocking: those of the
 * section moves_nonblocking too. spare: those that take no multiprocessor instead, unless the rules name `mpi`. aside:
 * also those that take any length, since fetch cannot. Ranks may have different rules: what all permit is taken. */
uint32_t tutti_moves_permitted(enum tutti_collective collective, size_t bytes, int ranks, int nonblocking, int spare,
                               int aside);
/* By which rules a rank with blocks in memory of the host chooses: moves_mixed; moves_pinned, if all of that memory is
 * pinned; _root, for the root of a broadcast or scatter, which copies all blocks by itself; moves_mixed_leaders where
 * ranks share GPUs. */
enum tutti_mixed {
    TUTTI_MIXED_ORDINARY,
    TUTTI_MIXED_ROOT,
    TUTTI_MIXED_PINNED_ROOT,
    TUTTI_MIXED_PINNED,
    TUTTI_MIXED_LEADERS,
    TUTTI_MIXED_SECTIONS
};
/* Local. The rows for a call in which blocks lie in memory of the host: those that are one kernel, of the section, or,
 * if no rule fits there, of those in `permitted`, and the row that takes any length. */
uint32_t tutti_moves_mixed(uint32_t permitted, enum tutti_mixed mixed, size_t bytes, int ranks);
/* The same over all lengths and kinds of memory, for ranks without such blocks, whose own blocks do not decide. led:
 * ranks share GPUs. */
uint32_t tutti_moves_mixed_any(uint32_t permitted, int ranks, int led);
/* Rows that take any length. */
uint32_t tutti_moves_of_any_length(void);
/* Local. Of these rows, those that TUTTI_RULES names: they are tried before rows that only measured or default rules
 * name, where they are the same on all ranks. */
uint32_t tutti_moves_first(enum tutti_collective collective, size_t bytes, int ranks, int nonblocking);
/* The row of the first rule from `*from` on that fits and names one; -1 past the last. In stream order. */
int tutti_moves_next(enum tutti_collective collective, size_t bytes, int ranks, int *from);

#endif
