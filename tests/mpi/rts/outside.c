/* After a send has returned, its rank waits for the receiver outside the MPI (in a read of a socket), as a program does
 * that continues with another library. So a message needs no call of its sender after the one that completes the send.
 * Each message comes from an allocation of its own, whose mapping takes long: the MPI carries most of them, by messages
 * that its sender has to serve (OMPI_MCA_btl_vader_single_copy_mechanism=none).
 * A buffered send, and one to the rank itself, wait for no other call: the receiver waits outside the MPI until the
 * send has returned. Arguments: local: these alone. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kit.h"
#include "turns.h"

enum { MOST = 5 << 20, ROUNDS = 2, LATE_MS = 300, SECONDS = 10 };
enum how { SENDRECV, REPLACE, ONE_WAY, NONBLOCKING, PERSISTENT, WAITALL, HOWS };
static const char *const names[HOWS] = {"MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Send",
                                        "MPI_Isend",    "MPI_Send_init",        "MPI_Waitall"};
static const int sizes[] = {3000, 65536, 1000000, MOST};
static unsigned char bytes[MOST];

static const unsigned char *contents(int rank, int n)
{
    for (size_t b = 0; b < MOST; b++)
        bytes[b] = (unsigned char)(b * 7 + b / 1000 + (size_t)n * 13 + (size_t)rank);
    return bytes;
}

static void late(int is)
{
    const struct timespec pause = {.tv_nsec = LATE_MS * 1000000L};
    if (is)
        nanosleep(&pause, NULL);
}

static void send_by(enum how how, void *from, int n)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status[2];
    switch (how) {
    case ONE_WAY:
        MPI_Send(from, n, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
        break;
    case NONBLOCKING:
        MPI_Isend(from, n, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request[0]);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        break;
    case PERSISTENT:
        MPI_Send_init(from, n, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request[0]);
        MPI_Start(&request[0]);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        MPI_Request_free(&request[0]);
        break;
    default:
        MPI_Isend(from, n / 2, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request[0]);
        MPI_Isend((char *)from + n / 2, n - n / 2, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, status);
    }
}

static void receive_by(enum how how, void *to, int n)
{
    if (how != WAITALL) {
        MPI_Recv(to, n, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Recv(to, n / 2, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv((char *)to + n / 2, n - n / 2, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* absent: the receiver, or rank 1, begins late. */
static void one(enum how how, int n, int round, int absent)
{
    struct kit_buffer from, to;
    char what[96];
    int guards;
    snprintf(what, sizeof what, "%s of %d bytes%s", names[how], n, absent ? ", received late" : "");
    kit_open(&from, KIT_DEVICE, (size_t)n);
    kit_open(&to, KIT_DEVICE, (size_t)n);
    void *const out = kit_put(&from, 0, contents(kit_rank, round), (size_t)n);
    void *const in = kit_put(&to, 0, NULL, (size_t)n);
    const int other = 1 - kit_rank, receives = how <= REPLACE || kit_rank == 1;
    late(absent && kit_rank == 1);
    if (how == SENDRECV)
        MPI_Sendrecv(out, n, MPI_BYTE, other, 3, in, n, MPI_BYTE, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (how == REPLACE)
        MPI_Sendrecv_replace(out, n, MPI_BYTE, other, 3, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (kit_rank == 0)
        send_by(how, out, n);
    else
        receive_by(how, in, n);
    kit_turn_give('o');
    kit_turn_take(what, round);
    const char *const got = kit_get(how == REPLACE ? &from : &to, &guards);
    CHECK(!receives || (guards && memcmp(got, contents(how <= REPLACE ? other : 0, round), (size_t)n) == 0),
          "%s: other data", what);
    kit_close(&from);
    kit_close(&to);
}

enum local { BUFFERED, BUFFERED_SELF, NONBLOCKING_SELF, LOCALS };

/* SELF: rank 0 sends to itself, and receives when the send has returned. Nonblocking sends that the MPI makes may wait
 * for their receive, so those here are long. */
static void local(enum local how, int n, int round)
{
    static const char *const texts[LOCALS] = {"MPI_Bsend", "MPI_Bsend to the rank itself",
                                              "MPI_Isend to the rank itself"};
    struct kit_buffer from, to;
    const char *const what = texts[how];
    const int receiver = how == BUFFERED ? 1 : 0;
    int guards;
    kit_open(&from, KIT_DEVICE, (size_t)n);
    kit_open(&to, KIT_DEVICE, (size_t)n);
    void *const out = kit_put(&from, 0, contents(0, round), (size_t)n), *const in = kit_put(&to, 0, NULL, (size_t)n);
    if (kit_rank == 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (how == NONBLOCKING_SELF)
            MPI_Isend(out, n, MPI_BYTE, receiver, 4, MPI_COMM_WORLD, &request);
        else
            MPI_Bsend(out, n, MPI_BYTE, receiver, 4, MPI_COMM_WORLD);
        alarm(SECONDS);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        alarm(0);
        kit_put(&from, 0, NULL, (size_t)n);
        kit_turn_give('b');
    } else {
        kit_turn_take(what, round);
    }
    if (kit_rank == receiver) {
        MPI_Recv(in, n, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(memcmp(kit_get(&to, &guards), contents(0, round), (size_t)n) == 0 && guards, "%s of %d bytes: other data",
              what, n);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    kit_close(&from);
    kit_close(&to);
}

int main(int argc, char **argv)
{
    static char room[2 * MOST];
    int bytes_of_room;
    void *at;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("outside", "it is for two ranks");
    kit_turns_open();
    for (int how = 0; how < HOWS && argc == 1; how++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            for (int round = 0; round < ROUNDS; round++)
                one((enum how)how, sizes[s], round, round % 2);
        }
    }
    MPI_Buffer_attach(room, sizeof room);
    for (int round = 0; round < 2 * LOCALS; round++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            local((enum local)(round % LOCALS), round % LOCALS == NONBLOCKING_SELF ? MOST : sizes[s], round);
    }
    MPI_Buffer_detach(&at, &bytes_of_room);
    kit_turns_close();
    return kit_end("outside");
}
