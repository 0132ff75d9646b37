/* What exchanges by slices share. Private to hier/. */
#ifndef TUTTI_COLL_HIER_SLICES_H
#define TUTTI_COLL_HIER_SLICES_H

#include "coll/hier/wire.h"

/* Tags of the contributions and of the results. */
enum { TUTTI_SLICES_IN, TUTTI_SLICES_OUT };

size_t tutti_slices_room(int n, size_t count, size_t size);
/* Adds the messages of the first half: the contributions to this participant's slice are in wire->theirs. */
void tutti_slices_exchange(struct tutti_wire *wire);
/* Adds the first half: this participant's slice of the result in wire->out. Returns the task that ends it. */
int tutti_slices_reduce(struct tutti_wire *wire);

#endif
