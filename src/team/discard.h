/* Things of the device that are no longer used. To free them may wait for kernels that run (of the driver, not of its
 * contract), and a kernel in stream order may run until a peer comes to a call that in turn waits for this process. So
 * from the first call in stream order of a communicator on they are put aside; the last of these to go frees all. */
#ifndef TUTTI_TEAM_DISCARD_H
#define TUTTI_TEAM_DISCARD_H

#include "team/team.h"

/* Local, the device alive. Device memory, or a launch that was kept ready; NULL is fine. */
void tutti_discard_memory(struct tutti_node *node, void *device_memory);
void tutti_discard_launch(struct tutti_node *node, struct tutti_prepared *kept);
/* Local. One more communicator that makes calls in stream order, or one less. */
void tutti_discard_hold(struct tutti_node *node);
void tutti_discard_release(struct tutti_node *node);
/* Local. 1 where there are such. */
int tutti_discard_held(const struct tutti_node *node);
/* Local. At the node's end; alive: the device may be called. */
void tutti_discard_end(struct tutti_node *node, int alive);

#endif
