#include "mpi/comm/transfers.h"

#include <string.h>

#include "core/status.h"
#include "mpi/comm/comms.h"
#include "mpi/real/door.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(uintptr_t) && sizeof(MPI_Message) <= sizeof(uintptr_t), "handles fit");

static MPI_Comm transfers_comm_of(struct tutti_transport *transport)
{
    return ((struct tutti_mpi_transport *)transport)->comm;
}

static void put_request(uintptr_t *handle, MPI_Request request)
{
    *handle = 0;
    memcpy(handle, &request, sizeof request);
}

static MPI_Request request_of(const uintptr_t *handle)
{
    MPI_Request request = tutti_handles.no_request;
    memcpy(&request, handle, sizeof request);
    return request;
}

/* The bytes of a message that has arrived; negative if the MPI does not know. */
static int transfers_fill(struct tutti_transfer_status *came, const MPI_Status *status)
{
    MPI_Count bytes = -1;
    *came = (struct tutti_transfer_status){.from = status->MPI_SOURCE, .tag = status->MPI_TAG};
    if (tutti_next.MPI_Get_elements_x(status, tutti_handles.byte, &bytes) != MPI_SUCCESS || bytes < 0)
        return TUTTI_ERR_TRANSPORT;
    came->bytes = (size_t)bytes;
    return TUTTI_OK;
}

int tutti_transport_send(struct tutti_transport *transport, const void *memory, size_t bytes, int to, int tag,
                         int synchronous, struct tutti_transfer *out)
{
    TUTTI_INSIDE();
    MPI_Request request = tutti_handles.no_request;
    if (bytes > TUTTI_TRANSFER_MOST)
        return TUTTI_ERR_ARGUMENT;
    if ((synchronous ? tutti_next.MPI_Issend : tutti_next.MPI_Isend)(
            memory, (int)bytes, tutti_handles.byte, to, tag, transfers_comm_of(transport), &request) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    put_request(&out->handle, request);
    return TUTTI_OK;
}

int tutti_transport_receive(struct tutti_transport *transport, void *memory, size_t room, int from, int tag,
                            struct tutti_transfer *out)
{
    TUTTI_INSIDE();
    MPI_Request request = tutti_handles.no_request;
    if (room > TUTTI_TRANSFER_MOST)
        return TUTTI_ERR_ARGUMENT;
    if (tutti_next.MPI_Irecv(memory, (int)room, tutti_handles.byte, from == TUTTI_ANY_RANK ? MPI_ANY_SOURCE : from,
                             tag == TUTTI_ANY_TAG ? MPI_ANY_TAG : tag, transfers_comm_of(transport),
                             &request) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    put_request(&out->handle, request);
    return TUTTI_OK;
}

int tutti_transport_probe(struct tutti_transport *transport, int from, int tag, struct tutti_caught *out, int *flag)
{
    TUTTI_INSIDE();
    MPI_Message message;
    MPI_Status status;
    *flag = 0;
    if (tutti_next.MPI_Improbe(from == TUTTI_ANY_RANK ? MPI_ANY_SOURCE : from, tag == TUTTI_ANY_TAG ? MPI_ANY_TAG : tag,
                               transfers_comm_of(transport), flag, &message, &status) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    if (!*flag)
        return TUTTI_OK;
    out->handle = 0;
    memcpy(&out->handle, &message, sizeof message);
    return transfers_fill(&out->came, &status);
}

int tutti_transport_receive_caught(struct tutti_transport *transport, struct tutti_caught *caught, void *memory,
                                   size_t room, struct tutti_transfer *out)
{
    TUTTI_INSIDE();
    MPI_Message message;
    MPI_Request request = tutti_handles.no_request;
    (void)transport;
    if (room > TUTTI_TRANSFER_MOST)
        return TUTTI_ERR_ARGUMENT;
    memcpy(&message, &caught->handle, sizeof message);
    if (tutti_next.MPI_Imrecv(memory, (int)room, tutti_handles.byte, &message, &request) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    put_request(&out->handle, request);
    return TUTTI_OK;
}

int tutti_transport_test(struct tutti_transport *transport, struct tutti_transfer *transfer,
                         struct tutti_transfer_status *came, int *done)
{
    TUTTI_INSIDE();
    MPI_Request request = request_of(&transfer->handle);
    MPI_Status status;
    (void)transport;
    *done = 0;
    if (tutti_next.MPI_Test(&request, done, came ? &status : MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    put_request(&transfer->handle, request);
    return *done && came ? transfers_fill(came, &status) : TUTTI_OK;
}

int tutti_transport_cancel(struct tutti_transport *transport, struct tutti_transfer *transfer, int *cancelled)
{
    TUTTI_INSIDE();
    MPI_Request request = request_of(&transfer->handle);
    MPI_Status status;
    int ended = 0;
    (void)transport;
    *cancelled = 0;
    if (tutti_next.MPI_Cancel(&request) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    /* A receive without a message ends at once. A receive with a message may need its sender, so no wait for it here.
     */
    if (tutti_next.MPI_Request_get_status(request, &ended, &status) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    if (!ended || tutti_next.MPI_Test_cancelled(&status, cancelled) != MPI_SUCCESS || !*cancelled)
        return TUTTI_OK;
    return tutti_next.MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_TRANSPORT;
}

/* ---- nonblocking collectives ---- */

/* Of one that was begun with `code`. */
static int put_pending(struct tutti_pending *out, int code, MPI_Request request)
{
    if (code != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    put_request(&out->handle, request);
    return TUTTI_OK;
}

int tutti_transport_iallgather(struct tutti_transport *transport, const void *in, void *to, size_t bytes,
                               struct tutti_pending *out)
{
    TUTTI_INSIDE();
    MPI_Request request = tutti_handles.no_request;
    if (bytes > TUTTI_TRANSFER_MOST)
        return TUTTI_ERR_ARGUMENT;
    const int code = tutti_next.MPI_Iallgather(in, (int)bytes, tutti_handles.byte, to, (int)bytes, tutti_handles.byte,
                                               transfers_comm_of(transport), &request);
    return put_pending(out, code, request);
}

MPI_Op tutti_transport_op(enum tutti_combine how)
{
    return how == TUTTI_COMBINE_MIN ? tutti_handles.min : tutti_handles.max;
}

int tutti_transport_iallreduce(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how,
                               struct tutti_pending *out)
{
    TUTTI_INSIDE();
    MPI_Request request = tutti_handles.no_request;
    if (count > TUTTI_TRANSFER_MOST)
        return TUTTI_ERR_ARGUMENT;
    const int code = tutti_next.MPI_Iallreduce(MPI_IN_PLACE, words, (int)count, tutti_handles.int64,
                                               tutti_transport_op(how), transfers_comm_of(transport), &request);
    return put_pending(out, code, request);
}

int tutti_transport_pending_test(struct tutti_transport *transport, struct tutti_pending *pending, int *done)
{
    TUTTI_INSIDE();
    MPI_Request request = request_of(&pending->handle);
    (void)transport;
    *done = 0;
    if (tutti_next.MPI_Test(&request, done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    put_request(&pending->handle, request);
    return TUTTI_OK;
}
