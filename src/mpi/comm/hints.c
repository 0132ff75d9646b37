#include "mpi/comm/hints.h"

#include <pthread.h>
#include <string.h>

#include "mpi/comm/comms.h"

int tutti_comm_hinted;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval, made;
/* The attribute's value is the address of the one with this number: 1: spares here, 2: on all ranks of a communicator
 * with a stream. */
static char values[4];

static int hints_not_copied(MPI_Comm comm, int of, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)of;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static int hints_drop(MPI_Comm comm, int of, void *value, void *extra)
{
    (void)comm;
    (void)of;
    (void)value;
    (void)extra;
    return MPI_SUCCESS;
}

static int hints_are_ready(void)
{
    pthread_mutex_lock(&lock);
    made = made || tutti_next.MPI_Comm_create_keyval(hints_not_copied, hints_drop, &keyval, NULL) == MPI_SUCCESS;
    pthread_mutex_unlock(&lock);
    return made;
}

void tutti_comm_hints_close(void)
{
    pthread_mutex_lock(&lock);
    made = 0;
    __atomic_store_n(&tutti_comm_hinted, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

static int hints_of(MPI_Comm comm)
{
    void *value = NULL;
    int flag = 0;
    TUTTI_INSIDE();
    if (!made || tutti_next.MPI_Comm_get_attr(comm, keyval, &value, &flag) != MPI_SUCCESS || !flag)
        return 0;
    return (int)((char *)value - values);
}

int tutti_comm_spares_hinted(MPI_Comm comm, int in_stream)
{
    return hints_of(comm) >> (in_stream != 0) & 1;
}

static void hints_set(MPI_Comm comm, int number)
{
    if (hints_are_ready() && tutti_next.MPI_Comm_set_attr(comm, keyval, &values[number]) == MPI_SUCCESS)
        __atomic_store_n(&tutti_comm_hinted, 1, __ATOMIC_RELAXED);
}

/* *spare: the value of the key. 0 where the info does not have it. */
static int hints_read(MPI_Info info, int *spare)
{
    char value[8] = "";
    int flag = 0;
    if (info == tutti_handles.no_info || !tutti_next.MPI_Info_get ||
        tutti_next.MPI_Info_get(info, TUTTI_HINT_SPARE, (int)sizeof value - 1, value, &flag) != MPI_SUCCESS)
        return 0;
    if (flag)
        *spare = strcmp(value, "true") == 0;
    return flag;
}

void tutti_comm_hints_note(MPI_Comm comm, MPI_Info info)
{
    TUTTI_INSIDE();
    const struct tutti_comm *state = tutti_comm_find(comm);
    const int before = __atomic_load_n(&tutti_comm_hinted, __ATOMIC_RELAXED) ? hints_of(comm) : 0;
    int spare = before & 1, all = 0;
    const int given = hints_read(info, &spare);
    if (state && state->stream &&
        tutti_next.MPI_Allreduce(&spare, &all, 1, MPI_INT, tutti_handles.min, comm) != MPI_SUCCESS)
        all = 0;
    if (given || all != before >> 1)
        hints_set(comm, spare | all << 1);
}

void tutti_comm_hints_tell(MPI_Comm comm, MPI_Info info)
{
    if (tutti_comm_spares(comm, 0))
        tutti_next.MPI_Info_set(info, TUTTI_HINT_SPARE, "true");
}

void tutti_comm_hints_copy(MPI_Comm from, MPI_Comm to)
{
    if (tutti_comm_spares(from, 0))
        hints_set(to, 1);
}
