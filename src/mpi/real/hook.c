#include "mpi/real/hook.h"

#include "core/log.h"
#include "mpi/real/door.h"
#include "progress/engine.h"

__thread int tutti_hook_on;
static int there, closed;

/* What the MPI is asked for in here may enter its progress, and this again. */
static void hook_poll(void)
{
    if (likely(!tutti_hook_on))
        return;
    TUTTI_INSIDE();
    __attribute__((cleanup(tutti_hook_off), unused)) const int before = tutti_hook_on;
    tutti_hook_on = 0;
    tutti_progress_poll();
}

/* ---- tutti_quirks.opal_progress: a hook for the MPI's own components ---- */

static int opal_progress(void)
{
    hook_poll();
    return 0; /* events of the MPI's own */
}

static int call_opal(const char *name)
{
    int (*call)(int (*)(void));
    *(void **)(void *)&call = tutti_mpi_symbol(name);
    return call ? call(opal_progress) : -1;
}

/* ---- a hook for everybody ---- */

static int async_progress(void *thing)
{
    (void)thing;
    hook_poll();
    return closed; /* MPIX_ASYNC_NOPROGRESS, _DONE */
}

static int start_async(void)
{
    enum { STREAM_NULL = 0x3c000000 };
    int (*start)(int (*)(void *), void *, int);
    *(void **)(void *)&start = tutti_mpi_symbol("MPIX_Async_start");
    return start && start(async_progress, NULL, STREAM_NULL) == MPI_SUCCESS ? 0 : -1;
}

void tutti_hook_open(void)
{
    closed = 0;
    there = (tutti_quirks.opal_progress ? call_opal("opal_progress_register_lp") : start_async()) == 0;
    if (!there)
        tutti_info("the MPI takes no progress hook");
}

int tutti_hook_is_there(void)
{
    return there && !closed;
}

void tutti_hook_close(void)
{
    if (there && !closed && tutti_quirks.opal_progress)
        call_opal("opal_progress_unregister");
    closed = 1;
}
