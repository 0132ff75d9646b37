/* Moves in stream order of elements of any layout. Used by src/mpi/move/. */
#ifndef TUTTI_COLL_MOVE_SIDES_H
#define TUTTI_COLL_MOVE_SIDES_H

#include "coll/move.h"

/* A move in stream order as elements of any layout: those for each rank of the team and those from each, by rank;
 * plan NULL: there are no elements. They lie in memory that kernels of the stream's GPU reach. */
struct tutti_move_sides {
    struct tutti_elements send[TUTTI_MAX_GPUS], receive[TUTTI_MAX_GPUS];
    int aside; /* 1: received elements overlap sent ones, which are copied first */
};

/* Local. gpu: of the stream. tutti_move_enqueue() for these elements, with call->flow left out: layouts that are not
 * one run of bytes are packed into scratch, and unpacked from it, by kernels in the same stream. Scratch for the
 * largest call so far and the plans are kept until the team is freed. A team of one rank need not be open: it
 * launches copies and packing alone. TUTTI_ERR_UNAVAILABLE also if a layout with lists is used for the first time
 * while a graph is captured, and on one rank between two irregular layouts of some hundred segments
 * (tutti_pack_enqueue()). */
int tutti_move_enqueue_sides(struct tutti_team *team, int gpu, const struct tutti_call *call,
                             const struct tutti_move_sides *sides, struct tutti_stream *stream, const char **why);

#endif
