/* The blocks of a move as messages without matching: each sent block is a rendezvous of its own (team/rndv.h), which
 * its receiver fetches. Private to coll/move/. All functions are local. */
#ifndef TUTTI_COLL_MOVE_BLOCKS_H
#define TUTTI_COLL_MOVE_BLOCKS_H

#include "coll/move/moves.h"

/* Posts block i of those to be sent as a rendezvous for a rank of the node, without a notice to that rank. 0: it cannot
 * be posted. job->bytes > 0: the job has to run on send->gpu before peers may look. */
int tutti_block_post(struct tutti_move *move, int i, int peer, struct tutti_p2p_send *send, struct tutti_pack_job *job);
/* For a posted block that no peer knows. Does nothing to a block that was not posted. */
void tutti_block_withdraw(struct tutti_move *move, struct tutti_p2p_send *send);
/* Local: posts all blocks that this rank sends, and names the first one for each rank in `first` (tutti_team_rndvs()).
 * 1: move->posted; 0: none is posted, and the reason is set. unpost: as long as no peer has read them, or all ranks
 * know that none will. Does nothing if none is posted. */
int tutti_blocks_post(struct tutti_team *team, struct tutti_move *move, uint16_t first[]);
void tutti_blocks_unpost(struct tutti_move *move);
/* Describes block i of those to be received. rndv: the rendezvous of its sender, number `number` of the rank `peer` of
 * the node; NULL: the sender has posted no block, an error of the program. */
void tutti_block_expect(struct tutti_move *move, int i, int peer, struct tutti_rndv *rndv, uint32_t number,
                        struct tutti_p2p_recv *recv);
/* Fetches all blocks to be received, and waits for them; begins with block `first`. The posted blocks are served
 * meanwhile. A failure is kept in the move. */
void tutti_blocks_fetch(struct tutti_move *move, struct tutti_p2p_recv *recv, int first);
/* Waits until the data of all posted blocks have left the program's buffers. */
void tutti_blocks_await(struct tutti_move *move, struct tutti_p2p_send *send);

#endif
