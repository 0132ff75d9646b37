/* A box: a block repeated over dimensions, with a place on both sides and in the packed message. Boxes are cut to a
 * range of the message, made simpler, and become parts of a launch. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_BOX_H
#define TUTTI_DTYPE_PACK_BOX_H

#include "dtype/pack/image.h"
#include "dtype/pack/parts.h"

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
    int list;                                 /* the dimension whose index selects image->offsets; -1: none */
    struct tutti_box_dim dim[TUTTI_BOX_DIMS]; /* slowest first */
    const struct tutti_image_list *image;
    uint64_t list_first; /* first entry */
    unsigned sides;      /* TUTTI_PACK_LIST_FROM, TUTTI_PACK_LIST_TO: where the list's offsets are added */
    int ragged;          /* 1: the block is `image`, a list of unequal blocks, but for its first `skip` bytes */
    uint64_t skip;
};

/* Adds what of the box has packed positions in [first, end). */
int tutti_box_add(struct tutti_parts *parts, const struct tutti_box *box, uint64_t first, uint64_t end);
/* Adds all of it; positions in the message are not looked at, and may be any. */
int tutti_box_add_whole(struct tutti_parts *parts, const struct tutti_box *given);

/* Leaves out the first bytes of the block. */
void tutti_box_leave_out(struct tutti_box *box, uint64_t bytes);

/* n / count by a multiplication, for n < 2^31: see struct tutti_pack_dim. */
void tutti_pack_magic(uint32_t count, uint32_t *magic, uint32_t *shift);
/* Thread blocks for the parts of a launch: sets each one's `first`, and makes its tile as many rounds (which it was) as
 * the launch can do at once; each block of a large one does many, since it ends with a wait for its own stores. Returns
 * how many blocks there are. */
uint32_t tutti_pack_spread(struct tutti_pack_part *part, uint32_t n);

#endif
