/* Packing kernels that are not loaded. Loading them takes as long as some hundred copies. So a call that copies runs of
 * bytes leaves them to copy engines, and a thread loads the kernels once the copies have gained as much beside the
 * MPI's way. Messages and collectives have one account of a GPU. Elements with gaps need the kernels at once. */
#include <stdatomic.h>

#include "core/settings.h"
#include "core/status.h"
#include "device/device.h"
#include "dtype/pack.h"
#include "dtype/pack/later.h"
#include "dtype/pack/load.h"
#include "progress/beside.h"

enum { GPUS = 64, WINDOW = 16 };

static _Atomic uint64_t lost[GPUS]; /* ns of calls, until the kernels are loaded */
static struct tutti_beside_once loading[GPUS];

/* A failure is reported by the call that needs the kernels. */
static int later_load(void *of)
{
    return tutti_pack_prepare_few((int)((struct tutti_beside_once *)of - loading));
}

void tutti_pack_lost(int gpu, uint64_t ns)
{
    const struct tutti_device *const device = tutti_device();
    gpu = device ? tutti_pack_gpu(device, gpu) : GPUS;
    if (gpu >= GPUS || atomic_fetch_add_explicit(&lost[gpu], ns, memory_order_relaxed) + ns < TUTTI_PACK_LOADING_NS)
        return;
    const enum tutti_beside_state state = tutti_beside_begin(&loading[gpu], later_load, &loading[gpu]);
    if (state == TUTTI_BESIDE_NONE || (state == TUTTI_BESIDE_FAILED && tutti_beside_forget(&loading[gpu])))
        atomic_store(&lost[gpu], 0);
}

void tutti_pack_gained(int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    uint64_t ns = n >= WINDOW ? TUTTI_PACK_LOADING_NS : 0;
    for (unsigned i = 0; i < n; i++)
        ns += tutti_pack_gains(jobs[i].bytes);
    tutti_pack_lost(gpu, ns);
}

int tutti_pack_unloaded(const struct tutti_device *device, int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    if (__builtin_expect(tutti_pack_state(gpu) != TUTTI_PACK_UNLOADED, 1) || !device->share.usual_ns ||
        device->share.usual_ns() == 0 || tutti_settings()->mapping_price_us)
        return TUTTI_ERR_UNAVAILABLE;
    const int status = tutti_pack_copies(gpu, jobs, n, 1);
    if (status != TUTTI_ERR_UNAVAILABLE)
        tutti_pack_gained(gpu, jobs, n);
    return status;
}

void tutti_pack_load_end(void)
{
    for (int gpu = 0; gpu < GPUS; gpu++)
        tutti_beside_await(&loading[gpu]);
}
