/* Short waits for data that a GPU writes into host memory. Private to src/device/cuda/. */
#ifndef TUTTI_DEVICE_CUDA_SPIN_H
#define TUTTI_DEVICE_CUDA_SPIN_H

#include "core/clock.h"

/* Looks until there() returns 1, and returns 1 then; 0: it has not for longer than patience_ns. spins: looks between
 * two at the clock. Inlined, since each look is a load. */
static inline __attribute__((always_inline)) int tutti_cuda_spin(int (*there)(void *with), void *with, unsigned spins,
                                                                 uint64_t patience_ns)
{
    uint64_t begin = 0;
    for (unsigned looks = 1; !there(with); looks++) {
        tutti_pause();
        if (looks % spins != 0)
            continue;
        const uint64_t now = tutti_now_ns();
        begin = begin ? begin : now;
        if (now - begin > patience_ns)
            return 0;
    }
    return 1;
}

#endif
