/* TUTTI_PREFIX in C: to[r] = from[0] op ... op from[r] (before: up to from[r - 1], and nothing for rank 0), n elements.
 * to[r] may be from[r], or NULL if it is not wanted. */
#ifndef TUTTI_KERNELS_PREFIX_C_H
#define TUTTI_KERNELS_PREFIX_C_H

#include "kernels/env_c.h"

#define TUTTI_PREFIX(ends, ranks, before, n) prefix(pair, ends, ranks, before, n)

enum { PREFIX_BYTES = 4096 };

/* The result of `depth` contributions; of a single one its very bits. */
static void prefix_store(const struct tutti_c_pair *pair, unsigned char *to, const void *sum, const void *first,
                         unsigned depth, size_t n)
{
    if (!to || depth == 0)
        return;
    if (depth == 1)
        memcpy(to, first, n * pair->size);
    else if (pair->widen)
        pair->narrow(to, sum, n);
    else
        memcpy(to, sum, n * pair->size);
}

/* Tile by tile. A contribution is read before the result of its rank is stored. */
static void prefix(const struct tutti_c_pair *pair, const struct tutti_ends *ends, unsigned ranks, int before,
                   uint64_t n)
{
    unsigned char first[PREFIX_BYTES] __attribute__((aligned(64)));
    unsigned char tile[2][PREFIX_BYTES] __attribute__((aligned(64)));
    float wide[PREFIX_BYTES / sizeof(float)] __attribute__((aligned(64)));
    const size_t size = pair->size, step = PREFIX_BYTES / (pair->widen ? sizeof(float) : size);
    for (uint64_t at = 0; at < n; at += step) {
        const size_t some = n - at < step ? n - at : step;
        const uint64_t offset = at * size;
        unsigned char *sum = tile[0], *next = tile[1];
        memcpy(first, ends->from[0] + offset, some * size);
        if (pair->widen)
            pair->widen((float *)(void *)sum, first, some);
        else
            memcpy(sum, first, some * size);
        for (unsigned r = 0; r < ranks; r++) {
            const void *group[4] = {sum, ends->from[r] + offset};
            if (r > 0 && pair->widen) {
                pair->widen(wide, group[1], some);
                group[1] = wide;
            }
            if (r > 0)
                pair->fold(next, group, 2, some);
            else
                memcpy(next, sum, pair->widen ? some * sizeof(float) : some * size);
            prefix_store(pair, ends->to[r] ? ends->to[r] + offset : NULL, before ? sum : next, first, r + !before,
                         some);
            unsigned char *const old = sum;
            sum = next;
            next = old;
        }
    }
}

#endif
