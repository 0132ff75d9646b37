/* single_leader: the lowest rank of each node exchanges for its node. Source of the idea: the kernel-based reductions
 * of the papers folder. */
#include "coll/hier/own.h"

const struct tutti_nodes_row tutti_nodes_single_leader = {.name = "single_leader", .leaders = 1};
