#include "mpi/message/endpoints.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "coll/hierarchy.h"
#include "core/settings.h"
#include "mpi/comm/comms.h"
#include "mpi/comm/neighbour_order.h"
#include "mpi/message/far.h"
#include "mpi/message/short_recv.h"
#include "mpi/real/hook.h"
#include "mpi/real/self.h"
#include "progress/engine.h"

enum { COMMS = 64, CONTEXTS = 1024, ANSWERS = 4 };

struct tutti_endpoint *tutti_endpoint;
struct tutti_p2p_worker tutti_p2p;
static struct tutti_mpi_transport transport; /* over tutti_p2p_comm */
int tutti_endpoint_everywhere;
atomic_int tutti_endpoint_blinded;
static MPI_Comm tutti_p2p_comm; /* over MPI_COMM_WORLD: the transport of messages */

/* Rank in MPI_COMM_WORLD of each rank of the communicators that messages are sent over; -1: not in it. */
static struct peers {
    MPI_Comm comm;
    int n, *world; /* NULL: free */
} table[COMMS];
static unsigned next;
static atomic_uint freed_comms = 1; /* how often a communicator was freed; never 0 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The message of a request that stays. */
struct own_message {
    MPI_Request request;
    int code;
};

static int own_message_done(void *with)
{
    struct own_message *own = with;
    MPI_Status status;
    int flag = 0;
    own->code = tutti_next.MPI_Request_get_status(own->request, &flag, &status);
    return own->code != MPI_SUCCESS || flag;
}

/* Asks the MPI itself, with a message to this rank. */
static int get_status_ends_persistent(void)
{
    struct own_message own = {.code = MPI_SUCCESS};
    MPI_Status status;
    char out = 0, in = 0;
    int self = 0;
    tutti_next.MPI_Comm_rank(tutti_p2p_comm, &self);
    if (tutti_next.MPI_Recv_init(&in, 1, tutti_handles.byte, self, 0, tutti_p2p_comm, &own.request) != MPI_SUCCESS)
        return 1;
    tutti_next.MPI_Start(&own.request);
    tutti_next.MPI_Send(&out, 1, tutti_handles.byte, self, 0, tutti_p2p_comm);
    tutti_progress_wait(&(const struct tutti_wait){.done = own_message_done, .with = &own});
    tutti_next.MPI_Wait(&own.request, &status);
    tutti_next.MPI_Request_free(&own.request);
    return own.code != MPI_SUCCESS || status.MPI_SOURCE != self; /* the second query returns it */
}

static void poll_offers(void)
{
    if (tutti_endpoint)
        tutti_endpoint_poll(tutti_endpoint);
}

static struct tutti_step offers = {.name = "messages that ranks of the node have not taken", .poll = poll_offers};

void tutti_endpoints_open(void)
{
    size_t scratch = (size_t)tutti_settings()->endpoint_mb << 20;
    if (tutti_rules_stage_messages() || !tutti_door.node)
        return;
    if (tutti_door.device && scratch == 0)
        scratch = (size_t)(tutti_door.device->channel_mb / 2) << 20;
    if (tutti_door.device && !tutti_door.aware)
        tutti_endpoint_declare(tutti_door.node);
    /* On all ranks, with any device, also if their MPI takes device memory. */
    if (tutti_next.MPI_Comm_dup(tutti_handles.world, &tutti_p2p_comm) != MPI_SUCCESS) {
        tutti_p2p_comm = tutti_handles.no_comm;
        return;
    }
    tutti_next.MPI_Comm_set_errhandler(tutti_p2p_comm, tutti_handles.errors_return);
    tutti_quirks.get_status_ends_persistent = get_status_ends_persistent();
    tutti_transport_over(&transport, tutti_p2p_comm);
    const int last = tutti_self_last_tag();
    transport.base.tags = last < INT_MAX ? last + 1 : last;
    tutti_transport_tags(&transport.base, TUTTI_RNDVS); /* the first range: a rendezvous's number is its tag */
    if (!tutti_door.aware)
        tutti_endpoint = tutti_endpoint_new(tutti_door.node, tutti_door.device, scratch);
    tutti_p2p = (struct tutti_p2p_worker){.endpoint = tutti_endpoint,
                                          .node = tutti_door.node,
                                          .transport = &transport.base,
                                          .takes_always = tutti_door.multiple || tutti_hook_is_there()};
    if (tutti_endpoint)
        tutti_endpoint_step(tutti_endpoint, &offers);
    tutti_endpoint_everywhere = tutti_endpoint_declared(tutti_door.node);
    if (tutti_endpoint_everywhere)
        tutti_neighbour_order_ask();
    tutti_far_open(&transport.base);
    if (tutti_far_on)
        tutti_comm_contexts = tutti_contexts_new(&transport.base, CONTEXTS);
}

MPI_Comm tutti_endpoints_own_world(void)
{
    return tutti_p2p_comm && tutti_p2p_comm != tutti_handles.no_comm ? tutti_p2p_comm : tutti_handles.world;
}

