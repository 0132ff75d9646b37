/* Two streams of a team beside the one of a call, in which copy engines work: the call forks into them and joins them
 * again, also while it is captured in a graph. Private to coll/. */
#ifndef TUTTI_COLL_SIDE_STREAMS_H
#define TUTTI_COLL_SIDE_STREAMS_H

#include "team/team.h"

enum { TUTTI_SIDES = 2 };

struct tutti_side_streams {
    struct tutti_own_stream own[TUTTI_SIDES];
    struct tutti_event *fork;
    struct tutti_event *done[TUTTI_SIDES]; /* what was put into each stream so far */
};

/* Local. Makes the streams for calls in `stream` unless they are there; calls in the team's own stream have others than
 * calls in stream order, which may be captured. Not between waiting_begin and waiting_end. Team open. A status. */
int tutti_side_streams_open(struct tutti_team *team, const struct tutti_stream *stream);
/* Local. Those streams, for a call in `stream` that begins now, until tutti_side_streams_give(). NULL: the call keeps
 * to `stream`. A hardware queue that streams share keeps work that a peer waits for behind work that waits for the
 * peer. So the streams of one call at most work in a process, and only beside no stream of the program but the call's
 * own. */
struct tutti_side_streams *tutti_side_streams_take(const struct tutti_team *team, const struct tutti_stream *stream);
/* Local. The call has ended, or its work is in the streams if the call is in stream order. sides NULL: none were taken.
 */
void tutti_side_streams_give(const struct tutti_team *team, const struct tutti_stream *stream,
                             const struct tutti_side_streams *sides);
/* Local. Later work of the first `used` side streams waits for what is in `stream` now. A status. */
int tutti_side_streams_fork(const struct tutti_team *team, const struct tutti_side_streams *sides, unsigned used,
                            struct tutti_stream *stream);
/* Local. Later work of `stream` waits for what is in the first `used` side streams now. A status. */
int tutti_side_streams_join(const struct tutti_team *team, const struct tutti_side_streams *sides, unsigned used,
                            struct tutti_stream *stream);
/* Local. Destroys them; NULL is fine. alive: the device may be called. */
void tutti_side_streams_close(const struct tutti_team *team, struct tutti_side_streams *sides, int alive);

#endif
