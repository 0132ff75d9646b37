/* Receives that the program frees while they are active. Their data are there once any call has shown the program that
 * the peer's synchronous send is complete; nothing is written into the buffer after that. A program that only probes
 * gets them too. A persistent one is freed when it has completed: then the attribute of its type is deleted. Errors of
 * such receives call no error handler. Two ranks: rank 0 sends, rank 1 is looked at.
 * freed [beside|late]: meanwhile another thread of rank 1 probes, so it looks at the freed receives too. late: a look
 * of that thread takes four seconds; it began before the message arrived. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kit.h"

enum { LONG = 20000, SHORT = 10, DATA = 3, WORD = 4, GO = 5, SECONDS = 20, FEW = 2, MANY = 5 };
enum by { RECV, SENDRECV, WAIT, TEST, PROBE, MPROBE, IPROBE, BARRIER, BYS };
static const char *const names[BYS] = {"MPI_Recv",  "MPI_Sendrecv", "MPI_Wait",   "MPI_Test",
                                       "MPI_Probe", "MPI_Mprobe",   "MPI_Iprobe", "MPI_Barrier"};

static int attribute, deleted, raised, rounds = FEW;
static atomic_int ends;
static void (*late_look)(void); /* NULL: no look is late */

static int on_delete(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    raised++;
}

static int value(int round, int i)
{
    return 1 + round * 100003 + i;
}

static int is_there(struct kit_buffer *b, int round, int count)
{
    const int *got = (const int *)(const void *)kit_get(b, NULL);
    int i = 0;
    while (i < count && got[i] == value(round, i))
        i++;
    return i == count;
}

