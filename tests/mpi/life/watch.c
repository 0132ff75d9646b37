/* Watchfulness: the reports and results when a rank is late, calls the wrong thing, stops for a while, or dies.
 *
 *   watch late      TUTTI_STALL_SECONDS=1: the waiting ranks report once which rank has not arrived at which call
 *   watch first     the same at the first call, where no rank can know which one is missing
 *   watch nodes     the same over nodes (TUTTI_NODE_RANKS=1): the reports name the call, its count and what it waits
 * for watch mismatch  another count, operator, type, root or segments on one rank: reported and returned as an error
 *   watch stopped   a rank is stopped for three seconds in the middle of calls: every result is right
 *   watch finalize  the last rank kills itself between calls; the others end by MPI_Finalize
 *   watch killed N  the last rank kills itself in call N; the others must get an error or end. For watch.sh. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "kit.h"

enum { COUNT = 5000, BOUND = 40 }; /* seconds: what ends at all ends long before, on a loaded machine too */
static struct kit_buffer in, out;
static int mine[COUNT], want[COUNT];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int sum_on(MPI_Comm comm, int count, MPI_Op op, MPI_Datatype type)
{
    for (int i = 0; i < COUNT; i++) {
        mine[i] = kit_rank * 3 + i;
        want[i] = kit_size * (kit_size - 1) / 2 * 3 + kit_size * i;
    }
    void *to = kit_put(&out, 0, NULL, sizeof mine);
    return MPI_Allreduce(kit_put(&in, 0, mine, sizeof mine), to, count, type, op, comm);
}

static const char *says(int error)
{
    static char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(error, text, &length);
    return text;
}

static void right(int error, int count, const char *when)
{
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(&out, NULL), want, (size_t)count * sizeof *want) == 0, "%s: class %d",
          when, kit_class(error));
}

/* What this rank writes in a call for which the last rank is late. */
static const char *report_of_late(int last)
{
    for (int i = 0; i < 2; i++) /* ranks over nodes agree on the algorithm in calls 1, 2 and 4 */
        right(sum_on(MPI_COMM_WORLD, 1234, MPI_SUM, MPI_INT), 1234, "before");
    MPI_Barrier(MPI_COMM_WORLD);
    capture_start();
    if (kit_rank == last)
        usleep(3300000);
    int error = sum_on(MPI_COMM_WORLD, 1234, MPI_SUM, MPI_INT);
    const char *text = capture_end();
    right(error, 1234, "a late rank");
    return text;
}

static void late(void)
{
    const int last = kit_size - 1;
    const char *text = report_of_late(last);
    char who[32];
    snprintf(who, sizeof who, "rank %d ", last);
    if (kit_rank != last && !kit_plain) {
        CHECK(capture_count(text, "has not arrived") == 1, "a late rank was told %d times: %s",
              capture_count(text, "has not arrived"), text);
        CHECK(capture_count(text, who) >= 1 && capture_count(text, "MPI_Allreduce") >= 1 && capture_count(text, "1234"),
              "the report names not rank, call and count: %s", text);
    } else {
        CHECK(text[0] == '\0', "the late rank itself said: %s", text);
    }
}

static void nodes(void)
{
    const int last = kit_size - 1;
    const char *text = report_of_late(last);
    char where[64];
    snprintf(where, sizeof where, "receive from rank %d", last);
    if (kit_rank == last || kit_plain) {
        CHECK(text[0] == '\0', "the late rank itself reports: %s", text);
        return;
    }
    CHECK(capture_count(text, "waiting for") == 1, "%d reports: %s", capture_count(text, "waiting for"), text);
    CHECK(capture_count(text, "MPI_Allreduce of 1234 ") == 1 && capture_count(text, where) == 1,
          "the report names not call, count and peer: %s", text);
}

/* The same at the first call on a communicator, where the ranks know nothing of each other. */
static void first(void)
{
    int last = kit_size - 1;
    MPI_Comm fresh;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    MPI_Comm_set_name(fresh, "fresh");
    capture_start();
    if (kit_rank == last)
        usleep(3300000);
    int error = sum_on(fresh, 1234, MPI_SUM, MPI_INT);
    const char *text = capture_end();
    right(error, 1234, "a rank late at the first call");
    int told = capture_count(text, "not all ranks have arrived at a reduction on fresh");
    MPI_Comm_free(&fresh);
    CHECK(told == (kit_rank != last && !kit_plain), "a rank late at the first call was told %d times: %s", told, text);
}

