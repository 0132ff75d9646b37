/* Reductions while memory and descriptors cannot be had: on one rank the n-th thing that the library asks the system
 * for is refused, once, for each n in turn, as in life/alloc_failures.c. Calls of device memory on all ranks and calls
 * with memory of the host on one rank follow each other. All ranks of a call go to the MPI, or none: otherwise a rank
 * waits in the MPI without end. At most one call fails on a rank, with MPI_ERR_NO_MEM on the one that was refused; all
 * later calls succeed. With `stream` the refused call is one in the order of a stream. Then later reductions of device
 * memory go to the MPI and return an error; calls of host memory succeed. Arguments: blocking | nonblocking |
 * persistent | stream, first n (1), last n (400), step (1). Two or three ranks. A call that hangs ends by an alarm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"
#include "mpi/life/refuse.h"
#include "persistent.h"
#include "tutti/mpix.h"
#include "tutti/tutti.h"

enum { VICTIM = 1, SECONDS = 20, RANKS = 3, EACH = 1000, N = RANKS * EACH };
enum call { ALLREDUCE, REDUCE, SCATTER_BLOCK, SCATTER, SCAN, EXSCAN, CALLS };
enum form { BLOCKING, NONBLOCKING, PERSISTENT, STREAM };
static const char *const call_names[CALLS] = {"MPI_Allreduce",      "MPI_Reduce", "MPI_Reduce_scatter_block",
                                              "MPI_Reduce_scatter", "MPI_Scan",   "MPI_Exscan"};

static long failing; /* n */
static long refusals;
static int told; /* failures of the round on this rank */
static int
    in_order; /* 1: calls of device memory may fail again: the communicator has a stream, in which a call failed */

static int may_refuse = 1; /* 0: nothing more is refused in this round */

static void count(int on)
{
    refuse_count(on && may_refuse && kit_rank == VICTIM);
}

/* The same on all ranks where any of them says yes; by host memory, which nothing is refused for. */
static int any_rank(int mine)
{
    int any = 0;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return any;
}

static int value_of(int rank, int i)
{
    return rank * 1000000 + i;
}

static int sum_of(int ranks, int i)
{
    int sum = 0;
    for (int r = 0; r < ranks; r++)
        sum += value_of(r, i);
    return sum;
}

static void check_class(const char *what, int error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (error == MPI_SUCCESS)
        return;
    MPI_Error_string(error, text, &length);
    CHECK(told == 0 || in_order, "n %ld: %s: a call fails after another one has: %s", failing, what, text);
    CHECK(kit_class(error) == MPI_ERR_NO_MEM || kit_rank != VICTIM || in_order,
          "n %ld: %s: class %d, not MPI_ERR_NO_MEM: %s", failing, what, kit_class(error), text);
    told++;
    refusals++;
}

static int begin(enum form form, enum call call, const void *from, void *to, MPI_Comm comm, MPI_Request *request)
{
    static const int counts[RANKS] = {EACH, EACH, EACH};
    const int all = EACH * kit_size;
#define FORM(name, nonblocking, persistent, ...)                                                                       \
    (form == BLOCKING      ? name(__VA_ARGS__)                                                                         \
     : form == NONBLOCKING ? nonblocking(__VA_ARGS__, request)                                                         \
                           : persistent(__VA_ARGS__, MPI_INFO_NULL, request))
    switch (call) {
    case ALLREDUCE:
        return FORM(MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, from, to, all, MPI_INT, MPI_SUM, comm);
    case REDUCE:
        return FORM(MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, from, to, all, MPI_INT, MPI_SUM, 0, comm);
    case SCATTER_BLOCK:
        return FORM(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init, from, to, EACH,
                    MPI_INT, MPI_SUM, comm);
    case SCATTER:
        return FORM(MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init, from, to, counts, MPI_INT,
                    MPI_SUM, comm);
    case SCAN:
        return FORM(MPI_Scan, MPI_Iscan, MPI_Scan_init, from, to, all, MPI_INT, MPI_SUM, comm);
    default:
        return FORM(MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, from, to, all, MPI_INT, MPI_SUM, comm);
    }
}

static void check_result(enum call call, struct kit_buffer *out)
{
    const int *got = (const void *)kit_get(out, NULL);
    const int segments = call == SCATTER_BLOCK || call == SCATTER;
    const int n = call == EXSCAN && kit_rank == 0   ? 0
                  : call == REDUCE && kit_rank != 0 ? 0
                  : segments                        ? EACH
                                                    : EACH * kit_size;
    const int depth = call == SCAN ? kit_rank + 1 : call == EXSCAN ? kit_rank : kit_size;
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += got[i] != sum_of(depth, i + (segments ? kit_rank * EACH : 0));
    CHECK(wrong == 0, "n %ld: %s returns MPI_SUCCESS, %d elements are wrong", failing, call_names[call], wrong);
}

/* The buffers of a rank, of each kind of memory. */
struct memory {
    struct kit_buffer in, out[CALLS];
    void *from, *to[CALLS];
};

