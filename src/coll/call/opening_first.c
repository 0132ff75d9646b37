/* What the first team of a process takes: the team, and the kernels of its calls. Loading images of kernels takes
 * most of it, and needs none of the peers. So a thread does it while the MPI still makes the calls. One image is loaded
 * so, that of the first call that asks. If that call has blocks with gaps, or long ones, the packing kernels are loaded
 * besides, which fetch them. */
#include "coll/call/opening.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/status.h"
#include "device/device.h"
#include "dtype/pack.h"
#include "progress/beside.h"
#include "progress/engine.h"

enum {
    FIRST_NS = 10000000,       /* the first team, with its kernels */
    LOADED_FIRST_NS = 3000000, /* once its kernels are loaded */
    BEGIN_PART = 4             /* so much of the former lost: what is done in the background begins */
};

static struct {
    pthread_mutex_t lock;
    atomic_int state; /* enum tutti_opening_loading */
    const struct tutti_device *device;
    int gpu, type, op, packs;
    pid_t process; /* of the thread, which a forked child lacks */
} load = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int load_is_of_moves(int type, int op)
{
    return type == TUTTI_MOVES_TYPE && op == TUTTI_MOVES_OP;
}

int tutti_opening_kernel(int type, int op)
{
    int kernel = 0;
    while (kernel < TUTTI_KERNELS - 1 && tutti_kernel_moves(kernel) != load_is_of_moves(type, op))
        kernel++;
    return kernel;
}

/* All kernels that move data, or one of the image, which is most of the time: the rules decide on the others. */
static void load_run(void *nothing)
{
    uint32_t kernels = UINT32_C(1) << tutti_opening_kernel(load.type, load.op);
    (void)nothing;
    for (int kernel = 0; kernel < TUTTI_KERNELS && load_is_of_moves(load.type, load.op); kernel++)
        kernels |= (uint32_t)tutti_kernel_moves(kernel) << kernel;
    const int status = load.device->launch.prepare(load.gpu, kernels, load.type, load.op);
    if (load.packs)
        (void)tutti_pack_prepare(load.gpu, NULL);
    atomic_store_explicit(&load.state, status == TUTTI_OK ? TUTTI_LOAD_DONE : TUTTI_LOAD_FAILED, memory_order_release);
}

/* The lock is held. */
static void load_begin(const struct tutti_device *device, int gpu, int type, int op, int packs)
{
    load.device = device;
    load.gpu = gpu;
    load.type = type;
    load.op = op;
    load.packs = packs;
    load.process = getpid();
    atomic_store(&load.state, TUTTI_LOAD_RUNS);
    if (tutti_beside_start(load_run, NULL) != TUTTI_OK)
        atomic_store(&load.state, TUTTI_LOAD_FAILED);
}

enum tutti_opening_loading tutti_opening_load(const struct tutti_device *device, int gpu, int type, int op, int packs)
{
    if (!device->launch.prepare || gpu < 0)
        return TUTTI_LOAD_NONE;
    pthread_mutex_lock(&load.lock);
    if (atomic_load_explicit(&load.state, memory_order_acquire) == TUTTI_LOAD_NONE)
        load_begin(device, gpu, type, op, packs);
    const int same =
        load.gpu == gpu && load.process == getpid() &&
        (load_is_of_moves(type, op) ? load_is_of_moves(load.type, load.op) : load.type == type && load.op == op);
    const int state = same ? atomic_load_explicit(&load.state, memory_order_acquire) : TUTTI_LOAD_NONE;
    pthread_mutex_unlock(&load.lock);
    return (enum tutti_opening_loading)state;
}

int tutti_opening_first_begins(uint64_t lost)
{
    return lost >= FIRST_NS / BEGIN_PART;
}

int tutti_opening_first_waits(const struct tutti_device *device, int gpu, int type, int op, int packs, uint64_t lost)
{
    const enum tutti_opening_loading kernels = tutti_opening_load(device, gpu, type, op, packs);
    return kernels == TUTTI_LOAD_RUNS || lost < (kernels == TUTTI_LOAD_DONE ? LOADED_FIRST_NS : FIRST_NS);
}

static int load_has_ended(void *nothing)
{
    (void)nothing;
    return atomic_load_explicit(&load.state, memory_order_acquire) != TUTTI_LOAD_RUNS;
}

void tutti_opening_load_end(void)
{
    if (!load_has_ended(NULL) && load.process == getpid())
        (void)tutti_progress_wait(&(const struct tutti_wait){.done = load_has_ended});
}
