/* NVIDIA GPUs through the CUDA driver API. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "device/cuda/gate.h"
#include "device/cuda/gpu.h"
#include "kernels/args.h"
#include "kernels/pack_args.h"
#include "progress/gate.h"

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static int open_done, open_status;
static char open_why[512];

static int cuda_open_once(char *why, size_t size)
{
    int version = 0, count = 0;
    int status = tutti_cuda_load(why, size);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.Init(0);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.DeviceGetCount(&count);
    if (result == CUDA_SUCCESS && count == 0)
        result = CUDA_ERROR_NO_DEVICE;
    if (result != CUDA_SUCCESS) {
        snprintf(why, size, "CUDA cannot be initialised: %s (%d): look at nvidia-smi and CUDA_VISIBLE_DEVICES",
                 tutti_cuda_error_name(result), (int)result);
        return TUTTI_ERR_UNAVAILABLE;
    }
    if (tutti_cuda.DriverGetVersion(&version) == CUDA_SUCCESS)
        tutti_debug("CUDA driver of version %d.%d, %d GPUs", version / 1000, version % 1000 / 10, count);
    return TUTTI_OK;
}

static int cuda_open(char *why, size_t size)
{
    pthread_mutex_lock(&open_lock);
    if (!open_done) {
        open_status = cuda_open_once(open_why, sizeof open_why);
        open_done = 1;
    }
    int status = open_status;
    if (status != TUTTI_OK && size)
        snprintf(why, size, "%s", open_why);
    pthread_mutex_unlock(&open_lock);
    if (status == TUTTI_OK && !tutti_cuda_ready()) {
        snprintf(why, size, "CUDA cannot be used in a process forked from one that uses it");
        status = TUTTI_ERR_UNAVAILABLE;
    }
    return status;
}

static void cuda_close(void)
{
    pthread_mutex_lock(&open_lock);
    if (tutti_cuda_ready())
        tutti_cuda_contexts_close(tutti_cuda_spares_drop);
    open_done = 0;
    pthread_mutex_unlock(&open_lock);
}

static int cuda_gpus(void)
{
    return tutti_cuda_active() ? tutti_cuda_count() : 0;
}

static int cuda_current(int *gpu)
{
    if (!tutti_cuda_ready())
        return TUTTI_ERR_UNAVAILABLE;
    *gpu = tutti_cuda_current();
    return TUTTI_OK;
}

static int cuda_choose(int gpu)
{
    struct tutti_cuda_scope scope;
    int status = tutti_cuda_enter(gpu, 1, &scope);
    if (status != TUTTI_OK)
        return status;
    struct tutti_cuda_context *context = scope.context;
    tutti_cuda_leave(&scope);
    return tutti_cuda_check(tutti_cuda.CtxSetCurrent(context->handle), "choosing the GPU", context);
}

static int cuda_meet(int *gpu)
{
    struct tutti_cuda_scope scope;
    const int mine = tutti_cuda_any();
    const int status = tutti_cuda_enter(mine, 1, &scope);
    if (status != TUTTI_OK)
        return status;
    tutti_cuda_leave(&scope);
    tutti_cuda_complete_all(mine); /* no call of the MPI need name memory that Tutti hands out */
    *gpu = mine;
    return TUTTI_OK;
}

static int device_of(int gpu, CUdevice *device)
{
    if (!tutti_cuda_ready())
        return TUTTI_ERR_UNAVAILABLE;
    if (gpu < 0 || gpu >= tutti_cuda_count())
        return TUTTI_ERR_ARGUMENT;
    CUresult result = tutti_cuda.DeviceGet(device, gpu);
    return result == CUDA_SUCCESS ? TUTTI_OK : tutti_cuda_failed(result, "finding the GPU", gpu);
}

static int cuda_uuid(int gpu, unsigned char uuid[16])
{
    CUdevice device;
    CUuuid found;
    int status = device_of(gpu, &device);
    if (status != TUTTI_OK)
        return status;
    CUresult result = tutti_cuda.DeviceGetUuid(&found, device);
    if (result != CUDA_SUCCESS)
        return tutti_cuda_failed(result, "asking for the UUID", gpu);
    memcpy(uuid, found.bytes, 16);
    return TUTTI_OK;
}

