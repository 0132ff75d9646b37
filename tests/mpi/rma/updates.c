/* One-sided communication: an update of elements keeps all other updates of that target away until it is complete.
 * Rank 0 stays in the middle of an accumulate of many elements until rank 1 waits for it, or has updated the same
 * target, which is the fault. Then every result is known: rank 0's update comes first. An update of another target
 * does not wait. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "coll/coll.h"
#include "kit.h"
#include "meeting.h"
#include "progress/engine.h"

/* Updates of FEW elements are made by the call that completes them, those of MANY at once. */
enum { MANY = 10000, FEW = 400, WORDS = 2 * MANY, ADDED = 1000 };
static int many; /* elements of the updates */

static struct meeting {
    _Atomic int inside; /* rank 0 is in the middle of its update */
    _Atomic int waits;  /* rank 1 waits for the end of an update */
    _Atomic int done;   /* rank 1's update is complete */
} * meeting;            /* of both ranks */
static int stays;       /* rank 0's next update stays in the middle */

static void updates_stay(void)
{
    stays = 0;
    atomic_store(&meeting->inside, 1);
    while (!atomic_load(&meeting->waits) && !atomic_load(&meeting->done))
        sched_yield();
    CHECK(!atomic_load(&meeting->done), "an update in the middle of another one");
}

/* In the place of the library's. */
int tutti_reduce_local(int gpu, const void *in, void *out, size_t count, int type, int op)
{
    static __typeof__(tutti_reduce_local) *real;
    if (!real)
        *(void **)&real = meeting_real("tutti_reduce_local");
    if (stays)
        updates_stay();
    return real(gpu, in, out, count, type, op);
}

/* Likewise. */
int tutti_progress_wait(const struct tutti_wait *wait)
{
    static __typeof__(tutti_progress_wait) *real;
    if (!real)
        *(void **)&real = meeting_real("tutti_progress_wait");
    if (meeting && kit_rank == 1 && wait->what && strcmp(wait->what, "an update of another rank") == 0)
        atomic_store(&meeting->waits, 1);
    if (stays && wait->what && strcmp(wait->what, "the kernel of an update") == 0)
        updates_stay();
    return real(wait);
}

/* ---- rank 1's updates: what comes before it in the result, and what it leaves in an element that had `was` ---- */

enum update { SUM, GAPS, SUM_AND_GET, REPLACE, FETCH, SWAP, UPDATES };
static const char *const update_names[] = {"MPI_Accumulate",     "MPI_Accumulate with gaps",
                                           "MPI_Get_accumulate", "MPI_Accumulate of MPI_REPLACE",
                                           "MPI_Fetch_and_op",   "MPI_Compare_and_swap"};
static MPI_Datatype spread; /* every other element */
static int64_t added[MANY], result[MANY];

/* Elements that it updates, from the first on, and their distance. */
static int updates_reach(enum update what)
{
    return what == FETCH || what == SWAP ? 1 : many;
}

static int64_t update_expected(enum update what, int64_t was)
{
    return what == REPLACE || what == SWAP ? ADDED : was + ADDED;
}

static void update_make(enum update what, int target, MPI_Win win)
{
    const int64_t first = target == 0; /* what rank 0 has left in the first element */
    switch (what) {
    case GAPS:
        MPI_Accumulate(added, many, MPI_INT64_T, target, 0, 1, spread, MPI_SUM, win);
        break;
    case SUM_AND_GET:
        MPI_Get_accumulate(added, many, MPI_INT64_T, result, many, MPI_INT64_T, target, 0, many, MPI_INT64_T, MPI_SUM,
                           win);
        break;
    case FETCH:
        MPI_Fetch_and_op(added, result, MPI_INT64_T, target, 0, MPI_SUM, win);
        break;
    case SWAP:
        MPI_Compare_and_swap(added, &first, result, MPI_INT64_T, target, 0, win);
        break;
    default:
        MPI_Accumulate(added, many, MPI_INT64_T, target, 0, many, MPI_INT64_T, what == REPLACE ? MPI_REPLACE : MPI_SUM,
                       win);
    }
    MPI_Win_flush(target, win);
}

/* rank 0 has added i + 1 to element i of its own window. */
static void updates_check(struct kit_buffer *memory, enum update what)
{
    int guards, fine = 1;
    const int64_t *words = (const int64_t *)(void *)kit_get(memory, &guards);
    const int step = what == GAPS ? 2 : 1;
    for (int i = 0; i < WORDS && fine; i++) {
        const int64_t was = kit_rank == 0 && i < many ? i + 1 : 0;
        const int reached = i % step == 0 && i / step < updates_reach(what);
        const int64_t expected = reached ? update_expected(what, was) : was;
        fine = words[i] == expected;
        CHECK(fine, "%s: element %d is %lld, not %lld", update_names[what], i, (long long)words[i],
              (long long)expected);
    }
    CHECK(guards, "a guard has changed");
    const int gets = what == SUM_AND_GET || what == FETCH || what == SWAP;
    for (int i = 0; kit_rank == 1 && gets && i < updates_reach(what); i++)
        CHECK(result[i] == i + 1, "%s gave %lld, not %d", update_names[what], (long long)result[i], i + 1);
}

