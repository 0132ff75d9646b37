/* Synchronisation of windows. A mapped window has epochs of its own (OWN); the MPI's call is made (REAL) where the MPI
 * has memory of the window. What the call completes at the origin hands on its results (COMPLETE). Where the owner's
 * call makes two copies of a window one by the rules of MPI_WIN_SEPARATE, they are matched (MATCH). The steps of a call
 * come one after the other, up to the first that fails. */
#include "mpi/real/errors.h"
#include "mpi/real/self.h"
#include "mpi/rma/attachments.h"
#include "mpi/rma/mapped.h"

struct syncing {
    struct tutti_window *window;
    struct tutti_mapped *mapped;
    const char *call;
    int code;
};

/* A status of a mapped window's epochs. */
static void sync_own(struct syncing *s, int status)
{
    if (likely(status == TUTTI_OK))
        return;
    const int wrong = status == TUTTI_ERR_ARGUMENT;
    if (!wrong)
        tutti_stage_report(s->call, status);
    s->code = tutti_fail_win(s->window->handle, wrong ? MPI_ERR_RMA_SYNC : tutti_error_code(status));
}

static void sync_match(struct syncing *s)
{
    const int status = s->window->shadow ? tutti_shadow_match(&s->window->shadow) : TUTTI_OK;
    if (status == TUTTI_OK)
        return;
    tutti_stage_report(s->call, status);
    s->code = tutti_fail_win(s->window->handle, tutti_error_code(status));
}

/* 1 if the MPI has epochs of the window. */
static int sync_real(const struct syncing *s)
{
    return s->code == MPI_SUCCESS && (!s->mapped || s->mapped->beside);
}

static struct syncing sync_begin(struct tutti_window *window, const char *call)
{
    if (window->attached && window->mapped)
        tutti_mapped_look(window->mapped);
    return (struct syncing){.window = window, .mapped = window->mapped, .call = call, .code = MPI_SUCCESS};
}

/* Of windows that Tutti keeps nothing of, the call is the MPI's. */
#define SYNC(name, win, arguments)                                                                                     \
    struct tutti_window *window = tutti_window_find(win);                                                              \
    if (likely(!window))                                                                                               \
        return tutti_next.name arguments;                                                                              \
    struct syncing s = sync_begin(window, #name)
#define OWN(status)                                                                                                    \
    if (s.mapped && s.code == MPI_SUCCESS)                                                                             \
    sync_own(&s, status)
#define MATCH()                                                                                                        \
    if (s.code == MPI_SUCCESS)                                                                                         \
    sync_match(&s)
#define REAL(call)                                                                                                     \
    if (sync_real(&s))                                                                                                 \
    s.code = tutti_next.call
#define COMPLETE(target)                                                                                               \
    if (s.code == MPI_SUCCESS)                                                                                         \
    s.code = tutti_unfinished_complete(window, target)

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

int tutti_door_MPI_Win_fence(int assert, MPI_Win win)
{
    SYNC(MPI_Win_fence, win, (assert, win));
    OWN(tutti_mapped_arrive(s.mapped, assert));
    MATCH();
    REAL(MPI_Win_fence(assert, win));
    OWN(tutti_mapped_meet_all(s.mapped, 0));
    COMPLETE(TUTTI_RMA_ALL);
    MATCH();
    return s.code;
}

/* ---- post, start, complete, wait ---- */

int tutti_door_MPI_Win_post(MPI_Group group, int assert, MPI_Win win)
{
    SYNC(MPI_Win_post, win, (group, assert, win));
    OWN(tutti_mapped_post(s.mapped, group));
    MATCH();
    REAL(MPI_Win_post(group, assert, win));
    return s.code;
}

int tutti_door_MPI_Win_start(MPI_Group group, int assert, MPI_Win win)
{
    SYNC(MPI_Win_start, win, (group, assert, win));
    OWN(tutti_mapped_start(s.mapped, group));
    REAL(MPI_Win_start(group, assert, win));
    return s.code;
}

int tutti_door_MPI_Win_complete(MPI_Win win)
{
    SYNC(MPI_Win_complete, win, (win));
    OWN(tutti_mapped_complete(s.mapped));
    REAL(MPI_Win_complete(win));
    COMPLETE(TUTTI_RMA_ALL);
    return s.code;
}

int tutti_door_MPI_Win_wait(MPI_Win win)
{
    SYNC(MPI_Win_wait, win, (win));
    REAL(MPI_Win_wait(win));
    OWN(tutti_mapped_wait(s.mapped));
    MATCH();
    return s.code;
}

/* An origin completes by the words before it does by the MPI. */
int tutti_door_MPI_Win_test(MPI_Win win, int *flag)
{
    tutti_self_look();
    SYNC(MPI_Win_test, win, (win, flag));
    if (s.mapped && !s.mapped->beside) {
        sync_own(&s, tutti_mapped_test(s.mapped, flag));
        return s.code;
    }
    s.code = tutti_next.MPI_Win_test(win, flag);
    if (s.code != MPI_SUCCESS || !*flag)
        return s.code;
    OWN(tutti_mapped_wait(s.mapped));
    MATCH();
    return s.code;
}

/* ---- locks: the owner's calls for any target. The words' lock is held whenever the MPI's is, and keeps conflicting
 * locks away. The MPI gets no MPI_MODE_NOCHECK for that (quirks.h). ---- */

int tutti_door_MPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win)
{
    SYNC(MPI_Win_lock, win, (lock_type, rank, assert, win));
    OWN(mapped_lock(s.mapped, lock_type, rank, assert));
    const int locked = s.mapped && s.code == MPI_SUCCESS;
    REAL(MPI_Win_lock(lock_type, rank, assert, win));
    if (locked && s.code != MPI_SUCCESS)
        (void)mapped_unlock(s.mapped, rank);
    MATCH();
    return s.code;
}

