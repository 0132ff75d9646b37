/* The global address space over a communicator of the MPI: who begins it, and what becomes of it in MPI_Finalize. */
#include "shmem/shmem.h"

#include <dlfcn.h>
#include <string.h>

#include "core/log.h"
#include "mpi/comm/comms.h"
#include "mpi/front/front.h"
#include "mpi/real/door.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"
#include "tutti/shmem.h"

static struct tutti_mpi_transport transport;
static MPI_Comm own; /* duplicate of the communicator, while the address space is up */
static int up;
static int began; /* MPI_Init was tshmem_init()'s */

static void free_own(void)
{
    TUTTI_INSIDE();
    if (up)
        tutti_real.MPI_Comm_free(&own);
    up = 0;
}

static int finish(void)
{
    free_own();
    if (!began)
        return TUTTI_OK;
    began = 0;
    return tutti_door_MPI_Finalize() == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_TRANSPORT;
}

static void leave(int status)
{
    TUTTI_INSIDE();
    tutti_real.MPI_Abort(tutti_handles.world, status);
}

/* Levels of threads, as the MPI counts them and as the address space does. */
static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};

static int threads(void)
{
    int there = 0, over = 0, given = MPI_THREAD_SINGLE, level = TSHMEM_THREAD_MULTIPLE;
    tutti_real.MPI_Initialized(&there);
    tutti_real.MPI_Finalized(&over);
    if (there && !over)
        tutti_real.MPI_Query_thread(&given);
    while (level > TSHMEM_THREAD_SINGLE && levels[level] != given)
        level--;
    return level;
}

static int start(void);
static int start_over(int fortran);
static const struct tutti_shmem_host host = {start, threads, finish, leave, start_over};

/* Said once, where the reason is known. */
static int refuse(const char *why)
{
    tutti_error("tshmem_init: %s", why);
    return TUTTI_ERR_UNAVAILABLE;
}

static int open_over(MPI_Comm comm)
{
    if (!tutti_door.on)
        return refuse("the MPI is not up, or Tutti is switched off (TUTTI_DEVICE=none)");
    if (up)
        return tutti_shmem_open(&transport.base, tutti_door.node, &host); /* one more user */
    {
        TUTTI_INSIDE();
        if (tutti_real.MPI_Comm_dup(comm, &own) != MPI_SUCCESS)
            return refuse("the communicator could not be duplicated");
    }
    up = 1;
    tutti_transport_over(&transport, own);
    const int status = tutti_shmem_open(&transport.base, tutti_door.node, &host);
    if (status != TUTTI_OK)
        free_own();
    return status;
}

static int start(void)
{
    int there = 0, over = 0, given;
    tutti_real.MPI_Finalized(&over);
    if (over)
        return refuse("MPI_Finalize has been called");
    tutti_real.MPI_Initialized(&there);
    if (!there) { /* whatever the program asks for: with it a thread of Tutti's serves PEs of other nodes at any time */
        if (tutti_door_MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &given) != MPI_SUCCESS)
            return refuse("MPI_Init failed");
        began = 1;
    }
    const int status = open_over(tutti_handles.world);
    if (status != TUTTI_OK && began) {
        began = 0;
        tutti_door_MPI_Finalize();
    }
    return status;
}

int tutti_door_tshmem_init_comm(MPI_Comm comm)
{
    return open_over(comm);
}

/* MPIs whose handles are integers have the same in Fortran, and need not have the call. */
static int start_over(int fortran)
{
    union {
        void *symbol;
        MPI_Comm (*call)(int);
    } way = {.symbol = dlsym(RTLD_DEFAULT, "MPI_Comm_f2c")};
    MPI_Comm comm = tutti_handles.no_comm;
    if (way.symbol)
        comm = way.call(fortran);
    else if (sizeof comm == sizeof fortran)
        memcpy(&comm, &fortran, sizeof fortran);
    else
        return refuse("the MPI has no MPI_Comm_f2c");
    return comm == tutti_handles.no_comm ? refuse("the communicator is MPI_COMM_NULL") : open_over(comm);
}

void tutti_shmem_front_open(void)
{
    tutti_shmem_serve(&host);
}

void tutti_shmem_front_close(void)
{
    tutti_shmem_close();
    free_own();
}
