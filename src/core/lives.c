#include "core/lives.h"

#include <stdint.h>

_Atomic unsigned tutti_gpu_lives[TUTTI_LIVES_GPUS];
_Atomic unsigned tutti_gpu_resets;
#define EVERY UINT64_MAX
static _Atomic uint64_t shared; /* a bit for each GPU */

void tutti_gpu_reset(int gpu)
{
    if (gpu >= 0 && gpu < TUTTI_LIVES_GPUS)
        atomic_fetch_add(&tutti_gpu_lives[gpu], 1);
    atomic_fetch_add(&tutti_gpu_resets, 1);
}

void tutti_gpu_share(int gpu)
{
    if (gpu < TUTTI_LIVES_GPUS && !tutti_gpu_is_shared(gpu))
        atomic_fetch_or_explicit(&shared, gpu >= 0 ? UINT64_C(1) << gpu : EVERY, memory_order_relaxed);
}

int tutti_gpu_is_shared(int gpu)
{
    const uint64_t are = atomic_load_explicit(&shared, memory_order_relaxed);
    return gpu < TUTTI_LIVES_GPUS && (gpu >= 0 ? (int)(are >> gpu & 1) : are == EVERY);
}
