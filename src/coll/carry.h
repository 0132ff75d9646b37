/* Collectives that move data over a communicator of several nodes, in two levels: blocks between ranks of a node go by
 * the data movers of one node, blocks between nodes through pinned host memory and the transport, in pieces that are
 * copied while others are sent. Used by src/mpi/nodes/.
 *
 * All ranks of the communicator make the same calls in the same order, one after the other: a blocking call when all
 * before it have ended, a nonblocking one when the one before it has ended on this rank. A call is a
 * struct tutti_call of a move: `collective`, `root`, `move` with blocks by rank of the communicator, and `count`: bytes
 * that all ranks know or have agreed on, by which the rules choose. */
#ifndef TUTTI_COLL_CARRY_H
#define TUTTI_COLL_CARRY_H

#include "coll/coll.h"
#include "coll/hierarchy.h"
#include "coll/move.h"
#include "sched/worker.h"

struct tutti_carry; /* what a communicator keeps for such calls */

/* Local. rules: where the rules in force begin, the same on all ranks. The hierarchy is the caller's and stays. NULL
 * without memory. free: no call is under way; takes NULL. alive: the device may be called. */
struct tutti_carry *tutti_carry_new(struct tutti_hierarchy *hierarchy, int rules);
void tutti_carry_free(struct tutti_carry *carry, int alive);

/* 1 if calls of this collective may go in two levels. */
int tutti_carry_knows(enum tutti_collective collective);
/* 0 if no call of this collective with blocks of so many bytes goes in two levels by the rules that all ranks have
 * alike; bytes 0: of any size. Local, and the same on all ranks: they need not agree on such a call. */
int tutti_carry_may(enum tutti_collective collective, uint64_t bytes);
/* 1 if a call goes in two levels by the rules; 0: the rules leave it to the MPI. Depends on facts that are the same on
 * all ranks: `collective` and `count`. */
int tutti_carry_takes(int rules, const struct tutti_call *call);

/* Collective over the communicator; blocking. A status; call->move->failed and truncated are set as by
 * tutti_move_run(). *how: the name of the row. */
int tutti_carry_run(struct tutti_carry *carry, const struct tutti_call *call, const char **how);

/* The same without waiting; the node's ranks meet in the nonblocking team. begin: local; call->move stays until the
 * end. NULL without memory, or without a thread for jobs. poll: 0: under way; 1: it has ended, *status and *how are
 * set, and it is freed. By threads that may call the transport, one at a time. */
struct tutti_carry_open;
struct tutti_carry_open *tutti_carry_begin(struct tutti_carry *carry, const struct tutti_call *call,
                                           struct tutti_worker *worker);
int tutti_carry_poll(struct tutti_carry_open *open, int *status, const char **how);

#endif
