/* Dynamic windows. Each rank finds what the others have attached in their rows (attachments.h). In one node a window is
 * made without a message, and ranks map each other's regions; otherwise, and where a region cannot be mapped, the owner
 * attaches a copy in host memory (shadow.c) in its place. */
#include <stdlib.h>

#include "core/log.h"
#include "mpi/comm/comms.h"
#include "mpi/move/mover.h"
#include "mpi/real/errors.h"
#include "mpi/rma/attachments.h"
#include "mpi/rma/mapped.h"

struct rows {
    struct tutti_mapped *mapped;
    struct tutti_attachments *attached;
};

/* Collective: rows that travel by the MPI, for this reason. An MPI code. */
static int attach_rows_travel(struct rows *rows, MPI_Comm comm, const char *why)
{
    int none = 1;
    const int code = tutti_ranks_agree(comm, tutti_door.device == NULL, &none);
    if (code != MPI_SUCCESS || none)
        return code;
    tutti_info("MPI_Win_create_dynamic: device memory that is attached gets a copy in host memory: %s", why);
    return tutti_attachments_open(&rows->attached, comm);
}

static void attach_rows_close(struct rows *rows)
{
    struct tutti_attachments *attached = rows->mapped ? rows->mapped->attached : rows->attached;
    tutti_mapped_close(rows->mapped);
    tutti_attachments_close(attached);
}

/* Before the MPI's call. Of one node it is local, and the slots of the others are looked for after that call. */
static int attach_rows_begin(struct rows *rows, MPI_Comm comm, enum tutti_whose *whose, const char **why)
{
    int n = 0, *world;
    *whose = tutti_ranks_asked(comm, &world, &n);
    if (*whose == TUTTI_OURS)
        rows->mapped = tutti_mapped_begin(comm, world, n, why);
    free(world);
    return *whose == TUTTI_OF_NODES ? attach_rows_travel(rows, comm, "ranks of several nodes") : MPI_SUCCESS;
}

static int attach_rows_end(struct rows *rows, MPI_Comm comm, const char *why)
{
    tutti_mapped_end(&rows->mapped, &why);
    if (!rows->mapped)
        return attach_rows_travel(rows, comm, why ? why : "another rank has no memory for the window");
    rows->attached = rows->mapped->attached;
    return MPI_SUCCESS;
}

int tutti_door_MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    struct rows rows = {.mapped = NULL};
    struct tutti_window *window = NULL;
    enum tutti_whose whose;
    const char *why = NULL;
    tutti_mover_pass(TUTTI_COLLECTIVE_MEETING, 0, comm);
    int code = attach_rows_begin(&rows, comm, &whose, &why);
    if (code == MPI_SUCCESS)
        code = tutti_next.MPI_Win_create_dynamic(info, comm, win);
    if (code == MPI_SUCCESS && whose == TUTTI_OURS)
        code = attach_rows_end(&rows, comm, why);
    if (code == MPI_SUCCESS && !rows.attached)
        return code;
    if (code != MPI_SUCCESS || !(window = tutti_window_of(*win))) {
        attach_rows_close(&rows);
        return code != MPI_SUCCESS ? code : tutti_fail_comm(comm, tutti_error_code(TUTTI_ERR_MEMORY));
    }
    window->mapped = rows.mapped;
    window->attached = rows.attached;
    if (!window->mapped)
        atomic_fetch_add(&tutti_windows_far, 1);
    return code;
}

static int attach_failed(MPI_Win win, int status)
{
    tutti_stage_report("MPI_Win_attach", status);
    return tutti_fail_win(win, tutti_error_code(status));
}

/* A copy in host memory is attached in the region's place. The rows' mutex is held. An MPI code. */
static int attach_copy(struct tutti_window *window, void *base, MPI_Aint size, struct tutti_attachment *region)
{
    const int status = tutti_shadow_open(&window->shadow, base, (size_t)size);
    if (status != TUTTI_OK)
        return attach_failed(window->handle, status);
    void *copy = tutti_shadow_memory(window->shadow);
    const int code = tutti_next.MPI_Win_attach(window->handle, copy, size);
    region->copy = (uint64_t)(uintptr_t)copy;
    if (code != MPI_SUCCESS)
        tutti_shadow_close(tutti_shadow_take(&window->shadow, base));
    return code;
}

/* The rows' mutex is held. */
static int attach_memory(struct tutti_window *window, void *base, MPI_Aint size)
{
    struct tutti_attachment region = {.base = (uint64_t)(uintptr_t)base, .bytes = (uint64_t)size};
    struct tutti_share share;
    const int row = tutti_attachments_row(window->attached);
    int code = MPI_SUCCESS;
    if (row < 0)
        return tutti_fail_win(window->handle, MPI_ERR_RMA_ATTACH);
    region.mapped = window->mapped && tutti_mapped_show(window->mapped, base, region.bytes, &share) == TUTTI_OK;
    if (!region.mapped && (code = attach_copy(window, base, size, &region)) != MPI_SUCCESS)
        return code;
    if (region.mapped)
        tutti_mapped_shares(tutti_node_rank(tutti_door.node))[row] = share;
    else
        tutti_info("MPI_Win_attach: %zu bytes of device memory have a copy in host memory", (size_t)size);
    for (int r = 0; window->mapped && r < window->mapped->n; r++)
        tutti_mapped_announce(window->mapped->peer[r].node);
    code = tutti_attachments_add(window->attached, row, &region);
    if (region.mapped)
        tutti_mapped_shown(window->mapped, &share);
    return code;
}

int tutti_door_MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    if (likely(size <= 0 || !tutti_must_stage(base)))
        return tutti_next.MPI_Win_attach(win, base, size);
    struct tutti_window *window = tutti_window_find(win);
    if (!window || !window->attached) {
        tutti_refuse("MPI_Win_attach", "base");
        return tutti_fail_win(win, MPI_ERR_BUFFER);
    }
    pthread_mutex_lock(window->attached->mutex);
    const int code = attach_memory(window, base, size);
    pthread_mutex_unlock(window->attached->mutex);
    return code;
}

int tutti_door_MPI_Win_detach(MPI_Win win, const void *base)
{
    struct tutti_window *window = tutti_window_find(win);
    if (likely(!window || !window->attached))
        return tutti_next.MPI_Win_detach(win, base);
    struct tutti_attachments *attached = window->attached;
    int code = MPI_SUCCESS;
    pthread_mutex_lock(attached->mutex);
    const int row = tutti_attachments_begins(attached, (uint64_t)(uintptr_t)base);
    if (row < 0) {
        pthread_mutex_unlock(attached->mutex);
        return tutti_next.MPI_Win_detach(win, base);
    }
    code = tutti_attachments_remove(attached, row);
    struct tutti_shadow *shadow = tutti_shadow_take(&window->shadow, base);
    if (shadow) {
        const int detached = tutti_next.MPI_Win_detach(win, tutti_shadow_memory(shadow));
        const int status = tutti_shadow_end(&shadow);
        code = code == MPI_SUCCESS ? detached : code;
        if (status != TUTTI_OK && code == MPI_SUCCESS)
            code = tutti_fail_win(win, tutti_error_code(status));
        tutti_shadow_close(shadow);
    }
    pthread_mutex_unlock(attached->mutex);
    return code;
}
