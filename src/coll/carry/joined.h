/* An all-to-all with one message for each pair of nodes: by messages in the node, and by the boards of its ranks where
 * the blocks are few enough. Private to carry/. */
#ifndef TUTTI_COLL_CARRY_JOINED_H
#define TUTTI_COLL_CARRY_JOINED_H

#include "coll/carry/wire.h"

/* A node that this rank exchanges with, for its own. */
struct joined_node {
    int node, peer;                   /* peer: the rank there */
    uint64_t *word;                   /* [ranks of this node][1 + ranks there]: joined_word() */
    struct tutti_host_memory out, in; /* the messages */
    uint64_t out_bytes, in_bytes;
};

struct joined {
    struct tutti_carry_call *c;
    struct joined_node *of; /* [leads] */
    int leads;
    uint64_t *own, *words; /* this rank's words for all other nodes; memory of all words */
    struct tutti_move_block *out, *in;
    int outs, ins;
    struct tutti_carry_wire wire;
    int met; /* 1: the blocks within the node have been moved */
};

enum { TUTTI_JOINED_OVER = 0, TUTTI_JOINED_HERE = 1 }; /* numbers of wires; the movers of the node have another one */

/* Number on node `at` of the rank that exchanges with node `with`. */
static inline int tutti_joined_lead(const struct tutti_carry_call *c, int at, int with)
{
    return with % tutti_carry_size_of(c->kept, at);
}

/* joined_board.c: 1: the call has been made; 0: it has not begun, on all ranks of the node; a status. */
int tutti_joined_board(struct tutti_carry_call *c);

#endif
