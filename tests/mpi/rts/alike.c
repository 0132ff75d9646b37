/* Messages like the one before them, and what differs in between: another allocation, an allocation that the program
 * has freed as soon as it could know that its message had ended, receives that are cancelled or too short, messages of
 * host memory. Rank 0 sends to rank 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { WINDOW = 24, ROUNDS = 12, TAG = 3, NEVER = 4, WORD = 5, WARM = 4, LENGTHS = 6, WRONG_TAG = -77 };
enum end { GET_STATUS, REQUEST_FREE, ENDS };
static const int lengths[LENGTHS] = {8, 5, 96, 1, 1024, 20000};
static struct kit_buffer one, two, host;
static int same_address;

static const char *contents(int seed, int bytes)
{
    static char data[20000 + 64];
    for (int b = 0; b < bytes; b++)
        data[b] = (char)random_mix(kit_seed + (uint64_t)seed * 1000003 + (uint64_t)b);
    return data;
}

static void word(int from)
{
    char byte = 0;
    if (kit_rank == from)
        MPI_Send(&byte, 1, MPI_CHAR, 1 - from, WORD, MPI_COMM_WORLD);
    else
        MPI_Recv(&byte, 1, MPI_CHAR, from, WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Messages in turns from two allocations, or from host memory; `much`: bytes more than the receive has room for in the
 * last one, which ends in an error. */
static void window(int round, int bytes, int from_host, int much)
{
    static char all[WINDOW * 20000 + 64];
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];
    for (int i = 0; i < WINDOW; i++)
        memcpy(all + i * bytes, contents(round * WINDOW + i, bytes), (size_t)bytes);
    const size_t room = (size_t)WINDOW * (size_t)bytes;
    char *first = kit_rank == 0 ? kit_put(&one, 0, all, room + 64) : kit_put(&one, 0, NULL, room);
    char *second = kit_rank == 0 ? kit_put(&two, 0, all, room + 64) : kit_put(&two, 0, NULL, room);
    if (kit_rank == 0 && from_host)
        first = second = kit_put(&host, 0, all, room + 64);
    for (int i = 0; i < WINDOW; i++) {
        char *const at = (i % 3 == 2 ? second : first) + i * bytes;
        if (kit_rank == 0)
            MPI_Isend(at, bytes + (i == WINDOW - 1 ? much : 0), MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(at, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]);
    }
    const int error = MPI_Waitall(WINDOW, requests, statuses);
    if (kit_rank == 0)
        return;
    CHECK((error != MPI_SUCCESS) == (much > 0), "round %d, %d bytes: error class %d", round, bytes, kit_class(error));
    for (int k = 0; k < 2; k++) {
        const char *const got = kit_get(k ? &two : &one, NULL);
        for (int i = 0; i < WINDOW - (much > 0); i++) {
            if ((i % 3 == 2) == k)
                CHECK(memcmp(got + i * bytes, contents(round * WINDOW + i, bytes), (size_t)bytes) == 0,
                      "round %d, %d bytes, message %d is wrong", round, bytes, i);
        }
    }
}

/* A receive like those of the windows is cancelled. */
static void cancelled(int bytes)
{
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    if (kit_rank == 0)
        return;
    MPI_Irecv(kit_put(&one, 0, NULL, (size_t)bytes), bytes, MPI_BYTE, 0, NEVER, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag, "a receive of %d bytes is not cancelled", bytes);
}

/* A receive like those of the windows has a tag that no message has. */
static void refused(int bytes)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (kit_rank == 1)
        CHECK(MPI_Irecv(kit_put(&one, 0, NULL, (size_t)bytes), bytes, MPI_BYTE, 0, WRONG_TAG, MPI_COMM_WORLD,
                        &request) != MPI_SUCCESS,
              "a receive of %d bytes with a wrong tag is begun", bytes);
}

