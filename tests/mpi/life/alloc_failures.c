/* Memory and descriptors that cannot be had: on one rank the n-th thing that the library asks the system for (memory, a
 * memfd, a descriptor's duplicate, a mapping) is refused, once, for each n in turn. Nothing hangs; what a call reports
 * as done is done and right; a failing call returns MPI_ERR_NO_MEM, and may be tried again. Arguments: messages | types
 * | reductions | blocking | moves | nonblocking | alone | enqueue | many, first n (1), last n (300), step (1); with
 * many each call in turn is refused the first thing, then each the second. Two ranks. A hang ends by an alarm, which
 * says n.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"
#include "refuse.h"
#include "tutti/mpix.h"
#include "tutti/tutti.h"

enum { VICTIM = 1, SIZES = 3, SECONDS = 20 };
static const int sizes[SIZES] = {700, 3000, 60000}; /* elements */

static long failing; /* n */

static void count(int on)
{
    refuse_count(on && kit_rank == VICTIM);
}

/* ---- what is done meanwhile ---- */

/* The same on all ranks where any of them says yes; by host memory, which nothing is refused for. */
static int any_rank(int mine)
{
    int any = 0;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return any;
}

static int value_of(int rank, int round, int i)
{
    return rank * 1000000 + round * 7 + i;
}

static void fill(int *values, int n, int round)
{
    for (int i = 0; i < n; i++)
        values[i] = value_of(kit_rank, round, i);
}

static long refusals;

/* The first failure of a communicator on a rank is said to be a lack of memory, on the others as well; after it the
 * communicator may be unusable. */
static int told; /* of failures in this round */
static void check_class(const char *what, int error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (error == MPI_SUCCESS || kit_class(error) == MPI_ERR_PENDING)
        return;
    MPI_Error_string(error, text, &length);
    CHECK(kit_class(error) == MPI_ERR_NO_MEM || (told && strstr(text, "an earlier failure left this communicator")),
          "n %ld: %s: class %d, not MPI_ERR_NO_MEM: %s", failing, what, kit_class(error), text);
    told++;
    refusals++;
}

