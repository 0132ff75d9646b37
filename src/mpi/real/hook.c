#include "mpi/real/hook.h"

#include <stdatomic.h>

#include "core/log.h"
#include "mpi/real/door.h"
#include "mpi/real/import.h"
#include "mpi/real/self.h"
#include "progress/engine.h"

__thread int tutti_hook_on;

/* Ways in which the MPI's progress calls hook_poll(). */
enum way { OPAL, ASYNC, UCP, WAYS };
static int is_open[WAYS], any_open;
static int opening; /* 1: open_way() looks whether the MPI's progress calls hook_poll() */
static _Atomic unsigned runs[WAYS];

/* What the MPI is asked for in here may enter its progress, and this again. */
static void hook_poll(enum way way)
{
    if (likely(!tutti_hook_on)) {
        if (unlikely(opening))
            atomic_fetch_add_explicit(&runs[way], 1, memory_order_relaxed);
        return;
    }
    TUTTI_INSIDE();
    __attribute__((cleanup(tutti_hook_off), unused)) const int before = tutti_hook_on;
    tutti_hook_on = 0;
    tutti_progress_poll();
}

/* ---- tutti_quirks.opal_progress: a hook for the MPI's own components ---- */

static int opal_progress(void)
{
    hook_poll(OPAL);
    return 0; /* events of the MPI's own */
}

static int call_opal(const char *name)
{
    int (*call)(int (*)(void));
    *(void **)(void *)&call = tutti_mpi_symbol(name);
    return call ? call(opal_progress) : -1;
}

static int open_opal(void)
{
    return tutti_quirks.opal_progress ? call_opal("opal_progress_register_lp") : -1;
}

static void close_opal(void)
{
    call_opal("opal_progress_unregister");
}

/* ---- MPIX_Async_start: a hook for everybody ---- */

static int async_ends;

static int async_progress(void *thing)
{
    (void)thing;
    hook_poll(ASYNC);
    return async_ends; /* MPIX_ASYNC_NOPROGRESS, _DONE */
}

static int open_async(void)
{
    enum { STREAM_NULL = 0x3c000000 };
    int (*start)(int (*)(void *), void *, int);
    *(void **)(void *)&start = tutti_mpi_symbol("MPIX_Async_start");
    async_ends = 0;
    return start && start(async_progress, NULL, STREAM_NULL) == MPI_SUCCESS ? 0 : -1;
}

static void close_async(void)
{
    async_ends = 1;
}

/* ---- MPIs over UCX: each round of their progress calls ucp_worker_progress ---- */

static unsigned (*ucp_real)(void *worker);

/* Nothing is polled where UCX calls the MPI back and that makes progress: UCX is in the middle of its work there. */
static unsigned ucp_progress(void *worker)
{
    static __thread int inside;
    if (inside)
        return ucp_real(worker);
    hook_poll(UCP);
    inside = 1;
    const unsigned events = ucp_real(worker);
    inside = 0;
    return events;
}

static const char ucp_name[] = "ucp_worker_progress";

/* Without MPI_THREAD_MULTIPLE the MPI holds no lock there, and its own state is whole: the function may enter any call
 * of the MPI. */
static int open_ucp(void)
{
    void *real = tutti_import_replace(tutti_mpi_symbol("MPI_Get_version"), ucp_name, (void *)(uintptr_t)ucp_progress);
    if (real)
        *(void **)(void *)&ucp_real = real;
    return real ? 0 : -1;
}

static void close_ucp(void)
{
    tutti_import_restore(tutti_mpi_symbol("MPI_Get_version"), ucp_name, (void *)(uintptr_t)ucp_progress,
                         (void *)(uintptr_t)ucp_real);
}

/* ---- all ---- */

static const struct hook {
    const char *name;
    int (*open)(void); /* 0, or -1 where the MPI has no such way */
    void (*close)(void);
} hooks[WAYS] = {
    [OPAL] = {"opal_progress_register_lp", open_opal, close_opal},
    [ASYNC] = {"MPIX_Async_start", open_async, close_async},
    [UCP] = {"ucp_worker_progress", open_ucp, close_ucp},
};

/* 1 if the MPI's progress really calls it: the MPI may use another network than the one whose function was replaced. */
static int open_way(enum way way)
{
    enum { ROUNDS = 64 };
    if (hooks[way].open() != 0)
        return 0;
    const unsigned before = atomic_load(&runs[way]);
    for (int round = 0; round < ROUNDS && atomic_load(&runs[way]) == before; round++)
        tutti_self_progress();
    if (atomic_load(&runs[way]) != before)
        return 1;
    hooks[way].close();
    return 0;
}

/* Opens all ways that there are: an MPI may wait for the lock of a window in UCX alone, where it calls no hook. */
void tutti_hook_open(void)
{
    any_open = 0;
    opening = 1;
    for (enum way way = 0; way < WAYS; way++) {
        is_open[way] = open_way(way);
        any_open |= is_open[way];
        if (is_open[way])
            tutti_info("the MPI's progress polls open steps, by %s", hooks[way].name);
    }
    opening = 0;
    if (!any_open)
        tutti_info("the MPI takes no progress hook");
}

int tutti_hook_is_there(void)
{
    return any_open;
}

void tutti_hook_close(void)
{
    for (enum way way = 0; way < WAYS; way++) {
        if (is_open[way])
            hooks[way].close();
        is_open[way] = 0;
    }
    any_open = 0;
}
