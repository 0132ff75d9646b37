/* Draws programs: rounds, each of one kind, with barriers between. */
#include <stdlib.h>
#include <string.h>

#include "shmem_device/draw/draw.h"

enum { ZEROS = PROGRAM_ZEROS, NUMBERS = PROGRAM_NUMBERS, SOURCE = NUMBERS };

void program_draw_barrier(struct draw *d)
{
    const int kind = (int)below(d, 3), extra = (int)below(d, 2), form = draw_form(d);
    for (int pe = 0; pe < d->program->pes; pe++) {
        struct command *const c = next(d, pe);
        c->call = kind == 0 ? CALL_BARRIER : kind == 1 ? CALL_SYNC : CALL_BARRIER_ALL;
        c->extra = extra;
        c->form = below(d, 4) ? form : draw_form(d);
        if (kind < 2)
            gives_back(d, c);
    }
    index_ends(d);
}

static void settle(struct draw *d)
{
    for (int pe = 0; pe < d->program->pes; pe++) {
        struct command *const c = next(d, pe);
        c->call = CALL_FENCE + (int)below(d, 3);
        c->form = draw_form(d);
        c->pe = (int)below(d, (uint64_t)d->program->pes);
    }
    index_ends(d);
    program_draw_barrier(d);
}

/* One put or get: what is put lies in `source`, and goes into this PE's zone; what is gotten comes from there. */
static void draw_move(struct draw *d, int pe, struct command *c)
{
    static const int calls[] = {CALL_PUT,  CALL_GET,   CALL_PUT_NBI, CALL_GET_NBI,   CALL_IPUT,
                                CALL_IGET, CALL_IBPUT, CALL_IBGET,   CALL_PUT_SIZED, CALL_GET_SIZED,
                                CALL_P,    CALL_G,     CALL_STORE};
    c->call = calls[below(d, sizeof calls / sizeof *calls)];
    c->pe = (int)below(d, (uint64_t)d->program->pes);
    c->form = draw_form(d);
    draw_elements(d, c, FAMILY_RMA);
    const int gets = c->call == CALL_GET || c->call == CALL_GET_NBI || c->call == CALL_IGET || c->call == CALL_IBGET ||
                     c->call == CALL_GET_SIZED || c->call == CALL_G;
    const int strided = c->call == CALL_IPUT || c->call == CALL_IGET || c->call == CALL_IBPUT || c->call == CALL_IBGET;
    const uint64_t part = gets ? PROGRAM_PART : PROGRAM_ZONE;
    uint64_t unit = c->bytes;
    if (c->call == CALL_PUT_SIZED || c->call == CALL_GET_SIZED || c->call == CALL_STORE) {
        c->row = ROW_NONE;
        c->form = c->call == CALL_STORE ? FORM_THREAD : c->form;
    } else if (c->row == ROW_NONE && !strided && c->call != CALL_P && c->call != CALL_G) {
        unit = 1; /* bytes of any alignment */
    }
    if (c->call == CALL_P || c->call == CALL_G) {
        c->form = FORM_THREAD;
        c->n = 1;
        if (c->type == TSHMEM_ID_LONGDOUBLE) /* its last bytes are anything when it is handed over as a value */
            c->row = ROW_NONE;
    } else if (strided) {
        c->block = c->call == CALL_IBPUT || c->call == CALL_IBGET ? 1 + below(d, below(d, 2) ? 80 : 6) : 1;
        c->dst = (int64_t)(c->block + below(d, 4));
        c->sst = (int64_t)(c->block + below(d, 4));
        c->n = draw_count(d, part / c->bytes / (c->block + 4));
    } else {
        c->n = draw_count(d, (part - 16) / c->bytes);
    }
    const uint64_t reach = strided ? (c->n * (c->block + 4)) * c->bytes : c->n * c->bytes;
    const uint64_t zone = AT(zones) + (uint64_t)pe * PROGRAM_ZONE;
    c->dest = (gets ? AT(gotten) : zone) + draw_offset(d, part, reach < part ? reach : part, unit);
    c->source = AT(source) + draw_offset(d, SOURCE, reach < SOURCE ? reach : SOURCE, unit);
}

