/* What cannot be done is an error, and leaves: PEs and addresses that are none, teams that are none, arguments, a
 * collective while another one is under way, a PE that does not come. */
#include "shmem_device/pes.h"

#include "tutti/device.h"

#include <stdio.h>

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
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
