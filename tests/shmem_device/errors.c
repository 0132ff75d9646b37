/* What cannot be done is an error, and leaves: PEs and addresses that are none, teams and contexts that are none,
 * arguments, a collective while another one is under way, a PE that does not come. */
#include "shmem_device/pes.h"

#include "tutti/device.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

struct run {
    struct pes *pes;
    int which;
    int status[PROGRAM_PES];
};

enum {
    NO_SUCH_PE,
    NOT_SYMMETRIC,
    NO_WAY, /* a PE that loads and stores do not reach, and no ring; in collectives */
    NO_TEAM,
    FAR_BARRIER,
    FAR_BROADCAST,
    FAR_FCOLLECT,
    FAR_ALLTOALL,
    FAR_REDUCE,
    FAR_SCAN,
    FAR_GRID,
    NO_ROOT,
    NO_OPERATION,
    NO_WORK,
    TOO_LONG, /* a collective past the end of the heap */
    ABSENT,   /* PE 1 does not come */
    SILENT,   /* nobody signals */
    ABORTED,  /* the host says so while PE 0 waits */
    WHICH
};

static void body(int pe, void *context)
{
    struct run *const run = context;
    struct program_heap *const heap = run->pes->heap[pe];
    char own[16] = "";
    int status = 0;
    switch (run->which) {
    case NO_SUCH_PE:
        tshmem_putmem_block(heap->out, own, sizeof own, 2);
        tshmem_int_p((int *)(void *)heap->out, 1, -1);
        break;
    case NOT_SYMMETRIC:
        tshmem_getmem_warp(own, own, sizeof own, 0);
        break;
    case NO_WAY:
        tshmem_long_atomic_inc((long *)(void *)heap->out, 1 - pe);
        break;
    case NO_TEAM:
        status = tshmem_barrier(7);
        break;
    case FAR_BARRIER:
        status = tshmem_barrier_block(0);
        break;
    case FAR_BROADCAST:
        status = tshmem_broadcastmem_block(0, heap->out, heap->in, 2000, 0);
        break;
    case FAR_FCOLLECT:
        status = tshmem_fcollectmem_warp(0, heap->out, heap->in, 8);
        break;
    case FAR_ALLTOALL:
        status = tshmem_alltoallmem(0, heap->out, heap->in, 64);
        break;
    case FAR_REDUCE:
        status = tutti_shmem_reduce_block(0, heap->out, heap->in, 40, TSHMEM_ID_FLOAT, TSHMEM_OP_SUM);
        break;
    case FAR_SCAN:
        status = tutti_shmem_scan_block(0, heap->out, heap->in, 40, TSHMEM_ID_FLOAT, 0);
        break;
    case FAR_GRID: {
        const struct tutti_grid_work work = {heap->in, sizeof heap->in};
        status = tutti_grid_reduce(0, TUTTI_GRID_GLOBAL, heap->out, heap->source, 40, TSHMEM_ID_FLOAT, TSHMEM_OP_SUM, 0,
                                   TUTTI_GRID_READ, &work);
        break;
    }
    case NO_ROOT:
        status = tshmem_broadcastmem_block(0, heap->out, heap->in, 8, 2);
        break;
    case NO_OPERATION:
        status = tutti_shmem_reduce_block(0, heap->out, heap->in, 8, TSHMEM_ID_FLOAT, TSHMEM_OP_XOR);
        break;
    case NO_WORK: {
        const struct tutti_grid_work work = {heap->in, 64};
        float value = 1;
        status = tutti_grid_allreduce(0, TUTTI_GRID_REGISTERS, &value, &value, 1, tshmem_type_of(&value), TSHMEM_OP_SUM,
                                      TUTTI_GRID_AUTO, &work);
        break;
    }
    case TOO_LONG:
        status = tshmem_fcollectmem_block(0, heap->out, heap->in, sizeof *heap);
        break;
    case ABSENT:
        status = pe == 1 ? -1 : tshmem_barrier_block(0);
        break;
    case SILENT:
        tshmem_signal_wait_until(&heap->signals[0][0], TSHMEM_CMP_NE, 0);
        break;
    default:
        if (pe == 1)
            __atomic_store_n(&run->pes->abort[0], 1, __ATOMIC_RELEASE);
        else
            tshmem_ulong_wait_until((unsigned long *)&heap->signals[0][0], TSHMEM_CMP_NE, 0);
        break;
    }
    run->status[pe] = status;
}

/* Contexts. Those of program_context() at PE 0 of 3: number 2 is over PEs 0 and 2, 4 over PE 1. */
static struct program_heap *at;
static tshmem_ctx_t wrong;
static long fetched, own;

