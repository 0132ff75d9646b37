/* Which GPUs several ranks of a machine work on: of a node, and of the nodes into which TUTTI_NODE_RANKS divides it. */
#ifndef TUTTI_TEAM_SHARING_H
#define TUTTI_TEAM_SHARING_H

#include "team/node.h"

struct tutti_socket_name;
/* Local: a socket for notes of other nodes of the machine, and its name (without length on failure). */
void tutti_sharing_open(struct tutti_node *node, struct tutti_socket_name *name);
/* Local: the socket of a rank of the world on this machine, and a key that the world's ranks alone know. */
void tutti_sharing_meet(struct tutti_node *node, int world_rank, const struct tutti_socket_name *name,
                        const uint64_t key[2]);
void tutti_sharing_close(struct tutti_node *node);
/* Local, any thread; cheap from the second call for a GPU on. This rank works on the GPU. If another rank of the
 * machine does too, tutti_gpu_share() is called here, and there at its next look. */
void tutti_sharing_look(struct tutti_node *node, const struct tutti_device *device, int gpu);

#endif
