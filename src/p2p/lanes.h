/* Messages in stream order: kernels of both ranks send and receive; the host only launches them. kernels/lane_args.h
 * explains lanes. A lane belongs to one tag at a time; the rank that uses a tag first claims it, in a table in shared
 * memory. So nothing is matched on the GPU, and tags may be used in any order.
 *
 * Matched messages use no lane: their requests know each other, and the sender's kernels store into the receiver's
 * memory. Operations, launches and waits are the same. */
#ifndef TUTTI_P2P_LANES_H
#define TUTTI_P2P_LANES_H

#include <stddef.h>

#include "kernels/lane_args.h"
#include "team/team.h"

struct tutti_lanes;

enum { TUTTI_LANES_ANY = -1, TUTTI_LANES_ASK = 2 };

struct tutti_lane_message {
    int send;      /* 1: a send; 0: a receive */
    int peer, tag; /* of a receive also TUTTI_LANES_ANY */
    void *buffer;  /* `bytes` bytes in one piece, reached by kernels of the team's GPU */
    size_t bytes;
    int reports;  /* 1: a report is wanted; only where tutti_lanes_reports() is not NULL. Of tutti_lanes_do() */
    int captured; /* of tutti_lanes_captured(); TUTTI_LANES_ASK: tutti_lanes_do() asks if it needs the answer */
};

/* Collective over the ranks of a team that tutti_enqueue_open() has opened; blocking. All ranks succeed or none:
 * TUTTI_ERR_UNAVAILABLE, with the reason in *why. Takes memory, and some of the team's multiprocessors. */
int tutti_lanes_open(struct tutti_team *team, struct tutti_lanes **out, const char **why);
/* Collective, blocking: waits until no started operation runs beside the stream on any rank. A status. */
int tutti_lanes_settle(struct tutti_lanes *lanes);
/* Local: lanes of matched messages alone, of a closed team of this rank alone, which is opened on `gpu`. Takes memory
 * and some of the GPU's multiprocessors. */
int tutti_lanes_open_alone(struct tutti_team *team, int gpu, struct tutti_lanes **out, const char **why);
/* Local. `alive`: the device may be called; `settled`: tutti_lanes_settle() has succeeded. */
void tutti_lanes_close(struct tutti_lanes *lanes, int alive, int settled);

/* Local. 1: the stream is captured; 0: it is not; or a status. A question to the driver: a call of the program asks
 * once. What a capture left behind that was given up is forgotten. `stream` is of the team's GPU, the same in all
 * calls. */
int tutti_lanes_captured(struct tutti_lanes *lanes, struct tutti_stream *stream);

/* Local; they return when the kernels are in the stream, and do not wait for a peer. A status; TUTTI_ERR_UNAVAILABLE
 * with the reason in *why. captured: tutti_lanes_captured(). */
int tutti_lanes_do(struct tutti_lanes *lanes, struct tutti_stream *stream, const struct tutti_lane_message *message,
                   const char **why);
/* Starts the message in the stream; later work of the stream does not wait for it. *op identifies it until
 * tutti_lanes_wait(). */
int tutti_lanes_start(struct tutti_lanes *lanes, struct tutti_stream *stream, const struct tutti_lane_message *message,
                      int *op, const char **why);
/* Local. on: messages that tutti_lanes_start() starts from now on wait for their launch until a wait, or another call
 * here: where the wait is for all of them, one launch starts them and waits for them. */
void tutti_lanes_group_starts(struct tutti_lanes *lanes, int on);
int tutti_lanes_groups(const struct tutti_lanes *lanes);
/* Launches what waits for it. */
int tutti_lanes_flush(struct tutti_lanes *lanes, struct tutti_stream *stream, const char **why);
/* Starts matched messages, `op` of which is not set: ops[i] is that of the i-th, until tutti_lanes_wait(). */
int tutti_lanes_start_matched(struct tutti_lanes *lanes, struct tutti_stream *stream, int captured, int n,
                              const struct tutti_lane_match matches[], int ops[], const char **why);
/* Later work of the stream waits for these operations. reports: reports of their messages are wanted. On success
 * their numbers are free again. *together: 1 if the launch has started them too, see tutti_lanes_group_starts(). */
int tutti_lanes_wait(struct tutti_lanes *lanes, struct tutti_stream *stream, int captured, int n, const int ops[],
                     int reports, int *together, const char **why);
/* What messages were received, by operation, when the stream is past a wait that reports, until the operation's number
 * is used again by later work of the stream. op 0: of tutti_lanes_do(). NULL: there is no memory for it. */
const volatile struct tutti_lane_report *tutti_lanes_reports(const struct tutti_lanes *lanes);
/* The tag of a lane of messages from `peer` to this rank. */
int tutti_lanes_tag(const struct tutti_lanes *lanes, unsigned peer, unsigned lane);
/* Local. drop(memory) when the lanes are closed: the stream, or a graph, may use it until then. A status. */
int tutti_lanes_keep(struct tutti_lanes *lanes, void (*drop)(void *memory), void *memory);

/* Device memory for elements with gaps: one packed message. Local. Taken when a call is put into the stream, given back
 * when its end is: later users come behind it in the stream. What captures take is used by captures alone from then on,
 * since their graphs may run between calls that are not captured. TUTTI_ERR_UNAVAILABLE in a capture where none is
 * free.
 */
struct tutti_lanes_scratch;
int tutti_lanes_scratch_take(struct tutti_lanes *lanes, int captured, size_t bytes, struct tutti_lanes_scratch **out,
                             void **memory);
void tutti_lanes_scratch_give(struct tutti_lanes_scratch *scratch); /* NULL is fine */
/* Local. The plan lives as long as the lanes, since the stream may still pack by it. A status. */
struct tutti_plan;
int tutti_lanes_hold_plan(struct tutti_lanes *lanes, const struct tutti_plan *plan);

#endif
