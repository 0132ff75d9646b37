/* Open MPI has such hooks for its own components (opal_progress_register_lp: one call in eight rounds), MPICH from 4.3
 * for everybody (MPIX_Async_start). Other MPIs have none that is known. */
#include "mpi/real/hook.h"

#include "core/log.h"
#include "mpi/real/door.h"
#include "progress/engine.h"

__thread int tutti_hook_on;

/* What the MPI is asked for in here may come to its progress, and back to this. */
static void bring_on(void)
{
    if (likely(!tutti_hook_on))
        return;
    TUTTI_INSIDE();
    __attribute__((cleanup(tutti_hook_off), unused)) const int before = tutti_hook_on;
    tutti_hook_on = 0;
    tutti_progress_poll();
}

#ifdef TUTTI_FRONT_OPENMPI

static int progress(void)
{
    bring_on();
    return 0; /* events of the MPI's own */
}

static int call_with(const char *name)
{
    int (*call)(int (*)(void));
    *(void **)(void *)&call = tutti_ompi_symbol(name);
    return call ? call(progress) : -1;
}

void tutti_hook_open(void)
{
    if (call_with("opal_progress_register_lp") != 0)
        tutti_info("the MPI takes no progress hook");
}

void tutti_hook_close(void)
{
    call_with("opal_progress_unregister");
}

#else

static int closed;

static int progress(void *thing)
{
    (void)thing;
    bring_on();
    return closed; /* MPIX_ASYNC_NOPROGRESS, _DONE */
}

void tutti_hook_open(void)
{
    enum { STREAM_NULL = 0x3c000000 };
    int (*start)(int (*)(void *), void *, int);
    *(void **)(void *)&start = tutti_mpi_symbol("MPIX_Async_start");
    if (!start || start(progress, NULL, STREAM_NULL) != MPI_SUCCESS)
        tutti_info("the MPI takes no progress hook");
}

void tutti_hook_close(void)
{
    closed = 1;
}

#endif
