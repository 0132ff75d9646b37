/* Making of a mapped window: every rank shows its device memory to all others and maps theirs, or none does. */
#include "mpi/rma/mapped.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bounce/bounce.h"
#include "mpi/comm/comms.h"
#include "mpi/message/endpoints.h"
#include "mpi/rma/attachments.h"
#include "progress/engine.h"
#include "team/deferred_free.h"
#include "team/pair.h"

enum { PAGE = 4096 };
enum { SECONDS = 10 }; /* in which a peer takes a descriptor, or sends one */

/* What each rank sends to all others. */
struct record {
    uint64_t bytes;
    int64_t unit;
    int device;    /* it is device memory */
    uint64_t name; /* of the shared words' descriptor; of rank 0 */
    struct tutti_share share;
};

/* A window that is made. */
struct making {
    struct tutti_mapped *mapped;
    const struct tutti_mapped_wish *wish;
    int fd; /* of the shared words; -1: none */
    struct record mine, *all;
    int at; /* the next peer */
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

/* ---- memory ---- */

/* The lines, then the words of each pair; behind them, on pages that are made when they are used, the rows of what is
 * attached and how it is reached, and the boxes of mapped_owner.c. */
static size_t mapped_words_bytes(int n)
{
    const size_t ranks = (size_t)n;
    const size_t bytes = ranks * sizeof(struct tutti_mapped_line) + 3 * ranks * ranks * sizeof(uint32_t);
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static size_t mapped_rows_bytes(int n)
{
    const size_t bytes =
        (size_t)n * TUTTI_ATTACHED_ROWS * (sizeof(struct tutti_attached_row) + sizeof(struct tutti_share));
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static int mapped_words_map(struct making *m, int fd)
{
    struct tutti_mapped *mapped = m->mapped;
    const size_t n = (size_t)mapped->n;
    char *map = fd < 0 ? MAP_FAILED : mmap(NULL, mapped->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return 0;
    mapped->line = (struct tutti_mapped_line *)(void *)map;
    mapped->posts = (_Atomic uint32_t *)(void *)(map + n * sizeof *mapped->line);
    mapped->completes = mapped->posts + n * n;
    mapped->seen = mapped->completes + n * n;
    if (!m->wish->dynamic)
        return 1;
    struct tutti_attached_row *row = (void *)(map + mapped_words_bytes(mapped->n));
    mapped->share = (void *)(row + n * TUTTI_ATTACHED_ROWS);
    mapped->box = (void *)(map + mapped_words_bytes(mapped->n) + mapped_rows_bytes(mapped->n));
    mapped->attached = tutti_attachments_of(mapped->n, mapped->rank, TUTTI_ATTACHED_ROWS, row);
    return mapped->attached != NULL;
}

static int mapped_words_make(struct making *m)
{
    const off_t bytes = (off_t)m->mapped->shared_bytes, at_once = (off_t)mapped_words_bytes(m->mapped->n);
    m->fd = memfd_create("tutti-window", MFD_CLOEXEC);
    if (m->fd >= 0 && ftruncate(m->fd, bytes) == 0 && fallocate(m->fd, 0, 0, at_once) == 0 &&
        mapped_words_map(m, m->fd))
        return 1;
    return making_fails(m, "no shared memory");
}

int tutti_mapped_meet(int *gpu)
{
    int gpus[TUTTI_ENDPOINT_GPUS];
    const struct tutti_device *device = tutti_door.device;
    if (!device || !device->active())
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

/* Each rank of the communicator in the node. */
static int mapped_find_peers(struct making *m, MPI_Comm comm)
{
    int n = 0, *world = tutti_world_ranks(comm, &n), fine = world && n == m->mapped->n;
    for (int r = 0; fine && r < n; r++) {
        m->mapped->peer[r].node = tutti_node_find(tutti_door.node, world[r]);
        fine = m->mapped->peer[r].node >= 0;
    }
    free(world);
    return fine || making_fails(m, "ranks of several nodes");
}

/* ---- showing and mapping; done() of waits ---- */

static int mapped_is_shown(void *with)
{
    struct making *m = with;
    struct tutti_node *node = tutti_door.node;
    for (; m->at < m->mapped->n; m->at++) {
        const int peer = m->mapped->peer[m->at].node;
        if (m->fd >= 0 && m->at != m->mapped->rank && !tutti_pair_send(node, peer, m->mine.name, m->fd))
            break;
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
    if (mapped->line)
        return 1;
    if (!tutti_pair_take(tutti_door.node, mapped->peer[0].node, m->all[0].name, &m->fd))
        return 0;
    return mapped_words_map(m, m->fd) ? 1 : TUTTI_ERR_MEMORY;
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

/* What this rank can do alone. 1: well. */
static int making_begin(struct making *m, MPI_Comm comm)
{
    const struct tutti_mapped_wish *wish = m->wish;
    int n = 0;
    if (tutti_next.MPI_Comm_size(comm, &n) != MPI_SUCCESS)
        return making_fails(m, "no communicator");
    m->all = malloc((size_t)n * sizeof *m->all);
    m->mapped = calloc(1, sizeof *m->mapped + (size_t)n * sizeof m->mapped->peer[0]);
    if (!m->all || !m->mapped)
        return making_fails(m, "no memory");
    struct tutti_mapped *mapped = m->mapped;
    *mapped =
        (struct tutti_mapped){.n = n,
                              .gpu = -1,
                              .beside = wish->dynamic,
                              .bytes = (uint64_t)wish->size,
                              .shared_bytes = mapped_words_bytes(n) +
                                              (wish->dynamic ? mapped_rows_bytes(n) + tutti_mapped_boxes_bytes(n) : 0)};
    pthread_mutex_init(&mapped->mutex, NULL);
    pthread_mutex_init(&mapped->batch.mutex, NULL);
    tutti_next.MPI_Comm_rank(comm, &mapped->rank);
    m->mine = (struct record){.bytes = (uint64_t)wish->size, .unit = wish->unit};
    if (wish->size < 0 || wish->unit <= 0) /* the MPI's error */
        return making_fails(m, "wrong arguments");
    mapped->grouped = tutti_next.MPI_Comm_group(comm, &mapped->group) == MPI_SUCCESS;
    if (!mapped->grouped)
        return making_fails(m, "no group");
    if (!mapped_find_peers(m, comm) || (!wish->dynamic && !mapped_find_gpu(m)))
        return 0;
    if (mapped->rank == 0) {
        m->mine.name = tutti_pair_name();
        if (!mapped_words_make(m))
            return 0;
    }
    return making_wait(m, mapped_is_shown, "device memory cannot be shared with other processes");
}

int tutti_mapped_open(struct tutti_mapped **out, MPI_Comm comm, const struct tutti_mapped_wish *wish, const char **why)
{
    struct making m = {.wish = wish, .fd = -1};
    int all = 0, fine = making_begin(&m, comm);
    int code = mapped_ranks_can(comm, fine, &all);
    if (code == MPI_SUCCESS && all) {
        const int bytes = (int)sizeof m.mine;
        code = tutti_next.MPI_Allgather(&m.mine, bytes, tutti_handles.byte, m.all, bytes, tutti_handles.byte, comm);
        fine = code == MPI_SUCCESS && making_wait(&m, mapped_is_mapped, "GPUs that cannot reach each other's memory");
        if (code == MPI_SUCCESS)
            code = mapped_ranks_can(comm, fine, &all);
    }
    if (m.fd >= 0)
        close(m.fd);
    free(m.all);
    *out = code == MPI_SUCCESS && all ? m.mapped : NULL;
    *why = m.why ? m.why : "another rank cannot map the windows";
    if (!*out && m.mapped) {
        struct tutti_attachments *attached = m.mapped->attached;
        tutti_mapped_close(m.mapped);
        tutti_attachments_close(attached);
    }
    return code;
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
    if (mapped->line)
        munmap(mapped->line, mapped->shared_bytes);
    if (mapped->grouped)
        tutti_next.MPI_Group_free(&mapped->group);
    pthread_mutex_destroy(&mapped->mutex);
    pthread_mutex_destroy(&mapped->batch.mutex);
    free(mapped);
}
