/* ranks: every rank combines a slice of all ranks' contributions in rank order, and sends it to all. The nodes do
 * nothing together, so each contribution crosses the network, but the bits are those of one node for any placement. */
#include "coll/hier/own.h"

const struct tutti_nodes_row tutti_nodes_ranks = {
    .name = "ranks", .overlaps = 1, .flat = &tutti_exchange_slices, .scans = 1};
