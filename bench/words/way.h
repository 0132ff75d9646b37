/* The ways as numbers, for the ranks and for the command. */
#ifndef TUTTI_BENCH_WAY_H
#define TUTTI_BENCH_WAY_H

enum bench_way {
#define BENCH_WAY(id, name, text) BENCH_##id,
#include "bench/words/ways.def"
#undef BENCH_WAY
    BENCH_WAYS
};

#endif
