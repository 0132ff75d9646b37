/* Blocking calls that are staged: plain and large counts from one text. */
#include "core/trace.h"
#include "mpi/bounce/early.h"
#include "mpi/message/counted.h"
#include "mpi/message/matched.h"
#include "mpi/message/rndv.h"
#include "mpi/message/rndv_recv.h"
#include "mpi/message/start.h"
#include "mpi/real/errors.h"
#include "mpi/request/waits.h"

/* The end of a staged call that receives into `stage`: copies the received elements out, and frees the memory. */
static int tutti_stage_end(const char *call, MPI_Comm comm, int code, int done, struct tutti_stage *stage,
                           const MPI_Status *status)
{
    if (!stage->staged && done == TUTTI_OK)
        return code;
    if (done == TUTTI_OK && code == MPI_SUCCESS)
        done = tutti_stage_out(stage, tutti_received(status));
    tutti_stage_close(stage);
    return done == TUTTI_OK ? code : tutti_stage_failed(call, comm, done);
}

/* The same of a receive that may be an RTS. */
static int tutti_receive_end(const char *call, int code, int done, struct tutti_stage *stage,
                             struct tutti_recv_request *recv, int watched, MPI_Status *status)
{
    if (!watched || done != TUTTI_OK || code != MPI_SUCCESS || !tutti_recv_finish(recv, stage, status, &code)) {
        tutti_count_receive(call, recv, stage, recv->comm, status, code);
        code = tutti_stage_end(call, recv->comm, code, done, stage, status);
    } else {
        tutti_count_receive(call, recv, stage, recv->comm, status, code);
        tutti_stage_close(stage);
    }
    tutti_recv_close(recv);
    if (watched)
        tutti_trace(TUTTI_TRACE_RECEIVED, 0);
    return code;
}

/* A receive that waits for the MPI's part. */
struct tutti_recv_ready {
    struct tutti_stage stage;
    struct tutti_recv_request recv;
    int watched, done; /* done: a status of Tutti */
};

/* It is not made. */
static void tutti_recv_ready_close(struct tutti_recv_ready *ready)
{
    if (ready->done == TUTTI_OK)
        tutti_stage_close(&ready->stage);
    tutti_recv_close(&ready->recv);
}

/* 1 if the MPI has refused the arguments. */
static int tutti_is_refused(int code)
{
    static const int classes[] = {MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TAG, MPI_ERR_COMM, MPI_ERR_RANK};
    int class = MPI_ERR_OTHER, is = 0;
    tutti_next.MPI_Error_class(code, &class);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        is |= class == classes[i];
    return is;
}

#define WIDTHS_OF "mpi/message/blocking.inc"
#include "mpi/real/widths.inc"
