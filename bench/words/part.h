/* Figures and ways of tutti bench partitioned as numbers, for the ranks and for the command. */
#ifndef TUTTI_BENCH_WORDS_PART_H
#define TUTTI_BENCH_WORDS_PART_H

enum part_figure {
#define PART_FIGURE(id, name, text, goodput) PART_FIGURE_##id,
#include "bench/words/part_figures.def"
#undef PART_FIGURE
    PART_FIGURES
};

enum part_way {
#define PART_WAY(id, name, text) PART_##id,
#include "bench/words/part_ways.def"
#undef PART_WAY
    PART_WAYS
};

/* What of a way is timed: all of it, and what follows when requests are started and prepared. */
enum part_span { PART_WHOLE, PART_PREPARED, PART_SPANS };

enum { PART_COUNTS = 8 /* the most numbers of partitions of a run */, PART_MOST = 1024 /* partitions */ };

#endif
