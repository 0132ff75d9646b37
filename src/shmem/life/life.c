/* tshmem_init and tshmem_finalize, and queries of a PE about itself. */
#include <dlfcn.h>
#include <string.h>

#include "shmem/far.h"
#include "shmem/here.h"
#include "shmem/life/life.h"
#include "shmem/meet.h"

static const struct tutti_shmem_host *server;

void tutti_shmem_serve(const struct tutti_shmem_host *host)
{
    server = host;
}

/* The stub is loaded with the program's first call of the MPI; this asks for it earlier. */
static void wake_server(void)
{
    union {
        void *symbol;
        void *(*call)(const char *, size_t);
    } find = {.symbol = dlsym(RTLD_DEFAULT, "tutti_mpix_call")};
    if (!find.symbol && tutti_shmem_load_front())
        find.symbol = dlsym(RTLD_DEFAULT, "tutti_mpix_call");
    if (find.symbol)
        find.call("tshmem_init", 0);
}

int tshmem_init(void)
{
    int provided;
    return tshmem_init_thread(TSHMEM_THREAD_SINGLE, &provided);
}

const struct tutti_shmem_host *tutti_shmem_server(struct tutti_shmem *space)
{
    return space->host ? space->host : server;
}

void tshmem_query_thread(int *provided)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const struct tutti_shmem_host *host = tutti_shmem_server(space);
    *provided = host && host->threads ? host->threads() : TSHMEM_THREAD_SINGLE;
}

void tshmem_query_initialized(int *initialized)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    *initialized = space->state.pes > 0;
}

/* Reports what is missing between the program and the MPI. */
int tutti_shmem_no_front(const char *call)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const int there = dlsym(RTLD_DEFAULT, "tutti_mpix_call") != NULL;
    return tutti_shmem_answer(
        space, TUTTI_ERR_UNAVAILABLE, call, "%s",
        there
            ? "libtutti.so is loaded, but no MPI that it knows: link the program with one (a linker may leave it out: "
              "-Wl,--no-as-needed); tutti info says which it knows"
            : "libtutti.so is not in front of an MPI: start the program by tutti run, or link it with -ltutti before "
              "the MPI");
}

const struct tutti_shmem_host *tutti_shmem_served(const char *call)
{
    if (!server)
        wake_server();
    if (!server)
        tutti_shmem_no_front(call);
    return server;
}

int tutti_shmem_init_fortran(int comm)
{
    const struct tutti_shmem_host *host = tutti_shmem_served("tshmem_init_comm");
    return host ? host->start_over(comm) : TUTTI_ERR_UNAVAILABLE;
}

int tutti_shmem_team_from_fortran(int comm, tshmem_team_t *made)
{
    const struct tutti_shmem_host *host = tutti_shmem_served("tshmem_team_from_comm");
    *made = TSHMEM_TEAM_INVALID;
    return host ? host->team_from(comm, made) : TUTTI_ERR_UNAVAILABLE;
}

int tshmem_init_thread(int requested, int *provided)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    *provided = TSHMEM_THREAD_SINGLE;
    if (requested < TSHMEM_THREAD_SINGLE || requested > TSHMEM_THREAD_MULTIPLE)
        return tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, "tshmem_init_thread", "there is no level %d of threads",
                                  requested);
    if (!tutti_shmem_served("tshmem_init"))
        return TUTTI_ERR_UNAVAILABLE;
    const int status = server->start();
    if (status == TUTTI_OK)
        tshmem_query_thread(provided);
    return status;
}

void tshmem_pcontrol(int level, ...)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    if (level < 0)
        tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, "tshmem_pcontrol", "there is no level %d", level);
}

int tshmem_finalize(void)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    if (space->state.pes == 0)
        return tutti_shmem_answer(space, TUTTI_ERR_UNAVAILABLE, "tshmem_finalize", "there is no address space to end");
    const struct tutti_shmem_host *host = space->host;
    tutti_shmem_complete(space, 0, tutti_shmem_far_quiet, -1);
    const int status = tutti_shmem_pass(space, TSHMEM_TEAM_WORLD, TUTTI_SHMEM_FINALIZE);
    if (status == TUTTI_ERR_MISMATCH) /* PEs that are in another call will not meet this one */
        tutti_shmem_leave_all(space);
    if (--space->users > 0)
        return status;
    tutti_shmem_space_close(space);
    const int finished = host && host->finish ? host->finish() : TUTTI_OK;
    return status != TUTTI_OK ? status : finished;
}

int tshmem_my_pe(void)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return space->state.pes > 0 ? space->state.me : -1;
}

int tshmem_n_pes(void)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return space->state.pes;
}

void tshmem_info_get_version(int *major, int *minor)
{
    *major = TSHMEM_MAJOR_VERSION;
    *minor = TSHMEM_MINOR_VERSION;
}

void tshmem_info_get_name(char *name)
{
    strcpy(name, TSHMEM_VENDOR_STRING);
}

void *tshmem_ptr(const void *dest, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const uint64_t at = (uint64_t)((uintptr_t)tutti_shmem_unconstant(space, dest) - (uintptr_t)space->state.heap);
    if (!tshmem_pe_accessible(pe) || at < space->first || at >= tutti_shmem_mapped(space) || !space->heaps[pe])
        return NULL;
    return pe == space->state.me ? (void *)dest : space->heaps[pe] + at;
}

int tshmem_addr_accessible(const void *address, int pe)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return tshmem_pe_accessible(pe) && tshmem_ptr(address, space->state.me) != NULL;
}

const struct tshmem_state *tshmem_state_get(void)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return space->state.pes > 0 ? &space->state : NULL;
}
