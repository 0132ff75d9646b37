/* No address (NULL) for elements of a predefined type: MPI_ERR_BUFFER, also where the data of the other side lie in
 * device memory. Every receive, the buffers of every operation on a window, packing, collectives. Afterwards the same
 * message is received, and the window holds what it held. Where no buffer is needed, none is asked for. */
#include <dlfcn.h>
#include <string.h>

#include "kit.h"

enum { COUNT = 1 << 15, BYTES = COUNT * (int)sizeof(long), TAG = 5 };

static struct kit_buffer out, in, memory;
static long numbers[COUNT], got[COUNT];

#define REFUSED(name, ...)                                                                                             \
    do {                                                                                                               \
        const int class = kit_class(name(__VA_ARGS__));                                                                \
        CHECK(class == MPI_ERR_BUFFER, #name " without a buffer: error class %d", class);                              \
    } while (0)

/* The calls of MPI 4, which the library supplies. */
static void both(void)
{
    typedef int exchange_call(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
                              MPI_Request *);
    typedef int replace_call(void *, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request *);
    exchange_call *exchange = (exchange_call *)dlsym(RTLD_DEFAULT, "MPI_Isendrecv");
    replace_call *replace = (replace_call *)dlsym(RTLD_DEFAULT, "MPI_Isendrecv_replace");
    MPI_Request request = MPI_REQUEST_NULL;
    long one = 1;
    CHECK(exchange && replace, "the calls of MPI 4 are not there");
    if (!exchange || !replace)
        return;
    REFUSED(exchange, &one, 1, MPI_LONG, 0, TAG + 1, NULL, COUNT, MPI_LONG, 0, TAG, MPI_COMM_WORLD, &request);
    REFUSED(replace, NULL, COUNT, MPI_LONG, 0, TAG + 1, 0, TAG, MPI_COMM_WORLD, &request);
}

static void receives(void)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    long one = 1;
    MPI_Probe(0, TAG, comm, &status);
    REFUSED(MPI_Recv, NULL, COUNT, MPI_LONG, 0, TAG, comm, &status);
    REFUSED(MPI_Irecv, NULL, COUNT, MPI_LONG, 0, TAG, comm, &request);
    REFUSED(MPI_Recv_init, NULL, COUNT, MPI_LONG, 0, TAG, comm, &request);
    REFUSED(MPI_Sendrecv, &one, 1, MPI_LONG, 0, TAG + 1, NULL, COUNT, MPI_LONG, 0, TAG, comm, &status);
#ifndef OPEN_MPI /* 4.1 sends from there */
    REFUSED(MPI_Sendrecv_replace, NULL, COUNT, MPI_LONG, 0, TAG + 1, 0, TAG, comm, &status);
#endif
    both();
    MPI_Mprobe(0, TAG, comm, &message, &status);
    REFUSED(MPI_Mrecv, NULL, COUNT, MPI_LONG, &message, &status);
    REFUSED(MPI_Imrecv, NULL, COUNT, MPI_LONG, &message, &request);
    CHECK(MPI_Mrecv(kit_put(&in, 0, NULL, BYTES), COUNT, MPI_LONG, &message, &status) == MPI_SUCCESS, "MPI_Mrecv");
    memcpy(got, kit_get(&in, NULL), BYTES);
    CHECK(memcmp(got, numbers, BYTES) == 0, "other elements than were sent");
}

static void messages(enum kit_kind kind)
{
    struct kit_buffer from;
    kit_open(&from, kind, BYTES);
    void *const at = kit_put(&from, 0, numbers, BYTES);
    if (kit_rank == 0)
        CHECK(MPI_Ssend(at, COUNT, MPI_LONG, 1, TAG, MPI_COMM_WORLD) == MPI_SUCCESS, "MPI_Ssend");
    else if (kit_rank == 1)
        receives();
    MPI_Barrier(MPI_COMM_WORLD);
    kit_close(&from);
}

