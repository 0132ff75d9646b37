/* The global address space over a communicator of the MPI: its beginning, and its end in MPI_Finalize. */
#include "shmem/shmem.h"

#include <dlfcn.h>
#include <string.h>

#include "mpi/comm/comms.h"
#include "mpi/front/front.h"
#include "mpi/real/door.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"
#include "shmem/teams_over.h"
#include "tutti/shmem.h"

static struct tutti_mpi_transport transport;
static MPI_Comm own; /* duplicate of the communicator, while the address space is up */
static int up;
static int began; /* MPI_Init was tshmem_init()'s */

static void free_own(void)
{
    TUTTI_INSIDE();
    if (up)
        tutti_next.MPI_Comm_free(&own);
    up = 0;
}

static int shmem_finish(void)
{
    free_own();
    if (!began)
        return TUTTI_OK;
    began = 0;
    return tutti_door_MPI_Finalize() == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_TRANSPORT;
}

static void shmem_leave(int status)
{
    int there = 0, over = 0;
    TUTTI_INSIDE();
    tutti_next.MPI_Initialized(&there);
    tutti_next.MPI_Finalized(&over);
    if (there && !over)
        tutti_next.MPI_Abort(tutti_handles.world, status);
}

/* Levels of threads, as the MPI counts them and as the address space does. */
static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};

static int shmem_threads(void)
{
    int there = 0, over = 0, given = MPI_THREAD_SINGLE, level = TSHMEM_THREAD_MULTIPLE;
    tutti_next.MPI_Initialized(&there);
    tutti_next.MPI_Finalized(&over);
    if (there && !over)
        tutti_next.MPI_Query_thread(&given);
    while (level > TSHMEM_THREAD_SINGLE && levels[level] != given)
        level--;
    return level;
}

static int shmem_start(void);
static int start_over(int fortran);
static int team_from(int fortran, tshmem_team_t *made);
static int start_at(const void *comm);
static int start_as(int pe, int pes, uint64_t id);
static int shmem_team_of(const int *pe, int size, const tshmem_team_config_t *config, long mask, tshmem_team_t *made);
static const struct tutti_shmem_host host = {shmem_start, shmem_threads, shmem_finish, shmem_leave,  start_over,
                                             team_from,   start_at,      start_as,     shmem_team_of};

/* Said once, where the reason is known. */
static int shmem_refuse(const char *name, const char *why)
{
    return tutti_shmem_unavailable(name, why);
}

static int shmem_open_over(MPI_Comm comm)
{
    if (!tutti_door.on)
        return shmem_refuse("tshmem_init", "the MPI is not up, or Tutti is switched off (TUTTI_DEVICE=none)");
    if (up)
        return tutti_shmem_open(&transport.base, tutti_door.node, &host); /* one more user */
    {
        TUTTI_INSIDE();
        if (tutti_next.MPI_Comm_dup(comm, &own) != MPI_SUCCESS)
            return shmem_refuse("tshmem_init_comm", "the communicator could not be duplicated");
    }
    up = 1;
    tutti_transport_over(&transport, own);
    const int status = tutti_shmem_open(&transport.base, tutti_door.node, &host);
    if (status != TUTTI_OK)
        free_own();
    return status;
}

/* Begins the MPI where the program has not. */
static int shmem_begin(void)
{
    int there = 0, over = 0, given;
    tutti_next.MPI_Finalized(&over);
    if (over)
        return shmem_refuse("tshmem_init", "MPI_Finalize has been called");
    tutti_next.MPI_Initialized(&there);
    if (!there) { /* independent of the program's wish: with it a thread of Tutti's serves PEs of other nodes at any
                     time */
        if (tutti_door_MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &given) != MPI_SUCCESS)
            return shmem_refuse("tshmem_init", "MPI_Init failed");
        began = 1;
    }
    return TUTTI_OK;
}

/* The end of a call that called shmem_begin(). */
static int shmem_begun(int status)
{
    if (status != TUTTI_OK && began) {
        began = 0;
        tutti_door_MPI_Finalize();
    }
    return status;
}

static int shmem_start(void)
{
    const int status = shmem_begin();
    return status == TUTTI_OK ? shmem_begun(shmem_open_over(tutti_handles.world)) : status;
}

static int start_at(const void *comm)
{
    return shmem_open_over(comm ? *(const MPI_Comm *)comm : tutti_handles.world);
}

/* MPI_COMM_WORLD in the order of the PEs' numbers. */
static int open_as(int pe, int pes, uint64_t id)
{
    struct tutti_mpi_transport over;
    MPI_Comm ordered;
    int size = 0, rank = -1;
    if (!tutti_door.on)
        return shmem_open_over(tutti_handles.world); /* which says why not */
    {
        TUTTI_INSIDE();
        tutti_next.MPI_Comm_size(tutti_handles.world, &size);
        if (size != pes)
            return shmem_refuse("tshmem_init",
                                "a unique id is for all processes of the job: start as many as there are PEs, "
                                "or pass the MPI's communicator of the intended PEs");
        if (tutti_next.MPI_Comm_split(tutti_handles.world, 0, pe, &ordered) != MPI_SUCCESS)
            return shmem_refuse("tshmem_init", "MPI_COMM_WORLD could not be put into the order of the PEs");
        tutti_next.MPI_Comm_rank(ordered, &rank);
    }
    tutti_transport_over(&over, ordered);
    int64_t brought[3] = {rank == pe, (int64_t)id, (int64_t)~id}; /* the least and, turned, the greatest id */
    int status = over.base.ops->allreduce(&over.base, brought, 3, TUTTI_COMBINE_MIN);
    if (status == TUTTI_OK && !brought[0])
        status = shmem_refuse("tshmem_init", "two processes have brought the same number of a PE");
    else if (status == TUTTI_OK && brought[1] != ~brought[2])
        status = shmem_refuse("tshmem_init", "the processes have brought different unique ids");
    if (status == TUTTI_OK)
        status = shmem_open_over(ordered);
    TUTTI_INSIDE();
    tutti_next.MPI_Comm_free(&ordered);
    return status;
}

