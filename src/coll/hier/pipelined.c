/* pipelined: as multi_leader; while a piece is exchanged, the node reduces the next one and hands the last one out. */
#include "coll/hier/own.h"

const struct tutti_nodes_row tutti_nodes_pipelined = {.name = "pipelined", .overlaps = 1};
