/* "Is this MPI GPU-aware?" Programs ask by MPIX_Query_cuda_support and by MPIX_GPU_query_support, also before MPI_Init,
 * and by the keys mpi_memory_alloc_kinds and mpi_assert_memory_alloc_kinds (mpi/comm/hints.h) in the info of a
 * communicator or a session (MPI 4.1): with a device that works, what the MPI itself says is not all of it. A session
 * is asked before the door is open. */
#include <stdio.h>
#include <string.h>

#include "core/settings.h"
#include "mpi/comm/hints.h"
#include "mpi/real/door.h"

/* The kinds of memory that calls take because of Tutti; NULL: none. asleep: the door stays shut. */
static const char *kinds_unless(int asleep)
{
    const struct tutti_device *device = tutti_device();
    char why[256];
    if (!device || asleep || device->open(why, sizeof why) != TUTTI_OK)
        return NULL;
    return device->simulates && tutti_settings()->device == TUTTI_SET_DEVICE_AUTO ? NULL : device->kinds;
}

static const char *own_kinds(void)
{
    int initialized = 0;
    tutti_next.MPI_Initialized(&initialized);
    return kinds_unless(initialized && !tutti_door.on);
}

static int takes_cuda(void)
{
    return own_kinds() && tutti_device()->interface == TUTTI_GPU_INTERFACE_CUDA;
}

int tutti_door_MPIX_Query_cuda_support(void)
{
    return takes_cuda() || tutti_next.MPIX_Query_cuda_support();
}

int tutti_door_MPIX_GPU_query_support(int gpu_type, int *is_supported)
{
    enum { GPU_SUPPORT_CUDA = 0 };
    if (gpu_type != GPU_SUPPORT_CUDA || !is_supported || !takes_cuda())
        return tutti_next.MPIX_GPU_query_support(gpu_type, is_supported);
    *is_supported = 1;
    return MPI_SUCCESS;
}

enum { KINDS = 512 }; /* bytes of all kinds */

/* Adds Tutti's kinds to those that the MPI names in the info. all: the kinds then. */
static void add_kinds(MPI_Info info, const char *kinds, char all[KINDS])
{
    static const char key[] = "mpi_memory_alloc_kinds";
    char has[KINDS / 2] = "";
    int flag = 0;
    if (tutti_next.MPI_Info_get(info, key, (int)sizeof has - 1, has, &flag) != MPI_SUCCESS || !flag)
        snprintf(has, sizeof has, "mpi,system");
    const int told = strstr(has, kinds) != NULL;
    snprintf(all, KINDS, "%s%s%s", has, told ? "" : ",", told ? "" : kinds);
    if (!told)
        tutti_next.MPI_Info_set(info, key, all);
}

int tutti_door_MPI_Comm_get_info(MPI_Comm comm, MPI_Info *info)
{
    const char *kinds = tutti_inside ? NULL : own_kinds();
    const int code = tutti_next.MPI_Comm_get_info(comm, info);
    char all[KINDS];
    if (code != MPI_SUCCESS || !kinds)
        return code;
    add_kinds(*info, kinds, all);
    tutti_comm_hints_add(comm, *info, all);
    return code;
}

int tutti_door_MPI_Session_get_info(MPI_Session session, MPI_Info *info)
{
    /* The door opens with the first communicator. */
    const char *kinds = tutti_inside ? NULL : kinds_unless(0);
    const int code = tutti_next.MPI_Session_get_info(session, info);
    char all[KINDS];
    if (code == MPI_SUCCESS && kinds)
        add_kinds(*info, kinds, all);
    return code;
}
