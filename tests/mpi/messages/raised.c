/* Whose error handler is called, and how often, where a message is longer than its buffer: in memory of the host as the
 * MPI does it by itself, of which the library must change nothing; the MPI's own functions are asked for that. In
 * device memory once, on the communicator of the receive, where the call names one request. Errors return on the
 * communicator of the messages. Two ranks: rank 0 sends, rank 1 is looked at. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "completion.h"
#include "kit.h"
#include "real_mpi.h"

enum { LONG = 9000, SHORT = 5000, FEW = 20, FEWER = 10, TWO = 2, ONE = 1, TAG = 4, TRIES = 100000000, AGAIN = 100 };

static MPI_Comm comm;
static int on_comm, on_world, on_self;
static int probes; /* 1: the message has arrived before the receive begins */
static int is_intel;

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

static void self_handler(MPI_Comm *of, int *code, ...)
{
    (void)of, (void)code;
    on_self++;
}

/* The calls, of the library or of the MPI itself. */
static struct calls {
    int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*recv_init)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*start)(MPI_Request *);
    int (*sendrecv)(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
                    MPI_Status *);
    int (*request_free)(MPI_Request *);
    int (*probe)(int, int, MPI_Comm, MPI_Status *);
    struct completion_calls completion;
} library = {MPI_Recv, MPI_Irecv, MPI_Recv_init, MPI_Start, MPI_Sendrecv, MPI_Request_free, MPI_Probe, {.wait = NULL}},
  itself;

static void ask_the_mpi(void)
{
#define OWN(field, name) *(void **)&itself.field = real_mpi_function(name);
    OWN(recv, "PMPI_Recv")
    OWN(irecv, "PMPI_Irecv")
    OWN(recv_init, "PMPI_Recv_init")
    OWN(start, "PMPI_Start")
    OWN(sendrecv, "PMPI_Sendrecv")
    OWN(request_free, "PMPI_Request_free")
    OWN(probe, "PMPI_Probe")
#undef OWN
    library.completion = completion_library;
    itself.completion = completion_of_mpi();
}

/* A way to receive: a call that completes MPI_Irecv, or another one. */
enum { LOOK = COMPLETION_GET_STATUS, LOOKS, RECV, SENDRECV, PERSISTENT, WAYS };
static const char *way_name(int way)
{
    static const char *const names[WAYS] = {[LOOK] = "MPI_Request_get_status, MPI_Wait",
                                            [LOOKS] = "MPI_Request_get_status twice, MPI_Wait",
                                            [RECV] = "MPI_Recv",
                                            [SENDRECV] = "MPI_Sendrecv",
                                            [PERSISTENT] = "MPI_Recv_init, MPI_Wait"};
    return names[way] ? names[way] : completion_names[way];
}

/* Makes the call until it has completed the request, or found its status. */
static int complete(const struct calls *c, enum completion call, MPI_Request *request)
{
    struct completed done = completion_make(&c->completion, call, request);
    for (int i = 0; i < TRIES && !done.flag && done.code == MPI_SUCCESS; i++)
        done = completion_make(&c->completion, call, request);
    return done.code;
}

/* Rank 1's part: the code of the call. */
static int receive(const struct calls *c, int way, void *at, int count)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int out = 0;
    if (way == RECV)
        return c->recv(at, count, MPI_INT, 0, TAG, comm, &status);
    if (way == SENDRECV)
        return c->sendrecv(&out, 1, MPI_INT, 0, TAG, at, count, MPI_INT, 0, TAG, comm, &status);
    if (way == PERSISTENT) {
        c->recv_init(at, count, MPI_INT, 0, TAG, comm, &request);
        c->start(&request);
    } else {
        c->irecv(at, count, MPI_INT, 0, TAG, comm, &request);
    }
    for (int i = 0; i < (way == LOOK) + 2 * (way == LOOKS); i++)
        complete(c, COMPLETION_GET_STATUS, &request);
    const int code = complete(c, way < LOOK ? (enum completion)way : COMPLETION_WAIT, &request);
    if (request != MPI_REQUEST_NULL)
        c->request_free(&request);
    return code;
}

