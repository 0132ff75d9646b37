/* Opening and shutting the door over a communicator: whether it opens at all, and what it leaves behind. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fnv.h"
#include "core/log.h"
#include "core/settings.h"
#include "mpi/bounce/early.h"
#include "mpi/bounce/stage.h"
#include "mpi/comm/comms.h"
#include "mpi/comm/hints.h"
#include "mpi/comm/streams.h"
#include "mpi/front/front.h"
#include "mpi/message/endpoints.h"
#include "mpi/message/requests.h"
#include "mpi/message/rndv.h"
#include "mpi/message/start.h"
#include "mpi/message/unexpected.h"
#include "mpi/move/mover.h"
#include "mpi/nodes/over_nodes.h"
#include "mpi/part/partitioned.h"
#include "mpi/queue/nodes.h"
#include "mpi/queue/queue.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"
#include "mpi/real/hook.h"
#include "mpi/real/self.h"
#include "mpi/reduce/nonblocking.h"
#include "mpi/reduce/stream_proxy.h"
#include "mpi/request/request.h"
#include "mpi/type/datatypes.h"
#include "progress/fiber.h"
#include "progress/helper.h"
#include "shmem/shmem.h"
#include "tutti/tutti.h"

const struct tutti_front *tutti_front;
static struct tutti_mpi_transport world;

/* Settings that must be the same on all ranks, because they decide the path of a call. */
static int64_t agreed_settings(void)
{
    static const char *const decisive[] = {"TUTTI_RULES",      "TUTTI_CHANNEL_MB", "TUTTI_WINDOW_MB",
                                           "TUTTI_STAGING_MB", "TUTTI_NODE_RANKS", "TUTTI_HOST_GPUS"};
    struct tutti_setting_row row;
    uint64_t hash = TUTTI_FNV_BEGIN;
    for (int i = 0; tutti_settings_row(i, &row); i++) {
        for (size_t k = 0; k < sizeof decisive / sizeof decisive[0]; k++) {
            if (strcmp(row.name, decisive[k]) != 0)
                continue;
            hash = tutti_fnv(hash, row.value, strlen(row.value));
            hash = tutti_fnv(hash, "\n", 1);
        }
    }
    return (int64_t)(hash >> 2);
}

static int64_t version_number(void)
{
    int a = 0, b = 0, c = 0;
    sscanf(tutti_version(), "%d.%d.%d", &a, &b, &c);
    return ((int64_t)a * 1000 + b) * 1000 + c;
}

/* One real allreduce: is a device possible anywhere, and do versions and settings match. */
static int life_agree(void)
{
    enum { DEVICE, VERSION, VERSION_LEAST, SETTINGS, SETTINGS_LEAST, SILENT, WORDS };
    int64_t mine[WORDS], all[WORDS];
    mine[DEVICE] = tutti_door.device != NULL;
    mine[VERSION] = version_number();
    mine[VERSION_LEAST] = -mine[VERSION];
    mine[SETTINGS] = agreed_settings();
    mine[SETTINGS_LEAST] = -mine[SETTINGS];
    mine[SILENT] = !tutti_settings()->stats;
    if (tutti_next.MPI_Allreduce(mine, all, WORDS, tutti_handles.int64, tutti_handles.max, tutti_handles.world) !=
        MPI_SUCCESS)
        return 0;
    tutti_door.stats = !all[SILENT];
    if (all[VERSION] != -all[VERSION_LEAST]) {
        if (tutti_door.rank == 0)
            tutti_error("the ranks have different versions of Tutti: every call is passed on to the MPI");
        return 0;
    }
    if (all[SETTINGS] != -all[SETTINGS_LEAST]) {
        if (tutti_door.rank == 0)
            tutti_error("TUTTI_RULES, TUTTI_CHANNEL_MB, TUTTI_WINDOW_MB, TUTTI_STAGING_MB, TUTTI_NODE_RANKS "
                        "or TUTTI_HOST_GPUS differ over the ranks: every call is passed on to the MPI");
        return 0;
    }
    return all[DEVICE] != 0;
}

