/* One-sided communication: a region of device memory whose MPI_Win_attach is refused. The call returns an error, and
 * the window is as before: regions that were attached are reached, and the refused one is attached once another one is
 * detached. Rank 0 attaches regions until one is refused: by the library, which has no row for one more, or by the
 * MPI, which takes a few copies of regions in host memory (attach_limit.c). */
#include <stdio.h>
#include <string.h>

#include "kit.h"

enum { BYTES = 8, MOST = 20000, ALL = MOST * 2 * BYTES };

static struct kit_buffer memory;
static MPI_Win win;
static MPI_Aint at; /* of rank 0's memory */

static char byte_of(int region, int round)
{
    return (char)(region * 7 + round * 31 + 1);
}

static char *region_of(int region)
{
    return (char *)at + (MPI_Aint)region * 2 * BYTES; /* with a gap behind each */
}

static int attach(int region)
{
    return MPI_Win_attach(win, region_of(region), BYTES);
}

/* Rank 0 looks at what rank 1 has put into a region. */
static void operate(int region, int round)
{
    char bytes[BYTES];
    memset(bytes, byte_of(region, round), BYTES);
    MPI_Bcast(&region, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    if (kit_rank == 1) {
        memset(bytes, byte_of(region, round), BYTES);
        CHECK(MPI_Put(bytes, BYTES, MPI_CHAR, 0, MPI_Aint_add(at, (MPI_Aint)region * 2 * BYTES), BYTES, MPI_CHAR,
                      win) == MPI_SUCCESS,
              "round %d: MPI_Put into region %d", round, region);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        CHECK(MPI_Win_sync(win) == MPI_SUCCESS, "round %d: MPI_Win_sync", round);
        MPI_Win_unlock(0, win);
        const char *const got = (const char *)kit_get(&memory, NULL) + (size_t)region * 2 * BYTES;
        CHECK(memcmp(got, bytes, BYTES) == 0, "round %d: region %d holds %d, not %d", round, region, got[0], bytes[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Returns the region that is refused; MOST: none. */
static int until_refused(void)
{
    int region = 0, code = MPI_SUCCESS;
    for (; region < MOST && (code = attach(region)) == MPI_SUCCESS; region++)
        ;
    CHECK(region < MOST && region > 0, "%d of %d regions are attached", region, MOST);
    for (int again = 0; again < 2 && region < MOST; again++)
        CHECK(attach(region) != MPI_SUCCESS, "region %d, which was refused, is attached", region);
    return region;
}

/* A region that is refused, in memory that the program frees then. */
static void refused_and_freed(void)
{
    static const char zeros[BYTES];
    struct kit_buffer gone;
    kit_open(&gone, KIT_DEVICE, BYTES);
    char *const base = kit_put(&gone, 0, zeros, BYTES);
    CHECK(MPI_Win_attach(win, base, BYTES) != MPI_SUCCESS, "a region of other memory is attached");
    kit_close(&gone);
}

int main(int argc, char **argv)
{
    int refused = 0;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (!kit_makes_windows())
        kit_skip("attach_refused", "this MPI makes no windows here");
    if (kit_plain)
        kit_skip("attach_refused", "needs the library in front");
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    kit_open(&memory, KIT_DEVICE, ALL);
    static const char zeros[ALL];
    char *const base = kit_put(&memory, 0, zeros, ALL);
    MPI_Get_address(base, &at);
    MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    if (kit_rank == 0) {
        refused = until_refused();
        refused_and_freed();
    }
    MPI_Bcast(&refused, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int round = 0; round < 3 && !check_failed(); round++) {
        operate(refused - 1, round);
        /* The refused region takes the place of another one, and gives it back. */
        if (kit_rank == 0) {
            CHECK(MPI_Win_detach(win, region_of(0)) == MPI_SUCCESS, "round %d: MPI_Win_detach", round);
            CHECK(attach(refused) == MPI_SUCCESS, "round %d: there is no room for the refused region", round);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        operate(refused, round);
        if (kit_rank == 0) {
            CHECK(MPI_Win_detach(win, region_of(refused)) == MPI_SUCCESS, "round %d: MPI_Win_detach", round);
            CHECK(attach(0) == MPI_SUCCESS, "round %d: there is no room for the first region again", round);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        operate(0, round);
    }
    if (kit_rank == 0)
        printf("attach_refused: region %d is refused\n", refused);
    for (int region = 0; kit_rank == 0 && region < refused; region++)
        MPI_Win_detach(win, region_of(region));
    MPI_Win_free(&win);
    kit_close(&memory);
    return kit_end("attach_refused");
}
