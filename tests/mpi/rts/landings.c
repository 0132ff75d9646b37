/* Short nonblocking sends of device memory from allocations that are not mapped: the call begins a copy into memory
 * that the receiver maps too, and does not wait for it. They arrive in order with all other messages, and while their
 * sender is in no call. The mapping's price is such that no allocation is mapped; TUTTI_STATS=1. */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "turns.h"

enum { TAG = 5, MOST = 16 << 10, ROUNDS = 40, MANY = 100, MIXED = 6, PLACES = 64, WRONG_TAG = -7 };
enum { ISEND, ISSEND, IRSEND, START, HOWS };
static const char *const names[HOWS] = {"MPI_Isend", "MPI_Issend", "MPI_Irsend", "MPI_Start"};
static const int sizes[] = {1, 8, 95, 96, 1000, 4096, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };
static unsigned char bytes[MOST];
static struct kit_buffer out[MANY], in[2]; /* in: by kind */

static const unsigned char *contents(int n, int size)
{
    for (int b = 0; b < size; b++)
        bytes[b] = (unsigned char)(b * 7 + b / 251 + n * 13 + 1);
    return bytes;
}

static void check(enum kit_kind kind, int n, int size, const char *what)
{
    int guards;
    const char *const got = kit_get(&in[kind], &guards);
    CHECK(memcmp(got, contents(n, size), (size_t)size) == 0, "%s, %d bytes: wrong contents", what, size);
    CHECK(guards, "%s, %d bytes: bytes beside the buffer have changed", what, size);
}

