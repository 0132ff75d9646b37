/* FNV-1a: a number for some bytes, continued from the number of earlier bytes. Not for tables that strangers fill. */
#ifndef TUTTI_FNV_H
#define TUTTI_FNV_H

#include <stddef.h>
#include <stdint.h>

#define TUTTI_FNV_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t tutti_fnv(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* All bits of the result depend on all bits of x. */
static inline uint64_t tutti_mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

#endif
