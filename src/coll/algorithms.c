#include "coll/algorithm.h"

const struct tutti_algorithm tutti_algorithms[TUTTI_ALGORITHMS] = {
#define TUTTI_ALGORITHM(name_, text_)                                                                                  \
    [TUTTI_ALGORITHM_##name_] = {.name = #name_, .text = text_, .can = tutti_##name_##_can, .run = tutti_##name_##_run},
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
};