/* A call in which the odd rank has another `what`; `word` is what a report must say beside the library's name. */
enum odd {
    COUNT_DIFFERS,
    OP_DIFFERS,
    TYPE_DIFFERS,
    ROOT_DIFFERS,
    SEGMENTS_DIFFER,
    CALL_DIFFERS,
    SOURCE_DIFFERS,
    MOVE_DIFFERS,
    DIFFERENCES
};
static const struct {
    const char *what, *word, *second;
} differences[DIFFERENCES] = {{"count", "100", "101"},
                              {"operator", "sum", "max"},
                              {"type", "int32", "float"},
                              {"root", "root 0", "root 1"},
                              {"segments", "counts with", ""},
                              {"call", "MPI_Scan", "MPI_Exscan"},
                              {"root of data", "MPI_Bcast, root 0", "root 1"},
                              {"call that moves data", "MPI_Gather, root 0", "MPI_Scatter"}};

static int differ(MPI_Comm comm, enum odd what, int odd)
{
    int segments[64] = {0};
    void *to = kit_put(&out, 0, NULL, sizeof mine), *from = kit_put(&in, 0, mine, sizeof mine);
    switch (what) {
    case ROOT_DIFFERS:
        return MPI_Reduce(from, to, 100, MPI_INT, MPI_SUM, odd, comm);
    case SEGMENTS_DIFFER:
        segments[0] = odd ? 40 : 50;
        segments[1] = odd ? 60 : 50;
        return MPI_Reduce_scatter(from, to, segments, MPI_INT, MPI_SUM, comm);
    case SOURCE_DIFFERS:
        return MPI_Bcast(from, 100, MPI_INT, odd, comm);
    case MOVE_DIFFERS:
        return odd ? MPI_Scatter(from, 100, MPI_INT, to, 100, MPI_INT, 0, comm)
                   : MPI_Gather(from, 100, MPI_INT, to, 100, MPI_INT, 0, comm);
    case CALL_DIFFERS:
        return odd ? MPI_Exscan(from, to, 100, MPI_INT, MPI_SUM, comm)
                   : MPI_Scan(from, to, 100, MPI_INT, MPI_SUM, comm);
    default:
        return sum_on(comm, odd && what == COUNT_DIFFERS ? 101 : 100, odd && what == OP_DIFFERS ? MPI_MAX : MPI_SUM,
                      odd && what == TYPE_DIFFERS ? MPI_FLOAT : MPI_INT);
    }
}