static int cuda_attribute(CUdevice device, CUdevice_attribute which)
{
    int value = 0;
    return tutti_cuda.DeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

static int cuda_describe(int gpu, char *text, size_t size)
{
    CUdevice device;
    char name[128] = "NVIDIA GPU", bus[32] = "unknown";
    size_t bytes = 0;
    int status = device_of(gpu, &device);
    if (status != TUTTI_OK)
        return status;
    /* What the driver does not report keeps its substitute. */
    tutti_cuda.DeviceGetName(name, sizeof name, device);
    tutti_cuda.DeviceGetPCIBusId(bus, sizeof bus, device);
    tutti_cuda.DeviceTotalMem(&bytes, device);
    snprintf(text, size, "%s, sm_%d%d, %d multiprocessors, %.0f GiB, PCI %s", name,
             cuda_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
             cuda_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
             cuda_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), (double)bytes / (1 << 30), bus);
    return TUTTI_OK;
}

/* Native atomics are there on NVLink, but not on it alone. */
static int cuda_lines(const unsigned char one[16], const unsigned char other[16])
{
    const int setting = tutti_settings()->lines;
    return setting == TUTTI_SET_AUTO ? tutti_cuda_nvlink(one, other) : setting == TUTTI_SET_YES;
}

static int cuda_links_are_ready(const unsigned char (*gpus)[16], int n, int ask)
{
    return tutti_settings()->lines != TUTTI_SET_AUTO || tutti_cuda_nvlink_ready(gpus, n, ask);
}

static int visible_reach(CUdevice device, CUdevice other)
{
    int can = 0, atomics = 0;
    if (tutti_cuda.DeviceCanAccessPeer(&can, device, other) != CUDA_SUCCESS || !can)
        return 0;
    return tutti_cuda.DeviceGetP2PAttribute(&atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, device, other) ==
                       CUDA_SUCCESS &&
                   atomics
               ? 2
               : 1;
}

int tutti_cuda_of_uuid(const unsigned char uuid[16], CUdevice *device)
{
    CUuuid found;
    for (int g = 0, count = tutti_cuda_count(); g < count; g++) {
        if (tutti_cuda.DeviceGet(device, g) == CUDA_SUCCESS &&
            tutti_cuda.DeviceGetUuid(&found, *device) == CUDA_SUCCESS && memcmp(found.bytes, uuid, 16) == 0)
            return 1;
    }
    return 0;
}

static int cuda_reach(int gpu, const unsigned char peer[16])
{
    CUdevice device, other;
    unsigned char own[16];
    if (device_of(gpu, &device) != TUTTI_OK || cuda_uuid(gpu, own) != TUTTI_OK)
        return 0;
    if (memcmp(own, peer, 16) == 0)
        return 2;
    if (tutti_cuda_of_uuid(peer, &other))
        return visible_reach(device, other);
    /* A GPU that CUDA_VISIBLE_DEVICES hides from this process cannot be asked about, but the driver maps its memory all
     * the same where the link allows: the attempt decides, when windows are imported and all ranks agree on the
     * outcome. */
    return 2;
}

/* One block a multiprocessor: that of a kernel that waits may take all of its registers. */
/* Longer than half a round trip by kernels that do not stay, twice. */
static uint64_t cuda_stay_ns(void)
{
    return 40000;
}

/* Two H200: the first mapping of a peer's memory takes 2 ms, where both ranks map at once the later one 4 ms, of 2 MiB
 * as of 336, and the first one of 512 MiB to 4 GiB takes 10 and 20 ms; further ones of as many bytes 0.05 to 0.16 ms,
 * unless the first one is released before. */
static uint64_t cuda_share_usual_ns(void)
{
    return 2000000;
}

static uint64_t cuda_share_joined_ns(void)
{
    return 200000;
}

