/* An RTS that arrives again, or late: a rank takes one out behind the library's back, hands it to itself as often as it
 * likes, and receives. The first time the message is there; after that the receive ends with an error, at once, and its
 * buffer is unchanged. What follows is right. Two ranks; arguments: rounds (3). TUTTI_NODE_RANKS=1: of the protocol
 * between nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kit.h"
#include "real_mpi.h"

enum { COUNT = 60000, LONGEST_RTS = 3360, SECONDS = 60, TAG = 7, AGAIN = 9 };
enum way { RECV, IRECV, TEST, PROBE, MPROBE, WAYS };
static const char *const ways[WAYS] = {"MPI_Recv", "MPI_Irecv, MPI_Wait", "MPI_Irecv, MPI_Test", "MPI_Probe, MPI_Recv",
                                       "MPI_Mprobe, MPI_Mrecv"};

static struct kit_buffer in, out;
static int mine[COUNT];

static void fill(int round)
{
    for (int i = 0; i < COUNT; i++)
        mine[i] = round * 1000003 + i;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The library's receive, in one of its forms. */
static int receive(enum way way, int source, int tag, void *to)
{
    MPI_Request request;
    MPI_Message message;
    int error, flag = 0;
    switch (way) {
    case RECV:
        return MPI_Recv(to, COUNT, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    case IRECV:
        error = MPI_Irecv(to, COUNT, MPI_INT, source, tag, MPI_COMM_WORLD, &request);
        return error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
    case TEST:
        error = MPI_Irecv(to, COUNT, MPI_INT, source, tag, MPI_COMM_WORLD, &request);
        while (error == MPI_SUCCESS && !flag)
            error = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        return error;
    case PROBE:
        MPI_Probe(source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return MPI_Recv(to, COUNT, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    default:
        MPI_Mprobe(source, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        return MPI_Mrecv(to, COUNT, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
}

/* What the MPI itself has for this rank: the RTS. Its bytes. */
static int take_out(char *text)
{
    int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    int (*count)(const MPI_Status *, MPI_Datatype, int *);
    MPI_Status status;
    int bytes = 0;
    *(void **)(void *)&recv = real_mpi_function("PMPI_Recv");
    *(void **)(void *)&count = real_mpi_function("PMPI_Get_count");
    int error = recv(text, LONGEST_RTS, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status);
    CHECK(error == MPI_SUCCESS, "no RTS: class %d", kit_class(error));
    count(&status, MPI_BYTE, &bytes);
    CHECK(bytes == 96 || bytes == 480 || bytes == LONGEST_RTS, "an RTS of %d bytes", bytes);
    return bytes;
}

/* Hands the RTS to this rank, and receives. */
static int replay(char *text, int bytes, enum way way, void *to)
{
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*wait)(MPI_Request *, MPI_Status *);
    MPI_Request request;
    *(void **)(void *)&send = real_mpi_function("PMPI_Isend");
    *(void **)(void *)&wait = real_mpi_function("PMPI_Wait");
    send(text, bytes, MPI_BYTE, kit_rank, AGAIN, MPI_COMM_WORLD, &request);
    const int error = receive(way, kit_rank, AGAIN, to);
    wait(&request, MPI_STATUS_IGNORE);
    return error;
}

static void right(const char *what, enum way way, int error)
{
    CHECK(error == MPI_SUCCESS, "%s by %s: class %d", what, ways[way], kit_class(error));
    CHECK(memcmp(kit_get(&in, NULL), mine, sizeof mine) == 0, "%s by %s is wrong", what, ways[way]);
}

static void refused(const char *what, enum way way, char *text, int bytes)
{
    static char before[sizeof mine];
    void *to = kit_put(&in, 0, NULL, sizeof mine);
    char said[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    memcpy(before, kit_get(&in, NULL), sizeof before);
    const double start = now();
    const int error = replay(text, bytes, way, to);
    CHECK(now() - start < SECONDS / 4, "%s by %s: refused after %g s", what, ways[way], now() - start);
    if (!CHECK(error != MPI_SUCCESS, "%s by %s is believed", what, ways[way]))
        return;
    MPI_Error_string(error, said, &length);
    CHECK(strstr(said, "do not match"), "%s by %s: %s", what, ways[way], said);
    CHECK(memcmp(kit_get(&in, NULL), before, sizeof before) == 0, "%s by %s has written", what, ways[way]);
}

static void round_of(int round, enum way way)
{
    static char text[LONGEST_RTS], before[LONGEST_RTS];
    static int bytes_before;
    MPI_Request request = MPI_REQUEST_NULL;
    fill(round * WAYS + (int)way);
    if (kit_rank == 0) {
        MPI_Isend(kit_put(&out, 0, mine, sizeof mine), COUNT, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the send");
    } else {
        const int bytes = take_out(text);
        right("an RTS that came late", way, replay(text, bytes, way, kit_put(&in, 0, NULL, sizeof mine)));
        refused("an RTS that came again", way, text, bytes);
        if (bytes_before)
            refused("an old RTS", way, before, bytes_before);
        memcpy(before, text, sizeof before);
        bytes_before = bytes;
    }
    /* As if nothing had been. */
    fill(-1 - round);
    if (kit_rank == 0)
        MPI_Send(kit_put(&out, 0, mine, sizeof mine), COUNT, MPI_INT, 1, TAG, MPI_COMM_WORLD);
    else
        right("a message after that", way, receive(way, 0, TAG, kit_put(&in, 0, NULL, sizeof mine)));
}

/* Until messages no longer go through the MPI. */
static void open_endpoints(void)
{
    int there = 0;
    for (int turn = 0; turn < 200 && !there; turn++) {
        if (kit_rank == 0)
            MPI_Send(kit_put(&out, 0, mine, sizeof mine), COUNT, MPI_INT, 1, TAG, MPI_COMM_WORLD);
        else
            receive(RECV, 0, TAG, kit_put(&in, 0, NULL, sizeof mine));
        there = kit_rank == 0 && kit_counted("MPI_Send", "accelerated") > 0;
        MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK(there, "all messages go through the MPI");
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int rounds = argc > 1 ? atoi(argv[1]) : 3;
    if (kit_plain || kit_size < 2)
        kit_skip("stale_rts", "needs two ranks, and the library in front");
    alarm(SECONDS); /* a receive that believes an old RTS waits forever */
    kit_open(&in, KIT_DEVICE, sizeof mine);
    kit_open(&out, KIT_DEVICE, sizeof mine);
    open_endpoints();
    for (int round = 0; round < rounds && kit_rank < 2; round++) {
        for (int way = 0; way < WAYS; way++)
            round_of(round, (enum way)way);
    }
    kit_close(&in);
    kit_close(&out);
    return kit_end("stale_rts");
}
