/* Receives of host memory that are older than the GPU and long enough for an RTS: rank 1 posts more than the library
 * notes without watching them, completes some in each way with messages of host memory, and only then passes memory of
 * a GPU. The rest gets what lies in device memory of rank 0, which must be fetched; so do one that the program has
 * freed, those whose communicator or type it has freed, and persistent ones. Of two that are cancelled before, the
 * program completes one after it has met the GPU. Arguments: how many, 1100 at most, of which few are all noted;
 * `request`, `comm` or `type`: which is freed first, and before the GPU is met. Two ranks. Needs TUTTI_STATS=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { RECEIVES = 1100, LEAST = 512, MOST = 2048, DEVICE = 80 };
enum { MEET = RECEIVES + 1, LEFT, FREED, GONE, TYPED, IDLE, ACTIVE, COMPLETE, GIVEN, WORD, ODD };
enum { TRIES = 100000000, FEW = 64, FEW_BYTES = 3, UNTOUCHED = 90 };

static struct kit_buffer mine;
static char *room;
static MPI_Request open[RECEIVES];
static int receives = RECEIVES, early;
static MPI_Status statuses[RECEIVES];
static int which[RECEIVES];

static int bytes_of(int i)
{
    return LEAST + (int)(random_mix(kit_seed + (uint64_t)i) % (MOST - LEAST));
}

static const char *contents(int i)
{
    static char data[MOST];
    for (int b = 0; b < MOST; b++)
        data[b] = (char)random_mix(kit_seed + (uint64_t)i * 1000003 + (uint64_t)b);
    return data;
}

static void send(int i, int on_device, MPI_Comm comm)
{
    const int bytes = bytes_of(i);
    const void *from = on_device ? kit_put(&mine, 0, contents(i), (size_t)bytes) : contents(i);
    MPI_Send(from, bytes, MPI_BYTE, 1, i, comm);
}

static void check_message(int i, const char *got)
{
    CHECK(memcmp(got, contents(i), (size_t)bytes_of(i)) == 0, "receive %d: wrong data", i);
}

/* Receives that end in other ways. */
static struct odd {
    MPI_Comm comm, gone;
    MPI_Datatype type;
    MPI_Request left, gone_one, typed, freed, early, late, idle, active, complete;
    char data[ODD - LEFT][MOST], given[MOST];
} odd;

static void odd_receive(int i, MPI_Comm comm, MPI_Request *request)
{
    MPI_Irecv(odd.data[i - LEFT], bytes_of(i), MPI_BYTE, 0, i, comm, request);
}

static long watched(void)
{
    return (long)kit_counted("receives of host memory", "have to be watched");
}

/* By which call they are put under watch: that which first frees something, or the first one with memory of a GPU. No
 * other request is put there: the handle of one that has completed may be that of another one. Where handles are
 * numbers, each of a few receives is noted. */
static enum { REQUEST, COMM, TYPE, GPU } watched_by;

static void odd_persistent(int i, MPI_Request *request)
{
    MPI_Recv_init(odd.data[i - LEFT], bytes_of(i), MPI_BYTE, 0, i, odd.comm, request);
}

/* Rank 0, before it passes memory of a GPU. */
static void odd_send_early(void)
{
    send(IDLE, 0, odd.comm);
    send(COMPLETE, 0, odd.comm);
    MPI_Send(NULL, 0, MPI_BYTE, 1, WORD, odd.comm);
}

static void odd_post(void)
{
    odd_receive(LEFT, odd.comm, &odd.left);
    odd_receive(GONE, odd.gone, &odd.gone_one);
    MPI_Type_contiguous(bytes_of(TYPED), MPI_BYTE, &odd.type);
    MPI_Type_commit(&odd.type);
    MPI_Irecv(odd.data[TYPED - LEFT], 1, odd.type, 0, TYPED, odd.comm, &odd.typed);
    odd_receive(FREED, odd.comm, &odd.freed);
    MPI_Irecv(odd.given, MOST, MPI_BYTE, 0, GIVEN, odd.comm, &odd.early);
    MPI_Irecv(odd.given, MOST, MPI_BYTE, 0, GIVEN, odd.comm, &odd.late);
    odd_persistent(IDLE, &odd.idle);
    odd_persistent(ACTIVE, &odd.active);
    odd_persistent(COMPLETE, &odd.complete);
    MPI_Start(&odd.idle);
    MPI_Start(&odd.complete);
    MPI_Wait(&odd.idle, MPI_STATUS_IGNORE);
    MPI_Probe(0, WORD, odd.comm, MPI_STATUS_IGNORE);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, WORD, odd.comm, MPI_STATUS_IGNORE);
    MPI_Start(&odd.active);
    MPI_Cancel(&odd.early);
    MPI_Cancel(&odd.late);
    MPI_Wait(&odd.early, MPI_STATUS_IGNORE);
}

