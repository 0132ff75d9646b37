#include "shmem_device/grid_cases.h"

#include <string.h>

#include "tutti/shmem.h"

#include "core/types.h"
#include "shmem_device/program.h"
#include "support/oracle.h"
#include "support/random.h"

/* As in tutti/device/grid.h, which CUDA alone and kernels include. */
enum { GLOBAL, SHARED, REGISTERS, PLACES };
enum { TREE = 5 };

static const int operators[] = {TUTTI_OP_BAND, TUTTI_OP_BOR, TUTTI_OP_BXOR, TUTTI_OP_MAX,
                                TUTTI_OP_MIN,  TUTTI_OP_SUM, TUTTI_OP_PROD};

static size_t bytes_of(const struct grid_case *c)
{
    return oracle_size(c->type);
}

void grid_draw(struct grid_case *c, uint64_t *random, int members, size_t blocks, size_t threads, size_t of_thread)
{
    memset(c, 0, sizeof *c);
    c->seed = random_next(random);
    c->type = (int)(random_next(random) % TSHMEM_ID_LONGDOUBLE);
    c->strategy = (int)(random_next(random) % (TREE + 1));
    c->where = (int)(random_next(random) % PLACES);
    c->in_place = (int)(random_next(random) % 2);
    c->root = random_next(random) % 2 ? -1 : (int)(random_next(random) % (uint64_t)members);
    c->op = c->type >= TSHMEM_ID_COMPLEXF ? TSHMEM_OP_SUM + (int)(random_next(random) % 2)
            : c->type >= TSHMEM_ID_HALF   ? TSHMEM_OP_MAX + (int)(random_next(random) % 4)
                                          : (int)(random_next(random) % TSHMEM_OPS);
    c->parts = c->where == GLOBAL ? 1 : c->where == SHARED ? blocks : blocks * threads;
    const size_t most = PROGRAM_PART / (2 * ((size_t)members + 1)) / bytes_of(c) / c->parts;
    const size_t limit = most < 2 ? 0 : most - 16 / bytes_of(c) / c->parts - 1;
    const size_t few = random_next(random) % 2 ? limit : limit < 20 ? limit : 20;
    c->n = random_next(random) % (few + 1);
    if (c->where == REGISTERS && few > of_thread)
        c->n = random_next(random) % (of_thread + 1);
}

void grid_fill(const struct grid_case *c, int pe, int again, void *vector)
{
    const struct oracle_case what = {
        .type = c->type, .op = operators[c->op], .mode = ORACLE_HARD, .seed = c->seed + (uint64_t)again};
    oracle_fill(vector, &what, pe, 0, c->n * c->parts);
}

/* What the tree gives to member `first`, which takes over what `width` members hold: the halves' results are two
 * contributions. */
static void tree(const struct grid_case *c, int pes, int again, int first, int width, void *vector)
{
    static char stack[8][PROGRAM_PART];
    static int depth;
    const struct oracle_case what = {.type = c->type, .op = operators[c->op]};
    if (width == 1) {
        grid_fill(c, program_world(pes, c->team, first), again, vector);
        return;
    }
    tree(c, pes, again, first, width / 2, vector);
    if (first + width / 2 >= program_size(pes, c->team))
        return;
    char *const other = stack[depth++];
    tree(c, pes, again, first + width / 2, width / 2, other);
    const void *const both[] = {vector, other};
    oracle_reduce(vector, &what, 2, both, c->n * c->parts);
    depth--;
}

void grid_expect(const struct grid_case *c, int pes, int again, void *vector)
{
    static char contributions[PROGRAM_PES][PROGRAM_PART];
    const struct oracle_case what = {.type = c->type, .op = operators[c->op]};
    const int members = program_size(pes, c->team);
    const void *in[PROGRAM_PES];
    if (c->strategy == TREE) {
        tree(c, pes, again, 0, PROGRAM_PES, vector);
        return;
    }
    for (int i = 0; i < members; i++) {
        grid_fill(c, program_world(pes, c->team, i), again, contributions[i]);
        in[i] = contributions[i];
    }
    oracle_reduce(vector, &what, members, in, c->n * c->parts);
}
