/* Local calls, communicators and collectives. */
#include "bench/host/host.h"

void host_call_RANK(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        int r;
        MPI_Comm_rank(h->comm, &r);
    }
}

void host_call_TYPE_SIZE(struct host *h, long times)
{
    (void)h;
    for (long i = 0; i < times; i++) {
        int s;
        MPI_Type_size(MPI_INT, &s);
    }
}

void host_call_GET_COUNT(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        int s;
        MPI_Get_count(&h->status, MPI_BYTE, &s);
    }
}

void host_call_PACK(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        int p = 0;
        MPI_Pack(h->in, 8, MPI_BYTE, h->out, 64, &p, h->comm);
    }
}

void host_call_REDUCE_LOCAL(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Reduce_local(h->in, h->out, 1, MPI_DOUBLE, MPI_SUM);
    }
}

void host_call_TYPE_VECTOR(struct host *h, long times)
{
    (void)h;
    for (long i = 0; i < times; i++) {
        MPI_Datatype t;
        MPI_Type_vector(8, 2, 5, MPI_INT, &t);
        MPI_Type_commit(&t);
        MPI_Type_free(&t);
    }
}

void host_call_ALLOC_MEM(struct host *h, long times)
{
    (void)h;
    for (long i = 0; i < times; i++) {
        void *p;
        MPI_Alloc_mem(64, MPI_INFO_NULL, &p);
        MPI_Free_mem(p);
    }
}

void host_call_COMM_DUP(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Comm c;
        MPI_Comm_dup(h->comm, &c);
        MPI_Comm_free(&c);
    }
}

void host_call_COMM_DUP_USED(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Comm c;
        MPI_Comm_dup(h->comm, &c);
        MPI_Barrier(c);
        MPI_Allreduce(h->in, h->out, 1, MPI_INT, MPI_SUM, c);
        MPI_Comm_free(&c);
    }
}

void host_call_COMM_SPLIT(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Comm c;
        MPI_Comm_split(h->comm, 0, h->rank, &c);
        MPI_Comm_free(&c);
    }
}

void host_call_CART_CREATE(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        const int periodic = 1;
        MPI_Comm c;
        MPI_Cart_create(h->comm, 1, &h->n, &periodic, 0, &c);
        MPI_Comm_free(&c);
    }
}

void host_call_BARRIER(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Barrier(h->comm);
    }
}

void host_call_IBARRIER(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Request r;
        MPI_Ibarrier(h->comm, &r);
        host_wait(1, &r, h->statuses);
    }
}

void host_call_BCAST(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Bcast(h->in, 8, MPI_BYTE, (int)(i % h->n), h->comm);
    }
}

void host_call_ALLREDUCE(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Allreduce(h->in, h->out, 1, MPI_DOUBLE, MPI_SUM, h->comm);
    }
}

void host_call_REDUCE(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Reduce(h->in, h->out, 1, MPI_DOUBLE, MPI_SUM, (int)(i % h->n), h->comm);
    }
}

void host_call_SCAN(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Scan(h->in, h->out, 1, MPI_DOUBLE, MPI_SUM, h->comm);
    }
}

void host_call_IALLREDUCE(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Request r;
        MPI_Iallreduce(h->in, h->out, 1, MPI_DOUBLE, MPI_SUM, h->comm, &r);
        MPI_Wait(&r, h->statuses);
    }
}

void host_call_ALLGATHER(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Allgather(h->in, 8, MPI_BYTE, h->out, 8, MPI_BYTE, h->comm);
    }
}

void host_call_IALLGATHER(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Request r;
        MPI_Iallgather(h->in, 8, MPI_BYTE, h->out, 8, MPI_BYTE, h->comm, &r);
        MPI_Wait(&r, h->statuses);
    }
}

void host_call_ALLTOALL(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Alltoall(h->in, 8, MPI_BYTE, h->out, 8, MPI_BYTE, h->comm);
    }
}

void host_call_GATHER(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Gather(h->in, 8, MPI_BYTE, h->out, 8, MPI_BYTE, (int)(i % h->n), h->comm);
    }
}

void host_call_NEIGHBOR_ALLTOALL(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Neighbor_alltoall(h->in, 8, MPI_BYTE, h->out, 8, MPI_BYTE, h->ring);
    }
}
