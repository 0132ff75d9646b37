/* Attached memory that other ranks cannot map although it was shown: its owner reads and writes it for them. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/status.h"
#include "operations.h"
#include "team/pair.h"

int cannot_map;

/* In the place of the library's: memory of another rank cannot be mapped, though it was shown. */
int tutti_pair_map(struct tutti_node *node, const struct tutti_device *device, int peer, int gpu,
                   const struct tutti_share *share, size_t bytes, struct tutti_mapping **mapping, void **out)
{
    static __typeof__(tutti_pair_map) *real;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "tutti_pair_map");
    const int status = real(node, device, peer, gpu, share, bytes, mapping, out);
    if (!cannot_map || status != 0 || !*mapping)
        return status;
    tutti_pair_release(node, device, *mapping);
    *mapping = NULL;
    return TUTTI_ERR_UNAVAILABLE;
}

/* All ranks, the owner too, count at one place. */
static void owner_counts(MPI_Win win, MPI_Aint at, int owner)
{
    enum { TIMES = 150 };
    const int one = 1, zero = 0;
    int before = -1, last = -1, fine = 1;
    MPI_Win_lock_all(0, win);
    if (kit_rank == owner)
        MPI_Fetch_and_op(&zero, &before, MPI_INT, owner, at, MPI_REPLACE, win);
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        MPI_Fetch_and_op(&one, &before, MPI_INT, owner, at, MPI_SUM, win);
        MPI_Win_flush(owner, win);
        fine &= before > last;
        last = before;
    }
    CHECK(fine, "a count that goes back");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Fetch_and_op(&zero, &before, MPI_INT, owner, at, MPI_NO_OP, win);
    MPI_Win_unlock_all(win);
    CHECK(before == TIMES * kit_size, "%d is the count of %d ranks, each %d times", before, kit_size, TIMES);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Operations of several pieces, while the owner of the memory makes no call on the window until a file says that they
 * are done. The MPI's lock takes calls of the MPI there. */
void owner_computes(void)
{
    enum { BYTES = 1 << 20, AT = 4000, LAST = 1 };
    struct kit_buffer window;
    char name[64], *data = malloc(BYTES), *came = malloc(BYTES);
    int process = (int)getpid(), guards;
    MPI_Aint at;
    MPI_Win win;
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "/tmp/rma-%d", process);
    for (int i = 0; i < BYTES; i++)
        data[i] = (char)draw_alike(256);
    kit_open(&window, KIT_DEVICE, BYTES);
    char *base = kit_put(&window, 0, data, BYTES);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, base, BYTES);
    MPI_Get_address(base, &at);
    MPI_Bcast(&at, 1, MPI_AINT, LAST, MPI_COMM_WORLD);
    if (kit_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, LAST, 0, win);
        MPI_Get(came, BYTES, MPI_BYTE, LAST, at, BYTES, MPI_BYTE, win);
        MPI_Win_flush(LAST, win);
        CHECK(memcmp(came, data, BYTES) == 0, "what the owner reads for this rank");
        MPI_Put(data + 1, BYTES - AT - 1, MPI_BYTE, LAST, at + AT, BYTES - AT - 1, MPI_BYTE, win);
        MPI_Win_unlock(LAST, win);
        FILE *file = fopen(name, "w");
        CHECK(file != NULL, "%s", name);
        fclose(file);
    }
    while (kit_rank == LAST && access(name, F_OK) != 0) {
        int none;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &none, MPI_STATUS_IGNORE);
        usleep(100);
    }
    if (kit_rank == LAST) {
        const char *now = kit_get(&window, &guards);
        CHECK(guards && memcmp(now, data, AT) == 0 && memcmp(now + AT, data + 1, BYTES - AT - 1) == 0 &&
                  now[BYTES - 1] == data[BYTES - 1],
              "what the owner writes for another rank");
        unlink(name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    owner_counts(win, at, LAST);
    MPI_Win_detach(win, base);
    MPI_Win_free(&win);
    kit_close(&window);
    free(data);
    free(came);
}
