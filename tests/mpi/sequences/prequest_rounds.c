/* Rounds of requests with device requests, where one thread makes the calls of the kernels: prepared in any order, over
 * and over, without partitions, and device requests that are created in the middle of a round. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "tutti/mpix.h"

#include "tutti/device/prequest.h"

/* Open MPI 4.1's header lacks them. */
static int (*psend_init)(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
static int (*precv_init)(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
static int (*pready)(int, MPI_Request);
static int (*parrived)(MPI_Request, int, int *);

static void *find(const char *name)
{
    void *call = dlsym(RTLD_DEFAULT, name);
    CHECK(call != NULL, "%s is not there", name);
    return call;
}

/* What ends by itself at MPI_Start may be prepared as well: messages of no partitions, and of MPI_PROC_NULL. */
static void empty(void)
{
    int nothing[1];
    MPI_Request r[2];
    MPI_Status statuses[2];
    for (int null = 0; null < 2; null++) {
        const int peer = null ? MPI_PROC_NULL : kit_rank;
        CHECK(psend_init(nothing, 0, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]) == MPI_SUCCESS, "init");
        CHECK(precv_init(nothing, 0, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]) == MPI_SUCCESS, "init");
        for (int round = 0; round < 3; round++) {
            MPI_Startall(2, r);
            const int code = MPIX_Pbuf_prepareall(2, r);
            CHECK(code == MPI_SUCCESS, "MPIX_Pbuf_prepareall of nothing: class %d", kit_class(code));
            CHECK(MPI_Waitall(2, r, statuses) == MPI_SUCCESS, "wait for nothing");
        }
        MPI_Request_free(&r[0]);
        MPI_Request_free(&r[1]);
    }
}

/* Each rank prepares its send before its receive, in calls of their own, as programs with halos do. */
static void crossed(int rounds)
{
    enum { N = 6 };
    int in[N] = {0}, out[N] = {0};
    const int right = (kit_rank + 1) % kit_size, left = (kit_rank + kit_size - 1) % kit_size;
    MPI_Request r[2];
    MPI_Status statuses[2];
    MPIX_Prequest device;
    CHECK(psend_init(in, N, 1, MPI_INT, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]) == MPI_SUCCESS, "init");
    CHECK(precv_init(out, 2, N / 2, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]) == MPI_SUCCESS, "init");
    CHECK(MPIX_Prequest_create(r[0], &device) == MPI_SUCCESS, "MPIX_Prequest_create");
    for (int round = 0; round < rounds; round++) {
        MPI_Startall(2, r);
        for (int i = 0; i < 2; i++)
            CHECK(MPIX_Pbuf_prepare(r[i]) == MPI_SUCCESS, "MPIX_Pbuf_prepare");
        for (int i = 0; i < N; i++) {
            in[i] = (round * kit_size + kit_rank) * N + i;
            MPIX_Pready_block(i, device);
        }
        CHECK(MPI_Waitall(2, r, statuses) == MPI_SUCCESS, "wait");
        for (int i = 0; i < N; i++)
            CHECK(out[i] == (round * kit_size + left) * N + i, "round %d: integer %d is %d", round, i, out[i]);
    }
    CHECK(MPIX_Prequest_free(&device) == MPI_SUCCESS, "MPIX_Prequest_free");
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* Device requests that are created in a round of which some partitions are ready, or have arrived. */
static void amid(void)
{
    enum { N = 4 };
    int in[N] = {1, 2, 3, 4}, out[N] = {0}, flag = 0;
    MPI_Request s, r;
    MPI_Info info;
    MPIX_Prequest marks, looks;
    MPI_Info_create(&info);
    MPI_Info_set(info, "tutti_transport_partitions", "4");
    CHECK(psend_init(in, N, 1, MPI_INT, 0, 5, MPI_COMM_SELF, info, &s) == MPI_SUCCESS, "init");
    CHECK(precv_init(out, N, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_INFO_NULL, &r) == MPI_SUCCESS, "init");
    MPI_Info_free(&info);
    MPI_Start(&r);
    MPI_Start(&s);
    CHECK(pready(2, s) == MPI_SUCCESS, "MPI_Pready");
    while (!flag)
        CHECK(parrived(r, 2, &flag) == MPI_SUCCESS, "MPI_Parrived");
    CHECK(MPIX_Prequest_create(s, &marks) == MPI_SUCCESS && MPIX_Prequest_create(r, &looks) == MPI_SUCCESS, "creates");
    MPIX_Parrived(looks, 2, &flag);
    CHECK(flag == 1 && out[2] == 3, "a partition that arrived before the device request was created");
    MPIX_Parrived(looks, 1, &flag);
    CHECK(flag == 0, "a partition that is not ready has arrived");
    MPIX_Pready_range(0, 1, marks);
    MPIX_Pready_thread(3, marks);
    CHECK(MPI_Wait(&s, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS, "waits");
    CHECK(memcmp(in, out, sizeof in) == 0, "what the host and a kernel have marked");
    MPIX_Parrived(looks, 1, &flag);
    CHECK(flag == 1, "MPIX_Parrived of a request that is not active");
    CHECK(MPIX_Prequest_free(&looks) == MPI_SUCCESS && MPIX_Prequest_create(r, &looks) == MPI_SUCCESS, "again");
    MPIX_Parrived(looks, 1, &flag);
    CHECK(flag == 1, "MPIX_Parrived of a device request that was created between rounds");
    MPI_Request_free(&s);
    MPI_Request_free(&r);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 20;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    psend_init = find("MPI_Psend_init");
    precv_init = find("MPI_Precv_init");
    pready = find("MPI_Pready");
    parrived = find("MPI_Parrived");
    empty();
    amid();
    crossed(rounds);
    return kit_end("rounds of partitioned requests in kernels");
}
