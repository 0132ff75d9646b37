/* What the first team of a process takes: the team, and the kernels of its calls. Loading images of kernels takes
 * most of it, and needs none of the peers. So a thread does it while the MPI still makes the calls. One image is loaded
 * so, that of the first call that asks. If that call has blocks with gaps, or long ones, the packing kernels are loaded
 * besides, which fetch them.
 *
 * A call that moves data opens the first team in advance: its image is small, and a program that times some calls to
 * choose among ways of its own (a tuner, or a benchmark after its warm-up) so sees what later ones take. That is lent
 * once. */
#include "coll/call/opening.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/status.h"
#include "device/device.h"
#include "dtype/pack.h"
#include "progress/beside.h"
#include "progress/engine.h"

/* ns that calls must have lost: until what is done in the background begins; until the team opens with kernels that
 * are loaded, and without. */
struct first_price {
    uint64_t begins, loaded, all;
};
static const struct first_price of_reductions = {2500000, 3000000, 10000000};
static const struct first_price of_moves = {TUTTI_OPENING_ADVANCE_NS / 4, TUTTI_OPENING_ADVANCE_NS,
                                            TUTTI_OPENING_ADVANCE_NS};

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

static const struct first_price *first_price_of(int type, int op)
{
    return load_is_of_moves(type, op) ? &of_moves : &of_reductions;
}

int tutti_opening_first_begins(int type, int op, uint64_t lost)
{
    return lost >= first_price_of(type, op)->begins;
}

int tutti_opening_first_waits(const struct tutti_device *device, int gpu, int type, int op, int packs, uint64_t lost)
{
    const enum tutti_opening_loading kernels = tutti_opening_load(device, gpu, type, op, packs);
    const struct first_price *const price = first_price_of(type, op);
    return kernels == TUTTI_LOAD_RUNS || lost < (kernels == TUTTI_LOAD_DONE ? price->loaded : price->all);
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
