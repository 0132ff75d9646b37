/* Making of a mapped window: every rank shows its device memory to all others and maps theirs, or none does. */
#include "mpi/rma/mapped.h"

#include <stdlib.h>
#include <string.h>

#include "bounce/bounce.h"
#include "core/fnv.h"
#include "mpi/comm/comms.h"
#include "mpi/comm/identity.h"
#include "mpi/message/endpoints.h"
#include "mpi/rma/attachments.h"
#include "progress/engine.h"
#include "team/deferred_free.h"
#include "team/pair.h"

enum { SECONDS = 10 }; /* in which a peer takes a descriptor, sends one, or begins its side */

/* What each rank sends to all others. */
struct record {
    uint64_t bytes;
    int64_t unit;
    int device; /* it is device memory */
    struct tutti_share share;
};

/* A window that is made. */
struct making {
    struct tutti_mapped *mapped;
    const struct tutti_mapped_wish *wish;
    struct record mine, *all;
    uint64_t child; /* of the communicator, as all its ranks know it; 0: they do not */
    int at;         /* the next peer */
    int status;
    const char *why;
};

static int making_fails(struct making *m, const char *why)
{
    if (!m->why)
        m->why = why;
    return 0;
}

/* Collective. An MPI code. */
static int mapped_ranks_can(MPI_Comm comm, int mine, int *all)
{
    TUTTI_INSIDE();
    return tutti_next.MPI_Allreduce(&mine, all, 1, MPI_INT, tutti_handles.min, comm);
}

/* ---- what this rank has ---- */

int tutti_mapped_meet(int *gpu)
{
    int gpus[TUTTI_ENDPOINT_GPUS];
    const struct tutti_device *device = tutti_door.device;
    if (!tutti_device_active(device))
        return 0;
    if (tutti_endpoint && tutti_endpoint_gpus(tutti_endpoint, gpus) > 0)
        *gpu = gpus[0];
    else if (device->gpu.current(gpu) != TUTTI_OK || (*gpu < 0 && !device->simulates))
        return 0;
    return 1;
}

/* The GPU by which this rank reaches windows: of its own memory, or the one that the program has met. */
static int mapped_find_gpu(struct making *m)
{
    struct tutti_memory memory = {.kind = TUTTI_MEMORY_HOST};
    m->mine.device = m->wish->size > 0 && tutti_on_device_at(m->wish->base, &memory);
    if (m->mine.device)
        m->mapped->gpu = memory.gpu;
    else if (!tutti_mapped_meet(&m->mapped->gpu))
        return making_fails(m, "a rank without device memory has not met a GPU");
    m->mapped->met = 1;
    if (m->mine.device && tutti_endpoint)
        tutti_endpoint_use(tutti_endpoint, m->mapped->gpu);
    return 1;
}

/* Each rank of the communicator in the node, and the number of the window. */
static int mapped_find_peers(struct making *m, const int *world, int n)
{
    int fine = world && n == m->mapped->n;
    for (int r = 0; fine && r < n; r++) {
        m->mapped->peer[r].node = tutti_node_find(tutti_door.node, world[r]);
        fine = m->mapped->peer[r].node >= 0;
    }
    m->mapped->window = fine ? tutti_window_number(m->child, world, n) : 0;
    return fine || making_fails(m, "ranks of several nodes");
}

/* The number of a window of a communicator that is not known to all ranks alike. Collective, also where this rank has
 * failed; an MPI code. */
static int mapped_agree_number(struct making *m, MPI_Comm comm)
{
    static atomic_int numbers;
    uint64_t words[3] = {0, 0, (uint64_t)atomic_fetch_add(&numbers, 1)};
    TUTTI_INSIDE();
    tutti_node_key(tutti_door.node, words);
    uint64_t number = tutti_mix(words[2] ^ tutti_mix((uint64_t)tutti_node_rank(tutti_door.node) ^ words[0])) | 1;
    const int code = tutti_next.MPI_Bcast(&number, (int)sizeof number, tutti_handles.byte, 0, comm);
    if (m->mapped)
        m->mapped->window = number;
    return code;
}

/* Takes this rank's slot. */
static int mapped_find_slot(struct making *m)
{
    struct tutti_mapped *mapped = m->mapped;
    mapped->slot = tutti_mapped_slot_take(mapped->window);
    return mapped->slot || making_fails(m, "too many windows");
}

