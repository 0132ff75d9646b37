/* The grid's family on the host device, where a grid is one thread: every strategy, kind of operand, type and operation
 * against the oracle; the tree against one of its own. */
#include "shmem_device/pes.h"

#include "tutti/device.h"

#include <stdio.h>
#include <string.h>

#include "core/types.h"
#include "shmem_device/grid_cases.h"
#include "support/check.h"

struct run {
    struct pes *pes;
    struct grid_case what;
    int status[PROGRAM_PES];
};

static void body(int pe, void *context)
{
    struct run *const run = context;
    const struct grid_case *const c = &run->what;
    struct program_heap *const heap = run->pes->heap[pe];
    const struct tutti_grid_work work = {heap->in, sizeof heap->in};
    void *const dest = c->in_place ? heap->source : heap->out;
    for (int again = 0; again < 3; again++) { /* calls take turns between the halves of the work */
        grid_fill(c, pe, again, heap->source);
        if (c->root < 0)
            run->status[pe] |=
                tutti_grid_allreduce(c->team, c->where, dest, heap->source, c->n, c->type, c->op, c->strategy, &work);
        else
            run->status[pe] |= tutti_grid_reduce(c->team, c->where, dest, heap->source, c->n, c->type, c->op, c->root,
                                                 c->strategy, &work);
    }
    run->status[pe] |= tutti_grid_barrier(c->team);
}

static void one(struct grid_case *c, int pes)
{
    static struct pes all;
    static char should[PROGRAM_PART];
    struct run run = {&all, *c, {0}};
    pes_open(&all, pes, 60000);
    pes_run(&all, body, &run);
    grid_expect(c, pes, 2, should);
    for (int pe = 0; pe < pes; pe++) {
        const char *const is = c->in_place ? all.heap[pe]->source : all.heap[pe]->out;
        const size_t bytes = c->n * tutti_dev_type_size(c->type);
        CHECK(run.status[pe] == 0, "PE %d: status %d", pe, run.status[pe]);
        if (c->root < 0 || c->root == pe)
            CHECK(memcmp(is, should, bytes) == 0, "strategy %d where %d type %d op %d n %zu root %d of %d PEs: PE %d",
                  c->strategy, c->where, c->type, c->op, c->n, c->root, pes, pe);
    }
    pes_close(&all);
}

int main(void)
{
    uint64_t random = check_seed();
    const long rounds = check_setting("TUTTI_TEST_ROUNDS", 400);
    for (long i = 0; i < rounds && check_failed() == 0; i++) {
        struct grid_case c;
        const int pes = 1 + (int)(i % PROGRAM_PES);
        grid_draw(&c, &random, pes, 1, 1, PROGRAM_PART);
        one(&c, pes);
    }
    printf("%ld reductions, %ld checks, %ld failed\n", rounds, check_done(), check_failed());
    return check_failed() != 0;
}
