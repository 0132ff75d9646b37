/* Probes of messages that the MPI does not carry: lengths, order and statuses after all sorts of matches, plain
 * messages as long as Tutti's own among them, every way of receiving what was probed, and several threads that probe
 * one tag. Rank 1 sends, rank 0 probes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum {
    LONG = 70000,
    SHORT = 40000,
    RTS = 480,
    LEAN_RTS = 96,
    FAR_RTS = 3360,
    MOST = 80000,
    TAG = 5,
    WORD = 9,
    THREADS = 3,
    ROUNDS = 40
};

static struct kit_buffer out[4], in[4];
static MPI_Status statuses[4]; /* nobody looks at */

static const char *contents(int seed, int bytes)
{
    static __thread char data[MOST];
    for (int b = 0; b < bytes; b++)
        data[b] = (char)random_mix(kit_seed + (uint64_t)seed * 1000003 + (uint64_t)b);
    return data;
}

static void *fill(int k, int seed, int bytes)
{
    return kit_put(&out[k], 0, contents(seed, bytes), (size_t)bytes);
}

static void *room(int k, int bytes)
{
    return kit_put(&in[k], 0, NULL, (size_t)bytes);
}

/* The status is of a message of `bytes` bytes with this tag from rank 1. */
static void check_status(const MPI_Status *status, int tag, int bytes, const char *what)
{
    int count = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    CHECK(status->MPI_SOURCE == 1 && status->MPI_TAG == tag && count == bytes,
          "%s: source %d tag %d count %d, not 1, %d, %d", what, status->MPI_SOURCE, status->MPI_TAG, count, tag, bytes);
}

static void check_data(int k, int seed, int bytes, const char *what)
{
    int guards = 0;
    const char *got = kit_get(&in[k], &guards);
    CHECK(guards && memcmp(got, contents(seed, bytes), (size_t)bytes) == 0, "%s: wrong data", what);
}

static void probe(int source, int tag, int want_tag, int bytes, const char *what)
{
    MPI_Status status;
    int flag = 0;
    MPI_Probe(source, tag, MPI_COMM_WORLD, &status);
    check_status(&status, want_tag, bytes, what);
    status.MPI_ERROR = 4711;
    MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status);
    CHECK(flag && (status.MPI_ERROR == 4711 || kit_left_to_mpi()), /* MPIs may write it */
          "%s: MPI_Iprobe after MPI_Probe: %d, MPI_ERROR %d", what, flag, status.MPI_ERROR);
    check_status(&status, want_tag, bytes, what);
}

