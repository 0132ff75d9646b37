/* Two ranks whose processes take turns on the GPU that they share: messages and windows of them are fetched by copies
 * through pinned memory, which wait for no turn, with a kernel now and then. The argument is 1 if the ranks take
 * turns; otherwise kernels fetch all messages. No message is staged. late: on a device where loading kernels takes
 * longer than a message, engines stand for them at first, and their copies within the GPU take turns too: after one
 * that has waited, copies through pinned memory fetch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#include "kit.h"

enum { MOST = 1 << 20, TIMES = 8, WINDOW = 16, WINDOWS = 8, LENGTH = 64 << 10, LATE = 200, TAG = 6 };
enum form { SEND, ISEND, PERSISTENT, SENDRECV, FORMS };
static const char *const forms[FORMS] = {"MPI_Send", "MPI_Isend", "MPI_Send_init", "MPI_Sendrecv"};
static const int lengths[] = {1, 2, 3, 8, 511, 4097, 24 << 10, (32 << 10) - 1, 32 << 10, (512 << 10) + 1, MOST};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static struct kit_buffer out, in;
static unsigned char data[MOST];
static MPI_Request requests[WINDOW];
static MPI_Status statuses[WINDOW];
static int turns;

static const unsigned char *contents(int rank, int number, int bytes)
{
    for (int b = 0; b < bytes; b++)
        data[b] = (unsigned char)(rank * 151 + number * 29 + b + b / 251);
    return data;
}

static void arrived(int from, int number, int bytes, const char *how)
{
    contents(from, number, bytes);
    CHECK(memcmp(kit_get(&in, NULL), data, (size_t)bytes) == 0, "%s: a message of %d bytes is wrong", how, bytes);
}

/* Fetches of this rank by such copies. */
static int passed(void)
{
    return (int)kit_counted("copies of messages", "through pinned memory");
}

static void send_once(enum form form, const void *at, int bytes, MPI_Request *persistent)
{
    if (form == SEND) {
        MPI_Send(at, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    } else if (form == ISEND) {
        MPI_Isend(at, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
    } else {
        MPI_Start(persistent);
        MPI_Wait(persistent, MPI_STATUS_IGNORE);
    }
}

static void one_form(enum form form, int bytes)
{
    const uint64_t fetched = kit_counted(forms[form], "accelerated");
    const int before = passed();
    MPI_Request persistent = MPI_REQUEST_NULL;
    for (int i = 0; i < TIMES; i++) {
        char *from = kit_put(&out, 0, contents(kit_rank, i, bytes), (size_t)bytes);
        char *into = kit_put(&in, 0, NULL, (size_t)bytes);
        if (form == PERSISTENT && i == 0 && kit_rank == 0)
            MPI_Send_init(from, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &persistent);
        if (form == SENDRECV)
            MPI_Sendrecv(from, bytes, MPI_BYTE, !kit_rank, TAG, into, bytes, MPI_BYTE, !kit_rank, TAG, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        else if (kit_rank == 0)
            send_once(form, from, bytes, &persistent);
        else
            MPI_Recv(into, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (form == SENDRECV || kit_rank == 1)
            arrived(!kit_rank, i, bytes, forms[form]);
    }
    if (persistent != MPI_REQUEST_NULL)
        MPI_Request_free(&persistent);
    const int now = passed() - before, most = (int)(kit_counted(forms[form], "accelerated") - fetched);
    if (kit_rank == 1 || form == SENDRECV)
        CHECK(turns || now == 0, "%s: copies fetched %d of %d messages of %d bytes", forms[form], now, TIMES, bytes);
    if (kit_rank == 0 || form == SENDRECV)
        CHECK(most >= TIMES, "%s: %d of %d messages of %d bytes were fetched", forms[form], most, TIMES, bytes);
}

static void windows(int persistent)
{
    const enum form form = persistent ? PERSISTENT : ISEND;
    const uint64_t fetched = kit_counted(forms[form], "accelerated");
    const int before = passed();
    for (int i = 0; i < WINDOW && persistent; i++) {
        if (kit_rank == 0)
            MPI_Send_init(kit_put(&out, 0, contents(0, 0, LENGTH), LENGTH), LENGTH, MPI_BYTE, 1, i, MPI_COMM_WORLD,
                          &requests[i]);
        else
            MPI_Recv_init(kit_put(&in, 0, NULL, LENGTH), LENGTH, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int w = 0; w < WINDOWS; w++) {
        char *from = kit_put(&out, 0, contents(0, w, LENGTH), LENGTH), *into = kit_put(&in, 0, NULL, LENGTH);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < WINDOW && !persistent; i++) {
            if (kit_rank == 0)
                MPI_Isend(from, LENGTH, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Irecv(into, LENGTH, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
        }
        if (persistent)
            MPI_Startall(WINDOW, requests);
        MPI_Waitall(WINDOW, requests, statuses);
        if (kit_rank == 1)
            arrived(0, w, LENGTH, "window");
    }
    for (int i = 0; i < WINDOW && persistent; i++)
        MPI_Request_free(&requests[i]);
    const int now = passed() - before, most = (int)(kit_counted(forms[form], "accelerated") - fetched);
    CHECK(turns || now == 0, "%s: copies fetched %d of %d messages of windows", forms[form], now, WINDOWS * WINDOW);
    CHECK(kit_rank == 1 || most == WINDOWS * WINDOW, "%s: %d of %d messages of windows were fetched", forms[form], most,
          WINDOWS * WINDOW);
}

static void late(void)
{
    const int before = passed();
    for (int i = 0; i < LATE; i++) {
        if (kit_rank == 0) {
            MPI_Send(kit_put(&out, 0, contents(0, i, LENGTH), LENGTH), LENGTH, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            continue;
        }
        MPI_Recv(kit_put(&in, 0, NULL, LENGTH), LENGTH, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        arrived(0, i, LENGTH, "MPI_Send");
    }
    const int now = passed() - before;
    CHECK(kit_rank == 0 || now > LATE / 2, "copies through pinned memory fetched %d of %d messages", now, LATE);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("turns", "two ranks with the library are needed");
    if (tutti_gpu_count() > 0)
        tutti_gpu_set(kit_rank % tutti_gpu_count());
    const int is_late = argc > 1 && strcmp(argv[1], "late") == 0, most = is_late ? LENGTH : MOST;
    turns = argc > 1 ? is_late || atoi(argv[1]) : 0;
    kit_open(&out, KIT_DEVICE, (size_t)most);
    kit_open(&in, KIT_DEVICE, (size_t)most);
    kit_open_endpoints(&out, &in, most, TAG);
    if (is_late)
        late();
    for (int form = 0; form < FORMS && !is_late; form++) {
        for (int l = 0; l < LENGTHS; l++)
            one_form((enum form)form, lengths[l]);
    }
    for (int persistent = 0; persistent < 2 && !is_late; persistent++)
        windows(persistent);
    /* Which ones depends on when they arrive: a sender packs those that wait for long. p2p.turns has the choice. */
    CHECK(!turns || (is_late && kit_rank == 0) || passed() > 0, "copies have fetched no message");
    kit_close(&out);
    kit_close(&in);
    return kit_end("turns");
}
