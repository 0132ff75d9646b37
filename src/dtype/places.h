/* Where the elements of a message lie, as a plan lays them out, and moving them to and from their packed form. Local;
 * in a process that has a device. */
#ifndef TUTTI_DTYPE_PLACES_H
#define TUTTI_DTYPE_PLACES_H

#include "dtype/pack.h"

/* What the bytes of `count` elements at `buffer` lie in. A type with absolute addresses (buffer NULL) may reach
 * several. */
struct tutti_places {
    int device; /* 1: some in memory that the host cannot reach */
    int host;   /* 1: some in memory that kernels cannot reach */
    int spread; /* 1: in memory of several GPUs */
    int gpu;    /* that owns the device memory; -1: none, or any */
    uint64_t
        id; /* of the one allocation on `gpu` that holds all of them (struct tutti_memory); 0: no allocation does */
};
void tutti_places_of(const struct tutti_plan *plan, int64_t count, const void *buffer, struct tutti_places *out);

/* 1 if kernels of places->gpu reach all. */
static inline int tutti_places_reached(const struct tutti_places *places)
{
    return !places->host && !places->spread;
}

/* Done on return: bytes [first, first + bytes) of the packed message, `packed` pointing at the first of them. By a
 * kernel if it reaches all of the elements and `packed`; otherwise block is copied after block. A status of Tutti. */
int tutti_packed_move(enum tutti_direction direction, const struct tutti_places *places, const struct tutti_plan *plan,
                      int64_t count, void *buffer, uint64_t first, uint64_t bytes, void *packed);

#endif