/* No MPI is given device pointers unless it is asked for: what could be tried fails, see tutti_quirks.offloads. */
static int gpu_aware(void)
{
    return tutti_settings()->mpi_gpu_aware == TUTTI_SET_YES;
}

static void after_fork(void)
{
    if (!tutti_door.on)
        return;
    tutti_door.on = 0;
    tutti_door.forked = 1;
    tutti_front->table(TUTTI_TABLE_FORKED);
    tutti_shmem_forget();
    tutti_comms_forget();
    tutti_layouts_forget();
    tutti_endpoints_forget();
    if (tutti_door.node)
        tutti_node_forget(tutti_door.node);
    tutti_door.node = NULL;
    tutti_door.device = NULL;
}

/* The process of this machine that has died, for waits; 0: none. */
static int dead_process(void)
{
    return tutti_door.node ? tutti_node_dead(tutti_door.node) : 0;
}

/* On the helper: what the MPI calls of itself is not the program's. */
static void poll_inside(void)
{
    TUTTI_INSIDE();
    tutti_progress_poll();
}

/* Virtual nodes share a machine and its files. */
static int first_of_machine(void)
{
    if (!tutti_door.node || tutti_settings()->node_ranks > 0)
        return tutti_door.rank == 0;
    return tutti_node_rank(tutti_door.node) == 0;
}

static void life_register_fork(void)
{
    static int registered;
    if (!registered)
        pthread_atfork(NULL, NULL, after_fork);
    registered = 1;
}

void tutti_life_open(int multiple)
{
    TUTTI_INSIDE();
    tutti_next.MPI_Comm_rank(tutti_handles.world, &tutti_door.rank);
    tutti_log_rank(tutti_door.rank);
    tutti_door.device = tutti_device();
    if (!life_agree()) {
        tutti_info("every call is passed on to the MPI");
        return;
    }
    tutti_counters_start();
    tutti_door.multiple = multiple;
    tutti_quirks_open();
    tutti_door.aware = gpu_aware();
    tutti_types_open();
    tutti_errors_open();
    const struct tutti_comm_users users = {tutti_nonblocking_leave, tutti_comm_stream_close, tutti_endpoints_connect,
                                           tutti_over_nodes_new,    tutti_over_nodes_free,   tutti_stream_proxy_open};
    if (tutti_comms_open(&users) != TUTTI_OK || tutti_layouts_open() != TUTTI_OK)
        return;
    tutti_transport_over(&world, tutti_handles.world);
    if (tutti_node_open(&world.base, &tutti_door.node) != TUTTI_OK)
        tutti_door.node = NULL;
    tutti_log_first(first_of_machine());
    tutti_self_open();
    tutti_progress_watch(dead_process);
    tutti_progress_mpi(tutti_self_progress);
    if (tutti_door.multiple)
        tutti_helper_begin(poll_inside);
    else
        tutti_hook_open();
    tutti_endpoints_open();
    tutti_receives_begin();
    tutti_partitioned_open();
    tutti_queue_nodes_open(&tutti_persistent_messages,
                           tutti_p2p.transport); /* last, since it takes what tags are left */
    tutti_short_recv_open();
    const struct tutti_comm *const all = tutti_comm_make(tutti_handles.world); /* so a nonblocking call need not wait */
    if (all && tutti_over_nodes_moves(all))
        tutti_mover_nodes_open();
    life_register_fork();
    tutti_door.on = 1;
    tutti_front->table(TUTTI_TABLE_DOOR);
}

