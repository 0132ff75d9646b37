#include "mpi/message/lanes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/settings.h"
#include "mpi/comm/comms.h"
#include "mpi/comm/neighbour_order.h"
#include "mpi/message/far.h"
#include "mpi/message/landing.h"
#include "p2p/rendezvous.h"
#include "progress/engine.h"

enum { COMMS = 64 };

struct tutti_lane *tutti_lane;
struct tutti_rendezvous *tutti_lane_sends;
static struct tutti_mpi_transport transport; /* over tutti_lane_box */
size_t tutti_lane_least;
int tutti_lane_everywhere;
MPI_Comm tutti_lane_box;

/* Ranks in MPI_COMM_WORLD of the ranks of communicators that messages are sent over; -1: not of it. */
static struct peers {
    MPI_Comm comm;
    int n, *world; /* NULL: free */
} table[COMMS];
static unsigned next;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The message of a request that stays. */
struct own_message {
    MPI_Request request;
    int code;
};

static int has_come(void *with)
{
    struct own_message *own = with;
    MPI_Status status;
    int flag = 0;
    own->code = tutti_real.MPI_Request_get_status(own->request, &flag, &status);
    return own->code != MPI_SUCCESS || flag;
}

/* Asked of the MPI itself, with a message to this rank. */
static int get_status_ends_persistent(void)
{
    struct own_message own = {.code = MPI_SUCCESS};
    MPI_Status status;
    char out = 0, in = 0;
    int self = 0;
    tutti_real.MPI_Comm_rank(tutti_lane_box, &self);
    if (tutti_real.MPI_Recv_init(&in, 1, tutti_handles.byte, self, 0, tutti_lane_box, &own.request) != MPI_SUCCESS)
        return 1;
    tutti_real.MPI_Start(&own.request);
    tutti_real.MPI_Send(&out, 1, tutti_handles.byte, self, 0, tutti_lane_box);
    tutti_progress_wait(&(const struct tutti_wait){.done = has_come, .with = &own});
    tutti_real.MPI_Wait(&own.request, &status);
    tutti_real.MPI_Request_free(&own.request);
    return own.code != MPI_SUCCESS || status.MPI_SOURCE != self; /* the second look says it */
}

void tutti_lanes_open(void)
{
    const struct tutti_settings *settings = tutti_settings();
    size_t scratch = (size_t)settings->lane_mb << 20;
    if (settings->messages == TUTTI_SET_MESSAGES_MPI || !tutti_door.node)
        return;
    if (tutti_door.device && scratch == 0)
        scratch = (size_t)(tutti_door.device->channel_mb / 2) << 20;
    tutti_lane_least = (size_t)settings->message_least;
    if (tutti_door.device && !tutti_door.aware)
        tutti_lane_declare(tutti_door.node);
    /* On all ranks, whatever their devices, and whether or not their MPI takes device memory. */
    if (tutti_real.MPI_Comm_dup(tutti_handles.world, &tutti_lane_box) != MPI_SUCCESS) {
        tutti_lane_box = tutti_handles.no_comm;
        return;
    }
    tutti_real.MPI_Comm_set_errhandler(tutti_lane_box, tutti_handles.errors_return);
    tutti_quirks.get_status_ends_persistent = get_status_ends_persistent();
    tutti_transport_over(&transport, tutti_lane_box);
    if (!tutti_door.aware)
        tutti_lane = tutti_lane_new(tutti_door.node, tutti_door.device, scratch);
    if (tutti_lane) {
        tutti_lane_sends = tutti_rendezvous_new(tutti_lane, tutti_door.node, &transport.base);
        if (!tutti_lane_sends) {
            tutti_lane_free(tutti_lane, 0);
            tutti_lane = NULL;
        }
    }
    tutti_lane_everywhere = tutti_lane_declared(tutti_door.node);
    if (tutti_lane_everywhere)
        tutti_twice_ask();
    tutti_far_open(&transport.base);
}

void tutti_lanes_close(int alive)
{
    tutti_lane_everywhere = 0;
    tutti_rendezvous_free(tutti_lane_sends);
    tutti_lane_sends = NULL;
    tutti_lane_free(tutti_lane, alive);
    tutti_lane = NULL;
    tutti_far_close(alive);
    tutti_lanes_comm_freed();
    if (tutti_lane_box && tutti_lane_box != tutti_handles.no_comm)
        tutti_real.MPI_Comm_free(&tutti_lane_box);
}

void tutti_lanes_forget(void)
{
    tutti_lane_everywhere = 0;
    tutti_lane = NULL;
    tutti_far_on = 0;
}

void tutti_lanes_poll(const void *buffer, int sending)
{
    struct tutti_memory memory;
    if (unlikely(tutti_lane_gpu(tutti_lane) < 0)) {
        tutti_door.device->classify(buffer, &memory);
        if (memory.kind == TUTTI_MEMORY_DEVICE && memory.gpu >= 0)
            tutti_lane_use(tutti_lane, memory.gpu);
    }
    tutti_lane_poll(tutti_lane, sending);
}

void tutti_lanes_comm_freed(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < COMMS; i++) {
        free(table[i].world);
        table[i].world = NULL;
    }
    pthread_mutex_unlock(&lock);
}

int tutti_lanes_world(MPI_Comm comm, int rank)
{
    if (rank < 0 || comm == tutti_handles.no_comm)
        return -1;
    TUTTI_INSIDE();
    pthread_mutex_lock(&lock);
    struct peers *found = NULL;
    for (int i = 0; i < COMMS && !found; i++) {
        if (table[i].world && table[i].comm == comm)
            found = &table[i];
    }
    if (!found) {
        int n = 0, *world = tutti_world_ranks(comm, &n);
        for (int i = 0; world && i < n; i++)
            world[i] = world[i] == MPI_UNDEFINED ? -1 : world[i];
        if (world) {
            found = &table[next++ % COMMS];
            free(found->world);
            *found = (struct peers){comm, n, world};
        }
    }
    int world = found && rank < found->n ? found->world[rank] : -1;
    pthread_mutex_unlock(&lock);
    return world;
}

int tutti_lanes_peer(MPI_Comm comm, int rank)
{
    const int world = tutti_lanes_world(comm, rank);
    return world < 0 ? -1 : tutti_node_find(tutti_door.node, world);
}
