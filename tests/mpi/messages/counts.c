/* What TUTTI_STATS counts: each case makes a few calls, and the rows that they have added must be exactly those named,
 * with their calls, outcomes, reasons, counts and bytes. Two ranks; messages go from rank 0 to rank 1.
 * Arguments: a name of the cases below; or
 * table: short messages of every kind, and nothing else: the printed table is compared by counts.sh
 * hint BYTES: messages of so many bytes, for the line at MPI_Finalize */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/counters.h"
#include "kit.h"

enum { LONG = 8192, SHORT = 6, TAG = 5, ROWS = 512 };

static struct tutti_counter before[ROWS];
static int known;
static struct kit_buffer device[2], host;

/* ---- rows ---- */

struct row {
    const char *text; /* call|outcome|reason */
    uint64_t count, bytes;
};

static void begin(void)
{
    known = tutti_counters_read(before, ROWS);
}

static const struct tutti_counter *of_before(const char *text)
{
    for (int i = 0; i < known; i++) {
        if (strcmp(before[i].text, text) == 0)
            return &before[i];
    }
    return NULL;
}

/* The rows of MPI calls since begin() are those of `expected`, which ends with a row without text. */
static void expect(const char *name, const struct row *expected)
{
    static struct tutti_counter now[ROWS];
    const int n = tutti_counters_read(now, ROWS);
    int wanted = 0, found = 0;
    while (expected[wanted].text)
        wanted++;
    for (int i = 0; i < n; i++) {
        const struct tutti_counter *old = of_before(now[i].text);
        const uint64_t count = now[i].count - (old ? old->count : 0), bytes = now[i].bytes - (old ? old->bytes : 0);
        const struct row *row = expected;
        if (count == 0 || strncmp(now[i].text, "MPI_", 4) != 0)
            continue;
        while (row->text && strcmp(row->text, now[i].text) != 0)
            row++;
        if (CHECK(row->text != NULL, "%s, rank %d: %s is counted %llu times (%llu bytes), and should not be", name,
                  kit_rank, now[i].text, (unsigned long long)count, (unsigned long long)bytes)) {
            found++;
            CHECK(count == row->count && bytes == row->bytes,
                  "%s, rank %d: %s is counted %llu times with %llu bytes, not %llu with %llu", name, kit_rank,
                  now[i].text, (unsigned long long)count, (unsigned long long)bytes, (unsigned long long)row->count,
                  (unsigned long long)row->bytes);
        }
    }
    CHECK(found == wanted, "%s, rank %d: %d of %d rows are there", name, kit_rank, found, wanted);
}

/* What rank 0 has counted, and rank 1. */
#define EXPECT(name, of_0, of_1) expect(name, kit_rank == 0 ? (const struct row[])of_0 : (const struct row[])of_1)
#define ROWS_OF(...)                                                                                                   \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            NULL, 0, 0                                                                                                 \
        }                                                                                                              \
    }
#define NOTHING                                                                                                        \
    {                                                                                                                  \
        {                                                                                                              \
            NULL, 0, 0                                                                                                 \
        }                                                                                                              \
    }

static void *fresh(struct kit_buffer *b, size_t bytes)
{
    return kit_put(b, 0, NULL, bytes);
}

/* ---- messages ---- */

/* How messages are sent here, and why others are not: by the environment of the test. */
static const char *way = "", *slow = "";

