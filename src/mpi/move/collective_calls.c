/* The wrapped calls of collectives that move data. Each says what it was given, and goes the way of its form:
 * collective.h. */
#include "mpi/move/collective.h"
#include "mpi/move/mover.h"

#define LARGE (sizeof(COUNT) > sizeof(int))

#define WIDTHS_OF "mpi/move/rooted.inc"
#include "mpi/real/widths.inc"
#define WIDTHS_OF "mpi/move/among_all.inc"
#include "mpi/real/widths.inc"
#define WIDTHS_OF "mpi/move/neighbours.inc"
#include "mpi/real/widths.inc"
