/* Makes teams, for the calls that do. */
#ifndef TUTTI_SHMEM_TEAMS_H
#define TUTTI_SHMEM_TEAMS_H

#include "tutti/shmem.h"

struct tutti_shmem;

/* Local. Makes these PEs, this one among them, a team with a number that this PE has claimed. Clears the state of an
 * earlier team of that number: its members have met to destroy it, so none stores there, and the new members meet
 * before the new team is used. The team exists even if the status is an error. */
int tutti_shmem_team_make(struct tutti_shmem *space, unsigned number, const int32_t *pe, int size, int wanted);
/* Collective over the new team, once all members have made it: opens its channel, if there can be one. */
int tutti_shmem_team_open(struct tutti_shmem *space, tshmem_team_t team);
/* Local. Ends the team and frees its number. */
void tutti_shmem_team_unmake(struct tutti_shmem *space, tshmem_team_t team);

#endif
