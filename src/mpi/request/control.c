/* MPI_Start, Startall, Cancel and Request_free, and MPI_Type_free of a type that a receive may need. */
#include "mpi/bounce/alive.h"
#include "mpi/real/lent.h"
#include "mpi/request/request.h"
#include "mpi/request/unwatched.h"

static struct tutti_request *control_entry(const MPI_Request *request)
{
    return tutti_requests_none() || tutti_inside || !request ? NULL : tutti_request_see(*request);
}

static void control_started(struct tutti_request *entry)
{
    for (; entry; entry = entry->under) {
        entry->active = entry->persistent;
        entry->delivered = 0;
    }
}

/* Starting an active request is an error: the MPI reports it, or the entry below those that are prepared. */
static int control_start(struct tutti_request *top, MPI_Request *request)
{
    struct tutti_request *entry = top;
    for (; entry && !entry->kind->start; entry = entry->under) {
        int code = entry->kind->prepare && !entry->active ? entry->kind->prepare(entry) : MPI_SUCCESS;
        if (code != MPI_SUCCESS)
            return code;
    }
    if (entry)
        return entry->kind->start(entry, request);
    TUTTI_INSIDE();
    return tutti_next.MPI_Start(request);
}

/* An MPI may give a new handle, where the message before is still under way though its request has completed. Then the
 * old handle is free at once, so the chain is not in the table meanwhile. */
int tutti_door_MPI_Start(MPI_Request *request)
{
    struct tutti_request *top = control_entry(request);
    if (unlikely(tutti_unwatched_persistent) && request)
        tutti_unwatched_started(1, request);
    if (likely(!top || !tutti_request_lives(top)))
        return tutti_next.MPI_Start(request);
    if (!(top = tutti_request_take(*request))) /* another thread has it, which the standard does not allow */
        return tutti_next.MPI_Start(request);
    const int code = control_start(top, request);
    if (code == MPI_SUCCESS)
        control_started(top);
    for (struct tutti_request *entry = top; entry; entry = entry->under)
        entry->handle = *request;
    tutti_request_back(top);
    return code;
}

int tutti_door_MPI_Startall(int count, MPI_Request array_of_requests[])
{
    int ours = 0, result = MPI_SUCCESS;
    if (unlikely(tutti_unwatched_persistent))
        tutti_unwatched_started(count, array_of_requests);
    if (likely(tutti_requests_none() || tutti_inside))
        return tutti_next.MPI_Startall(count, array_of_requests);
    for (int i = 0; i < count && array_of_requests; i++)
        ours |= tutti_request_lives(tutti_request_see(array_of_requests[i]));
    if (!ours)
        return tutti_next.MPI_Startall(count, array_of_requests);
    for (int i = 0; i < count; i++) {
        int code = tutti_door_MPI_Start(&array_of_requests[i]);
        result = result == MPI_SUCCESS ? code : result;
    }
    return result;
}

int tutti_door_MPI_Cancel(MPI_Request *request)
{
    for (struct tutti_request *entry = control_entry(request); entry; entry = entry->under) {
        if (entry->kind->cancel)
            return entry->kind->cancel(entry, request);
    }
    return tutti_next.MPI_Cancel(request);
}

static int request_is_active(const struct tutti_request *entry)
{
    for (; entry; entry = entry->under) {
        if (entry->active)
            return 1;
    }
    return 0;
}

int tutti_door_MPI_Request_free(MPI_Request *request)
{
    struct tutti_request *entry;
    tutti_alive_forget();
    if (unlikely(tutti_unwatched_open) && !tutti_inside && request)
        tutti_unwatched_watch_request(*request);
    if (tutti_inside || tutti_requests_none() || !request || !(entry = tutti_request_take(*request)))
        return tutti_next.MPI_Request_free(request);
    int code = MPI_SUCCESS;
    if (entry->kind->free && !entry->under) {
        code = entry->kind->free(entry, request);
        tutti_request_give(entry);
    } else if (tutti_request_lives(entry) && !request_is_active(entry)) {
        code = tutti_next.MPI_Request_free(request);
        tutti_request_destroy(entry);
    } else {
        tutti_request_hand_over(entry);
        tutti_request_orphan(entry);
        *request = tutti_handles.no_request;
        tutti_requests_sweep();
    }
    return code;
}

/* A receive under watch holds its type. */
int tutti_door_MPI_Type_free(MPI_Datatype *datatype)
{
    if (unlikely(tutti_unwatched_open) && datatype)
        tutti_unwatched_watch_type(*datatype);
    return datatype ? tutti_type_free(datatype) : tutti_next.MPI_Type_free(datatype);
}
