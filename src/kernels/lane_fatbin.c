#include "kernels/lane.h"

extern const unsigned char tutti_lane_fatbin_begin[];

const void *tutti_lane_fatbin(void)
{
    return tutti_lane_fatbin_begin;
}
