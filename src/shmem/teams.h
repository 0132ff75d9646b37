/* How teams are made, below the calls that make them. */
#ifndef TUTTI_SHMEM_TEAMS_H
#define TUTTI_SHMEM_TEAMS_H

#include "tutti/shmem.h"

struct tutti_shmem;

/* Local. Makes these PEs, this one among them, a team of a number that this PE has claimed. What an earlier team of the
 * number left is cleared: nobody stores there any more, as its members have met to destroy it, and nobody may yet: all
 * members meet before the new team is used. The team is there also where the status is an error. */
int tutti_shmem_team_make(struct tutti_shmem *space, unsigned number, const int32_t *pe, int size, int wanted);
/* Collective over the new team, once all its members have made it: its channel, if there can be one. */
int tutti_shmem_team_open(struct tutti_shmem *space, tshmem_team_t team);
/* Local. It is there no more; its number is free. */
void tutti_shmem_team_unmake(struct tutti_shmem *space, tshmem_team_t team);

#endif