#define WITH_CONTEXT(ROW)                                                                                              \
    ROW(tshmem_ctx_putmem(wrong, at->out, at->in, 8, 0))                                                               \
    ROW(tshmem_ctx_putmem_warp(wrong, at->out, at->in, 8, 0))                                                          \
    ROW(tshmem_ctx_putmem_block(wrong, at->out, at->in, 0, 0))                                                         \
    ROW(tshmem_ctx_getmem_work_group(wrong, at->out, at->in, 8, 0))                                                    \
    ROW(tshmem_ctx_putmem_nbi_block(wrong, at->out, at->in, 8, 0))                                                     \
    ROW(tshmem_ctx_long_get_nbi_warp(wrong, &own, (long *)(void *)at->in, 1, 0))                                       \
    ROW(tshmem_ctx_int_iput_block(wrong, (int *)(void *)at->out, (int *)(void *)at->in, 1, 2, 3, 0))                   \
    ROW(tshmem_ctx_iget64(wrong, at->out, at->in, 1, 2, 3, 0))                                                         \
    ROW(tshmem_ctx_double_ibget(wrong, (double *)(void *)at->out, (double *)(void *)at->in, 2, 2, 1, 3, 0))            \
    ROW(tshmem_ctx_long_p(wrong, (long *)(void *)at->out, 3, 0))                                                       \
    ROW(own = tshmem_ctx_long_g(wrong, (long *)(void *)at->in, 0))                                                     \
    ROW(tshmem_ctx_long_atomic_inc(wrong, (long *)(void *)at->out, 0))                                                 \
    ROW(tshmem_ctx_long_atomic_fetch_add_nbi(wrong, &fetched, (long *)(void *)at->out, 1, 0))                          \
    ROW(tshmem_ctx_signal_set(wrong, at->signals[0], 1, 0))                                                            \
    ROW(tshmem_ctx_signal_add(wrong, at->signals[0], 1, 0))                                                            \
    ROW(tshmem_ctx_float_put_signal_warp(wrong, (float *)(void *)at->out, (float *)(void *)at->in, 1, at->signals[0],  \
                                         1, TSHMEM_SIGNAL_SET, 0))                                                     \
    ROW(tshmem_ctx_putmem_signal_nbi(wrong, at->out, at->in, 1, at->signals[0], 1, TSHMEM_SIGNAL_ADD, 0))              \
    ROW(tshmem_put_block(wrong, at->out, at->in, 3, 0))                                                                \
    ROW(tshmem_ctx_quiet(wrong))                                                                                       \
    ROW(tshmem_ctx_quiet_block(wrong))                                                                                 \
    ROW(tshmem_ctx_fence_warp(wrong))
enum { WITH_PE = 18 }; /* the first ones name a PE */

