/* The kernels of the first team of a process. Loading images of kernels takes much of its opening, and needs none of
 * the peers. So a thread does it while the MPI still makes the calls. One image is loaded so, that of the first call
 * that asks. If that call has blocks with gaps, or long ones, the packing kernels are loaded besides, which fetch them.
 * The driver holds back the copies of staged calls meanwhile. */
#include "coll/call/opening.h"

#include <stdatomic.h>

#include "core/status.h"
#include "device/device.h"
#include "dtype/pack.h"
#include "progress/beside.h"

/* The image of the first call, and what loads it: calls of the same image alone store here. */
static struct {
    _Atomic uint64_t image; /* load_image_of(); 0: there was no call */
    _Atomic(const struct tutti_device *) device;
    atomic_int gpu, type, op, packs;
    struct tutti_beside_once once;
} load;

static uint64_t load_image_of(int gpu, int type, int op)
{
    return (uint64_t)(gpu + 1) << 32 | (uint64_t)(type + 1) << 16 | (uint64_t)(op + 1);
}

static int load_is_of_moves(int type, int op)
{
    return type == TUTTI_MOVES_TYPE && op == TUTTI_MOVES_OP;
}

int tutti_opening_kernel(int type, int op)
{
    return load_is_of_moves(type, op) ? TUTTI_KERNEL_MOVE_LL : TUTTI_KERNEL_LL;
}

/* All kernels that move data, or one of the image, which is most of the time: the rules decide on the others. */
static int load_run(void *nothing)
{
    const int gpu = load.gpu, type = load.type, op = load.op;
    uint32_t kernels = UINT32_C(1) << tutti_opening_kernel(type, op);
    (void)nothing;
    for (int kernel = 0; kernel < TUTTI_KERNELS && load_is_of_moves(type, op); kernel++)
        kernels |= (uint32_t)tutti_kernel_moves(kernel) << kernel;
    const int status = load.device->launch.prepare(gpu, kernels, type, op);
    if (load.packs)
        (void)tutti_pack_prepare(gpu, NULL);
    return status;
}

enum tutti_beside_state tutti_opening_load(const struct tutti_device *device, int gpu, int type, int op, int packs)
{
    uint64_t first = 0;
    if (!device->launch.prepare || gpu < 0)
        return TUTTI_BESIDE_NONE;
    const uint64_t image = load_image_of(gpu, type, op);
    if (!atomic_compare_exchange_strong(&load.image, &first, image) && first != image)
        return TUTTI_BESIDE_NONE;
    const enum tutti_beside_state state = tutti_beside_state(&load.once);
    if (state != TUTTI_BESIDE_NONE)
        return state;
    load.device = device;
    load.gpu = gpu;
    load.type = type;
    load.op = op;
    load.packs = packs;
    return tutti_beside_begin(&load.once, load_run, NULL);
}

void tutti_opening_load_end(void)
{
    tutti_beside_await(&load.once);
}
