/* The watcher: a thread of the process that looks after calls in stream order, where no thread of the program waits. It
 * sleeps, and wakes a few times a second while there are communicators with a stream. Where a peer has died or given
 * up, or a kernel has left because its time was up, it says so, tells the kernels of this rank to leave and this rank's
 * peers that it has given up, and leaves the failure in team->fault for the next call. A kernel that waits long is
 * reported once. It calls neither the device nor the MPI. */
#ifndef TUTTI_TEAM_WATCHER_H
#define TUTTI_TEAM_WATCHER_H

#include "team/team.h"

/* Local. From now on the open team is watched; starts the thread where there is none. */
int tutti_watcher_add(struct tutti_team *team);
/* Local. No longer; on return the watcher does not know the team. Also of a team that is not watched. */
void tutti_watcher_remove(struct tutti_team *team);
/* Local, any thread. Everything of the team that is in flight on this rank leaves, and peers' watchers see that it has.
 */
void tutti_watcher_give_up(struct tutti_team *team, int status);
/* Local. Ends the thread. */
void tutti_watcher_end(struct tutti_node *node);

#endif
