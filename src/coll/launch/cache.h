/* Launches that come again and again, kept ready. Private to coll/. */
#ifndef TUTTI_COLL_CACHE_H
#define TUTTI_COLL_CACHE_H

#include "team/team.h"

/* Local. Launches into the team's stream: the kept one where this very launch was kept, otherwise afresh. Arguments are
 * compared by their bytes, so their padding must be alike. */
int tutti_launch_cached(struct tutti_team *team, const struct tutti_launch *launch);
/* Local. Keeps the launch of the last call where it has come often enough. Not between waiting_begin and waiting_end.
 */
void tutti_launch_cache_fill(struct tutti_team *team);

#endif
