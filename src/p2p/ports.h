/* Ports of matched messages (kernels/lane_args.h): places in device memory that other processes can map. Local, any
 * thread. */
#ifndef TUTTI_P2P_PORTS_H
#define TUTTI_P2P_PORTS_H

#include "kernels/lane_args.h"

/* A port on `gpu` that holds zeros. NULL without memory. */
struct tutti_lane_port *tutti_ports_take(int gpu);
/* No kernel of any rank uses it any more. */
void tutti_ports_give(struct tutti_lane_port *port);
/* At the end. alive: the device may be called. */
void tutti_ports_close(int alive);

#endif