/* One that is refused is made again, as the other rank's waits for it. */
#define AGAIN(call)                                                                                                    \
    do {                                                                                                               \
        count(1);                                                                                                      \
        int error_ = call;                                                                                             \
        count(0);                                                                                                      \
        check_class(#call, error_);                                                                                    \
        if (error_ != MPI_SUCCESS)                                                                                     \
            error_ = call;                                                                                             \
        CHECK(error_ == MPI_SUCCESS, "n %ld: %s: class %d though tried again", failing, #call, kit_class(error_));     \
    } while (0)

/* Elements lie two apart where `stride`. */
static void messages(MPI_Comm comm, int stride)
{
    struct kit_buffer in[SIZES], out[SIZES];
    MPI_Request requests[2 * SIZES];
    MPI_Status statuses[2 * SIZES];
    MPI_Datatype types[SIZES];
    const int other = 1 - kit_rank;
    static int values[2 * 60000];
    for (int i = 0; i < SIZES; i++) {
        const size_t bytes = (size_t)sizes[i] * sizeof(int) * (stride ? 2 : 1);
        kit_open(&in[i], KIT_DEVICE, bytes);
        kit_open(&out[i], KIT_DEVICE, bytes);
        fill(values, sizes[i] * (stride ? 2 : 1), i);
        void *from = kit_put(&in[i], 0, values, bytes), *to = kit_put(&out[i], 0, NULL, bytes);
        MPI_Type_vector(sizes[i], 1, stride ? 2 : 1, MPI_INT, &types[i]);
        MPI_Type_commit(&types[i]);
        AGAIN(MPI_Irecv(to, 1, types[i], other, i, comm, &requests[i]));
        AGAIN(MPI_Isend(from, 1, types[i], other, i, comm, &requests[SIZES + i]));
    }
    count(1);
    int error = MPI_Waitall(2 * SIZES, requests, statuses);
    count(0);
    for (int i = 0; error == MPI_ERR_IN_STATUS && i < 2 * SIZES; i++)
        check_class("a message", statuses[i].MPI_ERROR);
    CHECK(error == MPI_SUCCESS || error == MPI_ERR_IN_STATUS, "n %ld: MPI_Waitall: class %d", failing,
          kit_class(error));
    for (int i = 0; i < SIZES; i++) {
        const int fine = error == MPI_SUCCESS || statuses[i].MPI_ERROR == MPI_SUCCESS;
        const int *got = (const void *)kit_get(&out[i], NULL);
        int wrong = 0;
        for (int j = 0; j < sizes[i]; j++)
            wrong += got[j * (stride ? 2 : 1)] != value_of(other, i, j * (stride ? 2 : 1));
        CHECK(!fine || wrong == 0, "n %ld: message %d is said to have come, %d of its elements are wrong", failing, i,
              wrong);
        MPI_Type_free(&types[i]);
        kit_close(&in[i]);
        kit_close(&out[i]);
    }
}

enum { MANY = 100, EACH = 200 };                               /* more than a call keeps without memory of its own */
static MPI_Status *volatile no_statuses = MPI_STATUSES_IGNORE; /* a compiler takes the constant for an array of none */
enum completion { WAITALL, TESTALL, WAITSOME, TESTSOME, WAITANY, TESTANY, COMPLETIONS };

/* How many of `n` requests it completes, or less than 0 if it fails: *error. */
static int complete(enum completion call, int n, MPI_Request requests[], int *error)
{
    int flag = 0, out = 0, which[MANY];
    count(1);
    if (call == WAITALL)
        *error = MPI_Waitall(n, requests, no_statuses);
    else if (call == TESTALL)
        *error = MPI_Testall(n, requests, &flag, no_statuses);
    else if (call == WAITSOME)
        *error = MPI_Waitsome(n, requests, &out, which, no_statuses);
    else if (call == TESTSOME)
        *error = MPI_Testsome(n, requests, &out, which, no_statuses);
    else if (call == WAITANY)
        *error = MPI_Waitany(n, requests, which, MPI_STATUS_IGNORE);
    else
        *error = MPI_Testany(n, requests, which, &flag, MPI_STATUS_IGNORE);
    count(0);
    if (*error != MPI_SUCCESS)
        return -1;
    return call == WAITALL || (call == TESTALL && flag) ? n
           : call == WAITSOME || call == TESTSOME       ? out
                                                        : call == WAITANY || flag;
}

/* Completion calls of so many requests that they need memory of their own. One that is refused has completed nothing,
 * and is made again. */
static void many(MPI_Comm comm, enum completion call)
{
    struct kit_buffer in, out;
    MPI_Request receives[MANY], before[MANY], sends[MANY];
    static int values[MANY * EACH];
    const int other = 1 - kit_rank;
    int lost = 0;
    fill(values, MANY * EACH, 0);
    kit_open(&in, KIT_DEVICE, sizeof values);
    kit_open(&out, KIT_DEVICE, sizeof values);
    const int *from = kit_put(&in, 0, values, sizeof values);
    int *to = kit_put(&out, 0, NULL, sizeof values);
    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(to + i * EACH, EACH, MPI_INT, other, i, comm, &receives[i]);
        MPI_Isend(from + i * EACH, EACH, MPI_INT, other, i, comm, &sends[i]);
    }
    for (int left = MANY; left > 0;) {
        int error;
        memcpy(before, receives, sizeof before);
        const int done = complete(call, MANY, receives, &error);
        if (done >= 0) {
            left -= done;
            continue;
        }
        CHECK(kit_class(error) == MPI_ERR_NO_MEM || kit_class(error) == MPI_ERR_IN_STATUS, "n %ld: call %d: class %d",
              failing, call, kit_class(error));
        refusals++;
        if (memcmp(before, receives, sizeof before) == 0)
            continue;
        lost = 1; /* of a message that could not be fetched */
        MPI_Waitall(MANY, receives, no_statuses);
        left = 0;
    }
    MPI_Waitall(MANY, sends, no_statuses);
    const int *got = (const void *)kit_get(&out, NULL);
    int wrong = 0;
    for (int i = 0; i < MANY * EACH && !lost; i++)
        wrong += got[i] != value_of(other, 0, i);
    CHECK(wrong == 0, "n %ld: call %d: all is said to have come, %d elements are wrong", failing, call, wrong);
    kit_close(&in);
    kit_close(&out);
}

static void check_sum(const char *what, struct kit_buffer *out, int n, int fine)
{
    const int *got = (const void *)kit_get(out, NULL);
    int wrong = 0;
    for (int j = 0; j < n; j++)
        wrong += got[j] != value_of(0, 1, j) + value_of(1, 1, j);
    CHECK(!fine || wrong == 0, "n %ld: %s returns MPI_SUCCESS, %d elements are wrong", failing, what, wrong);
}

static void reductions(MPI_Comm comm)
{
    enum { N = 3000 };
    struct kit_buffer in, out[2];
    MPI_Request requests[2];
    int values[N], errors[2];
    fill(values, N, 1);
    kit_open(&in, KIT_DEVICE, sizeof values);
    const void *from = kit_put(&in, 0, values, sizeof values);
    for (int i = 0; i < 2; i++) {
        kit_open(&out[i], KIT_DEVICE, sizeof values);
        void *to = kit_put(&out[i], 0, NULL, sizeof values);
        AGAIN(MPI_Iallreduce(from, to, N, MPI_INT, MPI_SUM, comm, &requests[i]));
    }
    for (int i = 0; i < 2; i++) {
        count(1);
        errors[i] = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        count(0);
        check_class("MPI_Iallreduce", errors[i]);
        check_sum("MPI_Iallreduce", &out[i], N, errors[i] == MPI_SUCCESS);
        kit_close(&out[i]);
    }
    kit_close(&in);
}

/* The first opens the team. */
static void blocking(MPI_Comm comm)
{
    enum { N = 3000, CALLS = 3 };
    struct kit_buffer in, out;
    int values[N];
    fill(values, N, 1);
    kit_open(&in, KIT_DEVICE, sizeof values);
    kit_open(&out, KIT_DEVICE, sizeof values);
    const void *from = kit_put(&in, 0, values, sizeof values);
    for (int i = 0; i < CALLS; i++) {
        void *to = kit_put(&out, 0, NULL, sizeof values);
        count(1);
        const int error = MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, comm);
        count(0);
        check_sum("MPI_Allreduce", &out, N, error == MPI_SUCCESS);
        check_class("MPI_Allreduce", error);
        CHECK(any_rank(error != MPI_SUCCESS) == (error != MPI_SUCCESS), "n %ld: MPI_Allreduce fails on one rank alone",
              failing);
    }
    kit_close(&in);
    kit_close(&out);
}

