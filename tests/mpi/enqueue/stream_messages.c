/* Messages in stream order.
 *
 *   stream_messages PART
 *
 * basics          a ping-pong without a synchronisation, all sizes, halos, tags out of order, self
 * types           elements with gaps
 * progress        what a message started earlier must not wait for
 * any             random programs of receives from any source or with any tag
 * groups          `programs` and `any` with messages that are launched together
 * programs        random programs of messages of all kinds, forwarded, waited for late, mixed with reductions;
 *                 TUTTI_TEST_PROGRAMS: how many (40)
 * errors          what is refused
 * truncated       a message longer than its receive is reported
 * truncated_long  the same of a message that takes many chunks
 *
 * stream_messages_programs.c has the random programs. */
#include "stream_messages.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tutti/tutti.h"

static struct messages m;

/* Bytes of message `number`. */
static void contents(unsigned number, unsigned char *out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)(number * 37 + i * 11 + (i >> 8));
}

static void put_contents(char *device, unsigned number, size_t bytes)
{
    unsigned char *host = malloc(bytes + 1);
    contents(number, host, bytes);
    CHECK(tutti_copy(device, host, bytes) == 0, "contents");
    free(host);
}

static void check_contents(const char *device, unsigned number, size_t bytes, const char *what)
{
    unsigned char *want = malloc(bytes + 1), *got = malloc(bytes + 1);
    contents(number, want, bytes);
    CHECK(tutti_copy(got, device, bytes) == 0, "contents");
    CHECK(memcmp(want, got, bytes) == 0, "%s: message %u of %zu bytes is wrong", what, number, bytes);
    free(want);
    free(got);
}

static void sync_stream(void)
{
    CHECK(tutti_stream_sync(m.stream) == 0, "the stream");
}

/* ---- basics ---- */

/* Ranks 0 and 1 hand a growing number to and fro; nothing is waited for on the host. */
static void ping_pong(void)
{
    enum { ROUNDS = 400 };
    const int other = kit_rank ^ 1;
    if (other >= kit_size || kit_rank > 1)
        return;
    put_contents(m.memory, kit_rank == 0 ? 5 : 99, 300);
    for (int i = 0; i < ROUNDS; i++) {
        if ((i + kit_rank) % 2 == 0)
            FINE(MPIX_Send_enqueue(m.memory, 300, MPI_BYTE, other, 3, m.comm));
        else
            FINE(MPIX_Recv_enqueue(m.memory, 300, MPI_BYTE, other, 3, m.comm, MPI_STATUS_IGNORE));
    }
    sync_stream();
    check_contents(m.memory, 5, 300, "ping-pong");
}

/* Short messages end at the sender before the receiver has come; long ones go through the ring again and again. */
static void sizes(void)
{
    static const size_t bytes[] = {0,
                                   1,
                                   7,
                                   8,
                                   15,
                                   16,
                                   17,
                                   2039,
                                   2040,
                                   2041,
                                   2043,
                                   2044,
                                   2045,
                                   4096,
                                   8192,
                                   8193,
                                   16384,
                                   16385,
                                   32767,
                                   32768,
                                   32769,
                                   65536,
                                   100001,
                                   512 << 10,
                                   (512 << 10) + 1,
                                   1 << 20,
                                   (1 << 20) + 1,
                                   (1 << 21) - 3,
                                   (1 << 21) + 1,
                                   (4 << 20) + 1,
                                   9 << 20,
                                   7000003};
    const int to = (kit_rank + 1) % kit_size, from = (kit_rank + kit_size - 1) % kit_size;
    for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        const size_t n = bytes[i], shift = i % 5;
        char *const out = m.memory + shift, *const in = m.memory + MESSAGES_MOST + (i % 3);
        put_contents(out, 100 * (unsigned)kit_rank + i, n);
        put_contents(in, 7, n + 8);
        const int tag = i % 2 ? 7 : 8;
        unsigned char *const host = malloc(n + 1); /* sends of memory of the host, too */
        contents(100 * (unsigned)kit_rank + i, host, n);
        const int first = kit_size % 2 == 0 ? kit_rank % 2 == 0 : kit_rank > 0; /* somebody sends, somebody receives */
        if (first)
            FINE(MPIX_Send_enqueue(i % 3 == 2 ? (char *)host : out, (int)n, MPI_BYTE, to, tag, m.comm));
        FINE(MPIX_Recv_enqueue(in, (int)n + 4, MPI_BYTE, from, tag, m.comm, MPI_STATUS_IGNORE));
        if (!first)
            FINE(MPIX_Send_enqueue_c(i % 3 == 0 ? (char *)host : out, (MPI_Count)n, MPI_BYTE, to, tag, m.comm));
        sync_stream();
        free(host);
        check_contents(in, 100 * (unsigned)from + i, n, "sizes");
        unsigned char *want = malloc(n + 8), behind[8];
        contents(7, want, n + 8);
        CHECK(tutti_copy(behind, in + n, 8) == 0 && memcmp(behind, want + n, 8) == 0, "%zu bytes: more were stored", n);
        free(want);
    }
}

