/* What completion calls, MPI_Cancel, MPI_Request_free and MPI_Start make of a request, for each kind of request that
 * stands for something of the library's: codes, flags, indices, statuses and handles are those of the same request of
 * host memory, which is the MPI's alone, and the data are right. Rank 1 is looked at, rank 0 is its peer. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "completion.h"
#include "kit.h"

enum { LONG = 12000, SHORT = 5, TAG = 6, GO = 7, BACK = 8, ROUNDS = 2, TRIES = 100000000 };

/* What is called: a completion call, or one of these. */
enum { CANCEL = COMPLETIONS, FREE, CALLS };
static const char *call_name(int call)
{
    return call == CANCEL ? "MPI_Cancel" : call == FREE ? "MPI_Request_free" : completion_names[call];
}

enum { SENDS = 1, RECEIVES = 2, ALL = 4, PERSISTENT = 8, SYNCHRONOUS = 16, BOTH = SENDS | RECEIVES };
static const struct kind {
    const char *name;
    int count, what;
    const char *call; /* of a newer MPI */
} kinds[] = {
    {"MPI_Irecv", LONG, RECEIVES, NULL},
    {"MPI_Irecv, few", SHORT, RECEIVES, NULL},
    {"MPI_Isend", LONG, SENDS, NULL},
    {"MPI_Isend, few", SHORT, SENDS, NULL},
    {"MPI_Issend", LONG, SENDS | SYNCHRONOUS, NULL},
    {"MPI_Send_init", LONG, SENDS | PERSISTENT, NULL},
    {"MPI_Send_init, few", SHORT, SENDS | PERSISTENT, NULL},
    {"MPI_Recv_init", LONG, RECEIVES | PERSISTENT, NULL},
    {"MPI_Recv_init, few", SHORT, RECEIVES | PERSISTENT, NULL},
    {"MPI_Iallgather", LONG, ALL, NULL},
    {"MPI_Iallreduce", LONG, ALL, NULL},
#if MPI_VERSION >= 4
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 50000000 /* before, its statuses are wrong */
    {"MPI_Isendrecv", LONG, BOTH, "MPI_Isendrecv"},
#endif
#endif
#ifdef OPEN_MPI /* MPICH's own give wrong data, or errors that there are none */
    {"MPI_Allgather_init", LONG, ALL | PERSISTENT, "MPI_Allgather_init"},
    {"MPI_Alltoallv_init_c", LONG, ALL | PERSISTENT, "MPI_Alltoallv_init_c"},
#endif
    {"MPI_Allreduce_init", LONG, ALL | PERSISTENT, "MPI_Allreduce_init"},
    {"MPI_Ialltoallv_c", LONG, ALL, "MPI_Ialltoallv_c"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct kit_buffer out, in;
static char text[2][4000];
static char *text_at;
static size_t text_left;

static void note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text_at, text_left, format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= text_left)
        n = (int)text_left - 1;
    text_at += n;
    text_left -= (size_t)n;
}

static int value(int rank, int round, int i)
{
    return 1 + rank * 50021 + round * 1009 + i;
}

static int *sent_from(int count, int round)
{
    static int data[LONG];
    for (int i = 0; i < count; i++)
        data[i] = value(kit_rank, round, i);
    return kit_put(&out, 0, data, (size_t)count * sizeof(int));
}

static int wrong_at(const struct kind *kind, int round)
{
    const int *got = (const int *)(const void *)kit_get(&in, NULL), half = LONG / 2;
    int i = 0;
    for (; i < kind->count; i++) {
        int want = value(1 - kit_rank, round, i);
        if (strstr(kind->name, "llgather"))
            want = value(i / half, round, i % half);
        else if (strstr(kind->name, "llreduce"))
            want = value(0, round, i) + value(1, round, i);
        else if (strstr(kind->name, "lltoall"))
            want = value(i / half, round, kit_rank * half + i % half);
        if (got[i] != want)
            break;
    }
    return i < kind->count ? i : -1;
}

