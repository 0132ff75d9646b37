/* One-sided communication: device memory that is attached before other ranks have met a GPU. Their operations reach the
 * memory itself, as MPI_WIN_UNIFIED has it: the owner makes no call on the window between, and ranks meet by
 * MPI_Barrier. Later they meet a GPU and map the memory. Rank 0 is the owner. */
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { OWNER = 0, NUMBERS = 3000, BYTES = NUMBERS * (int)sizeof(int), ROUNDS = 3 };

static struct kit_buffer memory, later; /* `later`: of the rank that meets a GPU late */
static MPI_Win win;
static MPI_Aint at;

static int value(int round, int i)
{
    return 1000 * round + 7 * i;
}

/* Another rank than the owner puts `from` and adds it once more. */
static void other_operates(int round, int *from, int *to)
{
    const int one = 1;
    int before = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, OWNER, 0, win);
    MPI_Get(to, NUMBERS, MPI_INT, OWNER, at, NUMBERS, MPI_INT, win);
    MPI_Win_flush(OWNER, win);
    for (int i = 0; i < NUMBERS; i++)
        CHECK(to[i] == value(round, i), "round %d: %d is read at %d, not %d", round, to[i], i, value(round, i));
    MPI_Put(from, NUMBERS, MPI_INT, OWNER, at, NUMBERS, MPI_INT, win);
    MPI_Win_flush(OWNER, win);
    MPI_Accumulate(from, NUMBERS, MPI_INT, OWNER, at, NUMBERS, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(OWNER, win);
    MPI_Fetch_and_op(&one, &before, MPI_INT, OWNER, at + (MPI_Aint)sizeof(int), MPI_SUM, win);
    MPI_Win_unlock(OWNER, win);
    CHECK(before == 2 * (value(round, 1) + 1), "round %d: %d before the last sum", round, before);
}

static void owner_looks(int round)
{
    int guards;
    const int *now = (const int *)kit_get(&memory, &guards);
    for (int i = 0; i < NUMBERS; i++) {
        const int expected = 2 * (value(round, i) + 1) + (i == 1);
        CHECK(guards && now[i] == expected, "round %d: %d lies at %d, not %d", round, now[i], i, expected);
    }
}

/* The last of the ranks operates. */
static void run_round(int round, int *from, int *to)
{
    for (int i = 0; i < NUMBERS; i++)
        from[i] = value(round, i);
    if (kit_rank == OWNER)
        kit_put(&memory, 0, from, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < NUMBERS; i++)
        from[i]++;
    if (kit_rank == kit_size - 1)
        other_operates(round, from, to);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == OWNER)
        owner_looks(round);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The program of this rank passes device memory to a call. */
static void meet(void)
{
    const int none = 0;
    kit_open(&later, KIT_DEVICE, BYTES);
    char *base = kit_put(&later, 0, &none, sizeof none);
    MPI_Sendrecv(base, 1, MPI_INT, kit_rank, 0, base + sizeof none, 1, MPI_INT, kit_rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int *from = malloc(BYTES), *to = malloc(BYTES), *model, found = 0;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (!kit_makes_windows())
        kit_skip("unmet", "this MPI makes no windows here");
    memset(from, 0, BYTES);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (kit_rank == OWNER) {
        kit_open(&memory, KIT_DEVICE, BYTES);
        char *base = kit_put(&memory, 0, from, BYTES);
        MPI_Win_attach(win, base, BYTES);
        MPI_Get_address(base, &at);
    }
    MPI_Bcast(&at, 1, MPI_AINT, OWNER, MPI_COMM_WORLD);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &found);
    CHECK(found && *model == MPI_WIN_UNIFIED, "the window has the model %d", found ? *model : -1);
    for (int round = 0; round < ROUNDS; round++)
        run_round(round, from, to);
    if (kit_rank == kit_size - 1 && !kit_plain) {
        CHECK(kit_counted("MPI_Put", "attached memory that this rank could not map") == ROUNDS,
              "the owner has not written for this rank");
        CHECK(kit_counted("bounce buffers", "pinned") == 0, "pinned memory before this rank met a GPU");
        meet();
        CHECK(kit_counted("MPI_Put", "mapped window") == 0, "memory was mapped before this rank met a GPU");
    }
    run_round(ROUNDS, from, to);
    if (kit_rank == kit_size - 1 && !kit_plain)
        CHECK(kit_counted("MPI_Put", "mapped window") == 1, "the memory is not mapped later");
    if (kit_rank == OWNER)
        MPI_Win_detach(win, (void *)at);
    MPI_Win_free(&win);
    if (kit_rank == OWNER)
        kit_close(&memory);
    if (kit_rank == kit_size - 1 && !kit_plain)
        kit_close(&later);
    free(from);
    free(to);
    return kit_end("unmet");
}
