/* One-sided communication: windows with a copy in host memory. Each call of the owner that makes both copies one is the
 * only such call between a change of one copy and a look at the other. So a call that leaves it out is found: the
 * ranks meet by MPI_Barrier, which does not touch windows. Rank 0 is the owner. TUTTI_NODE_RANKS=1. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "bounce/bounce.h"
#include "kit.h"
#include "meeting.h"

enum { BYTES = 5000, OWNER = 0, OTHER = 1 };

static struct kit_buffer memory;
static MPI_Win win;
static MPI_Group owner, other;
static char data[BYTES]; /* what both copies must hold now */
static int value;

static struct meeting {
    _Atomic int expected; /* the owner's next match is that at the beginning of its fence */
    _Atomic int matched;  /* it is made */
} * meeting;

/* In the place of the library's, which ends a match by it. */
void tutti_bounce_give(struct tutti_bounce *bounce)
{
    static __typeof__(tutti_bounce_give) *real;
    if (!real)
        *(void **)&real = meeting_real("tutti_bounce_give");
    real(bounce);
    if (meeting && kit_rank == OWNER && atomic_load(&meeting->expected))
        atomic_store(&meeting->matched, 1);
}

static void copies_meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The next data, alike on all ranks. */
static const char *copies_draw(void)
{
    value++;
    for (int i = 0; i < BYTES; i++)
        data[i] = (char)(i * 7 + value * 31);
    return data;
}

/* The program writes the private copy, as a kernel does. */
static void owner_stores(void)
{
    if (kit_rank == OWNER)
        kit_put(&memory, 0, copies_draw(), BYTES);
    else
        copies_draw();
}

static void owner_looks(const char *call)
{
    int guards;
    if (kit_rank == OWNER)
        CHECK(memcmp(kit_get(&memory, &guards), data, BYTES) == 0 && guards,
              "%s does not make the private copy that of the other rank", call);
}

/* In an access epoch. */
static void other_puts(void)
{
    copies_draw();
    if (kit_rank == OTHER)
        MPI_Put(data, BYTES, MPI_BYTE, OWNER, 0, BYTES, MPI_BYTE, win);
}

static void other_puts_locked(void)
{
    if (kit_rank == OTHER)
        MPI_Win_lock(MPI_LOCK_SHARED, OWNER, 0, win);
    other_puts();
    if (kit_rank == OTHER)
        MPI_Win_unlock(OWNER, win);
}

/* Another rank looks at the public copy; the owner makes no call. */
static void other_gets(const char *call)
{
    static char came[BYTES];
    if (kit_rank != OTHER)
        return;
    memset(came, 0, sizeof came);
    MPI_Win_lock(MPI_LOCK_SHARED, OWNER, 0, win);
    MPI_Get(came, BYTES, MPI_BYTE, OWNER, 0, BYTES, MPI_BYTE, win);
    MPI_Win_unlock(OWNER, win);
    CHECK(memcmp(came, data, BYTES) == 0, "%s does not make the public copy that of the owner", call);
}

/* ---- calls that show the owner's stores to others ---- */

static void stores_unlock(int type)
{
    if (kit_rank == OWNER)
        MPI_Win_lock(type, OWNER, 0, win);
    owner_stores();
    if (kit_rank == OWNER)
        MPI_Win_unlock(OWNER, win);
    copies_meet();
    other_gets("MPI_Win_unlock");
    copies_meet();
}

static void stores_unlock_all(void)
{
    if (kit_rank == OWNER)
        MPI_Win_lock_all(0, win);
    owner_stores();
    if (kit_rank == OWNER)
        MPI_Win_unlock_all(win);
    copies_meet();
    other_gets("MPI_Win_unlock_all");
    copies_meet();
}

static void stores_sync(void)
{
    if (kit_rank == OWNER)
        MPI_Win_lock_all(0, win);
    owner_stores();
    if (kit_rank == OWNER)
        MPI_Win_sync(win);
    copies_meet();
    other_gets("MPI_Win_sync");
    copies_meet();
    if (kit_rank == OWNER)
        MPI_Win_unlock_all(win);
    copies_meet();
}

