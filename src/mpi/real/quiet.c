#include "mpi/real/quiet.h"

#include <pthread.h>

#include "mpi/real/errors.h"
#include "mpi/real/hook.h"
#include "mpi/real/quirks.h"

atomic_int tutti_errors_return;

/* MPI_COMM_WORLD and MPI_COMM_SELF, where errors of calls without a communicator are raised. */
enum { WORLD, SELF, COMMS };
static int is_set[COMMS] = {[WORLD] = 1}; /* MPI_COMM_SELF without a handler of its own has that of MPI_COMM_WORLD */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* handlers are not the program's while it is held */

static MPI_Comm quiet_comm_of(int place)
{
    return place == WORLD ? tutti_handles.world : tutti_handles.self;
}

/* What is to be set back comes into *before; 0: nothing is. */
static int comm_silence(MPI_Comm comm, MPI_Errhandler *before)
{
    if (tutti_next.MPI_Comm_get_errhandler(comm, before) != MPI_SUCCESS)
        return 0;
    if (*before != tutti_handles.errors_return &&
        tutti_next.MPI_Comm_set_errhandler(comm, tutti_handles.errors_return) == MPI_SUCCESS)
        return 1;
    tutti_next.MPI_Errhandler_free(before);
    return 0;
}

/* The handlers that are silent meanwhile; the last is that of `comm`. The MPI's progress polls nothing of Tutti's in
 * this thread: what is polled may ask for the lock. */
struct silenced {
    int hook;
    MPI_Comm comm;
    int is[COMMS + 1];
    MPI_Errhandler before[COMMS + 1];
};

/* comm: the null handle for none. If the program has freed it, its handler cannot be asked for, and stays. */
static void silence_begin(struct silenced *silent, MPI_Comm comm)
{
    silent->hook = tutti_hook_on;
    tutti_hook_on = 0;
    pthread_mutex_lock(&lock);
    silent->comm = comm;
    for (int place = 0; place < COMMS; place++)
        silent->is[place] = is_set[place] && comm_silence(quiet_comm_of(place), &silent->before[place]);
    silent->is[COMMS] = comm != tutti_handles.no_comm && comm != tutti_handles.world && comm != tutti_handles.self &&
                        comm_silence(comm, &silent->before[COMMS]);
}

static void silence_end(struct silenced *silent)
{
    for (int place = COMMS; place >= 0; place--) {
        if (!silent->is[place])
            continue;
        tutti_next.MPI_Comm_set_errhandler(place == COMMS ? silent->comm : quiet_comm_of(place), silent->before[place]);
        tutti_next.MPI_Errhandler_free(&silent->before[place]);
    }
    pthread_mutex_unlock(&lock);
    tutti_hook_on = silent->hook;
}

int tutti_look(MPI_Request request, int *flag, MPI_Status *status)
{
    struct silenced silent;
    if (likely(!tutti_quirks.looks_raise || !atomic_load_explicit(&tutti_errors_return, memory_order_relaxed)))
        return tutti_next.MPI_Request_get_status(request, flag, status);
    silence_begin(&silent, tutti_handles.no_comm);
    const int code = tutti_next.MPI_Request_get_status(request, flag, status);
    silence_end(&silent);
    return code;
}

int tutti_testsome_quietly(MPI_Comm comm, MPI_Request *request, int *n, int *which, MPI_Status *status)
{
    struct silenced silent;
    silence_begin(&silent, comm);
    const int code = tutti_next.MPI_Testsome(1, request, n, which, status);
    silence_end(&silent);
    return code;
}

int tutti_test_on(MPI_Comm comm, MPI_Request *request, int *flag, MPI_Status *status)
{
    MPI_Status own, *where = status == MPI_STATUS_IGNORE ? &own : status; /* cppcheck-suppress uninitvar */
    if (likely(!tutti_waits_raise_elsewhere()))
        return tutti_next.MPI_Test(request, flag, status);
    const int code = tutti_look(*request, flag, where);
    if (code == MPI_SUCCESS)
        return *flag ? tutti_next.MPI_Test(request, flag, status) : code;
    *flag = 1;
    tutti_next.MPI_Request_free(request);
    return tutti_fail_comm(comm, code);
}

static void handler_note(int place, MPI_Errhandler handler)
{
    if (handler != tutti_handles.errors_are_fatal)
        atomic_store(&tutti_errors_return, 1);
    if (place < COMMS)
        is_set[place] = 1;
}

int tutti_quiet_set(MPI_Comm comm, MPI_Errhandler handler)
{
    pthread_mutex_lock(&lock);
    const int code = tutti_next.MPI_Comm_set_errhandler(comm, handler);
    if (code == MPI_SUCCESS && !tutti_inside)
        handler_note(comm == tutti_handles.world ? WORLD : comm == tutti_handles.self ? SELF : COMMS, handler);
    pthread_mutex_unlock(&lock);
    return code;
}

void tutti_quiet_begin(MPI_Errhandler handler)
{
    handler_note(WORLD, handler);
}