/* Counters of all ranks, added up and printed by rank 0. Collective. */
static void print_counters(void)
{
    enum { ROWS = 512, TEXT = 64 << 10 };
    int size = 1, rows;
    struct tutti_mpi_transport apart;
    struct tutti_counter *own = calloc(ROWS, sizeof *own), *sum = calloc(ROWS, sizeof *sum), *all = NULL;
    tutti_next.MPI_Comm_size(tutti_handles.world, &size);
    int64_t most = own && sum ? tutti_counters_read(own, ROWS) : 0;
    most = most < ROWS ? most : ROWS;
    tutti_transport_over(&apart, tutti_endpoints_own_world());
    if (apart.base.ops->allreduce(&apart.base, &most, 1, TUTTI_COMBINE_MAX) == TUTTI_OK && own && sum) {
        rows = (int)most;
        if (tutti_door.rank == 0)
            all = calloc((size_t)size * (size_t)(rows ? rows : 1), sizeof *all);
        int bytes = rows * (int)sizeof *own, merged = 0;
        char *text = malloc(TEXT);
        if (tutti_next.MPI_Gather(own, bytes, tutti_handles.byte, all, bytes, tutti_handles.byte, 0,
                                  tutti_handles.world) == MPI_SUCCESS &&
            all && text) {
            for (int r = 0; r < size; r++) {
                int used = 0; /* rows that a rank does not have are empty */
                while (used < rows && all[(size_t)r * (size_t)rows + (size_t)used].text[0])
                    used++;
                merged = tutti_counters_merge(sum, merged, ROWS, all + (size_t)r * (size_t)rows, used);
            }
            size_t length = tutti_counters_print(sum, merged, text, TEXT);
            ssize_t written = write(STDERR_FILENO, text, length);
            (void)written;
        }
        free(text);
    }
    free(own);
    free(sum);
    free(all);
}

static int life_all_arrived(void *request)
{
    int flag = 0;
    return tutti_next.MPI_Test(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS ? TUTTI_ERR_TRANSPORT : flag;
}

/* Bytes by reason, of this rank and of all: they outlive a wait that is given up. */
static uint64_t bytes_here[TUTTI_REASONS], bytes_of_all[TUTTI_REASONS];

/* Until all ranks are in MPI_Finalize, or have ended their last session, since a peer may still be reading what this
 * rank shares. Bounded: after a failure some may never come. The sum of all ranks' bytes by reason comes with it. */
int tutti_life_all_here(void)
{
    MPI_Request request;
    tutti_tally_read(bytes_here);
    if (tutti_next.MPI_Iallreduce(bytes_here, bytes_of_all, TUTTI_REASONS, tutti_handles.int64, tutti_handles.sum,
                                  tutti_endpoints_own_world(), &request) != MPI_SUCCESS)
        return 0;
    return tutti_progress_wait(&(const struct tutti_wait){
               .done = life_all_arrived,
               .with = &request,
               .what = "in MPI_Finalize, for the other ranks",
               .watched = 1,
               .seconds = tutti_comms_broken() ? 2 : tutti_settings()->timeout_seconds}) == TUTTI_OK;
}

/* One line a job, by rank 0. */
static void print_hint(void)
{
    char text[512];
    if (tutti_door.rank == 0 && tutti_tally_hint(bytes_of_all, text, sizeof text))
        tutti_warn("%s", text);
}

void tutti_life_shut(int all, int last)
{
    TUTTI_INSIDE();
    tutti_helper_end();
    tutti_hook_close();
    tutti_requests_end(tutti_endpoints_own_world(), tutti_comms_broken() ? 2 : tutti_settings()->timeout_seconds);
    tutti_rndv_end();
    tutti_nonblocking_end();
    all = all && tutti_life_all_here();
    if (all)
        tutti_comms_settle();
    if (all && last && tutti_door.stats)
        print_counters();
    if (all && last)
        print_hint();
    tutti_front->close_shmem();
    tutti_front->table(TUTTI_TABLE_MPI);
    tutti_unexpected_close();
    tutti_stamped_close();
    tutti_queues_close(tutti_device_active(tutti_door.device));
    tutti_partitioned_close();
    tutti_endpoints_close(tutti_device_active(tutti_door.device));
    tutti_pack_load_end();
    tutti_comms_close();
    tutti_fibers_end();
    if (tutti_door.node)
        tutti_node_close(tutti_door.node);
    tutti_door.node = NULL;
    tutti_receive_again_close();
    tutti_requests_close();
    tutti_layouts_close();
    tutti_overrun_close();
    tutti_early_close();
    tutti_bounce_close(tutti_device_active(tutti_door.device));
    tutti_types_close();
    tutti_errors_close();
    tutti_comm_hints_close();
    tutti_door.on = 0;
}
