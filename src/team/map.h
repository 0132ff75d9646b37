/* Descriptors for peers that map this rank's buffers. Private to team/. */
#ifndef TUTTI_TEAM_MAP_H
#define TUTTI_TEAM_MAP_H

#include "team/node.h"
#include "team/socket.h"

/* Sends descriptors of the current call's buffers to peers that want them and have none yet. Never blocks. */
void tutti_map_serve(struct tutti_team *team);
/* Sends the descriptor of the allocation `what` (of this rank) to rank r for the current call. 1 sent, 0 try again. */
int tutti_map_send(struct tutti_team *team, int r, const struct tutti_export *what);
/* The same without a team, for teams and lanes. fill: names the allocation of `pointer`; out->shared is 0 where it
 * cannot be shared. send: hands a fresh descriptor of `what` to the peer with the note, of which id and refused are set
 * here; 1 sent (or the peer has gone), 0 try again. */
void tutti_share_fill(struct tutti_node *node, const struct tutti_device *device, const void *pointer,
                      struct tutti_share *out);
int tutti_share_send(struct tutti_node *node, const struct tutti_device *device, int peer, struct tutti_note *note,
                     const struct tutti_export *what);
/* Lets go of what the last call mapped. */
void tutti_map_release(struct tutti_place *place);

#endif
