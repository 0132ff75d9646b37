/* Reports and liveness of peers. Private to team/. */
#ifndef TUTTI_TEAM_WATCH_H
#define TUTTI_TEAM_WATCH_H

#include "team/node.h"

/* Looks at the sockets of the ranks in `mask`; returns those whose process has gone. */
uint64_t tutti_watch_gone(const struct tutti_membership *membership, uint64_t mask);
/* Failure of a peer that ends this wait (dead, or broken by it), already logged; TUTTI_OK otherwise. */
int tutti_watch_peers(struct tutti_waiting *waiting);
void tutti_watch_stall(const struct tutti_waiting *waiting);
void tutti_watch_timeout(const struct tutti_waiting *waiting);
/* One line with each rank's call; the same on all ranks, said by the lowest that waits. */
void tutti_watch_mismatch(const struct tutti_team *team, const struct tutti_arrival *const all[]);
/* 1 if the two calls match. */
int tutti_watch_alike(const struct tutti_arrival *a, const struct tutti_arrival *b);

#endif
