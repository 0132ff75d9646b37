/* Which GPUs several ranks work on: kernels of their processes take turns there. */
#include <stdatomic.h>
#include <stdint.h>

#include "dtype/pack.h"

enum { GPUS = 64 };
static _Atomic uint64_t shared; /* a bit for each GPU */

void tutti_few_share(int gpu)
{
    if (gpu >= 0 && gpu < GPUS)
        atomic_fetch_or_explicit(&shared, UINT64_C(1) << gpu, memory_order_relaxed);
}

int tutti_few_is_shared(int gpu)
{
    return gpu >= 0 && gpu < GPUS && (atomic_load_explicit(&shared, memory_order_relaxed) >> gpu & 1);
}
