/* Messages of device memory that are too long for their buffers: the error handler of their communicator is called,
 * also where a matched probe has found them, and calls that complete several requests return MPI_ERR_IN_STATUS and say
 * in the statuses which of them failed. What lies behind the buffers stays as it is. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kit.h"

enum { LONG = 9000, SHORT = 5000, N = 3 };

static MPI_Comm comm;
static int on_comm, on_world;

static void comm_handler(MPI_Comm *of, int *code, ...)
{
    (void)of, (void)code;
    on_comm++;
}

static void world_handler(MPI_Comm *of, int *code, ...)
{
    (void)of, (void)code;
    on_world++;
}

static int value(int m, int i)
{
    return 1 + m * 100003 + i;
}

static void send_all(struct kit_buffer *b, int n)
{
    static int data[LONG];
    for (int m = 0; m < n; m++) {
        for (int i = 0; i < LONG; i++)
            data[i] = value(m, i);
        MPI_Send(kit_put(b, 0, data, sizeof data), LONG, MPI_INT, 1, m, comm);
    }
}

static int check_buffer(struct kit_buffer *b, int m, int whole, const char *what)
{
    int guards, i = 0;
    const int *got = (const int *)(const void *)kit_get(b, &guards);
    while (whole && i < LONG && got[i] == value(m, i))
        i++;
    return CHECK(guards && (!whole || i == LONG), "%s: message %d: integer %d is wrong%s", what, m, i,
                 guards ? "" : ", and something was written beside the buffer");
}

static void matched(struct kit_buffer *b, int nonblocking)
{
    MPI_Message message;
    MPI_Request request;
    const char *what = nonblocking ? "MPI_Imrecv" : "MPI_Mrecv";
    void *at = kit_put(b, 0, NULL, SHORT * sizeof(int));
    int code;
    on_comm = on_world = 0;
    MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE);
    if (nonblocking) {
        code = MPI_Imrecv(at, SHORT, MPI_INT, &message, &request);
        if (code == MPI_SUCCESS)
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        code = MPI_Mrecv(at, SHORT, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
    CHECK(kit_class(code) == MPI_ERR_TRUNCATE && on_comm == 1 && on_world == 0,
          "%s: error class %d, handler of the communicator called %d times, of MPI_COMM_WORLD %d", what,
          kit_class(code), on_comm, on_world);
    check_buffer(b, 0, 0, what);
}

/* The process's first message of device memory is short: its error is raised where the MPI raises one of host memory.
 */
static void first_matched(struct kit_buffer *b, int nonblocking)
{
    enum { FEW = 20, ROOM = 10 };
    int words[FEW] = {0}, on_own[2];
    MPI_Message message;
    MPI_Request request;
    for (int device = 0; device < 2; device++) {
        void *at = device ? b->base + KIT_GUARD : (void *)words;
        if (kit_rank == 0) {
            MPI_Send(at, FEW, MPI_INT, 1, 0, comm);
            continue;
        }
        int code;
        on_comm = on_world = 0;
        MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE);
        if (nonblocking) {
            code = MPI_Imrecv(at, ROOM, MPI_INT, &message, &request);
            if (code == MPI_SUCCESS)
                code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            code = MPI_Mrecv(at, ROOM, MPI_INT, &message, MPI_STATUS_IGNORE);
        }
        on_own[device] = on_comm;
        CHECK(kit_class(code) == MPI_ERR_TRUNCATE && on_comm + on_world == 1 && on_own[device] >= on_own[0],
              "%s of a short message of %s memory: error class %d, handler of the communicator called %d times, of "
              "MPI_COMM_WORLD %d",
              nonblocking ? "MPI_Imrecv" : "MPI_Mrecv", device ? "device" : "host", kit_class(code), on_comm, on_world);
    }
}

enum call { WAITALL, TESTALL, WAITSOME, TESTSOME, CALLS };
static const char *const names[CALLS] = {"MPI_Waitall", "MPI_Testall", "MPI_Waitsome", "MPI_Testsome"};

