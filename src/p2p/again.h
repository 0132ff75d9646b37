/* A message like the last one to its peer takes the same way. Local. */
#ifndef TUTTI_P2P_AGAIN_H
#define TUTTI_P2P_AGAIN_H

#include "p2p/p2p.h"

/* After tutti_p2p_choose() has returned `row`: keeps what the message is, for the thread's next one to this peer. */
void tutti_p2p_again_learn(const struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send, int peer,
                           const struct tutti_protocol_row *row);
/* 1 if a message of so many bytes from the allocation of this id is like the last one to this peer. Cheap. */
int tutti_p2p_is_like(const struct tutti_p2p_worker *worker, int peer, uint64_t bytes, uint64_t allocation);
/* For a message that is, is one run of bytes, is not agreed and has no rendezvous yet: takes a rendezvous with this
 * tag, posts it, and returns the row; short_rts: the RTS will be short. NULL: nothing has changed, and
 * tutti_p2p_choose() decides. */
const struct tutti_protocol_row *tutti_p2p_again(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, int peer,
                                                 int tag, int short_rts);

#endif