void tutti_endpoints_close(int alive)
{
    tutti_endpoint_everywhere = 0;
    atomic_store(&tutti_endpoint_blinded, 0);
    tutti_endpoint_free(tutti_endpoint, alive); /* waits, and polls meanwhile */
    tutti_endpoint = NULL;
    tutti_p2p = (struct tutti_p2p_worker){.endpoint = NULL};
    tutti_far_close(alive);
    tutti_endpoints_comm_freed();
    if (tutti_p2p_comm && tutti_p2p_comm != tutti_handles.no_comm)
        tutti_next.MPI_Comm_free(&tutti_p2p_comm);
}

void tutti_endpoints_forget(void)
{
    tutti_endpoint_everywhere = 0;
    tutti_endpoint = NULL;
    tutti_far_on = 0;
}

enum tutti_reason tutti_endpoints_why(MPI_Comm comm, int rank)
{
    if (comm != tutti_handles.no_comm && tutti_door.node && tutti_endpoints_peer(comm, rank) < 0)
        return tutti_endpoints_world(comm, rank) < 0 ? TUTTI_REASON_OTHER_WORLD : TUTTI_REASON_MACHINE;
    if (tutti_rules_stage_messages())
        return TUTTI_REASON_MESSAGES_MPI;
    return tutti_door.aware ? TUTTI_REASON_TYPE_GAPS : TUTTI_REASON_APART;
}

int tutti_endpoint_long_own(MPI_Count count, MPI_Datatype type)
{
    MPI_Count bytes;
    int size = 0;
    if (type == tutti_handles.no_type || tutti_next.MPI_Type_size(type, &size) != MPI_SUCCESS || size < 0)
        return 1;
    return __builtin_mul_overflow(count, (MPI_Count)size, &bytes) || bytes >= (MPI_Count)TUTTI_MESSAGE_LOOKED;
}

int tutti_endpoints_blind(void)
{
    if (tutti_endpoint_short())
        return 1;
    atomic_store(&tutti_endpoint_blinded, 1);
    return tutti_endpoint_blind(tutti_endpoint);
}

void tutti_endpoints_poll(const void *buffer)
{
    struct tutti_memory memory;
    if (unlikely(!tutti_endpoint_listens(tutti_endpoint))) {
        tutti_door.device->memory.classify(buffer, &memory);
        if (memory.kind == TUTTI_MEMORY_DEVICE)
            tutti_endpoint_use(tutti_endpoint, memory.gpu);
    }
    tutti_endpoint_poll(tutti_endpoint);
}

struct connecting {
    int peer[TUTTI_MAX_RANKS];
    int n, gpu;
};

static int scratch_is_settled(void *with)
{
    const struct connecting *c = with;
    tutti_endpoint_poll(tutti_endpoint);
    return tutti_endpoint_settle_scratch(tutti_endpoint, c->gpu);
}

static int is_connected(void *with)
{
    const struct connecting *c = with;
    tutti_endpoint_poll(tutti_endpoint);
    return tutti_endpoint_connect(tutti_endpoint, c->peer, c->n, c->gpu);
}

void tutti_endpoints_connect(struct tutti_team *team, int gpu)
{
    struct connecting c = {.n = team->size};
    uint32_t all = 0;
    if (!tutti_endpoint_everywhere || tutti_team_vote(team, tutti_endpoint != NULL, &all) != TUTTI_OK || !all)
        return;
    if (gpu < 0 && tutti_door.device->gpu.current(&gpu) != TUTTI_OK)
        gpu = -1;
    c.gpu = gpu;
    for (int r = 0; r < team->size; r++)
        c.peer[r] = tutti_team_peer(team, r);
    /* A rank must not find that a peer offers no scratch while that peer still allocates it: it would leave, and the
     * peer would wait for it. */
    tutti_progress_wait(&(const struct tutti_wait){.done = scratch_is_settled,
                                                   .with = &c,
                                                   .what = "in MPIX_Stream_comm_create, for scratch of its own",
                                                   .watched = 1});
    if (tutti_team_vote(team, 1, &all) != TUTTI_OK)
        return;
    tutti_progress_wait(&(const struct tutti_wait){.done = is_connected,
                                                   .with = &c,
                                                   .what = "in MPIX_Stream_comm_create, for scratch for messages",
                                                   .watched = 1});
    tutti_endpoint_connected(tutti_endpoint);
}

void tutti_endpoints_comm_freed(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < COMMS && i < next; i++) {
        free(table[i].world);
        table[i].world = NULL;
    }
    next = 0;
    atomic_fetch_add_explicit(&freed_comms, 1, memory_order_release);
    pthread_mutex_unlock(&lock);
}

static int find_world(MPI_Comm comm, int rank)
{
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

int tutti_endpoints_world(MPI_Comm comm, int rank)
{
    static __thread struct answer { /* of this thread, the latest ones, by rank */
        MPI_Comm comm;
        unsigned freed;
        int rank, world;
    } answers[ANSWERS];
    if (rank < 0 || comm == tutti_handles.no_comm)
        return -1;
    struct answer *const last = &answers[rank % ANSWERS];
    const unsigned freed = atomic_load_explicit(&freed_comms, memory_order_acquire);
    if (unlikely(last->freed != freed || last->comm != comm || last->rank != rank))
        *last = (struct answer){comm, freed, rank, find_world(comm, rank)};
    return last->world;
}

int tutti_endpoints_peer(MPI_Comm comm, int rank)
{
    const int world = tutti_endpoints_world(comm, rank);
    return world < 0 ? -1 : tutti_node_find(tutti_door.node, world);
}
