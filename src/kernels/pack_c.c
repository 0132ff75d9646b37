#include "kernels/pack_stay_c.h"

#include "kernels/pack.h"

void tutti_pack_host(const struct tutti_pack_args *args, uint32_t block)
{
    _Alignas(16) unsigned char stage[TUTTI_PACK_STAGE];
    tutti_pack_block(args, block, stage);
}

void tutti_pack_stay_host(const struct tutti_pack_stay_args *args)
{
    _Alignas(16) unsigned char stage[TUTTI_PACK_STAGE];
    struct tutti_pack_mailed call;
    tutti_pack_stay_block(args, &call, stage);
}
