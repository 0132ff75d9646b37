/* What the kernel is given by which a rank marks partitions of a collective (tutti/device/meet.h): plain C, the same
 * for every device. */
#ifndef TUTTI_KERNELS_MEET_ARGS_H
#define TUTTI_KERNELS_MEET_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "tutti/prequest.h"

enum { TUTTI_MEET_THREADS = 512 }; /* of a block, for CUDA */

struct tutti_meet_args {
    struct tutti_meet meet;
    int32_t partitions; /* of the collective */
    int32_t first, n;   /* partitions that are marked */
    uint32_t blocks;    /* as launched: they deal out the slices */
};

#endif
