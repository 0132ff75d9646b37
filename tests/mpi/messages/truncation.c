/* Messages that are cut by buffers shorter than what Tutti sends in their place, where errors return: the error is
 * MPI_ERR_TRUNCATE, messages as before follow however many were cut, and MPI_Finalize ends. Rank 1 sends, rank 0
 * receives. Argument: how many are cut in each way (more than a rank has letters). `early`: receives of few bytes
 * before any message of device memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

/* LONG: fetched also where ranks take turns on a GPU. MIDDLE: its RTS is as long. */
enum { LONG = 20000, MIDDLE = 300, SHORT = 100, FEW = 4, TAG = 3 };
enum way { RECV, IRECV, MRECV, SENDRECV, TESTALL, PROBED, WAYS };
static const char *const ways[WAYS] = {"MPI_Recv",     "MPI_Irecv",   "MPI_Mrecv",
                                       "MPI_Sendrecv", "MPI_Testall", "MPI_Recv after MPI_Probe"};
static struct kit_buffer out, in;

static const char *contents(int seed, int bytes)
{
    static char data[LONG];
    for (int b = 0; b < bytes; b++)
        data[b] = (char)random_mix(kit_seed + (uint64_t)seed * 1000003 + (uint64_t)b);
    return data;
}

static void whole(int seed, int bytes)
{
    MPI_Status status;
    int guards = 0, count = -1;
    if (kit_rank == 1) {
        MPI_Send(kit_put(&out, 0, contents(seed, bytes), (size_t)bytes), bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        return;
    }
    void *to = kit_put(&in, 0, NULL, (size_t)bytes);
    int code = MPI_Recv(to, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    const char *got = kit_get(&in, &guards);
    CHECK(code == MPI_SUCCESS && count == bytes && guards && memcmp(got, contents(seed, bytes), (size_t)bytes) == 0,
          "message %d of %d bytes: code %d, %d bytes", seed, bytes, code, count);
}

/* plain: the sender's data lie in ordinary memory, so that the MPI itself takes the message to the receiver's buffer.
 */
static void cut(enum way way, int n, int room, int plain)
{
    MPI_Request request[2];
    MPI_Status status, statuses[2];
    MPI_Message message;
    char byte = 0, own = 0;
    int code = MPI_SUCCESS, guards = 0, flag = 0;
    if (kit_rank == 1) {
        const int bytes = n / WAYS % 2 ? MIDDLE : LONG;
        const void *from = contents(n, bytes);
        MPI_Send(plain ? from : kit_put(&out, 0, from, (size_t)bytes), bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        return;
    }
    void *to = kit_put(&in, 0, NULL, (size_t)room);
    switch (way) {
    case IRECV:
        MPI_Irecv(to, room, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[0]);
        code = MPI_Wait(&request[0], &status);
        break;
    case MRECV:
        MPI_Mprobe(1, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        code = MPI_Mrecv(to, room, MPI_BYTE, &message, &status);
        break;
    case SENDRECV:
        MPI_Irecv(&own, 1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request[0]);
        code = MPI_Sendrecv(&byte, 1, MPI_CHAR, 0, TAG, to, room, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &status);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        break;
    case TESTALL:
        MPI_Irecv(&own, 1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request[0]);
        MPI_Irecv(to, room, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[1]);
        MPI_Send(&byte, 1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Testall(2, request, &flag, statuses);
        CHECK(kit_class(code) == MPI_ERR_IN_STATUS && statuses[0].MPI_ERROR == MPI_SUCCESS,
              "MPI_Testall: %d, and the other message %d", code, statuses[0].MPI_ERROR);
        code = statuses[1].MPI_ERROR;
        break;
    case PROBED:
        MPI_Probe(1, TAG, MPI_COMM_WORLD, &status);
        /* fall through */
    default:
        code = MPI_Recv(to, room, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &status);
    }
    CHECK(kit_class(code) == MPI_ERR_TRUNCATE, "%s of a message that is too long: %d", ways[way], code);
    kit_get(&in, &guards);
    CHECK(guards, "%s writes beside its buffer", ways[way]);
}

/* Short messages that fit, and those that do not though they are shorter than a mail. */
static void small(void)
{
    char data[300] = "", got[300] = "";
    MPI_Status status;
    for (int bytes = 0; bytes < 300; bytes += 7) {
        int count = -1;
        memcpy(data, contents(bytes, bytes), (size_t)bytes);
        if (kit_rank == 1) {
            MPI_Send(data, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
            continue;
        }
        memset(got, 77, sizeof got);
        int code = MPI_Recv(got, 250, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        if (bytes <= 250)
            CHECK(code == MPI_SUCCESS && count == bytes && memcmp(got, data, (size_t)bytes) == 0 && got[bytes] == 77,
                  "a message of %d bytes: code %d, %d bytes", bytes, code, count);
        else
            CHECK(kit_class(code) == MPI_ERR_TRUNCATE && got[250] == 77, "a message of %d bytes in a buffer of 250: %d",
                  bytes, code);
    }
}

/* An MPI that writes a message whole must not write over the heap. The process has met a GPU, so that an RTS may come,
 * which is longer than these buffers. Types of MPI and derived ones in turns. */
static void early(int rounds)
{
    enum { OPEN = 8 };
    static char few[OPEN][LONG + FEW]; /* an MPI alone may write so far */
    MPI_Request request[OPEN];
    MPI_Datatype type;
    MPI_Status status;
    for (int round = 0; round < rounds; round++) {
        const int room = 1 + round % 7;
        MPI_Type_contiguous(room, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        for (int i = 0; i < OPEN && kit_rank == 0; i++)
            MPI_Irecv(few[i], round / 7 % 2 ? 1 : room, round / 7 % 2 ? type : MPI_BYTE, 1, TAG + i, MPI_COMM_WORLD,
                      &request[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < OPEN; i++) {
            const int bytes = i % 2 ? LONG : room;
            if (kit_rank == 1) {
                MPI_Send(contents(round, bytes), bytes, MPI_BYTE, 0, TAG + i, MPI_COMM_WORLD);
                continue;
            }
            void *other = malloc(100); /* notices a heap that is destroyed */
            const int code = MPI_Wait(&request[i], &status);
            if (bytes > room)
                CHECK(kit_class(code) == MPI_ERR_TRUNCATE, "round %d, %d of %d bytes: %d", round, room, bytes, code);
            else
                CHECK(code == MPI_SUCCESS && memcmp(few[i], contents(round, room), (size_t)room) == 0,
                      "round %d, %d bytes: %d", round, room, code);
            free(other);
        }
        MPI_Type_free(&type);
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (argc > 1 && strcmp(argv[1], "early") == 0) {
        if (!kit_errors_returned())
            kit_skip("truncation", "this MPI ends the program on its own errors");
        kit_open(&in, KIT_DEVICE, LONG);
        early(42);
        kit_close(&in);
        return kit_end("truncation");
    }
    const int n = argc > 1 ? atoi(argv[1]) : 100;
    kit_open(&out, KIT_DEVICE, LONG);
    kit_open(&in, KIT_DEVICE, LONG);
    if (!kit_errors_returned())
        kit_skip("truncation", "this MPI ends the program on its own errors");
    if (kit_rank < 2) {
        for (int i = 0; i < 4; i++)
            whole(i, LONG);
        small();
        for (int i = 0; i < n; i++)
            cut((enum way)(i % WAYS), i, SHORT, 0);
        for (int i = 0; i < n / 2 && !kit_plain; i++) /* the MPI alone may write over the program's memory */
            cut((enum way)(i % WAYS), i, i / 2 % 2 ? SHORT : FEW, 1);
        const uint64_t before = kit_counted("MPI_Send", "accelerated");
        for (int i = 0; i < 20; i++)
            whole(1000 + i, LONG);
        if (kit_rank == 1)
            CHECK(kit_counted("MPI_Send", "accelerated") == before + 20, "%llu of 20 messages were accelerated",
                  (unsigned long long)(kit_counted("MPI_Send", "accelerated") - before));
    }
    kit_close(&out);
    kit_close(&in);
    return kit_end("truncation");
}