struct seen {
    int class, on_comm, on_world, on_self;
};

static struct seen one(const struct calls *c, int way, struct kit_buffer *b, int sent, int count)
{
    static int data[LONG];
    struct seen seen = {0};
    void *at = kit_put(b, 0, data, LONG * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == 0) {
        int in;
        MPI_Send(at, sent, MPI_INT, 1, TAG, comm);
        if (way == SENDRECV)
            MPI_Recv(&in, 1, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE);
    } else {
        if (probes)
            c->probe(0, TAG, comm, MPI_STATUS_IGNORE);
        on_comm = on_world = on_self = 0;
        seen.class = kit_class(receive(c, way, at, count));
        seen = (struct seen){seen.class, on_comm, on_world, on_self};
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return seen;
}

/* The buffer is shorter than a message of the library's: it receives into memory of its own, and raises the error
 * itself (message/short_recv.h): once, or as often as the MPI, on the communicator. MPICH 5 returns no error where a
 * handler has returned. */
static int is_fine(const struct seen *want, const struct seen *got, int short_later)
{
    if (!short_later)
        return memcmp(want, got, sizeof *want) == 0;
    const int calls = got->on_comm + got->on_world + got->on_self;
    return (got->class == want->class || want->class == MPI_SUCCESS) &&
           (calls == 1 || calls == want->on_comm + want->on_world + want->on_self);
}

/* Neither an error nor a call of a handler. */
static int is_none(const struct seen *seen)
{
    return seen->class == MPI_SUCCESS && seen->on_comm + seen->on_world + seen->on_self == 0;
}

/* Collective. What the MPI itself does. Intel MPI reports nothing of some long messages that have arrived before the
 * receive (loses): what it does with the others. */
static struct seen by_itself(int way, struct kit_buffer *b, int sent, int count, int loses)
{
    struct seen seen = one(&itself, way, b, sent, count);
    for (int i = 0, again = loses; i < AGAIN && again; i++) {
        again = is_none(&seen);
        MPI_Bcast(&again, 1, MPI_INT, 1, MPI_COMM_WORLD);
        if (again)
            seen = one(&itself, way, b, sent, count);
    }
    return seen;
}

static void try_once(int way, enum kit_kind memory, int sent, int count, const char *when)
{
    struct kit_buffer b;
    struct seen want = {MPI_ERR_TRUNCATE, 1, 0, 0};
    kit_open(&b, memory, LONG * sizeof(int));
    const int loses = is_intel && memory == KIT_HOST && sent == LONG && probes;
    if (memory == KIT_HOST)
        want = by_itself(way, &b, sent, count, loses);
    const struct seen got = one(&library, way, &b, sent, count);
    CHECK(
        kit_rank == 0 || is_fine(&want, &got, count <= FEWER && strcmp(when, "first") != 0) || (loses && is_none(&got)),
        "%s of %d integers, %d sent, %s memory, %s: class %d, the handler of the communicator was called %d times, of "
        "MPI_COMM_WORLD %d, of MPI_COMM_SELF %d; not %d, %d, %d, %d",
        way_name(way), count, sent, memory == KIT_HOST ? "host" : "device", when, got.class, got.on_comm, got.on_world,
        got.on_self, want.class, want.on_comm, want.on_world, want.on_self);
    kit_close(&b);
}

static void try(int way, enum kit_kind memory, int sent, int count, const char *when)
{
    for (probes = 0; probes < 2; probes++)
        try_once(way, memory, sent, count, when);
    probes = 0;
}

/* Errors of everything else end the program, as those of MPI_COMM_WORLD do by default. */
static void try_where_others_are_fatal(const char *when)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    for (int way = RECV; way <= SENDRECV; way++) {
        try(way, KIT_HOST, LONG, SHORT, when);
        try(way, KIT_HOST, FEW, FEWER, when);
    }
}

/* Two of three receives of one MPI_Waitall fail: one error. The third is in device memory, so that the library waits.
 */