static MPI_Datatype type_of(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(1, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_set_attr(type, attribute, &attribute);
    return type;
}

/* Rank 1 learns that rank 0 has sent all. */
static void learn(enum by by)
{
    char word = 0, out = 0;
    int flag = 0;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    switch (by) {
    case RECV:
        MPI_Recv(&word, 1, MPI_CHAR, 0, WORD, MPI_COMM_WORLD, &status);
        return;
    case SENDRECV:
        MPI_Sendrecv(&out, 1, MPI_CHAR, 0, WORD, &word, 1, MPI_CHAR, 0, WORD, MPI_COMM_WORLD, &status);
        return;
    case WAIT:
        MPI_Irecv(&word, 1, MPI_CHAR, 0, WORD, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        return;
    case TEST:
        MPI_Irecv(&word, 1, MPI_CHAR, 0, WORD, MPI_COMM_WORLD, &request);
        while (!flag)
            MPI_Test(&request, &flag, &status);
        return;
    case PROBE:
        MPI_Probe(0, WORD, MPI_COMM_WORLD, &status);
        return;
    case MPROBE:
        MPI_Mprobe(0, WORD, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(&word, 1, MPI_CHAR, &message, &status);
        return;
    case IPROBE:
        while (!flag)
            MPI_Iprobe(0, WORD, MPI_COMM_WORLD, &flag, &status);
        return;
    default:
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void learned(enum by by)
{
    char word = 0, in;
    if (by == BARRIER)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (by == SENDRECV)
        MPI_Sendrecv(&word, 1, MPI_CHAR, 1, WORD, &in, 1, MPI_CHAR, 1, WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&word, 1, MPI_CHAR, 1, WORD, MPI_COMM_WORLD);
}

static void post(void *at, int count, MPI_Datatype type, int persistent, MPI_Comm comm)
{
    MPI_Request request;
    if (persistent) {
        MPI_Recv_init(at, count, type, 0, DATA, comm, &request);
        MPI_Start(&request);
    } else {
        MPI_Irecv(at, count, type, 0, DATA, comm, &request);
    }
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL, "MPI_Request_free");
}

static void send(struct kit_buffer *b, int round, int count, MPI_Comm comm)
{
    static int data[LONG];
    char go;
    for (int i = 0; i < count; i++)
        data[i] = value(round, i);
    void *at = kit_put(b, 0, data, (size_t)count * sizeof(int));
    MPI_Recv(&go, 1, MPI_CHAR, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ssend(at, count, MPI_INT, 1, DATA, comm);
}

/* Another thread's look has its answer. */
static void wait_until_late(void)
{
    late_look();
    nanosleep(&(const struct timespec){0, 200000000}, NULL);
}

static void try(enum by by, enum kit_kind memory, int count, int persistent)
{
    static int newer[LONG];
    struct kit_buffer b;
    char go = 0, word;
    kit_open(&b, memory, LONG * sizeof(int));
    for (int round = 0; round < rounds; round++) {
        if (kit_rank == 0) {
            send(&b, round, count, MPI_COMM_WORLD);
            learned(by);
        } else {
            MPI_Datatype type = type_of();
            deleted = 0;
            void *at = kit_put(&b, 0, NULL, (size_t)count * sizeof(int));
            post(at, count, type, persistent, MPI_COMM_WORLD);
            if (late_look)
                wait_until_late();
            MPI_Type_free(&type);
            MPI_Send(&go, 1, MPI_CHAR, 0, GO, MPI_COMM_WORLD);
            learn(by);
            CHECK(is_there(&b, round, count), "%s, %s memory, %d integers%s: the data are not there", names[by],
                  memory == KIT_HOST ? "host" : "device", count, persistent ? ", persistent" : "");
            for (int i = 0; i < count; i++)
                newer[i] = value(round + 100, i);
            kit_put(&b, 0, newer, (size_t)count * sizeof(int));
            if (by == PROBE || by == IPROBE)
                MPI_Recv(&word, 1, MPI_CHAR, 0, WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Sendrecv(&go, 1, MPI_CHAR, 1 - kit_rank, GO + 1, &word, 1, MPI_CHAR, 1 - kit_rank, GO + 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (kit_rank == 1)
            CHECK(is_there(&b, round + 100, count), "%s, %s memory, %d integers%s: newer data are overwritten",
                  names[by], memory == KIT_HOST ? "host" : "device", count, persistent ? ", persistent" : "");
        if (kit_rank == 1)
            CHECK(deleted == 1, "%s, %s memory, %d integers%s: the attribute of the type was deleted %d times",
                  names[by], memory == KIT_HOST ? "host" : "device", count, persistent ? ", persistent" : "", deleted);
    }
    kit_close(&b);
}

/* Rank 1 does nothing but probe for what does not come. */
static void try_probing(enum kit_kind memory, int count, int persistent)
{
    struct kit_buffer b;
    char go = 0;
    kit_open(&b, memory, LONG * sizeof(int));
    if (kit_rank == 0) {
        send(&b, 0, count, MPI_COMM_WORLD);
    } else {
        int flag;
        post(kit_put(&b, 0, NULL, (size_t)count * sizeof(int)), count, MPI_INT, persistent, MPI_COMM_WORLD);
        MPI_Send(&go, 1, MPI_CHAR, 0, GO, MPI_COMM_WORLD);
        const time_t end = time(NULL) + SECONDS;
        while (!is_there(&b, 0, count) && time(NULL) < end)
            MPI_Iprobe(0, WORD, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(is_there(&b, 0, count), "%s memory, %d integers%s: probing does not bring the data",
              memory == KIT_HOST ? "host" : "device", count, persistent ? ", persistent" : "");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    kit_close(&b);
}

/* Messages that are too long. */
static void try_errors(enum kit_kind memory, MPI_Comm comm)
{
    struct kit_buffer b;
    char go = 0;
    kit_open(&b, memory, LONG * sizeof(int));
    raised = 0;
    if (kit_rank == 0) {
        send(&b, 0, LONG, comm);
        learned(RECV);
    } else {
        post(kit_put(&b, 0, NULL, LONG * sizeof(int)), LONG / 2, MPI_INT, 0, comm);
        MPI_Send(&go, 1, MPI_CHAR, 0, GO, MPI_COMM_WORLD);
        learn(RECV);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(raised == 0, "%s memory: an error handler was called %d times for a receive that was freed",
          memory == KIT_HOST ? "host" : "device", raised);
    kit_close(&b);
}

/* For what does not come. */
static void *probes(void *comm)
{
    while (!atomic_load(&ends)) {
        int flag;
        MPI_Iprobe(0, WORD, *(MPI_Comm *)comm, &flag, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void try_all(void)
{
    for (int memory = KIT_HOST; memory <= KIT_DEVICE; memory++) {
        for (int persistent = 0; persistent < 2; persistent++) {
            for (enum by by = 0; by < BYS; by++) {
                try(by, (enum kit_kind)memory, LONG, persistent);
                try(by, (enum kit_kind)memory, SHORT, persistent);
            }
            try_probing((enum kit_kind)memory, LONG, persistent);
            try_probing((enum kit_kind)memory, SHORT, persistent);
        }
    }
}

/* By the library late_looks.c. */
static void try_late(void)
{
    static const enum by all[] = {RECV, BARRIER};
    *(void **)(void *)&late_look = dlsym(RTLD_DEFAULT, "late_look");
    CHECK(late_look, "late_looks.c is not loaded");
    rounds = 1;
    for (unsigned i = 0; i < sizeof all / sizeof *all && late_look; i++)
        try(all[i], KIT_DEVICE, SHORT, 0);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Errhandler handler;
    pthread_t prober;
    const int late = argc > 1 && strcmp(argv[1], "late") == 0;
    const int beside = late || (argc > 1 && strcmp(argv[1], "beside") == 0);
    const int level = beside ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, got = kit_start(&argc, &argv, level);
    if (kit_size != 2 || got < level)
        kit_skip("freed", "it takes 2 ranks, and threads");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const int probed = beside && kit_rank == 1 && pthread_create(&prober, NULL, probes, &comm) == 0;
    rounds = beside ? MANY : FEW;
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, on_delete, &attribute, NULL);
    if (late)
        try_late();
    else
        try_all();
    atomic_store(&ends, 1);
    if (probed)
        pthread_join(prober, NULL);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (kit_errors_returned()) {
        try_errors(KIT_HOST, comm);
        try_errors(KIT_DEVICE, comm);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    MPI_Type_free_keyval(&attribute);
    return kit_end("freed");
}