/* A packed message without an address; `class` is of the error. Open MPI: MPI_ERR_ARG. */
#define NO_MESSAGE(name, ...)                                                                                          \
    do {                                                                                                               \
        const int class = kit_class(name(__VA_ARGS__));                                                                \
        CHECK(class == MPI_ERR_BUFFER || class == MPI_ERR_ARG, #name " without a message: error class %d", class);     \
    } while (0)

static void packing(void)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    char form[] = "external32";
    int place = 0;
    MPI_Aint far = 0;
    MPI_Datatype empty;
    void *const at = kit_put(&out, 0, numbers, BYTES);
    REFUSED(MPI_Pack, NULL, COUNT, MPI_LONG, at, BYTES, &place, comm);
    REFUSED(MPI_Unpack, at, BYTES, &place, NULL, COUNT, MPI_LONG, comm);
    REFUSED(MPI_Pack_external, form, NULL, 1, MPI_LONG, at, BYTES, &far);
    REFUSED(MPI_Unpack_external, form, at, BYTES, &far, NULL, 1, MPI_LONG);
    NO_MESSAGE(MPI_Pack, at, COUNT, MPI_LONG, NULL, BYTES, &place, comm);
    NO_MESSAGE(MPI_Unpack, NULL, BYTES, &place, at, COUNT, MPI_LONG, comm);
    NO_MESSAGE(MPI_Pack_external, form, at, 1, MPI_LONG, NULL, BYTES, &far);
    NO_MESSAGE(MPI_Unpack_external, form, NULL, BYTES, &far, at, 1, MPI_LONG);
    CHECK(place == 0 && far == 0, "refused calls have moved the position to %d, %ld", place, (long)far);
    MPI_Type_contiguous(0, MPI_LONG, &empty);
    MPI_Type_commit(&empty);
    CHECK(MPI_Pack(NULL, 0, MPI_LONG, at, BYTES, &place, comm) == MPI_SUCCESS, "MPI_Pack of nothing");
    CHECK(MPI_Pack(NULL, 3, empty, at, BYTES, &place, comm) == MPI_SUCCESS, "MPI_Pack of an empty type");
#ifdef OPEN_MPI /* MPICH 4.0 ends */
    CHECK(MPI_Pack_external(form, NULL, 3, empty, at, BYTES, &far) == MPI_SUCCESS,
          "MPI_Pack_external of an empty type");
#endif
    CHECK(place == 0 && far == 0, "nothing has moved the position to %d, %ld", place, (long)far);
    MPI_Type_free(&empty);
    memcpy(got, kit_get(&out, NULL), BYTES);
    CHECK(memcmp(got, numbers, BYTES) == 0, "refused calls have changed the elements");
}

/* Open MPI without the library ends in a crash. */
static void collectives(int count)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    const int nothing[] = {0, 0};
    void *const at = kit_put(&out, 0, numbers, BYTES), *const to = kit_put(&in, 0, NULL, BYTES);
#ifndef OPEN_MPI
    REFUSED(MPI_Allreduce, NULL, to, count, MPI_LONG, MPI_SUM, comm);
    REFUSED(MPI_Allreduce, at, NULL, count, MPI_LONG, MPI_SUM, comm);
    REFUSED(MPI_Bcast, NULL, count, MPI_LONG, 0, comm);
    REFUSED(MPI_Allgather, at, count, MPI_LONG, NULL, count, MPI_LONG, comm);
    REFUSED(MPI_Alltoall, NULL, count, MPI_LONG, to, count, MPI_LONG, comm);
#endif
    const int root = kit_rank == 0;
    CHECK(MPI_Reduce(at, root ? to : NULL, count, MPI_LONG, MPI_SUM, 0, comm) == MPI_SUCCESS, "MPI_Reduce");
    CHECK(MPI_Gather(at, count, MPI_LONG, root ? to : NULL, count, MPI_LONG, 0, comm) == MPI_SUCCESS, "MPI_Gather");
    CHECK(MPI_Scatter(root ? at : NULL, count, MPI_LONG, to, count, MPI_LONG, 0, comm) == MPI_SUCCESS, "MPI_Scatter");
    CHECK(MPI_Alltoallv(NULL, nothing, nothing, MPI_LONG, to, nothing, nothing, MPI_LONG, comm) == MPI_SUCCESS,
          "MPI_Alltoallv of nothing");
    memcpy(got, kit_get(&in, NULL), BYTES);
    CHECK(memcmp(got, numbers + (size_t)kit_rank * (size_t)count, (size_t)count * sizeof *got) == 0,
          "%d elements: other ones than were scattered", count);
}

