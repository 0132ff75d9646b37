/* Which of several blocks between two ranks is received where, in a call with neighbours. */
#ifndef TUTTI_MPI_NEIGHBOUR_ORDER_H
#define TUTTI_MPI_NEIGHBOUR_ORDER_H

#include "mpi/real/door.h"
#include "mpi/real/quirks.h"
#include "team/control.h"

/* Of a call on a grid or in a directed graph, blocking or not: enum tutti_neighbour_order; TUTTI_QUIRK_ASK, which is
 * negative: unknown.
 */
int tutti_neighbour_order(int nonblocking, int grid, enum tutti_collective collective);
/* If one rank is the neighbour at all `places`: the number of the sent block that is received at `place`. An
 * involution. */
int tutti_neighbour_sent(enum tutti_neighbour_order order, int place, int places);
/* Local, once, before the others: asks the MPI. */
void tutti_neighbour_order_ask(void);

#endif
