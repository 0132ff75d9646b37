/* One-sided communication: what only atomicity and exclusion make right. All ranks draw numbers from one counter by
 * MPI_Fetch_and_op and MPI_Get_accumulate, add to others by MPI_Compare_and_swap, by MPI_Accumulate of many elements
 * and, holding an exclusive lock, by MPI_Get and MPI_Put. No number comes twice, and no sum lacks a part. usage:
 * tickets [ROUNDS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "tutti/tutti.h"

enum { TICKET, SWAPPED, GUARDED, SHORT_TICKET, SUMS, MANY = 20000, SPREAD = SUMS + MANY, WORDS = SPREAD + 2 * MANY };

static MPI_Win win;
static MPI_Datatype spread; /* MANY words with gaps, which hosts add */
static int rounds;

/* ---- the operations ---- */

static int64_t fetch_add(int64_t *origin, int64_t *result, MPI_Aint at, int by_get_accumulate)
{
    int64_t was = -1, one = 1;
    tutti_copy(origin, &one, sizeof one);
    if (by_get_accumulate)
        MPI_Get_accumulate(origin, 1, MPI_INT64_T, result, 1, MPI_INT64_T, 0, at, 1, MPI_INT64_T, MPI_SUM, win);
    else
        MPI_Fetch_and_op(origin, result, MPI_INT64_T, 0, at, MPI_SUM, win);
    MPI_Win_flush(0, win);
    tutti_copy(&was, result, sizeof was);
    return was;
}

/* Host memory: the loop is long enough. */
static void swap_add(void)
{
    int64_t expected = 0, was = -1;
    MPI_Fetch_and_op(NULL, &expected, MPI_INT64_T, 0, SWAPPED, MPI_NO_OP, win);
    MPI_Win_flush(0, win);
    for (;;) {
        const int64_t more = expected + 1;
        MPI_Compare_and_swap(&more, &expected, &was, MPI_INT64_T, 0, SWAPPED, win);
        MPI_Win_flush(0, win);
        if (was == expected)
            return;
        expected = was;
    }
}

static void guarded_add(void)
{
    int64_t value = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&value, 1, MPI_INT64_T, 0, GUARDED, 1, MPI_INT64_T, win);
    MPI_Win_flush(0, win);
    value++;
    MPI_Put(&value, 1, MPI_INT64_T, 0, GUARDED, 1, MPI_INT64_T, win);
    MPI_Win_unlock(0, win);
}

/* ---- what comes of them ---- */

/* The numbers that all ranks together have drawn are 0, 1, 2 ... */
static void tickets_check(int64_t *drawn, const char *what)
{
    const int all = rounds * kit_size;
    int64_t *those = calloc((size_t)all, sizeof *those);
    char *seen = calloc((size_t)all, 1);
    int fine = 1;
    MPI_Allgather(drawn, rounds, MPI_INT64_T, those, rounds, MPI_INT64_T, MPI_COMM_WORLD);
    for (int i = 0; i < all && fine; i++) {
        fine = those[i] >= 0 && those[i] < all && !seen[those[i]];
        if (fine)
            seen[those[i]] = 1;
        CHECK(fine, "%s gave %lld, twice or out of range", what, (long long)those[i]);
    }
    free(those);
    free(seen);
}

static void sums_check(struct kit_buffer *memory)
{
    const int64_t all = (int64_t)rounds * kit_size;
    int guards;
    const int64_t *words = (const int64_t *)(void *)kit_get(memory, &guards);
    CHECK(guards, "a guard has changed");
    CHECK(words[SWAPPED] == all, "compare and swap: %lld of %lld", (long long)words[SWAPPED], (long long)all);
    CHECK(words[GUARDED] == all, "exclusive locks: %lld of %lld", (long long)words[GUARDED], (long long)all);
    for (int i = 0; i < MANY; i++) {
        CHECK(words[SUMS + i] == all * (i + 1), "sum %d: %lld of %lld", i, (long long)words[SUMS + i],
              (long long)(all * (i + 1)));
        CHECK(words[SPREAD + 2 * i] == all * (i + 1), "sum %d, with gaps: %lld of %lld", i,
              (long long)words[SPREAD + 2 * i], (long long)(all * (i + 1)));
    }
}

int main(int argc, char **argv)
{
    static const int64_t zeros[WORDS];
    struct kit_buffer memory;
    static int64_t parts[MANY];
    int64_t *device = NULL;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    rounds = argc > 1 ? atoi(argv[1]) : 100;
    if (kit_plain)
        kit_skip("rma_tickets", "the library is not there");
    int64_t *drawn[2] = {calloc((size_t)rounds, 8), calloc((size_t)rounds, 8)};
    for (int i = 0; i < MANY; i++)
        parts[i] = i + 1;
    kit_open(&memory, KIT_DEVICE, sizeof zeros);
    CHECK(tutti_alloc(3 * sizeof parts, (void **)&device) == 0, "tutti_alloc");
    tutti_copy(device, parts, sizeof parts);
    void *base = kit_put(&memory, 0, zeros, sizeof zeros);
    CHECK(MPI_Win_create(base, sizeof zeros, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS, "MPI_Win_create");
    MPI_Type_vector(MANY, 1, 2, MPI_INT64_T, &spread);
    MPI_Type_commit(&spread);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < rounds; i++) {
        MPI_Win_lock_all(0, win);
        drawn[0][i] = fetch_add(device + MANY, device + 2 * MANY, TICKET, 0);
        drawn[1][i] = fetch_add(device + MANY, device + 2 * MANY, SHORT_TICKET, 1);
        swap_add();
        MPI_Accumulate(i % 2 ? device : parts, MANY, MPI_INT64_T, 0, SUMS, MANY, MPI_INT64_T, MPI_SUM, win);
        MPI_Accumulate(i % 2 ? parts : device, MANY, MPI_INT64_T, 0, SPREAD, 1, spread, MPI_SUM, win);
        MPI_Win_unlock_all(win);
        guarded_add();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    tickets_check(drawn[0], "MPI_Fetch_and_op");
    tickets_check(drawn[1], "MPI_Get_accumulate");
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kit_rank, 0, win); /* the owner looks */
    if (kit_rank == 0)
        sums_check(&memory);
    MPI_Win_unlock(kit_rank, win);
    CHECK(kit_counted("MPI_Fetch_and_op", "mapped window") > 0, "the window was not mapped");
    MPI_Type_free(&spread);
    MPI_Win_free(&win);
    tutti_free(device);
    kit_close(&memory);
    free(drawn[0]);
    free(drawn[1]);
    return kit_end("rma_tickets");
}
