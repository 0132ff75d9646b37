/* Operations on a window: rank 0 is the origin, rank 1 the target. An operation has a place of its own in the memory of
 * both, as long as there is room. By hand and on host memory the window lies in pinned host memory. */
#include <string.h>

#include "bench/access/access.h"
#include "bench/common/by_hand.h"
#include "device/device.h"
#include "tutti/tutti.h"

enum { ORIGIN, TARGET };

static size_t windows_bytes(const struct access *a, int part)
{
    const int n = access_times(a, part);
    return (size_t)(n < a->places ? n : a->places) * a->bytes;
}

/* The windows memory of a way is the device's. */
static int windows_on_device(const struct access *a, int way)
{
    return way == ACCESS_WAY_TUTTI && !a->what->exposed_host;
}

/* ---- operations ---- */

static int windows_operation(struct access *a, int way, size_t at)
{
    const struct bench_calls *mpi = &a->mpi[way];
    char *memory = access_memory(a, way) + at;
    const int n = (int)a->bytes, ints = n / (int)sizeof(int);
    const MPI_Aint to = (MPI_Aint)at;
    if (a->what->id == ACCESS_PUT)
        return mpi->Put(memory, n, MPI_BYTE, TARGET, to, n, MPI_BYTE, a->win[way]);
    if (a->what->id == ACCESS_GET)
        return mpi->Get(memory, n, MPI_BYTE, TARGET, to, n, MPI_BYTE, a->win[way]);
    return mpi->Accumulate(memory, ints, MPI_INT, TARGET, to, ints, MPI_INT, MPI_SUM, a->win[way]);
}

static int windows_begin(struct access *a, int way)
{
    const struct bench_calls *mpi = &a->mpi[way];
    switch (a->what->sync) {
    case ACCESS_FENCE:
        return mpi->Win_fence(MPI_MODE_NOPRECEDE, a->win[way]);
    case ACCESS_PSCW:
        return a->rank == ORIGIN ? mpi->Win_start(a->peer, 0, a->win[way]) : mpi->Win_post(a->peer, 0, a->win[way]);
    case ACCESS_LOCK:
        return a->rank == ORIGIN ? mpi->Win_lock(MPI_LOCK_SHARED, TARGET, 0, a->win[way]) : MPI_SUCCESS;
    default:
        return MPI_SUCCESS;
    }
}

static int windows_end(struct access *a, int way)
{
    const struct bench_calls *mpi = &a->mpi[way];
    switch (a->what->sync) {
    case ACCESS_FENCE:
        return mpi->Win_fence(MPI_MODE_NOSUCCEED, a->win[way]);
    case ACCESS_PSCW:
        return a->rank == ORIGIN ? mpi->Win_complete(a->win[way]) : mpi->Win_wait(a->win[way]);
    case ACCESS_LOCK:
        return a->rank == ORIGIN ? mpi->Win_unlock(TARGET, a->win[way]) : MPI_SUCCESS;
    default:
        return a->rank == ORIGIN ? mpi->Win_flush(TARGET, a->win[way]) : MPI_SUCCESS;
    }
}

static void windows_run(struct access *a, int way, int part)
{
    const size_t bytes = windows_bytes(a, part);
    const int hand = way == ACCESS_WAY_HAND && a->rank == ORIGIN, gets = a->what->id == ACCESS_GET;
    if (hand && !gets)
        bench_copy_by_hand(a->pinned, a->device, bytes, "copying from the device");
    access_must(a, way, windows_begin(a, way));
    for (int i = 0; i < access_times(a, part) && a->rank == ORIGIN; i++)
        access_must(a, way, windows_operation(a, way, (size_t)(i % a->places) * a->bytes));
    access_must(a, way, windows_end(a, way));
    if (hand && gets)
        bench_copy_by_hand(a->device, a->pinned, bytes, "copying to the device");
}

/* ---- windows ---- */

/* With flushes the origin has the target's window locked all the time, but while that is looked at. */
static void windows_hold(struct access *a, int way, int holds)
{
    const struct bench_calls *mpi = &a->mpi[way];
    if (a->what->sync == ACCESS_FLUSH && a->rank == ORIGIN)
        access_must(a, way,
                    holds ? mpi->Win_lock(MPI_LOCK_SHARED, TARGET, 0, a->win[way])
                          : mpi->Win_unlock(TARGET, a->win[way]));
}

/* Collective. The target's part of the window to or from its scratch. */
static void windows_touch(struct access *a, int way, size_t bytes, int writes)
{
    const struct bench_calls *mpi = &a->mpi[way];
    windows_hold(a, way, 0);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    if (a->rank == TARGET) {
        access_must(a, way, mpi->Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, a->win[way]));
        char *to = writes ? a->exposed[way] : a->scratch, *from = writes ? a->scratch : a->exposed[way];
        if (windows_on_device(a, way))
            bench_must(tutti_copy(to, from, bytes), "copying the window");
        else
            memcpy(to, from, bytes);
        access_must(a, way, mpi->Win_unlock(TARGET, a->win[way]));
    }
    bench_mpi.Barrier(MPI_COMM_WORLD);
    windows_hold(a, way, 1);
}

static char *windows_memory(const struct access *a, int way)
{
    void *memory = NULL;
    if (windows_on_device(a, way))
        bench_must(tutti_alloc(a->room, &memory), "allocating device memory for a window");
    else
        bench_must(tutti_device()->memory.alloc_pinned(a->room, &memory), "allocating pinned memory for a window");
    return memory;
}

