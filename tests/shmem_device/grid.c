/* The grid's family on the host device, where a grid is one thread: every strategy, kind of operand, type and operation
 * against the oracle; the tree against one of its own. Calls of any length follow each other without a wait between, in
 * teams within a node, and with members of other nodes, whose wire does things late and in any order. */
#include "shmem_device/pes_ring.h"

static void delay(void);
#define TUTTI_DEV_DELAY delay
#include "tutti/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shmem_device/grid_cases.h"
#include "support/check.h"
#include "support/random.h"

enum { GRID_CALLS = 12, UNTOUCHED = 0x6d };

struct run {
    struct pes *pes;
    int size; /* members of the team */
    struct grid_case call[GRID_CALLS];
    char *should[GRID_CALLS];
    int status[PROGRAM_PES];
    int wrong[PROGRAM_PES], left[PROGRAM_PES]; /* the first call that gave something wrong, or left a request, plus 1 */
};

static _Thread_local uint64_t delays;

/* Now and then the other PEs go on. */
static void delay(void)
{
    const uint64_t draw = random_next(&delays);
    for (uint64_t turns = draw % 64 == 0 ? 1 + draw / 64 % 4 : 0; turns > 0; turns--)
        tutti_dev_pause();
}

static int all_are(const char *bytes, size_t n, int value)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != (char)value)
            return 0;
    }
    return 1;
}

/* Operands that are not global lie outside the heap. 1: what it gives is right. */
static int one_call(struct run *run, int pe, int i)
{
    static _Thread_local char mine[PROGRAM_PART], result[PROGRAM_PART];
    const struct grid_case *const c = &run->call[i];
    struct program_heap *const heap = run->pes->heap[pe];
    const struct tutti_grid_work work = {heap->in, sizeof heap->in};
    const size_t bytes = c->n * tutti_dev_type_size(c->type);
    char *const source = c->where == TUTTI_GRID_GLOBAL ? heap->source : mine;
    char *const dest = c->in_place ? source : c->where == TUTTI_GRID_GLOBAL ? heap->out : result;
    const int wanted = c->root < 0 || program_world(run->pes->count, c->team, c->root) == pe;
    grid_fill(c, pe, i, source);
    if (!c->in_place)
        memset(dest, UNTOUCHED, bytes);
    for (int k = 0; k < 20; k++)
        delay();
    run->status[pe] |=
        c->root < 0
            ? tutti_grid_allreduce(c->team, c->where, dest, source, c->n, c->type, c->op, c->strategy, &work)
            : tutti_grid_reduce(c->team, c->where, dest, source, c->n, c->type, c->op, c->root, c->strategy, &work);
    const int right = wanted        ? memcmp(dest, run->should[i], bytes) == 0
                      : c->in_place ? 1
                                    : all_are(dest, bytes, UNTOUCHED);
    memset(source, 0x35, bytes); /* it is the program's again */
    return right;
}

static void body(int pe, void *context)
{
    struct run *const run = context;
    const struct tshmem_ring_state *const ring = &run->pes->state[pe].ring;
    delays = random_mix(run->call[0].seed + (uint64_t)pe);
    if (program_member(run->pes->count, run->call[0].team, pe) < 0)
        return;
    for (int i = 0; i < GRID_CALLS; i++) {
        if (!one_call(run, pe, i) && !run->wrong[pe])
            run->wrong[pe] = i + 1;
        if (ring->slots && tutti_dev_load_acquire64(&ring->progress->completed) != ring->own->next && !run->left[pe])
            run->left[pe] = i + 1;
    }
    run->status[pe] |= tutti_grid_barrier(run->call[0].team);
}

/* Calls of one team, of all lengths, or the same one again and again. */
static void draw(struct run *run, uint64_t *random)
{
    const int pes = run->pes->count, alike = random_next(random) % 3 == 0;
    const int team = random_next(random) % 2 ? 0 : (int)(random_next(random) % PROGRAM_TEAMS);
    run->size = program_size(pes, team);
    for (int i = 0; i < GRID_CALLS && run->size > 0; i++) {
        if (alike && i > 0)
            run->call[i] = run->call[0];
        else
            grid_draw(&run->call[i], random, run->size, 1, 1, PROGRAM_PART);
        run->call[i].team = team;
        run->should[i] = malloc(PROGRAM_PART);
        grid_expect(&run->call[i], pes, i, run->should[i]);
    }
}

static void one(uint64_t seed, int pes)
{
    static struct pes all;
    struct run run = {.pes = &all};
    uint64_t random = random_mix(seed);
    pes_open(&all, pes, 60000);
    pes_serve(&all, seed / PROGRAM_PES % 3 ? PES_RING_NODES : PES_RING_NONE, UINT64_C(16) << seed % 5, seed);
    draw(&run, &random);
    if (run.size > 0)
        pes_run(&all, body, &run);
    for (int pe = 0; pe < pes; pe++) {
        const struct grid_case *const c = &run.call[run.wrong[pe] ? run.wrong[pe] - 1 : 0];
        CHECK(run.status[pe] == 0 && all.abort[pe] == 0, "seed %llu: PE %d: status %d, aborted %u",
              (unsigned long long)seed, pe, run.status[pe], all.abort[pe]);
        CHECK(!run.left[pe], "seed %llu: PE %d: call %d has left requests open", (unsigned long long)seed, pe,
              run.left[pe] - 1);
        CHECK(!run.wrong[pe],
              "seed %llu: call %d, strategy %d where %d type %d op %d n %zu root %d in place %d team %d of %d PEs, far "
              "%u: PE %d",
              (unsigned long long)seed, run.wrong[pe] - 1, c->strategy, c->where, c->type, c->op, c->n, c->root,
              c->in_place, c->team, pes, all.team[pe][c->team].far, pe);
    }
    pes_serve_end(&all, 0);
    pes_close(&all);
    for (int i = 0; i < GRID_CALLS; i++)
        free(run.should[i]);
}

int main(void)
{
    const uint64_t seed = check_seed();
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 240);
    for (long i = 0; i < rounds && check_failed() == 0; i++)
        one(seed + (uint64_t)i, 1 + (int)((seed + (uint64_t)i) % PROGRAM_PES));
    printf("%ld reductions, %ld checks, %ld failed\n", GRID_CALLS * rounds, check_done(), check_failed());
    return check_failed() != 0;
}
