/* Copies that begin before the call knows which way its message goes: the first message of an allocation. The host
 * device makes such a copy at its end, so a call that does not wait for it sends other bytes.
 *
 * Each allocation's first message is copied so, and the next one if the one before was staged: by blocking,
 * nonblocking and persistent sends, of predefined types. Requests that are open at once have their own bytes.
 * Messages that go another way arrive whole too, and the next ones are copied early again. After a call that the MPI
 * has refused the memory is left to the MPI. Argument `nonblocking`: the program sends in no other way. Argument
 * `packed`: the receiver has mapped the scratch, so that longer messages are packed. Needs TUTTI_STATS=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum {
    BYTES = 4000,
    LONGER = 16000,
    BLOCKING = 20000,
    LONG = 70000,
    TAG = 6,
    FIRST = 60,
    NEW = 15,
    AT_ONCE = 5,
    MOST = 3000
};
static char data[LONG], none[LONG];
static int number;

static void contents(void)
{
    number++;
    for (int i = 0; i < LONG; i++)
        data[i] = (char)(number * 41 + i + i / 253);
}

/* Of nonblocking sends also those that land, which wait for no copy either (mpi/rts/landings.c). */
static long landed(void)
{
    static const char *const calls[] = {"MPI_Isend", "MPI_Issend", "MPI_Send_init", "MPI_Ssend_init"};
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        n += kit_counted(calls[i], "memory that its receiver maps");
    return (long)n;
}
static long copied(void)
{
    return (long)kit_counted("early copies", "before the way") + landed();
}

/* The message arrives whole at rank 1. */
static void receive(int bytes)
{
    memset(none, 0, sizeof none);
    const int error = MPI_Recv(none, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(error == MPI_SUCCESS && memcmp(none, data, (size_t)bytes) == 0, "message %d: class %d, or bytes are wrong",
          number, kit_class(error));
}

static MPI_Datatype element; /* of a byte */

static int isend(const void *from, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    MPI_Request request;
    const int error = MPI_Isend(from, n, type, to, tag, comm, &request);
    return error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
}

static int issend(const void *from, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    MPI_Request request;
    const int error = MPI_Issend(from, n, type, to, tag, comm, &request);
    return error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
}

/* By a persistent request, which may have been started before. */
static int started(MPI_Request *request)
{
    const int error = MPI_Start(request);
    return error == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : error;
}

static int send_init(const void *from, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    MPI_Request request;
    int error = MPI_Send_init(from, n, type, to, tag, comm, &request);
    error = error == MPI_SUCCESS ? started(&request) : error;
    MPI_Request_free(&request);
    return error;
}

typedef int sender(const void *, int, MPI_Datatype, int, int, MPI_Comm);

/* Rank 0 sends from the buffer; returns how many copies of it began early. */
static long message(struct kit_buffer *buffer, int bytes, sender *send)
{
    const long before = copied();
    contents();
    if (kit_rank == 1) {
        receive(bytes);
        return 0;
    }
    const int error = send(kit_put(buffer, 0, data, (size_t)bytes), bytes, element, 1, TAG, MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS, "message %d: class %d", number, kit_class(error));
    return copied() - before;
}

/* Both ranks, of new allocations. */
static long exchange(int bytes)
{
    const long before = copied();
    struct kit_buffer out, in;
    contents();
    kit_open(&out, KIT_DEVICE, LONG);
    kit_open(&in, KIT_DEVICE, LONG);
    char *from = kit_put(&out, 0, data, (size_t)bytes), *to = kit_put(&in, 0, NULL, (size_t)bytes);
    const int error = MPI_Sendrecv(from, bytes, element, 1 - kit_rank, TAG, to, bytes, element, 1 - kit_rank, TAG,
                                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(&in, NULL), data, (size_t)bytes) == 0,
          "exchange %d: class %d, or bytes are wrong", number, kit_class(error));
    kit_close(&out);
    kit_close(&in);
    return copied() - before;
}

static long of_new(int bytes, sender *send)
{
    struct kit_buffer buffer;
    kit_open(&buffer, KIT_DEVICE, LONG);
    const long n = message(&buffer, bytes, send);
    kit_close(&buffer);
    return n;
}

static void first_ones(void)
{
    static sender *const senders[] = {MPI_Send, MPI_Ssend, isend, issend, send_init};
    for (int i = 0; i < NEW; i++) {
        element = i % 3 == 0 ? MPI_CHAR : i % 3 == 1 ? MPI_CHARACTER : MPI_BYTE; /* the second one is not reduced */
        const long n = of_new(i % 2 ? BYTES : LONGER, senders[i % 5]), both = exchange(i % 2 ? LONGER : 8);
        CHECK(n == (kit_rank == 0) && both == 1, "%ld and %ld copies of first messages begin early", n, both);
    }
    element = MPI_BYTE;
}

