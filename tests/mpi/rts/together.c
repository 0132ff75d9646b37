/* Staged messages that one call completes are copied to the GPU together: with one wait, and each to its place.
 * Messages of all lengths, shorter than their buffers too, into device memory of several allocations, with gaps and
 * without, and into host memory, completed by all calls that complete several. Persistent receives too. TUTTI_STATS=1;
 * the rules leave the messages to the MPI. */
#include <stdio.h>
#include <string.h>

#include "kit.h"

enum { TAG = 4, MANY = 70, MOST = 20000, ROUNDS = 40 };
enum { WAITALL, WAITSOME, TESTALL, TESTSOME, STATUS_SOME, CALLS };
static const char *const names[CALLS] = {"MPI_Waitall", "MPI_Waitsome", "MPI_Testall", "MPI_Testsome",
                                         "MPI_Waitall behind MPI_Request_get_status"};
static struct kit_buffer in[MANY];
static unsigned char sent[MANY][MOST], seen[MOST];
static int length[MANY], room[MANY], spaced[MANY];
static MPI_Datatype gaps; /* every second byte */

/* The same numbers on both ranks. */
static unsigned below(unsigned n)
{
    static uint64_t drawn;
    return (unsigned)(random_mix(kit_seed + drawn++) % n);
}

static uint64_t copies(void)
{
    return kit_counted("copies of staged messages", "several messages");
}

static void complete(int call, int n, MPI_Request request[], MPI_Status status[])
{
    static MPI_Status some[MANY];
    int left = n, flag = 0, out, which[MANY];
    if (call == WAITALL) {
        MPI_Waitall(n, request, status);
    } else if (call == TESTALL) {
        while (!flag)
            MPI_Testall(n, request, &flag, status);
    } else if (call == STATUS_SOME) {
        for (int i = 0; i < n; i++) {
            for (flag = 0; !flag;)
                MPI_Request_get_status(request[i], &flag, &status[i]);
        }
        MPI_Waitall(n, request, status);
    } else {
        for (; left > 0; left -= out) {
            if (call == WAITSOME)
                MPI_Waitsome(n, request, &out, which, some);
            else
                MPI_Testsome(n, request, &out, which, some);
            for (int k = 0; k < out; k++)
                status[which[k]] = some[k];
        }
    }
}

static void draw(int round, int n)
{
    static const int lengths[] = {0, 1, 7, 64, 96, 480, 1000, 4096, MOST / 2 - 1};
    for (int i = 0; i < n; i++) {
        length[i] = lengths[below(sizeof lengths / sizeof *lengths)];
        room[i] = length[i] + (int)below(100);
        spaced[i] = below(8) == 0;
        for (int b = 0; b < length[i]; b++)
            sent[i][b] = (unsigned char)(b * 7 + b / 251 + i * 31 + round * 13 + 1);
    }
}

static void check(int i, const MPI_Status *status, const char *what)
{
    int guards, count = -1, fine = 1;
    const unsigned char *const got = (const unsigned char *)kit_get(&in[i], &guards);
    MPI_Get_count(status, MPI_BYTE, &count);
    for (int b = 0; b < length[i] && fine; b++)
        fine = got[spaced[i] ? 2 * b : b] == sent[i][b];
    CHECK(fine, "%s: message %d of %d bytes has wrong contents", what, i, length[i]);
    for (int b = length[i]; b < room[i] && !spaced[i] && fine; b++)
        fine = got[b] == seen[0];
    CHECK(fine && guards, "%s: message %d of %d bytes has overwritten what is behind it", what, i, length[i]);
    CHECK(count == length[i], "%s: message %d has %d bytes, not %d", what, i, count, length[i]);
}

static void exchange(int call, int round, int n, int persistent)
{
    static MPI_Request request[MANY];
    static MPI_Status status[MANY];
    char what[100];
    snprintf(what, sizeof what, "%s%s", names[call], persistent ? " of persistent receives" : "");
    draw(round, n);
    memset(seen, 0xa5, sizeof seen);
    for (int i = 0; i < n && kit_rank == 1; i++) {
        void *const buffer = kit_put(&in[i], 0, seen, (size_t)room[i] * (spaced[i] ? 2 : 1));
        if (persistent)
            MPI_Recv_init(buffer, room[i], spaced[i] ? gaps : MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request[i]);
        else
            MPI_Irecv(buffer, room[i], spaced[i] ? gaps : MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request[i]);
    }
    if (persistent && kit_rank == 1)
        MPI_Startall(n, request);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n && kit_rank == 0; i++)
        MPI_Send(sent[i], length[i], MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    if (kit_rank == 0)
        return;
    complete(call, n, request, status);
    for (int i = 0; i < n; i++) {
        check(i, &status[i], what);
        if (persistent)
            MPI_Request_free(&request[i]);
    }
}

/* How often the messages of one MPI_Waitall are copied. */
static void once(int n, int bytes)
{
    static MPI_Request request[MANY];
    static MPI_Status status[MANY];
    const uint64_t before = copies(), received = kit_counted("MPI_Irecv", "staged");
    for (int i = 0; i < n && kit_rank == 1; i++)
        MPI_Irecv(kit_put(&in[2 * i + 1], 0, NULL, (size_t)bytes), bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                  &request[i]);
    for (int i = 0; i < n && kit_rank == 0; i++)
        MPI_Send(sent[i], bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    if (kit_rank == 1)
        MPI_Waitall(n, request, status);
    CHECK(kit_rank == 0 || kit_plain || copies() == before + 1, "%d messages of one call are copied %d times", n,
          (int)(copies() - before));
    CHECK(kit_rank == 0 || kit_plain || kit_counted("MPI_Irecv", "staged") == received + (uint64_t)n,
          "%d messages of one call are counted %d times", n, (int)(kit_counted("MPI_Irecv", "staged") - received));
}

int main(int argc, char **argv)
{
    MPI_Datatype one;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Type_contiguous(1, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, 2, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Type_free(&one);
    for (int i = 0; i < MANY; i++)
        kit_open(&in[i], i % 2 || i % 5 == 0 ? KIT_DEVICE : KIT_HOST, 2 * MOST);
    for (int round = 0; round < ROUNDS; round++)
        exchange(round % CALLS, round, 1 + (int)below(round % 7 == 0 ? MANY : 12),
                 round / CALLS % 3 == 2 && round % CALLS != STATUS_SOME);
    for (int n = 2; n < 12; n++)
        once(n, 64 * n);
    for (int i = 0; i < MANY; i++)
        kit_close(&in[i]);
    MPI_Type_free(&gaps);
    return kit_end("together");
}