static void operations(MPI_Win win, int count)
{
    const int to = kit_size - 1 - kit_rank;
    MPI_Request r = MPI_REQUEST_NULL;
    long a = 1, b = 1, c = 1;
    REFUSED(MPI_Put, NULL, count, MPI_LONG, to, 0, count, MPI_LONG, win);
    REFUSED(MPI_Get, NULL, count, MPI_LONG, to, 0, count, MPI_LONG, win);
    REFUSED(MPI_Rput, NULL, count, MPI_LONG, to, 0, count, MPI_LONG, win, &r);
    REFUSED(MPI_Rget, NULL, count, MPI_LONG, to, 0, count, MPI_LONG, win, &r);
    REFUSED(MPI_Accumulate, NULL, count, MPI_LONG, to, 0, count, MPI_LONG, MPI_SUM, win);
    REFUSED(MPI_Raccumulate, NULL, count, MPI_LONG, to, 0, count, MPI_LONG, MPI_SUM, win, &r);
    REFUSED(MPI_Get_accumulate, NULL, 1, MPI_LONG, &a, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win);
    REFUSED(MPI_Get_accumulate, &a, 1, MPI_LONG, NULL, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win);
    REFUSED(MPI_Rget_accumulate, &a, 1, MPI_LONG, NULL, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win, &r);
    REFUSED(MPI_Fetch_and_op, NULL, &a, MPI_LONG, to, 0, MPI_SUM, win);
    REFUSED(MPI_Fetch_and_op, &a, NULL, MPI_LONG, to, 0, MPI_SUM, win);
    REFUSED(MPI_Compare_and_swap, NULL, &b, &c, MPI_LONG, to, 0, win);
    REFUSED(MPI_Compare_and_swap, &a, NULL, &c, MPI_LONG, to, 0, win);
    REFUSED(MPI_Compare_and_swap, &a, &b, NULL, MPI_LONG, to, 0, win);
}

/* What needs no buffer, or finds its elements by a type from MPI_BOTTOM. */
static void right(MPI_Win win)
{
    const int to = kit_size - 1 - kit_rank, ones = 1;
    long read = -1, put = 77 + kit_rank;
    MPI_Aint at;
    MPI_Datatype absolute;
    MPI_Get_address(&put, &at);
    MPI_Type_create_hindexed(1, &ones, &at, MPI_LONG, &absolute);
    MPI_Type_commit(&absolute);
    CHECK(MPI_Put(NULL, 0, MPI_LONG, to, 0, 0, MPI_LONG, win) == MPI_SUCCESS, "MPI_Put of nothing");
    CHECK(MPI_Fetch_and_op(NULL, &read, MPI_LONG, to, 1, MPI_NO_OP, win) == MPI_SUCCESS, "MPI_Fetch_and_op, MPI_NO_OP");
    CHECK(MPI_Put(MPI_BOTTOM, 1, absolute, to, 0, 1, MPI_LONG, win) == MPI_SUCCESS, "MPI_Put from MPI_BOTTOM");
    MPI_Win_fence(0, win);
    CHECK(read == numbers[1], "MPI_NO_OP fetched %ld, not %ld", read, numbers[1]);
    MPI_Type_free(&absolute);
}

static void window(void)
{
    MPI_Win win;
    MPI_Win_create(kit_put(&memory, 0, numbers, BYTES), BYTES, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    operations(win, 1);
    operations(win, COUNT);
    MPI_Win_fence(0, win);
    right(win);
    MPI_Win_free(&win);
    memcpy(got, kit_get(&memory, NULL), BYTES);
    CHECK(got[0] == 77 + kit_size - 1 - kit_rank, "the window begins with %ld", got[0]);
    CHECK(memcmp(got + 1, numbers + 1, BYTES - sizeof *got) == 0, "refused operations have changed the window");
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain)
        kit_skip("no_buffer", "needs the library in front");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < COUNT; i++)
        numbers[i] = 3 * i + 1;
    kit_open(&out, KIT_DEVICE, BYTES);
    kit_open(&in, KIT_DEVICE, BYTES);
    kit_open(&memory, KIT_DEVICE, BYTES);
    kit_open_endpoints(&out, &in, BYTES, TAG + 2);
    messages(KIT_DEVICE);
    messages(KIT_HOST);
    packing();
    collectives(1);
    collectives(COUNT / 2);
    if (kit_makes_windows())
        window();
    kit_close(&out);
    kit_close(&in);
    kit_close(&memory);
    return kit_end("no_buffer");
}
