/* Messages shorter than an RTS of plain text, and what is no RTS though it looks like one. A rank takes an RTS out
 * behind the library's back: it is as long as its message, or has 8 bytes where that is shorter. The rank hands it to
 * itself: under its tag it is believed once, and otherwise, or changed by a bit, or longer, or shorter, or while
 * another message is on its way, it is treated as a message. Host messages of the same length and tag are received
 * while rendezvous are open. Two ranks; arguments: rounds (2). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"
#include "real_mpi.h"

enum { MOST = 512, SECONDS = 60, TAG = 7, OTHER = 9, READY = 11 };

static struct kit_buffer in[2], out, plain;

static const unsigned char *contents(int seed, int bytes)
{
    static unsigned char data[MOST + 8];
    for (int b = 0; b < bytes; b++)
        data[b] = (unsigned char)random_mix(kit_seed + (uint64_t)seed * 1000003 + (uint64_t)b);
    return data;
}

static int rts_of(int bytes)
{
    return bytes < 8 ? 8 : bytes;
}

/* What the MPI itself has for this rank. */
static void take_out(unsigned char *text, int bytes)
{
    int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    int (*count)(const MPI_Status *, MPI_Datatype, int *);
    MPI_Status status;
    int got = -1;
    *(void **)(void *)&recv = real_mpi_function("PMPI_Recv");
    *(void **)(void *)&count = real_mpi_function("PMPI_Get_count");
    recv(text, MOST, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status);
    count(&status, MPI_BYTE, &got);
    CHECK(got == rts_of(bytes), "the RTS of a message of %d bytes has %d", bytes, got);
}

/* Hands `sent` bytes to this rank behind the library's back, and receives `bytes` by it. */
static void replay_as(const unsigned char *text, int sent, int tag, const unsigned char *expected, int bytes,
                      const char *what)
{
    static int turn;
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*wait)(MPI_Request *, MPI_Status *);
    unsigned char copy[MOST + 8], wanted[MOST + 8];
    struct kit_buffer *to = &in[turn++ % 2];
    MPI_Request request;
    MPI_Status status;
    int count = -1, guards = 0;
    *(void **)(void *)&send = real_mpi_function("PMPI_Isend");
    *(void **)(void *)&wait = real_mpi_function("PMPI_Wait");
    memcpy(copy, text, (size_t)sent);
    memcpy(wanted, expected, (size_t)bytes);
    send(copy, sent, MPI_BYTE, kit_rank, tag, MPI_COMM_WORLD, &request);
    void *at = kit_put(to, (size_t)(turn % 8), NULL, (size_t)bytes);
    const int code = MPI_Recv(at, bytes, MPI_BYTE, kit_rank, tag, MPI_COMM_WORLD, &status);
    wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_BYTE, &count);
    const char *got = kit_get(to, &guards);
    CHECK(code == MPI_SUCCESS && count == bytes && guards && memcmp(got, wanted, (size_t)bytes) == 0,
          "%s, %d bytes: class %d, %d bytes, or other ones", what, bytes, kit_class(code), count);
}

static void replay(const unsigned char *text, int bytes, int tag, const unsigned char *expected, const char *what)
{
    replay_as(text, bytes, tag, expected, bytes, what);
}

/* Nothing of the text may be believed. */
static void imitate(const unsigned char *text, int bytes)
{
    unsigned char other[MOST + 8];
    replay(text, bytes, OTHER, text, "an RTS under another tag");
    for (int b = 0; b < bytes; b += b < 24 ? 1 : 61) {
        memcpy(other, text, (size_t)bytes);
        other[b] ^= (unsigned char)(1 << b % 8);
        replay(other, bytes, TAG, other, "an RTS with another bit");
    }
    memcpy(other, text, (size_t)bytes);
    other[bytes] = 0;
    replay(other, bytes + 1, TAG, other, "an RTS and a byte more");
    replay(other, bytes - 1, TAG, other, "an RTS and a byte less");
}

