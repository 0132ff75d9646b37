/* Types with gaps in device memory under an MPI that takes device memory itself by the setting (TUTTI_MPI_GPU_AWARE=1):
 * such an MPI gets bytes alone, in host memory or in device memory of Tutti's. On the host device in strict mode it
 * would die of any device pointer. Argument: rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { BLOCKS = 300, BLOCK = 8, STRIDE = 24, SPAN = BLOCKS * STRIDE, MOST = 8 };
static struct kit_buffer out, in;
static unsigned char image[MOST * SPAN];

static unsigned char byte_of(int rank, int to, int number, int i)
{
    return (unsigned char)random_mix(kit_seed + (uint64_t)rank * 31 + (uint64_t)to * 1009 + (uint64_t)number * 7919 +
                                     (uint64_t)i);
}

/* What `rank` sends to each of n ranks. */
static void *sends(int number, int n)
{
    for (int to = 0; to < n; to++) {
        for (int i = 0; i < SPAN; i++)
            image[to * SPAN + i] = byte_of(kit_rank, to, number, i);
    }
    return kit_put(&out, 0, image, (size_t)n * SPAN);
}

static void *receives(int n)
{
    memset(image, 0x2a, sizeof image);
    return kit_put(&in, 0, image, (size_t)n * SPAN);
}

/* Block `at` of the result is what `from` has sent to rank `to`; gaps are as they were. */
static void check(int at, int from, int to, int number, const char *how)
{
    const unsigned char *got = (const unsigned char *)kit_get(&in, NULL) + (size_t)at * SPAN;
    int wrong = 0;
    for (int i = 0; i < SPAN; i++)
        wrong += got[i] != (i % STRIDE < BLOCK ? byte_of(from, to, number, i) : 0x2a);
    CHECK(wrong == 0, "%s: %d bytes of what rank %d sent are wrong", how, wrong, from);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    long rounds = argc > 1 ? atol(argv[1]) : 3;
    int n = kit_size, next = (kit_rank + 1) % n, before = (kit_rank + n - 1) % n;
    int counts[MOST], displs[MOST], bytes[MOST];
    MPI_Datatype plain, type, types[MOST];
    MPI_Request requests[2];
    if (n < 2 || n > MOST)
        kit_skip("types_aware", "it takes 2 to 8 ranks");
    MPI_Type_vector(BLOCKS, BLOCK, STRIDE, MPI_BYTE, &plain);
    MPI_Type_create_resized(plain, 0, SPAN, &type);
    MPI_Type_commit(&type);
    kit_open(&out, KIT_DEVICE, sizeof image);
    kit_open(&in, KIT_DEVICE, sizeof image);
    for (int r = 0; r < n; r++) {
        counts[r] = 1;
        displs[r] = r;
        bytes[r] = r * SPAN;
        types[r] = type;
    }
    for (int number = 0; number < rounds; number++) {
        void *from = sends(number, n), *to = receives(n);
        MPI_Sendrecv(from, 1, type, next, 1, to, 1, type, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(0, before, 0, number, "MPI_Sendrecv");
        to = receives(n);
        MPI_Irecv(to, 1, type, before, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(from, 1, type, next, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        check(0, before, 0, number, "MPI_Irecv");
        to = receives(n);
        MPI_Recv_init(to, 1, type, before, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Send_init(from, 1, type, next, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Startall(2, requests);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        check(0, before, 0, number, "MPI_Recv_init");
        to = receives(n);
        MPI_Allgather(from, 1, type, to, 1, type, MPI_COMM_WORLD);
        for (int r = 0; r < n; r++)
            check(r, r, 0, number, "MPI_Allgather");
        to = receives(n);
        MPI_Gather(from, 1, type, to, 1, type, 1, MPI_COMM_WORLD);
        for (int r = 0; r < n && kit_rank == 1; r++)
            check(r, r, 0, number, "MPI_Gather");
        to = receives(n);
        MPI_Alltoall(from, 1, type, to, 1, type, MPI_COMM_WORLD);
        for (int r = 0; r < n; r++)
            check(r, r, kit_rank, number, "MPI_Alltoall");
        to = receives(n);
        MPI_Alltoallv(from, counts, displs, type, to, counts, displs, type, MPI_COMM_WORLD);
        for (int r = 0; r < n; r++)
            check(r, r, kit_rank, number, "MPI_Alltoallv");
        to = receives(n);
        MPI_Alltoallw(from, counts, bytes, types, to, counts, bytes, types, MPI_COMM_WORLD);
        for (int r = 0; r < n; r++)
            check(r, r, kit_rank, number, "MPI_Alltoallw");
        to = receives(n);
        if (kit_rank == 0)
            MPI_Bcast(from, 1, type, 0, MPI_COMM_WORLD);
        else
            MPI_Bcast(to, 1, type, 0, MPI_COMM_WORLD);
        if (kit_rank != 0)
            check(0, 0, 0, number, "MPI_Bcast");
        kit_get(&in, NULL);
    }
    const char *how = getenv("TUTTI_TEST_HOW") ? getenv("TUTTI_TEST_HOW") : "packed by a kernel";
    static const char *const calls[] = {"MPI_Isend", "MPI_Irecv",    "MPI_Send_init", "MPI_Recv_init", "MPI_Allgather",
                                        "MPI_Bcast", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        CHECK(kit_counted(calls[i], how) > 0, "%s was not %s", calls[i], how);
    MPI_Type_free(&plain);
    MPI_Type_free(&type);
    kit_close(&out);
    kit_close(&in);
    return kit_end("types_aware");
}
