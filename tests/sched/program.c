#include "program.h"

#include <string.h>

#include "support/random.h"

void program_draw(struct program *p, int ranks, uint64_t *at)
{
    *p = (struct program){.ranks = ranks, .n = 1 + (int)(random_next(at) % OPS)};
    p->words = 1 + (int)(random_next(at) % (random_next(at) % 4 ? 20 : WORDS));
    for (int i = 0; i < p->n; i++) {
        struct op *op = &p->op[i];
        op->kind = (enum kind)(random_next(at) % KINDS);
        op->rank = (int)(random_next(at) % (uint64_t)ranks);
        op->to = (int)(random_next(at) % (uint64_t)ranks);
        op->x = (int)(random_next(at) % BUFFERS);
        op->y = (int)((uint64_t)op->x + 1 + random_next(at) % (BUFFERS - 1)) % BUFFERS;
        op->tag = (int)(random_next(at) % TAGS);
        op->synchronous = random_next(at) % 3 == 0;
        op->n = 2 + (int)(random_next(at) % 2);
        for (int k = 0; k < 3; k++)
            op->inputs[k] = (int)(random_next(at) % BUFFERS);
    }
}

void program_fill(memory at, uint64_t seed, int rank)
{
    for (int b = 0; b < BUFFERS; b++) {
        for (int i = 0; i < WORDS; i++)
            at[b][i] = (int64_t)random_mix(seed + (uint64_t)(rank * BUFFERS + b) * WORDS + (uint64_t)i);
    }
}

static void program_add(int64_t *to, const int64_t *from, int words)
{
    for (int i = 0; i < words; i++)
        to[i] = (int64_t)((uint64_t)to[i] + (uint64_t)from[i]);
}

void program_execute(const struct program *p, memory *all)
{
    const size_t bytes = (size_t)p->words * 8;
    for (int i = 0; i < p->n; i++) {
        const struct op *op = &p->op[i];
        int64_t sum[WORDS] = {0};
        switch (op->kind) {
        case MESSAGE:
            memcpy(all[op->to][op->y], all[op->rank][op->x], bytes);
            break;
        case COPY:
            memcpy(all[op->rank][op->y], all[op->rank][op->x], bytes);
            break;
        case COMBINE:
            for (int k = 0; k < op->n; k++)
                program_add(sum, all[op->rank][op->inputs[k]], p->words);
            memcpy(all[op->rank][op->y], sum, bytes);
            break;
        case KINDS:
            break;
        }
    }
}

void program_touch(const struct op *op, int rank, int touched[BUFFERS])
{
    memset(touched, 0, BUFFERS * sizeof *touched);
    if ((op->kind == MESSAGE && rank == op->rank) || op->kind == COPY)
        touched[op->x] |= 1;
    for (int k = 0; op->kind == COMBINE && k < op->n; k++)
        touched[op->inputs[k]] |= 1;
    if (op->kind != MESSAGE || rank == op->to)
        touched[op->y] |= 2;
}