/* Seen with driver 13.0: IPC handles are opened, descriptors and pools imported while kernels of both processes run.
 * Older drivers were not tried. */
static int cuda_maps_beside(void)
{
    enum { TRIED = 13000 };
    static _Atomic int version;
    int now = atomic_load_explicit(&version, memory_order_relaxed);
    if (now == 0 && tutti_cuda.DriverGetVersion(&now) == CUDA_SUCCESS)
        atomic_store_explicit(&version, now, memory_order_relaxed);
    return now >= TRIED;
}

static unsigned cuda_blocks(int gpu)
{
    CUdevice device;
    if (device_of(gpu, &device) != TUTTI_OK)
        return 1;
    int blocks = cuda_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    return blocks < 1 ? 1 : blocks < TUTTI_MAX_BLOCKS ? (unsigned)blocks : TUTTI_MAX_BLOCKS;
}

/* Half of the multiprocessors are left to the program. */
static unsigned cuda_stay_blocks(int gpu)
{
    const unsigned half = cuda_blocks(gpu) / 2;
    return half < TUTTI_PACK_STAY_BLOCKS ? half : TUTTI_PACK_STAY_BLOCKS;
}

static unsigned cuda_resident(int gpu)
{
    CUdevice device;
    int blocks =
        device_of(gpu, &device) == TUTTI_OK ? cuda_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) : 0;
    return blocks < 1 ? 1 : (unsigned)blocks;
}

/* Rows of leaders can run only where ranks share GPUs, the others only where they do not: those come first, since every
 * call reads the rules.
 * Rules for 5 ranks and more are estimates, from limits that were measured on four GPUs: no more GPUs have been
 * measured. The model: in one exchange a GPU sends, or the root receives, ranks - 1 contributions, in two exchanges 2
 * (ranks - 1) / ranks of one at the same rate. So the limit between the two is inversely proportional to (ranks - 1) (1
 * - 2 / ranks), and that between ll and ll128 to ranks - 1, since packets of ll are twice as long. Each rank of a chain
 * adds about 2.5 us. */
