#include "core/lives.h"

_Atomic unsigned tutti_gpu_lives[TUTTI_LIVES_GPUS];
_Atomic unsigned tutti_gpu_resets;

void tutti_gpu_reset(int gpu)
{
    if (gpu >= 0 && gpu < TUTTI_LIVES_GPUS)
        atomic_fetch_add(&tutti_gpu_lives[gpu], 1);
    atomic_fetch_add(&tutti_gpu_resets, 1);
}