/* Until data go past the MPI: before, it has these calls, and waits forever. */
static void open_endpoints(void)
{
    for (int turn = 0; turn < 200 && (turn < 20 || !kit_counted("MPI_Bcast", "fetched from each other")); turn++) {
        void *at = kit_put(&out, 0, mine, sizeof mine);
        CHECK(MPI_Bcast(at, COUNT, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "a broadcast failed");
    }
}

static void mismatch(void)
{
    if (kit_size < 2)
        kit_skip("watch", "needs two ranks");
    open_endpoints();
    for (int i = 0; i < DIFFERENCES; i++) {
        const char *what = differences[i].what;
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        right(sum_on(comm, 100, MPI_SUM, MPI_INT), 100, "before");
        int odd = kit_rank == kit_size - 1;
        double start = now();
        capture_start();
        int error = differ(comm, (enum odd)i, odd);
        const char *text = capture_end();
        CHECK(error != MPI_SUCCESS, "another %s on one rank is not an error", what);
        CHECK(error == MPI_SUCCESS || strstr(says(error), "Tutti: the ranks' calls do not match"),
              "another %s on one rank: MPI_Error_string says: %s", what, says(error));
        CHECK(now() - start < BOUND, "another %s on one rank took %g s", what, now() - start);
        int said = capture_count(text, "tutti") && capture_count(text, differences[i].word), any;
        said = said && (!*differences[i].second || capture_count(text, differences[i].second));
        MPI_Allreduce(&said, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        CHECK(any, "another %s on one rank is not said by any", what);
        capture_start();
        start = now();
        error = sum_on(comm, 100, MPI_SUM, MPI_INT);
        capture_end();
        CHECK(error != MPI_SUCCESS && now() - start < BOUND, "the communicator is used on after another %s", what);
        right(sum_on(MPI_COMM_WORLD, COUNT, MPI_SUM, MPI_INT), COUNT, "another communicator");
        MPI_Comm_free(&comm);
    }
}

static int last_pid;
static volatile int continued;

static void *stop(void *unused)
{
    usleep(300000);
    kill(last_pid, SIGSTOP);
    usleep(3000000);
    kill(last_pid, SIGCONT);
    usleep(300000);
    continued = 1;
    return unused;
}

static void stopped(void)
{
    if (kit_size < 2)
        kit_skip("watch", "needs two ranks");
    pthread_t thread;
    last_pid = (int)getpid();
    MPI_Bcast(&last_pid, 1, MPI_INT, kit_size - 1, MPI_COMM_WORLD);
    if (kit_rank == 0)
        pthread_create(&thread, NULL, stop, NULL);
    int on = 1;
    for (long call = 0; on; call++) {
        int count = call % 7 ? 10 : COUNT;
        right(sum_on(MPI_COMM_WORLD, count, MPI_SUM, MPI_INT), count, "around a stop");
        if (call % 50 == 0) {
            on = kit_rank == 0 ? !continued : 0;
            MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
        if (check_failed() > 20)
            break;
    }
    if (kit_rank == 0)
        pthread_join(thread, NULL);
}

/* Survivors print "survivor told" once a call has failed; whoever is still here after 20 s prints "survivor stuck". */
static void killed(long calls)
{
    for (long call = 0;; call++) {
        if (kit_rank == kit_size - 1 && call == calls) {
            fprintf(stderr, "killed at %ld\n", call);
            kill(getpid(), SIGKILL);
        }
        double start = now();
        int count = call % 3 ? 10 : COUNT, error = sum_on(MPI_COMM_WORLD, count, MPI_SUM, MPI_INT);
        if (error == MPI_SUCCESS && call % 4 == 0) /* results stay as they are */
            error = MPI_Bcast(kit_put(&in, 0, mine, sizeof mine), COUNT, MPI_INT, 0, MPI_COMM_WORLD);
        if (error != MPI_SUCCESS) {
            fprintf(stderr, "survivor %d told after %.1f s, class %d, in call %ld: %s\n", kit_rank, now() - start,
                    kit_class(error), call, says(error));
            if (!strstr(says(error), "Tutti: a peer process has died"))
                fprintf(stderr, "survivor %d is told nothing by MPI_Error_string: wrong result\n", kit_rank);
            int again = sum_on(MPI_COMM_WORLD, count, MPI_SUM, MPI_INT);
            fprintf(stderr, "survivor %d %s\n", kit_rank,
                    again != MPI_SUCCESS ? "refused" : "goes on as if nothing were");
            _exit(call >= calls && again != MPI_SUCCESS ? 0 : 1);
        }
        if (memcmp(kit_get(&out, NULL), want, (size_t)count * sizeof *want) != 0) {
            fprintf(stderr, "survivor %d has a wrong result in call %ld\n", kit_rank, call);
            _exit(1);
        }
    }
}

/* Nobody has a call under way when the rank dies, so that nobody has been told. For watch.sh. */
static void finalize(void)
{
    right(sum_on(MPI_COMM_WORLD, COUNT, MPI_SUM, MPI_INT), COUNT, "before");
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == kit_size - 1) {
        fprintf(stderr, "killed at 1\n");
        kill(getpid(), SIGKILL);
    }
    usleep(300000);
    double start = now();
    MPI_Finalize();
    fprintf(stderr, "survivor %d told by the end of MPI_Finalize after %.1f s%s\n", kit_rank, now() - start,
            now() - start < BOUND ? "" : ": goes on as if nothing were");
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "late";
    kit_start(&argc, &argv, strcmp(mode, "stopped") == 0 ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE);
    kit_open(&in, KIT_DEVICE, sizeof mine);
    kit_open(&out, KIT_DEVICE, sizeof mine);
    if (strcmp(mode, "late") == 0)
        late();
    else if (strcmp(mode, "nodes") == 0)
        nodes();
    else if (strcmp(mode, "first") == 0)
        first();
    else if (strcmp(mode, "mismatch") == 0)
        mismatch();
    else if (strcmp(mode, "stopped") == 0)
        stopped();
    else if (strcmp(mode, "finalize") == 0)
        finalize();
    else if (strcmp(mode, "killed") == 0)
        killed(argc > 2 ? strtol(argv[2], NULL, 10) : 100);
    kit_close(&in);
    kit_close(&out);
    return kit_end("watch");
}
