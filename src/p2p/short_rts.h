/* RTSs as short as their messages. A message may be shorter than an RTS of plain text, so all but a few bits lie in the
 * rendezvous, which the receiver reads in shared memory (team/rndv.h). What the transport carries is as long as the
 * message: statuses, probes and truncation are right by themselves. It begins with the number of the rendezvous and
 * continues with a cipher of its sender and sequence under the key of the node: 56 bits in 8 to 15 bytes, 120 bits in
 * more. Messages of 1 to 7 bytes have an RTS of 8 bytes: their receiver gives the transport a buffer of that length,
 * and probes read what they find.
 *
 * The receiver believes what it has received if one rendezvous for it has this number, tag and length, is open and has
 * a sequence with this cipher. A message of the program is taken for an RTS with a probability of 2^-56 for each peer
 * that has such a rendezvous open. A repeated short RTS names no open rendezvous, and is treated as a message. */
#ifndef TUTTI_P2P_SHORT_RTS_H
#define TUTTI_P2P_SHORT_RTS_H

#include <stddef.h>

#include "p2p/p2p.h"

enum { TUTTI_SHORT_RTS_LEAST = 8 }; /* bytes */

/* Bytes of the RTS of a message of so many. */
static inline uint64_t tutti_short_rts_bytes(uint64_t bytes)
{
    return bytes < TUTTI_SHORT_RTS_LEAST ? TUTTI_SHORT_RTS_LEAST : bytes;
}
/* Local. Writes the RTS of a rendezvous of this rank that has its tag and its bytes: tutti_short_rts_bytes() of them.
 */
void tutti_short_rts_write(struct tutti_p2p_worker *worker, const struct tutti_rndv *rndv, unsigned char *text);
/* Local. 1 if `text`, a message with this tag of so many bytes, TUTTI_SHORT_RTS_LEAST or more, is an RTS for this
 * rank: *out, whose `bytes` are the message's. */
int tutti_short_rts_read(struct tutti_p2p_worker *worker, int tag, const unsigned char *text, size_t bytes,
                         struct tutti_rts_head *out);

#endif
