/* Short collectives that some ranks leave to the MPI, since they have host memory in them: after some of them ranks
 * with device memory leave them too, without waiting for the others (coll/call/declined.h). Data are compared in each
 * call.
 *
 * When all ranks have device memory again, all calls are accelerated before long, also where the ranks differ in the
 * calls before: `alike` all the same, `turns` each others, `apart` each its own. Longer calls are accelerated at once.
 * `alike` also makes calls of the longest kind that is left, and a little longer ones. `alike pinned`: rules would take
 * calls whose other buffers are pinned: the first call of a length asks the peers. Needs TUTTI_STATS=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { MIXED = 37, DEVICE = 80, SETTLED = 40, SHORT = 1024, LIMIT = 128 << 10, LONG = 1 << 20, FEW = 4 };

struct call {
    const char *name;
    int nonblocking, reduces;
};
static const struct call calls[] = {
    {"MPI_Bcast", 0, 0}, {"MPI_Ibcast", 1, 0}, {"MPI_Allreduce", 0, 1}, {"MPI_Iallreduce", 1, 1}};

static int value_of(int rank, int i, int round)
{
    return rank * 1000 + i * 7 + round * 13 + 1;
}

static void make(const struct call *call, const int *in, int *out, int n, int root)
{
    MPI_Request request = MPI_REQUEST_NULL;
    void *const one = kit_rank == root ? (void *)(uintptr_t)in : out;
    if (!call->reduces && call->nonblocking)
        MPI_Ibcast(one, n, MPI_INT, root, MPI_COMM_WORLD, &request);
    else if (!call->reduces)
        MPI_Bcast(one, n, MPI_INT, root, MPI_COMM_WORLD);
    else if (call->nonblocking)
        MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    else
        MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* One call of `bytes` bytes, this rank's buffers of this kind. 1: it was accelerated. */
static int once(const struct call *call, enum kit_kind kind, int bytes, int round)
{
    static int data[LONG / sizeof(int)];
    struct kit_buffer sent, got;
    const int n = bytes / (int)sizeof(int), root = round % kit_size;
    for (int i = 0; i < n; i++)
        data[i] = value_of(kit_rank, i, round);
    kit_open(&sent, kind, (size_t)bytes);
    kit_open(&got, kind, (size_t)bytes);
    int *const in = kit_put(&sent, 0, data, (size_t)bytes), *const out = kit_put(&got, 0, NULL, (size_t)bytes);
    const uint64_t before = kit_counted(call->name, "accelerated");
    make(call, in, out, n, root);
    const int accelerated = kit_counted(call->name, "accelerated") > before;
    const int *const result = (const int *)kit_get(&got, NULL);
    int wrong = 0;
    for (int i = 0; i < n && (call->reduces || kit_rank != root); i++) {
        int want = call->reduces ? 0 : value_of(root, i, round);
        for (int r = 0; r < kit_size && call->reduces; r++)
            want += value_of(r, i, round);
        wrong += result[i] != want;
    }
    CHECK(wrong == 0, "%s of %d bytes, round %d: %d wrong elements", call->name, bytes, round, wrong);
    kit_close(&sent);
    kit_close(&got);
    return accelerated;
}

/* What this rank has in a call of mixed memory. */
static enum kit_kind kind_of(const char *way, int round)
{
    if (strcmp(way, "alike") == 0)
        return kit_rank == 0 ? KIT_DEVICE : KIT_HOST;
    if (strcmp(way, "turns") == 0)
        return round % kit_size == kit_rank ? KIT_HOST : KIT_DEVICE;
    return (round >> (2 * kit_rank)) % 3 ? KIT_HOST : KIT_DEVICE;
}

/* Calls of so many bytes with memory of the host on some ranks: how many of them this rank has left at once. */
static int left_of(const struct call *call, const char *way, int times, int bytes, int *round, int *accelerated)
{
    const uint64_t before = kit_counted(call->name, "in the calls before");
    for (int i = 0; i < times; i++, ++*round)
        *accelerated += once(call, kind_of(way, *round), bytes, *round);
    return (int)(kit_counted(call->name, "in the calls before") - before);
}

