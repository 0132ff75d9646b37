#include "mpi/rma/attachments.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/real/handles.h"
#include "mpi/rma/trial.h"

/* Of this rank's rows in its page, which all windows of the node share. */
static pthread_mutex_t page_mutex = PTHREAD_MUTEX_INITIALIZER;

struct tutti_attachments *tutti_attachments_of(int n, int rank, unsigned rows, uint64_t window)
{
    struct tutti_attachments *attached = calloc(1, sizeof *attached + (size_t)n * sizeof attached->row[0]);
    if (!attached)
        return NULL;
    attached->n = n;
    attached->rank = rank;
    attached->rows = rows;
    attached->window = window;
    attached->mutex = window != 0 ? &page_mutex : &attached->far_mutex;
    pthread_mutex_init(&attached->far_mutex, NULL);
    return attached;
}

/* Rows of each rank, where they travel by the MPI: a MiB for all, but some for each. */
static unsigned attachments_far_rows(int n)
{
    enum { ALL = (1 << 20) / sizeof(struct tutti_attached_row), FEWEST = 16, MOST = 1024 };
    const unsigned rows = (unsigned)(ALL / (n > 0 ? n : 1));
    return rows < FEWEST ? FEWEST : rows > MOST ? MOST : rows;
}

/* Collective: rows in a window of their own. *fine: loads alone see what a peer has put. An MPI code. */
static int attachments_far_open(struct tutti_attachments *attached, MPI_Comm comm, int *fine)
{
    const size_t bytes = (size_t)attached->n * attached->rows * sizeof *attached->row[0];
    void *memory = NULL;
    int *model, flag = 0;
    const int code =
        tutti_next.MPI_Win_allocate((MPI_Aint)bytes, 1, tutti_handles.no_info, comm, &memory, &attached->hidden);
    if (code != MPI_SUCCESS)
        return code;
    attached->far = 1;
    for (int r = 0; r < attached->n; r++)
        attached->row[r] = (struct tutti_attached_row *)memory + (size_t)r * attached->rows;
    memset(memory, 0, bytes);
    *fine = tutti_next.MPI_Win_get_attr(attached->hidden, MPI_WIN_MODEL, &model, &flag) == MPI_SUCCESS && flag &&
            *model == MPI_WIN_UNIFIED;
    return code;
}

int tutti_attachments_open(struct tutti_attachments **out, MPI_Comm comm)
{
    struct tutti_trial trial;
    int n = 0, rank = 0, fine = 0, all = 0;
    TUTTI_INSIDE();
    *out = NULL;
    tutti_next.MPI_Comm_size(comm, &n);
    tutti_next.MPI_Comm_rank(comm, &rank);
    struct tutti_attachments *attached = tutti_attachments_of(n, rank, attachments_far_rows(n), 0);
    int mine = attached != NULL;
    int code = tutti_next.MPI_Allreduce(&mine, &all, 1, MPI_INT, tutti_handles.min, comm);
    if (code == MPI_SUCCESS && all) {
        tutti_trial_begin(&trial, comm);
        mine = attachments_far_open(attached, comm, &fine) == MPI_SUCCESS && fine;
        tutti_trial_end(&trial, comm);
        code = tutti_next.MPI_Allreduce(&mine, &all, 1, MPI_INT, tutti_handles.min, comm);
    }
    if (code == MPI_SUCCESS && all)
        *out = attached;
    else
        tutti_attachments_close(attached);
    return code;
}

/* What the program has left attached to a window of one node: the rows serve other windows. */
static void attachments_detach_all(struct tutti_attachments *attached)
{
    struct tutti_attachment found;
    pthread_mutex_lock(attached->mutex);
    for (unsigned i = 0;
         attached->row[attached->rank] && tutti_attachments_at(attached, attached->rank, i, &found) >= 0; i++) {
        if (found.generation)
            atomic_fetch_add(&attached->row[attached->rank][i].generation, 1);
    }
    pthread_mutex_unlock(attached->mutex);
}

void tutti_attachments_close(struct tutti_attachments *attached)
{
    if (!attached)
        return;
    TUTTI_INSIDE();
    if (attached->far)
        tutti_next.MPI_Win_free(&attached->hidden);
    else
        attachments_detach_all(attached);
    pthread_mutex_destroy(&attached->far_mutex);
    free(attached);
}

static struct tutti_attached_row *attachment_at(const struct tutti_attachments *attached, int target, unsigned i)
{
    return &attached->row[target][i];
}

/* 1 if the row is in use, by this window (0: by any); *out is what it says. Its owner may change it meanwhile: then it
 * is not in use. */
