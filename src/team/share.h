/* What a rank gives to the peers that map its buffers: names and descriptors. Private to team/. */
#ifndef TUTTI_TEAM_SHARE_H
#define TUTTI_TEAM_SHARE_H

#include "team/node.h"
#include "team/socket.h"

/* The shares of a record that need a descriptor: none, one or two (NULL: not needed), `out` only if it is another
 * allocation than `in`. Returns their number. */
int tutti_share_needed(const struct tutti_shares *record, const struct tutti_export *what[2]);
/* Sends descriptors of the current call's buffers to peers that need them and lack them. Never blocks. */
void tutti_share_serve(struct tutti_team *team);
/* Sends the descriptor of the allocation `what` (of this rank) to rank r for the current call. 1 sent, 0 try again. */
int tutti_share_send_rank(struct tutti_team *team, int r, const struct tutti_export *what);
/* The same without a team, for teams and endpoints. fill: names the allocation of `pointer`; out->shared is 0 if it
 * cannot be shared. name: the same for a caller that knows the allocation's id. is_named: 1
 * where name() of this allocation asks the device for nothing, since it has done so before. send: hands a fresh
 * descriptor of `what` to the peer with the note, of which id and refused are set here; 1 sent (or the peer has gone),
 * 0 try again.
 */
void tutti_share_fill(struct tutti_node *node, const struct tutti_device *device, const void *pointer,
                      struct tutti_share *out);
void tutti_share_name(struct tutti_node *node, const struct tutti_device *device, const void *pointer, uint64_t id,
                      struct tutti_share *out);
int tutti_share_is_named(const struct tutti_node *node, uint64_t id);
int tutti_share_send(struct tutti_node *node, const struct tutti_device *device, int peer, struct tutti_note *note,
                     const struct tutti_export *what);
/* Lets go of the peers' buffers that the last call mapped. */
void tutti_share_release(struct tutti_membership *membership);

#endif
