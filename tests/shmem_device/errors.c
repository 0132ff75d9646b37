/* What cannot be done is an error, and leaves: invalid PEs and addresses, invalid teams and contexts, invalid
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
        tshmem_getmem_warp(own, own, sizeof own, 1 - pe);
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

/* What PE 0 leaves of why it failed. */
static const struct {
    int operation, reason, pe, team;
    uint64_t bytes;
} records[WHICH] = {
    [NO_SUCH_PE] = {TSHMEM_KERNEL_PUT, TSHMEM_WHY_NO_PE, 2, -1, 16},
    [NOT_SYMMETRIC] = {TSHMEM_KERNEL_GET, TSHMEM_WHY_NOT_SYMMETRIC, 1, -1, 16},
    [NO_WAY] = {TSHMEM_KERNEL_AMO, TSHMEM_WHY_NO_WAY, 1, -1, 8},
    [NO_TEAM] = {TSHMEM_KERNEL_BARRIER, TSHMEM_WHY_NO_TEAM, -1, 7, 0},
    [FAR_BARRIER] = {TSHMEM_KERNEL_BARRIER, TSHMEM_WHY_NO_WAY, 1, -1, 8},
    [FAR_BROADCAST] = {TSHMEM_KERNEL_BROADCAST, TSHMEM_WHY_NO_WAY, 1, -1, 8},
    [FAR_FCOLLECT] = {TSHMEM_KERNEL_FCOLLECT, TSHMEM_WHY_NO_WAY, 1, -1, 8},
    [FAR_ALLTOALL] = {TSHMEM_KERNEL_ALLTOALL, TSHMEM_WHY_NO_WAY, 1, -1, 8},
    [FAR_REDUCE] = {TSHMEM_KERNEL_REDUCE, TSHMEM_WHY_NO_WAY, 1, -1, 8},
    [FAR_SCAN] = {TSHMEM_KERNEL_SCAN, TSHMEM_WHY_NO_WAY, 1, -1, 8},
    [FAR_GRID] = {TSHMEM_KERNEL_GRID, TSHMEM_WHY_NO_WAY, 1, -1, 8},
    [NO_ROOT] = {TSHMEM_KERNEL_BROADCAST, TSHMEM_WHY_NO_ROOT, 2, 0, 0},
    [NO_OPERATION] = {TSHMEM_KERNEL_REDUCE, TSHMEM_WHY_NO_OPERATION, -1, 0, TSHMEM_OP_XOR},
    [NO_WORK] = {TSHMEM_KERNEL_GRID, TSHMEM_WHY_NO_WORK, -1, 0, 64},
    [TOO_LONG] = {TSHMEM_KERNEL_FCOLLECT, TSHMEM_WHY_NOT_SYMMETRIC, -1, 0, 2 * sizeof(struct program_heap)},
    [ABSENT] = {TSHMEM_KERNEL_BARRIER, TSHMEM_WHY_TOO_LONG, 1, 0, 0},
    [SILENT] = {TSHMEM_KERNEL_SIGNAL_WAIT, TSHMEM_WHY_TOO_LONG, -1, -1, 0},
};

/* far: the teams know of far members. Where they do not, a collective that comes to one says so by the abort word. */
static void check_record(const struct pes *pes, int which, int far)
{
    const struct tshmem_failure *const f = &pes->failure[0];
    if (which == ABORTED || (which >= FAR_BARRIER && which <= FAR_GRID && !far)) {
        CHECK(!f->ready, "case %d: there is a record, of call %llx", which, (unsigned long long)f->call);
        CHECK(pes->abort[0] == (which == ABORTED ? TSHMEM_ABORT_TOLD : TSHMEM_ABORT_NO_WAY | 1u << 8),
              "case %d: abort word %u", which, pes->abort[0]);
        return;
    }
    CHECK(f->ready && pes->abort[0] == TSHMEM_ABORT_KERNEL, "case %d: no record, abort word %u", which, pes->abort[0]);
    CHECK((f->call & 0xff) == (unsigned)records[which].operation &&
              (f->call >> 8 & 0xff) == (unsigned)records[which].reason,
          "case %d: operation %u, reason %u", which, (unsigned)f->call & 0xff, (unsigned)f->call >> 8 & 0xff);
    CHECK((int32_t)(f->who >> 32) == records[which].pe && (int32_t)(uint32_t)f->who == records[which].team &&
              f->bytes == records[which].bytes,
          "case %d: PE %d, team %d, %llu bytes", which, (int)(f->who >> 32), (int)(uint32_t)f->who,
          (unsigned long long)f->bytes);
}