static int attachment_read(const struct tutti_attached_row *row, uint64_t window, unsigned i,
                           struct tutti_attachment *out)
{
    const uint32_t generation = atomic_load_explicit(&row->generation, memory_order_acquire);
    if (generation % 2 == 0 || (window != 0 && row->window != window))
        return 0;
    *out = (struct tutti_attachment){.row = i,
                                     .generation = generation,
                                     .mapped = (int)row->mapped,
                                     .base = row->base,
                                     .bytes = row->bytes,
                                     .copy = row->copy};
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&row->generation, memory_order_relaxed) == generation;
}

int tutti_attachments_at(const struct tutti_attachments *attached, int target, unsigned i, struct tutti_attachment *out)
{
    out->generation = 0;
    if (i >= attached->rows)
        return -1;
    const struct tutti_attached_row *row = attachment_at(attached, target, i);
    if (atomic_load_explicit(&row->generation, memory_order_relaxed) == 0)
        return -1;
    if (!attachment_read(row, attached->window, i, out))
        out->generation = 0;
    return 0;
}

int tutti_attachments_own(unsigned i, struct tutti_attachment *out)
{
    const struct tutti_attached_row *row = tutti_mapped_rows(tutti_node_rank(tutti_door.node));
    return i < TUTTI_ATTACHED_ROWS && attachment_read(&row[i], 0, i, out);
}

int tutti_attachments_find(const struct tutti_attachments *attached, int target, uint64_t at,
                           struct tutti_attachment *out)
{
    for (unsigned i = 0; tutti_attachments_at(attached, target, i, out) >= 0; i++) {
        if (out->generation && at >= out->base && at - out->base < out->bytes)
            return 1;
    }
    return 0;
}

int tutti_attachments_begins(const struct tutti_attachments *attached, uint64_t base)
{
    struct tutti_attachment found;
    for (unsigned i = 0; tutti_attachments_at(attached, attached->rank, i, &found) >= 0; i++) {
        if (found.generation && found.base == base)
            return (int)i;
    }
    return -1;
}

int tutti_attachments_any(const struct tutti_attachments *attached, int target)
{
    struct tutti_attachment found;
    return tutti_attachments_at(attached, target, 0, &found) >= 0;
}

int tutti_attachments_separate(const struct tutti_attachments *attached)
{
    struct tutti_attachment found;
    for (int r = 0; r < attached->n; r++) {
        for (unsigned i = 0; tutti_attachments_at(attached, r, i, &found) >= 0; i++) {
            if (found.generation && !found.mapped)
                return 1;
        }
    }
    return 0;
}

/* The first `bytes` bytes of a row of this rank go to all others. An MPI code. */
static int attachment_send(struct tutti_attachments *attached, int row, int bytes)
{
    const struct tutti_attached_row *from = attachment_at(attached, attached->rank, (unsigned)row);
    const MPI_Aint at = (const char *)from - (const char *)attached->row[0];
    int code = MPI_SUCCESS;
    TUTTI_INSIDE();
    for (int r = 0; r < attached->n && attached->far && code == MPI_SUCCESS; r++) {
        if (r == attached->rank)
            continue;
        code = tutti_next.MPI_Win_lock(MPI_LOCK_SHARED, r, 0, attached->hidden);
        if (code == MPI_SUCCESS)
            code =
                tutti_next.MPI_Put(from, bytes, tutti_handles.byte, r, at, bytes, tutti_handles.byte, attached->hidden);
        if (code == MPI_SUCCESS)
            code = tutti_next.MPI_Win_unlock(r, attached->hidden);
    }
    return code;
}

int tutti_attachments_row(struct tutti_attachments *attached)
{
    for (unsigned i = 0; i < attached->rows; i++) {
        if (atomic_load(&attachment_at(attached, attached->rank, i)->generation) % 2 == 0)
            return (int)i;
    }
    return -1;
}

/* The contents go before the generation that makes them valid. */
int tutti_attachments_add(struct tutti_attachments *attached, int row, const struct tutti_attachment *region)
{
    struct tutti_attached_row *to = attachment_at(attached, attached->rank, (unsigned)row);
    to->mapped = (uint32_t)region->mapped;
    to->window = attached->window;
    to->base = region->base;
    to->bytes = region->bytes;
    to->copy = region->copy;
    const int code = attachment_send(attached, row, (int)sizeof *to);
    atomic_fetch_add(&to->generation, 1);
    return code == MPI_SUCCESS ? attachment_send(attached, row, (int)sizeof to->generation) : code;
}

int tutti_attachments_remove(struct tutti_attachments *attached, int row)
{
    atomic_fetch_add(&attachment_at(attached, attached->rank, (unsigned)row)->generation, 1);
    return attachment_send(attached, row, (int)sizeof(uint32_t));
}
