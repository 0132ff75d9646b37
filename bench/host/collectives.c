/* Local calls, communicators and collectives. */
#include "bench/host/host.h"

HOST_EACH(RANK)
{
    int r;
    MPI_Comm_rank(h->comm, &r);
}

HOST_EACH(TYPE_SIZE)
{
    int s;
    MPI_Type_size(MPI_INT, &s);
}

HOST_EACH(GET_COUNT)
{
    int s;
    MPI_Get_count(&h->status, MPI_BYTE, &s);
}

HOST_EACH(PACK)
{
    int p = 0;
    MPI_Pack(h->in, 8, MPI_BYTE, h->out, 64, &p, h->comm);
}

HOST_EACH(REDUCE_LOCAL)
{
    MPI_Reduce_local(h->in, h->out, 1, MPI_DOUBLE, MPI_SUM);
}

HOST_EACH(TYPE_VECTOR)
{
    MPI_Datatype t;
    MPI_Type_vector(8, 2, 5, MPI_INT, &t);
    MPI_Type_commit(&t);
    MPI_Type_free(&t);
}

HOST_EACH(ALLOC_MEM)
{
    void *p;
    MPI_Alloc_mem(64, MPI_INFO_NULL, &p);
    MPI_Free_mem(p);
}

HOST_EACH(COMM_DUP)
{
    MPI_Comm c;
    MPI_Comm_dup(h->comm, &c);
    MPI_Comm_free(&c);
}

HOST_EACH(COMM_DUP_USED)
{
    MPI_Comm c;
    MPI_Comm_dup(h->comm, &c);
    MPI_Barrier(c);
    MPI_Allreduce(h->in, h->out, 1, MPI_INT, MPI_SUM, c);
    MPI_Comm_free(&c);
}

HOST_EACH(COMM_SPLIT)
{
    MPI_Comm c;
    MPI_Comm_split(h->comm, 0, h->rank, &c);
    MPI_Comm_free(&c);
}

HOST_EACH(CART_CREATE)
{
    const int periodic = 1;
    MPI_Comm c;
    MPI_Cart_create(h->comm, 1, &h->n, &periodic, 0, &c);
    MPI_Comm_free(&c);
}

HOST_EACH(BARRIER)
{
    MPI_Barrier(h->comm);
}

HOST_EACH(IBARRIER)
{
    MPI_Request r;
    MPI_Ibarrier(h->comm, &r);
    host_wait(1, &r, h->statuses);
}

HOST_EACH(BCAST)
{
    MPI_Bcast(h->in, 8, MPI_BYTE, (int)(i % h->n), h->comm);
}

HOST_EACH(ALLREDUCE)
{
    MPI_Allreduce(h->in, h->out, 1, MPI_DOUBLE, MPI_SUM, h->comm);
}

HOST_EACH(REDUCE)
{
    MPI_Reduce(h->in, h->out, 1, MPI_DOUBLE, MPI_SUM, (int)(i % h->n), h->comm);
}

HOST_EACH(SCAN)
{
    MPI_Scan(h->in, h->out, 1, MPI_DOUBLE, MPI_SUM, h->comm);
}

HOST_EACH(IALLREDUCE)
{
    MPI_Request r;
    MPI_Iallreduce(h->in, h->out, 1, MPI_DOUBLE, MPI_SUM, h->comm, &r);
    MPI_Wait(&r, h->statuses);
}

HOST_EACH(ALLGATHER)
{
    MPI_Allgather(h->in, 8, MPI_BYTE, h->out, 8, MPI_BYTE, h->comm);
}

HOST_EACH(IALLGATHER)
{
    MPI_Request r;
    MPI_Iallgather(h->in, 8, MPI_BYTE, h->out, 8, MPI_BYTE, h->comm, &r);
    MPI_Wait(&r, h->statuses);
}

HOST_EACH(ALLTOALL)
{
    MPI_Alltoall(h->in, 8, MPI_BYTE, h->out, 8, MPI_BYTE, h->comm);
}

HOST_EACH(GATHER)
{
    MPI_Gather(h->in, 8, MPI_BYTE, h->out, 8, MPI_BYTE, (int)(i % h->n), h->comm);
}

HOST_EACH(NEIGHBOR_ALLTOALL)
{
    MPI_Neighbor_alltoall(h->in, 8, MPI_BYTE, h->out, 8, MPI_BYTE, h->ring);
}
