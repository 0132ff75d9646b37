/* Synchronisation of windows. A mapped window has epochs of its own. Of others, what a call completes at the origin
 * hands on its results; where the owner's call makes its two copies of a window one by the rules of MPI_WIN_SEPARATE,
 * they are matched. */
#include "mpi/real/errors.h"
#include "mpi/real/self.h"
#include "mpi/rma/mapped.h"

/* Of windows that Tutti keeps nothing of, the call is the MPI's. */
#define WINDOW_OR(window, win, call)                                                                                   \
    struct tutti_window *window = tutti_window_find(win);                                                              \
    if (likely(!window))                                                                                               \
    return tutti_next.call

/* The same; the call on a mapped window is `own`, a status. */
#define WINDOW_OWN(window, win, own, name, arguments)                                                                  \
    WINDOW_OR(window, win, name arguments);                                                                            \
    if (window->mapped)                                                                                                \
    return window_end(window, #name, own)

/* The code of a call on a mapped window. */
static int window_end(const struct tutti_window *window, const char *call, int status)
{
    if (likely(status == TUTTI_OK))
        return MPI_SUCCESS;
    if (status == TUTTI_ERR_ARGUMENT)
        return tutti_fail_win(window->handle, MPI_ERR_RMA_SYNC);
    tutti_stage_report(call, status);
    return tutti_fail_win(window->handle, tutti_error_code(status));
}

/* A lock of MPI_PROC_NULL does nothing. */
static int mapped_lock(struct tutti_mapped *mapped, int lock_type, int rank, int assert)
{
    if (rank == MPI_PROC_NULL)
        return TUTTI_OK;
    return rank < 0 || rank >= mapped->n ? TUTTI_ERR_ARGUMENT
                                         : tutti_mapped_lock(mapped, rank, lock_type == MPI_LOCK_EXCLUSIVE, assert);
}

static int mapped_unlock(struct tutti_mapped *mapped, int rank)
{
    if (rank == MPI_PROC_NULL)
        return TUTTI_OK;
    return rank < 0 || rank >= mapped->n ? TUTTI_ERR_ARGUMENT : tutti_mapped_unlock(mapped, rank);
}

/* The codes of what a call does one after the other: the first failure is the call's. */
static int window_match(struct tutti_window *window, const char *call, int code)
{
    const int status = code == MPI_SUCCESS && window->shadow ? tutti_shadow_match(window->shadow) : TUTTI_OK;
    if (status == TUTTI_OK)
        return code;
    tutti_stage_report(call, status);
    return tutti_fail_win(window->handle, tutti_error_code(status));
}

static int window_complete(struct tutti_window *window, int target, int code)
{
    return code == MPI_SUCCESS ? tutti_unfinished_complete(window, target) : code;
}

int tutti_door_MPI_Win_fence(int assert, MPI_Win win)
{
    WINDOW_OWN(window, win, tutti_mapped_fence(window->mapped, assert), MPI_Win_fence, (assert, win));
    int code = window_match(window, "MPI_Win_fence", MPI_SUCCESS);
    if (code == MPI_SUCCESS)
        code = tutti_next.MPI_Win_fence(assert, win);
    return window_match(window, "MPI_Win_fence", window_complete(window, TUTTI_RMA_ALL, code));
}

/* ---- post, start, complete, wait ---- */

int tutti_door_MPI_Win_post(MPI_Group group, int assert, MPI_Win win)
{
    WINDOW_OWN(window, win, tutti_mapped_post(window->mapped, group), MPI_Win_post, (group, assert, win));
    const int code = window_match(window, "MPI_Win_post", MPI_SUCCESS);
    return code == MPI_SUCCESS ? tutti_next.MPI_Win_post(group, assert, win) : code;
}

int tutti_door_MPI_Win_start(MPI_Group group, int assert, MPI_Win win)
{
    WINDOW_OWN(window, win, tutti_mapped_start(window->mapped, group), MPI_Win_start, (group, assert, win));
    return tutti_next.MPI_Win_start(group, assert, win);
}

int tutti_door_MPI_Win_complete(MPI_Win win)
{
    WINDOW_OWN(window, win, tutti_mapped_complete(window->mapped), MPI_Win_complete, (win));
    return window_complete(window, TUTTI_RMA_ALL, tutti_next.MPI_Win_complete(win));
}

int tutti_door_MPI_Win_wait(MPI_Win win)
{
    WINDOW_OWN(window, win, tutti_mapped_wait(window->mapped), MPI_Win_wait, (win));
    return window_match(window, "MPI_Win_wait", tutti_next.MPI_Win_wait(win));
}

int tutti_door_MPI_Win_test(MPI_Win win, int *flag)
{
    tutti_self_look();
    WINDOW_OWN(window, win, tutti_mapped_test(window->mapped, flag), MPI_Win_test, (win, flag));
    const int code = tutti_next.MPI_Win_test(win, flag);
    return code == MPI_SUCCESS && *flag ? window_match(window, "MPI_Win_test", code) : code;
}

/* ---- locks: the owner's calls for any target ---- */

int tutti_door_MPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win)
{
    WINDOW_OWN(window, win, mapped_lock(window->mapped, lock_type, rank, assert), MPI_Win_lock,
               (lock_type, rank, assert, win));
    return window_match(window, "MPI_Win_lock", tutti_next.MPI_Win_lock(lock_type, rank, assert, win));
}

