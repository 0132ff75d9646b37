/* Marks: words in a rank's control page that kernels of the node's ranks store, and that the rank's host and kernels
 * read. A kernel that has stored data into memory of a peer sets a mark there, and needs no host. Local, and safe from
 * any thread. */
#ifndef TUTTI_TEAM_MARKS_H
#define TUTTI_TEAM_MARKS_H

#include "team/team.h"

/* `n` marks of this rank that follow each other, all 0: the number of the first one; -1: there is no room. give: no
 * kernel stores them any more. */
int tutti_marks_take(struct tutti_node *node, int n);
void tutti_marks_give(struct tutti_node *node, int first, int n);
/* The first of this rank's marks. */
uint32_t *tutti_marks_own(const struct tutti_node *node);
/* Those of a rank of the node, for the host. */
const uint32_t *tutti_marks_of(const struct tutti_node *node, int peer);
/* The first of a rank's marks, as kernels of `gpu` reach it. The first call for a rank and GPU maps host memory, so not
 * while nothing may be mapped. NULL: they do not reach it. */
uint32_t *tutti_marks_view(struct tutti_node *node, const struct tutti_device *device, int peer, int gpu);
/* Ends the views. alive: the device may be called. */
void tutti_marks_close(struct tutti_node *node, int alive);

#endif
