/* A blocking call of the row two_rounds. Private to hier/. */
#ifndef TUTTI_COLL_HIER_TWO_ROUNDS_H
#define TUTTI_COLL_HIER_TWO_ROUNDS_H

#include "coll/hier/own.h"
#include "dtype/pack.h"

enum {
    TUTTI_ROUNDS_PEERS = 10, /* ranks of a node and nodes together, at most */
    TUTTI_ROUNDS_RANKS = TUTTI_ROUNDS_PEERS * TUTTI_ROUNDS_PEERS / 4,
    TUTTI_ROUNDS_LINE = 64 /* bytes: what the area is divided by */
};

struct tutti_rounds {
    struct tutti_nodes *nodes;
    const struct tutti_hierarchy *h;
    const struct tutti_call *call;
    const char *name;                        /* of the program's call */
    int n;                                   /* ranks */
    size_t size;                             /* of an element */
    int host[TUTTI_PORTS], gpu[TUTTI_PORTS]; /* the program's buffers: 1: the host reaches it; its GPU */
    int number[TUTTI_ROUNDS_RANKS];          /* of each rank in its node */
    int source[TUTTI_ROUNDS_RANKS];          /* of each node: the rank that sends its result here */
    /* Host memory: of one piece each `mine`, `out`, a contribution of each rank, and a result of each node. */
    struct tutti_host_memory area;
    size_t bytes; /* of a piece, in whole lines */
    char *mine, *out, *room;
    const void *theirs[TUTTI_ROUNDS_RANKS], *result[TUTTI_ROUNDS_RANKS];
    /* Of the piece: */
    struct tutti_part_of piece;
    int node_needed; /* 1: this rank combines the result of the node */
    int pair;        /* 1: it copies in too */
    int first_round; /* receives of the first round */
    struct tutti_transfer send[TUTTI_ROUNDS_RANKS * 2], receive[TUTTI_ROUNDS_RANKS * 2];
    int to[TUTTI_ROUNDS_RANKS * 2], from[TUTTI_ROUNDS_RANKS * 2];
    int sends, sent, receives, received;
    /* The copy under way: by a kernel, or by the stream of a port; otherwise it has ended. */
    struct tutti_pack_flight flight;
    struct tutti_event *event;
};

/* two_rounds_copy.c, local. Where the buffers of the call are. */
void tutti_rounds_look_at(struct tutti_rounds *x);
/* Begins a copy between `memory` of the program and host memory; a status. copied: 1: it has ended; 0; a status. */
int tutti_rounds_copy(struct tutti_rounds *x, enum tutti_direction direction, void *memory, void *host, size_t count);
int tutti_rounds_copied(struct tutti_rounds *x);
/* As struct tutti_wait has it: the call, this rank and what it waits for. */
void tutti_rounds_describe(const void *rounds, char *text, size_t size);
/* Writes which call has failed, and what it was waiting for. */
void tutti_rounds_fails(const struct tutti_rounds *x, int status);

#endif
