/* direct: all GPUs map all buffers; each reduces its share straight from them and stores it into the results. All
 * ranks have arrived when it starts, so contributions are valid; a rank returns when all have stored their shares. */
#include "coll/algorithm.h"
#include "core/phases.h"
#include "core/status.h"
#include "core/types.h"

static int reduce_direct_can(const struct tutti_team *team, const struct tutti_call *call)
{
    (void)call;
    return team->gpus == team->size;
}

/* Slices begin at multiples of so many elements. */
static size_t direct_grain(const struct tutti_call *call)
{
    return 256 / tutti_type_size(call->type);
}

static size_t direct_slice(const struct tutti_team *team, const struct tutti_call *call)
{
    size_t gpus = (size_t)team->gpus, unit = direct_grain(call);
    return ((call->count + gpus - 1) / gpus + unit - 1) / unit * unit;
}

static void direct_add_piece(struct tutti_kernel_args *args, size_t begin, size_t n, void *out)
{
    if (n == 0)
        return;
    args->begin[args->outs] = begin;
    args->n[args->outs] = n;
    args->out[args->outs++] = out;
    args->slice += n;
}

/* 1 if the work of a reduce-scatter is shared fairly when every GPU reduces the segments of its own ranks. */
static int direct_fair(const struct tutti_team *team, const struct tutti_call *call)
{
    size_t of[TUTTI_MAX_GPUS] = {0}, most = 0;
    for (int r = 0; r < team->size; r++)
        of[team->gpu_of[r]] += tutti_result_of(call, r, team->size).count;
    for (int g = 0; g < team->gpus; g++)
        most = of[g] > most ? of[g] : most;
    return most <= call->count / (size_t)team->gpus / 4 * 5 + direct_grain(call);
}

/* Segments of the ranks of this GPU; if they are too unequal, the parts of all segments in this GPU's slice. */
static void slices_share(const struct tutti_team *team, const struct tutti_call *call, struct tutti_kernel_args *args,
                         void *const out[])
{
    size_t size = tutti_type_size(call->type), slice = direct_slice(team, call);
    size_t first = slice * (size_t)team->gpu_index, end = first + slice;
    int own = direct_fair(team, call);
    for (int r = 0; r < team->size; r++) {
        struct tutti_result part = tutti_result_of(call, r, team->size);
        size_t from = part.begin > first ? part.begin : first;
        size_t to = part.begin + part.count < end ? part.begin + part.count : end;
        if (own && team->gpu_of[r] == team->gpu_index)
            direct_add_piece(args, part.begin, part.count, out[r]);
        else if (!own && from < to)
            direct_add_piece(args, from, to - from, (char *)out[r] + (from - part.begin) * size);
    }
}

static void direct_begin(struct tutti_team *team, const struct tutti_call *call, struct tutti_kernel_args *args,
                         const void *const in[])
{
    tutti_launch_begin(team, args);
    args->shape = (uint32_t)tutti_shape_of(call);
    args->count = call->count;
    for (int r = 0; r < team->size; r++)
        args->in[r] = in[r];
}

static int direct_end(struct tutti_team *team, const struct tutti_call *call, struct tutti_kernel_args *args)
{
    unsigned blocks = tutti_launch_blocks(team, args->slice * tutti_type_size(call->type), 0);
    int status = tutti_launch_end(team, args, TUTTI_KERNEL_DIRECT, call->type, call->op, blocks);
    return status == TUTTI_OK ? tutti_team_await_kernel(team, team->epoch) : status;
}

int tutti_direct_mapped(struct tutti_team *team, const struct tutti_call *call, const void *in[], void *out[])
{
    struct tutti_kernel_args args;
    direct_begin(team, call, &args, in);
    if (args.shape == TUTTI_SHAPE_SEGMENTS) {
        slices_share(team, call, &args, out);
        return direct_end(team, call, &args);
    }
    args.slice = direct_slice(team, call);
    args.outs = args.shape == TUTTI_SHAPE_ROOT ? 1 : (uint32_t)team->size;
    for (int r = 0; r < team->size; r++)
        args.out[r] = tutti_result_of(call, r, team->size).count > 0 ? out[r] : NULL;
    if (args.shape == TUTTI_SHAPE_ROOT)
        args.out[0] = out[call->root];
    return direct_end(team, call, &args);
}

/* Elements of a segment that a round of apart() does. */
static size_t direct_round(const struct tutti_team *team, const struct tutti_call *call)
{
    return tutti_channel_region(team, TUTTI_REGION_HALVES).bytes / tutti_type_size(call->type);
}