int tutti_door_MPI_Win_lock_all(int assert, MPI_Win win)
{
    SYNC(MPI_Win_lock_all, win, (assert, win));
    OWN(tutti_mapped_lock_all(s.mapped, assert));
    const int locked = s.mapped && s.code == MPI_SUCCESS;
    REAL(MPI_Win_lock_all(assert, win));
    if (locked && s.code != MPI_SUCCESS)
        (void)tutti_mapped_unlock_all(s.mapped);
    MATCH();
    return s.code;
}

int tutti_door_MPI_Win_unlock(int rank, MPI_Win win)
{
    SYNC(MPI_Win_unlock, win, (rank, win));
    OWN(tutti_mapped_flush(s.mapped));
    MATCH();
    REAL(MPI_Win_unlock(rank, win));
    OWN(mapped_unlock(s.mapped, rank));
    COMPLETE(rank);
    return s.code;
}

int tutti_door_MPI_Win_unlock_all(MPI_Win win)
{
    SYNC(MPI_Win_unlock_all, win, (win));
    OWN(tutti_mapped_flush(s.mapped));
    MATCH();
    REAL(MPI_Win_unlock_all(win));
    OWN(tutti_mapped_unlock_all(s.mapped));
    COMPLETE(TUTTI_RMA_ALL);
    return s.code;
}

/* 1 if no operation on the window was other than the MPI's: a dynamic window of a program that has no device memory. */
static int sync_has_nothing(struct tutti_window *window)
{
    return window->mapped && window->attached && !tutti_windows_have_foreign() && !tutti_unfinished_any(window);
}

#define FLUSH(name, real, parameters, arguments, target)                                                               \
    int tutti_door_##name parameters                                                                                   \
    {                                                                                                                  \
        SYNC(name, win, arguments);                                                                                    \
        if (likely(sync_has_nothing(window)))                                                                          \
            return (real)arguments;                                                                                    \
        OWN(tutti_mapped_flush(s.mapped));                                                                             \
        if (sync_real(&s))                                                                                             \
            s.code = (real)arguments;                                                                                  \
        COMPLETE(target);                                                                                              \
        return s.code;                                                                                                 \
    }
