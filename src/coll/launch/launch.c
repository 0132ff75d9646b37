/* Shared by the kernel algorithms: arguments, grid, channel layout, buffers. */
#include <string.h>

#include "coll/algorithm.h"
#include "coll/state.h"
#include "core/phases.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"
#include "progress/fiber.h"

enum {
    ALIGNMENT = 256,
    BLOCK_BYTES = 16 * 512 /* bytes that a block of 512 threads moves in one round of 16-byte accesses */
};

/* A channel: flags, then the regions. The first 64 MiB are divided in 32nds. A seventh of the remainder goes to lines,
 * so that messages of 9 MiB take one launch, and the rest to chunks. Each region always has one layout of packets: data
 * of another layout could be taken for flags. How launches share a region: kernels/flow.inc. */
enum { PARTS = 32, PARTED = 64 << 20, LINES_OF_REST = 7 };
static const struct {
    unsigned begin, end;
} regions[] = {
    [TUTTI_REGION_LL] = {0, 2},
    [TUTTI_REGION_HALVES] = {2, 6},
    [TUTTI_REGION_LINES] = {6, 13},
    [TUTTI_REGION_CHUNKS] = {13, PARTS},
};

struct tutti_region tutti_channel_region(const struct tutti_team *team, enum tutti_region_id id)
{
    const size_t flags = (sizeof(struct tutti_channel_flags) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const size_t parted = team->channel_bytes < PARTED ? team->channel_bytes : PARTED;
    const size_t part = (parted - flags) / PARTS / ALIGNMENT * ALIGNMENT;
    const size_t rest = team->channel_bytes - parted, lines = rest / LINES_OF_REST / ALIGNMENT * ALIGNMENT;
    struct tutti_region region = {.begin = flags + regions[id].begin * part,
                                  .bytes = (regions[id].end - regions[id].begin) * part};
    if (id == TUTTI_REGION_LINES)
        region.bytes += lines;
    if (id == TUTTI_REGION_CHUNKS) {
        region.begin += lines;
        region.bytes += (rest - lines) / ALIGNMENT * ALIGNMENT;
    }
    const size_t parts = id == TUTTI_REGION_CHUNKS ? 4 : 2;
    region.stride = region.bytes / parts / ALIGNMENT * ALIGNMENT;
    region.each = (parts - 1) * region.stride;
    return region;
}

size_t tutti_channel_half(const struct tutti_team *team)
{
    return tutti_channel_region(team, TUTTI_REGION_HALVES).bytes / 2 / ALIGNMENT * ALIGNMENT;
}

size_t tutti_channel_data(const struct tutti_team *team, uint32_t epoch)
{
    return tutti_channel_region(team, TUTTI_REGION_HALVES).begin + (epoch & 1 ? tutti_channel_half(team) : 0);
}

unsigned tutti_launch_blocks(const struct tutti_team *team, size_t bytes, int waits)
{
    size_t blocks = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    size_t most = waits ? tutti_coll_blocks(team) : team->blocks < TUTTI_MAX_BLOCKS ? team->blocks : TUTTI_MAX_BLOCKS;
    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

void tutti_launch_begin(struct tutti_team *team, struct tutti_kernel_args *args)
{
    tutti_phase(TUTTI_PHASE_LAUNCH);
    tutti_team_mail_leave(team); /* or the launch would wait for it */
    *args = (struct tutti_kernel_args){
        .ranks = (uint32_t)team->size,
        .gpus = (uint32_t)team->gpus,
        .gpu = (uint32_t)team->gpu_index,
        .abort = &team->words_device->abort,
        .done = &team->words_device->done,
        .where = &team->words_device->where,
        .timeout_ns = (uint64_t)tutti_settings()->timeout_seconds * 1000000000u,
        .host_wait = tutti_team_host_wait,
        .host_wait_with = team,
    };
    if (++team->epoch == 0) /* zero is the value of fresh flags */
        team->epoch = 2;
    args->epoch = team->epoch;
    memcpy(args->window, team->window, sizeof args->window);
}

/* Sets the buffers of these ranks, from byte `at` on, as the launch's. */
static void launch_locals(struct tutti_kernel_args *args, const struct tutti_locals *locals, size_t at)
{
    args->locals = args->outs = (uint32_t)locals->n;
    for (int i = 0; i < locals->n; i++) {
        args->local[i] = (uint16_t)locals->rank[i];
        args->in[locals->rank[i]] = (const char *)locals->in[i] + at;
        args->out[i] = (char *)locals->out[i] + at;
    }
}

int tutti_launch_end(struct tutti_team *team, struct tutti_kernel_args *args, enum tutti_kernel kernel, int type,
                     int op, unsigned blocks)
{
    team->finished += blocks;
    args->finished = team->finished;
    args->blocks = blocks;
    struct tutti_launch launch = {
        .kernel = kernel, .type = type, .op = op, .blocks = blocks, .gpu = team->gpu, .args = args};
    int status = team->device->launch.kernel(team->stream, &launch);
    tutti_phase(TUTTI_PHASE_KERNEL);
    return status == TUTTI_OK ? TUTTI_OK : tutti_team_break(team, status);
}

/* A fiber may continue on another thread, so each has its own. */
static int *launch_waits(void)
{
    static __thread int waits;
    struct tutti_fiber *const fiber = tutti_fiber_here();
    return fiber ? &fiber->waits : &waits;
}

int tutti_waiting_now(void)
{
    return *launch_waits();
}

void tutti_waiting_begin(const struct tutti_team *team)
{
    ++*launch_waits();
    if (team->device->launch.waiting_begin)
        team->device->launch.waiting_begin();
}

void tutti_waiting_end(const struct tutti_team *team)
{
    --*launch_waits();
    if (team->device->launch.waiting_end)
        team->device->launch.waiting_end();
}

uint64_t tutti_all_ranks(const struct tutti_team *team)
{
    return team->size == 64 ? ~UINT64_C(0) : (UINT64_C(1) << team->size) - 1;
}

int tutti_launch_windows(struct tutti_team *team, const struct tutti_locals *locals, size_t count, int type, int op,
                         enum tutti_kernel kernel, int sliced)
{
    const size_t size = tutti_type_size(type), ranks = (size_t)team->size, gpus = (size_t)team->gpus;
    const size_t slot = tutti_channel_half(team) / (sliced ? ranks + gpus : ranks) / ALIGNMENT * ALIGNMENT;
    const size_t most = sliced ? slot / size * gpus : slot / size;
    const size_t grain = ALIGNMENT / size; /* slices begin at whole lines of the piece */
    int status = TUTTI_OK;
    tutti_waiting_begin(team);
    for (size_t at = 0; at < count && status == TUTTI_OK; at += most) {
        struct tutti_kernel_args args;
        tutti_launch_begin(team, &args);
        args.count = count - at < most ? count - at : most;
        launch_locals(&args, locals, at * size);
        args.slot_bytes = slot;
        args.slots = tutti_channel_data(team, args.epoch);
        if (sliced) {
            args.slice = ((args.count + gpus - 1) / gpus + grain - 1) / grain * grain;
            args.result = args.slots + ranks * slot;
        }
        const unsigned blocks = tutti_launch_blocks(team, (sliced ? args.slice : args.count) * size, 1);
        status = tutti_launch_end(team, &args, kernel, type, op, blocks);
    }
    if (status == TUTTI_OK)
        status = tutti_team_await_kernel(team, team->epoch);
    tutti_waiting_end(team);
    return status;
}