static void blocking(void *buffer, int sent, int received)
{
    if (kit_rank == 0)
        MPI_Send(buffer, sent, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(buffer, received, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void nonblocking(void *buffer, int sent, int received)
{
    MPI_Request request;
    if (kit_rank == 0)
        MPI_Isend(buffer, sent, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(buffer, received, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    for (int flag = 0; kit_rank == 1 && !flag;) { /* looks twice at least, and counts once */
        MPI_Status status;
        if (MPI_Request_get_status(request, &flag, &status) != MPI_SUCCESS)
            break;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void persistent(void *buffer, int bytes, int times)
{
    MPI_Request request;
    if (kit_rank == 0)
        MPI_Send_init(buffer, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    else
        MPI_Recv_init(buffer, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    for (int i = 0; i < times; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

/* The first messages of two ranks may go another way. */
static void meet(void)
{
    for (int i = 0, open = 0; i < 50 && !open; i++) {
        MPI_Sendrecv(fresh(&device[0], LONG), LONG, MPI_BYTE, 1 - kit_rank, TAG, fresh(&device[1], LONG), LONG,
                     MPI_BYTE, 1 - kit_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int mine = kit_counted("MPI_Sendrecv", way) > 0;
        MPI_Allreduce(&mine, &open, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
}

/* A row of a message of `bytes` bytes, sent or received `times` times. */
static struct row row_of(char *text, size_t size, const char *call, const char *outcome, const char *why, int times,
                         int bytes)
{
    snprintf(text, size, "%s|%s|%s", call, outcome, why);
    return (struct row){text, (uint64_t)times, (uint64_t)times * (uint64_t)bytes};
}

/* One row on each rank: of the send on rank 0, of the receive on rank 1. */
static void expect_pair(const char *name, const char *send, const char *receive, int times, int bytes, const char *sent,
                        const char *received)
{
    char text[160];
    const char *why = kit_rank == 0 ? sent : received;
    const char *staged = strcmp(why, way) == 0 || strcmp(why, "fetched from the sender") == 0 ||
                                 strcmp(why, "pipelined from another node") == 0
                             ? "accelerated"
                             : "staged";
    const struct row rows[] = {row_of(text, sizeof text, kit_rank == 0 ? send : receive, staged, why, times, bytes),
                               {NULL, 0, 0}};
    expect(name, rows);
}

static const char longer[] = "message longer than the buffer";

static void near(void)
{
    const char *got = "fetched from the sender";
    way = "packed for the receiver";
    meet();
    begin();
    blocking(fresh(&device[0], LONG), LONG, LONG);
    expect_pair("blocking", "MPI_Send", "MPI_Recv", 1, LONG, way, got);
    begin();
    blocking(fresh(&device[0], LONG), LONG / 2, LONG);
    expect_pair("a message shorter than its buffer", "MPI_Send", "MPI_Recv", 1, LONG / 2, way, got);
    begin();
    nonblocking(fresh(&device[0], LONG), LONG, LONG);
    expect_pair("nonblocking", "MPI_Isend", "MPI_Irecv", 1, LONG, way, got);
    begin();
    blocking(fresh(&device[0], LONG), 0, LONG);
    nonblocking(fresh(&device[0], LONG), 0, LONG);
    expect("messages of 0 bytes", (const struct row[])NOTHING);
    begin();
    persistent(fresh(&device[0], LONG), LONG, 3);
    expect_pair("persistent", "MPI_Send_init", "MPI_Recv_init", 3, LONG, way, got);
    begin();
    MPI_Sendrecv(fresh(&device[0], LONG), LONG, MPI_BYTE, 1 - kit_rank, TAG, fresh(&device[1], LONG), LONG, MPI_BYTE,
                 1 - kit_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("MPI_Sendrecv", (const struct row[])ROWS_OF({"MPI_Sendrecv|accelerated|packed for the receiver", 1, LONG},
                                                       {"MPI_Sendrecv|accelerated|fetched from the sender", 1, LONG}));
    begin();
    MPI_Sendrecv_replace(fresh(&device[0], LONG), LONG, MPI_BYTE, 1 - kit_rank, TAG, 1 - kit_rank, TAG, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    expect("MPI_Sendrecv_replace",
           (const struct row[])ROWS_OF({"MPI_Sendrecv_replace|accelerated|packed for the receiver", 1, LONG},
                                       {"MPI_Sendrecv_replace|accelerated|fetched from the sender", 1, LONG}));
    begin();
    blocking(kit_rank == 0 ? fresh(&host, LONG) : fresh(&device[0], LONG), LONG, LONG);
    EXPECT("from host memory", NOTHING,
           ROWS_OF({"MPI_Recv|staged|sent by the MPI: host memory, or staged by its sender", 1, LONG}));
    for (int i = 0; i < 3; i++) /* until the receiver has mapped what it needs for it */
        blocking(kit_rank == 1 ? fresh(&host, LONG) : fresh(&device[0], LONG), LONG, LONG);
    begin();
    blocking(kit_rank == 1 ? fresh(&host, LONG) : fresh(&device[0], LONG), LONG, LONG);
    expect_pair("into host memory", "MPI_Send", "MPI_Recv", 1, LONG, way, got);
    begin();
    if (kit_rank == 0)
        MPI_Send(fresh(&device[0], LONG), LONG, MPI_PACKED, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(fresh(&device[0], LONG), LONG, MPI_PACKED, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_pair("MPI_PACKED", "MPI_Send", "MPI_Recv", 1, LONG, "MPI_PACKED",
                "sent by the MPI: host memory, or staged by its sender");
    enum { LARGE = 2 << 20 }; /* more than the scratch: in pieces, or from the buffer */
    struct kit_buffer large;
    const uint64_t sent = kit_counted("MPI_Send", "accelerated");
    kit_open(&large, KIT_DEVICE, LARGE);
    blocking(fresh(&large, LARGE), LARGE, LARGE);
    CHECK(kit_counted("MPI_Send", "accelerated") == sent + (kit_rank == 0),
          "a message larger than the scratch is staged");
    kit_close(&large);
}

/* What the ranks of another machine, or the user, leave to the MPI. */
static void all_staged(void)
{
    begin();
    blocking(fresh(&device[0], LONG), LONG, LONG);
    expect_pair("blocking", "MPI_Send", "MPI_Recv", 1, LONG, slow, slow);
    begin();
    nonblocking(fresh(&device[0], LONG), LONG, LONG);
    expect_pair("nonblocking", "MPI_Isend", "MPI_Irecv", 1, LONG, slow, slow);
    begin();
    persistent(fresh(&device[0], LONG), LONG, 3);
    expect_pair("persistent", "MPI_Send_init", "MPI_Recv_init", 3, LONG, slow, slow);
}

static void far(void)
{
    way = "pipelined to another node";
    begin();
    blocking(fresh(&device[0], LONG), LONG, LONG);
    expect_pair("blocking", "MPI_Send", "MPI_Recv", 1, LONG, way, "pipelined from another node");
    begin();
    nonblocking(fresh(&device[0], LONG), LONG, LONG);
    expect_pair("nonblocking", "MPI_Isend", "MPI_Irecv", 1, LONG, way, "pipelined from another node");
    begin();
    persistent(fresh(&device[0], LONG), LONG, 2);
    expect_pair("persistent", "MPI_Send_init", "MPI_Recv_init", 2, LONG, way, "pipelined from another node");
}

static void truncated(void)
{
    const int lengths[] = {LONG, SHORT};
    way = "packed for the receiver";
    meet();
    for (int i = 0; i < 2; i++) {
        const int n = lengths[i];
        char text[160];
        struct row rows[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
        for (int blocks = 0; blocks < 2; blocks++) {
            begin();
            if (blocks)
                blocking(fresh(&device[0], LONG), n, n == LONG ? n - 100 : n - 2);
            else
                nonblocking(fresh(&device[0], LONG), n, n == LONG ? n - 100 : n - 2);
            if (kit_rank == 0)
                rows[0] = row_of(text, sizeof text, blocks ? "MPI_Send" : "MPI_Isend", "accelerated", way, 1, n);
            else
                rows[0] = row_of(text, sizeof text, blocks ? "MPI_Recv" : "MPI_Irecv", "failed", longer, 1, 0);
            expect(blocks ? "a blocking receive that is too short" : "a nonblocking receive that is too short", rows);
        }
    }
}

/* ---- collectives ---- */

static void first_of(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
}

static void collectives(void)
{
    MPI_Request request;
    MPI_Op op;
    MPI_Op_create(first_of, 1, &op);
    way = "packed for the receiver";
    meet();
    for (int i = 0; i < 20 && !kit_counted("MPI_Bcast", "fetched from each other"); i++)
        MPI_Bcast(fresh(&device[0], LONG), LONG, MPI_BYTE, 0, MPI_COMM_WORLD);
    begin();
    MPI_Bcast(fresh(&device[0], LONG), LONG, MPI_BYTE, 0, MPI_COMM_WORLD);
    expect("MPI_Bcast", (const struct row[])ROWS_OF({"MPI_Bcast|accelerated|fetched from each other", 1, LONG}));
    begin();
    MPI_Allgather(fresh(&device[0], LONG / 2), LONG / 2, MPI_BYTE, fresh(&device[1], LONG), LONG / 2, MPI_BYTE,
                  MPI_COMM_WORLD);
    expect("MPI_Allgather",
           (const struct row[])ROWS_OF({"MPI_Allgather|accelerated|fetched from each other", 1, LONG + LONG / 2}));
    begin();
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, fresh(&device[1], LONG), LONG / 2, MPI_BYTE, MPI_COMM_WORLD);
    expect("MPI_Allgather in place",
           (const struct row[])ROWS_OF({"MPI_Allgather|accelerated|fetched from each other", 1, LONG}));
    begin();
    MPI_Bcast(kit_rank == 0 ? fresh(&device[0], LONG) : fresh(&host, LONG), LONG, MPI_BYTE, 0, MPI_COMM_WORLD);
    EXPECT("MPI_Bcast into host memory", ROWS_OF({"MPI_Bcast|staged|host memory on some ranks", 1, LONG}), NOTHING);
    begin();
    MPI_Ibcast(fresh(&device[0], LONG), LONG, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("MPI_Ibcast", (const struct row[])ROWS_OF({"MPI_Ibcast|accelerated|fetched from each other", 1, LONG}));
    begin();
    MPI_Allreduce(fresh(&device[0], LONG), fresh(&device[1], LONG), LONG / 4, MPI_INT, op, MPI_COMM_WORLD);
    expect("a user's operator", (const struct row[])ROWS_OF({"MPI_Allreduce|staged|user-defined operator", 1, LONG}));
    begin();
    MPI_Allreduce(kit_rank == 0 ? fresh(&device[0], LONG) : fresh(&host, LONG), fresh(&device[1], LONG), LONG / 4,
                  MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    EXPECT("MPI_Allreduce of both kinds", ROWS_OF({"MPI_Allreduce|staged|host memory on some ranks", 1, LONG}),
           ROWS_OF({"MPI_Allreduce|staged|one of two buffers in host memory", 1, LONG}));
    begin();
    MPI_Allreduce(fresh(&device[0], LONG), fresh(&device[1], LONG), LONG / 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    expect("MPI_Allreduce", (const struct row[])ROWS_OF({"MPI_Allreduce|accelerated|direct", 1, LONG}));
    MPI_Op_free(&op);
}

/* Rank 0 gathers its own long block and a short one, which the rules leave out. */
static void lengths(void)
{
    static const int counts[2] = {LONG / 2, SHORT}, at[2] = {0, LONG / 2};
    static const char *const names[2] = {"MPI_Gatherv", "MPI_Igatherv"};
    MPI_Request request;
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        char rows[2][80];
        const void *in = fresh(&device[0], LONG / 2);
        void *out = fresh(&device[1], LONG);
        snprintf(rows[0], sizeof rows[0], "%s|staged|no algorithm for the lengths of all ranks", names[nonblocking]);
        snprintf(rows[1], sizeof rows[1], "%s|staged|%s", names[nonblocking], slow);
        MPI_Barrier(MPI_COMM_WORLD);
        begin();
        if (nonblocking) {
            MPI_Igatherv(in, counts[kit_rank], MPI_BYTE, out, counts, at, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Gatherv(in, counts[kit_rank], MPI_BYTE, out, counts, at, MPI_BYTE, 0, MPI_COMM_WORLD);
        }
        EXPECT(names[nonblocking], ROWS_OF({rows[0], 1, LONG + SHORT}), ROWS_OF({rows[1], 1, SHORT}));
    }
}

/* ---- the table, and the hint ---- */

/* Persistent messages of MPI_PROC_NULL: three starts of the first, two of the second, none of the fourth. */
static void nowhere(void *buffer)
{
    MPI_Request requests[5];
    MPI_Status statuses[2];
    int n = -1;
    MPI_Send_init(buffer, SHORT, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(buffer, SHORT, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Ssend_init(buffer, SHORT, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[2]);
    MPI_Bsend_init(buffer, SHORT, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[3]);
    MPI_Rsend_init(buffer, SHORT, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[4]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        MPI_Get_count(&statuses[1], MPI_BYTE, &n);
        CHECK(n == 0, "a persistent receive from MPI_PROC_NULL has received %d bytes", n);
    }
    for (int i = 0; i < 5; i++) {
        int flag = 0;
        if (i == 1 || i == 3)
            continue;
        MPI_Start(&requests[i]);
        while (!flag)
            MPI_Test(&requests[i], &flag, &statuses[0]);
    }
    for (int i = 0; i < 5; i++)
        MPI_Request_free(&requests[i]);
}

static void table(void)
{
    MPI_Request request;
    void *out = fresh(&device[0], SHORT), *in = fresh(&device[1], SHORT);
    const int peer = 1 - kit_rank;
    for (int i = 0; i < 4; i++)
        blocking(out, SHORT, SHORT);
    nonblocking(out, SHORT, SHORT);
    persistent(out, SHORT, 3);
    MPI_Sendrecv(out, SHORT, MPI_BYTE, peer, TAG, in, SHORT, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(out, SHORT, MPI_BYTE, peer, TAG, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, SHORT, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD);
    MPI_Recv(in, SHORT, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(in, SHORT, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(out, SHORT, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    nowhere(out);
    MPI_Send(out, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
    MPI_Recv(in, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void hint(int bytes)
{
    struct kit_buffer large;
    kit_open(&large, KIT_DEVICE, (size_t)bytes);
    for (int i = 0; i < 4; i++)
        blocking(fresh(&large, (size_t)bytes), bytes, bytes);
    kit_close(&large);
}

int main(int argc, char **argv)
{
    const char *what;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    what = argc > 1 ? argv[1] : "near";
    if (kit_plain || kit_size != 2)
        kit_skip("counts", "two ranks with the library");
    kit_open(&device[0], KIT_DEVICE, LONG);
    kit_open(&device[1], KIT_DEVICE, LONG);
    kit_open(&host, KIT_HOST, LONG);
    slow = argc > 2 ? argv[2] : "";
    if (strcmp(what, "near") == 0)
        near();
    else if (strcmp(what, "staged") == 0)
        all_staged();
    else if (strcmp(what, "far") == 0)
        far();
    else if (strcmp(what, "truncated") == 0)
        truncated();
    else if (strcmp(what, "collectives") == 0)
        collectives();
    else if (strcmp(what, "lengths") == 0)
        lengths();
    else if (strcmp(what, "table") == 0)
        table();
    else if (strcmp(what, "hint") == 0)
        hint(argc > 2 ? atoi(argv[2]) : 1 << 20);
    else
        CHECK(0, "no case %s", what);
    kit_close(&device[0]);
    kit_close(&device[1]);
    kit_close(&host);
    return kit_end("counts");
}