static const char cuda_rules[] =
    "allreduce:"
    " 0-3k/5-*@ll 3k-128k/5-8@ll128 128k-9m/5-8@twoshot_ll128 3k-48k/9-*@ll128 48k-9m/9-*@twoshot_ll128"
    " 0-6k@ll 6k-384k@ll128 384k-1m/2@ll128 9m-1024g/2@pipeline_direct 384k-9m@twoshot_ll128 "
    "9m-256m@pipeline *@copies "
    "9m-1024g@pipeline *@direct "
    "*@pipeline"
    " 0-4k@leader_ll 4k-128k@leader_ll128 128k-6m@leader_twoshot_ll128 *@leader_pipeline *@leader *@staged; "
    "reduce:"
    " 0-12k/5-*@ll 12k-256k/5-8@ll128 256k-8m/5-8@twoshot_ll128 8m-192m/5-8@chain_ll128"
    " 12k-96k/9-*@ll128 96k-16m/9-*@twoshot_ll128 16m-256m/9-*@chain_ll128"
    " 0-32k@ll 32k-768k@ll128 768k-6m@twoshot_ll128 64m-1024g/2@mapped_deep 16m-1024g/2@chain 6m-128m@chain_ll128 "
    "*@chain *@direct"
    " 0-16k@leader_ll 16k-512k@leader_ll128 512k-6m@leader_twoshot_ll128 *@leader *@staged; "
    "reduce_scatter:"
    " 0-12k@ll 9m-1024g/2@mapped_deep 12k-12m@ll128 24m-256m@mapped *@pipeline *@direct *@leader "
    "*@staged; "
    "scan:"
    " 0-12k/5-*@ll 12k-448k/5-8@ll128 448k-*/5-8@direct 12k-192k/9-*@ll128 192k-*/9-*@direct"
    " 0-32k@ll 32k-1m@ll128 *@direct *@ll128 0-16k@leader_ll 16k-2m@leader_ll128 *@leader *@staged; "
    "allreduce_enqueue:"
    " 4480k-10752k/2@mapped_deep 10752k-1024g/2@pipeline_direct; "
    "reduce_scatter_enqueue:"
    " 4480k-1024g/2@mapped_deep; "
    "allreduce_nodes:"
    " 0-64k@two_rounds 0-24k@host_leader *@pipelined; "
    "reduce_scatter_nodes:"
    " 0-8k@two_rounds 0-1m@mpi *@pipelined; "
    "scan_nodes:"
    " 0-64k@two_rounds 0-1m@mpi *@ranks; "
    "leaders:"
    " 0-16k@all_at_once 2m-*@swap *@slices; "
    "leaders_combine:"
    " 0-1m@host *@device; "
    "partitioned:"
    " *@kernel; "
    "partitioned_meet:"
    " 0-48k@kernel *@engine; "
    "message:"
    " 0-16m@direct 0-16k@landed *@engines *@direct *@packed; "
    "message_put:"
    " 0-8191k@never 8m-24m@exchange 24m-1g@busy; "
    "message_to_host:"
    " 0-8k@staged *@direct; "
    "message_far:"
    " 0-255k@staged *@pipelined; "
    "bcast:"
    " 0-383k/2@kept 0-8k@ll 0-256k@ll128 256k-4m@leader_pipeline 384k-4m/2@fetch 256k-4m/2@ll128 256k-768k@ll128 "
    "768k-2m@fetch "
    "*@split *@fetch; "
    "gather:"
    " 0-8k@ll 0-256k@ll128 256k-4m@leader_pipeline 256k-2m@ll128 24m-1024g/2@direct *@fetch 2m-5m/2@ll128 "
    "2m-8m@pipeline; "
    "scatter:"
    " 0-1m/2@kept 0-8k@ll 0-256k@ll128 256k-4m@leader_pipeline 256k-2m@ll128 *@fetch 2m-8m@pipeline; "
    "allgather:"
    " 0-8k@ll 0-256k@ll128 256k-4m@leader_pipeline 256k-2m@ll128 32m-*@direct *@fetch; "
    "alltoall:"
    " 0-8k@ll 0-256k@ll128 256k-4m@leader_pipeline 256k-2m@ll128 24m-1024g/2@direct *@fetch; "
    "neighbor:"
    " 0-8k@ll 0-256k@ll128 256k-4m@leader_pipeline 256k-2m@ll128 32m-*@direct *@fetch; "
    "moves_mixed:"
    " 0-128k@mpi *@direct; "
    "moves_mixed_root:"
    " 0-384k@mpi *@direct; "
    "moves_pinned:"
    " 0-48k@mpi *@direct; "
    "moves_pinned_root:"
    " 0-112k@mpi *@direct; "
    "moves_mixed_leaders:"
    " 0-1m@mpi *@direct";

