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

enum { TUTTI_PARTS_FEW = 8, TUTTI_PARTS_EXTRA = 128, TUTTI_PARTS_REACHES = 24 };

struct tutti_parts {
    const struct tutti_device *device;
    struct tutti_stream *stream;
    size_t room;     /* most bytes of args */
    uint32_t blocks; /* so far */
    /* The notice of the last launch; ticket 0: none. */
    uint32_t ticket, near;
    volatile uint32_t *done;
    uint32_t *ended;
    unsigned launches;
    /* They begin in the arrays below and move where these are too small. */
    struct tutti_pack_part *part;
    uint64_t *extra;
    struct tutti_parts_reach *reach;
    uint32_t n, part_room, extras, extra_room, reaches, reach_room;
    struct tutti_pack_part few_parts[TUTTI_PARTS_FEW];
    uint64_t few_extra[TUTTI_PARTS_EXTRA];
    struct tutti_parts_reach few_reaches[TUTTI_PARTS_REACHES];
};

void tutti_parts_begin(struct tutti_parts *parts, const struct tutti_device *device, struct tutti_stream *stream,
                       size_t room);
/* Adds a part of `blocks` thread blocks, after a launch where it has no room beside the others. `extra` (of 8 * extras
 * bytes) is what part->at will refer to; reach[i].extra says in which of the two the pointer stands. */
int tutti_parts_add(struct tutti_parts *parts, const struct tutti_pack_part *part, uint32_t blocks, const void *extra,
                    uint32_t extras, const struct tutti_parts_reach *reach, unsigned reaches);
/* Launches what is left, with the notice, where there is any; frees what was allocated. `status`: of what came before;
 * nothing is launched any more where that is a failure. */
int tutti_parts_end(struct tutti_parts *parts, int status);

#endif
