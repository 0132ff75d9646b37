/* multi_leader: the message is divided among as many ranks of each node as the node with fewest has, and the ranks with
 * one number on all nodes exchange their part. So all ranks, and all their network ports, work at a time. */
#include "coll/hier/own.h"

const struct tutti_nodes_row tutti_nodes_multi_leader = {.name = "multi_leader"};