/* Rows in all peers' pages. */
static int mapped_find_rows(struct making *m)
{
    struct tutti_mapped *mapped = m->mapped;
    mapped->attached = tutti_attachments_of(mapped->n, mapped->rank, TUTTI_ATTACHED_ROWS, mapped->window);
    for (int r = 0; mapped->attached && r < mapped->n; r++)
        mapped->attached->row[r] = tutti_mapped_rows(mapped->peer[r].node);
    return mapped->attached || making_fails(m, "no memory");
}

/* ---- showing and mapping; done() of waits ---- */

static int mapped_is_shown(void *with)
{
    struct making *m = with;
    struct tutti_node *node = tutti_door.node;
    for (; m->at < m->mapped->n; m->at++) {
        const int peer = m->mapped->peer[m->at].node;
        m->status =
            m->mine.device ? tutti_pair_show(node, tutti_door.device, peer, m->wish->base, &m->mine.share) : TUTTI_OK;
        if (m->status == 1)
            break;
        if (m->status != TUTTI_OK)
            return m->status;
    }
    for (int r = 0; r < m->mapped->n && m->at < m->mapped->n; r++)
        tutti_pair_poll(node, m->mapped->peer[r].node);
    return m->at == m->mapped->n;
}

/* 1 if each peer has taken its slot. */
static int mapped_has_slots(void *with)
{
    struct making *m = with;
    struct tutti_mapped *mapped = m->mapped;
    for (; m->at < mapped->n; m->at++) {
        struct tutti_mapped_peer *peer = &mapped->peer[m->at];
        const int found = tutti_mapped_slot_find(peer->node, mapped->window, mapped->slot, &peer->slot);
        if (found <= 0)
            return found < 0 ? TUTTI_ERR_UNAVAILABLE : 0;
        peer->line = &peer->slot->line;
    }
    return 1;
}

static int mapped_is_mapped(void *with)
{
    struct making *m = with;
    struct tutti_mapped *mapped = m->mapped;
    for (; m->at < mapped->n; m->at++) {
        struct tutti_mapped_peer *peer = &mapped->peer[m->at];
        const struct record *record = &m->all[m->at];
        void *base = NULL;
        peer->bytes = record->bytes;
        peer->unit = record->unit;
        peer->direct = record->device;
        mapped->beside |= record->bytes > 0 && !record->device;
        if (!record->device)
            continue;
        m->status = tutti_pair_map(tutti_door.node, tutti_door.device, peer->node, mapped->gpu, &record->share,
                                   (size_t)record->bytes, &peer->mapping, &base);
        if (m->status != TUTTI_OK)
            return m->status < 0 ? m->status : 0;
        tutti_pair_drop(tutti_door.node, peer->node, &record->share);
        peer->base = base;
    }
    return 1;
}

/* Goes through all ranks. 1: well. */
static int making_wait(struct making *m, int (*done)(void *with), const char *why)
{
    m->at = 0;
    const int status = tutti_progress_wait(
        &(const struct tutti_wait){.done = done, .with = m, .what = "a window", .seconds = SECONDS, .watched = 1});
    return status == TUTTI_OK || making_fails(m, why);
}

/* ---- the window ---- */

/* What is counted in the window is left as it is: that is most of it. */
static struct tutti_mapped *mapped_new(int n)
{
    const size_t peers = (size_t)n * sizeof(struct tutti_mapped_peer);
    struct tutti_mapped *mapped = malloc(sizeof *mapped + peers);
    if (!mapped)
        return NULL;
    memset(mapped, 0, offsetof(struct tutti_mapped, job));
    memset(&mapped->batch, 0, offsetof(struct tutti_mapped_batch, of));
    memset(mapped->peer, 0, peers);
    mapped->n = n;
    return mapped;
}

/* What this rank can do alone, but for its slot. 1: well. */
static int making_begin(struct making *m, MPI_Comm comm, const int *world, int ranks)
{
    const struct tutti_mapped_wish *wish = m->wish;
    int n = 0;
    m->child = 1; /* nothing to agree on */
    if (tutti_next.MPI_Comm_size(comm, &n) != MPI_SUCCESS)
        return making_fails(m, "no communicator");
    m->child = tutti_comm_identity_window(comm);
    m->all = wish->dynamic ? NULL : malloc((size_t)n * sizeof *m->all);
    m->mapped = mapped_new(n);
    if ((!m->all && !wish->dynamic) || !m->mapped)
        return making_fails(m, "no memory");
    struct tutti_mapped *mapped = m->mapped;
    mapped->gpu = -1;
    mapped->beside = wish->dynamic;
    mapped->bytes = (uint64_t)wish->size;
    mapped->pairs = (unsigned)tutti_node_size(tutti_door.node);
    pthread_mutex_init(&mapped->mutex, NULL);
    pthread_mutex_init(&mapped->batch.mutex, NULL);
    tutti_next.MPI_Comm_rank(comm, &mapped->rank);
    m->mine = (struct record){.bytes = (uint64_t)wish->size, .unit = wish->unit};
    if (!mapped_find_peers(m, world, ranks))
        return 0;
    if (wish->size < 0 || wish->unit <= 0) /* the MPI's error */
        return making_fails(m, "wrong arguments");
    mapped->grouped = tutti_next.MPI_Comm_group(comm, &mapped->group) == MPI_SUCCESS;
    return mapped->grouped || making_fails(m, "no group");
}

