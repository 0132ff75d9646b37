/* Random programs of messages, copies and combinations over the buffers of some ranks, and their plain execution. */
#ifndef TUTTI_TESTS_SCHED_PROGRAM_H
#define TUTTI_TESTS_SCHED_PROGRAM_H

#include <stdint.h>

enum { RANKS = 4, OPS = 24, BUFFERS = 5, WORDS = 700, TAGS = 3 };
enum kind { MESSAGE, COPY, COMBINE, KINDS };

/* Of a program, which all ranks draw alike. MESSAGE: buffer x of rank `rank` to y of `to`. COPY: x to y. COMBINE: y =
 * sum of `inputs`. */
struct op {
    enum kind kind;
    int rank, to, x, y, tag, synchronous, inputs[3], n;
};
struct program {
    int ranks, n, words;
    struct op op[OPS];
};
typedef int64_t memory[BUFFERS][WORDS];

void program_draw(struct program *p, int ranks, uint64_t *at);
/* What the buffers of a rank hold at first. */
void program_fill(memory at, uint64_t seed, int rank);
/* In order; all[r]: of rank r. */
void program_execute(const struct program *p, memory *all);
/* Buffers that an operation reads (1) and writes (2) on a rank. */
void program_touch(const struct op *op, int rank, int touched[BUFFERS]);

#endif