static void odd_free(void)
{
    if (watched_by == COMM)
        MPI_Comm_free(&odd.gone);
    if (watched_by == TYPE)
        MPI_Type_free(&odd.type);
    MPI_Request_free(&odd.freed);
    if (watched_by != COMM)
        MPI_Comm_free(&odd.gone);
    if (watched_by != TYPE)
        MPI_Type_free(&odd.type);
}

/* What goes over the communicator that rank 1 has freed is longer than its receive. */
static void odd_send(void)
{
    send(LEFT, 1, odd.comm);
    MPI_Send(kit_put(&mine, 0, contents(GONE), MOST), MOST, MPI_BYTE, 1, GONE, odd.gone);
    send(TYPED, 1, odd.comm);
    send(ACTIVE, 1, odd.comm);
    send(COMPLETE, 1, odd.comm);
    MPI_Send(kit_put(&mine, 0, contents(IDLE), FEW_BYTES), FEW_BYTES, MPI_BYTE, 1, IDLE, odd.comm);
    send(FREED, 1, odd.comm);
    MPI_Comm_free(&odd.gone);
    MPI_Send(NULL, 0, MPI_BYTE, 1, WORD, odd.comm);
}

static void check_status(int i, const MPI_Status *status)
{
    int bytes = -1;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    CHECK(bytes == bytes_of(i) && status->MPI_TAG == i, "receive %d: tag %d with %d bytes of %d", i, status->MPI_TAG,
          bytes, bytes_of(i));
}

static void complete_some(int from, int n, int all)
{
    for (int left = n; left > 0;) {
        int out = 0;
        if (all)
            MPI_Waitsome(n, open + from, &out, which, statuses);
        else
            MPI_Testsome(n, open + from, &out, which, statuses);
        for (int k = 0; k < out; k++)
            check_status(from + which[k], &statuses[k]);
        left -= out;
    }
}

static void complete_any(int from, int n, int waits)
{
    for (int left = n; left > 0;) {
        int flag = 1, index = MPI_UNDEFINED;
        MPI_Status status;
        if (waits)
            MPI_Waitany(n, open + from, &index, &status);
        else
            MPI_Testany(n, open + from, &index, &flag, &status);
        if (flag)
            check_status(from + index, &status);
        left -= flag;
    }
}

/* Receives [from, from + n), by all calls in turn. */
static void complete(int from, int n)
{
    const int part = n / 8, end = from + n;
    int flag = 0;
    for (int i = from; i < from + part; i++) {
        MPI_Wait(&open[i], &statuses[i]);
        check_status(i, &statuses[i]);
    }
    from += part;
    for (int i = from; i < from + part; i++) {
        for (flag = 0; !flag;)
            MPI_Test(&open[i], &flag, &statuses[i]);
        check_status(i, &statuses[i]);
    }
    from += part;
    complete_some(from, part, 0);
    complete_some(from + part, part, 1);
    complete_any(from + 2 * part, part, 0);
    complete_any(from + 3 * part, part, 1);
    from += 4 * part;
    for (flag = 0; !flag;)
        MPI_Testall(part, open + from, &flag, statuses);
    for (int i = 0; i < part; i++)
        check_status(from + i, &statuses[i]);
    from += part;
    MPI_Waitall(end - from, open + from, statuses);
    for (int i = 0; from + i < end; i++)
        check_status(from + i, &statuses[i]);
}

