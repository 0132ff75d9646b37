/* Chooses the algorithm, or way of messages, for each size from the measurements of `tutti tune`. No MPI and no
 * clock in here, so that it can be tested alone. */
#ifndef TUTTI_BENCH_TUNE_CHOOSE_H
#define TUTTI_BENCH_TUNE_CHOOSE_H

#include <stddef.h>

#include "bench/words/tune.h"

enum {
#define TUTTI_ALGORITHM(name, order, text) TUNE_##name,
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
    TUNE_ALGORITHMS,
    TUNE_BEFORE_WAYS = TUNE_ALGORITHMS - 1, /* ways of messages are counted on */
#define TUTTI_PROTOCOL(name, node, far, outcome, reason, text) TUNE_way_##name,
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
    TUNE_WAYS,
    TUNE_copy_engine = TUNE_WAYS, /* of kernels' puts and gets, beside TUNE_way_direct */
    TUNE_MOVES,
    TUNE_BEFORE_MOVES = TUNE_MOVES - 1, /* algorithms of data movers are counted on */
#define TUTTI_MOVE(name, ...) TUNE_move_##name,
#include "tutti/moves.def"
#undef TUTTI_MOVE
    TUNE_mpi, /* a data mover is left to the MPI, and staged */
    TUNE_MOVES_END,
    TUNE_BEFORE_FILE_WAYS = TUNE_MOVES_END - 1, /* ways of file accesses, in the order of dtype/file_ways.h */
#define TUNE_FILE_WAYS(X)  X(whole) X(kernel) X(pieces) X(even)
#define TUNE_FILE_WAY(way) TUNE_file_##way,
    TUNE_FILE_WAYS(TUNE_FILE_WAY)
#undef TUNE_FILE_WAY
        TUNE_part_kernel, /* of partitions that kernels mark */
    TUNE_part_engine,
    TUNE_part_never,
    TUNE_CHOICES
};
enum { TUNE_POINTS = 96, TUNE_DEFAULT = -1 };

struct tune_point {
    size_t bytes;
    double us[TUNE_CHOICES]; /* 0: cannot run, or was not measured */
    int standard;            /* algorithm that the defaults take; TUNE_DEFAULT: not known */
    int choice;              /* TUNE_DEFAULT: no rule */
    enum tune_verdict verdict;
    double standard_us, tuned_us, ratio; /* of the proof */
};
/* A collective, or messages: points by size. whole: 1 if the last one speaks for all larger sizes too. */
struct tune_curve {
    struct tune_point point[TUNE_POINTS];
    int n, whole;
};

/* The point of this size, in its place among the others; NULL if there is no room. */
struct tune_point *tune_point_add(struct tune_curve *curve, size_t bytes);
/* Chooses for every point. Costs are the logarithms of the times, and leaving the neighbour's algorithm costs as much
 * as being slower by `win` (0.03) does: the cheapest way through all points. The first point's neighbour is its
 * default. */
void tune_choose(struct tune_curve *curve, double win);
/* A size between two neighbours that choose differently and lie more than 1.5 times apart; 0 if there is no such
 * pair. */
size_t tune_between(const struct tune_curve *curve);
/* The verdict on n pairs of times, of the default and of the tuned rules in the same round, and the median of the
 * ratios: lost where that is above 1 + win and at least three of four rounds were slower, or where it is above 1 + 4
 * win. Sorts `ratios`. */
enum tune_verdict tune_judge(double *ratios, int n, double win, double *median);
/* "0-12k@ll 12k-*@direct" for the points that have a choice. Ends are midway to the next point. */
void tune_rules(const struct tune_curve *curve, char *out, size_t size);
const char *tune_name(int choice);
/* Number of the algorithm, not of a way, or TUNE_DEFAULT. */
int tune_by_name(const char *name);

#endif
