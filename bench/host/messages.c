/* Requests and messages. */
#include "bench/host/host.h"

static void host_exchange(struct host *h, int count, MPI_Datatype type, int source, int tag)
{
    MPI_Request requests[2];
    host_begin(h, count, type, source, tag, requests);
    host_wait(2, requests, h->statuses);
}

/* A persistent receive and a send. */
static void host_open_persistent(struct host *h, int bytes, MPI_Request requests[2])
{
    MPI_Recv_init(h->out, bytes, MPI_BYTE, h->left, 6, h->comm, &requests[0]);
    MPI_Send_init(h->in, bytes, MPI_BYTE, h->right, 6, h->comm, &requests[1]);
}

static void host_start_all(struct host *h, int bytes, long times)
{
    MPI_Request requests[2];
    host_open_persistent(h, bytes, requests);
    for (long i = 0; i < times; i++) {
        MPI_Startall(2, requests);
        host_wait(2, requests, h->statuses);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

void host_call_STARTALL(struct host *h, long times)
{
    host_start_all(h, 8, times);
}

void host_call_STARTALL_1K(struct host *h, long times)
{
    host_start_all(h, 1024, times);
}

/* Other requests of a program that has persistent ones. */
void host_call_ISEND_PERSISTENT(struct host *h, long times)
{
    MPI_Request requests[2];
    host_open_persistent(h, 1024, requests);
    for (long i = 0; i < times; i++)
        host_exchange(h, 8, MPI_BYTE, h->left, 3);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

HOST_EACH(SEND_INIT)
{
    MPI_Request r;
    MPI_Send_init(h->in, 8, MPI_BYTE, h->right, 1, h->comm, &r);
    MPI_Request_free(&r);
}

HOST_EACH(RECV_INIT)
{
    MPI_Request r;
    MPI_Recv_init(h->in, 8, MPI_BYTE, h->left, 1, h->comm, &r);
    MPI_Request_free(&r);
}

HOST_EACH(TEST_NULL)
{
    int flag;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
}

HOST_EACH(CANCEL)
{
    MPI_Request r;
    MPI_Irecv(h->out, 8, MPI_BYTE, h->left, 77, h->comm, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, h->statuses);
}

HOST_EACH(IPROBE)
{
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 9, h->comm, &flag, MPI_STATUS_IGNORE);
}

HOST_EACH(SENDRECV)
{
    MPI_Sendrecv(h->in, 8, MPI_BYTE, h->right, 2, h->out, 8, MPI_BYTE, h->left, 2, h->comm, MPI_STATUS_IGNORE);
}

HOST_EACH(SENDRECV_1K)
{
    MPI_Sendrecv(h->in, 1024, MPI_BYTE, h->right, 2, h->out, 1024, MPI_BYTE, h->left, 2, h->comm, MPI_STATUS_IGNORE);
}

HOST_EACH(SENDRECV_VECTOR)
{
    MPI_Sendrecv(h->in, 1, h->vector, h->right, 2, h->out, 1, h->vector, h->left, 2, h->comm, MPI_STATUS_IGNORE);
}

HOST_EACH(ISEND)
{
    host_exchange(h, 8, MPI_BYTE, h->left, 3);
}

HOST_EACH(ISEND_1K)
{
    host_exchange(h, 1024, MPI_BYTE, h->left, 3);
}

HOST_EACH(ISEND_64K)
{
    host_exchange(h, 65536, MPI_BYTE, h->left, 3);
}

HOST_EACH(ISEND_VECTOR)
{
    host_exchange(h, 40, h->vector, h->left, 3);
}

HOST_EACH(ISEND_ANY)
{
    host_exchange(h, 8, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG);
}

HOST_EACH(TESTALL)
{
    MPI_Request r[2];
    int flag = 0;
    host_begin(h, 8, MPI_BYTE, h->left, 3, r);
    while (!flag)
        MPI_Testall(2, r, &flag, h->statuses);
}

HOST_EACH(WAITANY)
{
    MPI_Request r[2];
    int x;
    host_begin(h, 8, MPI_BYTE, h->left, 3, r);
    MPI_Waitany(2, r, &x, MPI_STATUS_IGNORE);
    MPI_Waitany(2, r, &x, MPI_STATUS_IGNORE);
}

HOST_EACH(PROBE)
{
    MPI_Request r;
    MPI_Isend(h->in, 8, MPI_BYTE, h->right, 4, h->comm, &r);
    MPI_Probe(h->left, 4, h->comm, &h->status);
    MPI_Recv(h->out, 8, MPI_BYTE, h->left, 4, h->comm, &h->status);
    MPI_Wait(&r, h->statuses);
}

HOST_EACH(MPROBE)
{
    MPI_Request r;
    MPI_Message m;
    MPI_Isend(h->in, 8, MPI_BYTE, h->right, 4, h->comm, &r);
    MPI_Mprobe(h->left, 4, h->comm, &m, &h->status);
    MPI_Mrecv(h->out, 8, MPI_BYTE, &m, &h->status);
    MPI_Wait(&r, h->statuses);
}

HOST_EACH(PROC_NULL)
{
    MPI_Send(h->in, 8, MPI_BYTE, MPI_PROC_NULL, 0, h->comm);
    MPI_Recv(h->out, 8, MPI_BYTE, MPI_PROC_NULL, 0, h->comm, MPI_STATUS_IGNORE);
}
