/* Things of the device that are no longer used. To free them may wait for kernels that run (of the driver, not of its
 * contract), and a kernel in stream order may run until a peer makes a call that in turn waits for this process. So
 * while communicators with a stream live they are put aside; the last of them to go frees all. */
#ifndef TUTTI_TEAM_DEFERRED_FREE_H
#define TUTTI_TEAM_DEFERRED_FREE_H

#include "team/team.h"

/* Local, the device alive. Device memory, or a launch that was kept ready; NULL is fine. */
void tutti_deferred_free_memory(struct tutti_node *node, void *device_memory);
void tutti_deferred_free_launch(struct tutti_node *node, struct tutti_prepared *kept);
/* Local. One more communicator with a stream, or one less. */
void tutti_deferred_free_hold(struct tutti_node *node);
void tutti_deferred_free_release(struct tutti_node *node);
/* Local. How many communicators with a stream live; held: 1 if some do. */
int tutti_deferred_free_streams(const struct tutti_node *node);
int tutti_deferred_free_held(const struct tutti_node *node);
/* Local. 1 if memory of peers may be mapped, and own memory be exported and allocated. 0: a kernel in stream order may
 * run, and the driver may wait for it. */
int tutti_deferred_free_may_map(const struct tutti_node *node);
/* Local. more: 1: a round begins in which kernels of the program may wait for what this process does; -1: it ends.
 * Until then no mapping of a peer's memory is given up, and no launch is made ready: the driver may wait for those
 * kernels. may_wait: 1 between the two. */
void tutti_deferred_free_kernels(struct tutti_node *node, int more);
int tutti_deferred_free_may_wait(const struct tutti_node *node);
/* Local. 1 if kernels may be loaded and launches be made ready: neither of the two keeps kernels that may wait for this
 * process. */
int tutti_deferred_free_may_load(const struct tutti_node *node);
/* Local. At the node's end; alive: the device may be called. */
void tutti_deferred_free_end(struct tutti_node *node, int alive);

#endif
