/* The first messages of a rank to itself, on a device on which loading kernels and allocating memory takes longer than
 * a message: copy engines make their copies, so that nothing is loaded or allocated, and no peer has to map anything
 * for it. Beside them goes a message to the other rank, which the MPI carries, and the program tests its receives. When
 * the copies have lost as much as the kernels cost, kernels do it. All bytes are compared, also of messages with gaps,
 * of sends that end before their receive begins. Needs
 * TUTTI_STATS=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

enum {
    OWN = 35200,
    BESIDE = 24000,
    TAG = 3,
    ROUNDS = 4, /* fewer than those after which the memory of the other rank is mapped in advance */
    /* Copies by engines have lost as much as loading the kernels takes: 6 us of 2.5 ms each, and each staged message
     * beside 3 us. */
    LOADED_AFTER = 417 - ROUNDS / 2,
    WINDOW = 64,
    MOST = 4000
};
static char data[2][OWN];
static struct kit_buffer out[2], in[2]; /* to itself, to the other rank */
static const int bytes_of[2] = {OWN, BESIDE};

static long engines(void)
{
    return (long)kit_counted("copies of messages", "copy engines, while kernels are not loaded");
}

static long kernels(void)
{
    return (long)kit_counted("packing kernels", "launched");
}

static void contents(int round, int from)
{
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < bytes_of[i]; k++)
            data[i][k] = (char)(round * 31 + from * 7 + i * 3 + k + k / 251);
    }
}

/* n: 1: to itself alone; 2: to the other rank too. */
static void exchange(int round, int n)
{
    MPI_Request request[4];
    char *from[2], *to[2];
    contents(round, kit_rank);
    for (int i = 0; i < n; i++) {
        from[i] = kit_put(&out[i], 0, data[i], (size_t)bytes_of[i]);
        to[i] = kit_put(&in[i], 0, NULL, (size_t)bytes_of[i]);
    }
    for (int i = 0; i < n; i++)
        MPI_Irecv(to[i], bytes_of[i], MPI_BYTE, i ? 1 - kit_rank : kit_rank, TAG, MPI_COMM_WORLD, &request[i]);
    for (int i = 0; i < n; i++)
        MPI_Isend(from[i], bytes_of[i], MPI_BYTE, i ? 1 - kit_rank : kit_rank, TAG, MPI_COMM_WORLD, &request[n + i]);
    for (int i = 0, flag = 0; i < n; i += flag)
        MPI_Test(&request[i], &flag, MPI_STATUS_IGNORE);
    MPI_Waitall(n, request + n, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) {
        contents(round, i ? 1 - kit_rank : kit_rank);
        CHECK(memcmp(kit_get(&in[i], NULL), data[i], (size_t)bytes_of[i]) == 0, "round %d: message %d has other bytes",
              round, i);
    }
}

