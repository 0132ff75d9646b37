/* The ways of typed messages as numbers, for the ranks and for the command. */
#ifndef TUTTI_BENCH_EXCHANGE_WAY_H
#define TUTTI_BENCH_EXCHANGE_WAY_H

enum exchange_way {
#define EXCHANGE_WAY(id, name, text) EXCHANGE_##id,
#include "bench/words/exchange_ways.def"
#undef EXCHANGE_WAY
    EXCHANGE_WAYS
};

#endif
