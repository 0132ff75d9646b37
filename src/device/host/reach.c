/* By which addresses kernels and copies of the host device reach memory. */
#include "device/host/arena.h"

void *tutti_host_reach(const void *pointer, size_t bytes)
{
    struct tutti_host_region region;
    char *const alias = tutti_host_arena_alias(pointer);
    if (!alias)
        return (void *)(uintptr_t)pointer;
    if (!tutti_host_region_find(pointer, &region))
        return NULL;
    return bytes <= region.bytes - (size_t)((const char *)pointer - region.base) ? alias : NULL;
}

void *tutti_host_reach_over(const void *pointer, size_t bytes)
{
    struct tutti_host_region region;
    void *at = tutti_host_reach(pointer, bytes);
    if (at || !bytes || !tutti_host_region_find(pointer, &region))
        return at;
    return tutti_host_region_find((const char *)pointer + bytes - 1, &region) ? tutti_host_arena_alias(pointer) : NULL;
}
