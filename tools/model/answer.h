/* tutti model: the question, and the table, JSON and plot of the answers. */
#ifndef TUTTI_TOOLS_MODEL_ANSWER_H
#define TUTTI_TOOLS_MODEL_ANSWER_H

#include "tools/bench/bench.h"
#include "tools/model/model.h"

enum { MODEL_COUNTS = 32 };
struct model_question {
    struct model model;
    const char *phases, *json, *plot, *goal;
    double copies; /* bytes per us; 0: not given */
    int links;     /* 0: not given */
    int exchange;  /* MODEL_EXCHANGES: the best */
    int counts, nodes[MODEL_COUNTS];
    int sizes;
    size_t size[BENCH_SIZES];
};

void model_print(const struct model_question *q);
/* 0, or 1 after an error message; 0 without a file. */
int model_json(const struct model_question *q);
int model_plot(const struct model_question *q);
int model_goal(const struct model_question *q);

#endif