static void receive(int seed, int bytes, const char *what)
{
    static int turn;
    struct kit_buffer *to = &in[turn++ % 2];
    MPI_Status status;
    int count = -1, guards = 0;
    void *at = kit_put(to, (size_t)(turn % 8), NULL, (size_t)bytes);
    const int code = MPI_Recv(at, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    const char *got = kit_get(to, &guards);
    CHECK(code == MPI_SUCCESS && count == bytes && guards && memcmp(got, contents(seed, bytes), (size_t)bytes) == 0,
          "%s, %d bytes: class %d, %d bytes, or other ones", what, bytes, kit_class(code), count);
}

static void tell(void)
{
    char byte = 0;
    if (kit_rank == 0)
        MPI_Send(&byte, 1, MPI_CHAR, 1, READY, MPI_COMM_WORLD);
    else
        MPI_Recv(&byte, 1, MPI_CHAR, 0, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void round_of(int seed, int bytes)
{
    unsigned char text[MOST + 8] = "", old[MOST + 8];
    MPI_Request request[2];
    if (kit_rank == 0) {
        for (int i = 0; i < 2; i++) {
            MPI_Isend(kit_put(&out, 0, contents(seed + i, bytes), (size_t)bytes), bytes, MPI_BYTE, 1, TAG,
                      MPI_COMM_WORLD, &request[0]);
            tell();
            MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        }
        /* A host message before one of device memory, both there when the first is received. */
        MPI_Isend(kit_put(&plain, 0, contents(seed + 2, bytes), (size_t)bytes), bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
                  &request[0]);
        MPI_Isend(kit_put(&out, 0, contents(seed + 3, bytes), (size_t)bytes), bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
                  &request[1]);
        tell();
        MPI_Wait(&request[1], MPI_STATUS_IGNORE);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        return;
    }
    const int rts = rts_of(bytes);
    take_out(text, bytes);
    CHECK(memcmp(text, contents(seed, bytes), (size_t)bytes) != 0, "%d bytes went through the MPI", bytes);
    tell();
    imitate(text, rts);
    replay_as(text, rts, TAG, contents(seed, bytes), bytes, "an RTS that came late");
    replay(text, rts, TAG, text, "an RTS that came again");
    memcpy(old, text, sizeof old);
    tell();
    replay(old, rts, TAG, old, "an old RTS while another message is on its way");
    receive(seed + 1, bytes, "the other message");
    tell();
    receive(seed + 2, bytes, "a host message");
    receive(seed + 3, bytes, "a message after it");
}

/* Until messages no longer go through the MPI. */
static void open_endpoints(void)
{
    int there = 0;
    for (int turn = 0; turn < 200 && !there; turn++) {
        if (kit_rank == 0)
            MPI_Send(kit_put(&out, 0, contents(turn, 16), 16), 16, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        else
            receive(turn, 16, "a first message");
        if (kit_rank == 1)
            MPI_Recv(kit_put(&in[0], 0, NULL, 16), 16, MPI_BYTE, 1 - kit_rank, OTHER, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        else
            MPI_Send(kit_put(&out, 0, contents(turn, 16), 16), 16, MPI_BYTE, 1, OTHER, MPI_COMM_WORLD);
        there = kit_rank == 0 && kit_counted("MPI_Send", "accelerated") > 1;
        MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK(there, "all messages go through the MPI");
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 63, 64, 200, 479};
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int rounds = argc > 1 ? atoi(argv[1]) : 2;
    if (kit_plain || kit_size < 2)
        kit_skip("short_rts", "needs two ranks, and the library in front");
    alarm(SECONDS);
    kit_open(&in[0], KIT_DEVICE, MOST + 8);
    kit_open(&in[1], KIT_HOST, MOST + 8);
    kit_open(&out, KIT_DEVICE, MOST + 8);
    kit_open(&plain, KIT_HOST, MOST + 8);
    open_endpoints();
    for (int round = 0; round < rounds && kit_rank < 2; round++) {
        for (int i = 0; i < (int)(sizeof lengths / sizeof lengths[0]); i++)
            round_of(1000 * round + 10 * i, lengths[i]);
    }
    kit_close(&in[0]);
    kit_close(&in[1]);
    kit_close(&out);
    kit_close(&plain);
    return kit_end("short_rts");
}