/* Elements of the longest segment. */
static size_t direct_longest(const struct tutti_team *team, const struct tutti_call *call)
{
    size_t most = 0;
    for (int r = 0; r < team->size; r++) {
        size_t count = tutti_result_of(call, r, team->size).count;
        most = count > most ? count : most;
    }
    return most;
}

/* One round of this GPU: its ranks' results into their channels. */
static int reduce_round(struct tutti_team *team, const struct tutti_call *call, const void *in[], size_t at)
{
    size_t most = direct_round(team, call), room = tutti_channel_region(team, TUTTI_REGION_HALVES).begin;
    struct tutti_kernel_args args;
    direct_begin(team, call, &args, in);
    for (int r = 0; r < team->size; r++) {
        struct tutti_result part = tutti_result_of(call, r, team->size);
        if (team->gpu_of[r] != team->gpu_index || part.count <= at)
            continue;
        size_t n = part.count - at < most ? part.count - at : most;
        direct_add_piece(&args, part.begin + at, n, (char *)team->scratch_of[r] + room);
    }
    return direct_end(team, call, &args);
}

/* And from there to where they belong. */
static int copy_round(struct tutti_team *team, const struct tutti_call *call, void *out[], size_t at)
{
    size_t size = tutti_type_size(call->type), most = direct_round(team, call);
    size_t room = tutti_channel_region(team, TUTTI_REGION_HALVES).begin;
    int status = TUTTI_OK;
    for (int r = 0; r < team->size && status == TUTTI_OK; r++) {
        size_t count = tutti_result_of(call, r, team->size).count;
        if (team->gpu_of[r] != team->gpu_index || count <= at)
            continue;
        size_t n = count - at < most ? count - at : most;
        status = team->device->stream.copy(team->stream, (char *)out[r] + at * size, (char *)team->scratch_of[r] + room,
                                           n * size);
    }
    if (status == TUTTI_OK)
        status = team->device->stream.sync(team->stream);
    return status == TUTTI_OK ? TUTTI_OK : tutti_team_break(team, status);
}

/* Collective, for reduce-scatters whose results overlap contributions (in place): results are stored in the channels
 * and copied when all contributions have been read. Ranks that do not lead give no buffers.
 *
 * A round takes as many elements of every segment. Element i of a result overlaps element i of a contribution, which
 * is in some segment at i or before: this round or an earlier one has read it. */
static int direct_apart(struct tutti_team *team, const struct tutti_call *call, const void *in[], void *out[])
{
    size_t end_at = direct_longest(team, call), most = direct_round(team, call);
    int status = TUTTI_OK;
    for (size_t at = 0; at < end_at && status == TUTTI_OK; at += most) {
        uint32_t all;
        if (team->leader)
            status = reduce_round(team, call, in, at);
        if (status == TUTTI_OK)
            status = tutti_team_vote(team, 1, &all);
        if (status == TUTTI_OK && team->leader)
            status = copy_round(team, call, out, at);
    }
    return status;
}

int tutti_direct_shared(struct tutti_team *team, const struct tutti_call *call, const void *in[], void *out[],
                        int mapped)
{
    uint64_t leaders = 0;
    int status = TUTTI_OK;
    for (int g = 0; g < team->gpus; g++)
        leaders |= UINT64_C(1) << team->leader_of[g];
    if (mapped == TUTTI_MAPPED_OVER)
        status = direct_apart(team, call, in, out);
    else if (team->leader)
        status = tutti_direct_mapped(team, call, in, out);
    tutti_phase(team->leader ? TUTTI_PHASE_HANDOUT : TUTTI_PHASE_LEADER);
    if (team->leader)
        tutti_team_done(team, status);
    return status == TUTTI_OK ? tutti_team_await_done(team, leaders) : status;
}

static int direct_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    const void *in[TUTTI_MAX_RANKS];
    void *out[TUTTI_MAX_RANKS];
    int mapped, status = tutti_map_buffers(team, call, tutti_all_ranks(team), in, out, &mapped);
    *fits = mapped != TUTTI_NOT_MAPPED;
    return status == TUTTI_OK && *fits ? tutti_direct_shared(team, call, in, out, mapped) : status;
}

const struct tutti_algorithm tutti_reduce_direct = {
    .name = "direct",
    .collectives = TUTTI_ON_REDUCTIONS,
    .kernels = TUTTI_LAUNCHES(DIRECT),
    .maps_buffers = 1,
    .stands_in = 1,
    .can = reduce_direct_can,
    .run = direct_run,
};
