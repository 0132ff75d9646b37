#include "coll/sections.h"

/* Numbers of sections, plus 1. */
static const signed char reductions[TUTTI_COLLECTIVES] = {
#define TUTTI_REDUCTION(ID, call, nonblocking, enqueued, of, to, rules)                                                \
    [TUTTI_COLLECTIVE_##ID] = TUTTI_REDUCTION_RULES_##rules + 1,
#include "tutti/collectives.def"
};

static const signed char movers[TUTTI_COLLECTIVES] = {
#define TUTTI_MOVER(ID, call, nonblocking, from, to, send, receive, in_place, rules)                                   \
    [TUTTI_COLLECTIVE_##ID] = TUTTI_MOVER_RULES_##rules + 1,
#include "tutti/collectives.def"
};

int tutti_reduction_rules_of(enum tutti_collective collective)
{
    return reductions[collective] - 1;
}

int tutti_mover_rules_of(enum tutti_collective collective)
{
    return movers[collective] - 1;
}