/* Calls that move data, whose ranks agree on a way that all of them can go. */
static void moves(MPI_Comm comm)
{
    enum { N = 3000, CALLS = 3, ROUNDS = 2 };
    struct kit_buffer in, out;
    static int values[2 * N];
    fill(values, 2 * N, 1);
    kit_open(&in, KIT_DEVICE, sizeof values);
    kit_open(&out, KIT_DEVICE, sizeof values);
    const int *from = kit_put(&in, 0, values, sizeof values);
    for (int i = 0; i < CALLS * ROUNDS; i++) {
        const int root = i / CALLS, call = i % CALLS, shift = call == 2 ? kit_rank * N : 0;
        int *to = kit_put(&out, 0, call == 0 && kit_rank == root ? values : NULL, sizeof values), wrong = 0;
        count(1);
        const int error = call == 0   ? MPI_Bcast(to, N, MPI_INT, root, comm)
                          : call == 1 ? MPI_Allgather(from, N, MPI_INT, to, N, MPI_INT, comm)
                                      : MPI_Alltoall(from, N, MPI_INT, to, N, MPI_INT, comm);
        count(0);
        const int *got = (const void *)kit_get(&out, NULL);
        for (int j = 0; j < (call == 0 ? N : 2 * N); j++)
            wrong += got[j] != (call == 0 ? value_of(root, 1, j) : value_of(j / N, 1, j % N + shift));
        CHECK(error != MPI_SUCCESS || wrong == 0, "n %ld: call %d returns MPI_SUCCESS, %d elements are wrong", failing,
              i, wrong);
        check_class("a call that moves data", error);
        MPI_Request request; /* nonblocking calls have a team of their own, which no rank has given up */
        check_class("MPI_Iallgather", MPI_Iallgather(from, N, MPI_INT, to, N, MPI_INT, comm, &request));
        check_class("MPI_Iallgather", MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    kit_close(&in);
    kit_close(&out);
}

/* The same by nonblocking calls, three of which are open at a time. */
static void nonblocking_moves(MPI_Comm comm)
{
    enum { N = 3000, CALLS = 3, ROUNDS = 3 };
    struct kit_buffer in, out[CALLS];
    static int values[2 * N];
    fill(values, 2 * N, 1);
    kit_open(&in, KIT_DEVICE, sizeof values);
    for (int i = 0; i < CALLS; i++)
        kit_open(&out[i], KIT_DEVICE, sizeof values);
    const int *from = kit_put(&in, 0, values, sizeof values);
    for (int root = 0; root < ROUNDS; root++) {
        MPI_Request requests[CALLS];
        for (int i = 0; i < CALLS; i++) {
            int *to = kit_put(&out[i], 0, i == 0 && kit_rank == root % 2 ? values : NULL, sizeof values);
            requests[i] = MPI_REQUEST_NULL;
            AGAIN(i == 0   ? MPI_Ibcast(to, N, MPI_INT, root % 2, comm, &requests[i])
                  : i == 1 ? MPI_Iallgather(from, N, MPI_INT, to, N, MPI_INT, comm, &requests[i])
                           : MPI_Ialltoall(from, N, MPI_INT, to, N, MPI_INT, comm, &requests[i]));
        }
        for (int i = 0; i < CALLS; i++) {
            int wrong = 0;
            count(1);
            const int error = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            count(0);
            check_class("a nonblocking call that moves data", error);
            const int *got = (const void *)kit_get(&out[i], NULL), shift = i == 2 ? kit_rank * N : 0;
            for (int j = 0; j < (i == 0 ? N : 2 * N); j++)
                wrong += got[j] != (i == 0 ? value_of(root % 2, 1, j) : value_of(j / N, 1, j % N + shift));
            CHECK(error != MPI_SUCCESS || wrong == 0, "n %ld: call %d completes, %d elements are wrong", failing, i,
                  wrong);
        }
    }
    kit_close(&in);
    for (int i = 0; i < CALLS; i++)
        kit_close(&out[i]);
}

/* Nonblocking calls that move data on a communicator of one rank, which are made at once. A call that is refused has
 * moved nothing. */
static void alone(void)
{
    enum { N = 3000, CALLS = 4, ROUNDS = 2 };
    struct kit_buffer in, out;
    int values[N];
    fill(values, N, 1);
    kit_open(&in, KIT_DEVICE, sizeof values);
    kit_open(&out, KIT_DEVICE, sizeof values);
    const void *from = kit_put(&in, 0, values, sizeof values);
    for (int i = 0; i < CALLS * ROUNDS; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        void *to = kit_put(&out, 0, NULL, sizeof values);
        count(1);
        int error = i % CALLS == 0   ? MPI_Iallgather(from, N, MPI_INT, to, N, MPI_INT, MPI_COMM_SELF, &request)
                    : i % CALLS == 1 ? MPI_Igather(from, N, MPI_INT, to, N, MPI_INT, 0, MPI_COMM_SELF, &request)
                    : i % CALLS == 2 ? MPI_Iscatter(from, N, MPI_INT, to, N, MPI_INT, 0, MPI_COMM_SELF, &request)
                                     : MPI_Ialltoall(from, N, MPI_INT, to, N, MPI_INT, MPI_COMM_SELF, &request);
        const int begun = error == MPI_SUCCESS;
        if (begun)
            error = MPI_Wait(&request, MPI_STATUS_IGNORE);
        count(0);
        check_class("a call of one rank", error);
        const int *got = (const void *)kit_get(&out, NULL), touched = memcmp(got, values, sizeof values) == 0;
        CHECK(error != MPI_SUCCESS || touched, "n %ld: call %d of one rank returns MPI_SUCCESS: wrong data", failing,
              i);
        CHECK(begun || !touched, "n %ld: call %d of one rank has failed, and its data have moved", failing, i);
    }
    kit_close(&in);
    kit_close(&out);
}

/* Making the communicator fails on all ranks or on none. */
static void enqueue(void)
{
    enum { N = 3000 };
    struct kit_buffer in, out;
    int values[N];
    void *stream = NULL;
    MPIX_Stream mpix = MPIX_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Info info;
    fill(values, N, 1);
    kit_open(&in, KIT_DEVICE, sizeof values);
    kit_open(&out, KIT_DEVICE, sizeof values);
    const void *from = kit_put(&in, 0, values, sizeof values);
    void *to = kit_put(&out, 0, NULL, sizeof values);
    CHECK(tutti_stream_create(&stream) == 0, "a stream");
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "tutti_stream");
    MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
    AGAIN(MPIX_Stream_create(info, &mpix));
    MPI_Info_free(&info);
    count(1);
    int error = MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &comm);
    count(0);
    const int failed = any_rank(error != MPI_SUCCESS);
    refusals += failed;
    CHECK(!failed || error != MPI_SUCCESS, "n %ld: MPIX_Stream_comm_create succeeds here and fails elsewhere", failing);
    if (!failed) {
        count(1);
        error = MPIX_Allreduce_enqueue(from, to, N, MPI_INT, MPI_SUM, comm);
        int synced = tutti_stream_sync(stream);
        if (error == MPI_SUCCESS && synced == 0)
            error = MPIX_Barrier_enqueue(comm); /* tells of a failure of the kernels */
        synced |= tutti_stream_sync(stream);
        count(0);
        check_sum("MPIX_Allreduce_enqueue", &out, N, error == MPI_SUCCESS && synced == 0);
        check_class("MPIX_Allreduce_enqueue", error);
    }
    any_rank(0);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    MPIX_Stream_free(&mpix);
    tutti_stream_destroy(stream);
    kit_close(&in);
    kit_close(&out);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const char *what = argc > 1 ? argv[1] : "messages";
    const long from = argc > 2 ? atol(argv[2]) : 1, to = argc > 3 ? atol(argv[3]) : 300,
               step = argc > 4 ? atol(argv[4]) : 1;
    refuse_open();
    long done = 0;
    int more = 1;
    for (long n = from; n <= to && more; n += step, done++) {
        MPI_Comm comm;
        alarm(SECONDS);
        if (getenv("TUTTI_TEST_SAY"))
            fprintf(stderr, "rank %d: n %ld\n", kit_rank, n);
        failing = strcmp(what, "many") == 0 ? n / COMPLETIONS + 1 : n;
        told = 0;
        refuse_nth(failing);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        if (strcmp(what, "enqueue") == 0)
            enqueue();
        else if (strcmp(what, "reductions") == 0)
            reductions(comm);
        else if (strcmp(what, "blocking") == 0)
            blocking(comm);
        else if (strcmp(what, "moves") == 0)
            moves(comm);
        else if (strcmp(what, "nonblocking") == 0)
            nonblocking_moves(comm);
        else if (strcmp(what, "alone") == 0)
            alone();
        else if (strcmp(what, "many") == 0)
            many(comm, (enum completion)(n % COMPLETIONS));
        else
            messages(comm, strcmp(what, "types") == 0);
        more = strcmp(what, "many") == 0 || any_rank(kit_rank == VICTIM && refuse_made() >= n);
        more = more && !any_rank(check_failed() > 0);
        MPI_Comm_free(&comm);
    }
    if (kit_rank == VICTIM)
        printf("%s: %ld things refused one by one, %ld calls failed and said so\n", what, done, refusals);
    return kit_end("alloc_failures");
}
