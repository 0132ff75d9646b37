#include "core/lives.h"

#include <stdint.h>

_Atomic unsigned tutti_gpu_lives[TUTTI_LIVES_GPUS];
_Atomic unsigned tutti_gpu_resets;
#define EVERY UINT64_MAX
static _Atomic uint64_t shared, in_turns; /* a bit for each GPU */

void tutti_gpu_reset(int gpu)
{
    if (gpu >= 0 && gpu < TUTTI_LIVES_GPUS)
        atomic_fetch_add(&tutti_gpu_lives[gpu], 1);
    atomic_fetch_add(&tutti_gpu_resets, 1);
}

static int lives_has(const _Atomic uint64_t *bits, int gpu)
{
    const uint64_t are = atomic_load_explicit(bits, memory_order_relaxed);
    return gpu < TUTTI_LIVES_GPUS && (gpu >= 0 ? (int)(are >> gpu & 1) : are == EVERY);
}

static void lives_add(_Atomic uint64_t *bits, int gpu)
{
    if (gpu < TUTTI_LIVES_GPUS && !lives_has(bits, gpu))
        atomic_fetch_or_explicit(bits, gpu >= 0 ? UINT64_C(1) << gpu : EVERY, memory_order_relaxed);
}

void tutti_gpu_share(int gpu, int turns)
{
    lives_add(&shared, gpu);
    if (turns)
        lives_add(&in_turns, gpu);
}

int tutti_gpu_is_shared(int gpu)
{
    return lives_has(&shared, gpu);
}

int tutti_gpu_takes_turns(int gpu)
{
    return lives_has(&in_turns, gpu);
}
