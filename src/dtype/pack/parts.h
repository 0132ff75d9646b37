/* Parts of packing launches: collected, and launched when there are many or at the end. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_PARTS_H
#define TUTTI_DTYPE_PACK_PARTS_H

#include "device/device.h"
#include "kernels/pack_args.h"

/* A pointer of a part, or of what it refers to, and what is reached through it. */
struct tutti_parts_reach {
    uint32_t at; /* byte */
    uint32_t extra;
    const void *start;
    size_t bytes;
};

enum { TUTTI_PARTS_REACHES = 1024 }; /* of one launch */

struct tutti_parts_cache;

/* Large, and kept from call to call: a thread has one as long as its call lasts. */
struct tutti_parts {
    struct tutti_parts *next;
    const struct tutti_device *device;
    struct tutti_stream *stream;
    size_t room; /* most bytes of args */
    /* The notice of the last launch; number 0: none. */
    uint32_t launch_number, near;
    struct tutti_pack_channel *channel; /* which makes the last launch; NULL: none */
    volatile uint32_t *done;
    uint32_t *ended;
    unsigned launches;
    uint32_t n, extras, reaches;
    struct tutti_parts_cache *cache; /* see parts_cache.h */
    struct tutti_parts_reach reach[TUTTI_PARTS_REACHES];
    struct tutti_pack_reach reached[TUTTI_PARTS_REACHES + 1]; /* as devices get them */
    uint64_t extra[sizeof((struct tutti_pack_args *)0)->pool / 8];
    struct tutti_pack_args args; /* the parts are in the memory that they are launched from */
};

/* NULL: no memory. */
struct tutti_parts *tutti_parts_begin(const struct tutti_device *device, struct tutti_stream *stream, size_t room);
/* Adds a part, after a launch if it does not fit beside the others. part->tile: the units of which its thread blocks
 * do whole multiples, a power of two. `extra` (of 8 * extras bytes) is what part->at will refer to; reach[i].extra says
 * which of the two holds the pointer. */
int tutti_parts_add(struct tutti_parts *parts, const struct tutti_pack_part *part, const void *extra, uint32_t extras,
                    const struct tutti_parts_reach *reach, unsigned reaches);
/* The parts that were added last: [n - 1] is the last one. */
static inline struct tutti_pack_part *tutti_parts_at(struct tutti_parts *parts)
{
    return (struct tutti_pack_part *)(void *)parts->args.pool;
}
/* 1 if so much has room beside the others. */
int tutti_parts_have_room(const struct tutti_parts *parts, uint32_t n, uint32_t extras, uint32_t reaches);
/* Launches the remaining parts, if any, with the notice, and returns the room. `status`: of the launches before;
 * after a failure nothing more is launched. *launches: the number of launches, failed ones too. */
int tutti_parts_end(struct tutti_parts *parts, int status, unsigned *launches);

#endif
