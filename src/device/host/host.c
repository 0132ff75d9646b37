/* The host device: simulated GPUs in shared memory. They share memory and processors and differ in name alone, unless
 * TUTTI_HOST_LINKS makes them separate (gpus.h). */
#include "device/host/host.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/counters.h"
#include "core/fnv.h"
#include "core/log.h"
#include "core/once.h"
#include "core/settings.h"
#include "core/status.h"
#include "device/host/asked.h"
#include "device/host/gpus.h"
#include "device/host/places.h"
#include "device/host/program.h"
#include "kernels/pack_args.h"
#include "kernels/reduce.h"
#include "progress/fiber.h"
#include "progress/gate.h"

static int host_open(char *why, size_t size)
{
    int status = tutti_host_arena_open();
    tutti_host_initialise();
    if (status == TUTTI_ERR_UNAVAILABLE)
        snprintf(why, size, "it cannot be used in a process forked from one that uses it");
    else if (status != TUTTI_OK)
        snprintf(why, size, "no address space for its memory; a smaller TUTTI_HOST_ARENA_GB may help");
    return status;
}

static struct tutti_device_sign host_sign = {&tutti_host_awake};

static int host_active(void)
{
    return tutti_host_separate() ? tutti_host_initialised() && !tutti_host_forked() : tutti_host_arena_active();
}

static int host_gpus(void)
{
    return tutti_host_separate() && !tutti_host_initialised() ? 0 : tutti_host_gpus();
}

static int host_current(int *gpu)
{
    *gpu = tutti_host_chosen();
    return TUTTI_OK;
}

static int host_choose(int gpu)
{
    if (gpu < 0 || gpu >= tutti_host_gpus())
        return TUTTI_ERR_ARGUMENT;
    tutti_host_choose(gpu);
    return TUTTI_OK;
}

/* Of GPUs that are not separate none is the calling thread's before it chooses one. */
static int host_meet(int *gpu)
{
    const int mine = tutti_host_chosen();
    *gpu = mine;
    if (!tutti_host_separate())
        return TUTTI_OK;
    *gpu = mine < 0 ? 0 : mine;
    tutti_host_choose(*gpu);
    tutti_host_pass(*gpu);
    return TUTTI_OK;
}

static char boot[40]; /* its number */
static struct tutti_once boot_once = TUTTI_ONCE_INIT;

static void read_boot(void)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, boot, 36) : 0;
    if (fd >= 0)
        close(fd);
    boot[n > 0 ? n : 0] = '\0';
}

/* Equal on one machine until it reboots: the boot's number, hashed with the card's. */
static void card_uuid(int card, unsigned char uuid[16])
{
    char text[96];
    tutti_once(&boot_once, read_boot);
    snprintf(text, sizeof text, "%s tutti-host %d", boot, card);
    for (unsigned half = 0; half < 2; half++) {
        const uint64_t hash = tutti_fnv(TUTTI_FNV_BEGIN + half, text, strlen(text));
        memcpy(uuid + 8 * half, &hash, sizeof hash);
    }
}

static int host_uuid(int gpu, unsigned char uuid[16])
{
    if (gpu < 0 || gpu >= TUTTI_HOST_GPUS_MOST)
        return TUTTI_ERR_ARGUMENT;
    card_uuid(tutti_host_card(gpu), uuid);
    return TUTTI_OK;
}

static int host_describe(int gpu, char *text, size_t size)
{
    snprintf(text, size, "simulated GPU %d in shared memory, kernels in C (%s)", gpu, tutti_kernel_host_isa());
    return TUTTI_OK;
}

static int host_reach(int gpu, const unsigned char peer[16])
{
    unsigned char uuid[16];
    if (!tutti_host_separate())
        return 2;
    for (int card = 0; card < TUTTI_HOST_GPUS_MOST; card++) {
        card_uuid(card, uuid);
        if (memcmp(uuid, peer, sizeof uuid) == 0)
            return tutti_host_linked(tutti_host_card(gpu), card) ? 2 : 0;
    }
    return 0;
}

static unsigned host_blocks(int gpu)
{
    (void)gpu;
    const unsigned places = tutti_host_places();
    return places > 0 ? places : 1;
}

