#include "coll/algorithm.h"

const struct tutti_algorithm *const tutti_algorithms[TUTTI_ALGORITHMS] = {
#define TUTTI_ALGORITHM(name, order, text) &tutti_reduce_##name,
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
};

int tutti_algorithm_can(const struct tutti_algorithm *row, const struct tutti_team *team, const struct tutti_call *call)
{
    return (row->collectives >> call->collective & 1) && (!row->can || row->can(team, call));
}

const struct tutti_algorithm *tutti_algorithm_last(void)
{
    int i = 0;
    while (!tutti_algorithms[i]->last_resort)
        i++;
    return tutti_algorithms[i];
}

const struct tutti_algorithm *tutti_algorithm_instead(const struct tutti_team *team, const struct tutti_call *call)
{
    for (int i = 0; i < TUTTI_ALGORITHMS; i++) {
        if (tutti_algorithms[i]->stands_in && tutti_algorithm_can(tutti_algorithms[i], team, call))
            return tutti_algorithms[i];
    }
    return NULL;
}
