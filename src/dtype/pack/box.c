/* Boxes cut to a range of the message. */
#include "dtype/pack/box.h"

#include "core/status.h"

void tutti_box_leave_out(struct tutti_box *box, uint64_t bytes)
{
    box->block -= bytes;
    box->skip += box->ragged ? bytes : 0;
    box->from += box->ragged && box->sides & TUTTI_PACK_LIST_FROM ? 0 : bytes;
    box->to += box->ragged && box->sides & TUTTI_PACK_LIST_TO ? 0 : bytes;
}

/* Dimensions [d, dims) of the box, whose first index is at packed position 0 here. */
static int box_cut(struct tutti_parts *parts, const struct tutti_box *box, int d, const uint64_t *span, uint64_t first,
                   uint64_t end);

/* The one index i of dimension d. */
static int box_cut_part(struct tutti_parts *parts, const struct tutti_box *box, int d, uint64_t i, const uint64_t *span,
                        uint64_t first, uint64_t end)
{
    const struct tutti_box_dim *const dim = &box->dim[d];
    struct tutti_box one = *box;
    one.dim[d].count = 1;
    one.from += i * (uint64_t)dim->from;
    one.to += i * (uint64_t)dim->to;
    one.list_first += d == box->list ? i : 0;
    const uint64_t begin = i * dim->packed;
    return box_cut(parts, &one, d + 1, span, first > begin ? first - begin : 0, end - begin);
}

static int box_cut(struct tutti_parts *parts, const struct tutti_box *box, int d, const uint64_t *span, uint64_t first,
                   uint64_t end)
{
    struct tutti_box middle = *box;
    if (first >= end || first >= span[d])
        return TUTTI_OK;
    if (first == 0 && end >= span[d])
        return tutti_box_add_whole(parts, box);
    if (d == box->dims) {
        middle.block = end < box->block ? end : box->block;
        tutti_box_leave_out(&middle, first);
        return tutti_box_add_whole(parts, &middle);
    }
    const struct tutti_box_dim *const dim = &box->dim[d];
    uint64_t i = first / dim->packed, last = (end - 1) / dim->packed;
    last = last < dim->count - 1 ? last : dim->count - 1;
    if (i == last)
        return box_cut_part(parts, box, d, i, span, first, end);
    int status = TUTTI_OK;
    if (first > i * dim->packed) {
        status = box_cut_part(parts, box, d, i, span, first, end);
        i++;
    }
    const int tail = end < last * dim->packed + span[d + 1];
    const uint64_t stop = tail ? last : last + 1;
    if (status == TUTTI_OK && i < stop) {
        middle.dim[d].count = stop - i;
        middle.from += i * (uint64_t)dim->from;
        middle.to += i * (uint64_t)dim->to;
        middle.list_first += d == box->list ? i : 0;
        status = tutti_box_add_whole(parts, &middle);
    }
    if (status == TUTTI_OK && tail)
        status = box_cut_part(parts, box, d, last, span, 0, end);
    return status;
}

int tutti_box_add(struct tutti_parts *parts, const struct tutti_box *box, uint64_t first, uint64_t end)
{
    uint64_t span[TUTTI_BOX_DIMS + 1];
    if (box->block == 0 || end <= box->packed)
        return TUTTI_OK;
    span[box->dims] = box->block;
    for (int d = box->dims - 1; d >= 0; d--)
        span[d] = (box->dim[d].count - 1) * box->dim[d].packed + span[d + 1];
    return box_cut(parts, box, 0, span, first > box->packed ? first - box->packed : 0, end - box->packed);
}
