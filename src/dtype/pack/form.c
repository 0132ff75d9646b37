/* A whole box becomes a part: which way it goes, in words of how many bytes, over which dimensions. */
#include "dtype/pack/box.h"

#include <stddef.h>
#include <string.h>

#include "core/status.h"

/* Tests make these small, so that they are reached. */
#ifndef TUTTI_BOX_WORDS_MOST
#define TUTTI_BOX_WORDS_MOST  (UINT64_C(1) << 30) /* of one part */
#define TUTTI_BOX_BYTES_MOST  (UINT64_C(1) << 31)
#define TUTTI_BOX_BLOCKS_MOST 528 /* thread blocks that are resident at once on a large GPU */
#endif

enum {
    ROWS_LEAST = 64,    /* bytes of a row that misaligned 16-byte accesses are for: of words of 4 bytes, */
    ROWS_SHORT = 16,    /* and of less */
    WORDS_FEW = 256,    /* of one run: each thread moves one, with nothing to work out */
    SQUARE_LEAST = 8,   /* indices of a dimension that a transpose is worth it for */
    SQUARE_STRIDE = 64, /* and bytes between them on the side where they are far apart */
    ROUNDS_MOST = 32    /* of a thread block */
};

void tutti_pack_magic(uint32_t count, uint32_t *magic, uint32_t *shift)
{
    const uint32_t s = count > 1 ? 32 - (uint32_t)__builtin_clz(count - 1) : 0;
    *magic = (uint32_t)((UINT64_C(1) << (31 + s)) / count) + 1;
    *shift = s;
}

uint32_t tutti_pack_spread(struct tutti_pack_part *part, uint32_t n)
{
    uint64_t rounds = 0;
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < n; i++)
        rounds += ((part[i].units - 1) >> __builtin_ctz(part[i].tile)) + 1;
    /* Every part has a last block with less to do. */
    const uint32_t room = n < TUTTI_BOX_BLOCKS_MOST / 2 ? TUTTI_BOX_BLOCKS_MOST - n + 1 : TUTTI_BOX_BLOCKS_MOST / 2;
    const uint64_t each = (rounds + room - 1) / room;
    for (uint32_t i = 0; i < n; i++) {
        part[i].tile *= each > ROUNDS_MOST ? (uint32_t)ROUNDS_MOST : (uint32_t)each;
        part[i].first = blocks;
        blocks += (part[i].units - 1) / part[i].tile + 1;
    }
    return blocks;
}

/* ---- a box that is wholly in the range ---- */
static void remove_dim(struct tutti_box *box, int d)
{
    for (int i = d; i + 1 < box->dims; i++)
        box->dim[i] = box->dim[i + 1];
    box->dims--;
    if (box->list == d)
        box->list = -1;
    else if (box->list > d)
        box->list--;
}

static void form_simplify(struct tutti_box *box)
{
    for (int d = box->dims - 1; d >= 0; d--) {
        const struct tutti_box_dim *const dim = &box->dim[d];
        if (dim->count == 1) {
            if (d == box->list) {
                const uint64_t listed = (uint64_t)box->image->host[box->list_first];
                box->from += box->sides & TUTTI_PACK_LIST_FROM ? listed : 0;
                box->to += box->sides & TUTTI_PACK_LIST_TO ? listed : 0;
            }
            remove_dim(box, d);
        } else if (d == box->list) {
            continue;
        } else if (d + 1 == box->dims && !box->ragged && dim->from == (int64_t)box->block &&
                   dim->to == (int64_t)box->block) {
            box->block *= dim->count;
            remove_dim(box, d);
        } else if (d + 1 < box->dims && d + 1 != box->list) {
            struct tutti_box_dim *const inner = &box->dim[d + 1];
            if (dim->from == inner->from * (int64_t)inner->count && dim->to == inner->to * (int64_t)inner->count) {
                inner->count *= dim->count;
                remove_dim(box, d);
            }
        }
    }
}

static unsigned form_word_of(const struct tutti_box *box)
{
    uint64_t bits = box->from | box->to | box->block | 16;
    for (int d = 0; d < box->dims; d++)
        bits |= (uint64_t)box->dim[d].from | (uint64_t)box->dim[d].to;
    if (box->list >= 0 || box->ragged)
        bits |= box->image->bits | box->skip;
    return (unsigned)(bits & (~bits + 1));
}

/* 1 if in the order of the dimensions one block follows the other on that side. */
static int is_dense(const struct tutti_box *box, int to)
{
    uint64_t span = box->block;
    for (int d = box->dims - 1; d >= 0; d--) {
        if ((uint64_t)(to ? box->dim[d].to : box->dim[d].from) != span)
            return 0;
        span *= box->dim[d].count;
    }
    return box->list < 0 || !(box->sides & (unsigned)(to ? TUTTI_PACK_LIST_TO : TUTTI_PACK_LIST_FROM));
}

