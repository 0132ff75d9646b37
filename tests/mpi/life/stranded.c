/* Calls that do not match, where some ranks bring host memory and wait in the MPI: they return with the error that the
 * other ranks get, in any order of arrival. The communicator is unusable then, others are not.
 *
 *   stranded        the ranks with host memory have device memory too
 *   stranded host   they have no device memory: the short way to the MPI */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "kit.h"

/* BOUND: seconds of one case; what ends at all ends long before, on a loaded machine too. */
enum { SMALL = 100, MOVED = 5000, LARGE = 200000, BOUND = 40 };
enum call { SUM, MORE, MAX, LONG, REDUCE, SCATTER, SCAN, EXSCAN, BCAST, CALLS };
static const char *const names[CALLS] = {"a sum",          "a longer sum", "a maximum",  "a long sum", "MPI_Reduce",
                                         "reduce-scatter", "MPI_Scan",     "MPI_Exscan", "MPI_Bcast"};

static struct kit_buffer in, out;
static int host_in[LARGE], host_out[LARGE], on_host; /* on_host: this rank brings host memory in the odd calls */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int make(enum call call, int host, MPI_Comm comm)
{
    const void *from = host ? host_in : kit_put(&in, 0, host_in, sizeof host_in);
    void *to = host ? host_out : kit_put(&out, 0, NULL, sizeof host_out);
    switch (call) {
    case MORE:
        return MPI_Allreduce(from, to, SMALL + 1, MPI_INT, MPI_SUM, comm);
    case MAX:
        return MPI_Allreduce(from, to, SMALL, MPI_INT, MPI_MAX, comm);
    case LONG:
        return MPI_Allreduce(from, to, LARGE, MPI_INT, MPI_SUM, comm);
    case REDUCE: /* the root waits for all */
        return MPI_Reduce(from, to, SMALL, MPI_INT, MPI_SUM, kit_size - 1, comm);
    case SCATTER:
        return MPI_Reduce_scatter_block(from, to, SMALL, MPI_INT, MPI_SUM, comm);
    case SCAN: /* the last waits for those before */
        return MPI_Scan(from, to, SMALL, MPI_INT, MPI_SUM, comm);
    case EXSCAN:
        return MPI_Exscan(from, to, SMALL, MPI_INT, MPI_SUM, comm);
    case BCAST:
        return MPI_Bcast(to, MOVED, MPI_INT, 0, comm);
    default:
        return MPI_Allreduce(from, to, SMALL, MPI_INT, MPI_SUM, comm);
    }
}

static void right(MPI_Comm comm, const char *when)
{
    int wrong = 0;
    const int error = make(SUM, on_host, comm);
    const int *got = on_host ? host_out : (const void *)kit_get(&out, NULL);
    for (int i = 0; i < SMALL; i++)
        wrong += got[i] != kit_size * (kit_size - 1) / 2 + kit_size * i;
    CHECK(error == MPI_SUCCESS && wrong == 0, "%s: class %d, %d wrong", when, kit_class(error), wrong);
}

/* Ranks from `first` on make `theirs` with host memory, the others `ours`; host_comes_first: into the MPI. */
static void one(enum call theirs, enum call ours, int first, int host_comes_first)
{
    MPI_Comm comm;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    on_host = kit_rank >= first;
    alarm(BOUND); /* who is not told waits forever */
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    right(comm, "before");
    MPI_Barrier(MPI_COMM_WORLD);
    if (on_host != host_comes_first)
        usleep(20000);
    const double start = now();
    capture_start();
    const int error = make(on_host ? theirs : ours, on_host, comm);
    const char *said = capture_end();
    CHECK(error != MPI_SUCCESS, "%s with host memory from rank %d on, %s: no error", names[theirs], first, names[ours]);
    if (error != MPI_SUCCESS)
        MPI_Error_string(error, text, &length);
    CHECK(strstr(text, "Tutti: the ranks' calls do not match"), "%s with host memory, %s: %s", names[theirs],
          names[ours], text);
    CHECK(now() - start < BOUND, "%s with host memory, %s: told after %g s", names[theirs], names[ours], now() - start);
    CHECK(!on_host || strstr(said, "do not match"), "who was in the MPI has said nothing: %s", said);
    CHECK(!strstr(said, "cannot be released"), "it was told: %s", said);
    capture_start();
    const int again = make(SUM, on_host, comm);
    capture_end();
    CHECK(again != MPI_SUCCESS, "the communicator is used on");
    right(MPI_COMM_WORLD, "another communicator");
    MPI_Comm_free(&comm);
}

/* Until data go past the MPI: before, it has what moves them on all ranks, which compare nothing. */
static int open_endpoints(void)
{
    int open = 0;
    on_host = 0;
    for (int turn = 0; turn < 200 && !open; turn++) {
        CHECK(make(BCAST, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "a broadcast failed");
        open = kit_counted("MPI_Bcast", "fetched from each other") > 0;
        MPI_Allreduce(MPI_IN_PLACE, &open, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    return CHECK(open, "no data go past the MPI");
}

int main(int argc, char **argv)
{
    static const struct {
        enum call theirs, ours;
    } cases[] = {{SUM, MORE}, {MORE, SUM}, {MAX, SUM},    {LONG, SUM},    {SUM, LONG},    {SUM, REDUCE}, {REDUCE, SUM},
                 {SUM, SCAN}, {SCAN, SUM}, {EXSCAN, SUM}, {SCATTER, SUM}, {SUM, SCATTER}, {SUM, BCAST},  {LONG, BCAST}};
    const int bare = argc > 1 && strcmp(argv[1], "host") == 0;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size < 2)
        kit_skip("stranded", "needs two ranks, and the library in front");
    for (int i = 0; i < LARGE; i++)
        host_in[i] = kit_rank + i;
    for (int first = kit_size - 1; first > 0; first--) {
        if (!bare || kit_rank < first) {
            kit_open(&in, KIT_DEVICE, sizeof host_in);
            kit_open(&out, KIT_DEVICE, sizeof host_out);
        }
        const int moves = !bare && open_endpoints();
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            /* Who is not the root of an MPI_Reduce does not wait in it. */
            if ((cases[i].ours == BCAST && !moves) || (cases[i].theirs == REDUCE && first < kit_size - 1))
                continue;
            one(cases[i].theirs, cases[i].ours, first, 1);
            one(cases[i].theirs, cases[i].ours, first, 0);
        }
        if (in.base) {
            kit_close(&in);
            kit_close(&out);
        }
    }
    return kit_end("stranded");
}
