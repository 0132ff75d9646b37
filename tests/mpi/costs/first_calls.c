/* The first calls of a communicator, where opening its team is slow (TUTTI_HOST_MAPPING_US): the MPI makes them until
 * they have lost as much as opening takes (TUTTI_MAPPING_PRICE_US), and none after that. All ranks decide alike, also
 * where each knows other lengths. Then random sequences of calls, blocking and nonblocking ones, on communicators that
 * are made and freed meanwhile, with every result compared. Needs TUTTI_STATS=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "tutti/mpix.h"

enum {
    COUNT = 1000,
    CALLS = 100,
    COPY_NS = 3500,
    FIRST_BYTES = 4096,
    COMMS = 3,
    PROGRAMS = 12,
    STEPS = 40,
    LONG = 3000
};
static const char first[] = "first calls of a communicator";
static struct kit_buffer in, out;
static long price_ns;
static int data[64 * LONG], got[64 * LONG];

/* What rank `r` of a call contributes. */
static int value(int number, int r, int i)
{
    return number * 7 + r * 1001 + i;
}

static int *fill(int number, int rank, int n)
{
    for (int i = 0; i < n; i++)
        data[i] = value(number, rank, i);
    return kit_put(&in, 0, data, (size_t)n * sizeof *data);
}

static void *room(int n)
{
    return kit_put(&out, 0, NULL, (size_t)n * sizeof *data);
}

static const int *result(int n)
{
    memcpy(got, kit_get(&out, NULL), (size_t)n * sizeof *got);
    return got;
}

/* Calls that are staged of those that copy so many times on each rank. */
static long staged_calls(int copies)
{
    const long bytes = (long)(COUNT * sizeof(int)),
               each = copies * (COPY_NS + (bytes < FIRST_BYTES ? bytes : FIRST_BYTES) * 3 / 4 + bytes / 4);
    return (price_ns + each - 1) / each - 1;
}

/* 1 if the call is complete at once, or with the wait for it. */
static int ended(int error, MPI_Request *request, int nonblocking)
{
    return error == MPI_SUCCESS && (!nonblocking || MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static void allreduce(MPI_Comm comm, int number, int n, int nonblocking)
{
    int rank, size, wrong = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int *from = fill(number, rank, n);
    void *to = room(n);
    const int fine = ended(nonblocking ? MPI_Iallreduce(from, to, n, MPI_INT, MPI_SUM, comm, &request)
                                       : MPI_Allreduce(from, to, n, MPI_INT, MPI_SUM, comm),
                           &request, nonblocking);
    const int *sum = result(n);
    for (int i = 0; i < n; i++)
        wrong += sum[i] != size * value(number, 0, i) + 1001 * (size * (size - 1) / 2);
    CHECK(fine && wrong == 0, "allreduce %d of %d elements: %d are wrong", number, n, wrong);
}

/* Rank r sends each rank `n` elements, and its neighbour `more` times as many if r is `long_one`. */
static void alltoallv(MPI_Comm comm, int number, int n, int long_one, int more, int nonblocking)
{
    int rank, size, sends[64], receives[64], to_at[64], from_at[64], all = 0, wrong = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int r = 0; r < size; r++) {
        sends[r] = n * (rank == long_one && r == (rank + 1) % size ? more : 1);
        receives[r] = n * (r == long_one && rank == (r + 1) % size ? more : 1);
        to_at[r] = 0; /* all get the same elements */
        from_at[r] = all;
        all += receives[r];
    }
    const int *from = fill(number, rank, n * more);
    void *to = room(all);
    const int fine =
        ended(nonblocking ? MPI_Ialltoallv(from, sends, to_at, MPI_INT, to, receives, from_at, MPI_INT, comm, &request)
                          : MPI_Alltoallv(from, sends, to_at, MPI_INT, to, receives, from_at, MPI_INT, comm),
              &request, nonblocking);
    const int *at = result(all);
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < receives[r]; i++)
            wrong += at[from_at[r] + i] != value(number, r, i);
    }
    CHECK(fine && wrong == 0, "alltoallv %d of %d elements: %d are wrong", number, n, wrong);
}

static void bcast(MPI_Comm comm, int number, int n, int root, int nonblocking)
{
    int rank, wrong = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < n; i++)
        data[i] = value(number, root, i);
    void *at = kit_put(&out, 0, rank == root ? data : NULL, (size_t)n * sizeof *data);
    const int fine =
        ended(nonblocking ? MPI_Ibcast(at, n, MPI_INT, root, comm, &request) : MPI_Bcast(at, n, MPI_INT, root, comm),
              &request, nonblocking);
    const int *here = result(n);
    for (int i = 0; i < n; i++)
        wrong += here[i] != value(number, root, i);
    CHECK(fine && wrong == 0, "bcast %d of %d elements: %d are wrong", number, n, wrong);
}