/* All send to both neighbours at once, more than any ring holds. */
static void halo(void)
{
    const int right = (kit_rank + 1) % kit_size, left = (kit_rank + kit_size - 1) % kit_size;
    for (int round = 0; round < 12; round++) {
        const size_t n = round % 4 == 3 ? 9 << 20 : round % 4 == 2 ? 70000 : 800;
        char *const at = m.memory;
        MPI_Request request[4];
        for (unsigned side = 0; side < 2; side++)
            put_contents(at + side * (10 << 20), (unsigned)(round * 100 + kit_rank * 2) + side, n);
        FINE(MPIX_Irecv_enqueue(at + (20 << 20), (int)n, MPI_BYTE, left, 0, m.comm, &request[0]));
        FINE(MPIX_Irecv_enqueue(at + (30 << 20), (int)n, MPI_BYTE, right, 1, m.comm, &request[1]));
        FINE(MPIX_Isend_enqueue(at, (int)n, MPI_BYTE, right, 0, m.comm, &request[2]));
        FINE(MPIX_Isend_enqueue(at + (10 << 20), (int)n, MPI_BYTE, left, 1, m.comm, &request[3]));
        FINE(MPIX_Waitall_enqueue(4, request, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 4; i++)
            CHECK(request[i] == MPI_REQUEST_NULL, "a request is left");
        sync_stream();
        check_contents(at + (20 << 20), (unsigned)(round * 100 + left * 2), n, "halo");
        check_contents(at + (30 << 20), (unsigned)(round * 100 + right * 2) + 1, n, "halo");
    }
}

/* Tags are received in another order than they were sent. */
static void tags(void)
{
    enum { TAGS = 20, BYTES = 3000 };
    const int to = (kit_rank + 1) % kit_size, from = (kit_rank + kit_size - 1) % kit_size;
    for (unsigned i = 0; i < TAGS; i++)
        put_contents(m.memory + i * BYTES, i + 1000 * (unsigned)kit_rank, BYTES);
    for (int i = 0; i < TAGS; i++)
        FINE(MPIX_Send_enqueue(m.memory + i * BYTES, BYTES, MPI_BYTE, to, 1000 + i / 2, m.comm));
    for (int i = TAGS / 2; i-- > 0;) {
        for (int j = 0; j < 2; j++)
            FINE(MPIX_Recv_enqueue(m.memory + MESSAGES_MOST + (2 * i + j) * BYTES, BYTES, MPI_BYTE, from, 1000 + i,
                                   m.comm, MPI_STATUS_IGNORE));
    }
    sync_stream();
    for (unsigned i = 0; i < TAGS; i++)
        check_contents(m.memory + MESSAGES_MOST + i * BYTES, i + 1000 * (unsigned)from, BYTES, "tags out of order");
}

/* Each round has tags of its own, far more than there are lanes. Some are received late, and rounds overlap: hosts
 * meet, so that no rank uses 64 tags before its neighbour has received some, and streams do not. */
static void many_tags(void)
{
    enum { ROUNDS = 60, TAGS = 12, BYTES = 5000, HALF = 2 * TAGS * BYTES };
    const int to = (kit_rank + 1) % kit_size, from = (kit_rank + kit_size - 1) % kit_size;
    char *const in = m.memory + MESSAGES_MOST;
    for (int round = 0; round < ROUNDS; round++) {
        const int first = round % 7 == 6 ? 3 * TAGS : round * TAGS;
        char *const out = m.memory + round % 2 * HALF;
        if (round % 2)
            MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < TAGS; i++)
            put_contents(out + i * BYTES, (unsigned)(round * TAGS + i + 1000 * kit_rank), BYTES);
        MPI_Request request[TAGS];
        for (int i = 0; i < TAGS; i++)
            FINE(
                MPIX_Isend_enqueue(out + i * BYTES, i % 3 ? BYTES : 100, MPI_BYTE, to, first + i, m.comm, &request[i]));
        for (int i = TAGS; i-- > 0;)
            FINE(MPIX_Recv_enqueue(in + i * BYTES, BYTES, MPI_BYTE, from, first + i, m.comm, MPI_STATUS_IGNORE));
        FINE(MPIX_Waitall_enqueue(TAGS, request, MPI_STATUSES_IGNORE));
        if (round % 5)
            continue;
        sync_stream();
        for (int i = 0; i < TAGS; i++)
            check_contents(in + i * BYTES, (unsigned)(round * TAGS + i + 1000 * from), i % 3 ? BYTES : 100,
                           "many tags");
    }
    sync_stream();
}