/* Both ranks know that what was sent before has come: messages of one sender do not overtake each other. */
static void word(void)
{
    char byte = 0;
    if (kit_rank == 1)
        MPI_Send(&byte, 1, MPI_CHAR, 0, WORD, MPI_COMM_WORLD);
    else
        MPI_Recv(&byte, 1, MPI_CHAR, 1, WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void answer(void)
{
    char byte = 0;
    if (kit_rank == 0)
        MPI_Send(&byte, 1, MPI_CHAR, 1, WORD, MPI_COMM_WORLD);
    else
        MPI_Recv(&byte, 1, MPI_CHAR, 0, WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* So that the ways are open. */
static void warm_up(void)
{
    for (int i = 0; i < 4; i++) {
        if (kit_rank == 1)
            MPI_Send(fill(0, i, LONG), LONG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        else
            MPI_Recv(room(0, LONG), LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* A message of the same tag has been matched before, by a receive that nobody has asked for yet, or a matched probe. */
static void matched_before(int by_probe)
{
    MPI_Request request[2];
    MPI_Message message, second;
    MPI_Status status;
    if (kit_rank == 1) {
        answer();
        MPI_Isend(fill(0, 11, LONG), LONG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(fill(1, 12, SHORT), SHORT, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, statuses);
        return;
    }
    if (!by_probe)
        MPI_Irecv(room(0, LONG), LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[0]);
    answer();
    if (by_probe) {
        MPI_Mprobe(1, TAG, MPI_COMM_WORLD, &message, &status);
        check_status(&status, TAG, LONG, "MPI_Mprobe of the first");
    }
    probe(1, TAG, TAG, SHORT, "the second while the first is matched");
    MPI_Mprobe(1, TAG, MPI_COMM_WORLD, &second, &status);
    check_status(&status, TAG, SHORT, "MPI_Mprobe of the second");
    MPI_Imrecv(room(1, SHORT), SHORT, MPI_BYTE, &second, &request[1]);
    if (by_probe)
        MPI_Imrecv(room(0, LONG), LONG, MPI_BYTE, &message, &request[0]);
    MPI_Wait(&request[1], &status);
    check_status(&status, TAG, SHORT, "receive of the second");
    MPI_Wait(&request[0], &status);
    check_status(&status, TAG, LONG, "receive of the first");
    check_data(0, 11, LONG, "the first");
    check_data(1, 12, SHORT, "the second");
}

/* Messages of host memory as long as Tutti's own lie before and behind one of device memory, with one tag. */
static void as_long_as_an_rts(int bytes, int between)
{
    static char plain[2][FAR_RTS];
    MPI_Request request[3];
    MPI_Status status;
    if (kit_rank == 1) {
        for (int k = 0; k < 2; k++) {
            memcpy(plain[k], contents(21 + k, bytes), (size_t)bytes);
            MPI_Isend(plain[k], bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request[2 * k]);
            if (k == 0)
                MPI_Isend(fill(0, 20, between), between, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request[1]);
        }
        MPI_Waitall(3, request, statuses);
        return;
    }
    for (int k = 0; k < 3; k++) {
        const int n = k == 1 ? between : bytes;
        probe(k == 2 ? MPI_ANY_SOURCE : 1, k == 0 ? MPI_ANY_TAG : TAG, TAG, n, "lengths of mails");
        MPI_Recv(room(0, SHORT), SHORT, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
        check_status(&status, TAG, n, "lengths of mails, received");
        CHECK(memcmp(kit_get(&in[0], NULL),
                     contents(k == 1   ? 20
                              : k == 0 ? 21
                                       : 22,
                              n),
                     (size_t)n) == 0,
              "message %d of %d bytes", k, n);
    }
}

/* A probe by tag leaves the order in which receives of any tag get what lies before. */
static void any_tag(void)
{
    static const int bytes[4] = {5, SHORT, 12, LONG};
    MPI_Request request[4];
    MPI_Status status;
    if (kit_rank == 1) {
        for (int k = 0; k < 4; k++)
            MPI_Isend(fill(k, 30 + k, bytes[k]), bytes[k], MPI_BYTE, 0, TAG + k, MPI_COMM_WORLD, &request[k]);
        MPI_Waitall(4, request, statuses);
        return;
    }
    probe(1, TAG + 3, TAG + 3, LONG, "the last of four");
    for (int k = 0; k < 4; k++) {
        MPI_Recv(room(0, LONG), LONG, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        check_status(&status, TAG + k, bytes[k], "in order");
        CHECK(memcmp(kit_get(&in[0], NULL), contents(30 + k, bytes[k]), (size_t)bytes[k]) == 0, "message %d", k);
    }
}

/* To probe is not to receive: a synchronous send goes on waiting. */
static void synchronous(int bytes)
{
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    if (kit_rank == 1) {
        MPI_Issend(fill(0, 40, bytes), bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        answer();
        for (int i = 0; i < 200; i++) /* an MPI may give the core away in each */
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        if (getenv("TUTTI_NODE_RANKS") == NULL) /* between nodes the probe may end it */
            CHECK(!flag, "a synchronous send is complete before its message is received");
        word();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    probe(1, TAG, TAG, bytes, "a synchronous message");
    answer();
    word();
    MPI_Recv(room(0, bytes), bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &status);
    check_status(&status, TAG, bytes, "a synchronous message");
    check_data(0, 40, bytes, "a synchronous message");
}

enum how { RECV, IRECV, SENDRECV, ISENDRECV, PERSISTENT, STARTALL, MRECV, WAITANY, TESTSOME, SHORT_BUFFER, HOWS };
static const char *const hows[HOWS] = {"MPI_Recv",     "MPI_Irecv", "MPI_Sendrecv", "two requests", "MPI_Start",
                                       "MPI_Startall", "MPI_Mrecv", "MPI_Waitany",  "MPI_Testsome", "a short buffer"};

static void receive(enum how how)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status, two[2];
    MPI_Message message;
    char byte = 1, own = 0;
    int which = -1, n = 0, code, flag = 0;
    void *to = room(0, LONG);
    switch (how) {
    case RECV:
        MPI_Recv(to, LONG, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        break;
    case IRECV:
        MPI_Irecv(to, LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[0]);
        while (!flag)
            MPI_Request_get_status(request[0], &flag, &status);
        check_status(&status, TAG, LONG, "MPI_Request_get_status");
        MPI_Wait(&request[0], &status);
        break;
    case SENDRECV:
        MPI_Irecv(&own, 1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request[0]);
        MPI_Sendrecv(&byte, 1, MPI_CHAR, 0, TAG, to, LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &status);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        CHECK(own == 1, "MPI_Sendrecv to this rank");
        break;
    case ISENDRECV:
        MPI_Irecv(to, LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[0]);
        MPI_Irecv(&own, 1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request[1]);
        MPI_Send(&byte, 1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
        MPI_Waitall(2, request, two);
        status = two[0];
        CHECK(two[1].MPI_SOURCE == 0 && two[1].MPI_TAG == TAG, "the other request: source %d", two[1].MPI_SOURCE);
        break;
    case PERSISTENT:
    case STARTALL:
        MPI_Recv_init(to, LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[0]);
        if (how == PERSISTENT)
            MPI_Start(&request[0]);
        else
            MPI_Startall(1, request);
        MPI_Wait(&request[0], &status);
        CHECK(request[0] != MPI_REQUEST_NULL, "a persistent request stays");
        check_status(&status, TAG, LONG, hows[how]);
        MPI_Test(&request[0], &flag, &two[0]);
        CHECK(flag && two[0].MPI_SOURCE == MPI_ANY_SOURCE, "an inactive request has an empty status");
        MPI_Request_free(&request[0]);
        break;
    case MRECV:
        MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &message, &status);
        check_status(&status, TAG, LONG, "MPI_Mprobe after MPI_Probe");
        MPI_Mrecv(to, LONG, MPI_BYTE, &message, &status);
        break;
    case WAITANY:
        MPI_Irecv(to, LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[1]);
        MPI_Waitany(2, request, &which, &status);
        CHECK(which == 1 && request[1] == MPI_REQUEST_NULL, "MPI_Waitany: %d", which);
        break;
    case TESTSOME:
        MPI_Irecv(to, LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[1]);
        while (n == 0)
            MPI_Testsome(2, request, &n, &which, &status);
        CHECK(n == 1 && which == 1 && request[1] == MPI_REQUEST_NULL, "MPI_Testsome: %d, %d", n, which);
        break;
    default:
        code = MPI_Recv(room(0, SHORT), SHORT, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &status);
        CHECK(kit_class(code) == MPI_ERR_TRUNCATE, "a buffer that is too short: %d", code);
        kit_get(&in[0], &flag);
        CHECK(flag, "a buffer that is too short is left alone");
        return;
    }
    check_status(&status, TAG, LONG, hows[how]);
    check_data(0, 50 + (int)how, LONG, hows[how]);
}

static void every_way(void)
{
    for (enum how how = RECV; how < HOWS; how++) {
        if (how == SHORT_BUFFER && (!kit_errors_returned() || kit_left_to_mpi()))
            continue;
        if (kit_rank == 1) {
            MPI_Send(fill(0, 50 + (int)how, LONG), LONG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
            continue;
        }
        probe(how % 2 ? MPI_ANY_SOURCE : 1, how % 3 ? TAG : MPI_ANY_TAG, TAG, LONG, hows[how]);
        receive(how);
    }
}

/* ---- threads that probe one communicator and tag ---- */

static int wrong, got;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The length tells the contents. */
static int length_of(int i)
{
    return 17000 + i * 96;
}

static void *prober(void *at)
{
    struct kit_buffer *buffer = at;
    for (;;) {
        MPI_Message message;
        MPI_Status status, end;
        int count = -1, again = -1;
        pthread_mutex_lock(&lock);
        int mine = got++;
        pthread_mutex_unlock(&lock);
        if (mine >= ROUNDS)
            return NULL;
        MPI_Mprobe(1, TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        const int i = (count - 17000) / 96;
        int fine = count == length_of(i) && i >= 0 && i < ROUNDS;
        MPI_Mrecv(kit_put(buffer, 0, NULL, MOST), MOST, MPI_BYTE, &message, &end);
        MPI_Get_count(&end, MPI_BYTE, &again);
        fine = fine && again == count && end.MPI_SOURCE == 1 && end.MPI_TAG == TAG &&
               memcmp(kit_get(buffer, NULL), contents(100 + i, count), (size_t)count) == 0;
        pthread_mutex_lock(&lock);
        wrong += !fine;
        pthread_mutex_unlock(&lock);
    }
}

static void threads(void)
{
    pthread_t id[THREADS];
    struct kit_buffer own[THREADS];
    got = 0;
    if (kit_rank == 1) {
        for (int i = 0; i < ROUNDS; i++)
            MPI_Send(fill(0, 100 + i, length_of(i)), length_of(i), MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        return;
    }
    for (int t = 0; t < THREADS; t++) {
        kit_open(&own[t], KIT_DEVICE, MOST);
        pthread_create(&id[t], NULL, prober, &own[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(id[t], NULL);
        kit_close(&own[t]);
    }
    CHECK(wrong == 0, "%d of %d messages that threads have probed were wrong", wrong, ROUNDS);
}

int main(int argc, char **argv)
{
    const int level = kit_start(&argc, &argv, MPI_THREAD_MULTIPLE);
    for (int k = 0; k < 4; k++) {
        kit_open(&out[k], KIT_DEVICE, MOST);
        kit_open(&in[k], KIT_DEVICE, MOST);
    }
    for (int round = 0; round < 3; round++) {
        if (kit_rank < 2) {
            warm_up();
            matched_before(0);
            matched_before(1);
            as_long_as_an_rts(RTS, SHORT);
            as_long_as_an_rts(LEAN_RTS, SHORT);
            as_long_as_an_rts(LEAN_RTS, LEAN_RTS);
            as_long_as_an_rts(8, 3);
            as_long_as_an_rts(3, 6);
            as_long_as_an_rts(FAR_RTS, SHORT);
            any_tag();
            synchronous(LONG);
            synchronous(3);
            every_way();
            if (level == MPI_THREAD_MULTIPLE)
                threads();
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int k = 0; k < 4; k++) {
        kit_close(&out[k]);
        kit_close(&in[k]);
    }
    return kit_end("probed");
}