static void several(struct kit_buffer *b, enum call call, int persistent)
{
    MPI_Request requests[N];
    MPI_Status statuses[N];
    int errors[N] = {-1, -1, -1}, left = N, in_status = 0, wrong = 0;
    on_comm = on_world = 0;
    for (int m = 0; m < N; m++) {
        int count = m == 1 ? SHORT : LONG;
        void *at = kit_put(&b[m], 0, NULL, (size_t)count * sizeof(int));
        if (persistent) {
            MPI_Recv_init(at, count, MPI_INT, 0, m, comm, &requests[m]);
            MPI_Start(&requests[m]);
        } else {
            MPI_Irecv(at, count, MPI_INT, 0, m, comm, &requests[m]);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    while (left > 0) {
        int done = N, which[N] = {0, 1, 2}, code, flag = 1;
        for (int i = 0; i < N; i++)
            statuses[i].MPI_ERROR = -5;
        if (call == WAITALL)
            code = MPI_Waitall(N, requests, statuses);
        else if (call == TESTALL)
            code = MPI_Testall(N, requests, &flag, statuses);
        else if (call == WAITSOME)
            code = MPI_Waitsome(N, requests, &done, which, statuses);
        else
            code = MPI_Testsome(N, requests, &done, which, statuses);
        if (!flag && code == MPI_SUCCESS)
            continue;
        in_status += kit_class(code) == MPI_ERR_IN_STATUS;
        wrong += code != MPI_SUCCESS && kit_class(code) != MPI_ERR_IN_STATUS;
        for (int k = 0; k < done; k++)
            errors[which[k]] = code == MPI_SUCCESS ? MPI_SUCCESS : statuses[k].MPI_ERROR;
        for (int k = 0; k < done && code == MPI_SUCCESS; k++)
            wrong += statuses[k].MPI_ERROR != -5 && statuses[k].MPI_ERROR != MPI_SUCCESS;
        left -= done == MPI_UNDEFINED ? left : done;
    }
    CHECK(in_status == 1 && wrong == 0, "%s%s: MPI_ERR_IN_STATUS %d times, something else %d times", names[call],
          persistent ? ", persistent" : "", in_status, wrong);
    for (int m = 0; m < N; m++) {
        int class = errors[m] == -1 ? -1 : kit_class(errors[m]);
        CHECK(class == (m == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "%s%s: MPI_ERROR of request %d is of class %d",
              names[call], persistent ? ", persistent" : "", m, class);
        check_buffer(&b[m], m, m != 1, names[call]);
        if (persistent)
            MPI_Request_free(&requests[m]);
    }
    CHECK(on_comm == 1 && on_world == 0, "%s: handler of the communicator called %d times, of MPI_COMM_WORLD %d",
          names[call], on_comm, on_world);
}

/* Completes the request by MPI_Test. One that does not complete ends the program: its peer would wait for ever. */
static int comes(MPI_Request *request, const char *what)
{
    enum { SECONDS = 10 };
    int flag = 0, code = MPI_SUCCESS;
    for (const time_t end = time(NULL) + SECONDS; !flag && code == MPI_SUCCESS && time(NULL) < end;)
        code = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    if (!CHECK(flag || code != MPI_SUCCESS, "%s does not complete in %d s", what, SECONDS))
        MPI_Abort(MPI_COMM_WORLD, 1);
    return code;
}

/* Rank 0 sends what is too long, and waits until rank 1 asks for the rest, or a while: an MPI may wait for all. */
static void pending_begin(const int data[], int ask)
{
    enum { NOT_LONG = 2 };
    int asked = 0;
    MPI_Send(data, LONG, MPI_INT, 1, 0, comm);
    for (const time_t end = time(NULL) + NOT_LONG; !asked && time(NULL) < end;)
        MPI_Iprobe(1, ask, comm, &asked, MPI_STATUS_IGNORE);
}

/* MPI_Waitall that fails because of one request leaves a persistent one under way (MPI_ERR_PENDING); its message, which
 * comes afterwards, is received. */
static void pending(struct kit_buffer *b)
{
    enum { LATE = 1, ASK = 2 };
    static int data[LONG];
    char word = 0;
    if (kit_rank == 0) {
        pending_begin(data, ASK);
        for (int i = 0; i < LONG; i++)
            data[i] = value(LATE, i);
        MPI_Send(kit_put(b, 0, data, sizeof data), LONG, MPI_INT, 1, LATE, comm);
        MPI_Recv(&word, 1, MPI_CHAR, 1, ASK, comm, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(data, SHORT, MPI_INT, 0, 0, comm, &requests[0]); /* of ordinary memory, which has room for all */
    MPI_Recv_init(kit_put(b, 0, NULL, LONG * sizeof(int)), LONG, MPI_INT, 0, LATE, comm, &requests[1]);
    MPI_Start(&requests[1]);
    const int code = MPI_Waitall(2, requests, statuses);
    CHECK(kit_class(code) == MPI_ERR_IN_STATUS && kit_class(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE,
          "MPI_Waitall, pending: class %d", kit_class(code));
    MPI_Send(&word, 1, MPI_CHAR, 0, ASK, comm);
    if (kit_class(statuses[1].MPI_ERROR) == MPI_ERR_PENDING)
        CHECK(comes(&requests[1], "a receive that was pending") == MPI_SUCCESS, "a request that was pending");
    if (!check_buffer(b, LATE, 1, "MPI_Waitall, pending"))
        MPI_Abort(MPI_COMM_WORLD, 1); /* the message is still to come, and its sender waits */
    MPI_Request_free(&requests[1]);
}

/* The same of sends that are still under way: MPI_Test completes them afterwards. */
static void pending_sends(struct kit_buffer b[])
{
    enum { LATE = 1, ASK = 3 };
    static int data[LONG];
    char word = 0;
    if (kit_rank == 0) {
        pending_begin(data, ASK);
        for (int m = 1; m < N; m++) {
            MPI_Recv(kit_put(&b[m], 0, NULL, LONG * sizeof(int)), LONG, MPI_INT, 1, LATE, comm, MPI_STATUS_IGNORE);
            check_buffer(&b[m], m, 1, "MPI_Issend, pending");
        }
        MPI_Recv(&word, 1, MPI_CHAR, 1, ASK, comm, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Request requests[N];
    MPI_Status statuses[N];
    for (int m = 1; m < N; m++) {
        for (int i = 0; i < LONG; i++)
            data[i] = value(m, i);
        MPI_Issend(kit_put(&b[m], 0, data, sizeof data), LONG, MPI_INT, 0, LATE, comm, &requests[m]);
    }
    MPI_Irecv(data, SHORT, MPI_INT, 0, 0, comm, &requests[0]);
    const int code = MPI_Waitall(N, requests, statuses);
    CHECK(kit_class(code) == MPI_ERR_IN_STATUS && kit_class(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE,
          "MPI_Waitall, sends pending: class %d", kit_class(code));
    MPI_Send(&word, 1, MPI_CHAR, 0, ASK, comm);
    for (int m = 1; m < N; m++) {
        const int ended = kit_class(statuses[m].MPI_ERROR) != MPI_ERR_PENDING;
        CHECK(ended == (requests[m] == MPI_REQUEST_NULL), "MPI_Waitall, sends pending: request %d", m);
        if (!ended)
            comes(&requests[m], "a send that was pending");
    }
}

/* A long message for a receive of a few bytes, before another message of the same sender, which sends that when the
 * long one is gone. waits: for both at once; otherwise the other one is received first.
 * on_device: the few bytes are. */
static void behind(struct kit_buffer b[], int waits, int on_device)
{
    enum { FEW = 10, SECONDS = 10, NEXT = 2, LAST = 3, MANY = 80 };
    static int data[LONG], few[LONG];
    alarm(SECONDS);
    if (kit_rank == 0) {
        for (int i = 0; i < LONG; i++)
            data[i] = value(NEXT, i);
        void *at = kit_put(&b[0], 0, data, sizeof data);
        MPI_Ssend(at, LONG, MPI_INT, 1, 1, comm);
        MPI_Send(at, LONG, MPI_INT, 1, NEXT, comm);
        alarm(0);
        for (int i = 0; i < MANY; i++)
            MPI_Send(&i, 1, MPI_INT, 1, LAST, comm);
        return;
    }
    MPI_Request requests[2], older[MANY];
    MPI_Status statuses[MANY];
    int code, last[MANY];
    for (int i = 0; i < MANY; i++)
        MPI_Irecv(&last[i], 1, MPI_INT, 0, LAST, comm, &older[i]);
    void *at = kit_put(&b[0], 0, NULL, LONG * sizeof(int));
    MPI_Irecv(on_device ? kit_put(&b[1], 0, NULL, sizeof few) : few, FEW, MPI_INT, 0, 1, comm, &requests[0]);
    if (waits) {
        MPI_Irecv(at, LONG, MPI_INT, 0, NEXT, comm, &requests[1]);
        code = MPI_Waitall(2, requests, statuses);
        CHECK(kit_class(code) == MPI_ERR_IN_STATUS, "MPI_Waitall, behind: class %d", kit_class(code));
        code = statuses[0].MPI_ERROR;
        if (kit_class(statuses[1].MPI_ERROR) == MPI_ERR_PENDING)
            comes(&requests[1], "a receive behind a message that is too long");
    } else {
        MPI_Recv(at, LONG, MPI_INT, 0, NEXT, comm, MPI_STATUS_IGNORE);
        code = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    alarm(0);
    CHECK(kit_class(code) == MPI_ERR_TRUNCATE, "a receive of %d integers, %s: class %d", FEW,
          waits ? "MPI_Waitall" : "MPI_Wait", kit_class(code));
    check_buffer(&b[0], NEXT, 1, "behind a message that is too long");
    code = MPI_Waitall(MANY, older, statuses);
    CHECK(code == MPI_SUCCESS, "the older receives: class %d", kit_class(code));
    for (int i = 0; i < MANY; i++)
        CHECK(last[i] == i, "older receive %d has got %d", i, last[i]);
}

int main(int argc, char **argv)
{
    struct kit_buffer b[N];
    MPI_Errhandler handler;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(comm_handler, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_create_errhandler(world_handler, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    for (int m = 0; m < N; m++)
        kit_open(&b[m], KIT_DEVICE, LONG * sizeof(int));
    first_matched(&b[0], argc > 1);
    pending(&b[0]);
    /* Until messages go past the MPI: Open MPI writes behind buffers that are too short, and MPICH calls the handler of
     * MPI_COMM_WORLD for matched messages. */
    for (int i = 0; i < 8; i++)
        MPI_Sendrecv(b[0].base + KIT_GUARD, LONG, MPI_INT, 1 - kit_rank, 99, b[1].base + KIT_GUARD, LONG, MPI_INT,
                     1 - kit_rank, 99, comm, MPI_STATUS_IGNORE);
    for (int round = 0; round < 4; round++)
        behind(b, round % 2, round / 2);
    pending_sends(b);
    on_comm = 0;
    for (int round = 0; round < 4; round++) {
        for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
            if (kit_rank == 0)
                send_all(&b[0], 1);
            else
                matched(&b[0], nonblocking);
        }
        for (int call = 0; call < CALLS; call++) {
            for (int persistent = 0; persistent < 2; persistent++) {
                if (kit_rank == 0) {
                    MPI_Barrier(MPI_COMM_WORLD);
                    send_all(&b[0], N);
                } else {
                    several(b, (enum call)call, persistent);
                }
                MPI_Barrier(MPI_COMM_WORLD);
            }
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int m = 0; m < N; m++)
        kit_close(&b[m]);
    MPI_Comm_free(&comm);
    return kit_end("truncated");
}
