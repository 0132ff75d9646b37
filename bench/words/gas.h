/* Ways and figures of tutti bench shmem as numbers, for the ranks and for the command. */
#ifndef TUTTI_BENCH_GAS_WORDS_H
#define TUTTI_BENCH_GAS_WORDS_H

enum gas_way {
#define GAS_WAY(id, name, text) GAS_##id,
#include "bench/words/gas_ways.def"
#undef GAS_WAY
    GAS_WAYS
};

enum gas_figure {
#define GAS_FIGURE(id, name, text, rate) GAS_FIGURE_##id,
#include "bench/words/gas_figures.def"
#undef GAS_FIGURE
    GAS_FIGURES
};

#endif