static void open_memory(struct memory *m, enum kit_kind kind)
{
    int values[N];
    for (int i = 0; i < N; i++)
        values[i] = value_of(kit_rank, i);
    kit_open(&m->in, kind, sizeof values);
    m->from = kit_put(&m->in, 0, values, sizeof values);
    for (int c = 0; c < CALLS; c++)
        kit_open(&m->out[c], kind, sizeof values);
}

static void close_memory(struct memory *m)
{
    kit_close(&m->in);
    for (int c = 0; c < CALLS; c++)
        kit_close(&m->out[c]);
}

static void blocking(struct memory *m, MPI_Comm comm)
{
    for (int c = 0; c < CALLS; c++) {
        m->to[c] = kit_put(&m->out[c], 0, NULL, N * sizeof(int));
        count(1);
        const int error = begin(BLOCKING, (enum call)c, m->from, m->to[c], comm, NULL);
        count(0);
        check_class(call_names[c], error);
        if (error == MPI_SUCCESS)
            check_result((enum call)c, &m->out[c]);
    }
}

static void broadcast(struct memory *m, enum form form, int root, MPI_Comm comm)
{
    int values[N], wrong = 0;
    for (int i = 0; i < N; i++)
        values[i] = value_of(root, i);
    void *at = kit_put(&m->out[0], 0, kit_rank == root ? values : NULL, sizeof values);
    MPI_Request request = MPI_REQUEST_NULL;
    count(form == BLOCKING);
    int error =
        form == NONBLOCKING ? MPI_Ibcast(at, N, MPI_INT, root, comm, &request) : MPI_Bcast(at, N, MPI_INT, root, comm);
    count(0);
    if (form == NONBLOCKING && error == MPI_SUCCESS)
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_class("MPI_Bcast", error);
    const int *got = (const void *)kit_get(&m->out[0], NULL);
    for (int i = 0; i < N && error == MPI_SUCCESS; i++)
        wrong += got[i] != values[i];
    CHECK(wrong == 0, "n %ld: MPI_Bcast returns MPI_SUCCESS, %d elements are wrong", failing, wrong);
}

static void complete(struct memory *m, enum call call, MPI_Request *request)
{
    count(1);
    const int error = MPI_Wait(request, MPI_STATUS_IGNORE);
    count(0);
    check_class(call_names[call], error);
    if (error == MPI_SUCCESS)
        check_result(call, &m->out[call]);
}

/* All calls are open at a time where `together`. A start that is refused is made again. */
static void nonblocking(struct memory *m, int together, MPI_Comm comm)
{
    MPI_Request requests[CALLS];
    for (int c = 0; c < CALLS; c++) {
        if (!together && c > 0)
            complete(m, (enum call)(c - 1), &requests[c - 1]);
        m->to[c] = kit_put(&m->out[c], 0, NULL, N * sizeof(int));
        requests[c] = MPI_REQUEST_NULL;
        count(1);
        int error = begin(NONBLOCKING, (enum call)c, m->from, m->to[c], comm, &requests[c]);
        count(0);
        if (error == MPI_SUCCESS)
            continue;
        check_class("a start", error);
        error = begin(NONBLOCKING, (enum call)c, m->from, m->to[c], comm, &requests[c]);
        CHECK(error == MPI_SUCCESS, "n %ld: %s: class %d though tried again", failing, call_names[c], kit_class(error));
    }
    for (int c = together ? 0 : CALLS - 1; c < CALLS; c++)
        complete(m, (enum call)c, &requests[c]);
}

/* Requests of device memory on all ranks, and requests of memory of the host on rank `host`: made while nothing is
 * refused, and started in turn. */
static void persistent(struct memory m[2], int host, MPI_Comm comm)
{
    MPI_Request requests[2][CALLS];
    for (int mixed = 0; mixed < 2; mixed++) {
        struct memory *const mine = &m[mixed && kit_rank == host ? KIT_HOST : KIT_DEVICE];
        for (int c = 0; c < CALLS; c++) {
            mine->to[c] = kit_put(&mine->out[c], 0, NULL, N * sizeof(int));
            const int error = begin(PERSISTENT, (enum call)c, mine->from, mine->to[c], comm, &requests[mixed][c]);
            CHECK(error == MPI_SUCCESS, "n %ld: %s_init: class %d", failing, call_names[c], kit_class(error));
        }
    }
    for (int start = 0; start < 4; start++) {
        const int mixed = start % 2;
        struct memory *const mine = &m[mixed && kit_rank == host ? KIT_HOST : KIT_DEVICE];
        for (int c = 0; c < CALLS; c++) {
            told = 0; /* each request has a communicator of its own */
            count(1);
            const int error = MPI_Start(&requests[mixed][c]);
            count(0);
            CHECK(error == MPI_SUCCESS, "n %ld: MPI_Start of %s: class %d", failing, call_names[c], kit_class(error));
            complete(mine, (enum call)c, &requests[mixed][c]);
        }
    }
    for (int mixed = 0; mixed < 2; mixed++) {
        for (int c = 0; c < CALLS; c++)
            MPI_Request_free(&requests[mixed][c]);
    }
}