static uint64_t form_magnitude(int64_t stride)
{
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

/* The dimensions that are fastest on the target's side and on the source's, where they differ and their strides make it
 * worth while to go through a square. */
static int is_transposed(const struct tutti_box *box, int *fast_to, int *fast_from)
{
    int a = -1, b = -1;
    if (box->dims < 2 || box->list >= 0)
        return 0;
    for (int d = 0; d < box->dims; d++) {
        if (box->dim[d].count < SQUARE_LEAST)
            continue;
        if (a < 0 || form_magnitude(box->dim[d].to) <= form_magnitude(box->dim[a].to))
            a = d;
        if (b < 0 || form_magnitude(box->dim[d].from) <= form_magnitude(box->dim[b].from))
            b = d;
    }
    *fast_to = a;
    *fast_from = b;
    return a != b && form_magnitude(box->dim[a].from) >= SQUARE_STRIDE &&
           form_magnitude(box->dim[b].to) >= SQUARE_STRIDE &&
           form_magnitude(box->dim[b].from) <= form_magnitude(box->dim[a].from) / 2 &&
           form_magnitude(box->dim[a].to) <= form_magnitude(box->dim[b].to) / 2;
}

/* ---- parts ---- */
struct form {
    struct tutti_pack_part part;
    struct tutti_pack_dim dim[TUTTI_BOX_DIMS + 2]; /* fastest first; then bounds */
};

static void form_put(struct form *form, uint64_t count, int64_t from, int64_t to)
{
    struct tutti_pack_dim *const dim = &form->dim[form->part.dims++];
    *dim = (struct tutti_pack_dim){.count = (uint32_t)count, .from = from, .to = to};
    tutti_pack_magic(dim->count, &dim->magic, &dim->shift);
}

/* Dimensions of the box, but `without` and `without2`. */
static void put_dims(struct form *form, const struct tutti_box *box, int without, int without2)
{
    for (int d = box->dims - 1; d >= 0; d--) {
        if (d == without || d == without2)
            continue;
        if (d == box->list)
            form->part.list_dim = form->part.dims;
        form_put(form, box->dim[d].count, box->dim[d].from, box->dim[d].to);
    }
}

static uint64_t box_blocks(const struct tutti_box *box)
{
    uint64_t n = 1;
    for (int d = 0; d < box->dims; d++)
        n *= box->dim[d].count;
    return n;
}

/* What is reached on a side: [*low, *high) from its address. */
static void form_range_of(const struct tutti_box *box, int to, int64_t *low, int64_t *high)
{
    *low = 0;
    *high = (int64_t)box->block;
    for (int d = 0; d < box->dims; d++) {
        const int64_t span = (to ? box->dim[d].to : box->dim[d].from) * (int64_t)(box->dim[d].count - 1);
        *(span < 0 ? low : high) += span;
    }
    if (box->list >= 0 && box->sides & (unsigned)(to ? TUTTI_PACK_LIST_TO : TUTTI_PACK_LIST_FROM)) {
        *low += box->image->low;
        *high += box->image->high;
    } else if (box->ragged && box->sides & (unsigned)(to ? TUTTI_PACK_LIST_TO : TUTTI_PACK_LIST_FROM)) {
        *low += box->image->low;
        *high += box->image->end - (int64_t)box->block;
    }
}

static struct tutti_parts_reach reach_of(uint32_t at, uint64_t address, int64_t low, int64_t high)
{
    return (struct tutti_parts_reach){
        .at = at, .start = (const void *)(uintptr_t)(address + (uint64_t)low), .bytes = (size_t)(high - low)};
}

static int form_add(struct tutti_parts *parts, const struct tutti_box *box, struct form *form, uint32_t round)
{
    struct tutti_parts_reach reach[3];
    struct tutti_pack_bounds bounds = {NULL, 0, 0};
    unsigned reaches = 2;
    int64_t low, high;
    struct tutti_pack_part *const part = &form->part;
    uint32_t extras = TUTTI_PACK_DIMS_BYTES(part->way, part->dims) / 8;
    form_range_of(box, 1, &low, &high);
    reach[1] = reach_of(offsetof(struct tutti_pack_part, to), box->to, low, high);
    form_range_of(box, 0, &low, &high);
    reach[0] = reach_of(offsetof(struct tutti_pack_part, from), box->from, low, high);
    bounds.low = low;
    bounds.high = high;
    part->from = (const unsigned char *)(uintptr_t)box->from;
    part->to = (unsigned char *)(uintptr_t)box->to;
    part->tile = round;
    if (part->list_dim != TUTTI_PACK_NO_LIST) {
        const size_t size = box->image->wide ? sizeof(int64_t) : sizeof(int32_t);
        const uint64_t list = (uint64_t)(uintptr_t)box->image->offsets + box->list_first * size;
        bounds.list = (const void *)(uintptr_t)list;
        part->flags |= (uint16_t)(box->sides | (box->image->wide ? TUTTI_PACK_LIST_WIDE : 0u));
        reach[reaches] = reach_of(extras * 8, list, 0, (int64_t)(box->dim[box->list].count * size));
        reach[reaches++].extra = 1;
    }
    memcpy((unsigned char *)form->dim + extras * 8, &bounds, sizeof bounds);
    extras += part->way == TUTTI_PACK_ROWS || part->way == TUTTI_PACK_JOIN ? 3 : bounds.list != NULL;
    return tutti_parts_add(parts, part, form->dim, extras, reach, reaches);
}

static int add_transpose(struct tutti_parts *parts, const struct tutti_box *box, struct form *form, int a, int b)
{
    const uint64_t side = TUTTI_PACK_SIDE(form->part.word);
    uint64_t squares = box_blocks(box) / box->dim[a].count / box->dim[b].count;
    form_put(form, box->dim[a].count, box->dim[a].from, box->dim[a].to);
    form_put(form, box->dim[b].count, box->dim[b].from, box->dim[b].to);
    put_dims(form, box, a, b);
    squares *= (box->dim[a].count + side - 1) / side * ((box->dim[b].count + side - 1) / side);
    form->part.way = TUTTI_PACK_TRANSPOSE;
    form->part.units = (uint32_t)squares;
    return form_add(parts, box, form, 1);
}

static int add_rows(struct tutti_parts *parts, const struct tutti_box *box, struct form *form)
{
    uint64_t bits = 16, lead;
    for (int d = 0; d < box->dims; d++)
        bits |= (uint64_t)box->dim[d].to;
    if (box->list >= 0 && box->sides & TUTTI_PACK_LIST_TO)
        bits |= box->image->bits;
    lead = bits & 15 ? 15 : box->to & 15; /* of a row at its most */
    const uint64_t units = (lead + box->block + 15) / 16;
    form_put(form, units, 0, 0);
    put_dims(form, box, -1, -1);
    form->part.way = TUTTI_PACK_ROWS;
    form->part.block = (uint32_t)box->block;
    form->part.units = (uint32_t)(units * box_blocks(box));
    return form_add(parts, box, form, TUTTI_PACK_THREADS);
}

static int add_join(struct tutti_parts *parts, const struct tutti_box *box, struct form *form)
{
    const uint64_t bytes = box_blocks(box) * box->block;
    form_put(form, box->block, 1, 1);
    put_dims(form, box, -1, -1);
    form->part.way = TUTTI_PACK_JOIN;
    form->part.block = (uint32_t)bytes;
    form->part.units = (uint32_t)(((box->to & 15) + bytes + 15) / 16);
    return form_add(parts, box, form, TUTTI_PACK_THREADS);
}

static void put_words(struct form *form, const struct tutti_box *box)
{
    const unsigned word = form->part.word;
    if (box->block > word)
        form_put(form, box->block / word, word, word);
    put_dims(form, box, -1, -1);
}

static int form_add_dense(struct tutti_parts *parts, const struct tutti_box *box, struct form *form, int way)
{
    const uint64_t bytes = box_blocks(box) * box->block, lead = (way == TUTTI_PACK_GATHER ? box->to : box->from) & 15;
    const uint32_t round = TUTTI_PACK_THREADS * form->part.word * (unsigned)TUTTI_PACK_TURNS(form->part.word) / 16;
    put_words(form, box);
    form->part.way = (uint8_t)way;
    form->part.block = (uint32_t)bytes;
    form->part.units = (uint32_t)((lead + bytes + 15) / 16);
    return form_add(parts, box, form, round);
}

static int add_words(struct tutti_parts *parts, const struct tutti_box *box, struct form *form)
{
    const unsigned word = form->part.word;
    put_words(form, box);
    form->part.way = TUTTI_PACK_WORDS;
    form->part.units = (uint32_t)(box_blocks(box) * (box->block / word));
    return form_add(parts, box, form, TUTTI_PACK_THREADS);
}

/* A list of unequal blocks, by the dense side. */
struct ragged_form {
    struct tutti_pack_ragged what;
    struct tutti_pack_dim dim[TUTTI_BOX_DIMS + 1];
};

static int add_ragged(struct tutti_parts *parts, const struct tutti_box *box, struct form *form)
{
    const struct tutti_image_list *list = box->image;
    const int out = box->sides & TUTTI_PACK_LIST_TO ? 1 : 0;
    const uint64_t lists = box_blocks(box), dense = out ? box->from : box->to;
    struct tutti_pack_part *const part = &form->part;
    int64_t low[2], high[2];
    struct ragged_form ragged = {.what = {.list = list->offsets,
                                          .begins = list->begins,
                                          .starts = list->starts,
                                          .skip = box->skip,
                                          .entries = (uint32_t)list->entries,
                                          .size = (uint32_t)box->block}};
    put_dims(form, box, -1, -1);
    memcpy(ragged.dim, form->dim, part->dims * sizeof ragged.dim[0]);
    part->way = TUTTI_PACK_RAGGED;
    part->from = (const unsigned char *)(uintptr_t)box->from;
    part->to = (unsigned char *)(uintptr_t)box->to;
    part->tile = TUTTI_PACK_THREADS;
    part->flags = (uint16_t)((out ? TUTTI_PACK_OUT : 0) | (list->wide ? TUTTI_PACK_LIST_WIDE : 0));
    if (is_dense(box, !out)) {
        part->block = (uint32_t)(lists * box->block);
        part->units = (uint32_t)(((dense & 15) + lists * box->block + 15) / 16);
        tutti_pack_magic(ragged.what.size, &ragged.what.magic, &ragged.what.shift);
    } else {
        ragged.what.units = (uint32_t)((15 + box->block + 15) / 16);
        part->block = (uint32_t)box->block;
        part->units = (uint32_t)(lists * ragged.what.units);
        tutti_pack_magic(ragged.what.units, &ragged.what.magic, &ragged.what.shift);
    }
    form_range_of(box, 0, &low[0], &high[0]);
    form_range_of(box, 1, &low[1], &high[1]);
    const struct tutti_parts_reach reach[] = {
        reach_of(offsetof(struct tutti_pack_part, from), box->from, low[0], high[0]),
        reach_of(offsetof(struct tutti_pack_part, to), box->to, low[1], high[1]),
        {offsetof(struct tutti_pack_ragged, list), 1, list->offsets, list->bytes[0]},
        {offsetof(struct tutti_pack_ragged, begins), 1, list->begins, list->bytes[1]},
        {offsetof(struct tutti_pack_ragged, starts), 1, list->starts, list->bytes[2]},
    };
    const size_t bytes = sizeof ragged.what + TUTTI_PACK_DIMS_BYTES(TUTTI_PACK_RAGGED, part->dims);
    return tutti_parts_add(parts, part, &ragged, (uint32_t)(bytes / 8), reach, 5);
}

/* Two halves of what is too large for one part. */
static int form_halves(struct tutti_parts *parts, const struct tutti_box *box)
{
    struct tutti_box low = *box, high = *box;
    if (box->dims > 0) {
        const uint64_t half = box->dim[0].count / 2;
        low.dim[0].count = half;
        high.dim[0].count -= half;
        high.from += half * (uint64_t)box->dim[0].from;
        high.to += half * (uint64_t)box->dim[0].to;
        high.list_first += box->list == 0 ? half : 0;
    } else {
        low.block = box->block / 2 & ~UINT64_C(15);
        tutti_box_leave_out(&high, low.block);
    }
    const int status = tutti_box_add_whole(parts, &low);
    return status == TUTTI_OK ? tutti_box_add_whole(parts, &high) : status;
}

int tutti_box_add_whole(struct tutti_parts *parts, const struct tutti_box *given)
{
    struct tutti_box box = *given;
    form_simplify(&box);
    struct form form;
    form.part = (struct tutti_pack_part){.word = (uint8_t)form_word_of(&box), .list_dim = TUTTI_PACK_NO_LIST};
    const unsigned word = form.part.word;
    const uint64_t blocks = box_blocks(&box);
    int a, b;
    if (blocks > TUTTI_BOX_WORDS_MOST / (box.block / word) || blocks * box.block > TUTTI_BOX_BYTES_MOST)
        return form_halves(parts, &box);
    if (box.ragged)
        return add_ragged(parts, &box, &form);
    if (box.dims == 0 && box.block / word <= WORDS_FEW)
        return add_words(parts, &box, &form);
    if (box.block == word && is_transposed(&box, &a, &b))
        return add_transpose(parts, &box, &form, a, b);
    if (word <= 4 && box.block >= (word < 4 ? ROWS_SHORT : ROWS_LEAST))
        return box.dims > 0 && is_dense(&box, 1) ? add_join(parts, &box, &form) : add_rows(parts, &box, &form);
    if (word <= 4 && is_dense(&box, 1))
        return form_add_dense(parts, &box, &form, TUTTI_PACK_GATHER);
    if (word <= 4 && is_dense(&box, 0))
        return form_add_dense(parts, &box, &form, TUTTI_PACK_SCATTER);
    return add_words(parts, &box, &form);
}
