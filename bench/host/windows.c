/* Windows and files. */
#include "bench/host/host.h"

HOST_EACH(WIN_ALLOCATE)
{
    MPI_Win w;
    void *p;
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, h->comm, &p, &w);
    MPI_Win_free(&w);
}

HOST_EACH(WIN_FENCE)
{
    MPI_Win_fence(0, h->fenced);
}

HOST_EACH(WIN_LOCK)
{
    MPI_Win_lock(MPI_LOCK_SHARED, h->right, 0, h->locked);
    MPI_Win_unlock(h->right, h->locked);
}

HOST_EACH(PUT_FENCE)
{
    MPI_Put(h->in, 8, MPI_BYTE, h->right, 0, 8, MPI_BYTE, h->fenced);
    MPI_Win_fence(0, h->fenced);
}

HOST_EACH(PUT_LOCK)
{
    MPI_Win_lock(MPI_LOCK_SHARED, h->right, 0, h->locked);
    MPI_Put(h->in, 8, MPI_BYTE, h->right, 0, 8, MPI_BYTE, h->locked);
    MPI_Win_unlock(h->right, h->locked);
}

HOST_EACH(PUT_FLUSH)
{
    MPI_Put(h->in, 8, MPI_BYTE, h->rank, 0, 8, MPI_BYTE, h->open);
    MPI_Win_flush(h->rank, h->open);
}

HOST_EACH(GET_FLUSH)
{
    MPI_Get(h->out, 8, MPI_BYTE, h->rank, 0, 8, MPI_BYTE, h->open);
    MPI_Win_flush(h->rank, h->open);
}

HOST_EACH(ACCUMULATE_FLUSH)
{
    MPI_Accumulate(h->in, 1, MPI_INT, h->rank, 0, 1, MPI_INT, MPI_SUM, h->open);
    MPI_Win_flush(h->rank, h->open);
}

HOST_EACH(FETCH_AND_OP_FLUSH)
{
    MPI_Fetch_and_op(h->in, h->out, MPI_INT, h->rank, 0, MPI_SUM, h->open);
    MPI_Win_flush(h->rank, h->open);
}

HOST_EACH(RPUT)
{
    MPI_Request r;
    MPI_Rput(h->in, 8, MPI_BYTE, h->rank, 0, 8, MPI_BYTE, h->open, &r);
    host_wait(1, &r, h->statuses);
}

HOST_EACH(FILE_OPEN)
{
    MPI_File f;
    MPI_File_open(MPI_COMM_SELF, h->path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_close(&f);
}

HOST_EACH(FILE_WRITE_AT)
{
    MPI_File_write_at(h->file, 0, h->in, 8, MPI_BYTE, MPI_STATUS_IGNORE);
}

HOST_EACH(FILE_READ_AT)
{
    MPI_File_read_at(h->file, 0, h->out, 8, MPI_BYTE, MPI_STATUS_IGNORE);
}
