/* Elements: how every room below the door describes a buffer. `count` elements of one plan from a base address on, and
 * the memory that they lie in. Local. */
#ifndef TUTTI_DTYPE_ELEMENTS_H
#define TUTTI_DTYPE_ELEMENTS_H

#include "dtype/places.h"

struct tutti_elements {
    const struct tutti_plan *plan; /* held by the owner; NULL: only the door can pack and unpack them */
    int64_t count;
    void *buffer;               /* the base address, as the program passes it */
    int whole;                  /* 1: they are one run of bytes, see tutti_elements_run() */
    int placed;                 /* 1: `places` is known */
    struct tutti_places places; /* where they lie */
};

/* Packed bytes. They have a plan. */
static inline uint64_t tutti_elements_bytes(const struct tutti_elements *elements)
{
    return (uint64_t)elements->count * elements->plan->size;
}

/* The first byte of elements that are whole. */
static inline char *tutti_elements_run(const struct tutti_elements *elements)
{
    return (char *)elements->buffer + elements->plan->true_lower;
}

/* The lowest byte of the elements, and the end of the highest. They have a plan. */
void tutti_elements_span(const struct tutti_elements *elements, const char **lowest, const char **end);

/* `memory`: what the device has just reported about an address. If it is an allocation of a GPU that holds all
 * elements, the elements are placed, and the device is not asked again. Other memory is looked up when it is needed,
 * since the program may unregister it while a message is open. The elements have a plan. */
void tutti_elements_place(struct tutti_elements *elements, const struct tutti_memory *memory);

/* Where the elements lie. The first call looks it up; the buffer must not move afterwards. They have a plan. */
const struct tutti_places *tutti_elements_places(struct tutti_elements *elements);

/* Bytes [first, first + bytes) of the packed message, to or from `packed`, as one job of a packing launch. */
static inline struct tutti_pack_job tutti_elements_job(enum tutti_direction direction,
                                                       const struct tutti_elements *elements, uint64_t first,
                                                       uint64_t bytes, void *packed)
{
    return (struct tutti_pack_job){.direction = direction,
                                   .plan = elements->plan,
                                   .count = (uint64_t)elements->count,
                                   .memory = elements->buffer,
                                   .packed = packed,
                                   .first = first,
                                   .bytes = bytes};
}

/* Packs or unpacks these bytes; done on return. The calling thread moves elements in host memory, others move as
 * tutti_packed_move() does. A status. */
int tutti_elements_move(enum tutti_direction direction, struct tutti_elements *elements, uint64_t first, uint64_t bytes,
                        void *packed);

#endif