/* The stages are given back behind a local flush. So it is a flush if the MPI would return before the data of gets
 * arrive. */
#define FLUSH_LOCAL(how, target)                                                                                       \
    (tutti_unfinished_arrives(window, target) ? tutti_next.MPI_Win_flush##how : tutti_next.MPI_Win_flush_local##how)
FLUSH(MPI_Win_flush, tutti_next.MPI_Win_flush, (int rank, MPI_Win win), (rank, win), rank)
FLUSH(MPI_Win_flush_all, tutti_next.MPI_Win_flush_all, (MPI_Win win), (win), TUTTI_RMA_ALL)
FLUSH(MPI_Win_flush_local, FLUSH_LOCAL(, rank), (int rank, MPI_Win win), (rank, win), rank)
FLUSH(MPI_Win_flush_local_all, FLUSH_LOCAL(_all, TUTTI_RMA_ALL), (MPI_Win win), (win), TUTTI_RMA_ALL)

int tutti_door_MPI_Win_sync(MPI_Win win)
{
    SYNC(MPI_Win_sync, win, (win));
    OWN(tutti_mapped_flush(s.mapped));
    REAL(MPI_Win_sync(win));
    MATCH();
    return s.code;
}

/* ---- the window itself ---- */

int tutti_door_MPI_Win_free(MPI_Win *win)
{
    struct tutti_window *window = win ? tutti_window_find(*win) : NULL;
    if (likely(!window))
        return tutti_next.MPI_Win_free(win);
    struct syncing s = sync_begin(window, "MPI_Win_free");
    OWN(tutti_mapped_arrive(s.mapped, 0)); /* no rank uses another's memory any more */
    OWN(tutti_mapped_meet_all(s.mapped, 1));
    if (s.code != MPI_SUCCESS || (s.code = tutti_next.MPI_Win_free(win)) != MPI_SUCCESS)
        return s.code;
    const int status = tutti_shadow_end(&window->shadow);
    tutti_window_drop(window);
    if (status == TUTTI_OK)
        return MPI_SUCCESS;
    tutti_stage_report("MPI_Win_free", status);
    return tutti_fail_self(tutti_error_code(status));
}

/* The program's own memory and model, where the MPI has others. */
int tutti_door_MPI_Win_get_attr(MPI_Win win, int win_keyval, void *attribute_val, int *flag)
{
    static int separate = MPI_WIN_SEPARATE, unified = MPI_WIN_UNIFIED, created = MPI_WIN_FLAVOR_CREATE,
               allocated = MPI_WIN_FLAVOR_ALLOCATE;
    const int code = tutti_next.MPI_Win_get_attr(win, win_keyval, attribute_val, flag);
    struct tutti_window *window = code == MPI_SUCCESS && *flag ? tutti_window_find(win) : NULL;
    if (likely(!window))
        return code;
    if (window->attached) {
        if (win_keyval == MPI_WIN_MODEL && tutti_attachments_separate(window->attached))
            *(int **)attribute_val = &separate;
        return code;
    }
    const int mapped = window->mapped != NULL, alone = mapped && !window->mapped->beside;
    if (win_keyval == MPI_WIN_BASE && (window->shadow || mapped))
        *(void **)attribute_val = window->base;
    else if (win_keyval == MPI_WIN_SIZE && mapped)
        *(MPI_Aint **)attribute_val = &window->size;
    else if (win_keyval == MPI_WIN_CREATE_FLAVOR && (mapped || window->allocated))
        *(int **)attribute_val = window->allocated ? &allocated : &created;
    else if (win_keyval == MPI_WIN_MODEL && (window->separate || alone))
        *(int **)attribute_val = alone ? &unified : &separate;
    return code;
}
