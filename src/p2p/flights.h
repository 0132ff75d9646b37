/* Fetches whose kernel, or whose copies by engines, run while the thread does other work: further messages arrive
 * meanwhile, and are fetched together by the next kernel. Private to the protocols among ranks of a node. A flight
 * belongs to the thread that began it: only calls of this thread fetch its messages, and the thread lands its flights
 * before it leaves the call in which it waits, as senders wait for them. */
#ifndef TUTTI_P2P_FLIGHTS_H
#define TUTTI_P2P_FLIGHTS_H

#include "p2p/turns.h"

struct tutti_p2p_flight;

/* 1 if the thread may begin one more, for messages of so many bytes in all; last: see struct tutti_p2p_fetching. */
int tutti_flights_may(uint64_t bytes, int last);
/* Launches the jobs of these fetches, on the GPU of the first, or starts copies by engines if the fetches ask for
 * them; how: of tutti_pack_reached(); turn: has begun, and ends with the kernel. Each fetch is of a whole offered
 * message, recv->flight is set. A status; on failure nothing has changed. */
int tutti_flight_begin(struct tutti_p2p_fetch *const fetches[], const struct tutti_pack_job *jobs, unsigned n,
                       unsigned how, const struct tutti_turn *turn);
/* Ends its messages if the kernel has ended, or the copies: their recv->flight is NULL then. */
void tutti_flight_poll(struct tutti_p2p_flight *flight);

#endif