static void to_itself(void)
{
    enum { LONG = 9 << 20 };
    MPI_Request request[2];
    put_contents(m.memory, 3, LONG);
    FINE(MPIX_Send_enqueue(m.memory, 1000, MPI_BYTE, kit_rank, 0, m.comm)); /* fits into the ring */
    FINE(MPIX_Recv_enqueue(m.memory + MESSAGES_MOST, 1000, MPI_BYTE, kit_rank, 0, m.comm, MPI_STATUS_IGNORE));
    FINE(MPIX_Isend_enqueue(m.memory, LONG, MPI_BYTE, kit_rank, 0, m.comm, &request[0]));
    FINE(MPIX_Irecv_enqueue(m.memory + MESSAGES_MOST, LONG, MPI_BYTE, kit_rank, 0, m.comm, &request[1]));
    FINE(MPIX_Waitall_enqueue(2, request, MPI_STATUSES_IGNORE));
    sync_stream();
    check_contents(m.memory + MESSAGES_MOST, 3, LONG, "to itself");
    put_contents(m.memory, 4, LONG);
    FINE(MPIX_Isend_enqueue(m.memory, LONG, MPI_BYTE, kit_rank, 0, m.comm, &request[0]));
    FINE(MPIX_Recv_enqueue(m.memory + MESSAGES_MOST, LONG, MPI_BYTE, kit_rank, 0, m.comm, MPI_STATUS_IGNORE));
    FINE(MPIX_Wait_enqueue(&request[0], MPI_STATUS_IGNORE));
    sync_stream();
    check_contents(m.memory + MESSAGES_MOST, 4, LONG, "to itself");
}