/* A PE that names itself may pass memory outside its heap; other PEs do not have it. */
static void own_memory(void)
{
    static struct pes pes;
    pes_open(&pes, 2, 1000);
    pes_state = &pes.state[0];
    struct program_heap *const heap = pes.heap[0];
    long mine[40] = {0}, out[40] = {0}, given[40];
    uint64_t signal = 5;
    float one = 0;
    for (int i = 0; i < 40; i++)
        given[i] = 1000 + i;
    tshmem_long_p(&mine[0], 7, 0);
    tshmem_float_p(&one, 1.5F, 0);
    CHECK(mine[0] == 7 && one == 1.5F && tshmem_long_g(&mine[0], 0) == 7 && tshmem_float_g(&one, 0) == 1.5F, "p and g");
    tshmem_long_put_block(mine, given, 40, 0);
    tshmem_long_get_warp(out, mine, 40, 0);
    CHECK(memcmp(mine, given, sizeof mine) == 0 && memcmp(out, given, sizeof out) == 0, "put and get");
    tshmem_putmem((char *)mine + 1, (char *)given + 3, 13, 0);
    CHECK(memcmp((char *)mine + 1, (char *)given + 3, 13) == 0, "bytes");
    tshmem_long_iput(mine, given, 2, 1, 9, 0);
    tshmem_long_iget_block(out, mine, 1, 2, 9, 0);
    CHECK(memcmp(out, given, 9 * sizeof *out) == 0, "iput and iget");
    mine[3] = 40;
    CHECK(tshmem_long_atomic_fetch_add(&mine[3], 2, 0) == 40 && tshmem_long_atomic_swap(&mine[3], 9, 0) == 42 &&
              mine[3] == 9,
          "atomics");
    tshmem_signal_set(&signal, 6, 0);
    tshmem_signal_add(&signal, 2, 0);
    CHECK(signal == 8, "signals: %llu", (unsigned long long)signal);
    tshmem_long_put_signal_block(mine, given, 40, &signal, 3, TSHMEM_SIGNAL_ADD, 0);
    CHECK(signal == 11 && memcmp(mine, given, sizeof mine) == 0, "put_signal: %llu", (unsigned long long)signal);
    tshmem_long_put_signal((long *)(void *)heap->out, given, 2, &signal, 1, TSHMEM_SIGNAL_SET, 0);
    tshmem_long_put_signal(mine, given + 1, 2, &heap->signals[0][0], 4, TSHMEM_SIGNAL_ADD, 0);
    CHECK(signal == 1 && memcmp(heap->out, given, 16) == 0 && heap->signals[0][0] == 4 && mine[0] == 1001,
          "half of it in the heap");
    CHECK(pes.abort[0] == 0 && !pes.failure[0].taken, "nothing is refused");
    CHECK(tshmem_ptr(mine, 0) == NULL && !tshmem_addr_accessible(mine, 0), "it is not symmetric");
    tshmem_long_p(&mine[0], 8, 1);
    CHECK(pes.abort[0] == TSHMEM_ABORT_KERNEL && pes.failure[0].address == (uint64_t)(uintptr_t)mine && mine[0] == 1001,
          "at PE 1 it is");
    pes_close(&pes);
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
        CHECK(pes->abort[0] == TSHMEM_ABORT_KERNEL, "%s: " #made, what);                                               \
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
    CHECK(pes->abort[0] == TSHMEM_ABORT_KERNEL, "a put to PE %d of a team of %d", pe, pes->team[0][1].size);
    pes->abort[0] = 0;
    tshmem_ctx_long_atomic_inc(ctx, (long *)(void *)at->out, pe);
    CHECK(pes->abort[0] == TSHMEM_ABORT_KERNEL, "an atomic to PE %d of a team of %d", pe, pes->team[0][1].size);
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
        asked(&pes, ctx, TUTTI_DEV_ERR_ARGUMENT, TSHMEM_TEAM_INVALID, none[i].handle != 0 ? TSHMEM_ABORT_KERNEL : 0);
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
    CHECK(tutti_dev_enter(&first, TSHMEM_KERNEL_BARRIER, TUTTI_BY_THREAD, 0) == 0, "the first collective is begun");
    CHECK(tshmem_barrier(0) == TUTTI_DEV_ERR_BROKEN, "the second one is an error");
    CHECK(pes.abort[0] == TSHMEM_ABORT_KERNEL, "and the host is told");
    CHECK(pes.failure[0].call == (TSHMEM_KERNEL_BARRIER | TSHMEM_WHY_UNDER_WAY << 8), "why: %llx",
          (unsigned long long)pes.failure[0].call);
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
        CHECK(pes.abort[0] != 0, "case %d: the host is told", which);
        check_record(&pes, which, i % 2);
        CHECK(no_status || run.status[0] < 0, "case %d: status %d", which, run.status[0]);
        pes_close(&pes);
    }
    two_at_once();
    own_memory();
    contexts();
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
