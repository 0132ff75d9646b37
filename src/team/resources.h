/* Resources: channel, stream and words that an open team uses in this process, pooled over teams. Private to team/. */
#ifndef TUTTI_TEAM_RESOURCES_H
#define TUTTI_TEAM_RESOURCES_H

#include "team/node.h"

enum { TUTTI_CHANNEL_LEAST = 1 << 20 }; /* bytes of a channel */

/* Resources on `gpu`, with clear words. On failure *why is a static text. Counts against
 * TUTTI_WINDOW_MB. most: bytes that are enough for the channel; 0: as settings say. */
int tutti_resources_take(struct tutti_node *node, int gpu, size_t most, struct tutti_resources **out, const char **why);
/* Local. 1 if a team of the node ranks in `ranks` would take resources on `gpu` (-1: on any) that an earlier team of
 * all of these has had: nothing is then allocated, and, unless mappings had to make room, nothing is mapped. most: as
 * above.
 */
int tutti_resources_are_known(struct tutti_node *node, int gpu, size_t most, uint64_t ranks);
/* Before a team's ranks agree that they are ready: clears the channel's flags, since those of an earlier team would be
 * taken for this one's, and sets its ticks, which all begin with alike: at least those that any of their channels has
 * counted, so that packets of earlier teams are of epochs that do not come again. Cleans the whole channel where that
 * is not enough: the last team broke, and left packets of later epochs, or it laid out the
 * channel for other than `bytes`, so that its data lie where the next one has its flags. */
int tutti_resources_begin(struct tutti_node *node, struct tutti_resources *resources, uint64_t ticks, size_t bytes);
/* Frees resources that no peer has used. */
void tutti_resources_drop(struct tutti_node *node, struct tutti_resources *resources);
/* Kernels' view of the words. */
int tutti_resources_words(struct tutti_node *node, const struct tutti_resources *resources,
                          struct tutti_words **device);
/* Before a team is freed: kernels have left, mappings of peers' channels are let go. */
void tutti_resources_leave(struct tutti_team *team);
/* Waits up to a bound until the team's kernels have left; marks the resources stuck otherwise. */
void tutti_resources_drain(struct tutti_team *team);
/* Frees all resources; alive: the device may be called. */
void tutti_resources_free(struct tutti_node *node, int alive);

#endif
