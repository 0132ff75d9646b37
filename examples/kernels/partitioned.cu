/* Partitioned messages from kernels, round a ring: each block of a kernel marks its partition as ready when it has
 * made its data, and a kernel of the receiver takes each partition when it has arrived.
 *
 *     nvcc -ccbin mpicxx --forward-unknown-to-host-compiler -arch=native partitioned.cu \
 *          $(pkg-config --cflags --libs tutti)
 *     mpicc -xc partitioned.cu $(pkg-config --cflags --libs tutti)           (without a GPU)
 *     tutti run -n 4 ./a.out */
#include "waiting.h"

#include <dlfcn.h>
#include <tutti/mpix.h>
#include <tutti/tutti.h>

#include <tutti/device/prequest.h>

enum { PARTS = 96, EACH = 512, COUNT = PARTS * EACH, ROUNDS = 20, FORMS = 5 };

/* Open MPI 4.1's header lacks them. */
typedef int init_fn(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);

static init_fn *find(const char *name)
{
    union {
        void *symbol;
        init_fn *call;
    } found;
    found.symbol = dlsym((void *)0, name);
    if (!found.symbol)
        stop(name, "Tutti is not there: start the program with tutti run");
    return found.call;
}

BOTH int value(int rank, int round, int i)
{
    return (rank * ROUNDS + round) * COUNT + i;
}

/* How a block marks partition p, which it has filled: each round in another form. */
DEVICE void mark(int p, int form, MPIX_Prequest request)
{
    if (form == 0)
        MPIX_Pready_block(p, request);
    block_sync(); /* the other forms mark what all threads of the block have stored */
    if (form == 1 && thread() < 32)
        MPIX_Pready_warp(p, request);
    if (thread() != 0)
        return;
    if (form == 2)
        MPIX_Pready(p, request);
    else if (form == 3)
        MPIX_Pready_range(p, p, request);
    else if (form == 4)
        MPIX_Pready_list(1, &p, request);
}

KERNEL fill(int *data, int rank, int round, MPIX_Prequest request)
{
    for (int k = block(); k < PARTS; k += blocks()) {
        const int p = (k * 37 + round) % PARTS; /* in another order each round */
        for (int i = thread(); i < EACH; i += threads())
            data[p * EACH + i] = value(rank, round, p * EACH + i);
        mark(p, round % FORMS, request);
    }
}

/* Waits for partitions; counts what is wrong in them. */
KERNEL take(const int *data, int rank, int round, MPIX_Prequest request, int *wrong)
{
    for (int p = block(); p < PARTS; p += blocks()) {
        int flag = 0, bad = 0;
        while (thread() == 0 && !flag)
            MPIX_Parrived(request, p, &flag);
        block_sync();
        for (int i = thread(); i < EACH; i += threads())
            bad += ((const volatile int *)data)[p * EACH + i] != value(rank, round, p * EACH + i);
        if (bad)
            tutti_dev_grid_add((uint32_t *)wrong, (uint32_t)bad);
    }
}

int main(void)
{
    begin();
    int rank, ranks, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int left = (rank + ranks - 1) % ranks;
    int *const out = memory(COUNT * sizeof(int)), *const in = memory(COUNT * sizeof(int));
    int *const bad = (int *)symmetric(sizeof(int)); /* the count of what is wrong */
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPIX_Prequest sends, receives;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "tutti_transport_partitions", "24");
    find("MPI_Psend_init")(out, PARTS, EACH, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD, info, &requests[0]);
    find("MPI_Precv_init")(in, PARTS, EACH, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Info_free(&info);
    if (MPIX_Prequest_create(requests[0], &sends) != 0 || MPIX_Prequest_create(requests[1], &receives) != 0)
        stop("MPIX_Prequest_create", "failed");
#ifdef __CUDACC__
    for (int i = 0; i < 2; i++)
        cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
#endif
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Startall(2, requests);
        MPIX_Pbuf_prepareall(2, requests);
        LAUNCH(0, fill, out, rank, round, sends);
#ifdef __CUDACC__
        if (round > 0) /* memory is mapped in the first round, which may wait for kernels */
            LAUNCH(1, take, in, left, round, receives, bad);
        MPI_Waitall(2, requests, statuses);
        if (round == 0)
            LAUNCH(1, take, in, left, round, receives, bad);
#else
        MPI_Waitall(2, requests, statuses); /* here a kernel is a call: what it waits for has arrived before */
        LAUNCH(1, take, in, left, round, receives, bad);
#endif
        synchronise();
    }
    tutti_copy(&wrong, bad, sizeof wrong);
    MPIX_Prequest_free(&sends);
    MPIX_Prequest_free(&receives);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    tutti_free(out);
    tutti_free(in);
    return end("partitions from kernels round a ring", wrong);
}
