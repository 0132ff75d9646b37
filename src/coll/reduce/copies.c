/* copies: for the largest allreduces of three ranks or more. Every rank combines its slice as a reduce-scatter by
 * `pipeline`, straight into its own result; the copy engines then carry the slice into the results of all others, which
 * are mapped: they move 9 % more a second through NVLink than stores of kernels do (docs/performance.md), but take
 * 20 us to start. Of two ranks `pipeline` is faster at every size (800 us at 256 MiB, 857 by copies). */
#include "coll/launch/flow.h"
#include "core/phases.h"
#include "core/status.h"
#include "core/types.h"

enum { RANKS_LEAST = 3 };

static int reduce_copies_can(const struct tutti_team *team, const struct tutti_call *call)
{
    return team->size >= RANKS_LEAST && tutti_reduce_pipeline.can(team, call);
}

/* Before a peer's slice of this rank's contribution is overwritten by a copy, the peer has combined it, also in
 * place. */
static int copies_carry(struct tutti_team *team, const struct tutti_call *call, void *out[], size_t begin, size_t n)
{
    size_t size = tutti_type_size(call->type);
    const char *from = (const char *)call->out + begin * size;
    int status = TUTTI_OK;
    for (int i = 1; i < team->size && n > 0 && status == TUTTI_OK; i++) {
        int peer = (team->rank + i) % team->size;
        status = team->device->stream.copy(team->stream, (char *)out[peer] + begin * size, from, n * size);
    }
    return status == TUTTI_OK ? TUTTI_OK : tutti_team_break(team, status);
}

static int copies_launch(struct tutti_team *team, const struct tutti_call *call, void *out[])
{
    size_t size = tutti_type_size(call->type), ranks = (size_t)team->size, unit = 256 / size, begin = 0;
    size_t slice = ((call->count + ranks - 1) / ranks + unit - 1) / unit * unit, counts[TUTTI_MAX_RANKS] = {0};
    for (size_t r = 0, left = call->count; r < ranks; r++) {
        counts[r] = left < slice ? left : slice;
        left -= counts[r];
        if ((int)r < team->rank)
            begin += counts[r];
    }
    struct tutti_call half = *call;
    half.collective = TUTTI_COLLECTIVE_REDUCE_SCATTER;
    half.counts = counts;
    half.out = counts[team->rank] ? (char *)call->out + begin * size : call->out; /* no address behind the end */
    int status = tutti_flow_put(team, &half, team->stream, 0, tutti_pipeline_shape);
    return status == TUTTI_OK ? copies_carry(team, call, out, begin, counts[team->rank]) : status;
}

static int reduce_copies_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    const void *in[TUTTI_MAX_RANKS];
    void *out[TUTTI_MAX_RANKS];
    int mapped, status = tutti_map_buffers(team, call, tutti_all_ranks(team), in, out, &mapped);
    *fits = mapped != TUTTI_NOT_MAPPED;
    if (status != TUTTI_OK || !*fits)
        return status;
    tutti_waiting_begin(team);
    status = copies_launch(team, call, out);
    if (status == TUTTI_OK) { /* after the copies of all: a barrier of kernels, which reports the end */
        uint32_t launch_number = tutti_flow_number(team);
        status = tutti_ll_barrier(team, call->type, call->op, launch_number);
        tutti_phase(TUTTI_PHASE_KERNEL);
        if (status == TUTTI_OK)
            status = tutti_team_await_kernel(team, launch_number);
    }
    tutti_waiting_end(team);
    return status;
}

const struct tutti_algorithm tutti_reduce_copies = {
    .name = "copies",
    .collectives = TUTTI_ON(ALLREDUCE),
    .kernels = TUTTI_LAUNCHES(LL),
    .maps_buffers = 1,
    .waits_for_peers = 1,
    .can = reduce_copies_can,
    .run = reduce_copies_run,
};
