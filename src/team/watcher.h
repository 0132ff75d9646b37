/* The watcher: a thread of the process that watches calls in stream order, for which no thread of the program waits. It
 * wakes a few times a second while there are communicators with a stream. If a peer has died or given up, or a kernel
 * has left after its time limit, the watcher reports it, sets this rank's abort word, marks this rank as given up for
 * its peers, and stores the failure in team->fault for the next call. A kernel that waits long is reported once. The
 * thread calls neither the device nor the MPI. */
#ifndef TUTTI_TEAM_WATCHER_H
#define TUTTI_TEAM_WATCHER_H

#include "team/team.h"

/* Local. From now on the open team is watched. Starts the thread if it is not running. */
int tutti_watcher_add(struct tutti_team *team);
/* Local. Kernels of the watched team wait for this rank of the node too, from now on, as if it were in the team: the
 * peers of matched messages. */
void tutti_watcher_expect(struct tutti_team *team, int node_rank);
/* Local. No longer; on return the watcher does not know the team. Also of a team that is not watched. */
void tutti_watcher_remove(struct tutti_team *team);
/* Local. 1 if nothing is in any stream of communicators, and none of these streams is captured; 0 also if that is not
 * known, as where several threads may use them. */
int tutti_watcher_rests(struct tutti_node *node);
/* Local, any thread. Everything of the team that is in flight on this rank leaves, and peers' watchers see that it has.
 */
void tutti_watcher_give_up(struct tutti_team *team, int status);
/* Local. Ends the thread. */
void tutti_watcher_end(struct tutti_node *node);

#endif
