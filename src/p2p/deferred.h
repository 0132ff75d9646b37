/* A transport for fibers of the engine's thread, which does not call the MPI. It has sends, receives and tests only:
 * a thread of the program makes the transfer when it polls the engine's steps. So a fiber's transfers through the
 * MPI advance while the program completes a request, waits, or makes another call of the library. */
#ifndef TUTTI_P2P_DEFERRED_H
#define TUTTI_P2P_DEFERRED_H

#include "progress/transport.h"

struct tutti_deferred {
    struct tutti_transport base; /* for fibers */
    struct tutti_transport *over;
};
/* Local. `over` is the transport of the program's threads, and outlives all transfers. */
void tutti_deferred_over(struct tutti_deferred *deferred, struct tutti_transport *over);

#endif