/* Makes the request; a persistent one is not started yet. */
static int make(const struct kind *kind, void *from, void *to, MPI_Request *request)
{
    const char *name = kind->name;
    static int count;
    static const MPI_Count counts[2] = {LONG / 2, LONG / 2};
    static const MPI_Aint displs[2] = {0, LONG / 2};
    void *call = kind->call ? dlsym(RTLD_DEFAULT, kind->call) : NULL;
    const int half = LONG / 2, peer = 1 - kit_rank;
    count = kind->count;
    if (strncmp(name, "MPI_Irecv", 9) == 0)
        return MPI_Irecv(to, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, request);
    if (strncmp(name, "MPI_Isend,", 10) == 0 || strcmp(name, "MPI_Isend") == 0)
        return MPI_Isend(from, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, request);
    if (strcmp(name, "MPI_Issend") == 0)
        return MPI_Issend(from, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, request);
    if (strncmp(name, "MPI_Send_init", 13) == 0)
        return MPI_Send_init(from, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, request);
    if (strncmp(name, "MPI_Recv_init", 13) == 0)
        return MPI_Recv_init(to, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, request);
    if (strcmp(name, "MPI_Iallgather") == 0)
        return MPI_Iallgather(from, half, MPI_INT, to, half, MPI_INT, MPI_COMM_WORLD, request);
    if (strcmp(name, "MPI_Iallreduce") == 0)
        return MPI_Iallreduce(from, to, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
#define CALL(...) (*(int (**)(__VA_ARGS__)) & call)
    if (strcmp(name, "MPI_Isendrecv") == 0)
        return CALL(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
                    MPI_Request *)(from, count, MPI_INT, peer, TAG, to, count, MPI_INT, peer, TAG, MPI_COMM_WORLD,
                                   request);
    if (strcmp(name, "MPI_Allgather_init") == 0)
        return CALL(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Info,
                    MPI_Request *)(from, half, MPI_INT, to, half, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, request);
    if (strcmp(name, "MPI_Allreduce_init") == 0)
        return CALL(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                    MPI_Request *)(from, to, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request);
    if (strcmp(name, "MPI_Ialltoallv_c") == 0)
        return CALL(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *, const MPI_Count *,
                    const MPI_Aint *, MPI_Datatype, MPI_Comm,
                    MPI_Request *)(from, counts, displs, MPI_INT, to, counts, displs, MPI_INT, MPI_COMM_WORLD, request);
    return CALL(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *, const MPI_Count *,
                const MPI_Aint *, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *)(
        from, counts, displs, MPI_INT, to, counts, displs, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, request);
#undef CALL
}

/* ---- the calls ---- */

static void note_status(const struct kind *kind, const MPI_Status *status, int empty)
{
    int count = -1, cancelled = -1;
    MPI_Test_cancelled(status, &cancelled);
    note(" cancelled %d", cancelled);
    if (!empty && (!(kind->what & RECEIVES) || cancelled)) /* the rest is not defined */
        return;
    MPI_Get_count(status, MPI_INT, &count);
    note(" source %d tag %d count %d", status->MPI_SOURCE, status->MPI_TAG, count);
}

/* Makes the call, once. 1: something has completed. */
static int look(const struct kind *kind, enum completion call, MPI_Request *request, int empty)
{
    MPI_Request asked = *request;
    const struct completed done = completion_make(&completion_library, call, &asked);
    if (!done.flag && done.code == MPI_SUCCESS && !empty)
        return 0;
    *request = asked;
    note(" [class %d flag %d index %d of %d", kit_class(done.code), done.flag, done.index, done.count);
    if (done.flag && done.count != MPI_UNDEFINED && done.index != MPI_UNDEFINED)
        note_status(kind, &done.status, empty);
    note(asked == MPI_REQUEST_NULL ? " gone]" : " there]");
    return 1;
}

static int only_looks(int call)
{
    return call >= COMPLETION_GET_STATUS && call < COMPLETIONS;
}

/* Until it has completed; then once more. */
static void finish(const struct kind *kind, int call, MPI_Request *request)
{
    int tries = 0;
    const enum completion by = call < COMPLETIONS ? (enum completion)call : COMPLETION_WAIT;
    while (!look(kind, by, request, 0) && tries < TRIES)
        tries++;
    if (only_looks(call)) {
        look(kind, by, request, 0);
        look(kind, COMPLETION_TEST, request, 0);
    }
    look(kind, by, request, 1);
}

/* ---- one scenario ---- */

static void word(int to)
{
    if (kit_rank == to)
        MPI_Recv(NULL, 0, MPI_INT, 1 - to, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_INT, to, GO, MPI_COMM_WORLD);
}

/* The peer's part of one round. */
static void answer(const struct kind *kind, int round, void *from, void *to, MPI_Request *request)
{
    const int persistent = kind->what & PERSISTENT;
    word(0);
    if (kind->what & ALL) {
        if (persistent)
            MPI_Start(request);
        MPI_Status status;
        MPI_Wait(request, &status);
    } else {
        MPI_Request sent = MPI_REQUEST_NULL;
        if (kind->what & RECEIVES)
            MPI_Isend(from, kind->count, MPI_INT, 1, TAG, MPI_COMM_WORLD, &sent);
        if (kind->what & SENDS)
            MPI_Recv(to, kind->count, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }
    if (kind->what & (SENDS | ALL)) {
        int wrong = wrong_at(kind, round);
        CHECK(wrong < 0, "%s: integer %d of the peer is wrong", kind->name, wrong);
    }
    word(1);
}

/* A receive that the program has freed: its data come all the same, while other calls complete. */
static void await_freed(const struct kind *kind, void *scrap)
{
    int wrong = 0;
    for (int i = 0; i < 10000 && (wrong = wrong_at(kind, 0)) >= 0; i++)
        MPI_Sendrecv(scrap, SHORT, MPI_INT, 1, BACK, (int *)scrap + SHORT, SHORT, MPI_INT, 1, BACK, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    CHECK(wrong < 0, "%s, freed: integer %d has not come", kind->name, wrong);
}

static void subject(const struct kind *kind, int call, int round, MPI_Request *request)
{
    const int persistent = kind->what & PERSISTENT;
    if (persistent)
        note(" start %d", kit_class(MPI_Start(request)));
    if (kind->what & (RECEIVES | ALL | SYNCHRONOUS) && call < CANCEL &&
        !completion_waits((enum completion)call)) /* the peer has done nothing */
        note(" early %d", look(kind, (enum completion)call, request, 0));
    if (call == CANCEL && kind->what & RECEIVES && round == 0) {
        note(" cancel %d", kit_class(MPI_Cancel(request)));
        finish(kind, call, request);
        if (!persistent)
            return;
        note(" start %d", kit_class(MPI_Start(request)));
    }
    if (call == FREE && round == 0) {
        note(" free %d", kit_class(MPI_Request_free(request)));
        note(*request == MPI_REQUEST_NULL ? " gone" : " there");
    }
    word(0);
    if (call == FREE && round == 0) {
        word(1);
        return;
    }
    if (call == CANCEL && !(kind->what & RECEIVES)) { /* the peer has it */
        word(1);
        note(" cancel %d", kit_class(MPI_Cancel(request)));
    }
    finish(kind, call, request);
    if (call != CANCEL || kind->what & RECEIVES)
        word(1);
    if (kind->what & (RECEIVES | ALL)) {
        int wrong = wrong_at(kind, round);
        CHECK(wrong < 0, "%s, %s: integer %d is wrong", kind->name, call_name(call), wrong);
    }
}

static void scenario(const struct kind *kind, int call, enum kit_kind memory)
{
    const int persistent = kind->what & PERSISTENT;
    const int rounds = call == FREE || !persistent ? 1 : ROUNDS;
    MPI_Request request = MPI_REQUEST_NULL;
    struct kit_buffer scrap;
    kit_open(&out, memory, LONG * sizeof(int));
    kit_open(&in, memory, LONG * sizeof(int));
    kit_open(&scrap, memory, 2 * SHORT * sizeof(int));
    void *from = sent_from(kind->count, 0);
    void *to = kit_put(&in, 0, NULL, (size_t)kind->count * sizeof(int));
    if (kit_rank == 1 || (kind->what & ALL && persistent))
        CHECK(make(kind, from, to, &request) == MPI_SUCCESS, "%s cannot be made", kind->name);
    for (int round = 0; round < rounds; round++) {
        if (round > 0) {
            sent_from(kind->count, round);
            kit_put(&in, 0, NULL, (size_t)kind->count * sizeof(int));
        }
        if (kit_rank == 1) {
            subject(kind, call, round, &request);
            continue;
        }
        if (call == CANCEL && kind->what & RECEIVES && !persistent)
            break;
        if (kind->what & ALL && !persistent) {
            word(0);
            make(kind, from, to, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK(wrong_at(kind, round) < 0, "%s: integer %d of the peer is wrong", kind->name, wrong_at(kind, round));
            word(1);
            continue;
        }
        answer(kind, round, from, to, &request);
    }
    if (call == FREE && kit_rank == 1 && kind->what & RECEIVES)
        await_freed(kind, kit_put(&scrap, 0, NULL, 2 * SHORT * sizeof(int)));
    if (request != MPI_REQUEST_NULL) {
        note(" free %d", kit_class(MPI_Request_free(&request)));
        note(request == MPI_REQUEST_NULL ? " gone" : " there");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    kit_close(&out);
    kit_close(&in);
    kit_close(&scrap);
}

static int is_here(const struct kind *kind, int call)
{
    if (kind->call && !dlsym(RTLD_DEFAULT, kind->call))
        return 0;
    if (only_looks(call) && call != COMPLETION_GET_STATUS &&
        (MPI_VERSION < 4 || (MPI_VERSION == 4 && MPI_SUBVERSION < 1)))
        return 0;
#ifndef OPEN_MPI
    if (only_looks(call) && kind->what & PERSISTENT) /* MPICH 5.0 forgets the status when it was looked at */
        return 0;
#endif
    if (call == CANCEL && (kind->what & BOTH) == BOTH) /* MPICH's never ends */
        return 0;
    return !(kind->what & ALL) || call < CANCEL; /* neither is for collectives */
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("request_semantics", "it takes 2 ranks");
    for (int k = 0; k < KINDS; k++) {
        for (int call = 0; call < CALLS; call++) {
            if (!is_here(&kinds[k], call))
                continue;
            for (int m = 0; m < 2; m++) {
                text_at = text[m];
                text_left = sizeof text[m];
                *text_at = 0;
                scenario(&kinds[k], call, m == 0 ? KIT_HOST : KIT_DEVICE);
            }
            CHECK(strcmp(text[0], text[1]) == 0, "%s, %s:\n  host memory:  %s\n  device memory:%s", kinds[k].name,
                  call_name(call), text[0], text[1]);
        }
    }
    return kit_end("request_semantics");
}
