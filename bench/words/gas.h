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
#define GAS_FIGURE(id, name, text, ...) GAS_FIGURE_##id,
#include "bench/words/gas_figures.def"
#undef GAS_FIGURE
    GAS_FIGURES
};

/* Beside times: GB/s, or millions of requests a second, of which each thread makes one a round. */
enum gas_rate { GAS_RATE_NONE, GAS_RATE_BYTES, GAS_RATE_REQUESTS };
enum { GAS_USUAL = 8 /* the most sizes of a figure */ };
/* Masks: figures in which the host puts calls into a stream, and no kernel of the bench runs. */
enum { GAS_IN_STREAMS = 1 << GAS_FIGURE_GRAPH | 1 << GAS_FIGURE_STREAM };

#endif
