/* The PEs of this node, among all. */
#ifndef TUTTI_SHMEM_NEAR_H
#define TUTTI_SHMEM_NEAR_H

#include "progress/transport.h"
#include "shmem/space.h"

struct tutti_node;

/* A transport of the near PEs alone, for making their team: all PEs make each of its calls. */
struct tutti_shmem_near {
    struct tutti_transport base;
    struct tutti_transport *all;
    int count, me;           /* number of this PE among them */
    int pe[TSHMEM_NEAR_MAX]; /* in increasing order */
    char *room;              /* of all PEs, for an exchange */
};

/* Collective over `all`: sets space->near. A status, after an error message if it is not TUTTI_ERR_MEMORY. */
int tutti_shmem_near_find(struct tutti_shmem *space, struct tutti_transport *all, const struct tutti_node *node);
void tutti_shmem_near_free(struct tutti_shmem_near *near);

#endif