const struct tutti_device tutti_device_cuda = {
    .name = "cuda",
    .kinds = "cuda,cuda:host,cuda:device,cuda:managed",
    .stream_type = "cudaStream_t",
    .rules = cuda_rules,
    .interface = TUTTI_GPU_INTERFACE_CUDA,
    .graphs = 1,
    .host_steps = 1,
    .channel_mb = 336,
    .lingers = 1,
    .open = cuda_open,
    .active = tutti_cuda_active,
    .sign = &tutti_cuda_sign,
    .gpu.count = cuda_gpus,
    .gpu.current = cuda_current,
    .gpu.choose = cuda_choose,
    .gpu.meet = cuda_meet,
    .gpu.look = tutti_cuda_look,
    .gpu.uuid = cuda_uuid,
    .gpu.describe = cuda_describe,
    .gpu.reach = cuda_reach,
    .gpu.lines = cuda_lines,
    .gpu.ready = cuda_links_are_ready,
    .gpu.blocks = cuda_blocks,
    .gpu.resident = cuda_resident,
    .gpu.turns = tutti_cuda_turns,
    .memory.classify = tutti_cuda_classify,
    .memory.complete_all = tutti_cuda_complete_all,
    .memory.alloc = tutti_cuda_gated_alloc,
    .memory.free = tutti_cuda_gated_free,
    .memory.alloc_pinned = tutti_cuda_gated_alloc_pinned,
    .memory.free_pinned = tutti_cuda_gated_free_pinned,
    .memory.map_host = tutti_cuda_gated_map_host,
    .memory.unmap_host = tutti_cuda_gated_unmap_host,
    .share.export = tutti_cuda_gated_export,
    .share.import = tutti_cuda_gated_import,
    .share.release = tutti_cuda_gated_release,
    .share.usual_ns = cuda_share_usual_ns,
    .share.joined_ns = cuda_share_joined_ns,
    .share.maps_beside = cuda_maps_beside,
    .share.reach = tutti_cuda_gated_reach_memory,
    .range.grain = tutti_cuda_range_grain,
    .range.open = tutti_cuda_gated_range_open,
    .range.add = tutti_cuda_gated_range_add,
    .range.import = tutti_cuda_gated_range_import,
    .range.cut = tutti_cuda_gated_range_cut,
    .range.close = tutti_cuda_gated_range_close,
    .stream.create = tutti_cuda_gated_stream_create,
    .stream.destroy = tutti_cuda_gated_stream_destroy,
    .stream.wrap = tutti_cuda_stream_wrap,
    .stream.identity = tutti_cuda_stream_identity,
    .stream.order = tutti_cuda_stream_order,
    .stream.capturing = tutti_cuda_stream_capturing,
    .stream.sync = tutti_cuda_stream_sync,
    .stream.query = tutti_cuda_stream_query,
    .event.create = tutti_cuda_event_create,
    .event.destroy = tutti_cuda_event_destroy,
    .event.record = tutti_cuda_event_record,
    .event.record_default = tutti_cuda_event_record_default,
    .event.wait = tutti_cuda_event_wait,
    .event.query = tutti_cuda_event_query,
    .stream.copy = tutti_cuda_copy,
    .stream.copy_in = tutti_cuda_copy_in,
    .stream.land = tutti_cuda_land,
    .stream.fill = tutti_cuda_fill,
    .stream.call = tutti_cuda_call,
    .launch.kernel = tutti_cuda_launch,
    .launch.own = tutti_cuda_launch_own,
    .launch.keep = tutti_cuda_gated_launch_prepare,
    .launch.kept = tutti_cuda_launch_prepared,
    .launch.drop = tutti_cuda_gated_launch_drop,
    .launch.pack = tutti_cuda_launch_pack,
    .launch.own_pack = tutti_cuda_launch_own_pack,
    .launch.stay_pack = tutti_cuda_stay_pack,
    .launch.prepare_pack = tutti_cuda_gated_prepare_pack,
    .launch.keep_pack = tutti_cuda_gated_keep_pack,
    .launch.shmem = tutti_cuda_launch_shmem,
    .launch.prepare_shmem = tutti_cuda_gated_prepare_shmem,
    .launch.lane = tutti_cuda_launch_lane,
    .launch.prepare_lane = tutti_cuda_gated_prepare_lane,
    .launch.meet = tutti_cuda_launch_meet,
    .launch.prepare_meet = tutti_cuda_gated_prepare_meet,
    .launch.prepare = tutti_cuda_prepare,
    .launch.lacks = tutti_cuda_lacks,
    .launch.waiting_begin = tutti_gate_waiting_begin,
    .launch.waiting_end = tutti_gate_waiting_end,
    .launch.apart_begin = tutti_gate_apart_begin,
    .launch.apart_end = tutti_gate_apart_end,
    .launch.stay_blocks = cuda_stay_blocks,
    .launch.stay_ns = cuda_stay_ns,
    .memory.copy_now = tutti_cuda_copy_now,
    .memory.copy_pinned = tutti_cuda_copy_pinned,
    .memory.copy_begin = tutti_cuda_copy_begin,
    .memory.copy_end = tutti_cuda_copy_end,
    .memory.copy_ordinary = tutti_cuda_copy_ordinary,
    .memory.few = 4 << 10,
    .close = cuda_close,
};