int tutti_door_MPI_Win_lock_all(int assert, MPI_Win win)
{
    WINDOW_OWN(window, win, tutti_mapped_lock_all(window->mapped, assert), MPI_Win_lock_all, (assert, win));
    return window_match(window, "MPI_Win_lock_all", tutti_next.MPI_Win_lock_all(assert, win));
}

int tutti_door_MPI_Win_unlock(int rank, MPI_Win win)
{
    WINDOW_OWN(window, win, mapped_unlock(window->mapped, rank), MPI_Win_unlock, (rank, win));
    int code = window_match(window, "MPI_Win_unlock", MPI_SUCCESS);
    if (code == MPI_SUCCESS)
        code = tutti_next.MPI_Win_unlock(rank, win);
    return window_complete(window, rank, code);
}

int tutti_door_MPI_Win_unlock_all(MPI_Win win)
{
    WINDOW_OWN(window, win, tutti_mapped_unlock_all(window->mapped), MPI_Win_unlock_all, (win));
    int code = window_match(window, "MPI_Win_unlock_all", MPI_SUCCESS);
    if (code == MPI_SUCCESS)
        code = tutti_next.MPI_Win_unlock_all(win);
    return window_complete(window, TUTTI_RMA_ALL, code);
}

int tutti_door_MPI_Win_flush(int rank, MPI_Win win)
{
    WINDOW_OWN(window, win, tutti_mapped_flush(window->mapped), MPI_Win_flush, (rank, win));
    return window_complete(window, rank, tutti_next.MPI_Win_flush(rank, win));
}

int tutti_door_MPI_Win_flush_all(MPI_Win win)
{
    WINDOW_OWN(window, win, tutti_mapped_flush(window->mapped), MPI_Win_flush_all, (win));
    return window_complete(window, TUTTI_RMA_ALL, tutti_next.MPI_Win_flush_all(win));
}

int tutti_door_MPI_Win_flush_local(int rank, MPI_Win win)
{
    WINDOW_OWN(window, win, tutti_mapped_flush(window->mapped), MPI_Win_flush_local, (rank, win));
    return window_complete(window, rank, tutti_next.MPI_Win_flush_local(rank, win));
}

int tutti_door_MPI_Win_flush_local_all(MPI_Win win)
{
    WINDOW_OWN(window, win, tutti_mapped_flush(window->mapped), MPI_Win_flush_local_all, (win));
    return window_complete(window, TUTTI_RMA_ALL, tutti_next.MPI_Win_flush_local_all(win));
}

int tutti_door_MPI_Win_sync(MPI_Win win)
{
    WINDOW_OWN(window, win, tutti_mapped_flush(window->mapped), MPI_Win_sync, (win));
    return window_match(window, "MPI_Win_sync", tutti_next.MPI_Win_sync(win));
}

/* ---- the window itself ---- */

int tutti_door_MPI_Win_free(MPI_Win *win)
{
    struct tutti_window *window = win ? tutti_window_find(*win) : NULL;
    if (likely(!window))
        return tutti_next.MPI_Win_free(win);
    if (window->mapped) { /* no rank uses another's memory any more */
        const int met = window_end(window, "MPI_Win_free", tutti_mapped_fence(window->mapped, 0));
        if (met != MPI_SUCCESS)
            return met;
    }
    int code = tutti_next.MPI_Win_free(win);
    if (code != MPI_SUCCESS)
        return code;
    /* Programs have freed the memory before. */
    const int there = window->shadow && tutti_on_device(window->base);
    const int status = there ? tutti_shadow_match(window->shadow) : TUTTI_OK;
    tutti_window_drop(window);
    if (status == TUTTI_OK)
        return MPI_SUCCESS;
    tutti_stage_report("MPI_Win_free", status);
    return tutti_fail_self(tutti_error_code(status));
}

int tutti_door_MPI_Win_get_attr(MPI_Win win, int win_keyval, void *attribute_val, int *flag)
{
    static int separate = MPI_WIN_SEPARATE, unified = MPI_WIN_UNIFIED, created = MPI_WIN_FLAVOR_CREATE;
    const int code = tutti_next.MPI_Win_get_attr(win, win_keyval, attribute_val, flag);
    struct tutti_window *window = code == MPI_SUCCESS && *flag ? tutti_window_find(win) : NULL;
    if (likely(!window))
        return code;
    if (win_keyval == MPI_WIN_BASE && (window->shadow || window->mapped))
        *(void **)attribute_val = window->base;
    else if (win_keyval == MPI_WIN_SIZE && window->mapped)
        *(MPI_Aint **)attribute_val = &window->size;
    else if (win_keyval == MPI_WIN_CREATE_FLAVOR && window->mapped)
        *(int **)attribute_val = &created;
    else if (win_keyval == MPI_WIN_MODEL && (window->separate || window->mapped))
        *(int **)attribute_val = window->mapped ? &unified : &separate;
    return code;
}