/* Several first messages before the receiver takes one of them. */
static void open_at_once(int persistent)
{
    struct kit_buffer buffer[AT_ONCE];
    MPI_Request request[AT_ONCE];
    const long before = copied();
    for (int i = 0; i < AT_ONCE; i++) {
        contents();
        kit_open(&buffer[i], KIT_DEVICE, LONG);
        if (kit_rank == 1)
            continue;
        (persistent ? MPI_Send_init : MPI_Isend)(kit_put(&buffer[i], 0, data, LONGER), LONGER,
                                                 i % 2 ? MPI_CHARACTER : MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[i]);
        if (persistent)
            MPI_Start(&request[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    number -= AT_ONCE;
    for (int i = 0; i < AT_ONCE && kit_rank == 1; i++) {
        contents();
        receive(LONGER);
    }
    if (kit_rank == 0) {
        number += AT_ONCE;
        CHECK(MPI_Waitall(AT_ONCE, request, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "Waitall");
        CHECK(copied() == before + AT_ONCE, "%ld of %d copies begin early", copied() - before, AT_ONCE);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        if (persistent && kit_rank == 0)
            MPI_Request_free(&request[i]);
        kit_close(&buffer[i]);
    }
}

/* Each start of a persistent send copies anew. */
static void starts(void)
{
    struct kit_buffer buffer;
    MPI_Request request = MPI_REQUEST_NULL;
    const long before = copied();
    kit_open(&buffer, KIT_DEVICE, LONG);
    if (kit_rank == 0)
        MPI_Send_init(kit_put(&buffer, 0, data, LONGER), LONGER, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    for (int i = 0; i < AT_ONCE; i++) {
        contents();
        if (kit_rank == 1) {
            receive(LONGER);
            continue;
        }
        kit_put(&buffer, 0, data, LONGER);
        CHECK(started(&request) == MPI_SUCCESS, "start %d", i);
    }
    if (kit_rank == 0)
        MPI_Request_free(&request);
    kit_close(&buffer);
    CHECK(copied() - before == (kit_rank ? 0 : AT_ONCE), "%ld of %d copies of starts begin early", copied() - before,
          AT_ONCE);
}

/* Longer ones are copied early by blocking calls alone, once one has been staged. */
static void longer_ones(void)
{
    of_new(BLOCKING, MPI_Send);
    for (int i = 0; i < NEW; i++) {
        const long n = of_new(BLOCKING, i % 3 == 0   ? MPI_Send
                                        : i % 3 == 1 ? isend
                                                     : send_init),
                   both = exchange(BLOCKING);
        CHECK(n == (kit_rank == 0 && i % 3 == 0) && (both == 1 || i == 0), "%ld and %ld longer copies begin early", n,
              both);
    }
}

/* The allocation that was made first is used last. */
static void in_any_order(void)
{
    struct kit_buffer one, other;
    kit_open(&one, KIT_DEVICE, LONG);
    kit_open(&other, KIT_DEVICE, LONG);
    for (int i = 0; i < 8; i++) {
        const long n = message(i % 2 ? &one : &other, BYTES, MPI_Send);
        CHECK(n == (kit_rank == 0), "message %d of two allocations: %ld copies begin early", i, n);
    }
    kit_close(&one);
    kit_close(&other);
}

/* No early copy begins for these sends: a long one, a buffered one, one of no bytes, one to MPI_PROC_NULL, and one of a
 * type that the program has made. */
static void other_ways(void)
{
    struct kit_buffer buffer;
    const long before = copied();
    static char room[LONG + 1000];
    MPI_Datatype half;
    MPI_Buffer_attach(room, sizeof room);
    of_new(LONG, MPI_Send);
    of_new(BYTES, MPI_Bsend);
    int size = 0;
    char *at = room;
    MPI_Buffer_detach(&at, &size);
    of_new(0, MPI_Send);
    kit_open(&buffer, KIT_DEVICE, LONG);
    contents();
    MPI_Send(kit_put(&buffer, 0, data, BYTES), BYTES, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD);
    MPI_Type_vector(BYTES / 8, 4, 8, MPI_BYTE, &half);
    MPI_Type_commit(&half);
    if (kit_rank == 0) {
        MPI_Send(kit_put(&buffer, 0, data, BYTES), 1, half, 1, TAG, MPI_COMM_WORLD);
    } else {
        MPI_Recv(none, BYTES / 2, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        long wrong = 0;
        for (int i = 0; i < BYTES / 2; i++)
            wrong += none[i] != data[i / 4 * 8 + i % 4];
        CHECK(wrong == 0, "%ld elements of a type with gaps are wrong", wrong);
    }
    MPI_Type_free(&half);
    kit_close(&buffer);
    CHECK(copied() == before, "%ld early copies began for sends that use none", copied() - before);
}

/* A message whose call has ended with an error may still be read by the MPI, from the memory of early copies. */
static void refused(void)
{
    struct kit_buffer out;
    if (!kit_errors_returned())
        return;
    kit_open(&out, KIT_DEVICE, LONG);
    contents();
    if (kit_rank == 0) {
        const long before = copied();
        const int error = MPI_Sendrecv(kit_put(&out, 0, data, BYTES), BYTES, MPI_BYTE, 1, TAG, none, 1, MPI_BYTE, 1, -7,
                                       MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(kit_class(error) == MPI_ERR_TAG && copied() == before + 1, "a wrong tag: class %d, %ld copies",
              kit_class(error), copied() - before);
    } else {
        receive(BYTES);
    }
    kit_close(&out);
    for (int i = 0; i < NEW; i++) {
        const long n = of_new(BYTES, MPI_Send);
        CHECK(n == 0, "message %d after a refused call is copied early", i);
    }
}

/* Three messages of a new allocation. burst: rank 0 has receives open beside them. */
static void three_of_new(int burst, long n[3])
{
    struct kit_buffer buffer, in;
    MPI_Request request[2];
    kit_open(&buffer, KIT_DEVICE, LONG);
    kit_open(&in, KIT_DEVICE, LONG);
    char *to = kit_put(&in, 0, NULL, LONG);
    for (int i = 0; i < 2 && burst && kit_rank == 0; i++)
        MPI_Irecv(to + i * BYTES, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[i]);
    for (int i = 0; i < 3; i++)
        n[i] = message(&buffer, LONGER, burst ? isend : MPI_Send);
    for (int i = 0; i < 2 && burst && kit_rank == 1; i++)
        MPI_Send(none, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    if (burst && kit_rank == 0)
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    kit_close(&buffer);
    kit_close(&in);
}

/* Scratch is mapped when messages in a row are packed. Then long messages of new allocations are packed, and shorter
 * ones staged after them as before. Of a burst, shorter ones are packed from the second one on. */
static void beside_packed(void)
{
    int in_a_row = 0;
    long in_vain = 0;
    for (int i = 0; i < MOST && in_a_row < 8; i++) {
        const uint64_t before = kit_counted("MPI_Sendrecv", "packed for the receiver");
        exchange(BLOCKING);
        int here = kit_counted("MPI_Sendrecv", "packed for the receiver") > before, all = 0;
        MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        in_a_row = all ? in_a_row + 1 : 0;
    }
    CHECK(in_a_row == 8, "messages of new allocations are never packed");
    for (int i = 0; i < NEW && in_a_row == 8; i++) {
        long n[3];
        three_of_new(0, n);
        CHECK(n[0] == (kit_rank == 0) && n[2] == (kit_rank == 0),
              "%ld, %ld and %ld copies of single messages begin early", n[0], n[1], n[2]);
        three_of_new(1, n);
        in_vain += n[1];
        CHECK(n[0] == (kit_rank == 0) && in_vain <= 1 && n[2] == 0,
              "%ld, %ld and %ld copies of an allocation's messages begin early", n[0], n[1], n[2]);
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    element = MPI_BYTE;
    if (kit_plain || kit_size != 2)
        kit_skip("ahead", "needs two ranks, and the library in front");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    /* The first stages of a process use memory that is not pinned. */
    const int nonblocking = argc > 1 && strcmp(argv[1], "nonblocking") == 0;
    for (int i = 0; i < FIRST; i++) {
        if (!nonblocking || i == 0) /* both have passed memory of a GPU */
            exchange(8);
        of_new(8, nonblocking ? isend : MPI_Send);
    }
    for (int goes_on = nonblocking; goes_on;) { /* a thread makes what the first one needs that lands */
        of_new(8, isend);
        goes_on = landed() == 0;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (nonblocking)
        open_at_once(0);
    else if (argc > 1 && strcmp(argv[1], "packed") == 0) {
        beside_packed();
    } else {
        first_ones();
        open_at_once(0);
        open_at_once(1);
        starts();
        longer_ones();
        in_any_order();
        other_ways();
        first_ones();
        refused();
    }
    return kit_end("ahead");
}