static void try_two_of_three(void)
{
    static int data[LONG], into[2][SHORT];
    struct kit_buffer b;
    int calls[2] = {0}, classes[2] = {0};
    kit_open(&b, KIT_DEVICE, LONG * sizeof(int));
    for (int of = 0; of < 2; of++) { /* of the MPI itself, whose third is on the host too; of the library */
        const struct calls *c = of ? &library : &itself;
        MPI_Request request[3];
        MPI_Status status[3];
        void *at = of ? kit_put(&b, 0, data, sizeof data) : data;
        MPI_Barrier(MPI_COMM_WORLD);
        if (kit_rank == 0) {
            for (int i = 0; i < 3; i++)
                MPI_Send(i == 0 && of ? at : data, i == 0 ? SHORT : LONG, MPI_INT, 1, TAG, comm);
            continue;
        }
        c->irecv(at, SHORT, MPI_INT, 0, TAG, comm, &request[0]);
        for (int i = 0; i < 2; i++)
            c->irecv(into[i], SHORT, MPI_INT, 0, TAG, comm, &request[i + 1]);
        on_comm = on_world = on_self = 0;
        classes[of] = kit_class(c->completion.waitall(3, request, status));
        /* An MPI may leave a request pending behind one that has failed. */
        calls[of] = on_comm + on_world + on_self;
        for (int i = 0; i < 3; i++) {
            if (request[i] != MPI_REQUEST_NULL)
                c->completion.wait(&request[i], MPI_STATUS_IGNORE);
        }
    }
    CHECK(kit_rank == 0 || (classes[0] == classes[1] && calls[0] == calls[1]),
          "MPI_Waitall, of which two fail: class %d, and handlers were called %d times; not %d, %d times", classes[1],
          calls[1], classes[0], calls[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    kit_close(&b);
}

/* The communicator is freed while the receive is open: its error handler is called all the same. An MPI may call it, or
 * that of MPI_COMM_WORLD, once; with another communicator than the one that is gone. */
static void try_freed(enum kit_kind memory, int sent, int count, int persistent)
{
    static int data[LONG];
    struct kit_buffer b;
    MPI_Comm gone;
    MPI_Request request;
    MPI_Errhandler handler;
    kit_open(&b, memory, LONG * sizeof(int));
    void *at = kit_put(&b, 0, data, LONG * sizeof(int));
    MPI_Comm_dup(MPI_COMM_WORLD, &gone);
    MPI_Comm_create_errhandler(comm_handler, &handler);
    MPI_Comm_set_errhandler(gone, handler);
    MPI_Errhandler_free(&handler);
    if (kit_rank == 0) {
        MPI_Isend(at, sent, MPI_INT, 1, TAG, gone, &request);
    } else if (persistent) {
        MPI_Recv_init(at, count, MPI_INT, 0, TAG, gone, &request);
        MPI_Start(&request);
    } else {
        MPI_Irecv(at, count, MPI_INT, 0, TAG, gone, &request);
    }
    MPI_Comm_free(&gone);
    on_comm = on_world = on_self = 0;
    const int class = kit_class(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(
        kit_rank == 0 || ((class == MPI_ERR_TRUNCATE || class == MPI_SUCCESS) && on_comm + on_world + on_self == 1 &&
                          (on_comm == 1 || memory == KIT_HOST)),
        "%s of %d integers, %d sent, %s memory, the communicator freed: class %d, its handler was called %d times, of "
        "MPI_COMM_WORLD %d, of MPI_COMM_SELF %d",
        persistent ? "MPI_Recv_init" : "MPI_Irecv", count, sent, memory == KIT_HOST ? "host" : "device", class, on_comm,
        on_world, on_self);
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    kit_close(&b);
}

static void set_handler(MPI_Comm of, MPI_Comm_errhandler_function *function)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(function, &handler);
    MPI_Comm_set_errhandler(of, handler);
    MPI_Errhandler_free(&handler);
}

/* A handler that leaves the call by longjmp(): once, and calls after it are Tutti's as before. */
static jmp_buf back;

static void leaving_handler(MPI_Comm *of, int *code, ...)
{
    (void)of, (void)code;
    on_comm++;
    longjmp(back, 1);
}

static void waits_leaving(int count, MPI_Request request[])
{
    static MPI_Status status[2];
    if (setjmp(back) != 0)
        return;
    if (count == 1)
        MPI_Wait(request, status);
    else
        MPI_Waitall(count, request, status);
}

static void try_leaving(void)
{
    enum { ROUNDS = 20 };
    static int sent[TWO], into[TWO];
    struct kit_buffer b;
    MPI_Errhandler before;
    kit_open(&b, KIT_DEVICE, FEW * sizeof(int));
    MPI_Comm_get_errhandler(comm, &before);
    set_handler(comm, leaving_handler);
    on_comm = 0;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request[2], send;
        void *at = kit_put(&b, 0, sent, sizeof sent);
        MPI_Irecv(into, ONE, MPI_INT, 1 - kit_rank, TAG, comm, &request[0]);
        MPI_Ibcast(at, TWO, MPI_INT, 0, comm, &request[1]);
        MPI_Isend(sent, TWO, MPI_INT, 1 - kit_rank, TAG, comm, &send);
        waits_leaving(2, request);
        for (int i = 0; i < 2; i++) {
            if (request[i] != MPI_REQUEST_NULL)
                waits_leaving(1, &request[i]);
        }
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    MPI_Comm_set_errhandler(comm, before);
    MPI_Errhandler_free(&before);
    const uint64_t counted = kit_counted("MPI_Ibcast", "staged") + kit_counted("MPI_Ibcast", "accelerated");
    CHECK(on_comm == ROUNDS && counted == ROUNDS, "%d handlers left %d calls, and %d calls of MPI_Ibcast were counted",
          on_comm, ROUNDS, (int)counted);
    MPI_Barrier(MPI_COMM_WORLD);
    kit_close(&b);
}

/* 1 if the call raises errors of the request itself. */
static int names_one_request(int way)
{
    return way == RECV || way == SENDRECV || way == PERSISTENT || way == COMPLETION_WAIT || way == COMPLETION_TEST ||
           way == COMPLETION_WAITANY || way == COMPLETION_TESTANY;
}

int main(int argc, char **argv)
{
    struct kit_buffer b;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("raised", "it takes 2 ranks");
    if (!kit_errors_returned())
        kit_skip("raised", "this MPI ends the program on its own errors");
    ask_the_mpi();
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    MPI_Get_library_version(version, &length);
    is_intel = strstr(version, "Intel") != NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    set_handler(comm, comm_handler);
    try_where_others_are_fatal("first");
    set_handler(MPI_COMM_WORLD, world_handler);
    set_handler(MPI_COMM_SELF, self_handler);
    for (int way = 0; way < WAYS; way++) {
        try(way, KIT_HOST, LONG, SHORT, "first");
        try(way, KIT_HOST, FEW, FEWER, "first");
    }
    /* Messages go past the MPI from here on. */
    kit_open(&b, KIT_DEVICE, LONG * sizeof(int));
    for (int i = 0; i < 8; i++) {
        void *at = kit_put(&b, 0, NULL, LONG * sizeof(int));
        MPI_Sendrecv_replace(at, LONG, MPI_INT, 1 - kit_rank, TAG, 1 - kit_rank, TAG, comm, MPI_STATUS_IGNORE);
    }
    kit_close(&b);
    try_where_others_are_fatal("later");
    set_handler(MPI_COMM_WORLD, world_handler);
    for (int way = 0; way < WAYS; way++) {
        try(way, KIT_HOST, LONG, SHORT, "later");
        try(way, KIT_HOST, FEW, FEWER, "later");
        try(way, KIT_HOST, TWO, ONE, "later");
        if (names_one_request(way))
            try(way, KIT_DEVICE, LONG, SHORT, "later");
    }
    try_two_of_three();
    try_leaving();
    for (int persistent = 0; persistent < 2; persistent++) {
#if !defined(OPEN_MPI) || OMPI_MAJOR_VERSION > 4 /* 4.1 ends the program itself */
        try_freed(KIT_HOST, LONG, SHORT, persistent);
        try_freed(KIT_HOST, FEW, FEWER, persistent);
#endif
        try_freed(KIT_DEVICE, LONG, SHORT, persistent);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_free(&comm);
    return kit_end("raised");
}
