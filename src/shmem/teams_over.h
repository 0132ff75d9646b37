/* tshmem_team_from_comm(), below the door. */
#ifndef TUTTI_SHMEM_TEAMS_OVER_H
#define TUTTI_SHMEM_TEAMS_OVER_H

#include "tutti/shmem.h"

struct tutti_transport;

/* Collective over the transport, of at most TSHMEM_PES_MAX ranks. pe: PE of each rank, -1: none; the same on all.
 * The ranks become a team in their order; all or none of them. */
int tutti_shmem_team_over(struct tutti_transport *over, const int32_t *pe, const tshmem_team_config_t *config,
                          long mask, tshmem_team_t *made);

#endif
