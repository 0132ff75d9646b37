/* The PEs of this node, among all. */
#ifndef TUTTI_SHMEM_NEAR_H
#define TUTTI_SHMEM_NEAR_H

#include "progress/transport.h"
#include "shmem/space.h"

struct tutti_node;

/* A transport of the near PEs alone, for making their team: each of its calls is made by all PEs. */
struct tutti_shmem_near {
    struct tutti_transport base;
    struct tutti_transport *all;
    int count, me;           /* me: of this PE among them */
    int pe[TSHMEM_NEAR_MAX]; /* in increasing order */
    char *room;              /* of all PEs, for an exchange */
};

/* Collective over `all`: space->near. A status, which is said where it is not memory. */
int tutti_shmem_near_find(struct tutti_shmem *space, struct tutti_transport *all, const struct tutti_node *node);
void tutti_shmem_near_free(struct tutti_shmem_near *near);

#endif
