/* Algorithms of the collectives that move data: their rows. Private to coll/. */
#ifndef TUTTI_COLL_MOVES_H
#define TUTTI_COLL_MOVES_H

#include "coll/algorithm.h"
#include "coll/move.h"

enum {
#define TUTTI_MOVE(name, text) TUTTI_MOVE_##name,
#include "tutti/moves.def"
#undef TUTTI_MOVE
    TUTTI_MOVES
};

/* A row's can() is local: it looks at this rank's blocks alone, and sets the reason where they do not fit. All ranks
 * tell each other which rows they can run. run() is collective; with *fits = 0 nothing was done and the reason is set.
 */
#define TUTTI_MOVE(name, text) extern const struct tutti_algorithm tutti_move_##name;
#include "tutti/moves.def"
#undef TUTTI_MOVE
extern const struct tutti_algorithm *const tutti_moves[TUTTI_MOVES];

/* Local. Rows that this rank's rules name for a call whose largest block here has so many bytes, bit i of row i: those
 * before a rule that names `mpi`. The first row where no rule fits. Ranks may have different rules: what all permit is
 * taken. */
uint32_t tutti_moves_permitted(enum tutti_collective collective, size_t bytes);

#endif
