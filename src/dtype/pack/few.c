/* Few bytes between a GPU and the host: by a kernel or by the driver. */
#include "core/lives.h"
#include "core/status.h"
#include "device/device.h"
#include "dtype/pack.h"

/* A copy alone takes the driver 7 us on an H200, a kernel and its notice as long, and longer unless its launch is kept
 * ready. A launch that repeats is kept ready: Iallgather of 8 bytes over two nodes 19.8 us, by copies 25.8. The two
 * copies of a call by one kernel that stays take the time of one launch. Where several processes work on a GPU, their
 * kernels take turns in slices of some hundred us, and copies do not: 4 ranks on two GPUs, Alltoall of 8 bytes over
 * nodes by kernels 443 us, by copies 232. Under MPS kernels take no turns, and gain nothing: two ranks on one H200,
 * Iallgather of 8 bytes by kernels 17.6 to 19.4 us, by copies 16.7 to 17.6. */
static uint64_t few_most(enum tutti_few use)
{
    const uint64_t few = tutti_device()->memory.few;
    return use == TUTTI_FEW_PAIR ? few * TUTTI_PACK_PAIR_FEW : use == TUTTI_FEW_REPEATED ? few : 0;
}

int tutti_few_by_kernel(int gpu, uint64_t bytes, enum tutti_few use, int may_load)
{
    if (bytes > few_most(use) || tutti_gpu_is_shared(gpu))
        return 0;
    if (tutti_pack_state(gpu) == TUTTI_PACK_READY)
        return 1;
    if (may_load)
        tutti_pack_lost(gpu, TUTTI_PACK_FEW_LOST);
    return 0;
}

int tutti_run_copy(int gpu, int in, void *to, const void *from, uint64_t bytes, unsigned how, int may_load)
{
    const struct tutti_device *const device = tutti_device();
    const struct tutti_pack_job job = tutti_pack_run(to, from, bytes);
    if (tutti_few_by_kernel(gpu, bytes, TUTTI_FEW_REPEATED, may_load) && job.plan &&
        tutti_pack_reached(gpu, &job, 1, how | (in ? TUTTI_PACK_NEAR : 0)) == TUTTI_OK)
        return TUTTI_OK;
    return device->memory.copy_pinned ? device->memory.copy_pinned(gpu, in, to, from, bytes)
                                      : device->memory.copy_now(to, from, bytes);
}
