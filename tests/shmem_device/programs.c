/* Random programs by threads as PEs, every typed name in every form: TUTTI_TEST_ROUNDS of them; by loads and stores, by
 * the ring alone, by it from some size on, and with PEs of other nodes (TUTTI_TEST_RING: 0 to 3, one of these alone).
 * TUTTI_TEST_PES: at most so many PEs (8), since few wait seldom; thousands of programs of two PEs take minutes. */
#include "shmem_device/pes_ring.h"

static void delay(void);
#define TUTTI_DEV_DELAY delay
#include "tutti/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/random.h"

#define TEST_FN           static __attribute__((unused))
#define LIST_RMA          TSHMEM_RMA
#define LIST_ARITH        TSHMEM_ARITH
#define LIST_BITS         TSHMEM_BITS
#define LIST_WAIT         TSHMEM_WAIT
#define LIST_AMO          TSHMEM_AMO
#define LIST_AMO_FLOATING TSHMEM_AMO_FLOATING
#define LIST_BITWISE      TSHMEM_BITWISE
#include "shmem_device/interpret.inc"

struct run {
    const struct program *program;
    struct pes *pes;
    enum pes_ring_how how;
};

/* Now and then, between commands and within packets, the other PEs go on. */
static _Thread_local uint64_t delays;

static void delay(void)
{
    const uint64_t draw = random_next(&delays);
    for (uint64_t turns = draw % 64 == 0 ? 1 + draw / 64 % 4 : 0; turns > 0; turns--)
        tutti_dev_pause();
}

/* What goes by the ring and what does not have no order, and programs want one. Collectives order what is theirs. */
static int wants_fence(enum pes_ring_how how, const struct command *command)
{
    return how == PES_RING_CUT || (how == PES_RING_FORCED && command->call == CALL_STORE) ||
           (how == PES_RING_NODES && command->call < CALL_BARRIER);
}

/* Past a collective its source is the program's: something else lies there for a while. */
static void use_source(struct program_heap *heap)
{
    static _Thread_local char kept[PROGRAM_PART];
    memcpy(kept, heap->in, sizeof kept);
    memset(heap->in, 0xb7, sizeof kept);
    for (int i = 0; i < 40; i++)
        delay();
    memcpy(heap->in, kept, sizeof kept);
}

static void body(int pe, void *context)
{
    const struct run *const run = context;
    delays = random_mix(run->program->seed * PROGRAM_PES + (uint64_t)pe);
    for (int i = 0; i < run->program->count; i++) {
        const struct command *const command = &run->program->list[pe][i];
        delay();
        if (wants_fence(run->how, command))
            tshmem_fence();
        if (command->call == CALL_GRID)
            interpret_grid(command, (char *)run->pes->heap[pe]);
        else
            interpret(command, (char *)run->pes->heap[pe]);
        if (command->call >= CALL_BROADCAST)
            use_source(run->pes->heap[pe]);
    }
}

static void one(uint64_t seed, int count, const int *rows)
{
    static struct pes pes;
    struct program program;
    struct program_heap *model[PROGRAM_PES];
    const struct program_kind kind = {rows, (int)(seed % 2), 15, 1, 1, 1};
    program_draw(&program, count, seed, &kind);
    pes_open(&pes, count, 60000);
    for (int pe = 0; pe < count; pe++) {
        program_fill(pes.heap[pe], &program, pe);
        model[pe] = malloc(sizeof **model);
        memcpy(model[pe], pes.heap[pe], sizeof **model);
    }
    const long one_how = check_setting("TUTTI_TEST_RING", -1);
    const enum pes_ring_how how = (enum pes_ring_how)(one_how < 0 ? seed / 2 % PES_RING_FAR : (uint64_t)one_how);
    struct run run = {&program, &pes, how};
    pes_serve(&pes, how, UINT64_C(16) << seed % 5, seed / 8);
    pes_run(&pes, body, &run);
    pes_serve_end(&pes, 0);
    program_model(&program, model);
    for (int pe = 0; pe < count; pe++) {
        char text[512] = "";
        const int differs = program_differs(&program, pe, pes.heap[pe], model[pe], text, sizeof text);
        CHECK(!differs, "%s", text);
        if (differs)
            fprintf(stderr, "ring: %d\n", how), program_explain(&program, pe, pes.heap[pe], model[pe]);
        CHECK(pes.abort[pe] == 0, "seed %llu: PE %d has aborted", (unsigned long long)seed, pe);
        free(model[pe]);
    }
    pes_close(&pes);
    program_free(&program);
}

int main(void)
{
    const uint64_t seed = check_seed();
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 80), asked = check_setting("TUTTI_TEST_PES", PROGRAM_PES);
    const uint64_t most = asked >= 1 && asked <= PROGRAM_PES ? (uint64_t)asked : PROGRAM_PES;
    int *const rows = malloc(((size_t)program_row_count + 1) * sizeof *rows);
    for (int i = 0; i <= program_row_count; i++)
        rows[i] = i < program_row_count ? i : -1;
    for (long i = 0; i < rounds && check_failed() == 0; i++)
        one(seed + (uint64_t)i, 1 + (int)((seed + (uint64_t)i) % most), rows);
    free(rows);
    printf("%ld programs, %ld checks, %ld failed\n", rounds, check_done(), check_failed());
    return check_failed() != 0;
}
