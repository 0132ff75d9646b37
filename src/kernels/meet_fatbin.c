#include "kernels/meet.h"

extern const unsigned char tutti_meet_fatbin_begin[];

const void *tutti_meet_fatbin(void)
{
    return tutti_meet_fatbin_begin;
}
