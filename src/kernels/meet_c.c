/* The kernel in which ranks meet, in C: the calling thread is the block. */
#include "kernels/meet.h"

#include "tutti/device/meet.h"

#include "kernels/meet.inc"

void tutti_meet_host_block(const struct tutti_meet_args *args, unsigned block)
{
    tutti_meet_block(args, block);
}
