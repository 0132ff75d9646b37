/* A nonblocking call: the row runs as a job of the communicator's worker. There the ranks of the node meet; what
 * crosses the transport is handed over to the threads of the program, which poll the call. */
#include <stdlib.h>

#include "coll/carry/wire.h"
#include "core/log.h"
#include "core/reserve.h"
#include "core/status.h"
#include "progress/stall.h"
#include "sched/worker.h"

struct tutti_carry_open {
    struct tutti_carry *kept;
    struct tutti_call call;
    struct tutti_job job;
    struct tutti_carry_desk desk;
    const char *how;
    struct tutti_stall stall; /* of the wire that is looked at */
};

static int open_run(void *with)
{
    struct tutti_carry_open *open = with;
    return tutti_carry_make(open->kept, &open->call, &open->desk, &open->how);
}

struct tutti_carry_open *tutti_carry_begin(struct tutti_carry *carry, const struct tutti_call *call,
                                           struct tutti_worker *worker)
{
    static struct tutti_reserve reserve; /* a rank without memory would leave the others waiting */
    struct tutti_carry_open *open = tutti_reserve_take(&reserve, sizeof *open);
    if (!open)
        return NULL;
    *open = (struct tutti_carry_open){.kept = carry, .call = *call};
    open->job = (struct tutti_job){.run = open_run, .with = open};
    if (tutti_worker_give(worker, &open->job) == TUTTI_OK)
        return open;
    free(open);
    return NULL;
}

/* Windows of the wire that have begun or ended. */
static int stage_of(const struct tutti_carry_wire *wire)
{
    int stage = wire->number;
    for (int way = 0; way < TUTTI_CARRY_WAYS; way++)
        stage += (wire->flow[way].begun + wire->flow[way].ended) * TUTTI_CARRY_WIRES;
    return stage;
}

static void open_stalls(const struct tutti_carry_open *open, const struct tutti_carry_wire *wire, uint64_t seconds)
{
    char where[160];
    tutti_carry_wire_where(wire, where, sizeof where);
    tutti_warn("waiting for %llu s in %s over %d nodes, on rank %d: %s", (unsigned long long)seconds,
               open->call.move->name, open->kept->hierarchy->nodes, open->kept->hierarchy->ranks->rank, where);
}

/* What is handed over waits for other ranks. TUTTI_OK, or TUTTI_ERR_TIMEOUT. Jobs have a time limit of their own. */
static int open_look_at_time(struct tutti_carry_open *open, const struct tutti_carry_wire *wire)
{
    uint64_t seconds;
    tutti_stall_poll(&open->stall, wire ? stage_of(wire) : -1);
    const int status = wire ? tutti_stall_look(&open->stall, &seconds) : TUTTI_OK;
    if (status == TUTTI_OK)
        return TUTTI_OK;
    open_stalls(open, wire, seconds);
    if (status == TUTTI_STALL_REPORT)
        return TUTTI_OK;
    open->stall.since = 0;
    return status;
}

int tutti_carry_poll(struct tutti_carry_open *open, int *status, const char **how)
{
    if (!tutti_job_done(&open->job)) {
        int failed = TUTTI_OK;
        if (tutti_carry_desk_poll(&open->desk, TUTTI_OK) > 0)
            failed = open_look_at_time(open, tutti_carry_desk_first(&open->desk));
        else
            (void)open_look_at_time(open, NULL);
        if (failed != TUTTI_OK)
            (void)tutti_carry_desk_poll(&open->desk, failed);
        return 0;
    }
    *status = open->job.status;
    *how = open->how;
    free(open);
    return 1;
}