static void meet(void)
{
    char *data;
    kit_open(&mine, KIT_DEVICE, MOST);
    data = kit_put(&mine, 0, contents(MEET), MOST);
    if (kit_rank == 0)
        MPI_Recv(data, MOST, MPI_BYTE, 1, MEET, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(data, MOST, MPI_BYTE, 0, MEET, MPI_COMM_WORLD);
}

/* The message of a freed receive comes with any call. */
static int freed_is_there(void)
{
    int flag = 0, is = 0;
    for (int i = 0; i < TRIES && !is; i++) {
        MPI_Iprobe(0, MEET, odd.comm, &flag, MPI_STATUS_IGNORE);
        is = memcmp(odd.data[FREED - LEFT], contents(FREED), (size_t)bytes_of(FREED)) == 0;
    }
    return is;
}

static void odd_await(int i, MPI_Request *request)
{
    MPI_Status status;
    MPI_Wait(request, &status);
    check_status(i, &status);
    check_message(i, odd.data[i - LEFT]);
    memset(odd.data[i - LEFT], 0, MOST);
}

/* One that was active, one that was complete with a message of host memory, one that was not active. */
static void odd_complete_persistent(void)
{
    int wrong = 0;
    odd_await(COMPLETE, &odd.complete);
    MPI_Start(&odd.complete);
    memset(odd.data[IDLE - LEFT], UNTOUCHED, MOST);
    MPI_Start(&odd.idle);
    odd_await(ACTIVE, &odd.active);
    MPI_Wait(&odd.idle, MPI_STATUS_IGNORE);
    for (int b = 0; b < bytes_of(IDLE); b++)
        wrong += odd.data[IDLE - LEFT][b] != (b < FEW_BYTES ? contents(IDLE)[b] : UNTOUCHED);
    CHECK(wrong == 0, "a short message for a persistent receive: %d bytes are wrong", wrong);
    odd_await(COMPLETE, &odd.complete);
    MPI_Request_free(&odd.idle);
    MPI_Request_free(&odd.active);
    MPI_Request_free(&odd.complete);
}

static void odd_complete(void)
{
    int cancelled = 0;
    MPI_Status status;
    MPI_Wait(&odd.late, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled, "a receive that was cancelled before the GPU was met is not");
    MPI_Wait(&odd.left, &status);
    check_status(LEFT, &status);
    const int code = MPI_Wait(&odd.gone_one, &status);
    CHECK(kit_class(code) == MPI_ERR_TRUNCATE, "a message longer than its buffer: class %d", kit_class(code));
    check_message(LEFT, odd.data[0]);
    MPI_Wait(&odd.typed, &status);
    check_status(TYPED, &status);
    check_message(TYPED, odd.data[TYPED - LEFT]);
    odd_complete_persistent();
    MPI_Recv(NULL, 0, MPI_BYTE, 0, WORD, odd.comm, MPI_STATUS_IGNORE);
    CHECK(freed_is_there(), "the message of a receive that was freed is not there");
}

int main(int argc, char **argv)
{
    long before = 0;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size < 2)
        kit_skip("unwatched", "needs two ranks, and the library in front");
    MPI_Comm_dup(MPI_COMM_WORLD, &odd.comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &odd.gone);
    MPI_Comm_set_errhandler(odd.gone, MPI_ERRORS_RETURN);
    receives = argc > 1 ? atoi(argv[1]) : RECEIVES;
    watched_by = argc <= 2 ? GPU : strcmp(argv[2], "comm") == 0 ? COMM : strcmp(argv[2], "type") == 0 ? TYPE : REQUEST;
    early = receives > 2 * DEVICE ? receives - DEVICE : receives / 2;
    room = calloc(RECEIVES, MOST);
    if (kit_rank == 1) {
        for (int i = 0; i < receives; i++)
            MPI_Irecv(room + (size_t)i * MOST, bytes_of(i), MPI_BYTE, 0, i, MPI_COMM_WORLD, &open[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < early && kit_rank == 0; i++)
        send(i, 0, MPI_COMM_WORLD);
    if (kit_rank == 1)
        complete(0, early);
    if (kit_rank == 0)
        odd_send_early();
    if (kit_rank == 1) {
        odd_post();
        before = watched();
    }
    if (kit_rank == 1 && watched_by != GPU)
        odd_free();
    if (kit_rank < 2)
        meet();
    if (kit_rank == 1) {
        CHECK(before == 0 || receives > FEW || sizeof(MPI_Request) > sizeof(int), "%ld receives are watched", before);
        CHECK(before > 0 || watched() == receives - early + 8, "%ld requests are put under watch, of %d receives",
              watched(), receives - early + 8);
    }
    if (kit_rank == 0) {
        for (int i = early; i < receives; i++)
            send(i, 1, MPI_COMM_WORLD);
        odd_send();
    } else if (kit_rank == 1) {
        complete(early, receives - early);
        if (watched_by == GPU)
            odd_free();
        odd_complete();
        for (int i = 0; i < receives; i++)
            check_message(i, room + (size_t)i * MOST);
        CHECK(kit_counted("MPI_Irecv", "fetched from the sender") > 0, "no message was fetched");
    }
    if (kit_rank < 2)
        kit_close(&mine);
    MPI_Comm_free(&odd.comm);
    free(room);
    return kit_end("unwatched");
}