static int start_as(int pe, int pes, uint64_t id)
{
    const int status = shmem_begin();
    return status == TUTTI_OK ? shmem_begun(open_as(pe, pes, id)) : status;
}

int tutti_door_tshmem_init_comm(MPI_Comm comm)
{
    return shmem_open_over(comm);
}

/* PE of each rank of the communicator; -1: none. */
static int pes_of(MPI_Comm comm, int size, int32_t *pe)
{
    MPI_Group from, to;
    int ranks[TSHMEM_PES_MAX], there[TSHMEM_PES_MAX];
    for (int i = 0; i < size; i++) {
        ranks[i] = i;
        there[i] = MPI_UNDEFINED;
    }
    if (up) {
        if (tutti_next.MPI_Comm_group(comm, &from) != MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
        if (tutti_next.MPI_Comm_group(own, &to) == MPI_SUCCESS) {
            tutti_next.MPI_Group_translate_ranks(from, size, ranks, to, there);
            tutti_next.MPI_Group_free(&to);
        }
        tutti_next.MPI_Group_free(&from);
    }
    for (int i = 0; i < size; i++)
        pe[i] = there[i] == MPI_UNDEFINED ? -1 : there[i];
    return TUTTI_OK;
}

int tutti_door_tshmem_team_from_comm(MPI_Comm comm, const tshmem_team_config_t *config, long mask, tshmem_team_t *made)
{
    static const char name[] = "tshmem_team_from_comm";
    struct tutti_mpi_transport over;
    int32_t pe[TSHMEM_PES_MAX];
    MPI_Comm copy;
    int inter = 1, size = 0;
    *made = TSHMEM_TEAM_INVALID;
    if (!tutti_door.on || comm == tutti_handles.no_comm)
        return shmem_refuse(name, "the MPI is not up, Tutti is switched off, or the communicator is MPI_COMM_NULL");
    {
        TUTTI_INSIDE();
        tutti_next.MPI_Comm_test_inter(comm, &inter);
        tutti_next.MPI_Comm_size(comm, &size);
        if (inter || size > TSHMEM_PES_MAX)
            return shmem_refuse(name,
                                "of an intercommunicator, or of more processes than there can be PEs, no team is made");
        if (pes_of(comm, size, pe) != TUTTI_OK || tutti_next.MPI_Comm_dup(comm, &copy) != MPI_SUCCESS)
            return shmem_refuse(name, "the communicator could not be duplicated");
    }
    tutti_transport_over(&over, copy);
    const int status = tutti_shmem_team_over(&over.base, pe, config, mask, made);
    TUTTI_INSIDE();
    tutti_next.MPI_Comm_free(&copy);
    return status;
}

/* MPIs whose handles are integers have the same in Fortran, and need not have the call. */
static int comm_from(const char *name, int fortran, MPI_Comm *comm)
{
    union {
        void *symbol;
        MPI_Comm (*call)(int);
    } way = {.symbol = dlsym(RTLD_DEFAULT, "MPI_Comm_f2c")};
    *comm = tutti_handles.no_comm;
    if (way.symbol)
        *comm = way.call(fortran);
    else if (sizeof *comm == sizeof fortran)
        memcpy(comm, &fortran, sizeof fortran);
    else
        return shmem_refuse(name, "the MPI has no MPI_Comm_f2c");
    return *comm == tutti_handles.no_comm ? shmem_refuse(name, "the communicator is MPI_COMM_NULL") : TUTTI_OK;
}

static int start_over(int fortran)
{
    MPI_Comm comm;
    const int status = comm_from("tshmem_init_comm", fortran, &comm);
    return status == TUTTI_OK ? shmem_open_over(comm) : status;
}

static int team_from(int fortran, tshmem_team_t *made)
{
    MPI_Comm comm;
    const int status = comm_from("tshmem_team_from_comm", fortran, &comm);
    *made = TSHMEM_TEAM_INVALID;
    return status == TUTTI_OK ? tutti_door_tshmem_team_from_comm(comm, NULL, 0, made) : status;
}

static int shmem_team_of(const int *pe, int size, const tshmem_team_config_t *config, long mask, tshmem_team_t *made)
{
    static const char name[] = "nvshmemx_team_init";
    MPI_Group all, group;
    MPI_Comm comm = tutti_handles.no_comm;
    *made = TSHMEM_TEAM_INVALID;
    {
        TUTTI_INSIDE();
        int failed = tutti_next.MPI_Comm_group(own, &all) != MPI_SUCCESS;
        if (failed)
            return shmem_refuse(name, "the group of all PEs cannot be had");
        failed = tutti_next.MPI_Group_incl(all, size, pe, &group) != MPI_SUCCESS;
        if (!failed) {
            failed = tutti_next.MPI_Comm_create_group(own, group, pe[0], &comm) != MPI_SUCCESS;
            tutti_next.MPI_Group_free(&group);
        }
        tutti_next.MPI_Group_free(&all);
        if (failed)
            return shmem_refuse(name, "the members are no group of the MPI: two have brought the same number");
    }
    const int status = tutti_door_tshmem_team_from_comm(comm, config, mask, made);
    TUTTI_INSIDE();
    tutti_next.MPI_Comm_free(&comm);
    return status;
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

int tutti_shmem_front_up(void)
{
    return up;
}
