/* The heaps of random programs: what lies there before, and how they are compared afterwards. */
#include <stdio.h>
#include <string.h>

#include "shmem_device/program.h"
#include "support/random.h"

#define AT(member) offsetof(struct program_heap, member)

/* Bytes that are numbers of every format somewhere: anything, and around 1 as double, float, half and bfloat16. */
static uint64_t draw_word(uint64_t *random, uint64_t stripe)
{
    static const uint64_t keep[] = {UINT64_MAX, UINT64_C(0x800fffffffffffff), UINT64_C(0x807fffff807fffff),
                                    UINT64_C(0x83ff83ff83ff83ff), UINT64_C(0x807f807f807f807f)};
    static const uint64_t put[] = {0, UINT64_C(0x3ff0000000000000), UINT64_C(0x3f8000003f800000),
                                   UINT64_C(0x3c003c003c003c00), UINT64_C(0x3f803f803f803f80)};
    return (random_next(random) & keep[stripe % 5]) | put[stripe % 5];
}

/* Of most programs: areas of teams that have met before, in one of two not long before the packets' flags come round;
 * in the slots lies what was there when they were as they will be. The same numbers on all PEs. */
static void age(struct program_heap *heap, const struct program *program, uint64_t *random)
{
    const uint64_t kind = random_mix(~program->seed) % 3;
    for (int t = 0; t < PROGRAM_TEAMS && kind != 0; t++) {
        struct tshmem_area *const area = (struct tshmem_area *)(void *)heap->areas[t];
        const uint64_t steps = random_mix(program->seed + 64 * (uint64_t)t) % 40, turn = UINT64_C(1) << 32;
        area->sequence[TSHMEM_BY_DEVICE] = kind == 1 ? turn * (1 + steps % 3) - 33 - steps : 100 + steps;
        for (size_t i = 0; i < sizeof area->packets; i += 8) {
            const uint64_t word = random_next(random), old = 1 + (word >> 32) % 100;
            const uint64_t half = (word & UINT32_MAX) | old << 32;
            memcpy(&area->packets[0][0] + i, &half, 8);
        }
    }
}

void program_fill(struct program_heap *heap, const struct program *program, int pe)
{
    uint64_t random = random_mix(program->seed * 64 + (uint64_t)pe), word = 0;
    char *const bytes = (char *)heap;
    memset(heap, 0, sizeof *heap);
    age(heap, program, &random);
    for (size_t i = AT(work); i < AT(results); i += 8) {
        word = random_next(&random);
        memcpy(bytes + i, &word, 8);
    }
    for (size_t i = 0; i < 2 * (size_t)PROGRAM_PART; i += 8) {
        word = draw_word(&random, i / 512);
        memcpy(bytes + AT(in) + i, &word, 8);
    }
    memset(heap->source + PROGRAM_ZEROS, 0, 64);
    for (uint64_t i = 0; i < 256; i++) {
        word = i < 128 ? i : i - 256;
        memcpy(heap->source + PROGRAM_NUMBERS + 8 * i, &word, 8);
    }
}

int program_differs(const struct program *program, int pe, const struct program_heap *is,
                    const struct program_heap *should, char *text, size_t size)
{
    const unsigned char *const a = (const unsigned char *)is, *const b = (const unsigned char *)should;
    for (size_t i = AT(source); i < sizeof *is; i++) {
        if (a[i] == b[i])
            continue;
        snprintf(text, size,
                 "seed %llu, %d PEs: PE %d has %02x instead of %02x at byte %zu (results from %zu, in %zu, out %zu)",
                 (unsigned long long)program->seed, program->pes, pe, a[i], b[i], i, AT(results), AT(in), AT(out));
        if (i >= AT(results) && i < AT(gotten)) {
            const size_t index = (i - AT(results)) / 8;
            const struct command *const c = &program->list[pe][index];
            snprintf(text, size,
                     "seed %llu, %d PEs: PE %d: result of command %zu: call %d form %d row %d type %d op %d extra %d n "
                     "%llu: "
                     "%llx instead of %llx",
                     (unsigned long long)program->seed, program->pes, pe, index, c->call, c->form, c->row, c->type,
                     c->op, c->extra, (unsigned long long)c->n,
                     *(const unsigned long long *)(const void *)(is->results + index * 8),
                     *(const unsigned long long *)(const void *)(should->results + index * 8));
        }
        return 1;
    }
    return 0;
}

void program_nodes(int *node, int pes, uint64_t seed)
{
    uint64_t random = random_mix(seed + 77);
    const uint64_t all = (uint64_t)pes, nodes = random_next(&random) % 3 == 0 ? all : 1 + random_next(&random) % all;
    for (int pe = 0; pe < pes; pe++)
        node[pe] = nodes == all ? pe : (int)(random_next(&random) % nodes);
}

void program_apart(struct tshmem_state *state, struct tshmem_team_state *teams, const int *node)
{
    for (int p = 0; p < state->pes; p++)
        state->peer[p] = node[p] == node[state->me] ? state->peer[p] : NULL;
    for (int t = 0; t < PROGRAM_TEAMS; t++) {
        for (int i = 0; i < teams[t].size; i++)
            teams[t].far |= !state->peer[teams[t].world[i]];
    }
    state->far = teams[0].far;
}
