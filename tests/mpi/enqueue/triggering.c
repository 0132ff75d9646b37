/* A program for stream-triggering, with its header alone: it is linked with no library of Tutti. Memory of
 * MPIS_Alloc_mem goes round a ring by persistent messages in a stream. */
#include <stdio.h>

#include "tutti/triggering/stream-triggering.h"

enum { COUNT = 5000, TURNS = 20 };
static int rank, failures;

static void check(int right, const char *what)
{
    if (!right) {
        failures++;
        printf("FAILED rank %d: %s\n", rank, what);
    }
}

/* Between ordinary memory and memory of the GPU: this rank sends to itself. */
static void copy(void *to, const void *from)
{
    MPI_Sendrecv(from, COUNT, MPI_INT, 0, 0, to, COUNT, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/* A stream of the program's own GPU interface; the simulated GPU's is in the library that the MPI's calls have loaded.
 */
static void *stream_of_gpu(void)
{
    void *core = dlopen("libtutti-core.so.0", RTLD_LAZY | RTLD_NOLOAD), *stream = (void *)0;
    int (*create)(void **) = (int (*)(void **))0;
    if (core)
        *(void **)(void *)&create = dlsym(core, "tutti_stream_create");
    check(create && create(&stream) == 0, "a stream");
    return stream;
}

static void ring(void *sent, void *got, int size)
{
    static int mine[COUNT], theirs[COUNT];
    void *stream = stream_of_gpu();
    MPIS_Queue queue = MPIS_QUEUE_NULL;
    MPIS_Request requests[2];
    int wrong = 0;
    check(MPIS_Queue_init(&queue, GPU_MEM_OPS, &stream) == MPIS_SUCCESS, "a queue");
    MPIS_Send_init(sent, COUNT, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPIS_Recv_init(got, COUNT, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    check(MPIS_Matchall(2, requests, MPI_STATUSES_IGNORE) == MPIS_SUCCESS, "a match");
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < COUNT; i++)
            mine[i] = rank * 1000 + turn * 7 + i;
        copy(sent, mine);
        MPIS_Enqueue_startall(queue, 2, requests);
        MPIS_Enqueue_waitall(queue);
        check(MPIS_Queue_wait(queue) == MPIS_SUCCESS, "the wait for a queue");
        copy(theirs, got);
        for (int i = 0; i < COUNT; i++)
            wrong += theirs[i] != (rank + size - 1) % size * 1000 + turn * 7 + i;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    check(wrong == 0, "the ring");
    MPIS_Request_freeall(2, requests);
    check(MPIS_Queue_free(&queue) == MPIS_SUCCESS, "the end of a queue");
}

int main(int argc, char **argv)
{
    MPI_Info info = MPI_INFO_NULL;
    void *sent = (void *)0, *got = (void *)0;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Info_create(&info);
    check(MPIS_Alloc_mem(64, info, &sent) == MPI_ERR_INFO_VALUE, "memory of no kind");
    MPI_Info_set(info, "mpi_memory_alloc_kinds", "rocm:device:coarse");
    check(MPIS_Alloc_mem(COUNT * sizeof(int), info, &sent) == MPIS_SUCCESS && sent, "memory of the GPU");
    check(MPIS_Alloc_mem(COUNT * sizeof(int), info, &got) == MPIS_SUCCESS && got, "more memory of the GPU");
    if (sent && got)
        ring(sent, got, size);
    check(MPIS_Free_mem(sent) == MPIS_SUCCESS && MPIS_Free_mem(got) == MPIS_SUCCESS, "freeing");
    MPI_Info_free(&info);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures != 0;
}
