/* Which GPUs several ranks of a node work on. */
#ifndef TUTTI_TEAM_SHARING_H
#define TUTTI_TEAM_SHARING_H

#include "team/node.h"

/* Local, any thread; cheap from the second call for a GPU on. This rank works on the GPU. If another rank of the node
 * does too, tutti_few_share() is called here, and there at its next look. */
void tutti_sharing_look(struct tutti_node *node, const struct tutti_device *device, int gpu);

#endif
