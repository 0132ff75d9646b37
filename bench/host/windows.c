/* Windows and files. */
#include "bench/host/host.h"

void host_call_WIN_ALLOCATE(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Win w;
        void *p;
        MPI_Win_allocate(4096, 1, MPI_INFO_NULL, h->comm, &p, &w);
        MPI_Win_free(&w);
    }
}

void host_call_WIN_FENCE(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Win_fence(0, h->fenced);
    }
}

void host_call_WIN_LOCK(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, h->right, 0, h->locked);
        MPI_Win_unlock(h->right, h->locked);
    }
}

void host_call_PUT_FENCE(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Put(h->in, 8, MPI_BYTE, h->right, 0, 8, MPI_BYTE, h->fenced);
        MPI_Win_fence(0, h->fenced);
    }
}

void host_call_PUT_LOCK(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, h->right, 0, h->locked);
        MPI_Put(h->in, 8, MPI_BYTE, h->right, 0, 8, MPI_BYTE, h->locked);
        MPI_Win_unlock(h->right, h->locked);
    }
}

void host_call_PUT_FLUSH(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Put(h->in, 8, MPI_BYTE, h->rank, 0, 8, MPI_BYTE, h->open);
        MPI_Win_flush(h->rank, h->open);
    }
}

void host_call_GET_FLUSH(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Get(h->out, 8, MPI_BYTE, h->rank, 0, 8, MPI_BYTE, h->open);
        MPI_Win_flush(h->rank, h->open);
    }
}

void host_call_ACCUMULATE_FLUSH(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Accumulate(h->in, 1, MPI_INT, h->rank, 0, 1, MPI_INT, MPI_SUM, h->open);
        MPI_Win_flush(h->rank, h->open);
    }
}

void host_call_FETCH_AND_OP_FLUSH(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Fetch_and_op(h->in, h->out, MPI_INT, h->rank, 0, MPI_SUM, h->open);
        MPI_Win_flush(h->rank, h->open);
    }
}

void host_call_RPUT(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_Request r;
        MPI_Rput(h->in, 8, MPI_BYTE, h->rank, 0, 8, MPI_BYTE, h->open, &r);
        host_wait(1, &r, h->statuses);
    }
}

void host_call_FILE_OPEN(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_File f;
        MPI_File_open(MPI_COMM_SELF, h->path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
        MPI_File_close(&f);
    }
}

void host_call_FILE_WRITE_AT(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_File_write_at(h->file, 0, h->in, 8, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

void host_call_FILE_READ_AT(struct host *h, long times)
{
    for (long i = 0; i < times; i++) {
        MPI_File_read_at(h->file, 0, h->out, 8, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}
