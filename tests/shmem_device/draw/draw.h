/* What rounds of programs are drawn with: known in this folder alone. */
#ifndef TUTTI_TESTS_SHMEM_DRAW_H
#define TUTTI_TESTS_SHMEM_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include "tutti/shmem.h"

#include "shmem_device/program.h"
#include "support/random.h"

#define AT(member) offsetof(struct program_heap, member)

struct draw {
    struct program *program;
    uint64_t random;
    const struct program_kind *kind;
    int row_count;                              /* of kind->rows */
    uint64_t signals[PROGRAM_PES][PROGRAM_PES]; /* [owner][writer] as the model has it */
};

static inline uint64_t below(struct draw *d, uint64_t n)
{
    return random_next(&d->random) % n;
}

/* The next index: a command for each PE, that does nothing yet. */
static inline struct command *next(struct draw *d, int pe)
{
    struct command *const c = &d->program->list[pe][d->program->count];
    c->row = ROW_NONE;
    c->block = 1;
    c->dst = c->sst = 1;
    return c;
}

static inline void index_ends(struct draw *d)
{
    d->program->count++;
}

static inline int room(const struct draw *d, int indices)
{
    return d->program->count + indices < PROGRAM_LIST;
}

static inline void gives_back(const struct draw *d, struct command *c)
{
    c->result = AT(results) + 8u * (uint64_t)d->program->count;
}

static inline int draw_form(struct draw *d)
{
    int form = (int)below(d, FORMS);
    while (!(d->kind->forms >> form & 1))
        form = (form + 1) % FORMS;
    return form;
}

/* A row of one of these families that has typed names here, ROW_NONE: none was drawn. */
static inline int draw_row(struct draw *d, int families)
{
    for (int tries = 0; d->row_count > 0 && tries < 20; tries++) {
        const int row = d->kind->rows[below(d, (uint64_t)d->row_count)];
        if (families == 0 || (program_families(row) & families) != 0)
            return row;
    }
    return ROW_NONE;
}

/* The elements of a command: of a row, or untyped of any size. */
static inline void draw_elements(struct draw *d, struct command *c, int families)
{
    c->row = below(d, 4) ? draw_row(d, families) : ROW_NONE;
    c->type = c->row != ROW_NONE ? program_rows[c->row].type : TSHMEM_UINT8;
    c->bytes = c->row != ROW_NONE ? program_rows[c->row].bytes : UINT64_C(1) << below(d, 5);
}

static inline uint64_t draw_count(struct draw *d, uint64_t most)
{
    const uint64_t kind = below(d, 8), few = kind == 0 ? below(d, 3) : kind < 5 ? below(d, 40) : below(d, most + 1);
    return few < most ? few : most;
}

/* An offset in a part of `bytes` bytes where `length` bytes have room, aligned to `unit`. */
static inline uint64_t draw_offset(struct draw *d, uint64_t bytes, uint64_t length, uint64_t unit)
{
    return below(d, (bytes - length) / unit + 1) * unit;
}

/* draw.c: all PEs meet. */
void draw_barrier(struct draw *d);
/* collectives.c: one collective behind the other, those of whole grids among them; questions to teams and contexts. */
void draw_round_of_collectives(struct draw *d);
void draw_round_of_questions(struct draw *d);

#endif
