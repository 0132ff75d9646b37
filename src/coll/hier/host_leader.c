/* host_leader: as single_leader, but the ranks of a node send the leader their contributions through host memory, and
 * it combines them there. For messages so short that two launches and a meeting of kernels take longer than a copy. */
#include "coll/hier/own.h"

const struct tutti_nodes_row tutti_nodes_host_leader = {.name = "host_leader", .leaders = 1, .messages = 1};