/* 1 if the library takes the way's window and an operation on it. */
static int windows_try(struct access *a, int way)
{
    const struct bench_calls *mpi = &a->mpi[way];
    int error = mpi->Win_create(a->exposed[way], (MPI_Aint)a->room, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &a->win[way]);
    if (!bench_all_agree(error == MPI_SUCCESS))
        return 0;
    MPI_Win_set_errhandler(a->win[way], MPI_ERRORS_RETURN);
    a->bytes = sizeof(int);
    if (a->rank == ORIGIN && (error = mpi->Win_lock(MPI_LOCK_SHARED, TARGET, 0, a->win[way])) == MPI_SUCCESS) {
        error = windows_operation(a, way, 0);
        mpi->Win_unlock(TARGET, a->win[way]);
    }
    return bench_all_agree(error == MPI_SUCCESS);
}

/* Whether the ranks reach the window's memory themselves: then there is one copy. */
static void windows_say(const struct access *a)
{
    int *model = NULL, flag = 0;
    if (!windows_on_device(a, ACCESS_WAY_TUTTI) || !a->used[ACCESS_WAY_TUTTI])
        return;
    MPI_Win_get_attr(a->win[ACCESS_WAY_TUTTI], MPI_WIN_MODEL, &model, &flag);
    bench_say(a->plan, "note %s: the window %s", access_way_name(ACCESS_WAY_TUTTI),
              flag && *model == MPI_WIN_UNIFIED ? "is mapped by the ranks" : "has a copy in host memory");
}

static void windows_open(struct access *a)
{
    MPI_Group all;
    const int peer = 1 - a->rank;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &peer, &a->peer);
    MPI_Group_free(&all);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int way = 0; way < ACCESS_WAYS; way++) {
        a->win[way] = MPI_WIN_NULL;
        if (!a->used[way])
            continue;
        a->exposed[way] = windows_memory(a, way);
        a->used[way] = windows_try(a, way);
        if (a->used[way])
            windows_hold(a, way, 1);
        else
            bench_say(a->plan, "note no %s: the window or an operation on it is refused%s", access_way_name(way),
                      windows_on_device(a, way) ? "; --host-window has windows in host memory"
                                                : "; with Open MPI 4.1 OMPI_MCA_osc=pt2pt may make it");
    }
    windows_say(a);
}

static void windows_close(struct access *a)
{
    for (int way = 0; way < ACCESS_WAYS; way++) {
        if (a->used[way])
            windows_hold(a, way, 0);
        if (a->win[way] != MPI_WIN_NULL)
            a->mpi[way].Win_free(&a->win[way]);
        if (a->exposed[way] && windows_on_device(a, way))
            tutti_free(a->exposed[way]);
        else if (a->exposed[way])
            tutti_device()->memory.free_pinned(a->exposed[way]);
    }
    MPI_Group_free(&a->peer);
}

/* ---- data ---- */

enum { OF_TARGET = 7 }; /* added to the seed of what the target holds */

static void windows_prepare(struct access *a, int way, int part, uint64_t seed)
{
    const size_t bytes = windows_bytes(a, part);
    if (a->rank == ORIGIN) {
        access_fill(a->scratch, bytes, seed);
        bench_must(tutti_copy(a->device, a->scratch, bytes), "copying to the device");
        memcpy(a->pinned, a->scratch, bytes);
    } else {
        access_fill(a->scratch, bytes, seed + OF_TARGET);
    }
    windows_touch(a, way, bytes, 1);
}

/* How many operations of a part meet at a place. */
static unsigned windows_meet(const struct access *a, int part, size_t place)
{
    const unsigned n = (unsigned)access_times(a, part), places = (unsigned)a->places;
    return n / places + (place < n % places);
}

static int windows_sum_is_right(const struct access *a, int part, uint64_t seed, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 8) {
        unsigned mine[2], added[2], got[2];
        const size_t n = bytes - at < 8 ? 4 : 8;
        access_fill_at((char *)mine, at, seed + OF_TARGET);
        access_fill_at((char *)added, at, seed);
        memcpy(got, a->scratch + at, n);
        for (size_t i = 0; i < n / 4; i++) {
            if (got[i] != mine[i] + windows_meet(a, part, (at + 4 * i) / a->bytes) * added[i])
                return 0;
        }
    }
    return 1;
}

static int windows_check(struct access *a, int way, int part, uint64_t seed)
{
    const size_t bytes = windows_bytes(a, part);
    windows_touch(a, way, bytes, 0);
    if (a->what->id == ACCESS_GET) {
        if (a->rank != ORIGIN)
            return 1;
        if (way == ACCESS_WAY_HOST)
            memcpy(a->scratch, a->pinned, bytes);
        else
            bench_must(tutti_copy(a->scratch, a->device, bytes), "copying from the device");
        return access_same(a->scratch, bytes, seed + OF_TARGET);
    }
    if (a->rank != TARGET)
        return 1;
    return a->what->id == ACCESS_PUT ? access_same(a->scratch, bytes, seed)
                                     : windows_sum_is_right(a, part, seed, bytes);
}

const struct access_row access_windows = {.open = windows_open,
                                          .close = windows_close,
                                          .prepare = windows_prepare,
                                          .run = windows_run,
                                          .check = windows_check};
