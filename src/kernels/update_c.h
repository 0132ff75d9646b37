/* The environment of the kernel of updates in C. See update.inc. */
#ifndef TUTTI_KERNELS_UPDATE_C_H
#define TUTTI_KERNELS_UPDATE_C_H

#include "kernels/env_c.h"

#define TUTTI_UPDATE_BODY(name)                                                                                        \
    static void body_##name(const struct tutti_update_args *args, unsigned block, const struct tutti_c_pair *pair)
#define TUTTI_UPDATE_END(args) update_end(args)

TUTTI_FN void update_end(const struct tutti_update_args *args)
{
    if (args->done)
        __atomic_store_n(args->done, args->launch_number, __ATOMIC_RELEASE);
}

#endif
