#include "kernels/pack.h"

extern const unsigned char tutti_pack_few_fatbin_begin[], tutti_pack_stay_fatbin_begin[], tutti_pack_fatbin_begin[];

const void *tutti_pack_few_fatbin(void)
{
    return tutti_pack_few_fatbin_begin;
}

const void *tutti_pack_stay_fatbin(void)
{
    return tutti_pack_stay_fatbin_begin;
}

const void *tutti_pack_fatbin(void)
{
    return tutti_pack_fatbin_begin;
}
