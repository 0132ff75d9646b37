/* Half precision and bfloat16 by Tutti's own handles: on host and device memory, mixed over ranks, in place or not,
 * over communicators of several shapes, every operator, against the oracle bit for bit for every mix of memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "tutti/mpix.h"

enum { MOST = 65537 };
static struct kit_buffer in[2], out[2];
static uint16_t mine[MOST], want[MOST];
static long calls;

static void reduce(MPI_Datatype type, int element, int op, size_t count, MPI_Comm comm, int ranks, unsigned ways)
{
    struct oracle_case c = {.type = element, .op = op, .mode = ORACLE_HARD, .seed = kit_seed + count * 31 + ways};
    int first = ranks == 1 ? kit_rank : 0, own = (int)(random_mix(ways + (unsigned)kit_rank) & 7);
    struct kit_buffer *from = &in[own & 1], *to = &out[own >> 1 & 1];
    int in_place = own >> 2 & 1;
    if (ways < 4) { /* all ranks alike */
        from = &in[ways & 1];
        to = &out[ways & 1];
        in_place = (int)(ways >> 1);
    }
    oracle_fill(mine, &c, kit_rank, 0, count);
    kit_expect_of(want, &c, ranks, ranks == 1 ? &first : NULL, 0, count);
    void *at = kit_put(to, 2, in_place ? mine : NULL, count * 2);
    int error = MPI_Allreduce(in_place ? MPI_IN_PLACE : kit_put(from, 6, mine, count * 2), at, (int)count, type,
                              kit_op(op), comm);
    size_t wrong = oracle_differ(element, kit_get(to, NULL), want, count, 0);
    calls++;
    CHECK(error == MPI_SUCCESS && wrong == count, "%s %s of %zu over %d ranks, way %u%s: class %d, element %zu",
          oracle_type_name(element), oracle_op_name(op), count, ranks, ways, in_place ? " in place" : "",
          kit_class(error), wrong);
}

/* Each prefix in rank order, rounded once. */
static void scan(MPI_Datatype type, int element, int op, size_t count)
{
    struct oracle_case c = {.type = element, .op = op, .mode = ORACLE_HARD, .seed = kit_seed + count * 37};
    oracle_fill(mine, &c, kit_rank, 0, count);
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        const void *const from = kit_put(&in[1], 6, mine, count * 2);
        void *const to = kit_put(&out[1], 2, NULL, count * 2);
        const int terms = kit_rank + 1 - exclusive;
        const int error = exclusive ? MPI_Exscan(from, to, (int)count, type, kit_op(op), MPI_COMM_WORLD)
                                    : MPI_Scan(from, to, (int)count, type, kit_op(op), MPI_COMM_WORLD);
        kit_expect_scan(want, &c, terms, 0, count);
        const size_t wrong = terms > 0 ? oracle_differ(element, kit_get(&out[1], NULL), want, count, 0) : count;
        CHECK(error == MPI_SUCCESS && wrong == count, "%s %s of %zu by %s: class %d, element %zu",
              oracle_type_name(element), oracle_op_name(op), count, exclusive ? "exscan" : "scan", kit_class(error),
              wrong);
    }
}

static void all_of(MPI_Datatype type, int element)
{
    static const int ops[] = {TUTTI_OP_SUM, TUTTI_OP_PROD, TUTTI_OP_MIN, TUTTI_OP_MAX};
    static const size_t counts[] = {1, 2, 3, 17, 255, 1000, 4097, MOST};
    int size = 0;
    CHECK(MPI_Type_size(type, &size) == MPI_SUCCESS && size == 2, "a half has %d bytes", size);
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    for (int op = 0; op < 4; op++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            scan(type, element, ops[op], counts[i]);
            for (unsigned ways = 0; ways < 10; ways++) {
                if (counts[i] == MOST && ways % 3)
                    continue;
                reduce(type, element, ops[op], counts[i], ways % 2 ? dup : MPI_COMM_WORLD, kit_size, ways);
            }
            reduce(type, element, ops[op], counts[i], MPI_COMM_SELF, 1, (unsigned)i);
        }
    }
    MPI_Comm_free(&dup);

    /* Elsewhere: two bytes. */
    for (int i = 0; i < 100; i++)
        mine[i] = (uint16_t)(i * 257);
    void *at = kit_put(&out[1], 0, kit_rank == 0 ? mine : NULL, 200);
    int error = MPI_Bcast(at, 100, type, 0, MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(&out[1], NULL), mine, 200) == 0, "MPI_Bcast: class %d",
          kit_class(error));
    error = MPI_Allreduce(kit_put(&in[1], 0, mine, 200), kit_put(&out[1], 0, NULL, 200), 100, type, MPI_BAND,
                          MPI_COMM_WORLD);
    CHECK(error != MPI_SUCCESS, "bits of %s can be combined", oracle_type_name(element));
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain)
        kit_skip("half", "needs the library in front");
    for (int kind = 0; kind < 2; kind++) {
        kit_open(&in[kind], (enum kit_kind)kind, sizeof mine);
        kit_open(&out[kind], (enum kit_kind)kind, sizeof mine);
    }
    MPI_Datatype half = tutti_mpix_datatype(0), brain = tutti_mpix_datatype(1), own = MPIX_C_FLOAT16;
    int size = 0;
    if (CHECK(half != MPI_DATATYPE_NULL && brain != MPI_DATATYPE_NULL, "there are no handles")) {
        all_of(half, TUTTI_TYPE_F16);
        all_of(brain, TUTTI_TYPE_BF16);
        if (own != half && MPI_Type_size(own, &size) == MPI_SUCCESS && size == 2)
            reduce(own, TUTTI_TYPE_F16, TUTTI_OP_SUM, 1000, MPI_COMM_WORLD, kit_size, 0);
    }
    if (kit_rank == 0)
        printf("half: %ld calls\n", calls);
    for (int kind = 0; kind < 2; kind++) {
        kit_close(&in[kind]);
        kit_close(&out[kind]);
    }
    return kit_end("half");
}