static void round_of_moves(struct draw *d)
{
    for (int i = 0, n = 1 + (int)below(d, 8); i < n; i++) {
        for (int pe = 0; pe < d->program->pes; pe++)
            draw_move(d, pe, next(d, pe));
        index_ends(d);
    }
    settle(d);
}

/* Each PE puts to another with a signal, waits for that of a third, and reads what came with it. */
static void round_of_signals(struct draw *d)
{
    const int pes = d->program->pes, shift = (int)below(d, (uint64_t)pes);
    for (int pe = 0; pe < pes; pe++) {
        struct command *const c = next(d, pe);
        const int to = (pe + shift) % pes;
        draw_elements(d, c, FAMILY_RMA);
        c->call = below(d, 2) ? CALL_PUT_SIGNAL : CALL_PUT_SIGNAL_NBI;
        c->form = draw_form(d);
        c->pe = to;
        c->n = draw_count(d, (PROGRAM_ZONE - 16) / c->bytes);
        const uint64_t unit = c->row == ROW_NONE ? 1 : c->bytes;
        c->source = AT(source) + draw_offset(d, SOURCE, c->n * c->bytes, unit);
        c->dest = AT(zones) + (uint64_t)pe * PROGRAM_ZONE + draw_offset(d, PROGRAM_ZONE, c->n * c->bytes, unit);
        if (below(d, 4) == 0) { /* the signal alone */
            c->call = below(d, 2) ? CALL_SIGNAL_SET : CALL_SIGNAL_ADD;
            c->form = FORM_THREAD;
            c->row = ROW_NONE;
        }
        c->op = c->call == CALL_SIGNAL_SET   ? TSHMEM_SIGNAL_SET
                : c->call == CALL_SIGNAL_ADD ? TSHMEM_SIGNAL_ADD
                : below(d, 2)                ? TSHMEM_SIGNAL_SET
                                             : TSHMEM_SIGNAL_ADD;
        c->value = c->op == TSHMEM_SIGNAL_ADD ? 1 + below(d, 9) : d->signals[to][pe] + 1 + below(d, 9);
        d->signals[to][pe] = c->op == TSHMEM_SIGNAL_ADD ? d->signals[to][pe] + c->value : c->value;
        c->signal = AT(signals) + (uint64_t)pe * sizeof(uint64_t[2]);
    }
    index_ends(d);
    for (int step = 0; step < 3; step++) { /* wait, look at the signal, at the data */
        for (int pe = 0; pe < pes; pe++) {
            struct command *const c = next(d, pe);
            const int from = (pe - shift + pes) % pes;
            c->call = step == 0 ? CALL_SIGNAL_WAIT : step == 1 ? CALL_SIGNAL_FETCH : CALL_GET;
            c->form = step == 1 ? FORM_THREAD : draw_form(d);
            c->pe = pe;
            c->signal = AT(signals) + (uint64_t)from * sizeof(uint64_t[2]);
            c->op = below(d, 2) ? TSHMEM_CMP_EQ : TSHMEM_CMP_GE;
            c->value = d->signals[pe][from];
            c->n = PROGRAM_ZONE;
            c->bytes = 1;
            c->source = AT(zones) + (uint64_t)from * PROGRAM_ZONE;
            c->dest = AT(gotten) + (uint64_t)from * PROGRAM_ZONE;
            if (step < 2)
                gives_back(d, c);
        }
        index_ends(d);
    }
    program_draw_barrier(d);
}

/* Each PE clears words of its own, which another one stores numbers into while this one waits for them, or, past a
 * barrier, tests them. */
