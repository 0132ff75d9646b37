#include "coll/move/moves.h"

const struct tutti_algorithm *const tutti_moves[TUTTI_MOVES] = {
#define TUTTI_MOVE(name, text) &tutti_move_##name,
#include "tutti/moves.def"
#undef TUTTI_MOVE
};
