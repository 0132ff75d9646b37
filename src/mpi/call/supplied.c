/* Calls of newer standards that the MPI lacks, made of those that it has: rows of supplied.def. Programs find their
 * names in the stub, which hides those of other calls that the MPI lacks. */
#include "mpi/call/calls.h"
#include "mpi/message/requests.h"
#include "mpi/real/door.h"
#include "mpi/real/errors.h"

static MPI_Status *supplied_place(MPI_Status *statuses, int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/* Neither null nor a persistent request that is not started: for those the MPI returns an empty status. */
static int supplied_look(MPI_Request request, int *flag, MPI_Status *status, int *code)
{
    *flag = 0;
    *code = MPI_SUCCESS;
    if (request == tutti_handles.no_request)
        return 0;
    *code = tutti_next.MPI_Request_get_status(request, flag, status);
    return *code != MPI_SUCCESS || !*flag || status->MPI_SOURCE != MPI_ANY_SOURCE || status->MPI_TAG != MPI_ANY_TAG;
}

static void supplied_tell(MPI_Status *to, const MPI_Status *status, int code)
{
    if (to == MPI_STATUS_IGNORE)
        return;
    *to = *status;
    to->MPI_ERROR = code;
}

static int supplied_all_of(int count, const MPI_Request requests[], int *flag, MPI_Status *statuses)
{
    int code = MPI_SUCCESS;
    for (int i = 0; i < count; i++) {
        MPI_Status status;
        if (tutti_next.MPI_Request_get_status(requests[i], flag, &status) == MPI_SUCCESS && !*flag)
            return MPI_SUCCESS;
    }
    *flag = 1;
    for (int i = 0; i < count; i++) {
        MPI_Status status;
        int there, one = tutti_next.MPI_Request_get_status(requests[i], &there, &status);
        supplied_tell(supplied_place(statuses, i), &status, one);
        code = one == MPI_SUCCESS ? code : MPI_ERR_IN_STATUS;
    }
    return code;
}

static int any_of(int count, const MPI_Request requests[], int *indx, int *flag, MPI_Status *status)
{
    int active = 0;
    *indx = MPI_UNDEFINED;
    for (int i = 0; i < count; i++) {
        MPI_Status one;
        int code;
        if (!supplied_look(requests[i], flag, &one, &code))
            continue;
        active = 1;
        if (*flag || code != MPI_SUCCESS) {
            *indx = i;
            *flag = 1;
            if (status != MPI_STATUS_IGNORE)
                *status = one;
            return code;
        }
    }
    *flag = !active;
    if (active)
        return MPI_SUCCESS;
    MPI_Status none;
    int code = tutti_next.MPI_Request_get_status(tutti_handles.no_request, flag, &none);
    supplied_tell(status, &none, MPI_SUCCESS);
    return code;
}

static int some_of(int count, const MPI_Request requests[], int *outcount, int indices[], MPI_Status *statuses)
{
    int active = 0, n = 0, failed = 0;
    for (int i = 0; i < count; i++) {
        MPI_Status one;
        int flag, code;
        if (!supplied_look(requests[i], &flag, &one, &code))
            continue;
        active = 1;
        if (!flag && code == MPI_SUCCESS)
            continue;
        supplied_tell(supplied_place(statuses, n), &one, code);
        indices[n++] = i;
        failed |= code != MPI_SUCCESS;
    }
    *outcount = active ? n : MPI_UNDEFINED;
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

/* A reduction of one byte whose result is not read. */
static int barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    static char mine, all;
    if (!tutti_door.on)
        return tutti_fail_comm(comm, tutti_lacking("MPI_Barrier_init"));
    return tutti_door_MPI_Allreduce_init(&mine, &all, 1, tutti_handles.byte, tutti_handles.bor, comm, info, request);
}

static int no_cuda(void)
{
    return 0;
}

static int no_gpu(int gpu_type, int *is_supported)
{
    (void)gpu_type;
    *is_supported = 0;
    return MPI_SUCCESS;
}

void tutti_calls_supply(void)
{
    if (!tutti_next.MPIX_Query_cuda_support)
        tutti_next.MPIX_Query_cuda_support = no_cuda;
    if (!tutti_next.MPIX_GPU_query_support)
        tutti_next.MPIX_GPU_query_support = no_gpu;
    tutti_lacks_sendrecv = !tutti_next.MPI_Isendrecv;
    if (!tutti_next.MPI_Barrier_init)
        tutti_next.MPI_Barrier_init = barrier_init;
    if (!tutti_next.MPI_Errhandler_set)
        tutti_next.MPI_Errhandler_set = tutti_next.MPI_Comm_set_errhandler;
    if (!tutti_next.MPI_Request_get_status_all)
        tutti_next.MPI_Request_get_status_all = supplied_all_of;
    if (!tutti_next.MPI_Request_get_status_any)
        tutti_next.MPI_Request_get_status_any = any_of;
    if (!tutti_next.MPI_Request_get_status_some)
        tutti_next.MPI_Request_get_status_some = some_of;
}