static void round_of_waits(struct draw *d)
{
    const int pes = d->program->pes, shift = (int)below(d, (uint64_t)pes), which = (int)below(d, 3);
    const int test = below(d, 2) ? TSHMEM_WAIT_TEST : 0, vector = below(d, 2) ? TSHMEM_WAIT_VECTOR : 0;
    const int row = draw_row(d, FAMILY_WAIT), type = row != ROW_NONE ? program_rows[row].type : (int)below(d, 8);
    const uint64_t bytes = UINT64_C(1) << type / 2, n = 1 + below(d, PROGRAM_WORDS), value = 1 + below(d, 100);
    const uint64_t every = (UINT64_C(1) << n) - 1, one = below(d, n);
    const uint64_t mask = below(d, 3) ? 0 : random_next(&d->random) & every & ~(UINT64_C(1) << one);
    for (int pe = 0; pe < pes; pe++) {
        struct command *const c = next(d, pe);
        c->call = CALL_PUT;
        c->form = draw_form(d);
        c->pe = pe;
        c->n = 64;
        c->bytes = 1;
        c->source = AT(source) + ZEROS;
        c->dest = AT(waited) + (uint64_t)((pe - shift + pes) % pes) * sizeof(uint64_t[PROGRAM_WORDS]);
    }
    index_ends(d);
    settle(d);
    for (uint64_t i = 0; i < n; i++) {
        const int stored = test ? below(d, 3) != 0 : which == TSHMEM_WAIT_ALL ? !(mask >> i & 1) : i == one;
        for (int pe = 0; pe < pes && stored; pe++) {
            struct command *const c = next(d, pe);
            const uint64_t what = test && below(d, 2) ? below(d, 256) : value + (vector ? i : 0);
            c->call = CALL_P;
            c->pe = (pe + shift) % pes;
            c->n = 1;
            c->bytes = bytes;
            c->source = AT(source) + NUMBERS + 8 * what;
            c->dest = AT(waited) + (uint64_t)pe * sizeof(uint64_t[PROGRAM_WORDS]) + i * bytes;
        }
        index_ends(d);
    }
    if (test)
        settle(d);
    for (int pe = 0; pe < pes; pe++) {
        struct command *const c = next(d, pe);
        const int choice = (int)below(d, 3);
        c->call = CALL_WAIT;
        c->form = draw_form(d);
        c->row = row;
        c->type = type;
        c->op = which | test | vector;
        c->n = n;
        c->mask = mask;
        c->dest = AT(waited) + (uint64_t)((pe - shift + pes) % pes) * sizeof(uint64_t[PROGRAM_WORDS]);
        c->value = test && below(d, 2) ? value - below(d, 120) : value;
        c->extra = test ? (int)below(d, TSHMEM_COMPARISON_COUNT) : choice == 0 ? TSHMEM_CMP_EQ : TSHMEM_CMP_GE;
        if (!test && !vector && choice == 2) {
            c->extra = TSHMEM_CMP_NE;
            c->value = 0;
        }
        gives_back(d, c);
    }
    index_ends(d);
    program_draw_barrier(d);
}