/* Drops what was made. */
static void making_drop(struct making *m)
{
    if (!m->mapped)
        return;
    struct tutti_attachments *attached = m->mapped->attached;
    if (m->mapped->window != 0)
        tutti_mapped_slot_refuse(m->mapped->window);
    tutti_mapped_close(m->mapped);
    tutti_attachments_close(attached);
    m->mapped = NULL;
}

int tutti_mapped_open(struct tutti_mapped **out, MPI_Comm comm, const struct tutti_mapped_wish *wish, const char **why)
{
    struct making m = {.wish = wish};
    int all = 0, n = 0, *world = tutti_world_ranks(comm, &n), fine = making_begin(&m, comm, world, n),
        code = MPI_SUCCESS;
    free(world);
    if (m.child == 0)
        code = mapped_agree_number(&m, comm);
    fine = fine && mapped_find_gpu(&m) && mapped_find_slot(&m) &&
           making_wait(&m, mapped_is_shown, "device memory cannot be shared with other processes");
    if (code == MPI_SUCCESS)
        code = mapped_ranks_can(comm, fine, &all);
    if (code == MPI_SUCCESS && all) {
        const int bytes = (int)sizeof m.mine;
        code = tutti_next.MPI_Allgather(&m.mine, bytes, tutti_handles.byte, m.all, bytes, tutti_handles.byte, comm);
        fine = code == MPI_SUCCESS && making_wait(&m, mapped_is_mapped, "GPUs that cannot reach each other's memory") &&
               making_wait(&m, mapped_has_slots, "no shared memory");
        if (code == MPI_SUCCESS)
            code = mapped_ranks_can(comm, fine, &all);
    }
    free(m.all);
    *why = m.why ? m.why : "another rank cannot map the windows";
    if (code != MPI_SUCCESS || !all)
        making_drop(&m);
    *out = m.mapped;
    return code;
}

struct tutti_mapped *tutti_mapped_begin(MPI_Comm comm, const int *world, int n, const char **why)
{
    static const struct tutti_mapped_wish wish = {.unit = 1, .dynamic = 1};
    struct making m = {.wish = &wish};
    int fine = making_begin(&m, comm, world, n);
    if (m.child == 0)
        fine &= mapped_agree_number(&m, comm) == MPI_SUCCESS;
    if (!fine || !mapped_find_rows(&m) || !mapped_find_slot(&m))
        making_drop(&m);
    if (m.mapped) /* before the MPI's call, behind which another rank may attach memory at once */
        tutti_mapped_show_gpu(m.mapped);
    *why = m.why;
    return m.mapped;
}

void tutti_mapped_end(struct tutti_mapped **mapped, const char **why)
{
    struct making m = {.mapped = *mapped};
    if (m.mapped && !making_wait(&m, mapped_has_slots, "another rank has no memory for the window"))
        making_drop(&m);
    if (m.why)
        *why = m.why;
    *mapped = m.mapped;
}

void tutti_mapped_close(struct tutti_mapped *mapped)
{
    if (!mapped)
        return;
    tutti_mapped_serve_end(mapped);
    tutti_mapped_leave(mapped);
    for (int r = 0; r < mapped->n; r++)
        tutti_pair_release(tutti_door.node, tutti_door.device, mapped->peer[r].mapping);
    tutti_deferred_free_launch(tutti_door.node, mapped->kept.prepared);
    if (mapped->stream)
        tutti_door.device->stream.destroy(mapped->stream);
    tutti_bounce_give(mapped->bounce);
    if (mapped->slot)
        tutti_mapped_slot_leave(mapped->slot);
    if (mapped->grouped)
        tutti_next.MPI_Group_free(&mapped->group);
    pthread_mutex_destroy(&mapped->mutex);
    pthread_mutex_destroy(&mapped->batch.mutex);
    free(mapped);
}
