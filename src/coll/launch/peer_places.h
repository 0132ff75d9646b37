/* Buffers of a reduction that the kernels of all ranks reach in place, see kernels/mapped.inc. Private to coll/. */
#ifndef TUTTI_COLL_PEER_PLACES_H
#define TUTTI_COLL_PEER_PLACES_H

#include "coll/coll.h"
#include "kernels/args.h"

struct tutti_peer_places {
    uint64_t there[TUTTI_PLACES][TUTTI_MAX_GPUS]; /* see struct tutti_flow_args; all 0 if a peer lacks one */
    uint64_t bytes;                               /* of the contribution */
};

/* Local; as tutti_expose(), which it calls the same number of times on every rank. */
void tutti_peer_places_of(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                          struct tutti_peer_places *places);

#endif
