/* One-sided communication: long operations under locks on a window that is device memory on one rank and host memory on
 * the other, so that the MPI has locks beside the library's. The target is in no call but that which ends the window.
 * MPI_Put of more than 8 KiB never ends in Open MPI 4.1's windows of messages (osc/pt2pt) if the lock has
 * MPI_MODE_NOCHECK, which the library once added. */
#include <string.h>

#include "kit.h"

enum { MOST = 200000, HOST_RANK = 1 };
static const int lengths[] = {64, 20000, MOST};
static struct kit_buffer window, origin[2]; /* origins in host and device memory */

static char byte_of(int i, int round)
{
    return (char)(i * 7 + i / 256 + round * 3);
}

static void locked_write(int rank, int all, int from, int bytes, MPI_Win win)
{
    static char data[MOST];
    for (int i = 0; i < bytes; i++)
        data[i] = byte_of(i, from + rank);
    const void *at = kit_put(&origin[from], 0, data, (size_t)bytes);
    if (all)
        MPI_Win_lock_all(0, win);
    else
        MPI_Win_lock(from ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, rank, 0, win);
    MPI_Put(at, bytes, MPI_BYTE, rank, 0, bytes, MPI_BYTE, win);
    if (all)
        MPI_Win_unlock_all(win);
    else
        MPI_Win_unlock(rank, win);
}

static void run(int writer, int all, int from, int bytes)
{
    int guards, right = 1;
    MPI_Win win;
    void *base = kit_put(&window, 0, NULL, MOST);
    MPI_Win_create(base, MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int rank = 0; rank < kit_size && kit_rank == writer; rank++)
        locked_write(rank, all, from, bytes, win);
    MPI_Win_free(&win);
    const char *got = kit_get(&window, &guards);
    for (int i = 0; i < bytes; i++)
        right &= got[i] == byte_of(i, from + kit_rank);
    CHECK(right && guards, "rank %d writes %d bytes of %s memory, %s", writer, bytes, from ? "device" : "host",
          all ? "MPI_Win_lock_all" : "MPI_Win_lock");
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2 || !kit_makes_windows())
        kit_skip("rma-locked-long", "needs two ranks, the library and windows of the MPI");
    kit_open(&window, kit_rank == HOST_RANK ? KIT_HOST : KIT_DEVICE, MOST);
    kit_open(&origin[0], KIT_HOST, MOST);
    kit_open(&origin[1], KIT_DEVICE, MOST);
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        for (int how = 0; how < 8; how++)
            run(how & 1, how >> 1 & 1, how >> 2, lengths[l]);
    }
    kit_close(&window);
    kit_close(&origin[0]);
    kit_close(&origin[1]);
    return kit_end("rma-locked-long");
}
