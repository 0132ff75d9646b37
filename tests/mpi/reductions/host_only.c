/* One rank brings device memory; the others have never had any, so they announce their calls in short and go to the
 * MPI. What they announce must match what the rank with device memory reads of its own call: every reduction, every
 * root, several counts, and lists of counts that differ.
 *
 *   host_only R    the rank with device memory, modulo the number of ranks */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"
#include "kit.h"

enum { MOST = 700, RANKS = 8 };
static struct kit_buffer in, out;
static int mine[MOST * RANKS], want[MOST * RANKS], got[MOST * RANKS];
static int counts[RANKS];

static int value(int rank, int i)
{
    return 1000 * rank + 7 * i;
}

/* The sum over ranks [first, last). */
static int sum_of(int first, int last, int i)
{
    int sum = 0;
    for (int r = first; r < last; r++)
        sum += value(r, i);
    return sum;
}

/* Where this rank's part of the result begins, and how long it is. */
static int part_of(enum family_call call, int count, int root, int *first)
{
    *first = 0;
    if (call == FAMILY_REDUCE_SCATTER_BLOCK)
        *first = count * kit_rank;
    for (int r = 0; call == FAMILY_REDUCE_SCATTER && r < kit_rank; r++)
        *first += counts[r];
    if ((call == FAMILY_REDUCE && kit_rank != root) || (call == FAMILY_EXSCAN && kit_rank == 0))
        return 0;
    return call == FAMILY_REDUCE_SCATTER ? counts[kit_rank] : count;
}

static int total_of(enum family_call call, int count)
{
    int total = 0;
    if (call != FAMILY_REDUCE_SCATTER)
        return call == FAMILY_REDUCE_SCATTER_BLOCK ? count * kit_size : count;
    for (int r = 0; r < kit_size; r++)
        total += counts[r];
    return total;
}

/* bare: a rank that is not the root passes no buffer for the result. MPICH refuses MPI_Exscan without one. */
static void reduce(enum family_call call, int count, int root, int large, int bare)
{
    const struct family f = {call, large, count, counts, root, MPI_INT, MPI_SUM, MPI_COMM_WORLD};
    for (int r = 0; r < kit_size; r++)
        counts[r] = (count + r) % 5 ? count / (r + 1) : 0;
    counts[kit_size - 1] += 1; /* not all are 0 */
    int first;
    const int total = total_of(call, count), n = part_of(call, count, root, &first);
    const int last = call == FAMILY_SCAN ? kit_rank + 1 : call == FAMILY_EXSCAN ? kit_rank : kit_size;
    for (int i = 0; i < total; i++)
        mine[i] = value(kit_rank, i);
    for (int i = 0; i < n; i++)
        want[i] = sum_of(0, last, first + i);
    void *to = kit_put(&out, 0, NULL, sizeof got);
    const int gets = call != FAMILY_REDUCE || kit_rank == root;
    const int error = family_run(&f, kit_put(&in, 0, mine, sizeof mine), bare && !gets ? NULL : to);
    memcpy(got, kit_get(&out, NULL), sizeof got);
    CHECK(error == MPI_SUCCESS && memcmp(got, want, (size_t)n * sizeof *got) == 0,
          "%s%s of %d elements, root %d: error class %d, or a wrong result", family_names[call], large ? "_c" : "",
          count, root, kit_class(error));
}

/* Pairs, whose type has a gap. */
static void reduce_pairs(enum family_call call, int count, int root, int large)
{
    struct pair {
        short value;
        int index;
    };
    static struct pair pairs[MOST];
    const struct family f = {call, large, count, counts, root, MPI_SHORT_INT, MPI_MAXLOC, MPI_COMM_WORLD};
    for (int i = 0; i < count; i++)
        pairs[i] = (struct pair){(short)((kit_rank + i) % kit_size), 10 * kit_rank + i};
    void *to = kit_put(&out, 0, NULL, sizeof got);
    const int gets = call == FAMILY_ALLREDUCE || kit_rank == root;
    const int error = family_run(&f, kit_put(&in, 0, pairs, sizeof pairs), gets ? to : NULL);
    memcpy(pairs, kit_get(&out, NULL), sizeof pairs);
    int wrong = 0;
    for (int i = 0; i < count && gets; i++) {
        const int rank = (kit_size - 1 - i % kit_size + kit_size) % kit_size;
        wrong += pairs[i].value != kit_size - 1 || pairs[i].index != 10 * rank + i;
    }
    CHECK(error == MPI_SUCCESS && wrong == 0, "%s%s of %d pairs, root %d: error class %d, %d are wrong",
          family_names[call], large ? "_c" : "", count, root, kit_class(error), wrong);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 3, 64, MOST};
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size > RANKS)
        return CHECK_SKIP;
    const int on_device = kit_rank == (argc > 1 ? atoi(argv[1]) : 0) % kit_size;
    kit_open(&in, on_device ? KIT_DEVICE : KIT_HOST, sizeof mine);
    kit_open(&out, on_device ? KIT_DEVICE : KIT_HOST, sizeof got);
    for (int round = 0; round < 3; round++) {
        for (int call = 0; call < FAMILY_REDUCE_LOCAL; call++) {
            for (int root = 0; root < (call == FAMILY_REDUCE ? kit_size : 1); root++) {
                for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
                    reduce((enum family_call)call, sizes[s], root, round == 2 && family_large(), round == 1);
            }
        }
        for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            reduce_pairs(FAMILY_ALLREDUCE, sizes[s], 0, round == 2 && family_large());
            for (int root = 0; root < kit_size; root++)
                reduce_pairs(FAMILY_REDUCE, sizes[s], root, round == 2 && family_large());
        }
    }
    kit_close(&in);
    kit_close(&out);
    return kit_end("host_only");
}
