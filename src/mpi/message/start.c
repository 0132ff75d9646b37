/* Starting staged nonblocking calls. */
#include "mpi/message/start.h"
#include "core/log.h"
#include "mpi/message/counted.h"
#include "mpi/message/matched.h"
#include "mpi/message/requests.h"
#include "mpi/message/rndv.h"
#include "mpi/message/rndv_recv.h"
#include "mpi/real/errors.h"

static int staging_failed(const char *call, MPI_Comm comm, int status)
{
    tutti_error("%s: staging device memory failed: %s", call, tutti_status_text(status));
    return tutti_fail_comm(comm, tutti_error_code(status));
}

/* A call that the MPI has started, or made of a persistent one, whose contents go in at each start. */
static int begun(const char *call, MPI_Comm comm, int code, const MPI_Request *request, struct tutti_stage *stage,
                 struct tutti_recv_request *recv, int persistent)
{
    const enum tutti_reason reason = tutti_why_take(TUTTI_REASON_CALL);
    if (code == MPI_SUCCESS && recv)
        return tutti_receive_put(*request, comm, call, stage, recv, persistent);
    if (code == MPI_SUCCESS && !persistent && stage->way & TUTTI_STAGE_IN)
        tutti_count_send(call, stage, reason);
    if (code == MPI_SUCCESS && stage->staged)
        return tutti_staged_put(*request, comm, call, reason, stage, persistent);
    tutti_recv_free(recv);
    tutti_stage_close(stage);
    return code;
}

static int started(const char *call, MPI_Comm comm, int code, const MPI_Request *request, struct tutti_stage *stage,
                   struct tutti_recv_request *recv)
{
    return begun(call, comm, code, request, stage, recv, 0);
}

static int prepared(const char *call, MPI_Comm comm, int code, const MPI_Request *request, struct tutti_stage *stage,
                    struct tutti_recv_request *recv)
{
    return begun(call, comm, code, request, stage, recv, 1);
}

/* A persistent send that need not be the MPI's, which has made one and so found nothing wrong with it. */
static int is_not_the_mpis(const struct tutti_message *message, struct tutti_stage *stage, MPI_Request *request,
                           int *code)
{
    MPI_Request real = *request;
    if (!tutti_persistent_send_new(message, stage, request, code) && !tutti_far_init(message, stage, request, code))
        return 0;
    tutti_real.MPI_Request_free(&real);
    return 1;
}

#define WIDTHS_OF "mpi/message/start.inc"
#include "mpi/real/widths.inc"
