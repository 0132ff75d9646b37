/* Modules of kernels that want to know the state: told when there is one, and when it ends. */
#include <pthread.h>

#include "shmem/space.h"

enum { MODULES = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*modules[MODULES])(const struct tshmem_state *state);
static int count;

int tshmem_register_module(int (*take)(const struct tshmem_state *state))
{
    pthread_mutex_lock(&lock);
    const int room = count < MODULES;
    if (room)
        modules[count++] = take;
    pthread_mutex_unlock(&lock);
    if (!room)
        return tutti_shmem_answer(TUTTI_ERR_MEMORY, "tshmem_register_module", "more than %d modules", MODULES);
    return tutti_shmem.state.pes > 0 ? take(&tutti_shmem.state) : TUTTI_OK;
}

void tutti_shmem_bind(const struct tshmem_state *state)
{
    pthread_mutex_lock(&lock);
    const int n = count;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++) {
        const int status = modules[i](state);
        if (status < 0)
            tutti_shmem_fail(status, "tshmem_init", "a module of kernels did not take the state: %s",
                             tutti_status_text(status));
    }
}