/* Receives like those of the windows on another communicator: the error of one that is too short is raised there. */
static MPI_Comm other;
static int raised;
static void raise_on(MPI_Comm *comm, int *code, ...)
{
    raised += *comm == other;
    (void)code;
}
static void elsewhere(int bytes)
{
    MPI_Request request;
    const int before = raised;
    if (kit_rank == 0) {
        MPI_Send(kit_put(&one, 0, contents(bytes, bytes + 40), (size_t)bytes + 40), bytes + 40, MPI_BYTE, 1, TAG,
                 other);
        return;
    }
    MPI_Irecv(kit_put(&one, 0, NULL, (size_t)bytes), bytes, MPI_BYTE, 0, TAG, other, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!getenv("TUTTI_RULES")) /* the MPI may carry it: MPICH 4.0 raises its error on MPI_COMM_WORLD */
        return;
    CHECK(raised == before + 1, "the error of a message for %d bytes is raised %d times where it belongs", bytes,
          raised - before);
}

static void end_by(enum end end, MPI_Request *request)
{
    int flag = 0;
    MPI_Status status;
    while (end == GET_STATUS && !flag)
        MPI_Request_get_status(*request, &flag, &status);
    if (end == REQUEST_FREE)
        MPI_Request_free(request);
}

/* The request of the first message is still there, or was freed, when its allocation is freed and the next one takes
 * its address. frees: the rank whose allocation it is. */
static void freed(int round, int bytes, enum end end, int frees)
{
    struct kit_buffer gone;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    kit_open(&gone, KIT_DEVICE, 20000);
    for (int i = 0; i < WARM; i++) { /* the receiver maps it */
        void *const at = kit_put(&gone, 0, kit_rank == 0 ? contents(i, bytes) : NULL, (size_t)bytes);
        if (kit_rank == 0)
            MPI_Send(at, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        else
            MPI_Recv(at, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int k = 0; k < 2; k++) {
        const int seed = 7000 + round * 2 + k;
        const char *const before = gone.base;
        if (k == 1 && kit_rank == frees) {
            kit_close(&gone);
            kit_open(&gone, KIT_DEVICE, 20000);
            same_address += gone.base == before;
        }
        void *const at = kit_put(&gone, 0, kit_rank == 0 ? contents(seed, bytes) : NULL, (size_t)bytes);
        const enum end by = kit_rank == frees ? end : ENDS;
        if (kit_rank == 0)
            MPI_Isend(at, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[k]);
        else
            MPI_Irecv(at, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[k]);
        if (kit_rank == 1 && by != GET_STATUS)
            MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        end_by(k == 0 && by != REQUEST_FREE ? by : ENDS, &requests[k]);
        if (k == 0 && by == REQUEST_FREE && kit_rank == 0)
            MPI_Request_free(&requests[k]);
        if (k == 1)
            MPI_Waitall(2, requests, statuses);
        if (kit_rank == 1 && (k == 0 || frees == 0 || end == GET_STATUS))
            CHECK(memcmp(kit_get(&gone, NULL), contents(seed, bytes), (size_t)bytes) == 0,
                  "message %d of %d bytes, freed by rank %d, is wrong", k, bytes, frees);
        word(1);
    }
    kit_close(&gone);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    kit_open(&one, KIT_DEVICE, WINDOW * 20000 + 64);
    kit_open(&two, KIT_DEVICE, WINDOW * 20000 + 64);
    kit_open(&host, KIT_HOST, WINDOW * 20000 + 64);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(raise_on, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_errhandler(other, handler);
    for (int round = 0; round < ROUNDS; round++) {
        const int bytes = lengths[round / 2 % LENGTHS];
        window(round, bytes, 0, 0);
        cancelled(bytes);
        window(round, bytes, round % 3 == 2, 0);
        refused(bytes);
        window(round, bytes, 0, 40);
        elsewhere(bytes);
        window(round, bytes, 0, 0);
        freed(round, bytes, GET_STATUS, 0);
        freed(round, bytes, REQUEST_FREE, 0);
        freed(round, bytes, GET_STATUS, 1);
        window(round, bytes, 0, 0);
    }
    printf("rank %d: %d times the same address\n", kit_rank, same_address);
    kit_close(&one);
    kit_close(&two);
    kit_close(&host);
    MPI_Comm_free(&other);
    MPI_Errhandler_free(&handler);
    return kit_end("alike");
}
