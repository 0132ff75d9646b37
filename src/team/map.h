/* Descriptors for peers that map this rank's buffers. Private to team/. */
#ifndef TUTTI_TEAM_MAP_H
#define TUTTI_TEAM_MAP_H

#include "team/node.h"

/* Sends descriptors of the current call's buffers to peers that want them and have none yet. Never blocks. */
void tutti_map_serve(struct tutti_team *team);
/* Sends the descriptor of the allocation `what` (of this rank) to rank r for the current call. 1 sent, 0 try again. */
int tutti_map_send(struct tutti_team *team, int r, const struct tutti_export *what);
/* Lets go of what the last call mapped. */
void tutti_map_release(struct tutti_place *place);

#endif
