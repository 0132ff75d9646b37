/* The kernel of the global address space in C: the calling thread is the block. */
#include "kernels/shmem_kernel.h"

static _Thread_local const struct tshmem_state *state_here;
#define TSHMEM_STATE() state_here
#include "tutti/device.h"

#include "kernels/shmem.inc"

void tutti_shmem_host_block(const struct tutti_shmem_args *args, unsigned block)
{
    int status;
    state_here = &args->state;
    if (tutti_shmem_reduces(args))
        status =
            args->blocks > 1 ? tutti_spread_reduce(args, args->type, block) : tutti_ordered_reduce(args, args->type);
    else
        status = args->blocks > 1 ? tutti_spread_do(args, block) : tutti_ordered_do(args);
    if (status != TUTTI_DEV_OK)
        tutti_ordered_tell(args, status);
    state_here = NULL;
}