/* Calls of one kind on a new communicator: as many are staged as the price says, then none. */
static void until_it_pays(const char *name, MPI_Comm comm, int nonblocking)
{
    const uint64_t before = kit_counted(name, first), made = kit_counted(name, "accelerated");
    const long staged = staged_calls(strstr(name, "reduce") ? 2 : 1);
    for (int i = 0; i < CALLS; i++) {
        if (strstr(name, "reduce"))
            allreduce(comm, i, COUNT, nonblocking);
        else
            bcast(comm, i, COUNT, i % kit_size, nonblocking);
    }
    CHECK(kit_counted(name, first) - before == (uint64_t)staged, "%s: %llu of %d first calls are staged, not %ld", name,
          (unsigned long long)(kit_counted(name, first) - before), CALLS, staged);
    CHECK(kit_counted(name, "accelerated") - made == (uint64_t)(CALLS - staged), "%s: %llu calls are accelerated", name,
          (unsigned long long)(kit_counted(name, "accelerated") - made));
}

/* Calls with the same contributions have the same bits, the first ones, which are staged, and the later ones: those of
 * a sum in rank order. */
static void same_bits(MPI_Comm comm, int nonblocking)
{
    static float mine[COUNT], sum[COUNT];
    const char *const name = nonblocking ? "MPI_Iallreduce" : "MPI_Allreduce";
    const uint64_t before = kit_counted(name, first);
    int rank, size, wrong = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < COUNT; i++) {
            const float one = (float)(1.0 / (1 + (i * 7919 + r * 104729) % 997)) * (r % 2 ? 1e4f : -1e-3f);
            sum[i] = r ? sum[i] + one : one;
            mine[i] = r == rank ? one : mine[i];
        }
    }
    for (int call = 0; call < CALLS; call++) {
        MPI_Request request = MPI_REQUEST_NULL;
        const void *from = kit_put(&in, 0, mine, sizeof mine);
        void *to = kit_put(&out, 0, NULL, sizeof mine);
        const int fine = ended(nonblocking ? MPI_Iallreduce(from, to, COUNT, MPI_FLOAT, MPI_SUM, comm, &request)
                                           : MPI_Allreduce(from, to, COUNT, MPI_FLOAT, MPI_SUM, comm),
                               &request, nonblocking);
        wrong += !fine || memcmp(kit_get(&out, NULL), sum, sizeof sum) != 0;
    }
    CHECK(wrong == 0, "%s: %d of %d calls have other bits", name, wrong, CALLS);
    const uint64_t staged = kit_counted(name, first) - before;
    CHECK(nonblocking && size > 2 ? staged == 0 : staged > 0, "%s: %llu first calls are staged", name,
          (unsigned long long)staged);
}

/* The MPI knows no half precision, so the first calls are Tutti's too: blocking and nonblocking ones. */
static void half(MPI_Comm comm)
{
    uint16_t one = 0x3c00, sum = 0;
    int size;
    MPI_Comm_size(comm, &size);
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        MPI_Request request = MPI_REQUEST_NULL;
        const void *from = kit_put(&in, 0, &one, sizeof one);
        void *to = kit_put(&out, 0, NULL, sizeof one);
        const int fine = ended(nonblocking ? MPI_Iallreduce(from, to, 1, MPIX_C_FLOAT16, MPI_SUM, comm, &request)
                                           : MPI_Allreduce(from, to, 1, MPIX_C_FLOAT16, MPI_SUM, comm),
                               &request, nonblocking);
        memcpy(&sum, kit_get(&out, NULL), sizeof sum);
        CHECK(fine && sum == (size == 4   ? 0x4400
                              : size == 3 ? 0x4200
                                          : 0x4000),
              "%s of half precision: %#x", nonblocking ? "MPI_Iallreduce" : "MPI_Allreduce", sum);
    }
}

/* The accounts of the ranks differ: the last rank to pay opens for all, and no rank has paid for nothing. */
static void different_accounts(MPI_Comm comm)
{
    const uint64_t made = kit_counted("MPI_Alltoallv", "accelerated");
    int since = -1;
    for (int i = 0; i < CALLS; i++) {
        alltoallv(comm, i, 20, 0, 100, 0);
        int here = kit_counted("MPI_Alltoallv", "accelerated") > made, all = 0;
        MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(all == 0 || all == kit_size, "call %d is accelerated on %d ranks", i, all);
        since = all && since < 0 ? i : since;
    }
    CHECK(since > 0 && since <= price_ns / (2 * COPY_NS), "alltoallv is accelerated from call %d on", since);
    CHECK(kit_counted("MPI_Alltoallv", "accelerated") - made == (uint64_t)(CALLS - since), "later calls are staged");
}

/* Moves have an account of their own: what they have lost, on two ranks more than on the others, opens no team for
 * reductions. */
