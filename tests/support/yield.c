/* Before MPICH over UCX: ranks that wait leave the core to others, as those of Open MPI are told to. MPICH 4.0 has no
 * setting for it, and where there are more ranks than cores each call would take milliseconds of spinning. */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>

enum { IDLE_MOST = 10 }; /* rounds without anything done before a yield */

static unsigned (*find(void))(void *)
{
    void *found = dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (!found) { /* the MPI came with a shared object that keeps its names to itself */
        void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
        found = library ? dlsym(library, "ucp_worker_progress") : NULL;
    }
    if (!found)
        abort();
    return (unsigned (*)(void *))found;
}

unsigned ucp_worker_progress(void *worker);
unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*volatile real)(void *);
    static __thread int idle;
    if (!real)
        real = find();
    const unsigned done = real(worker);
    idle = done ? 0 : idle + 1;
    if (idle >= IDLE_MOST) {
        idle = IDLE_MOST;
        sched_yield();
    }
    return done;
}