/* More short messages than a lane has places for, before the first is received. */
static void burst(void)
{
    enum { MANY = 50, SOME = 900 };
    const int next = (kit_rank + 1) % kit_size, last = (kit_rank + kit_size - 1) % kit_size;
    MPI_Request request[MANY];
    for (int i = 0; i < MANY; i++) {
        put_contents(m.memory + i * SOME, (unsigned)(i + kit_rank * 100), SOME);
        FINE(MPIX_Isend_enqueue(m.memory + i * SOME, i * SOME / MANY, MPI_BYTE, next, 3, m.comm, &request[i]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(20000);
    for (int i = 0; i < MANY; i++)
        FINE(MPIX_Recv_enqueue(m.memory + MESSAGES_MOST + i * SOME + i % 5, SOME, MPI_BYTE, last, 3, m.comm,
                               MPI_STATUS_IGNORE));
    FINE(MPIX_Waitall_enqueue(MANY, request, MPI_STATUSES_IGNORE));
    sync_stream();
    for (int i = 0; i < MANY; i++)
        check_contents(m.memory + MESSAGES_MOST + i * SOME + i % 5, (unsigned)(i + last * 100),
                       (size_t)(i * SOME / MANY), "a burst");
}

static void basics(void)
{
    messages_into_host(&m);
    burst();
    ping_pong();
    MPI_Barrier(MPI_COMM_WORLD);
    sizes();
    halo();
    tags();
    many_tags();
    to_itself();
}

/* ---- progress ---- */

enum { LONG_ONE = 10 << 20, SHORT_ONE = 2000 };

/* The peer has the whole message though this rank's stream makes no further call of MPI until then. */
static void without_a_wait(int sender)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int pair = kit_rank < 2, sends = kit_rank == sender;
    alarm(60);
    if (pair && sends) {
        put_contents(m.memory, 21, LONG_ONE);
        FINE(MPIX_Isend_enqueue(m.memory, LONG_ONE, MPI_BYTE, !sender, 4, m.comm, &request));
    } else if (pair) {
        FINE(MPIX_Recv_enqueue(m.memory, LONG_ONE, MPI_BYTE, sender, 4, m.comm, MPI_STATUS_IGNORE));
        sync_stream();
        check_contents(m.memory, 21, LONG_ONE, "before the sender waits");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    FINE(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    sync_stream();
    alarm(0);
}

/* A wait for the second request must not wait for the first one, whose peer needs what comes behind the wait. */
static void second_first(void)
{
    MPI_Request first, second;
    char *const in = m.memory + MESSAGES_MOST;
    alarm(60);
    if (kit_rank == 0) {
        put_contents(m.memory, 31, LONG_ONE);
        FINE(MPIX_Irecv_enqueue(in, LONG_ONE, MPI_BYTE, 1, 5, m.comm, &first));
        FINE(MPIX_Isend_enqueue(m.memory, LONG_ONE, MPI_BYTE, 1, 6, m.comm, &second));
        FINE(MPIX_Wait_enqueue(&second, MPI_STATUS_IGNORE));
        FINE(MPIX_Send_enqueue(m.memory, SHORT_ONE, MPI_BYTE, 1, 7, m.comm));
        FINE(MPIX_Wait_enqueue(&first, MPI_STATUS_IGNORE));
        sync_stream();
        check_contents(in, 31, LONG_ONE, "waited for last");
    } else if (kit_rank == 1) {
        FINE(MPIX_Recv_enqueue(in, LONG_ONE, MPI_BYTE, 0, 6, m.comm, MPI_STATUS_IGNORE));
        FINE(MPIX_Recv_enqueue(m.memory, SHORT_ONE, MPI_BYTE, 0, 7, m.comm, MPI_STATUS_IGNORE));
        FINE(MPIX_Send_enqueue(in, LONG_ONE, MPI_BYTE, 0, 5, m.comm));
        sync_stream();
    }
    alarm(0);
}

/* Blocking receives of both ranks behind sends that were started: each needs the other's to make progress. */
static void behind_started(void)
{
    MPI_Request request;
    const int other = kit_rank ^ 1;
    if (kit_rank > 1 || other >= kit_size)
        return;
    alarm(60);
    put_contents(m.memory, 40 + (unsigned)kit_rank, LONG_ONE);
    FINE(MPIX_Isend_enqueue(m.memory, LONG_ONE, MPI_BYTE, other, 8, m.comm, &request));
    FINE(MPIX_Recv_enqueue(m.memory + MESSAGES_MOST, LONG_ONE, MPI_BYTE, other, 8, m.comm, MPI_STATUS_IGNORE));
    FINE(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    sync_stream();
    alarm(0);
    check_contents(m.memory + MESSAGES_MOST, 40 + (unsigned)other, LONG_ONE, "behind a send that was started");
}

/* What is in another communicator's calls in the same stream comes between a start and its wait. */
static void between(void)
{
    MPI_Comm second = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    char *const in = m.memory + MESSAGES_MOST;
    FINE(MPIX_Stream_comm_create(MPI_COMM_WORLD, m.mpix, &second));
    alarm(60);
    if (kit_rank == 0) {
        put_contents(m.memory, 51, LONG_ONE);
        FINE(MPIX_Isend_enqueue(m.memory, LONG_ONE, MPI_BYTE, 1, 9, m.comm, &request));
        FINE(MPIX_Recv_enqueue(in, SHORT_ONE, MPI_BYTE, 1, 9, second, MPI_STATUS_IGNORE));
        FINE(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    } else if (kit_rank == 1) {
        FINE(MPIX_Recv_enqueue(in, LONG_ONE, MPI_BYTE, 0, 9, m.comm, MPI_STATUS_IGNORE));
        FINE(MPIX_Send_enqueue(in, SHORT_ONE, MPI_BYTE, 0, 9, second));
    }
    sync_stream();
    alarm(0);
    if (kit_rank < 2)
        check_contents(in, 51, kit_rank ? LONG_ONE : SHORT_ONE, "through two communicators");
    FINE(MPI_Comm_free(&second));
}

/* pmodels/mpich 7612: what waits for an event behind a call must see the call's result. Here a copy in the same stream,
 * and the stream's own end, stand for the event; tests on GPUs record one. */
static void completion(void)
{
    enum { BYTES = 3 << 20 };
    const int to = (kit_rank + 1) % kit_size, from = (kit_rank + kit_size - 1) % kit_size;
    for (unsigned i = 0; i < 20; i++) {
        MPI_Request request;
        put_contents(m.memory, i * 8 + (unsigned)kit_rank, BYTES);
        FINE(MPIX_Irecv_enqueue(m.memory + MESSAGES_MOST, BYTES, MPI_BYTE, from, 2, m.comm, &request));
        if (i % 2)
            usleep(1000 * (unsigned)kit_rank);
        FINE(MPIX_Send_enqueue(m.memory, BYTES, MPI_BYTE, to, 2, m.comm));
        FINE(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
        sync_stream();
        check_contents(m.memory + MESSAGES_MOST, i * 8 + (unsigned)from, BYTES, "when the stream has ended");
    }
}

static void progress(void)
{
    without_a_wait(0);
    without_a_wait(1);
    second_first();
    behind_started();
    between();
    completion();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "basics";
    const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"basics", basics}, {"progress", progress}};
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (!queue_possible() || kit_size < 2)
        kit_skip("stream_messages", "needs two ranks, a device with streams, and the library in front");
    messages_open(&m);
    if (strcmp(what, "errors") == 0)
        messages_errors(&m);
    if (strcmp(what, "types") == 0)
        messages_types(&m);
    if (strcmp(what, "groups") == 0) {
        messages_group(&m);
        messages_programs(&m, check_many("TUTTI_TEST_PROGRAMS", 40));
        messages_any(&m, check_many("TUTTI_TEST_PROGRAMS", 40));
        messages_exchanges(&m, 2 * check_many("TUTTI_TEST_PROGRAMS", 40));
        CHECK(kit_counted("MPIX_Waitall_enqueue", "in one launch") > 0, "no wait has launched what it waits for");
        CHECK(kit_counted("MPIX_Irecv_enqueue", "matched by kernels") > 0, "no receive was matched by kernels");
    }
    if (strncmp(what, "truncated", 9) == 0)
        messages_truncated(&m, strcmp(what, "truncated_long") == 0);
    if (strcmp(what, "programs") == 0)
        messages_programs(&m, check_many("TUTTI_TEST_PROGRAMS", 40));
    if (strcmp(what, "any") == 0)
        messages_any(&m, check_many("TUTTI_TEST_PROGRAMS", 60));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(parts[i].name, what) == 0)
            parts[i].run();
    }
    messages_close(&m, strncmp(what, "truncated", 9) == 0 && messages_truncated_fails());
    return kit_end("stream_messages");
}
