/* What a request holds: the place of its buffer, and its memory. */
#include <stdlib.h>

#include "device/device.h"
#include "part/own.h"

void tutti_part_place(struct tutti_part *part)
{
    const struct tutti_part_args *args = &part->args;
    const struct tutti_device *device = tutti_device();
    const int64_t count = args->count * args->partitions;
    part->elements = (struct tutti_elements){.plan = args->plan,
                                             .count = count,
                                             .buffer = args->buffer,
                                             .whole = args->in_order && (args->solid || count == 1)};
    if (!device || !device->active() || tutti_part_capacity(part) == 0 || args->peer < 0) {
        part->elements.places = (struct tutti_places){.gpu = -1};
        part->elements.placed = 1;
    }
    tutti_elements_places(&part->elements);
}

void tutti_part_destroy(struct tutti_part *part)
{
    tutti_part_pieces_close(&part->pieces);
    free(part->ready);
    free((void *)part->left);
    free(part);
}