static unsigned host_resident(int gpu)
{
    (void)gpu;
    return tutti_host_places();
}

static void host_close(void)
{
}

/* Calls that a GPU's driver may block while kernels wait are kept back as there, so that tests find ranks that wait for
 * each other so; a thread that makes one while its own kernel waits is reported. */
static int *host_waiting(void)
{
    static __thread int waiting;
    struct tutti_fiber *const fiber = tutti_fiber_here();
    return fiber ? &fiber->holds : &waiting;
}

int tutti_host_ranks_are_threads;

static void host_waiting_begin(void)
{
    if (!tutti_host_ranks_are_threads)
        tutti_gate_waiting_begin();
    ++*host_waiting();
}

static void host_waiting_end(void)
{
    --*host_waiting();
    if (!tutti_host_ranks_are_threads)
        tutti_gate_waiting_end();
}

static int host_apart_begin(void)
{
    return tutti_host_ranks_are_threads || tutti_gate_apart_begin();
}

static void host_apart_end(void)
{
    if (!tutti_host_ranks_are_threads)
        tutti_gate_apart_end();
}

static int used_before_program(const char *what)
{
    if (*host_waiting())
        tutti_error(
            "host device: %s between waiting_begin and waiting_end: with a GPU this thread would wait for itself",
            what);
    return *host_waiting();
}

static int tutti_host_prepare_pack(int gpu, int all, size_t *room)
{
    (void)all;
    tutti_host_work_on(&gpu, "the packing kernel");
    *room = sizeof(struct tutti_pack_args);
    return TUTTI_OK;
}

static void host_awaits_nothing(const char *what)
{
    (void)what;
}

/* As on a GPU: memory of peers can be mapped at any time, and unmapping it waits for all kernels of the process. */
static int host_maps_beside(void)
{
    return 1;
}

static int tutti_host_release_at_rest(int gpu, const struct tutti_export *what, void *base)
{
    if (!tutti_host_ranks_are_threads)
        tutti_host_streams_drain_all();
    return tutti_host_release(gpu, what, base);
}

