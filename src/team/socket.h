/* Unix sockets between the ranks of a node: abstract names that hold the node's nonce, nothing on disk. They carry
 * descriptors, and their hang-up says that a peer has gone. Private to team/. */
#ifndef TUTTI_TEAM_SOCKET_H
#define TUTTI_TEAM_SOCKET_H

#include "team/node.h"

enum { TUTTI_MESH_SECONDS = 10 };

/* Opens this rank's listening socket. */
int tutti_socket_listen(const struct tutti_node *node, int *listener);
/* Connects all ranks of the node with each other and maps their pages, within TUTTI_MESH_SECONDS. Strangers (another
 * user, another nonce) are refused and do not disturb. page_fd: of this rank's page. */
int tutti_socket_mesh(struct tutti_node *node, int listener, int page_fd);
/* TUTTI_OK where the process at the other end has this user id; *pid is its number, 0 where it cannot be seen. */
int tutti_socket_trusts(int fd, unsigned uid, int *pid);

enum { TUTTI_NOTE_LANE = -1 }; /* slot of notes for lanes, whose sequence is 0 */
/* A descriptor for one team of the receiver. */
struct tutti_note {
    uint64_t magic;
    uint64_t id;   /* of the allocation */
    uint32_t slot; /* of the receiver's team */
    uint32_t generation;
    uint32_t sequence; /* of the team's call */
    uint32_t refused;  /* 1: there is no descriptor, the owner could not make one */
};

/* Sends a note and its descriptor (-1: refused) to `peer`. 1 sent (or the peer has gone), 0 try again later. */
int tutti_socket_give(struct tutti_node *node, int peer, const struct tutti_note *note, int fd);
/* Takes what `peer` has sent for (slot, sequence, id): 1 and *fd (-1: refused; the caller closes it), 0 not yet. */
int tutti_socket_take(struct tutti_node *node, int peer, int slot, uint32_t sequence, uint64_t id, int *fd);
/* Closes what has come for a slot and was not taken; slot -2: for all. */
void tutti_socket_purge(struct tutti_node *node, int slot);

#endif
