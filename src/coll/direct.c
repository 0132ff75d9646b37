/* direct: all buffers are mapped by all GPUs; each reduces its slice straight out of them and stores it into all
 * results. All have arrived when it starts, so contributions are valid; a rank returns when all have stored their
 * slices. */
#include "coll/algorithm.h"
#include "core/status.h"
#include "core/types.h"

int tutti_direct_can(const struct tutti_team *team, const struct tutti_reduce *call)
{
    (void)call;
    return team->gpus == team->size;
}

int tutti_direct_mapped(struct tutti_team *team, const struct tutti_reduce *call, const void *in[], void *out[])
{
    size_t size = tutti_type_size(call->type), gpus = (size_t)team->gpus, grain = 256 / size;
    struct tutti_kernel_args args;
    tutti_launch_begin(team, &args);
    args.count = call->count;
    args.slice = ((args.count + gpus - 1) / gpus + grain - 1) / grain * grain;
    args.outs = (uint32_t)team->size;
    for (int r = 0; r < team->size; r++) {
        args.in[r] = in[r];
        args.out[r] = out[r];
    }
    unsigned blocks = tutti_launch_blocks(team, args.slice * size);
    int status = tutti_launch_end(team, &args, TUTTI_KERNEL_DIRECT, call->type, call->op, blocks);
    return status == TUTTI_OK ? tutti_team_await_kernel(team, team->epoch) : status;
}

int tutti_direct_run(struct tutti_team *team, const struct tutti_reduce *call, int *fits)
{
    const void *in[TUTTI_MAX_RANKS];
    void *out[TUTTI_MAX_RANKS];
    uint64_t all = tutti_all_ranks(team);
    int status = tutti_map_buffers(team, call, all, in, out, fits);
    if (status != TUTTI_OK || !*fits)
        return status;
    status = tutti_direct_mapped(team, call, in, out);
    tutti_team_done(team, status);
    return status == TUTTI_OK ? tutti_team_await_done(team, all) : status;
}
