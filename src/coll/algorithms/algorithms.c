#include "coll/algorithm.h"

#define TUTTI_ENQUEUE_HOST(name)   NULL
#define TUTTI_ENQUEUE_STREAM(name) tutti_##name##_enqueue

const struct tutti_algorithm tutti_algorithms[TUTTI_ALGORITHMS] = {
#define TUTTI_ALGORITHM(name_, order, text_)                                                                           \
    [TUTTI_ALGORITHM_##name_] = {.name = #name_,                                                                       \
                                 .text = text_,                                                                        \
                                 .can = tutti_##name_##_can,                                                           \
                                 .run = tutti_##name_##_run,                                                           \
                                 .enqueue = TUTTI_ENQUEUE_##order(name_)},
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
};
