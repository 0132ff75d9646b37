/* The end of a request. */
#include <stdlib.h>

#include "part/own.h"

void tutti_part_destroy(struct tutti_part *part)
{
    tutti_part_pieces_close(&part->pieces);
    free(part->marks.ready);
    free((void *)part->left);
    free(part);
}