static void receive(enum kit_kind kind, int n, int size, const char *what)
{
    MPI_Recv(kit_put(&in[kind], 0, NULL, (size_t)size), size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(kind, n, size, what);
}

static void begin(int how, void *buffer, int size, MPI_Request *request)
{
    if (how == ISEND)
        MPI_Isend(buffer, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, request);
    else if (how == ISSEND)
        MPI_Issend(buffer, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, request);
    else if (how == IRSEND)
        MPI_Irsend(buffer, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, request);
    else
        MPI_Start(request);
}

static void begin_on(MPI_Comm comm, void *buffer, MPI_Request *request)
{
    MPI_Isend(buffer, 1000, MPI_BYTE, 1, TAG, comm, request);
}

static void sent(MPI_Request *request, int how)
{
    if (how == START)
        MPI_Request_free(request);
}

/* The sender waits outside the MPI until the message has been received. */
static void in_no_call(int how, int size, enum kit_kind kind, int n)
{
    MPI_Request request = MPI_REQUEST_NULL;
    char what[80];
    snprintf(what, sizeof what, "%s, and then no call", names[how]);
    if (kit_rank == 0) {
        void *const buffer = kit_put(&out[n % MANY], 0, contents(n, size), (size_t)size);
        if (how == START)
            MPI_Send_init(buffer, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        if (how == IRSEND)
            kit_turn_take(what, n);
        begin(how, buffer, size, &request);
        kit_turn_take(what, n);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sent(&request, how);
    } else {
        if (how == IRSEND) {
            MPI_Irecv(kit_put(&in[kind], 0, NULL, (size_t)size), size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
            kit_turn_give(1);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            check(kind, n, size, what);
        } else {
            receive(kind, n, size, what);
        }
        kit_turn_give(1);
    }
}

/* Messages of one tag, of device memory and of host memory in turns, and by all calls. */
static void in_order(int round)
{
    static unsigned char host[MIXED][MOST];
    MPI_Request request[MIXED];
    MPI_Status status[MIXED];
    const int size = sizes[round % SIZES];
    for (int i = 0; i < MIXED; i++) {
        const int n = round * MIXED + i;
        if (kit_rank == 1) {
            receive((round + i) % 2 ? KIT_DEVICE : KIT_HOST, n, size, "in order");
            continue;
        }
        request[i] = MPI_REQUEST_NULL;
        if (i % 2 == 0)
            begin(i / 2 % 2 ? ISSEND : ISEND, kit_put(&out[i], 0, contents(n, size), (size_t)size), size, &request[i]);
        else if (i == 1)
            MPI_Send(memcpy(host[i], contents(n, size), (size_t)size), size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        else
            MPI_Isend(memcpy(host[i], contents(n, size), (size_t)size), size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
                      &request[i]);
    }
    if (kit_rank == 0)
        MPI_Waitall(MIXED, request, status);
}

/* More than there are places, and one message after the other. freed: the program frees the requests. */
static void many(int size, int freed)
{
    MPI_Request request[MANY];
    MPI_Status status[MANY];
    for (int i = 0; i < MANY; i++) {
        if (kit_rank == 1) {
            receive(i % 3 ? KIT_DEVICE : KIT_HOST, i, size, freed ? "many, freed" : "many");
            continue;
        }
        begin(ISEND, kit_put(&out[i], 0, contents(i, size), (size_t)size), size, &request[i]);
        if (freed)
            MPI_Request_free(&request[i]);
    }
    if (kit_rank == 0 && !freed)
        MPI_Waitall(MANY, request, status);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The receiver's buffer is too short. */
static void too_long(void)
{
    MPI_Request request;
    int code = MPI_SUCCESS;
    if (kit_rank == 0) {
        begin(ISEND, kit_put(&out[0], 0, contents(1, 4096), 4096), 4096, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        code = MPI_Recv(kit_put(&in[KIT_DEVICE], 0, NULL, 2048), 2048, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE);
        CHECK(kit_class(code) == MPI_ERR_TRUNCATE, "a buffer that is too short: error class %d", kit_class(code));
    }
    in_no_call(ISEND, 1000, KIT_DEVICE, 2);
}

static uint64_t has_landed(void)
{
    return kit_counted("MPI_Isend", "memory that its receiver maps");
}

/* Requests complete before anything is received. More messages than there are places are left to the MPI, whose
 * requests may wait for the receiver. */
static void none_received(void)
{
    const uint64_t before = has_landed(), full = kit_counted("MPI_Isend", "too many messages under way");
    MPI_Request request[MANY];
    MPI_Status status[MANY];
    for (int i = 0; i < MANY && kit_rank == 0; i++) {
        begin(ISEND, kit_put(&out[i], 0, contents(i, 1000), 1000), 1000, &request[i]);
        if (i >= PLACES || kit_plain)
            continue;
        MPI_Wait(&request[i], MPI_STATUS_IGNORE);
        kit_put(&out[i], 0, contents(i + 1, 1000), 1000);
    }
    if (kit_rank == 0)
        kit_turn_give(1);
    else
        kit_turn_take("before a receive", 0);
    for (int i = 0; i < MANY && kit_rank == 1; i++)
        receive(i % 3 ? KIT_DEVICE : KIT_HOST, i, 1000, "received late");
    if (kit_rank == 0)
        MPI_Waitall(MANY, request, status);
    const uint64_t landed = has_landed() - before,
                   others = kit_counted("MPI_Isend", "too many messages under way") - full;
    CHECK(kit_plain || kit_rank != 0 || (landed == PLACES && others == MANY - PLACES),
          "%llu of %d messages have landed, %llu had no place", (unsigned long long)landed, MANY,
          (unsigned long long)others);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A send whose message has landed completes as sent. */
static void cancelled(void)
{
    MPI_Request request;
    MPI_Status status;
    int is = 0;
    if (kit_rank == 1) {
        kit_turn_take("MPI_Cancel", 0);
        receive(KIT_DEVICE, 7, 1000, "cancelled too late");
        return;
    }
    begin(ISEND, kit_put(&out[0], 0, contents(7, 1000), 1000), 1000, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &is);
    CHECK(kit_plain || !is, "a message that lands is cancelled");
    if (is) /* by the MPI alone */
        MPI_Send(kit_put(&out[0], 0, contents(7, 1000), 1000), 1000, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    kit_turn_give(1);
}

/* The communicator is freed before the message is received, and another message is never received. */
static void comm_freed(void)
{
    MPI_Comm dup;
    MPI_Request request, lost;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    if (kit_rank == 1) {
        MPI_Irecv(kit_put(&in[KIT_DEVICE], 0, NULL, 1000), 1000, MPI_BYTE, 0, TAG, dup, &request);
        MPI_Comm_free(&dup);
        kit_turn_give(1);
        kit_turn_take("MPI_Comm_free", 0);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(KIT_DEVICE, 3, 1000, "freed communicator");
        return;
    }
    begin_on(dup, kit_put(&out[0], 0, contents(3, 1000), 1000), &request);
    begin_on(dup, kit_put(&out[1], 0, contents(4, 1000), 1000), &lost);
    MPI_Comm_free(&dup);
    kit_turn_take("MPI_Comm_free", 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&lost, MPI_STATUS_IGNORE);
    kit_turn_give(1);
}

/* The MPI refuses the RTS; the place serves the next message. */
static void refused(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < PLACES + 1 && kit_rank == 0; i++) {
        const int code = MPI_Isend(kit_put(&out[0], 0, contents(i, 1000), 1000), 1000, MPI_BYTE, 1, WRONG_TAG,
                                   MPI_COMM_WORLD, &request);
        CHECK(kit_class(code) == MPI_ERR_TAG, "a tag that is none: error class %d", kit_class(code));
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    const uint64_t before = has_landed();
    in_no_call(ISEND, 1000, KIT_DEVICE, 5);
    CHECK(kit_plain || kit_rank != 0 || has_landed() == before + 1, "no message lands after refused ones");
}

/* Until a message lands: a thread of the sender makes what is necessary. */
static void warm(void)
{
    int goes_on = 1;
    for (int n = 0; goes_on; n++) {
        in_no_call(ISEND, 1000, KIT_DEVICE, n);
        goes_on = kit_plain ? 0 : has_landed() == 0;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

/* Where ranks take turns on the GPU, or the rules do not name it, nothing lands, and the statistics say why. */
static int none_land(const char *why)
{
    for (int i = 0; i < MANY; i++)
        in_order(i);
    const uint64_t staged = kit_counted("MPI_Isend", why);
    CHECK(kit_plain || kit_rank != 0 || (has_landed() == 0 && staged > 0), "%llu messages land, %llu are staged: %s",
          (unsigned long long)has_landed(), (unsigned long long)staged, why);
    return kit_end("landings");
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    for (int i = 0; i < MANY; i++)
        kit_open(&out[i], KIT_DEVICE, MOST);
    kit_open(&in[KIT_HOST], KIT_HOST, MOST);
    kit_open(&in[KIT_DEVICE], KIT_DEVICE, MOST);
    kit_put(&in[KIT_DEVICE], 0, NULL, 1);
    if (argc > 1)
        return none_land(argv[1]);
    kit_turns_open();
    MPI_Sendrecv(kit_put(&out[0], 0, NULL, 1), 1, MPI_BYTE, kit_rank ^ 1, TAG, kit_put(&in[KIT_DEVICE], 0, NULL, 1), 1,
                 MPI_BYTE, kit_rank ^ 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* both meet their GPU */
    warm();
    const uint64_t before = has_landed();
    int n = 0;
    for (int how = 0; how < HOWS; how++) {
        for (int s = 0; s < SIZES && how != ISSEND; s++) { /* MPICH's waits for the sender */
            in_no_call(how, sizes[s], KIT_DEVICE, n++);
            in_no_call(how, sizes[s], KIT_HOST, n++);
        }
    }
    const uint64_t landed = has_landed() - before;
    CHECK(kit_rank != 0 || kit_plain || landed == 2 * SIZES, "%llu of %d messages have landed",
          (unsigned long long)landed, 2 * SIZES);
    for (int round = 0; round < ROUNDS; round++)
        in_order(round);
    for (int s = 0; s < SIZES; s++) {
        many(sizes[s], 0);
        many(sizes[s], 1);
    }
    none_received();
    cancelled();
    too_long();
    refused();
    comm_freed();
    in_no_call(ISEND, 1000, KIT_DEVICE, 4);
    kit_turns_close();
    for (int i = 0; i < MANY; i++)
        kit_close(&out[i]);
    kit_close(&in[KIT_HOST]);
    kit_close(&in[KIT_DEVICE]);
    return kit_end("landings");
}
