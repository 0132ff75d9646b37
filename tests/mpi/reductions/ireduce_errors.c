/* Nonblocking reductions that are wrong, and those that go to the MPI through host memory: mismatched calls become the
 * error of a completion call, MPI_Cancel is refused, user operators and derived types are staged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduction_request.h"
#include "tutti/tutti.h"

static int handled, handled_code;
static MPI_Comm handled_comm;

static void handler(MPI_Comm *comm, int *code, ...)
{
    handled++;
    handled_code = *code;
    handled_comm = *comm;
}

/* The last rank asks for another operator; every rank is told when it completes the call. */
static void mismatch(int way)
{
    MPI_Comm comm;
    MPI_Errhandler errors;
    struct reduction_request q;
    int flag = 0, out = 0, code = MPI_SUCCESS;
    MPI_Status status;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Comm_set_errhandler(comm, errors);
    rreq_open(&q, RREQ_ALLREDUCE, 100, comm, KIT_DEVICE, 0, 0);
    CHECK(rreq_start(&q, 0) == MPI_SUCCESS && MPI_Wait(&q.request, &status) == MPI_SUCCESS, "a call that is right");
    handled = 0;
    q.op = kit_rank == kit_size - 1 ? MPI_MAX : MPI_SUM;
    CHECK(rreq_start(&q, 0) == MPI_SUCCESS, "the start says nothing");
    switch (way) {
    case 0:
        code = MPI_Wait(&q.request, &status);
        break;
    case 1:
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Test(&q.request, &flag, &status);
        break;
    case 2:
        code = MPI_Waitall(1, &q.request, &status);
        break;
    default:
        code = MPI_Waitany(1, &q.request, &out, &status);
        break;
    }
    CHECK(code != MPI_SUCCESS, "way %d: an error", way);
    CHECK(handled == 1 && handled_code != MPI_SUCCESS && handled_comm == comm, "way %d: handled %d times", way,
          handled);
    CHECK(q.request == MPI_REQUEST_NULL, "way %d: the request is gone", way);
    q.op = MPI_SUM;
    handled = 0;
    CHECK(rreq_start(&q, 0) == MPI_SUCCESS && MPI_Wait(&q.request, &status) != MPI_SUCCESS && handled == 1,
          "the communicator stays broken");
    rreq_close(&q);
    MPI_Errhandler_free(&errors);
    MPI_Comm_free(&comm);
}

static void cancel(void)
{
    MPI_Comm comm;
    struct reduction_request q;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    rreq_open(&q, RREQ_SCAN, 100, comm, KIT_DEVICE, 0, 0);
    CHECK(rreq_start(&q, 0) == MPI_SUCCESS, "start");
    CHECK(kit_class(MPI_Cancel(&q.request)) == MPI_ERR_REQUEST, "cannot be cancelled");
    CHECK(MPI_Wait(&q.request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "goes on all the same");
    rreq_check(&q, "cancel");
    rreq_close(&q);
    MPI_Comm_free(&comm);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const int *from = in;
    int *to = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        to[i] += from[i];
}

/* A vector of every second int, with a user's operator on the pairs. */
static void add_pairs(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const int *from = in;
    int *to = inout;
    (void)type;
    for (int i = 0; i < *n; i++) {
        to[3 * i] += from[3 * i];
        to[3 * i + 2] += from[3 * i + 2];
    }
}

static void users(void)
{
    MPI_Op op;
    struct reduction_request q;
    unsigned long long before = rreq_counted("MPI_Iallreduce", "staged");
    MPI_Op_create(add, 1, &op);
    rreq_open(&q, RREQ_ALLREDUCE, 1000, MPI_COMM_WORLD, KIT_DEVICE, 0, 0);
    struct reduction_request other; /* a call before it that the worker makes */
    rreq_open(&other, RREQ_ALLREDUCE, 1000, MPI_COMM_WORLD, KIT_DEVICE, 0, 0);
    q.op = op;
    CHECK(rreq_start(&other, 0) == MPI_SUCCESS && rreq_start(&q, 0) == MPI_SUCCESS, "start");
    CHECK(MPI_Wait(&q.request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait");
    CHECK(MPI_Wait(&other.request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait");
    rreq_check(&q, "user's operator");
    rreq_check(&other, "the call before");
    CHECK(kit_plain || rreq_counted("MPI_Iallreduce", "staged") == before + 1, "counted as staged");
    rreq_close(&q);
    rreq_close(&other);
    MPI_Op_free(&op);

    enum { N = 50 };
    MPI_Datatype strided;
    MPI_Request request;
    int data[3 * N], want = 0;
    struct kit_buffer in, out;
    MPI_Op_create(add_pairs, 1, &op);
    MPI_Type_vector(2, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    for (int i = 0; i < 3 * N; i++)
        data[i] = i + kit_rank;
    kit_open(&in, KIT_DEVICE, sizeof data);
    kit_open(&out, KIT_DEVICE, sizeof data);
    const void *send = kit_put(&in, 0, data, sizeof data);
    memset(data, 0x11, sizeof data);
    void *recv = kit_put(&out, 0, data, sizeof data);
    CHECK(MPI_Iallreduce(send, recv, N, strided, op, MPI_COMM_WORLD, &request) == MPI_SUCCESS, "start");
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait");
    const int *got = (const int *)(void *)kit_get(&out, NULL);
    for (int i = 0; i < 3 * N; i++) {
        want = 0x11111111;
        if (i % 3 != 1) {
            want = 0;
            for (int r = 0; r < kit_size; r++)
                want += i + r;
        }
        CHECK(got[i] == want, "derived type: element %d is %d, not %d", i, got[i], want);
    }
    kit_close(&in);
    kit_close(&out);
    MPI_Type_free(&strided);
    MPI_Op_free(&op);
}

/* What the MPI finds wrong is found wrong, at once. */
static void arguments(void)
{
    MPI_Comm comm;
    MPI_Request request = MPI_REQUEST_NULL;
    struct reduction_request q;
    if (!kit_errors_returned())
        return;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    rreq_open(&q, RREQ_ALLREDUCE, 10, comm, KIT_DEVICE, 0, 0);
    CHECK(MPI_Iallreduce(q.send, q.recv, -1, MPI_INT, MPI_SUM, comm, &request) != MPI_SUCCESS, "a negative count");
    CHECK(MPI_Ireduce(q.send, q.recv, 10, MPI_INT, MPI_SUM, kit_size, comm, &request) != MPI_SUCCESS, "a wrong root");
    CHECK(MPI_Iallreduce(q.send, q.recv, 0, MPI_INT, MPI_SUM, comm, &request) == MPI_SUCCESS &&
              MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "nothing to do");
    CHECK(rreq_start(&q, 0) == MPI_SUCCESS && MPI_Wait(&q.request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "goes on");
    rreq_check(&q, "arguments");
    rreq_close(&q);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    users();
    arguments();
    if (!kit_plain && kit_errors_returned()) {
        cancel();
        for (int way = 0; way < 4; way++)
            mismatch(way);
    }
    return kit_end("ireduce_errors");
}
