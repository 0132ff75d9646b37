/* Communicators: MPI_COMM_SELF, duplicates and parts of the world, in other rank orders, many at once and many after
 * each other, intercommunicators, calls of no elements, the large-count form.
 *
 * TUTTI_TEST_CHURN=N: how many are made and freed after each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { MOST = 4097, ALIVE = 40, RANKS = 64 };
static struct kit_buffer in, out;
static struct kit_pair pair;

/* One allreduce on `comm`; loose where the MPI may have done it. */
static void reduce_on(MPI_Comm comm, size_t count, int in_place, int loose, const char *what)
{
    int size, ranks[RANKS], order[RANKS];
    MPI_Group group, world;
    MPI_Comm_size(comm, &size);
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int r = 0; r < size; r++)
        order[r] = r;
    MPI_Group_translate_ranks(group, size, order, world, ranks);
    MPI_Group_free(&group);
    MPI_Group_free(&world);

    static char mine[MOST * 8], want[MOST * 8];
    loose |= kit_plain;
    struct oracle_case c = kit_case(&pair, loose ? ORACLE_PLAIN : ORACLE_HARD,
                                    kit_seed + (uint64_t)(ranks[0] * RANKS + size) * 100003 + count);
    size_t bytes = count * pair.handle->size;
    oracle_fill(mine, &c, kit_rank, 0, count);
    kit_expect_of(want, &c, size, ranks, 0, count);
    void *to = kit_put(&out, 0, in_place ? mine : NULL, bytes);
    int error = MPI_Allreduce(in_place ? MPI_IN_PLACE : kit_put(&in, 0, mine, bytes), to, (int)count, pair.handle->type,
                              kit_op(pair.op), comm);
    CHECK(error == MPI_SUCCESS, "%s, %zu elements: error class %d", what, count, kit_class(error));
    size_t at = oracle_differ(pair.handle->element, kit_get(&out, NULL), want, count, loose);
    CHECK(at == count, "%s, %zu elements: element %zu is wrong", what, count, at);
}

static void nothing(MPI_Comm comm)
{
    void *to = kit_put(&out, 0, "kept", 4);
    int error = MPI_Allreduce(kit_put(&in, 0, NULL, 4), to, 0, MPI_INT, MPI_SUM, comm);
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(&out, NULL), "kept", 4) == 0, "a call of no elements: class %d",
          kit_class(error));
    error = MPI_Allreduce(MPI_IN_PLACE, to, 0, MPI_DOUBLE, MPI_MAX, comm);
    CHECK(error == MPI_SUCCESS, "a call of no elements in place: class %d", kit_class(error));
}

static void parts(void)
{
    MPI_Comm dup, reversed, halves, odd;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -kit_rank, &reversed);
    MPI_Comm_split(MPI_COMM_WORLD, kit_rank % 2, kit_rank, &halves);
    MPI_Comm_split(MPI_COMM_WORLD, kit_rank == 0 ? MPI_UNDEFINED : 1, kit_rank, &odd);
    for (size_t count = 1; count <= MOST; count = count * 4 + 1) {
        reduce_on(dup, count, 0, 0, "duplicate");
        reduce_on(reversed, count, 1, 0, "ranks reversed");
        reduce_on(halves, count, 0, 0, "half of the world");
        if (odd != MPI_COMM_NULL)
            reduce_on(odd, count, 1, 0, "all but rank 0");
    }
    MPI_Comm_free(&dup);
    reduce_on(reversed, 33, 0, 0, "ranks reversed, after another was freed");
    MPI_Comm_free(&halves);
    MPI_Comm_free(&reversed);
    if (odd != MPI_COMM_NULL)
        MPI_Comm_free(&odd);
}