#define KEPT_BACK_BY(shut, await, name, parameters, arguments)                                                         \
    static int kept_##name parameters                                                                                  \
    {                                                                                                                  \
        if (used_before_program(#name))                                                                                \
            return TUTTI_ERR_DEVICE;                                                                                   \
        if (!tutti_host_ranks_are_threads)                                                                             \
            shut();                                                                                                    \
        await(#name);                                                                                                  \
        const int status = tutti_host_##name arguments;                                                                \
        if (!tutti_host_ranks_are_threads)                                                                             \
            tutti_gate_open();                                                                                         \
        return status;                                                                                                 \
    }
#define KEPT_BACK(name, parameters, arguments)                                                                         \
    KEPT_BACK_BY(tutti_gate_shut, host_awaits_nothing, name, parameters, arguments)
/* Also by kernels that wait for a step of the host. */
#define KEPT_BY_STEPS(name, parameters, arguments)                                                                     \
    KEPT_BACK_BY(tutti_gate_shut_steps, tutti_host_asked_await, name, parameters, arguments)
KEPT_BACK(alloc, (int gpu, size_t bytes, void **device), (gpu, bytes, device))
KEPT_BACK(alloc_cleared, (int gpu, size_t bytes, void **device), (gpu, bytes, device))
KEPT_BY_STEPS(free, (void *device), (device))
KEPT_BACK(alloc_pinned, (size_t bytes, void **host), (bytes, host))
KEPT_BY_STEPS(free_pinned, (void *host), (host))
KEPT_BY_STEPS(map_host, (int gpu, void *host, size_t bytes, void **device), (gpu, host, bytes, device))
KEPT_BY_STEPS(unmap_host, (int gpu, void *host), (gpu, host))
KEPT_BACK(export, (const void *device, struct tutti_export *out, int *fd), (device, out, fd))
KEPT_BY_STEPS(import, (int gpu, const struct tutti_export *what, int fd, void **base), (gpu, what, fd, base))
KEPT_BY_STEPS(release_at_rest, (int gpu, const struct tutti_export *what, void *base), (gpu, what, base))
KEPT_BACK(reach_memory, (int gpu, const void *device), (gpu, device))
KEPT_BACK(range_open, (int gpu, size_t bytes, void **base), (gpu, bytes, base))
KEPT_BACK(range_add, (int gpu, void *at, size_t bytes), (gpu, at, bytes))
KEPT_BY_STEPS(range_import, (int gpu, const struct tutti_export *what, int fd, void *at), (gpu, what, fd, at))
KEPT_BY_STEPS(range_cut, (int gpu, void *at), (gpu, at))
KEPT_BY_STEPS(range_close, (int gpu, void *base), (gpu, base))
KEPT_BY_STEPS(prepare_pack, (int gpu, int all, size_t *room), (gpu, all, room))
KEPT_BACK(launch_prepare,
          (struct tutti_stream * stream, const struct tutti_launch *launch, struct tutti_prepared **out),
          (stream, launch, out))
KEPT_BACK(keep_pack,
          (struct tutti_stream * stream, const struct tutti_pack_launch *launch, struct tutti_prepared **out),
          (stream, launch, out))
KEPT_BACK(stream_create, (int gpu, struct tutti_stream **out), (gpu, out))
KEPT_BACK(stream_destroy, (struct tutti_stream * stream), (stream))

static int kept_copy_known(int gpu, int in, void *to, const void *from, size_t bytes)
{
    (void)in;
    if (used_before_program("copy_now"))
        return TUTTI_ERR_DEVICE;
    tutti_host_notice(gpu);
    return tutti_host_copy_now(to, from, bytes);
}

/* The bytes are copied at the end: a caller that reads them before finds others. */
static int host_copy_begin(int gpu, void *to, const void *from, size_t bytes, struct tutti_copying *copying)
{
    if (used_before_program("copy_begin"))
        return TUTTI_ERR_DEVICE;
    tutti_host_notice(gpu);
    *copying = (struct tutti_copying){.to = to, .from = from, .bytes = bytes};
    return TUTTI_OK;
}

static int host_copy_end(struct tutti_copying *copying)
{
    return tutti_host_copy_now(copying->to, copying->from, copying->bytes);
}

/* As on a GPU, whose driver is asked what either side is. */
static int kept_copy_now(void *to, const void *from, size_t bytes)
{
    for (int side = 0; side < 2; side++)
        tutti_count("GPU driver", TUTTI_OUTCOME_ASKED, "what memory is");
    tutti_host_look();
    return kept_copy_known(-1, 0, to, from, bytes);
}

/* As on a GPU whose library starts in the background: after as long as a mapping takes, in each process by itself. */
static int host_gpu_ready(const unsigned char (*gpus)[16], int n, int ask)
{
    (void)gpus;
    if (n < 2)
        return 1;
    static _Atomic uint64_t since;
    uint64_t first = 0;
    const uint64_t now = tutti_now_ns();
    if (tutti_settings()->host_mapping_us == 0)
        return 1;
    if (ask ? atomic_compare_exchange_strong(&since, &first, now) : (first = atomic_load(&since)) == 0)
        return 0;
    return now - first >= (uint64_t)tutti_settings()->host_mapping_us * 1000;
}

static int host_turns(int gpu)
{
    (void)gpu;
    return tutti_settings()->host_turns_us > 0;
}

static uint64_t host_stay_ns(void)
{
    return (uint64_t)tutti_settings()->host_stay_us * 1000;
}

/* Threads of this machine. */
static unsigned host_stay_blocks(int gpu)
{
    (void)gpu;
    return 6;
}

static uint64_t host_share_usual_ns(void)
{
    return (uint64_t)tutti_settings()->host_mapping_us * 1000;
}

static uint64_t host_share_joined_ns(void)
{
    const int us = tutti_settings()->host_joined_us;
    return us > 0 ? (uint64_t)us * 1000 : host_share_usual_ns();
}

/* Rows of leaders can run only where ranks share GPUs, the others only where they do not. */
static const char host_rules[] = "allreduce:"
                                 " 0-4k@leader_oneshot *@leader *@leader_twoshot"
                                 " 0-4k@oneshot *@direct *@twoshot *@staged; "
                                 "reduce:"
                                 " *@leader *@direct *@staged; "
                                 "reduce_scatter:"
                                 " *@leader *@direct *@staged; "
                                 "scan:"
                                 " *@leader *@direct *@staged; "
                                 "message:"
                                 " 0-4k@staged *@direct 0-16k@landed *@packed; "
                                 "message_far:"
                                 " 0-1023k@staged *@pipelined; "
                                 "partitioned:"
                                 " 0-1m@kernel *@engine; "
                                 "file_write:"
                                 " 0-524287@whole *@even; "
                                 "file_read:"
                                 " 0-524287@whole *@even";

const struct tutti_device tutti_device_host = {
    .name = "host",
    .kinds = "tutti:device",
    .stream_type = "tutti_stream",
    .rules = host_rules,
    .simulates = 1,
    .host_steps = 1,
    .channel_mb = 64,
    .open = host_open,
    .active = host_active,
    .sign = &host_sign,
    .gpu.count = host_gpus,
    .gpu.current = host_current,
    .gpu.choose = host_choose,
    .gpu.meet = host_meet,
    .gpu.uuid = host_uuid,
    .gpu.describe = host_describe,
    .gpu.ready = host_gpu_ready,
    .gpu.look = tutti_host_look,
    .gpu.reach = host_reach,
    .gpu.blocks = host_blocks,
    .gpu.resident = host_resident,
    .gpu.turns = host_turns,
    .memory.classify = tutti_host_classify,
    .memory.alloc = kept_alloc,
    .memory.alloc_cleared = kept_alloc_cleared,
    .memory.free = kept_free,
    .memory.alloc_pinned = kept_alloc_pinned,
    .memory.free_pinned = kept_free_pinned,
    .memory.map_host = kept_map_host,
    .memory.unmap_host = kept_unmap_host,
    .share.export = kept_export,
    .share.import = kept_import,
    .share.release = kept_release_at_rest,
    .share.maps_beside = host_maps_beside,
    .share.usual_ns = host_share_usual_ns,
    .share.joined_ns = host_share_joined_ns,
    .share.reach = kept_reach_memory,
    .range.grain = tutti_host_range_grain,
    .range.open = kept_range_open,
    .range.add = kept_range_add,
    .range.import = kept_range_import,
    .range.cut = kept_range_cut,
    .range.close = kept_range_close,
    .stream.create = kept_stream_create,
    .stream.destroy = kept_stream_destroy,
    .stream.wrap = tutti_host_stream_wrap,
    .stream.identity = tutti_host_stream_identity,
    .stream.order = tutti_host_stream_order,
    .stream.capturing = tutti_host_stream_capturing,
    .stream.sync = tutti_host_stream_sync,
    .stream.query = tutti_host_stream_query,
    .event.create = tutti_host_event_create,
    .event.destroy = tutti_host_event_destroy,
    .event.record = tutti_host_event_record,
    .event.wait = tutti_host_event_wait,
    .event.query = tutti_host_event_query,
    .stream.copy = tutti_host_copy,
    .stream.fill = tutti_host_fill,
    .stream.call = tutti_host_call,
    .stream.land = tutti_host_land,
    .launch.kernel = tutti_host_launch,
    .launch.pack = tutti_host_launch_pack,
    .launch.stay_pack = tutti_host_stay_pack,
    .launch.mail_pack = tutti_host_mail_pack,
    .launch.prepare_pack = kept_prepare_pack,
    .launch.keep_pack = kept_keep_pack,
    .launch.shmem = tutti_host_launch_shmem,
    .launch.lane = tutti_host_launch_lane,
    .launch.meet = tutti_host_launch_meet,
    .launch.keep = kept_launch_prepare,
    .launch.kept = tutti_host_launch_prepared,
    .launch.drop = tutti_host_launch_drop,
    .launch.waiting_begin = host_waiting_begin,
    .launch.waiting_end = host_waiting_end,
    .launch.apart_begin = host_apart_begin,
    .launch.apart_end = host_apart_end,
    .launch.stay_blocks = host_stay_blocks,
    .launch.stay_ns = host_stay_ns,
    .memory.copy_now = kept_copy_now,
    .memory.copy_pinned = kept_copy_known,
    .memory.copy_begin = host_copy_begin,
    .memory.copy_end = host_copy_end,
    .memory.copy_ordinary = kept_copy_known,
    .memory.few = 7,
    .close = host_close,
};
