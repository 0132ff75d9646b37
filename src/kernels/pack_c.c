#include <pthread.h>

#include "kernels/pack_stay_c.h"

#include "kernels/pack.h"

void tutti_pack_host(const struct tutti_pack_args *args, uint32_t block)
{
    _Alignas(16) unsigned char stage[TUTTI_PACK_STAGE];
    tutti_pack_block(args, block, stage);
}

static void stay_block(const struct tutti_pack_stay_args *args)
{
    _Alignas(16) unsigned char stage[TUTTI_PACK_STAGE];
    struct tutti_pack_mailed call;
    tutti_pack_stay_block(args, &call, stage);
}

static void *stay_other(void *with)
{
    stay_block(with);
    return NULL;
}

void tutti_pack_stay_host(const struct tutti_pack_stay_args *args)
{
    pthread_t thread[TUTTI_PACK_STAY_BLOCKS];
    uint32_t others = 0;
    while (others + 1 < args->stay.blocks &&
           pthread_create(&thread[others], NULL, stay_other, (void *)(uintptr_t)args) == 0)
        others++;
    stay_block(args);
    for (uint32_t block = others + 1; block < args->stay.blocks; block++) /* that there was no thread for */
        stay_block(args);
    while (others > 0)
        pthread_join(thread[--others], NULL);
}