static void updates_meet(enum update what, int from_host)
{
    static int64_t counts[MANY], zeros[WORDS];
    struct kit_buffer window, origin;
    MPI_Win win;
    for (int i = 0; i < MANY; i++)
        counts[i] = i + 1;
    kit_open(&window, KIT_DEVICE, sizeof zeros);
    kit_open(&origin, from_host ? KIT_HOST : KIT_DEVICE, sizeof counts);
    void *base = kit_put(&window, 0, zeros, sizeof zeros), *from = kit_put(&origin, 0, counts, sizeof counts);
    CHECK(MPI_Win_create(base, sizeof zeros, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS, "MPI_Win_create");
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == 0) {
        stays = 1;
        MPI_Accumulate(from, many, MPI_INT64_T, 0, 0, many, MPI_INT64_T, MPI_SUM, win);
        MPI_Win_flush(0, win);
        CHECK(!stays, "the update is not one by a kernel");
    } else if (kit_rank == 1) {
        while (!atomic_load(&meeting->inside))
            sched_yield();
        update_make(what, 1, win);
        CHECK(!atomic_load(&meeting->waits), "%s waits for an update of another target", update_names[what]);
        update_make(what, 0, win);
        atomic_store(&meeting->done, 1);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank < 2)
        updates_check(&window, what);
    MPI_Win_free(&win);
    if (kit_rank == 0)
        *meeting = (struct meeting){.inside = 0};
    MPI_Barrier(MPI_COMM_WORLD);
    kit_close(&window);
    kit_close(&origin);
}

/* ---- many updates of one epoch: more than a launch has, of elements that they have in common ---- */

enum { PILED = 300, PILE_WORDS = 64 };

static void updates_pile(void)
{
    static int64_t values[PILED], zeros[PILE_WORDS], expected[PILE_WORDS];
    struct kit_buffer window, origin;
    MPI_Win win;
    for (int i = 0; i < PILED; i++)
        values[i] = i + 1;
    kit_open(&window, KIT_DEVICE, sizeof zeros);
    kit_open(&origin, KIT_DEVICE, sizeof values);
    void *base = kit_put(&window, 0, zeros, sizeof zeros);
    int64_t *from = kit_put(&origin, 0, values, sizeof values);
    CHECK(MPI_Win_create(base, sizeof zeros, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS, "MPI_Win_create");
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < PILED; i++) {
        const int at = i * 5 % (PILE_WORDS - 7), n = 1 + i % 7;
        const int64_t *part = i % 10 ? from : values;
        if (kit_rank == 0)
            MPI_Accumulate(part + i % (PILED - 7), n, MPI_INT64_T, 1, at, n, MPI_INT64_T, MPI_SUM, win);
        for (int k = 0; k < n; k++)
            expected[at + k] += values[i % (PILED - 7) + k];
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    int guards;
    const int64_t *words = (const int64_t *)(void *)kit_get(&window, &guards);
    for (int i = 0; i < PILE_WORDS && kit_rank == 1; i++)
        CHECK(words[i] == expected[i], "many updates: element %d is %lld, not %lld", i, (long long)words[i],
              (long long)expected[i]);
    CHECK(guards, "a guard has changed");
    MPI_Win_free(&win);
    kit_close(&window);
    kit_close(&origin);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size < 2)
        kit_skip("rma-updates", "needs the library and two ranks");
    for (int i = 0; i < MANY; i++)
        added[i] = ADDED;
    meeting = meeting_open(sizeof *meeting);
    for (int turn = 0; turn < 2 * UPDATES; turn++) {
        many = turn < UPDATES ? MANY : FEW;
        MPI_Type_vector(many, 1, 2, MPI_INT64_T, &spread);
        MPI_Type_commit(&spread);
        updates_meet((enum update)(turn % UPDATES), 0);
        updates_meet((enum update)(turn % UPDATES), 1);
        MPI_Type_free(&spread);
    }
    CHECK(kit_counted("MPI_Accumulate", "mapped window") > 0, "the window was not mapped");
    meeting_close(meeting, sizeof *meeting);
    meeting = NULL;
    updates_pile();
    return kit_end("rma-updates");
}
