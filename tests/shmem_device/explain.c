/* Which commands a heap differs by: the model runs again, and bytes that differ are looked at after every command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shmem_device/program.h"

enum { BYTES = 64, LINES = 8 };

struct look {
    size_t byte;
    unsigned char value, wrong; /* value: now, in the model; wrong: what the heap has */
    int by_pe, by_index;        /* the last command that changed it; -1: none */
    int was_pe, was_index;      /* the last one past which it had the value that the heap has */
};

/* Beginnings of what differs. */
static int find(struct look *looks, const unsigned char *is, const unsigned char *should, const unsigned char *before)
{
    int found = 0;
    for (size_t i = offsetof(struct program_heap, source); i < sizeof(struct program_heap) && found < BYTES; i++) {
        if (is[i] != should[i] && is[i - 1] == should[i - 1])
            looks[found++] = (struct look){i, before[i], is[i], -1, -1, -1, before[i] == is[i] ? -1 : -2};
    }
    return found;
}

static int collective(const struct program *program, int pe, int index)
{
    return program->list[pe][index].call >= CALL_BARRIER;
}

/* Runs command `index` of that PE alone; a collective is run once, as its first PE's. */
static void step(const struct program *program, struct program_heap *heaps[], int pe, int index)
{
    static struct command none;
    struct program one = *program;
    const int together = collective(program, pe, index);
    one.count = 1;
    for (int p = 0; p < program->pes; p++) {
        if (together && p < pe && collective(program, p, index))
            return;
        one.list[p] = p == pe || (together && collective(program, p, index)) ? &program->list[p][index] : &none;
    }
    program_model(&one, heaps);
}

static void say(const struct program *program, int pe, const struct look *look, const unsigned char *is,
                const unsigned char *should)
{
    const size_t i = look->byte;
    size_t wrong = 0;
    for (size_t k = i; k < sizeof(struct program_heap) && is[k] != should[k]; k++)
        wrong++;
    fprintf(stderr, "PE %d, %zu bytes from %zu on: %02x instead of %02x", pe, wrong, i, is[i], should[i]);
    if (look->was_index == -1)
        fprintf(stderr, ", as in the beginning");
    else if (look->was_index >= 0)
        fprintf(stderr, ", as after command %d of PE %d", look->was_index, look->was_pe);
    if (look->by_index < 0) {
        fprintf(stderr, "; no command changes it\n");
        return;
    }
    const struct command *const c = &program->list[look->by_pe][look->by_index];
    fprintf(stderr,
            "; last changed by command %d of PE %d: call %d form %d row %d type %d op %d extra %d team %d pe %d n %llu "
            "of %llu "
            "bytes, block %llu dst %lld sst %lld dest %llu source %llu\n",
            look->by_index, look->by_pe, c->call, c->form, c->row, c->type, c->op, c->extra, c->team, c->pe,
            (unsigned long long)c->n, (unsigned long long)c->bytes, (unsigned long long)c->block, (long long)c->dst,
            (long long)c->sst, (unsigned long long)c->dest, (unsigned long long)c->source);
}

void program_explain(const struct program *program, int pe, const struct program_heap *is,
                     const struct program_heap *should)
{
    struct program_heap *heaps[PROGRAM_PES];
    struct look looks[BYTES];
    int said_index[LINES], said_pe[LINES], lines = 0;
    for (int p = 0; p < program->pes; p++) {
        heaps[p] = malloc(sizeof *heaps[p]);
        program_fill(heaps[p], program, p);
    }
    const unsigned char *const now = (const unsigned char *)heaps[pe];
    const int count = find(looks, (const unsigned char *)is, (const unsigned char *)should, now);
    for (int index = 0; index < program->count; index++) {
        for (int p = 0; p < program->pes; p++) {
            step(program, heaps, p, index);
            for (int k = 0; k < count; k++) {
                struct look *const look = &looks[k];
                if (now[look->byte] == look->value)
                    continue;
                look->value = now[look->byte];
                look->by_pe = p;
                look->by_index = index;
                if (look->value == look->wrong) {
                    look->was_pe = p;
                    look->was_index = index;
                }
            }
        }
    }
    for (int k = 0; k < count && lines < LINES; k++) { /* a line for each command */
        int said = 0;
        for (int l = 0; l < lines; l++)
            said |= said_index[l] == looks[k].by_index && said_pe[l] == looks[k].by_pe;
        if (said)
            continue;
        said_index[lines] = looks[k].by_index;
        said_pe[lines++] = looks[k].by_pe;
        say(program, pe, &looks[k], (const unsigned char *)is, (const unsigned char *)should);
    }
    for (int p = 0; p < program->pes; p++)
        free(heaps[p]);
}
