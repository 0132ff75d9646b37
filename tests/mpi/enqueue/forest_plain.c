/* forest.c with the calls that MPICH declares. */
#define FOREST_PLAIN
#include "forest.c"
