/* Room for kernels that wait. The kernels of several communicators spin on one GPU at the same time, in streams that
 * know nothing of each other: all their blocks must be resident at once, or one that waits for a peer keeps the room
 * that the peer's counterpart needs. So each communicator gets a part of what the GPU holds, for as long as it lives.
 */
#include "mpi/streams.h"

enum { GPUS = 64 };

static unsigned taken[GPUS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Devices whose streams take no room from each other, and teams whose GPU is none in particular, are not counted. */
static int counted(int gpu)
{
    return gpu >= 0 && gpu < GPUS && tutti_door.device->resident && tutti_door.device->resident(gpu) > 0;
}

unsigned tutti_room_take(int gpu, unsigned most)
{
    if (!counted(gpu))
        return most;
    unsigned all = tutti_door.device->resident(gpu), blocks = 0;
    pthread_mutex_lock(&lock);
    if (taken[gpu] < all) {
        blocks = taken[gpu] == 0 ? all / 4 * 3 : (all - taken[gpu]) / 2; /* large messages want many */
        blocks = blocks < 1 ? 1 : blocks < most ? blocks : most;
        taken[gpu] += blocks;
    }
    pthread_mutex_unlock(&lock);
    return blocks;
}

void tutti_room_give(int gpu, unsigned blocks)
{
    if (!counted(gpu))
        return;
    pthread_mutex_lock(&lock);
    taken[gpu] -= blocks;
    pthread_mutex_unlock(&lock);
}