/* Every second byte. */
static void with_gaps(int round)
{
    MPI_Datatype type;
    MPI_Request request;
    MPI_Type_vector(BESIDE / 2, 1, 2, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    contents(round, kit_rank);
    char *from = kit_put(&out[0], 0, data[0], BESIDE), *to = kit_put(&in[0], 0, NULL, BESIDE);
    MPI_Irecv(to, BESIDE / 2, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(from, 1, type, kit_rank, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const char *got = kit_get(&in[0], NULL);
    int wrong = 0;
    for (int k = 0; k < BESIDE / 2; k++)
        wrong += got[k] != data[0][2 * k];
    CHECK(wrong == 0, "round %d: %d bytes of a message with gaps are wrong", round, wrong);
    MPI_Type_free(&type);
}

/* The send has ended before its receive is there. */
static void receives_later(int round, int blocking)
{
    MPI_Request request;
    contents(round, kit_rank);
    char *from = kit_put(&out[0], 0, data[0], OWN), *to = kit_put(&in[0], 0, NULL, OWN);
    if (blocking) {
        MPI_Send(from, OWN, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD);
    } else {
        MPI_Isend(from, OWN, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    kit_put(&out[0], 0, NULL, OWN);
    MPI_Recv(to, OWN, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(memcmp(kit_get(&in[0], NULL), data[0], OWN) == 0, "round %d: a message that waited has other bytes", round);
}

/* As many messages at once: each loses, not each launch. After a round the thread that loads has a millisecond. */
static void windows(int *round)
{
    char *from = kit_put(&out[0], 0, data[0], OWN);
    static struct kit_buffer all;
    static char got[WINDOW][BESIDE], expected[BESIDE];
    kit_open(&all, KIT_DEVICE, sizeof got);
    for (; *round < LOADED_AFTER && kernels() == 0; ++*round) {
        MPI_Request request[2 * WINDOW];
        contents(*round, kit_rank);
        memcpy(expected, data[0], BESIDE);
        from = kit_put(&out[0], 0, data[0], OWN);
        char *to = kit_put(&all, 0, NULL, sizeof got);
        for (int i = 0; i < WINDOW; i++)
            MPI_Irecv(to + (size_t)i * BESIDE, BESIDE, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &request[i]);
        for (int i = 0; i < WINDOW; i++)
            MPI_Isend(from, BESIDE, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &request[WINDOW + i]);
        MPI_Waitall(2 * WINDOW, request, MPI_STATUSES_IGNORE);
        memcpy(got, kit_get(&all, NULL), sizeof got);
        for (int i = 0; i < WINDOW; i++)
            CHECK(memcmp(got[i], expected, BESIDE) == 0, "round %d: message %d has other bytes", *round, i);
        usleep(1000);
    }
    CHECK(kernels() > 0, "kernels are not loaded after %d windows of %d messages", *round, WINDOW);
    kit_close(&all);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("own", "needs two ranks, and the library in front");
    int round = 0;
    for (int i = 0; i < 2; i++) {
        kit_open(&out[i], KIT_DEVICE, (size_t)bytes_of[i]);
        kit_open(&in[i], KIT_DEVICE, (size_t)bytes_of[i]);
    }
    if (argc > 1 && strcmp(argv[1], "waits") == 0) {
        for (; round < 6; round++)
            receives_later(round, 0);
    } else if (argc > 1 && strcmp(argv[1], "windows") == 0) {
        windows(&round);
    } else if (argc > 1 && strcmp(argv[1], "blocking") == 0) {
        for (; round < 6; round++)
            receives_later(round, 1);
        CHECK(kernels() == 0, "%ld kernels are launched for messages without gaps", kernels());
    } else {
        for (; round < ROUNDS; round++)
            exchange(round, 2);
        CHECK(engines() == ROUNDS, "engines have made %ld copies in %d rounds", engines(), ROUNDS);
        CHECK(kernels() == 0 && kit_counted("scratch for messages", "") == 0 &&
                  kit_counted("memory of other ranks", "") == 0,
              "%ld kernels are launched, scratch is allocated, or memory of the peer mapped", kernels());
        CHECK(kit_counted("MPI_Isend", "allocation not mapped by the receiver yet") >= ROUNDS - 2,
              "not every message to the other rank is staged");
        for (; round < MOST && kernels() == 0; round++)
            exchange(round, 1);
        CHECK(kernels() > 0 && engines() >= LOADED_AFTER, "%ld kernels are launched after %ld copies by engines",
              kernels(), engines());
        const long before = engines();
        for (int i = 0; i < ROUNDS; i++, round++)
            exchange(round, 1);
        CHECK(engines() == before, "engines copy although the kernels are loaded");
    }
    round = 2 * MOST; /* the ranks' kernels were loaded in different rounds */
    for (int i = 0; i < 4; i++, round++)
        with_gaps(round);
    for (int i = 0; i < 2; i++, round++)
        exchange(round, 2);
    for (int i = 0; i < 2; i++) {
        kit_close(&out[i]);
        kit_close(&in[i]);
    }
    return kit_end("own");
}
