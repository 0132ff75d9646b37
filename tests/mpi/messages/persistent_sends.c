/* Persistent sends of device memory: their types may be freed before they are started, and what is cancelled is either
 * reported as cancelled and does not arrive, or the other way round; later starts send what is in the buffer then. */
#include <stdio.h>
#include <string.h>

#include "kit.h"

enum { COUNT = 4000, TAG = 3, OTHERS = 50, ROUNDS = 4 };
enum { SEND, SSEND, BSEND, RSEND, MODES };
static const char *const names[MODES] = {"MPI_Send_init", "MPI_Ssend_init", "MPI_Bsend_init", "MPI_Rsend_init"};

enum { SPACED, PLAIN, TYPES }; /* every second integer, or all of them */

static MPI_Datatype type_of(int kind)
{
    MPI_Datatype one, type;
    if (kind == SPACED)
        MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &one);
    else
        MPI_Type_contiguous(1, MPI_INT, &one);
    MPI_Type_dup(one, &type);
    MPI_Type_free(&one);
    MPI_Type_commit(&type);
    return type;
}

static int init(int mode, void *buffer, int count, MPI_Datatype type, int to, MPI_Request *request)
{
    int (*const inits[MODES])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                              MPI_Request *) = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
    return inits[mode](buffer, count, type, to, TAG, MPI_COMM_WORLD, request);
}

static int value(int round, int i)
{
    return 1 + round * 1000003 + i;
}

static void fill(struct kit_buffer *b, int round)
{
    static int data[2 * COUNT];
    for (int i = 0; i < 2 * COUNT; i++)
        data[i] = value(round, i);
    kit_put(b, 0, data, sizeof data);
}

static void check(struct kit_buffer *b, int round, int count, int step, const char *what)
{
    int *got = (int *)(void *)kit_get(b, NULL), i = 0;
    while (i < count && got[i * step] == value(round, i * step))
        i++;
    CHECK(i == count, "%s: integer %d is %d, not %d", what, i * step, i < count ? got[i * step] : 0,
          value(round, i * step));
}

