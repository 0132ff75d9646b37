/* A box: a block repeated over dimensions, with a place on both sides and in the packed message. Boxes are cut to a
 * range of the message, made simpler, and become parts of a launch. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_BOX_H
#define TUTTI_DTYPE_PACK_BOX_H

#include "dtype/pack_kept.h"
#include "dtype/pack_parts.h"

enum { TUTTI_BOX_DIMS = 16 };

struct tutti_box_dim {
    uint64_t count;
    int64_t from, to; /* bytes */
    uint64_t packed;  /* at least as long as what is inside: positions grow with the index */
};

struct tutti_box {
    uint64_t from, to; /* addresses, as numbers: with a list its offsets are still to be added */
    uint64_t packed;   /* position in the message */
    uint64_t block;
    int dims;
    int list;                                 /* the dimension whose index selects list->offsets; -1: none */
    struct tutti_box_dim dim[TUTTI_BOX_DIMS]; /* slowest first */
    const struct tutti_kept_list *kept;
    uint64_t list_first; /* first entry */
    unsigned sides;      /* TUTTI_PACK_LIST_FROM, TUTTI_PACK_LIST_TO: where the list's offsets are added */
};

/* Adds what of the box has packed positions in [first, end). */
int tutti_box_add(struct tutti_parts *parts, const struct tutti_box *box, uint64_t first, uint64_t end);

/* n / count by a multiplication, for n < 2^31: see struct tutti_pack_dim. */
void tutti_pack_magic(uint32_t count, uint32_t *magic, uint32_t *shift);
/* Thread blocks for `units` of which a block does whole rounds of `round`; sets *tile. Each block of a large message
 * does many, since it ends with a wait for its own stores. */
uint32_t tutti_pack_tiles(uint32_t units, uint32_t round, uint32_t *tile);

#endif
