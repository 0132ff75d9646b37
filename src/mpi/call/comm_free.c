/* Freeing communicators. */
#include "core/log.h"
#include "mpi/comm/identity.h"
#include "mpi/comm/streams.h"
#include "mpi/enqueue/requests.h"
#include "mpi/message/endpoints.h"
#include "mpi/message/unexpected.h"
#include "mpi/real/errors.h"
#include "mpi/reduce/nonblocking.h"
#include "mpi/request/request.h"

/* A failure in the communicator's stream is reported while its error handler exists. The communicator is freed anyway.
 */
static int before_free(MPI_Comm *comm)
{
    int status = TUTTI_OK;
    if (comm) /* also inside: an attribute's delete callback of the program may free it */
        tutti_comm_identity_forget(*comm);
    if (tutti_inside)
        return TUTTI_OK;
    if (comm) {
        tutti_nonblocking_before_free(*comm);
        status = tutti_comm_stream_settle(*comm);
        tutti_enqueued_leave(*comm);
    }
    if (comm) {
        tutti_requests_leave(*comm);
        tutti_stamped_leave(*comm);
    }
    tutti_endpoints_comm_freed();
    if (comm && tutti_unexpected_on())
        tutti_unexpected_forget(*comm);
    if (status == TUTTI_OK)
        return MPI_SUCCESS;
    tutti_error("MPI_Comm_free: calls in the communicator's stream have failed: %s", tutti_status_text(status));
    return tutti_fail_comm(*comm, tutti_error_code(status));
}

int tutti_door_MPI_Comm_free(MPI_Comm *comm)
{
    int failed = before_free(comm), code = tutti_next.MPI_Comm_free(comm);
    return code != MPI_SUCCESS ? code : failed;
}

int tutti_door_MPI_Comm_disconnect(MPI_Comm *comm)
{
    int failed = before_free(comm), code = tutti_next.MPI_Comm_disconnect(comm);
    return code != MPI_SUCCESS ? code : failed;
}
