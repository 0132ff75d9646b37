/* Messages of device memory from a rank to itself: blocking, nonblocking, persistent, in every order, over
 * communicators of many ranks and of one. Arguments: bytes of the large messages, rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { AT_ONCE = 26, BLOCK = 8, STRIDE = 24 };
static struct kit_buffer out, in, host, more[AT_ONCE];
static unsigned char *bytes;
static MPI_Comm comm;
static int me, what, past;
static MPI_Datatype strided[2]; /* of the current length: every third block; the same from the second on */
static const char *place;

static const unsigned char *contents(int number, size_t n)
{
    random_bytes(bytes, random_mix(kit_seed + (uint64_t)number * 7919), n);
    return bytes;
}

static void *filled(struct kit_buffer *b, size_t n)
{
    what++;
    return kit_put(b, (size_t)what % 16, contents(what, n), n);
}

static void arrived(struct kit_buffer *b, int number, size_t n, const char *how)
{
    int guards = 1;
    const char *got = kit_get(b, &guards);
    contents(number, n);
    size_t wrong = 0;
    while (wrong < n && (unsigned char)got[wrong] == bytes[wrong])
        wrong++;
    CHECK(wrong == n && guards, "%s, %s: byte %zu of %zu into %s memory is wrong%s", place, how, wrong, n,
          b->kind == KIT_DEVICE ? "device" : "host", guards ? "" : ", guards too");
}

static void counted(const MPI_Status *status, size_t n, int tag, const char *how)
{
    int count = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    CHECK(count == (int)n && status->MPI_SOURCE == me && status->MPI_TAG == tag, "%s, %s: %d bytes from %d by %d",
          place, how, count, status->MPI_SOURCE, status->MPI_TAG);
}

static void receive_first(struct kit_buffer *to, size_t n)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    void *at = kit_put(to, 3, NULL, n), *from = filled(&out, n);
    MPI_Irecv(at, (int)n, MPI_BYTE, MPI_ANY_SOURCE, 1, comm, &requests[0]);
    MPI_Isend(from, (int)n, MPI_BYTE, me, 1, comm, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    counted(&statuses[0], n, 1, "receive first");
    arrived(to, what, n, "receive first");
}