static void reductions_after_moves(MPI_Comm comm)
{
    const uint64_t made = kit_counted("MPI_Allreduce", "accelerated");
    alltoallv(comm, 0, 500, 0, 60, 0);
    for (int i = 0; i < CALLS; i++)
        allreduce(comm, i, COUNT, 0);
    CHECK(kit_counted("MPI_Allreduce", "accelerated") - made == (uint64_t)(CALLS - staged_calls(2)),
          "%llu of %d calls of MPI_Allreduce are accelerated",
          (unsigned long long)(kit_counted("MPI_Allreduce", "accelerated") - made), CALLS);
}

/* Rank 0 has passed device memory in more calls than the others, and would have later ones accelerated before them. As
 * long as the others leave calls to the MPI, the reason on rank 0 is theirs: no rank passes host memory. */
static void ahead_of_others(MPI_Comm comm)
{
    static const char some[] = "host memory on some ranks";
    enum { MORE = 10 };
    const long staged = staged_calls(2);
    int mine[COUNT] = {0}, result_here[COUNT];
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        const char *const name = nonblocking ? "MPI_Iallreduce" : "MPI_Allreduce";
        for (int i = 0; i < MORE; i++) {
            MPI_Request request = MPI_REQUEST_NULL;
            const void *from = kit_rank == 0 ? kit_put(&in, 0, mine, sizeof mine) : mine;
            void *to = kit_rank == 0 ? room(COUNT) : result_here;
            CHECK(ended(nonblocking ? MPI_Iallreduce(from, to, COUNT, MPI_INT, MPI_MAX, comm, &request)
                                    : MPI_Allreduce(from, to, COUNT, MPI_INT, MPI_MAX, comm),
                        &request, nonblocking),
                  "%s of both kinds of memory", name);
        }
        const uint64_t first_before = kit_counted(name, first), some_before = kit_counted(name, some);
        for (int i = 0; i < CALLS; i++)
            allreduce(comm, i, COUNT, nonblocking);
        CHECK(kit_counted(name, some) == some_before, "%s: %llu calls of device memory on all ranks are staged for %s",
              name, (unsigned long long)(kit_counted(name, some) - some_before), some);
        CHECK(kit_counted(name, first) - first_before == (uint64_t)staged, "%s: %llu first calls are staged, not %ld",
              name, (unsigned long long)(kit_counted(name, first) - first_before), staged);
    }
}

static void random_calls(void)
{
    MPI_Comm comm[COMMS];
    uint64_t state = kit_seed;
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[c]);
    for (int program = 0; program < PROGRAMS && !check_failed(); program++) {
        for (int step = 0; step < STEPS; step++) {
            const int c = (int)(random_next(&state) % COMMS), n = 1 + (int)(random_next(&state) % LONG),
                      nonblocking = (int)(random_next(&state) % 2),
                      root = (int)(random_next(&state) % (unsigned)kit_size), number = program * STEPS + step;
            switch (random_next(&state) % 7) {
            case 0:
            case 1:
                allreduce(comm[c], number, n, nonblocking);
                break;
            case 2:
            case 3:
                alltoallv(comm[c], number, 1 + n / 50, root, 1 + n % 40, nonblocking);
                break;
            case 4:
            case 5:
                bcast(comm[c], number, n, root, nonblocking);
                break;
            default:
                MPI_Comm_free(&comm[c]);
                MPI_Comm_dup(MPI_COMM_WORLD, &comm[c]);
            }
        }
    }
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_free(&comm[c]);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const char *price = getenv("TUTTI_MAPPING_PRICE_US");
    if (kit_plain || !price)
        kit_skip("first_calls", "needs the library in front, and TUTTI_MAPPING_PRICE_US");
    price_ns = strtol(price, NULL, 10) * 1000;
    kit_open(&in, KIT_DEVICE, sizeof data);
    kit_open(&out, KIT_DEVICE, sizeof got);
    if (argc > 1 && strcmp(argv[1], "random") == 0) {
        random_calls();
    } else {
        MPI_Comm other, third, float_comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &float_comm);
        same_bits(float_comm, 0);
        same_bits(float_comm, 1);
        MPI_Comm_free(&float_comm);
        MPI_Comm_dup(MPI_COMM_WORLD, &float_comm);
        half(float_comm);
        MPI_Comm_free(&float_comm);
        until_it_pays("MPI_Allreduce", MPI_COMM_WORLD, 0);
        until_it_pays("MPI_Iallreduce", MPI_COMM_WORLD, 1); /* has a team of its own */
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        until_it_pays("MPI_Bcast", other, 0);
        until_it_pays("MPI_Ibcast", other, 1);
        MPI_Comm_dup(MPI_COMM_WORLD, &third);
        different_accounts(third);
        MPI_Comm_free(&third);
        MPI_Comm_dup(MPI_COMM_WORLD, &third);
        reductions_after_moves(third);
        MPI_Comm_free(&third);
        MPI_Comm_dup(MPI_COMM_WORLD, &third);
        ahead_of_others(third);
        MPI_Comm_free(&other);
        MPI_Comm_free(&third);
    }
    kit_close(&in);
    kit_close(&out);
    return kit_end("first_calls");
}
