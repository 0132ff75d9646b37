/* A board: host memory of each rank of a team that all its ranks map, written by its owner. For collectives that hand
 * few bytes to ranks of the node without a message. */
#ifndef TUTTI_TEAM_BOARD_H
#define TUTTI_TEAM_BOARD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "team/team.h"

/* Zeros: closed. */
struct tutti_board {
    size_t bytes;              /* of each rank */
    void *of[TUTTI_MAX_RANKS]; /* of each rank, all of it zeros at first; [rank] is this rank's own */
};

/* Collective over the team's ranks, between calls; blocking, bounded, reports stalls. All ranks succeed or none:
 * TUTTI_ERR_UNAVAILABLE where a rank has no memory. Team whole. */
int tutti_board_open(struct tutti_team *team, size_t bytes, struct tutti_board *board);
/* Local. Takes closed ones. */
void tutti_board_close(struct tutti_board *board);
/* Waits until rank r has stored `value`, or one behind it, in a word of its board. A status; a failure breaks the team.
 */
int tutti_board_await(struct tutti_team *team, int r, const _Atomic uint32_t *word, uint32_t value);

#endif
