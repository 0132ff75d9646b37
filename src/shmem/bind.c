/* Modules of kernels that read the state: they are notified when the state exists and when it ends. */
#include <pthread.h>

#include "shmem/copy_queue.h"
#include "shmem/here.h"

enum { MODULES = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*modules[MODULES])(const struct tshmem_state *state);
static int count;

/* Binds a module to the state on the GPU of the heap, also if the program has chosen no GPU yet. That GPU becomes
 * the current one, so that launches without a choice of their own run there. */
static int take_on_gpu(struct tutti_shmem *space, int (*take)(const struct tshmem_state *state),
                       const struct tshmem_state *state)
{
    const struct tutti_shmem_gpu *gpu = space->gpu;
    int chosen = -1;
    if (!gpu || (gpu->device->gpu.current(&chosen) == TUTTI_OK && chosen == gpu->gpu))
        return take(state);
    int status = gpu->device->gpu.choose(gpu->gpu);
    if (status == TUTTI_OK)
        status = take(state);
    if (chosen >= 0)
        gpu->device->gpu.choose(chosen);
    return status;
}

int tshmem_register_module(int (*take)(const struct tshmem_state *state))
{
    struct tutti_shmem *const space = tutti_shmem_here();
    pthread_mutex_lock(&lock);
    const int room = count < MODULES;
    if (room)
        modules[count++] = take;
    pthread_mutex_unlock(&lock);
    if (!room)
        return tutti_shmem_answer(space, TUTTI_ERR_MEMORY, "tshmem_register_module", "more than %d modules", MODULES);
    return space->state.pes > 0 ? take_on_gpu(space, take, &space->state) : TUTTI_OK;
}

void tutti_shmem_bind(struct tutti_shmem *space, const struct tshmem_state *state)
{
    pthread_mutex_lock(&lock);
    const int n = count;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++) {
        const int status = take_on_gpu(space, modules[i], state);
        if (status < 0)
            tutti_shmem_fail(space, status, "tshmem_init", "a module of kernels did not take the state: %s",
                             tutti_status_text(status));
    }
}