enum first { FIRST_BLOCKING, FIRST_MOVE, FIRST_NONBLOCKING, FIRST_MIXED, FIRSTS };

/* A call in the order of the communicator's stream, and calls that are not, the first of which is of each kind in turn.
 * Rank 0 has memory of the host in the second half. */
static void in_stream(struct memory m[2], enum first first)
{
    struct memory *const device = &m[KIT_DEVICE], *const mixed = &m[kit_rank == 0 ? KIT_HOST : KIT_DEVICE];
    struct kit_buffer out; /* written when the stream comes to it */
    void *stream = NULL;
    MPIX_Stream mpix = MPIX_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Info info;
    CHECK(tutti_stream_create(&stream) == 0, "a stream");
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "tutti_stream");
    MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
    MPIX_Stream_create(info, &mpix);
    MPI_Info_free(&info);
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &comm) == MPI_SUCCESS, "a communicator with a stream");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    kit_open(&out, KIT_DEVICE, N * sizeof(int));
    void *to = kit_put(&out, 0, NULL, N * sizeof(int));
    count(1);
    const int error = MPIX_Allreduce_enqueue(device->from, to, EACH * kit_size, MPI_INT, MPI_SUM, comm);
    count(0);
    may_refuse = 0;
    check_class("MPIX_Allreduce_enqueue", error);
    in_order = 1;
    if (first == FIRST_MOVE)
        broadcast(device, BLOCKING, 0, comm);
    else if (first == FIRST_NONBLOCKING)
        nonblocking(device, 1, comm);
    else if (first == FIRST_MIXED)
        blocking(mixed, comm);
    blocking(device, comm);
    broadcast(device, BLOCKING, VICTIM, comm);
    const int failed = told;
    in_order = kit_rank != 0;
    told += kit_rank == 0; /* host memory: no call fails any more */
    blocking(mixed, comm);
    broadcast(mixed, BLOCKING, 0, comm);
    nonblocking(mixed, 1, comm);
    tutti_stream_sync(stream);
    const int refused = any_rank(kit_rank == VICTIM && refuse_made() >= failing);
    CHECK(refused || failed == 0, "n %ld: %d calls fail, and nothing was refused", failing, failed);
    MPI_Comm_free(&comm);
    MPIX_Stream_free(&mpix);
    tutti_stream_destroy(stream);
    kit_close(&out);
}

static void round_of(enum form form, MPI_Comm comm)
{
    struct memory m[2];
    open_memory(&m[KIT_HOST], KIT_HOST);
    open_memory(&m[KIT_DEVICE], KIT_DEVICE);
    /* The rank with memory of the host: none, another one than that which is refused, none, the latter. */
    const int host[] = {-1, 0, -1, VICTIM};
    if (form == PERSISTENT) {
        persistent(m, 0, comm);
    } else if (form == STREAM) {
        for (int first = 0; first < FIRSTS; first++) {
            in_order = 0;
            told = 0;
            may_refuse = 1;
            refuse_nth(failing);
            in_stream(m, (enum first)first);
        }
    } else {
        for (int i = 0; i < 4; i++) {
            struct memory *const mine = &m[host[i] == kit_rank ? KIT_HOST : KIT_DEVICE];
            if (form == BLOCKING)
                blocking(mine, comm);
            else
                nonblocking(mine, i % 2 == 0, comm);
            broadcast(mine, BLOCKING, 0, comm); /* of both teams, of which one may have been given up */
            broadcast(mine, NONBLOCKING, 0, comm);
        }
    }
    close_memory(&m[KIT_HOST]);
    close_memory(&m[KIT_DEVICE]);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const char *what = argc > 1 ? argv[1] : "blocking";
    const long from = argc > 2 ? atol(argv[2]) : 1, to = argc > 3 ? atol(argv[3]) : 400,
               step = argc > 4 ? atol(argv[4]) : 1;
    const enum form form = strcmp(what, "persistent") == 0    ? PERSISTENT
                           : strcmp(what, "nonblocking") == 0 ? NONBLOCKING
                           : strcmp(what, "stream") == 0      ? STREAM
                                                              : BLOCKING;
    refuse_open();
    long done = 0;
    int more = kit_size <= RANKS;
    for (long n = from; n <= to && more; n += step, done++) {
        MPI_Comm comm;
        alarm(SECONDS);
        if (getenv("TUTTI_TEST_SAY"))
            fprintf(stderr, "rank %d: n %ld\n", kit_rank, n);
        failing = n;
        told = 0;
        may_refuse = 1;
        refuse_nth(n);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        round_of(form, comm);
        more = any_rank(kit_rank == VICTIM && refuse_made() >= n);
        more = more && !any_rank(check_failed() > 0);
        MPI_Comm_free(&comm);
    }
    if (kit_rank == VICTIM)
        printf("%s: %ld things refused one by one, %ld calls failed and said so\n", what, done, refusals);
    return kit_end("alloc_reductions");
}
