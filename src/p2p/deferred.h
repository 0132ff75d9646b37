/* A transport for fibers of the engine's thread, which does not call the MPI. Sends, receives and tests alone: a thread
 * of the program makes the transfer wherever it polls the engine's steps. So what a fiber has to leave to the MPI moves
 * while the program completes a request, waits, or makes another call of the library. */
#ifndef TUTTI_P2P_DEFERRED_H
#define TUTTI_P2P_DEFERRED_H

#include "progress/transport.h"

struct tutti_deferred {
    struct tutti_transport base; /* for fibers */
    struct tutti_transport *over;
};
/* Local. `over` is that of the program's threads, and outlives what is under way. */
void tutti_deferred_over(struct tutti_deferred *deferred, struct tutti_transport *over);

#endif