static void send_first(struct kit_buffer *to, size_t n)
{
    MPI_Request request;
    MPI_Status status;
    void *from = filled(&out, n);
    MPI_Isend(from, (int)n, MPI_BYTE, me, 2, comm, &request);
    MPI_Recv(kit_put(to, 5, NULL, n), (int)n, MPI_BYTE, me, MPI_ANY_TAG, comm, &status);
    counted(&status, n, 2, "send first");
    arrived(to, what, n, "send first");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!past || n < 16384) /* the MPI may wait for the receiver */
        return;
    from = filled(&out, n);
    MPI_Isend(from, (int)n, MPI_BYTE, me, 3, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    kit_put(&out, 0, NULL, n);
    MPI_Recv(kit_put(to, 5, NULL, n), (int)n, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    counted(&status, n, 3, "a send that is done first");
    arrived(to, what, n, "a send that is done first");
}

static void blocking_sends(struct kit_buffer *to, size_t n)
{
    static int (*const send[])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = {MPI_Send, MPI_Ssend, MPI_Rsend,
                                                                                       MPI_Bsend};
    int room = (int)n + 4096;
    void *attached = malloc((size_t)room + MPI_BSEND_OVERHEAD);
    MPI_Buffer_attach(attached, room + MPI_BSEND_OVERHEAD);
    for (int i = 0; i < 4; i++) {
        MPI_Request request;
        MPI_Status status;
        void *at = kit_put(to, 9, NULL, n), *from = filled(&out, n);
        MPI_Irecv(at, (int)n, MPI_BYTE, me, 4 + i, comm, &request);
        send[i](from, (int)n, MPI_BYTE, me, 4 + i, comm);
        MPI_Wait(&request, &status);
        counted(&status, n, 4 + i, "blocking send");
        arrived(to, what, n, "blocking send");
    }
    MPI_Buffer_detach(&attached, &room);
    free(attached);
}

static void both(struct kit_buffer *to, size_t n)
{
    MPI_Status status;
    void *at = kit_put(to, 9, NULL, n), *from = filled(&out, n);
    MPI_Sendrecv(from, (int)n, MPI_BYTE, me, 8, at, (int)n, MPI_BYTE, me, 8, comm, &status);
    counted(&status, n, 8, "MPI_Sendrecv");
    arrived(to, what, n, "MPI_Sendrecv");
    at = filled(to, n);
    MPI_Sendrecv_replace(at, (int)n, MPI_BYTE, me, 9, me, 9, comm, &status);
    counted(&status, n, 9, "MPI_Sendrecv_replace");
    arrived(to, what, n, "MPI_Sendrecv_replace");
#if MPI_VERSION >= 4
    MPI_Request request;
    if (!past) /* MPICH 4.0 gives no status of its own MPI_Isendrecv_replace */
        return;
    at = kit_put(to, 4, NULL, n);
    from = filled(&out, n);
    MPI_Isendrecv(from, (int)n, MPI_BYTE, me, 10, at, (int)n, MPI_BYTE, me, 10, comm, &request);
    MPI_Wait(&request, &status);
    counted(&status, n, 10, "MPI_Isendrecv");
    arrived(to, what, n, "MPI_Isendrecv");
    at = filled(to, n);
    MPI_Isendrecv_replace(at, (int)n, MPI_BYTE, me, 11, me, 11, comm, &request);
    MPI_Wait(&request, &status);
    counted(&status, n, 11, "MPI_Isendrecv_replace");
    arrived(to, what, n, "MPI_Isendrecv_replace");
#endif
}

static void probed(struct kit_buffer *to, size_t n)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    int flag = 0;
    for (int matched = 0; matched < 2; matched++) {
        void *from = filled(&out, n);
        MPI_Isend(from, (int)n, MPI_BYTE, me, 12, comm, &request);
        MPI_Probe(me, 12, comm, &status);
        counted(&status, n, 12, "MPI_Probe");
        for (flag = 0; !flag;)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
        counted(&status, n, 12, "MPI_Iprobe");
        void *at = kit_put(to, 7, NULL, n);
        if (matched) {
            MPI_Mprobe(MPI_ANY_SOURCE, 12, comm, &message, &status);
            counted(&status, n, 12, "MPI_Mprobe");
            MPI_Mrecv(at, (int)n, MPI_BYTE, &message, &status);
        } else {
            MPI_Recv(at, (int)n, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        }
        counted(&status, n, 12, "after a probe");
        arrived(to, what, n, "after a probe");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void persistent(struct kit_buffer *to, size_t n)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    char *at = kit_put(to, 1, NULL, n), *from = kit_put(&out, 2, NULL, n);
    MPI_Send_init(from, (int)n, MPI_BYTE, me, 13, comm, &requests[0]);
    MPI_Recv_init(at, (int)n, MPI_BYTE, me, 13, comm, &requests[1]);
    for (int i = 0; i < 4; i++) {
        what++;
        kit_put(&out, 2, contents(what, n), n);
        kit_put(to, 1, NULL, n);
        if (i % 2)
            MPI_Startall(2, requests);
        else
            MPI_Start(&requests[1]), MPI_Start(&requests[0]);
        MPI_Waitall(2, requests, statuses);
        counted(&statuses[1], n, 13, "persistent");
        arrived(to, what, n, "persistent");
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Requests that the program frees while they are under way. */
static void freed(struct kit_buffer *to, size_t n)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Isend(filled(&out, n), (int)n, MPI_BYTE, me, 14, comm, &request);
    MPI_Request_free(&request);
    MPI_Recv(kit_put(to, 5, NULL, n), (int)n, MPI_BYTE, me, 14, comm, &status);
    counted(&status, n, 14, "a freed send");
    arrived(to, what, n, "a freed send");
    if (!past) /* MPICH 4.0 forgets that such a receive is posted */
        return;
    MPI_Irecv(kit_put(to, 5, NULL, n), (int)n, MPI_BYTE, me, 15, comm, &request);
    MPI_Request_free(&request);
    MPI_Send(filled(&out, n), (int)n, MPI_BYTE, me, 15, comm);
    for (int i = 0; i < 3; i++) { /* the library looks after it in other calls */
        MPI_Irecv(NULL, 0, MPI_BYTE, me, 16, comm, &request);
        MPI_Send(NULL, 0, MPI_BYTE, me, 16, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        receive_first(&more[0], 20000);
        what--;
    }
    arrived(to, what, n, "a freed receive");
    MPI_Irecv(kit_put(to, 5, NULL, n), (int)n, MPI_BYTE, me, 17, comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    int cancelled = 0;
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled, "%s: a receive is not cancelled", place);
}

/* From every third block of one allocation to the blocks beside them, which lie between: nothing overlaps. */
static void beside(size_t n)
{
    size_t blocks = n / STRIDE, all = blocks * STRIDE;
    MPI_Status status;
    char *at = filled(&in, all);
    MPI_Sendrecv(at, 1, strided[0], me, 18, at, 1, strided[1], me, 18, comm, &status);
    counted(&status, blocks * BLOCK, 18, "beside");
    const char *got = kit_get(&in, NULL);
    size_t wrong = 0;
    contents(what, all);
    for (size_t i = 0; i < all; i++) {
        size_t within = i % STRIDE;
        size_t from = within >= BLOCK && within < 2 * BLOCK ? i - BLOCK : i;
        wrong += (unsigned char)got[i] != bytes[from];
    }
    CHECK(wrong == 0, "%s: %zu bytes of %zu are wrong within one allocation", place, wrong, all);
}

/* As a periodic exchange with itself: every message in strides, all at once. */
static void many(size_t n, int waitall)
{
    MPI_Request requests[2 * AT_ONCE];
    MPI_Status statuses[2 * AT_ONCE];
    size_t blocks = n / STRIDE, each = blocks * BLOCK;
    MPI_Datatype type;
    MPI_Type_vector((int)blocks, BLOCK, STRIDE, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < AT_ONCE; i++)
        MPI_Irecv(kit_put(&more[i], (size_t)i % 16, NULL, each), (int)each, MPI_BYTE, me, 20 + i, comm, &requests[i]);
    char *from = filled(&out, n + STRIDE);
    for (int i = 0; i < AT_ONCE; i++)
        MPI_Isend(from + i % STRIDE, 1, type, me, 20 + i, comm, &requests[AT_ONCE + i]);
    MPI_Type_free(&type);
    if (waitall)
        MPI_Waitall(2 * AT_ONCE, requests, statuses);
    for (int left = waitall ? 0 : 2 * AT_ONCE; left > 0; left--) {
        int which;
        MPI_Status status;
        MPI_Waitany(2 * AT_ONCE, requests, &which, &status);
        statuses[which] = status;
    }
    for (int i = 0; i < AT_ONCE; i++) {
        size_t wrong = 0;
        counted(&statuses[i], each, 20 + i, "many");
        const char *got = kit_get(&more[i], NULL);
        contents(what, n + STRIDE);
        for (size_t b = 0; b < each; b++)
            wrong += (unsigned char)got[b] != bytes[(size_t)(i % STRIDE) + b / BLOCK * STRIDE + b % BLOCK];
        CHECK(wrong == 0, "%s: %zu bytes of message %d of many are wrong", place, wrong, i);
    }
}

static void too_long(size_t n)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Isend(filled(&out, n), (int)n, MPI_BYTE, me, 19, comm, &request);
    int error = MPI_Recv(kit_put(&in, 0, NULL, n / 2), (int)(n / 2), MPI_BYTE, me, 19, comm, &status);
    CHECK(kit_class(error) == MPI_ERR_TRUNCATE, "%s: a message that is too long: class %d", place, kit_class(error));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    kit_get(&in, NULL);
}

static void all_of(MPI_Comm over, const char *name, size_t n)
{
    comm = over;
    place = name;
    MPI_Comm_rank(comm, &me);
    MPI_Type_vector((int)(n / STRIDE), BLOCK, STRIDE, MPI_BYTE, &strided[0]);
    int length = 1;
    MPI_Aint first = BLOCK;
    MPI_Type_create_hindexed(1, &length, &first, strided[0], &strided[1]);
    MPI_Type_commit(&strided[0]);
    MPI_Type_commit(&strided[1]);
    struct kit_buffer *const to[] = {&in, &host};
    for (int i = 0; i < 2; i++) {
        receive_first(to[i], n);
        send_first(to[i], n);
        blocking_sends(to[i], n);
        both(to[i], n);
        probed(to[i], n);
        persistent(to[i], n);
        freed(to[i], n);
    }
    beside(n);
    many(n < 90000 ? n : 90000 / STRIDE * STRIDE, 1);
    many(n < 90000 ? n : 90000 / STRIDE * STRIDE, 0);
    if (past && n >= 16384 && kit_errors_returned()) /* Open MPI 4.1 writes beside a buffer that is too short */
        too_long(n);
    MPI_Type_free(&strided[0]);
    MPI_Type_free(&strided[1]);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    size_t large = argc > 1 ? strtoull(argv[1], NULL, 0) : 500000;
    long rounds = argc > 2 ? atol(argv[2]) : 2;
    const char *rules = getenv("TUTTI_RULES");
    MPI_Comm nonblocking, alone;
    past = !kit_plain && !kit_left_to_mpi();
    MPI_Comm_dup(MPI_COMM_SELF, &nonblocking);
    MPI_Comm_split(MPI_COMM_WORLD, kit_rank, 0, &alone);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(nonblocking, MPI_ERRORS_RETURN);
    size_t room = large + (64 << 10);
    bytes = malloc(room);
    kit_open(&out, KIT_DEVICE, room);
    kit_open(&in, KIT_DEVICE, room);
    kit_open(&host, KIT_HOST, room);
    for (int i = 0; i < AT_ONCE; i++)
        kit_open(&more[i], i % 4 == 3 ? KIT_HOST : KIT_DEVICE, 40000);
    for (long round = 0; round < rounds; round++) {
        size_t n = round % 2 ? large : 24000;
        all_of(MPI_COMM_WORLD, "world", n);
        all_of(MPI_COMM_SELF, "self", n);
        all_of(nonblocking, "nonblocking team of self", 1200);
        all_of(alone, "one rank", n / 2 / STRIDE * STRIDE);
    }
    CHECK(!past || (rules && !strstr(rules, "direct")) || kit_counted("MPI_Isend", "fetched by the receiver") > 0,
          "no message was fetched from the sender's memory");
    CHECK(!past || kit_counted("MPI_Send", "accelerated") > 0, "no blocking send went past the MPI");
    kit_close(&out);
    kit_close(&in);
    kit_close(&host);
    for (int i = 0; i < AT_ONCE; i++)
        kit_close(&more[i]);
    free(bytes);
    MPI_Comm_free(&nonblocking);
    MPI_Comm_free(&alone);
    return kit_end("endpoints_self");
}
