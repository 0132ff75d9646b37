/* The lane kernel in C: the calling thread is the block. */
#include "kernels/lane.h"

#include <stddef.h>
#include <stdint.h>

#include "tutti/device/env.h"

#include "tutti/device/copy.h"

enum { TUTTI_LANE_LOOKS = 16 /* each of which gives the core away */, TUTTI_LANE_LONG_NS = 1000000 };
#define TUTTI_LANE_SHARED

static int tutti_lane_rest(const struct tutti_lane_args *args, unsigned looks)
{
    tutti_dev_pause();
    return looks % TUTTI_LANE_LOOKS == TUTTI_LANE_LOOKS - 1 && args->host_wait && args->host_wait(args->host_wait_with);
}

#include "kernels/lane.inc"

_Static_assert(TUTTI_LANE_RINGS + TUTTI_LANE_PLACES_OF(TUTTI_LANES) == TUTTI_LANE_BYTES, "the memory of a pair");
_Static_assert((TUTTI_LANE_PACKETS_OF(0) / 4 + 1) * 8 <= TUTTI_LANE_PLACE_OF(0), "a place holds all packets");

void tutti_lane_host_block(const struct tutti_lane_args *args, unsigned block)
{
    if (args->what == TUTTI_LANE_DO)
        tutti_lane_do_block(args, block);
    else if (args->what == TUTTI_LANE_GROUP)
        tutti_lane_group_block(args, block);
    else
        tutti_lane_block(args, block);
}
