/* Which rules choose the algorithm of a collective, from collectives.def: the same sections in a node and, with
 * `_nodes` in their names, over nodes. */
#ifndef TUTTI_COLL_SECTIONS_H
#define TUTTI_COLL_SECTIONS_H

#include "team/control.h"

enum tutti_reduction_rules {
#define TUTTI_COLLECTIVE(ID, name)
#define TUTTI_REDUCTION_RULES(ID, name) TUTTI_REDUCTION_RULES_##ID,
#include "tutti/collectives.def"
    TUTTI_REDUCTION_SECTIONS
};

enum tutti_mover_rules {
#define TUTTI_COLLECTIVE(ID, name)
#define TUTTI_MOVER_RULES(ID, name) TUTTI_MOVER_RULES_##ID,
#include "tutti/collectives.def"
    TUTTI_MOVER_SECTIONS
};

/* -1: the call is no reduction, or no mover of data. */
int tutti_reduction_rules_of(enum tutti_collective collective);
int tutti_mover_rules_of(enum tutti_collective collective);

#endif
