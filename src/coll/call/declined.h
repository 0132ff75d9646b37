/* Short calls that peers leave to the MPI, because they have no device memory in them. A rank with device memory finds
 * that out by waiting for all peers, and in a nonblocking call on another thread. After some such calls of a collective
 * it leaves the next ones to the MPI at once, as it may leave any call, and now and then it asks the peers again.
 *
 * Ranks may disagree on which call asks: a rank whose peers leave calls for this reason alone asks in each
 * call, until one of them asks too. */
#ifndef TUTTI_COLL_CALL_DECLINED_H
#define TUTTI_COLL_CALL_DECLINED_H

#include "coll/coll.h"

/* Local. 1 if this rank leaves its next call of the collective to the MPI, of so many bytes on this rank. */
int tutti_declined_is_next(const struct tutti_team *team, enum tutti_collective collective, size_t bytes);
/* Local, once for each call: the same, of the call that now begins. */
int tutti_declined_begins(struct tutti_team *team, enum tutti_collective collective, size_t bytes);
/* Local. 1 if peers have left calls of so many bytes (to the next power of two), or of more, among those in a row:
 * rules that would take them have not fitted the peers' memory. */
int tutti_declined_has_been(const struct tutti_team *team, enum tutti_collective collective, size_t bytes);
/* Local, when all ranks have arrived at a call, of so many bytes on this rank, in which it has asked. left: ranks that
 * left it to the MPI; host: ranks for whose memory of the host the MPI makes it; before: ranks that left it after
 * earlier calls alone. */
void tutti_declined_note(struct tutti_team *team, enum tutti_collective collective, size_t bytes, int left, int host,
                         int before);

#endif
