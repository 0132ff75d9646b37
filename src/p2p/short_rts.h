/* RTSs as short as their messages. A message may be shorter than an RTS of plain text, so all but a few bits lie in the
 * rendezvous, which the receiver reads in shared memory (team/rndv.h). What the transport carries is as long as the
 * message: statuses, probes and truncation are right by themselves. It begins with the number of the rendezvous and
 * continues with a cipher of its sequence under the key of the node: 56 bits in 8 to 15 bytes, 120 bits in more.
 *
 * The receiver believes what it has received if one rendezvous for it has this number, tag and length, is open and has
 * a sequence with this cipher. A message of the program is taken for an RTS with a probability of 2^-56 for each peer
 * that has such a rendezvous open. A short RTS that comes again names no open rendezvous, and is a message as any. */
#ifndef TUTTI_P2P_SHORT_RTS_H
#define TUTTI_P2P_SHORT_RTS_H

#include <stddef.h>

#include "p2p/p2p.h"

enum { TUTTI_SHORT_RTS_LEAST = 8 }; /* bytes */

/* Local. Writes the RTS of a rendezvous of this rank that has its tag and its bytes, TUTTI_SHORT_RTS_LEAST or more:
 * as many. */
void tutti_short_rts_write(struct tutti_p2p_worker *worker, const struct tutti_rndv *rndv, unsigned char *text);
/* Local. 1 if `text`, a message with this tag of so many bytes, is an RTS for this rank: *out. */
int tutti_short_rts_read(struct tutti_p2p_worker *worker, int tag, const unsigned char *text, size_t bytes,
                         struct tutti_rts_head *out);

#endif
