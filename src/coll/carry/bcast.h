/* Broadcasts over nodes: the message in rounds, each round in a slice for each lane. A lane has one rank of each node.
 * In the root's node its ranks get the round from the root by the node's movers, in other nodes the ranks of the lanes
 * hand their slices out to each other. While a round crosses the network the one before is handed out. Private to
 * carry/. */
#ifndef TUTTI_COLL_CARRY_BCAST_H
#define TUTTI_COLL_CARRY_BCAST_H

#include "coll/carry/wire.h"

/* How a lane passes a slice on: nodes are numbered from the root's on. *from: the node that sends to `me`; -1: none.
 * Returns how many nodes `me` sends to: to[], with room for all. */
typedef int tutti_carry_path(int me, int nodes, int *from, int *to);

/* lanes: of each node, at most as many as the node with fewest ranks has. A status. */
int tutti_carry_bcast(struct tutti_carry_call *c, int lanes, tutti_carry_path *path);

#endif
