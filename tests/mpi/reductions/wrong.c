/* Wrong calls of the reductions other than MPI_Allreduce (which is in illegal.c): on host and on device memory they
 * give the error class of the MPI's own function on host memory, and everything works afterwards.
 *
 * Every rank makes the same error, so no rank waits. Left out is what makes the MPI's own function end the process:
 * MPICH's negative counts and MPI_IN_PLACE at another rank than the root, with MPICH 5 null types, and with Open MPI
 * MPI_IN_PLACE as result of MPI_Exscan (on rank 0, where nothing comes, it is no error). */
#include <stdio.h>
#include <string.h>

#include "family.h"
#include "kit.h"
#include "survives.h"

enum { ROOM = 4096, COUNT = 3, RANKS = 64 };
static struct kit_buffer in[2], out[2];
static struct survives survives;
static long wrong_calls, refused;

enum wrong {
    RIGHT, /* so that the rest of the arguments is known to be fine */
    NEGATIVE_COUNT,
    NULL_TYPE,
    NULL_OP,
    NULL_COMM,
    IN_PLACE_RESULT,
    EQUAL_BUFFERS,
    NEGATIVE_ROOT,
    ROOT_TOO_LARGE,
    IN_PLACE_ELSEWHERE, /* than at the root */
    DERIVED_TYPE,
    FLOAT_BITS,
    PAIR_SUM,
    WRONGS
};
static const char *const names[WRONGS] = {"nothing wrong",
                                          "negative count",
                                          "null type",
                                          "null operator",
                                          "null communicator",
                                          "MPI_IN_PLACE as result",
                                          "equal buffers",
                                          "negative root",
                                          "root too large",
                                          "MPI_IN_PLACE at another rank than the root",
                                          "derived type with a predefined operator",
                                          "bits of doubles",
                                          "sum of pairs"};

/* 1 if the case exists for the call. */
static int there_is(enum family_call call, enum wrong what, int ranks)
{
    switch (what) {
    case NEGATIVE_COUNT:
        return survives.negative_counts;
    case NULL_TYPE:
        return survives.null_types;
    case NULL_COMM:
        return call != FAMILY_REDUCE_LOCAL;
    case IN_PLACE_RESULT:
        return call != FAMILY_REDUCE_LOCAL && call != FAMILY_EXSCAN && (call != FAMILY_REDUCE || ranks == 1);
    case EQUAL_BUFFERS:
        return call != FAMILY_REDUCE || ranks == 1;
    case NEGATIVE_ROOT:
    case ROOT_TOO_LARGE:
        return call == FAMILY_REDUCE;
    case IN_PLACE_ELSEWHERE:
        return call == FAMILY_REDUCE && ranks > 1 && survives.most;
    default:
        return 1;
    }
}

static int make(enum family_call call, enum wrong what, int kind, int real, MPI_Comm comm, int ranks,
                MPI_Datatype derived, char *result)
{
    char zeros[512] = {0};
    int counts[RANKS];
    for (int r = 0; r < RANKS; r++)
        counts[r] = what == NEGATIVE_COUNT ? -1 : COUNT;
    struct family f = {.call = call,
                       .count = what == NEGATIVE_COUNT ? -1 : COUNT,
                       .counts = counts,
                       .type = MPI_DOUBLE,
                       .op = MPI_SUM,
                       .comm = what == NULL_COMM ? MPI_COMM_NULL : comm};
    const void *from = kit_put(&in[kind], 0, zeros, sizeof zeros);
    void *to = kit_put(&out[kind], 0, zeros, sizeof zeros);
    switch (what) {
    case NULL_TYPE:
        f.type = MPI_DATATYPE_NULL;
        break;
    case NULL_OP:
        f.op = MPI_OP_NULL;
        break;
    case IN_PLACE_RESULT:
        to = MPI_IN_PLACE;
        break;
    case EQUAL_BUFFERS:
        from = to;
        break;
    case NEGATIVE_ROOT:
        f.root = -55;
        break;
    case ROOT_TOO_LARGE:
        f.root = ranks;
        break;
    case IN_PLACE_ELSEWHERE:
        f.root = (kit_rank + 1) % ranks;
        from = MPI_IN_PLACE;
        break;
    case DERIVED_TYPE:
        f.type = derived;
        break;
    case FLOAT_BITS:
        f.op = MPI_BAND;
        break;
    case PAIR_SUM:
        f.type = MPI_DOUBLE_INT;
        break;
    default:
        break;
    }
    int class = kit_class(real ? family_real(&f, from, to) : family_run(&f, from, to));
    memcpy(result, kit_get(&out[kind], NULL), sizeof zeros);
    return class;
}

static void all_wrong(MPI_Comm comm, int ranks)
{
    MPI_Datatype derived;
    MPI_Type_contiguous(2, MPI_INT, &derived);
    MPI_Type_commit(&derived);
    for (int call = FAMILY_REDUCE; call < FAMILY_CALLS; call++) {
        for (int what = 0; what < WRONGS; what++) {
            char want[512], got[512];
            if (!there_is((enum family_call)call, (enum wrong)what, ranks))
                continue;
            int class = make((enum family_call)call, (enum wrong)what, 0, 1, comm, ranks, derived, want);
            wrong_calls++;
            refused += class != MPI_SUCCESS;
            CHECK(what != RIGHT || class == MPI_SUCCESS, "%s: class %d", family_names[call], class);
            for (int kind = 0; kind < 2; kind++) {
                int mine = make((enum family_call)call, (enum wrong)what, kind, 0, comm, ranks, derived, got);
                CHECK(mine == class, "%s, %s, on %s memory over %d ranks: error class %d, the MPI's own is %d",
                      family_names[call], names[what], kind ? "device" : "host", ranks, mine, class);
                CHECK(memcmp(got, want, sizeof got) == 0, "%s, %s, on %s memory over %d ranks: another result",
                      family_names[call], names[what], kind ? "device" : "host", ranks);
            }
        }
    }
    MPI_Type_free(&derived);
}

static void still_works(void)
{
    int value = kit_rank + 1, sum = 0;
    void *to = kit_put(&out[1], 0, NULL, sizeof sum);
    int error = MPI_Scan(kit_put(&in[1], 0, &value, sizeof value), to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    memcpy(&sum, kit_get(&out[1], NULL), sizeof sum);
    CHECK(error == MPI_SUCCESS && sum == value * (value + 1) / 2, "after wrong calls: error class %d, sum %d",
          kit_class(error), sum);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (!kit_errors_returned())
        kit_skip("wrong", "this MPI does not return its errors");
    survives = survives_of_mpi();
    for (int kind = 0; kind < 2; kind++) {
        kit_open(&in[kind], (enum kit_kind)kind, ROOM);
        kit_open(&out[kind], (enum kit_kind)kind, ROOM);
    }
    all_wrong(MPI_COMM_SELF, 1);
    all_wrong(MPI_COMM_WORLD, kit_size);
    still_works();
    CHECK(refused > 40, "the MPI refuses only %ld of %ld wrong calls", refused, wrong_calls);
    if (kit_rank == 0)
        printf("wrong: the MPI refuses %ld of %ld calls\n", refused, wrong_calls);
    for (int kind = 0; kind < 2; kind++) {
        kit_close(&in[kind]);
        kit_close(&out[kind]);
    }
    return kit_end("wrong");
}
