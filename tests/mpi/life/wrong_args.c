/* Wrong arguments beside device memory: each call gives the class of error that the MPI's own function gives for host
 * memory, and calls that an MPI lets pass do the same as there: types that are not committed, wrong tags and ranks,
 * buffered sends without a buffer, equal buffers of collectives. */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "real_mpi.h"

enum { COUNT = 3000, ROOM = 8 * COUNT * (int)sizeof(int), TAG = 5 };

static struct kit_buffer host[2], device[2];
static MPI_Comm comm;
static MPI_Request request;
static const char *fault;
static MPI_Datatype open; /* not committed */

static void add_up(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

/* A request that a call gave back though it was wrong. */
static int settled(int code)
{
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    request = MPI_REQUEST_NULL;
    return kit_class(code);
}

/* arguments: of the macro's own (in, out) buffers. */
#define SAME(call, ...)                                                                                                \
    do {                                                                                                               \
        __typeof__(&MPI_##call) plain;                                                                                 \
        *(void **)&plain = real_mpi_function("PMPI_" #call);                                                           \
        void *in = host[0].base + KIT_GUARD, *out = host[1].base + KIT_GUARD;                                          \
        request = MPI_REQUEST_NULL;                                                                                    \
        int want = settled(plain(__VA_ARGS__));                                                                        \
        in = device[0].base + KIT_GUARD, out = device[1].base + KIT_GUARD;                                             \
        if (check_setting("TUTTI_TEST_SHOW", 0))                                                                       \
            fprintf(stderr, "%d %s %s: %d\n", kit_rank, fault, #call, want);                                           \
        int got = settled(MPI_##call(__VA_ARGS__));                                                                    \
        (void)in, (void)out;                                                                                           \
        CHECK(got == want, "MPI_" #call ", %s: error class %d, the MPI's own is %d", fault, got, want);                \
        errors += want != MPI_SUCCESS;                                                                                 \
    } while (0)
static int errors, few;

#define TO   in, COUNT, type, rank, tag, comm
#define BACK out, COUNT, type, rank, tag, comm
#define EACH_SEND(DO)                                                                                                  \
    DO(Send, TO);                                                                                                      \
    DO(Ssend, TO);                                                                                                     \
    DO(Bsend, TO);                                                                                                     \
    DO(Rsend, TO);                                                                                                     \
    DO(Isend, TO, &request);                                                                                           \
    DO(Issend, TO, &request);                                                                                          \
    DO(Ibsend, TO, &request);                                                                                          \
    DO(Irsend, TO, &request)
#define EACH_INIT(DO)                                                                                                  \
    DO(Send_init, TO, &request);                                                                                       \
    DO(Ssend_init, TO, &request);                                                                                      \
    DO(Bsend_init, TO, &request);                                                                                      \
    DO(Rsend_init, TO, &request)

/* What is refused before anything is sent. */
static void messages(MPI_Datatype type, int rank, int tag)
{
    EACH_SEND(SAME);
#ifdef OPEN_MPI /* crashes by itself where it makes requests of such types */
    if (type != open)
#endif
    {
        EACH_INIT(SAME);
    }
    SAME(Recv, BACK, MPI_STATUS_IGNORE);
    SAME(Irecv, BACK, &request);
    SAME(Recv_init, BACK, &request);
    SAME(Sendrecv, in, COUNT, type, rank, tag, out, COUNT, type, rank, tag, comm, MPI_STATUS_IGNORE);
    SAME(Sendrecv_replace, out, COUNT, type, rank, tag, rank, tag, comm, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
    SAME(Isendrecv, in, COUNT, type, rank, tag, out, COUNT, type, rank, tag, comm, &request);
    SAME(Isendrecv_replace, out, COUNT, type, rank, tag, rank, tag, comm, &request);
#endif
}

static void packing(MPI_Datatype type)
{
    int at = 0;
    SAME(Pack, in, 3, type, out, ROOM, &at, comm);
    at = 0;
    SAME(Unpack, in, ROOM, &at, out, 3, type, comm);
}

/* `in` and `out` may be one. */
static void movers(MPI_Datatype type, int alias)
{
    int counts[1] = {COUNT}, displs[1] = {0}, none[1] = {0};
    MPI_Datatype types[1] = {type};
#define A    (alias ? out : in)
#define I    MPI_INFO_NULL, &request
#define EVEN A, COUNT, type, out, COUNT, type
#define V    A, COUNT, type, out, counts, displs, type
#define W    A, counts, displs, types, out, counts, displs, types
    SAME(Gather, EVEN, 0, comm);
    SAME(Gatherv, V, 0, comm);
#ifdef OPEN_MPI /* crashes by itself with types that are not committed */
    if (type != open)
#endif
    {
        SAME(Scatter, EVEN, 0, comm);
        SAME(Scatterv, A, counts, displs, type, out, COUNT, type, 0, comm);
    }
    SAME(Allgather, EVEN, comm);
    SAME(Allgather, A, 0, type, out, 0, type, comm);
    SAME(Alltoall, A, 0, type, out, 0, type, comm);
    SAME(Allgatherv, V, comm);
    SAME(Alltoall, EVEN, comm);
    SAME(Alltoallv, A, counts, displs, type, out, counts, displs, type, comm);
    SAME(Alltoallv, A, none, displs, type, out, none, displs, type, comm);
    if (type != MPI_INT || alias)
        SAME(Alltoallw, W, comm);
    if (!alias) {
        SAME(Bcast, in, COUNT, type, 0, comm);
        SAME(Bcast, in, 0, type, 0, comm);
        SAME(Ibcast, in, COUNT, type, 0, comm, &request);
    }
    SAME(Igather, EVEN, 0, comm, &request);
    SAME(Igatherv, V, 0, comm, &request);
#ifndef OPEN_MPI
    SAME(Iscatter, EVEN, 0, comm, &request);
    SAME(Iscatterv, A, counts, displs, type, out, COUNT, type, 0, comm, &request);
#endif
    SAME(Iallgather, EVEN, comm, &request);
    SAME(Iallgatherv, V, comm, &request);
    SAME(Ialltoall, EVEN, comm, &request);
    SAME(Ialltoallv, A, counts, displs, type, out, counts, displs, type, comm, &request);
    SAME(Ialltoallw, W, comm, &request);
#if MPI_VERSION >= 4
    SAME(Bcast_init, in, COUNT, type, 0, comm, I);
    SAME(Gather_init, EVEN, 0, comm, I);
    SAME(Allgather_init, EVEN, comm, I);
    SAME(Alltoall_init, EVEN, comm, I);
    SAME(Alltoallv_init, A, counts, displs, type, out, counts, displs, type, comm, I);
#endif
}

static void reductions(MPI_Datatype type, MPI_Op op, int alias)
{
    const int n = few ? 1 : COUNT, counts[1] = {n};
    SAME(Reduce, A, out, n, type, op, 0, comm);
    SAME(Allreduce, A, out, n, type, op, comm);
    SAME(Reduce_scatter_block, A, out, n, type, op, comm);
    SAME(Reduce_scatter, A, out, counts, type, op, comm);
    SAME(Scan, A, out, n, type, op, comm);
    SAME(Exscan, A, out, n, type, op, comm);
    SAME(Reduce_local, A, out, n, type, op);
    SAME(Ireduce, A, out, n, type, op, 0, comm, &request);
    SAME(Iallreduce, A, out, n, type, op, comm, &request);
    SAME(Ireduce_scatter_block, A, out, n, type, op, comm, &request);
    SAME(Ireduce_scatter, A, out, counts, type, op, comm, &request);
    SAME(Iscan, A, out, n, type, op, comm, &request);
    SAME(Iexscan, A, out, n, type, op, comm, &request);
#if MPI_VERSION >= 4
    SAME(Allreduce_init, A, out, n, type, op, comm, I);
    SAME(Reduce_init, A, out, n, type, op, 0, comm, I);
    SAME(Reduce_scatter_init, A, out, counts, type, op, comm, I);
#endif
}

static void buffered(void)
{
    const MPI_Datatype type = MPI_INT;
    const int rank = (kit_rank + 1) % kit_size, tag = TAG;
    fault = "no buffer attached";
    /* Of its own: Open MPI cannot use a communicator any more on which it has refused this. */
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    SAME(Bsend, TO);
    SAME(Ibsend, TO, &request);
}

int main(int argc, char **argv)
{
    MPI_Datatype committed;
    MPI_Op op;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || !kit_errors_returned())
        kit_skip("wrong_args", "needs the library in front, and an MPI that returns its errors");
    MPI_Comm self;
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) {
        kit_open(&host[i], KIT_HOST, ROOM);
        kit_open(&device[i], KIT_DEVICE, ROOM);
        kit_put(&host[i], 0, NULL, ROOM);
        kit_put(&device[i], 0, NULL, ROOM);
    }
    MPI_Op_create(add_up, 1, &op);
    MPI_Type_vector(2, 1, 2, MPI_INT, &open);
    MPI_Type_contiguous(2, MPI_INT, &committed);
    MPI_Type_commit(&committed);
    int next = (kit_rank + 1) % kit_size;
    for (int way = 0; way < 2; way++) { /* endpoints are open the second time */
        int sum, one[1] = {1};
        comm = MPI_COMM_WORLD;
        fault = "a type that is not committed";
        messages(open, next, TAG);
        packing(open);
        fault = "a tag of -7";
        messages(MPI_INT, next, -7);
        messages(committed, next, -7);
        fault = "a rank that is not there";
        messages(MPI_INT, kit_size, TAG);
        for (int of = 0; of < 2; of++) {
            comm = of ? MPI_COMM_WORLD : self;
            if (!of) {
                fault = "on one rank, a type that is not committed";
                movers(open, 0);
                fault = "on one rank, equal buffers";
                movers(MPI_INT, 1);
                reductions(MPI_INT, MPI_SUM, 1);
                reductions(committed, op, 1);
                fault = "on one rank, equal buffers of one element";
                few = 1;
                reductions(MPI_INT, MPI_SUM, 1);
                few = 0;
            }
            fault = of ? "a type that is not committed" : "on one rank, a type that is not committed";
            reductions(open, op, 0);
        }
        fault = "equal buffers";
        /* All ranks alike: those that an MPI lets pass are carried out. */
        SAME(Allreduce, out, out, COUNT, MPI_INT, MPI_SUM, comm);
        SAME(Allreduce, out, out, COUNT, committed, op, comm);
        SAME(Scan, out, out, COUNT, MPI_INT, MPI_SUM, comm);
        SAME(Exscan, out, out, COUNT, MPI_INT, MPI_SUM, comm);
        SAME(Alltoall, out, COUNT, MPI_INT, out, COUNT, MPI_INT, comm);
        fault = "this rank's own block of the other buffer";
        SAME(Allgather, (int *)out + kit_rank * COUNT, COUNT, MPI_INT, out, COUNT, MPI_INT, comm);
        SAME(Iallgather, (int *)out + kit_rank, 1, MPI_INT, out, 1, MPI_INT, comm, &request);
        struct kit_buffer *d = device;
        MPI_Allreduce(one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == kit_size, "a sum afterwards is %d", sum);
        for (int i = 0; i < 3; i++)
            MPI_Sendrecv(d[0].base + KIT_GUARD, COUNT, MPI_INT, next, TAG, d[1].base + KIT_GUARD, COUNT, MPI_INT,
                         (kit_rank + kit_size - 1) % kit_size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    buffered();
    CHECK(errors > 100, "only %d errors", errors);
    MPI_Type_free(&open);
    MPI_Type_free(&committed);
    MPI_Op_free(&op);
    MPI_Comm_free(&self);
    for (int i = 0; i < 2; i++) {
        kit_close(&host[i]);
        kit_close(&device[i]);
    }
    return kit_end("wrong_args");
}