/* More at once than there is scratch for: the rest is passed on, and is right. */
static void many(void)
{
    MPI_Comm comms[ALIVE];
    for (int i = 0; i < ALIVE; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        reduce_on(comms[i], 100, i % 2, 1, "one of many");
    }
    for (int i = 0; i < ALIVE; i++) {
        reduce_on(comms[i * 7 % ALIVE], 1000, i % 2, 1, "one of many, again");
    }
    for (int i = 0; i < ALIVE; i++)
        MPI_Comm_free(&comms[i * 3 % ALIVE]);
    reduce_on(MPI_COMM_WORLD, 1000, 0, 0, "the world, after many");
}

static void churn(void)
{
    enum { RING = 3 };
    MPI_Comm ring[RING] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
    long rounds = check_many("TUTTI_TEST_CHURN", 300);
    for (long i = 0; i < rounds + RING; i++) {
        MPI_Comm *comm = &ring[i % RING];
        if (*comm != MPI_COMM_NULL)
            MPI_Comm_free(comm);
        if (i >= rounds)
            continue;
        MPI_Comm_dup(MPI_COMM_WORLD, comm);
        reduce_on(*comm, 1 + (size_t)i % 100, (int)(i & 1), 0, "short-lived duplicate");
    }
    reduce_on(MPI_COMM_WORLD, MOST, 0, 0, "the world, after the churn");
}

/* Each group gets the other's reduction. */
static void between(void)
{
    if (kit_size < 2)
        return;
    MPI_Comm half, inter;
    int low = kit_rank < kit_size / 2, own = kit_rank, sum, error, remote = 0;
    MPI_Comm_split(MPI_COMM_WORLD, low, kit_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? kit_size / 2 : 0, 5, &inter);
    for (int r = 0; r < kit_size; r++)
        remote += (r < kit_size / 2) != low ? r + 1 : 0;
    own++;
    void *to = kit_put(&out, 0, NULL, sizeof own);
    error = MPI_Allreduce(kit_put(&in, 0, &own, sizeof own), to, 1, MPI_INT, MPI_SUM, inter);
    memcpy(&sum, kit_get(&out, NULL), sizeof sum);
    CHECK(error == MPI_SUCCESS && sum == remote, "intercommunicator: class %d, %d instead of %d", kit_class(error), sum,
          remote);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void large_count(void)
{
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    enum { COUNT = (3 << 20) + 5 };
    struct kit_buffer from, to;
    char *mine = malloc(COUNT), *want = malloc(COUNT);
    struct kit_pair bytes = {kit_handle_of(TUTTI_TYPE_U8), TUTTI_OP_SUM};
    struct oracle_case c = kit_case(&bytes, kit_plain ? ORACLE_PLAIN : ORACLE_HARD, kit_seed);
    kit_open(&from, KIT_DEVICE, COUNT);
    kit_open(&to, KIT_DEVICE, COUNT);
    oracle_fill(mine, &c, kit_rank, 0, COUNT);
    kit_expect(want, &c, kit_size, 0, COUNT);
    void *out_at = kit_put(&to, 1, NULL, COUNT);
    int error = MPI_Allreduce_c(kit_put(&from, 0, mine, COUNT), out_at, (MPI_Count)COUNT, bytes.handle->type, MPI_SUM,
                                MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(&to, NULL), want, COUNT) == 0, "MPI_Allreduce_c: class %d",
          kit_class(error));
    kit_close(&from);
    kit_close(&to);
    free(mine);
    free(want);
#endif
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    kit_open(&in, KIT_DEVICE, MOST * 8);
    kit_open(&out, KIT_DEVICE, MOST * 8);
    pair = (struct kit_pair){kit_handle_of(TUTTI_TYPE_F64), TUTTI_OP_SUM};
    for (int in_place = 0; in_place < 2; in_place++) {
        reduce_on(MPI_COMM_SELF, 1, in_place, 0, "MPI_COMM_SELF");
        reduce_on(MPI_COMM_SELF, MOST, in_place, 0, "MPI_COMM_SELF");
    }
    nothing(MPI_COMM_WORLD);
    nothing(MPI_COMM_SELF);
    parts();
    between();
    churn();
    many();
    large_count();
    nothing(MPI_COMM_WORLD);
    kit_close(&in);
    kit_close(&out);
    return kit_end("comms");
}