/* Each call in that context, and the PE that it names: the host is told, and nothing has been stored. */
static void refused(struct pes *pes, tshmem_ctx_t ctx, const char *what, int first, int last)
{
    static const char zeros[PROGRAM_PART];
    int call = 0;
    wrong = ctx;
    memset(at->out, 0, sizeof at->out);
    memset(at->signals, 0, sizeof at->signals);
    own = 0;
#define REFUSED(made)                                                                                                  \
    if (call >= first && call < last) {                                                                                \
        pes->abort[0] = 0;                                                                                             \
        made;                                                                                                          \
        CHECK(pes->abort[0] == 1, "%s: " #made, what);                                                                 \
    }                                                                                                                  \
    call++;
    WITH_CONTEXT(REFUSED)
#undef REFUSED
    CHECK(memcmp(at->out, zeros, sizeof zeros) == 0 && at->signals[0][0] == 0 && own == 0, "%s: it stored", what);
    pes->abort[0] = 0;
}

static void asked(struct pes *pes, tshmem_ctx_t ctx, int status, tshmem_team_t of, uint32_t told)
{
    tshmem_team_t team = 50;
    CHECK(tshmem_ctx_get_team(ctx, &team) == status && team == of && pes->abort[0] == told,
          "the team of context %p: %d, abort word %u", (void *)ctx, team, pes->abort[0]);
    pes->abort[0] = 0;
}

/* There is no such PE in its team. */
static void refused_pe(struct pes *pes, tshmem_ctx_t ctx, int pe)
{
    tshmem_ctx_putmem_warp(ctx, at->out, at->in, 8, pe);
    CHECK(pes->abort[0] == 1, "a put to PE %d of a team of %d", pe, pes->team[0][1].size);
    pes->abort[0] = 0;
    tshmem_ctx_long_atomic_inc(ctx, (long *)(void *)at->out, pe);
    CHECK(pes->abort[0] == 1, "an atomic to PE %d of a team of %d", pe, pes->team[0][1].size);
    pes->abort[0] = 0;
}

static void contexts(void)
{
    static struct pes pes;
    pes_open(&pes, 3, 1000);
    pes_state = &pes.state[0];
    at = pes.heap[0];
    memset(at->in, 7, sizeof at->in);
    const uint64_t even = program_context(3, 2, 0), world = program_context(3, 1, 0), turn = 1u << TSHMEM_CONTEXT_BITS;
    const uint64_t number = world & (turn - 1);
    CHECK(program_context(3, 4, 0) == 0 && even != 0 && number > 2, "the contexts of the test");
    const struct {
        uint64_t handle;
        const char *what;
    } none[] = {{0, "TSHMEM_CTX_INVALID"},
                {world + turn, "of the next turn"},
                {world - turn, "of the turn before"},
                {world + 2 * turn, "made later"},
                {number, "of no turn"},
                {world + (turn << 32), "of a turn too large"},
                {(world & ~(turn - 1)) | (number + 1), "of a number that was never made"},
                {number + 1, "never made, of no turn"},
                {TSHMEM_CONTEXTS_MAX + 1 + turn, "of a number too large"},
                {(turn - 1) + turn, "of the largest number"},
                {1 + turn, "of the default one's number"},
                {program_context(3, 1, 1) + TSHMEM_CONTEXTS_MAX, "behind the table, where PE 1 has its own"},
                {UINT64_MAX, "all bits"}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        const tshmem_ctx_t ctx = (tshmem_ctx_t)(uintptr_t)none[i].handle;
        refused(&pes, ctx, none[i].what, 0, 1000);
        asked(&pes, ctx, TUTTI_DEV_ERR_ARGUMENT, TSHMEM_TEAM_INVALID, none[i].handle != 0);
    }
    asked(&pes, TSHMEM_CTX_DEFAULT, 0, TSHMEM_TEAM_WORLD, 0);
    asked(&pes, (tshmem_ctx_t)(uintptr_t)even, 0, 1, 0);

    /* PEs that there are in the world, but not in the team. */
    const tshmem_ctx_t ctx = (tshmem_ctx_t)(uintptr_t)even;
    static const int pe[] = {2, 3, -1, 64, 1 << 30};
    for (size_t i = 0; i < sizeof pe / sizeof *pe; i++)
        refused_pe(&pes, ctx, pe[i]);
    tshmem_ctx_putmem_warp(ctx, at->out, at->in, 8, 1);
    CHECK(pes.abort[0] == 0 && pes.heap[2]->out[7] == 7 && pes.heap[1]->out[7] == 0, "PE 1 of a team of two");

    pes.team[0][1].size = 1;
    refused_pe(&pes, ctx, 1);

    /* It has ended; and so has its team, of which the host has forgotten no context. */
    pes.team[0][1].used = 0;
    refused(&pes, ctx, "of a team that has ended", 0, WITH_PE);
    pes.team[0][1].used = 1;
    program_contexts(pes.context[0], 0, 0);
    refused(&pes, ctx, "that has ended", 0, 1000);
    pes.state[0].context = NULL;
    refused(&pes, ctx, "where there is no table", 0, 1000);
    pes_close(&pes);
}

/* Two threads of one PE in a collective of one team: the second one is refused when it ends. */
static void two_at_once(void)
{
    static struct pes pes;
    pes_open(&pes, 1, 1000);
    pes_state = &pes.state[0];
    struct tutti_dev_meeting first;
    CHECK(tutti_dev_enter(&first, TUTTI_BY_THREAD, 0) == 0, "the first collective is begun");
    CHECK(tshmem_barrier(0) == TUTTI_DEV_ERR_BROKEN, "the second one is an error");
    CHECK(pes.abort[0] == 1, "and the host is told");
    pes_close(&pes);
    pes_open(&pes, 1, 1000);
    CHECK(tshmem_barrier(0) == 0 && tshmem_barrier(0) == 0, "one after the other is none");
    pes_close(&pes);
}

int main(void)
{
    static struct pes pes;
    for (int i = 0; i < 2 * WHICH; i++) { /* the teams know of far members, or not */
        const int which = i / 2;
        struct run run = {&pes, which, {0}};
        const int no_status = which < NO_TEAM || which >= SILENT;
        pes_open(&pes, 2, which == ABORTED ? 60000 : 50);
        if (which == NO_WAY || (which >= FAR_BARRIER && which <= FAR_GRID))
            pes.state[0].peer[1] = pes.state[1].peer[0] = NULL;
        pes.state[0].far = pes.state[1].far = pes.team[0][0].far = pes.team[1][0].far = (uint32_t)i % 2;
        pes_run(&pes, body, &run);
        CHECK(pes.abort[0] == 1, "case %d: the host is told", which);
        CHECK(no_status || run.status[0] < 0, "case %d: status %d", which, run.status[0]);
        pes_close(&pes);
    }
    two_at_once();
    contexts();
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
