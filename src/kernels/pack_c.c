#include "kernels/pack_c.h"

#include "kernels/pack.h"

void tutti_pack_host(const struct tutti_pack_args *args, uint32_t block)
{
    _Alignas(16) unsigned char stage[TUTTI_PACK_STAGE];
    tutti_pack_block(args, block, stage);
}
