/* No address (NULL) for elements of a predefined type: MPI_ERR_BUFFER, also where the data of the other side lie in
 * device memory. Every receive, and the buffers of every operation on a window. Afterwards the same message is
 * received, and the window holds what it held. */
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
    for (int i = 0; i < COUNT; i++)
        numbers[i] = 3 * i + 1;
    kit_open(&out, KIT_DEVICE, BYTES);
    kit_open(&in, KIT_DEVICE, BYTES);
    kit_open(&memory, KIT_DEVICE, BYTES);
    kit_open_endpoints(&out, &in, BYTES, TAG + 2);
    messages(KIT_DEVICE);
    messages(KIT_HOST);
    if (kit_makes_windows())
        window();
    kit_close(&out);
    kit_close(&in);
    kit_close(&memory);
    return kit_end("no_buffer");
}
