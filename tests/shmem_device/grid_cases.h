/* Cases of the grid's reductions, and what they must give. Known by C and CUDA. */
#ifndef TUTTI_TESTS_SHMEM_GRID_CASES_H
#define TUTTI_TESTS_SHMEM_GRID_CASES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct grid_case {
    int team, where, type, op, root, strategy, in_place; /* root: a member; -1: all */
    size_t n;                                            /* elements of an operand: of the grid, a block or a thread */
    size_t parts;                                        /* of the vector: how many operands there are on a GPU */
    uint64_t seed;
};

/* Draws one of team 0; members: of the team that it is for. blocks, threads: of a grid. of_thread: elements that a
 * thread has room for. */
void grid_draw(struct grid_case *c, uint64_t *random, int members, size_t blocks, size_t threads, size_t of_thread);
/* The whole vector that PE `pe` brings at call number `again`; what all must get. */
void grid_fill(const struct grid_case *c, int pe, int again, void *vector);
void grid_expect(const struct grid_case *c, int pes, int again, void *vector);

#ifdef __cplusplus
}
#endif

#endif
