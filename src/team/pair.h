/* Memory that two ranks of a node show to each other, without a team: either side names an allocation, and the other
 * one maps it. All functions are local and never wait. */
#ifndef TUTTI_TEAM_PAIR_H
#define TUTTI_TEAM_PAIR_H

#include "team/team.h"

struct tutti_mapping;

/* Names `pointer` for node rank `peer`, and sends the descriptor of its allocation where the device needs one. 1: to be
 * called again, the socket is full. TUTTI_ERR_NOT_EXPORTABLE where other processes cannot map this memory. */
int tutti_pair_show(struct tutti_node *node, const struct tutti_device *device, int peer, const void *pointer,
                    struct tutti_share *out);
/* Maps `bytes` bytes that node rank `peer` has named, for kernels of `gpu`. 1: to be called again, the descriptor is on
 * its way. *mapping is NULL for memory of this rank, otherwise it is the caller's until tutti_pair_release(). */
int tutti_pair_map(struct tutti_node *node, const struct tutti_device *device, int peer, int gpu,
                   const struct tutti_share *share, size_t bytes, struct tutti_mapping **mapping, void **out);
/* Takes in what `peer` has sent, so that its socket is not full forever. */
void tutti_pair_poll(struct tutti_node *node, int peer);
/* Closes a descriptor that `peer` has sent for this name and that was not taken: the memory was mapped before. */
void tutti_pair_drop(struct tutti_node *node, int peer, const struct tutti_share *share);
/* NULL is fine. */
void tutti_pair_release(struct tutti_node *node, const struct tutti_device *device, struct tutti_mapping *mapping);
/* What rank `peer` has in its control page for windows: TUTTI_WINDOW_WORDS and TUTTI_WINDOW_ROWS bytes. */
void *tutti_pair_words(const struct tutti_node *node, int peer);
void *tutti_pair_rows(const struct tutti_node *node, int peer);

#endif
