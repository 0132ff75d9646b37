/* Rounds of requests with device requests, where one thread makes the calls of the kernels: prepared in any order, over
 * and over, without partitions, and device requests that are created in the middle of a round; after a round that has
 * failed; beside a communicator with a stream. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "tutti/mpix.h"
#include "tutti/tutti.h"

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
    MPIX_Prequest marks, looks = {0};
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

/* A round that ends with an error leaves a transport partition in the middle. The next round counts from the begin, and
 * so does another request. */
static void spoilt(void)
{
    enum { N = 4, LOOKS = 50 };
    int data[N] = {0}, flag = 0;
    MPI_Request s;
    MPIX_Prequest device;
    if (!kit_errors_returned())
        return;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int again = 0; again < 2; again++) {
        CHECK(psend_init(data, N, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_SELF, MPI_INFO_NULL, &s) == MPI_SUCCESS,
              "init");
        CHECK(MPIX_Prequest_create(s, &device) == MPI_SUCCESS, "MPIX_Prequest_create");
        for (int round = 0; round < 3; round++) {
            MPI_Start(&s);
            MPIX_Pready(0, device);
            for (int look = 0; look < LOOKS; look++) {
                CHECK(MPI_Test(&s, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Test");
                CHECK(!flag, "round %d.%d ends when one of %d partitions is ready", again, round, N);
            }
            MPIX_Pready_range(1, N - 2, device);
            MPIX_Pready(round == 1 ? N - 1 : N, device);
            const int class = kit_class(MPI_Wait(&s, MPI_STATUS_IGNORE));
            CHECK(class == (round == 1 ? MPI_SUCCESS : MPI_ERR_ARG), "round %d: class %d", round, class);
        }
        MPI_Request_free(&s);
    }
}

/* The sender's kernels store its message in the round that was prepared; or the engine sends it. */
static int ring_round(MPI_Request r[2], const MPIX_Prequest *device, int *in, const int *out, int n, int round)
{
    const int left = (kit_rank + kit_size - 1) % kit_size;
    MPI_Status statuses[2];
    MPI_Startall(2, r);
    CHECK(MPIX_Pbuf_prepareall(2, r) == MPI_SUCCESS, "MPIX_Pbuf_prepareall");
    int stores = device->round->to != 0, all = 0;
    for (int i = 0; i < n; i++) {
        in[i] = (round * kit_size + kit_rank) * n + i;
        MPIX_Pready_block(i, *device);
    }
    CHECK(MPI_Waitall(2, r, statuses) == MPI_SUCCESS, "wait");
    for (int i = 0; i < n; i++)
        CHECK(out[i] == (round * kit_size + left) * n + i, "round %d: integer %d is %d", round, i, out[i]);
    MPI_Allreduce(&stores, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static MPI_Comm comm_with_stream(void *stream, MPIX_Stream *mpix)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "tutti_stream");
    CHECK(MPIX_Info_set_hex(info, "value", &stream, sizeof stream) == MPI_SUCCESS, "MPIX_Info_set_hex");
    CHECK(MPIX_Stream_create(info, mpix) == MPI_SUCCESS, "MPIX_Stream_create");
    MPI_Info_free(&info);
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, *mpix, &comm) == MPI_SUCCESS, "MPIX_Stream_comm_create");
    return comm;
}

/* While a communicator with a stream exists, nothing is mapped: kernels store where they have stored before. */
static void beside_stream(int rounds)
{
    enum { N = 6, WARM = 50 };
    void *buffer = NULL, *stream = NULL;
    MPI_Request r[2];
    MPIX_Prequest device;
    MPIX_Stream mpix;
    int stores = 0, round = 0, possible = !kit_plain && tutti_stream_create(&stream) == 0;
    MPI_Allreduce(MPI_IN_PLACE, &possible, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!possible)
        return;
    CHECK(tutti_alloc(2 * N * sizeof(int), &buffer) == 0, "device memory");
    int *const in = buffer, *const out = in + N;
    CHECK(psend_init(in, N, 1, MPI_INT, (kit_rank + 1) % kit_size, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]) ==
              MPI_SUCCESS,
          "init");
    CHECK(precv_init(out, 2, N / 2, MPI_INT, (kit_rank + kit_size - 1) % kit_size, 8, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &r[1]) == MPI_SUCCESS,
          "init");
    CHECK(MPIX_Prequest_create(r[0], &device) == MPI_SUCCESS, "MPIX_Prequest_create");
    for (; round < WARM && !stores; round++)
        stores = ring_round(r, &device, in, out, N, round);
    MPI_Comm comm = comm_with_stream(stream, &mpix);
    for (int i = 0; i < rounds; i++)
        CHECK(ring_round(r, &device, in, out, N, round++) == stores, "round %d beside a communicator with a stream",
              round);
    CHECK(MPIX_Stream_free(&mpix) == MPI_SUCCESS && MPI_Comm_free(&comm) == MPI_SUCCESS, "frees");
    tutti_stream_destroy(stream);
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&r[i]);
    tutti_free(buffer);
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
    spoilt();
    beside_stream(rounds);
    return kit_end("rounds of partitioned requests in kernels");
}