/* Rank 0 sends, the last one receives. */
static void freed_type(int mode, int kind, int count)
{
    struct kit_buffer b;
    MPI_Datatype type = type_of(kind), others[OTHERS], kept = type_of(kind);
    MPI_Request request;
    char what[100];
    snprintf(what, sizeof what, "%s of %d %s, the type freed", names[mode], count, kind == SPACED ? "spaced" : "plain");
    kit_open(&b, KIT_DEVICE, 2 * COUNT * sizeof(int));
    void *buffer = kit_put(&b, 0, NULL, 2 * COUNT * sizeof(int));
    int sends = kit_rank == 0, code = MPI_SUCCESS;
    if (sends)
        code = init(mode, buffer, count, type, kit_size - 1, &request);
    else
        code = MPI_Recv_init(buffer, count, type, 0, TAG, MPI_COMM_WORLD, &request);
    CHECK(code == MPI_SUCCESS, "%s: error class %d", what, kit_class(code));
    MPI_Type_free(&type);
    for (int i = 0; i < OTHERS; i++) { /* take its handle */
        MPI_Type_vector(2, 1, 5, MPI_CHAR, &others[i]);
        MPI_Type_commit(&others[i]);
    }
    int rounds = ROUNDS;
#ifdef OPEN_MPI /* 4.1 sends zeros at the second start of a buffered send whose message has left */
    rounds = mode == BSEND ? 1 : ROUNDS;
#endif
    for (int round = 0; round < rounds; round++) {
        if (sends)
            fill(&b, round);
        else
            kit_put(&b, 0, NULL, 2 * COUNT * sizeof(int));
        if (!sends)
            MPI_Start(&request);
        MPI_Barrier(MPI_COMM_WORLD);
        if (sends) {
            code = MPI_Start(&request);
            CHECK(code == MPI_SUCCESS, "%s: MPI_Start: error class %d", what, kit_class(code));
        }
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(code == MPI_SUCCESS, "%s: MPI_Wait: error class %d", what, kit_class(code));
        if (!sends)
            check(&b, round, count, kind == SPACED ? 2 : 1, what);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Request_free(&request);
    for (int i = 0; i < OTHERS; i++)
        MPI_Type_free(&others[i]);
    MPI_Type_free(&kept);
    kit_close(&b);
}

static void cancelled(int mode, int count)
{
    struct kit_buffer b;
    MPI_Request request;
    char what[100];
    int sends = kit_rank == 0, last = kit_size - 1, gone = 0;
    snprintf(what, sizeof what, "%s of %d integers, cancelled", names[mode], count);
    kit_open(&b, KIT_DEVICE, 2 * COUNT * sizeof(int));
    void *buffer = kit_put(&b, 0, NULL, 2 * COUNT * sizeof(int));
    if (sends)
        CHECK(init(mode, buffer, count, MPI_INT, last, &request) == MPI_SUCCESS, "%s", what);
    for (int round = 0; round < ROUNDS; round++) {
        int cancels = round == 0;
        if (sends) {
            MPI_Status status;
            fill(&b, round);
            CHECK(MPI_Start(&request) == MPI_SUCCESS, "%s: MPI_Start", what);
            if (cancels)
                CHECK(MPI_Cancel(&request) == MPI_SUCCESS, "%s: MPI_Cancel", what);
            gone = 0;
            if (cancels && mode == SSEND) { /* waits for the receiver, where it was not cancelled */
                MPI_Barrier(MPI_COMM_WORLD);
                MPI_Wait(&request, &status);
                MPI_Test_cancelled(&status, &gone);
            } else {
                MPI_Wait(&request, &status);
                if (cancels)
                    MPI_Test_cancelled(&status, &gone);
                if (cancels)
                    MPI_Barrier(MPI_COMM_WORLD);
            }
            MPI_Send(&gone, 1, MPI_INT, last, TAG + 1, MPI_COMM_WORLD);
            continue;
        }
        MPI_Request receive;
        MPI_Status status;
        int done = 0, told = 0;
        MPI_Irecv(kit_put(&b, 0, NULL, 2 * COUNT * sizeof(int)), count, MPI_INT, 0, TAG, MPI_COMM_WORLD, &receive);
        if (cancels)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(&told, 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (told)
            MPI_Cancel(&receive);
        MPI_Wait(&receive, &status);
        MPI_Test_cancelled(&status, &done);
        CHECK(done == told, "%s, round %d: said to be cancelled: %d, but it has %scome", what, round, told,
              done ? "not " : "");
        if (!done)
            check(&b, round, count, 1, what);
    }
    if (sends)
        MPI_Request_free(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    kit_close(&b);
}

/* Started again and again while the messages before are under way: the receiver comes when all have been sent. The
 * request may be another one after each start. */
static void again(int mode, int count, enum kit_kind kind)
{
    enum { STARTS = 6 };
    struct kit_buffer b;
    MPI_Request request, other;
    char what[100];
    const int sends = kit_rank == 0, last = kit_size - 1;
    snprintf(what, sizeof what, "%s of %d integers in %s memory, again", names[mode], count,
             kind == KIT_HOST ? "host" : "device");
    kit_open(&b, kind, 2 * COUNT * sizeof(int));
    void *buffer = kit_put(&b, 0, NULL, 2 * COUNT * sizeof(int));
    if (sends)
        CHECK(init(mode, buffer, count, MPI_INT, last, &request) == MPI_SUCCESS, "%s", what);
    for (int round = 0; round < STARTS && sends; round++) {
        fill(&b, round);
        int code = MPI_Start(&request);
        if (round % 2) { /* a handle that the MPI gives anew may be that of the start before */
            static char out, in;
            MPI_Irecv(&in, 1, MPI_CHAR, 0, TAG + 2, MPI_COMM_SELF, &other);
            MPI_Send(&out, 1, MPI_CHAR, 0, TAG + 2, MPI_COMM_SELF);
        }
        CHECK(code == MPI_SUCCESS, "%s: MPI_Start: error class %d", what, kit_class(code));
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(code == MPI_SUCCESS && request != MPI_REQUEST_NULL, "%s: MPI_Wait: error class %d", what,
              kit_class(code));
        if (round % 2)
            CHECK(MPI_Wait(&other, MPI_STATUS_IGNORE) == MPI_SUCCESS, "%s: another request", what);
    }
    if (sends)
        MPI_Request_free(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < STARTS && kit_rank == last; round++) {
        kit_put(&b, 0, NULL, 2 * COUNT * sizeof(int));
        MPI_Recv(b.base + KIT_GUARD, count, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(&b, round, count, 1, what);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    kit_close(&b);
}

int main(int argc, char **argv)
{
    static char buffer[1 << 20];
    const int counts[] = {100, COUNT}; /* staged, and by a letter */
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Buffer_attach(buffer, sizeof buffer);
    for (int way = 0; way < 2; way++) {
        for (int mode = 0; mode < MODES; mode++) {
            for (int c = 0; c < 2; c++) {
                for (int kind = 0; kind < TYPES; kind++)
                    freed_type(mode, kind, counts[c]);
                if (mode == SEND || mode == SSEND)
                    cancelled(mode, counts[c]);
            }
        }
    }
    for (int c = 0; c < 2; c++) {
        again(BSEND, counts[c], KIT_DEVICE);
        again(BSEND, counts[c], KIT_HOST);
    }
    void *back;
    int size;
    MPI_Buffer_detach(&back, &size);
    return kit_end("persistent_sends");
}