static void round_of_atomics(struct draw *d)
{
    static const int sums[] = {TSHMEM_AMO_ADD, TSHMEM_AMO_ADD, TSHMEM_AMO_AND, TSHMEM_AMO_OR, TSHMEM_AMO_XOR};
    const int pes = d->program->pes;
    int op_of[48], row_of[48];
    for (int i = 0; i < 48; i++) { /* what all PEs do to a counter in this round, in any order */
        op_of[i] = sums[below(d, 5)];
        row_of[i] = draw_row(d, op_of[i] == TSHMEM_AMO_ADD ? FAMILY_AMO : FAMILY_BITWISE);
    }
    for (int i = 0, n = 1 + (int)below(d, 12); i < n; i++) {
        for (int pe = 0; pe < pes; pe++) {
            struct command *const c = next(d, pe);
            const int shared = below(d, 2) != 0, floating = below(d, 4) == 0, at = (int)below(d, 48);
            c->call = CALL_AMO;
            c->pe = (int)below(d, (uint64_t)pes);
            c->extra = (int)below(d, 3);
            c->value = below(d, 4) ? below(d, 4) : random_next(&d->random);
            c->compare = below(d, 4);
            c->n = 1;
            if (floating) { /* small whole numbers, whose sums are exact in any order */
                const float f = (float)below(d, 100);
                const double e = (double)f;
                const int wide = (int)below(d, 2);
                c->row = draw_row(d, FAMILY_AMO_FLOATING);
                c->bytes = c->row != ROW_NONE ? program_rows[c->row].bytes : wide ? 8 : 4;
                memcpy(&c->value, c->bytes == 8 ? (const void *)&e : (const void *)&f, c->bytes);
                c->op = shared ? TSHMEM_AMO_ADD_FLOAT
                               : (const int[]){TSHMEM_AMO_ADD_FLOAT, TSHMEM_AMO_FETCH, TSHMEM_AMO_SET,
                                               TSHMEM_AMO_SWAP}[below(d, 4)];
                c->dest = shared ? AT(counters) + 8u * (c->bytes == 8 ? 48 + below(d, 8) : 56 + below(d, 8))
                                 : AT(words) + (uint64_t)pe * 64 + (c->bytes == 8 ? 48 : 56);
            } else {
                c->op = shared ? op_of[at] : (int)below(d, TSHMEM_AMO_ADD_FLOAT);
                const int bits = c->op >= TSHMEM_AMO_AND;
                c->row = shared ? row_of[at] : draw_row(d, bits ? FAMILY_BITWISE : FAMILY_AMO);
                c->bytes = c->row != ROW_NONE ? program_rows[c->row].bytes : shared || below(d, 2) ? 8 : 4;
                c->dest = shared ? AT(counters) + 8u * (uint64_t)at : AT(words) + (uint64_t)pe * 64 + 8 * below(d, 6);
                if (c->op == TSHMEM_AMO_ADD && below(d, 3) == 0) {
                    c->extra += 3;
                    c->value = 1;
                }
            }
            if (c->op < TSHMEM_AMO_ADD && c->extra == 1)
                c->extra = 2; /* they have no form that gives nothing back */
            if (!shared)
                gives_back(d, c);
        }
        index_ends(d);
    }
    settle(d);
}

static void round_of_questions(struct draw *d)
{
    for (int pe = 0; pe < d->program->pes; pe++) {
        struct command *const c = next(d, pe);
        c->call = CALL_TEAM;
        c->team = (int)below(d, PROGRAM_TEAMS);
        c->op = (int)below(d, PROGRAM_TEAMS);
        c->pe = (int)below(d, PROGRAM_PES);
        gives_back(d, c);
    }
    index_ends(d);
}

void program_draw(struct program *program, int pes, uint64_t seed, const struct program_kind *kind)
{
    struct draw d = {.program = program, .random = random_mix(seed), .kind = kind};
    static void (*const rounds[])(struct draw *) = {
        round_of_moves,           round_of_signals,         round_of_waits,    round_of_atomics,
        program_draw_collectives, program_draw_collectives, round_of_questions};
    while (kind->rows && kind->rows[d.row_count] >= 0)
        d.row_count++;
    memset(program, 0, sizeof *program);
    program->pes = pes;
    program->seed = seed;
    for (int pe = 0; pe < pes; pe++)
        program->list[pe] = calloc(PROGRAM_LIST, sizeof **program->list);
    for (int i = 0, n = 5 + (int)below(&d, 60); i < n && room(&d, 64); i++)
        rounds[below(&d, sizeof rounds / sizeof *rounds)](&d);
    program_draw_barrier(&d);
}

void program_free(struct program *program)
{
    for (int pe = 0; pe < program->pes; pe++)
        free(program->list[pe]);
    memset(program, 0, sizeof *program);
}
