/* Launches that repeat, kept ready. Private to coll/. */
#ifndef TUTTI_COLL_CACHE_H
#define TUTTI_COLL_CACHE_H

#include "team/team.h"

/* Local. Launches into the team's stream: the kept launch if it is the same, otherwise a fresh one. Arguments are
 * compared by their bytes, so their padding must be equal. */
int tutti_launch_cached(struct tutti_team *team, const struct tutti_launch *launch);
/* Local. Keeps the launch of the last call if it has repeated often enough; in a fiber when the call is done, since the
 * first launch takes a driver 0.4 ms. Not between waiting_begin and waiting_end. */
void tutti_launch_cache_fill(struct tutti_team *team);

#endif