/* Behind many short ones. */
static void try_limit(const struct call *call, const char *way, int pinned, int *round)
{
    int accelerated = 0;
    int left = left_of(call, way, FEW, LIMIT, round, &accelerated);
    CHECK(kit_rank != 0 || left >= FEW - 1, "%s: %d of %d calls of %d bytes are left", call->name, left, FEW, LIMIT);
    CHECK(!pinned || call->reduces || left < FEW, "%s: the first call of %d bytes is left, though none was so long",
          call->name, LIMIT);
    left = left_of(call, way, FEW, LIMIT + (int)sizeof(int), round, &accelerated);
    CHECK(left == 0 && accelerated == 0, "%s: %d calls of more than %d bytes are left, %d accelerated", call->name,
          left, LIMIT, accelerated);
}

/* Reductions whose bits depend on the order of the ranks are left by no rank that has device memory: all are asked. */
static void in_rank_order(void)
{
    const uint64_t before = kit_counted("MPI_Allreduce", "in the calls before");
    for (int i = 0; i < MIXED && kit_size > 2; i++) {
        double value = kit_rank + 0.5, sum = 0;
        for (int r = 0; r < kit_size; r++)
            sum += r + 0.5;
        struct kit_buffer buffer;
        kit_open(&buffer, kit_rank == 0 ? KIT_DEVICE : KIT_HOST, sizeof value);
        MPI_Allreduce(MPI_IN_PLACE, kit_put(&buffer, 0, &value, sizeof value), 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        memcpy(&value, kit_get(&buffer, NULL), sizeof value);
        CHECK(value == sum, "sum %d is %g, not %g", i, value, sum);
        kit_close(&buffer);
    }
    CHECK(kit_counted("MPI_Allreduce", "in the calls before") == before, "%d sums in rank order are left",
          (int)(kit_counted("MPI_Allreduce", "in the calls before") - before));
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size < 2)
        kit_skip("left", "needs several ranks, and the library in front");
    const char *const way = argc > 1 ? argv[1] : "alike";
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        const struct call *const call = &calls[c];
        int settled = 0, mixed = 0, round = 0, asked;
        const int is_alike = strcmp(way, "alike") == 0;
        const int before = left_of(call, way, MIXED, SHORT, &round, &mixed);
        CHECK(kit_rank != 0 || !is_alike || before > MIXED / 2, "%s: %d of %d calls are left without waiting",
              call->name, before, MIXED);
        if (is_alike)
            try_limit(call, way, argc > 2, &round);
        CHECK(mixed == 0 || strcmp(way, "apart") == 0, "%s: %d calls with host memory were accelerated", call->name,
              mixed);
        asked = once(call, KIT_DEVICE, LONG, round++);
        CHECK(asked, "%s: a long call is not accelerated", call->name);
        const uint64_t first = kit_counted(call->name, "first calls of a communicator");
        /* that was seen by all: short calls are too */
        CHECK(once(call, KIT_DEVICE, SHORT, round++), "%s: a short call behind it is not", call->name);
        for (int i = 0; i < MIXED; i++, round++)
            (void)once(call, kind_of(way, round), SHORT, round);
        for (int i = 0; i < DEVICE; i++, round++) {
            const int accelerated = once(call, KIT_DEVICE, SHORT, round);
            settled += i >= SETTLED && accelerated;
        }
        CHECK(kit_counted(call->name, "first calls of a communicator") == first,
              "%s: calls that peers leave are counted as first calls", call->name);
        CHECK(settled == DEVICE - SETTLED, "%s: %d of the last %d calls are accelerated", call->name, settled,
              DEVICE - SETTLED);
    }
    in_rank_order();
    return kit_end("left");
}
