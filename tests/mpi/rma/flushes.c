/* One-sided communication: data of gets into device memory after each kind of flush, which hands on its results, and
 * after the unlock behind it. The window lies in host memory. An MPI may return from a local flush before the data are
 * there (MPICH 4.0). */
#include <string.h>

#include "kit.h"

enum { MOST = 20000, PUTS = 1024, ROUNDS = 40, TARGET = 0 };

static struct kit_buffer result[2]; /* two gets of an epoch */
static char data[MOST + PUTS];      /* puts go behind what is read */
static MPI_Win win;

typedef int flush_call(int rank, MPI_Win window);

static int flush_all(int rank, MPI_Win window)
{
    (void)rank;
    return MPI_Win_flush_all(window);
}

static int flush_local_all(int rank, MPI_Win window)
{
    (void)rank;
    return MPI_Win_flush_local_all(window);
}

static const struct {
    const char *name;
    flush_call *call;
} flushes[] = {{"MPI_Win_flush", MPI_Win_flush},
               {"MPI_Win_flush_all", flush_all},
               {"MPI_Win_flush_local", MPI_Win_flush_local},
               {"MPI_Win_flush_local_all", flush_local_all}};
enum { FLUSHES = sizeof flushes / sizeof flushes[0] };

static void flushes_check(int i, size_t from, size_t bytes, const char *name, const char *when)
{
    int guards;
    const char *came = kit_get(&result[i], &guards);
    CHECK(memcmp(came, data + from, bytes) == 0 && guards, "%s: %zu bytes %s", name, bytes, when);
}

static void flushes_run(int f, size_t bytes, int how)
{
    static const char put[16];
    const size_t from[2] = {3, MOST - bytes - 1};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win_lock(how & 1 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, TARGET, 0, win);
    if (how & 2)
        flushes[f].call(TARGET, win);
    for (int i = 0; i < 2; i++) {
        void *to = kit_put(&result[i], 8 * (size_t)i, NULL, bytes);
        MPI_Get(to, (int)bytes, MPI_BYTE, TARGET, (MPI_Aint)from[i], (int)bytes, MPI_BYTE, win);
        if (how & 4 && i == 0)
            MPI_Rput(put, sizeof put, MPI_BYTE, TARGET, MOST + (MPI_Aint)sizeof put * kit_rank, sizeof put, MPI_BYTE,
                     win, &request);
        if (i == 0)
            flushes[f].call(TARGET, win);
    }
    flushes_check(0, from[0], bytes, flushes[f].name, "after it");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(TARGET, win);
    for (int i = 0; i < 2; i++)
        flushes_check(i, from[i], bytes, flushes[f].name, "after the unlock");
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || !kit_makes_windows())
        kit_skip("rma-flushes", "needs the library and windows of the MPI");
    for (int i = 0; i < MOST; i++)
        data[i] = (char)(i * 7 + i / 256);
    for (int i = 0; i < 2; i++)
        kit_open(&result[i], KIT_DEVICE, MOST);
    MPI_Win_create(data, kit_rank == TARGET ? sizeof data : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        for (int f = 0; f < FLUSHES; f++)
            flushes_run(f, round % 16 < 8 ? 40 : 1 + (size_t)(round * 211), round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(kit_counted("MPI_Get", "staged") > 0, "the gets are not staged");
    MPI_Win_free(&win);
    for (int i = 0; i < 2; i++)
        kit_close(&result[i]);
    return kit_end("rma-flushes");
}
