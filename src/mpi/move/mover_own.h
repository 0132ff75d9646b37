/* A call that moves data while Tutti makes it. Private to mover*.c. */
#ifndef TUTTI_MPI_MOVER_OWN_H
#define TUTTI_MPI_MOVER_OWN_H

#include "coll/move.h"
#include "mpi/message/endpoints.h"
#include "mpi/move/mover.h"

enum { TUTTI_MOVER_FEW = 8 }; /* blocks that fit without an allocation */

struct tutti_mover {
    const struct tutti_collective_args *call;
    struct tutti_team *team; /* team in which the call meets */
    int nonblocking;         /* 1: a nonblocking or persistent call */
    int on_host;             /* 1: no block lies in memory of a device */
    int begins;              /* 1: the call begins now, so peers that are expected to leave it are not asked */
    struct tutti_mover_blocks blocks;
    struct tutti_move move;      /* the same blocks as elements: in as send, out as receive */
    struct tutti_p2p_worker p2p; /* of this call alone */
    uint64_t bytes;              /* of all blocks; a block for several ranks counts once */
    int takes_any; /* 1: blocks of types without a plan are taken too. Their elements are set by tutti_mover_pack() */
    int without;   /* blocks whose elements are not set yet */
    char *packed;  /* host memory in which such blocks lie packed; NULL: none */
    struct tutti_move_block few[TUTTI_MOVER_FEW];
};

/* mover.c. Local, on a thread of the program. begin: an empty mover. describe: 0, with the reason, if this rank
 * cannot take part; the transport carries messages whose memory a receiver cannot map. close: in any case. */
void tutti_mover_begin(struct tutti_mover *mover, const struct tutti_collective_args *call, struct tutti_team *team,
                       int nonblocking);
int tutti_mover_describe(struct tutti_mover *mover, struct tutti_transport *transport);
/* The blocks alone, also of host memory, and of types without a plan. 0 if the arguments are wrong, or without memory.
 */
int tutti_mover_describe_blocks(struct tutti_mover *mover);
/* packed.c. Blocks of types without a plan pass through host memory, packed by the MPI: pack before the call, unpack
 * after it. Statuses. */
int tutti_mover_pack(struct tutti_mover *mover);
int tutti_mover_unpack(struct tutti_mover *mover);
/* Counts a call that has been made this way. */
void tutti_mover_count(const struct tutti_mover *mover, const char *how);
/* The MPI code of a call whose run returned this status. */
int tutti_mover_code(const struct tutti_mover *mover, int status);
void tutti_mover_close(struct tutti_mover *mover);
/* Why a communicator has no team that moves data. */
enum tutti_reason tutti_mover_teamless(const struct tutti_comm *state);

#endif