/* What the owner stores before its fence or post, the other rank gets in the epoch that follows. */
static void stores_fence(void)
{
    static char came[BYTES];
    MPI_Win_fence(0, win);
    owner_stores();
    MPI_Win_fence(0, win);
    if (kit_rank == OTHER)
        MPI_Get(came, BYTES, MPI_BYTE, OWNER, 0, BYTES, MPI_BYTE, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(kit_rank != OTHER || memcmp(came, data, BYTES) == 0, "MPI_Win_fence does not show what the owner stored");
    copies_meet();
}

static void stores_post(void)
{
    static char came[BYTES];
    owner_stores();
    if (kit_rank == OWNER) {
        MPI_Win_post(other, 0, win);
        MPI_Win_wait(win);
    } else if (kit_rank == OTHER) {
        MPI_Win_start(owner, 0, win);
        MPI_Get(came, BYTES, MPI_BYTE, OWNER, 0, BYTES, MPI_BYTE, win);
        MPI_Win_complete(win);
        CHECK(memcmp(came, data, BYTES) == 0, "MPI_Win_post does not show what the owner stored");
    }
    copies_meet();
}

/* ---- calls that show the operations of others to the owner ---- */

static void puts_lock(void)
{
    other_puts_locked();
    copies_meet();
    if (kit_rank == OWNER)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, OWNER, 0, win);
    owner_looks("MPI_Win_lock");
    if (kit_rank == OWNER)
        MPI_Win_unlock(OWNER, win);
    copies_meet();
}

static void puts_lock_all(void)
{
    other_puts_locked();
    copies_meet();
    if (kit_rank == OWNER)
        MPI_Win_lock_all(0, win);
    owner_looks("MPI_Win_lock_all");
    copies_meet();
    other_puts_locked();
    copies_meet();
    if (kit_rank == OWNER)
        MPI_Win_sync(win);
    owner_looks("MPI_Win_sync");
    if (kit_rank == OWNER)
        MPI_Win_unlock_all(win);
    copies_meet();
}

/* The other rank puts when the owner's fence has begun. */
static void puts_fence(void)
{
    MPI_Win_fence(0, win);
    if (kit_rank == OWNER)
        atomic_store(&meeting->expected, 1);
    while (kit_rank == OTHER && !atomic_load(&meeting->matched))
        sched_yield();
    other_puts();
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    owner_looks("MPI_Win_fence");
    copies_meet();
    *meeting = (struct meeting){.expected = 0};
    copies_meet();
}

static void puts_posted(int tests)
{
    if (kit_rank == OTHER)
        MPI_Win_start(owner, 0, win);
    if (kit_rank == OWNER)
        MPI_Win_post(other, 0, win);
    other_puts();
    if (kit_rank == OTHER)
        MPI_Win_complete(win);
    if (kit_rank == OWNER) {
        int done = 0;
        while (tests && !done)
            MPI_Win_test(win, &done);
        if (!tests)
            MPI_Win_wait(win);
    }
    owner_looks(tests ? "MPI_Win_test" : "MPI_Win_wait");
    copies_meet();
}

static void puts_free(void)
{
    other_puts_locked();
    MPI_Win_free(&win);
    owner_looks("MPI_Win_free");
}

/* A region of a dynamic window, which the owner detaches. */
static void puts_detach(void *base)
{
    MPI_Aint at = 0;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (kit_rank == OWNER)
        MPI_Win_attach(win, base, BYTES);
    MPI_Get_address(base, &at);
    MPI_Bcast(&at, 1, MPI_AINT, OWNER, MPI_COMM_WORLD);
    copies_draw();
    if (kit_rank == OTHER) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, OWNER, 0, win);
        MPI_Put(data, BYTES, MPI_BYTE, OWNER, at, BYTES, MPI_BYTE, win);
        MPI_Win_unlock(OWNER, win);
    }
    copies_meet();
    if (kit_rank == OWNER)
        MPI_Win_detach(win, base);
    owner_looks("MPI_Win_detach");
    copies_meet();
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    const int owner_rank = OWNER, other_rank = OTHER;
    MPI_Group world;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size < 2 || !kit_makes_windows())
        kit_skip("rma-copies", "needs the library, two ranks and windows of the MPI");
    meeting = meeting_open(sizeof *meeting);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &owner_rank, &owner);
    MPI_Group_incl(world, 1, &other_rank, &other);
    kit_open(&memory, KIT_DEVICE, BYTES);
    void *base = kit_put(&memory, 0, copies_draw(), BYTES);
    MPI_Win_create(base, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    int *model = NULL, flag = 0;
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag && *model == MPI_WIN_SEPARATE, "the window has no copy in host memory");
    copies_meet();
    other_gets("MPI_Win_create");
    copies_meet();
    for (int round = 0; round < 3; round++) {
        stores_unlock(MPI_LOCK_EXCLUSIVE);
        puts_lock();
        stores_unlock(MPI_LOCK_SHARED);
        stores_unlock_all();
        puts_lock_all();
        stores_sync();
        puts_posted(0);
        stores_post();
        puts_posted(1);
        stores_fence();
        puts_fence();
    }
    puts_free();
    puts_detach(base);
    meeting_close(meeting, sizeof *meeting);
    meeting = NULL;
    kit_close(&memory);
    MPI_Group_free(&owner);
    MPI_Group_free(&other);
    MPI_Group_free(&world);
    return kit_end("rma-copies");
}
