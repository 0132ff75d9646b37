/* Unix sockets between the ranks of a node: abstract names, nothing on disk. Every process of the machine can read
 * the names and can take a free one. So the system chooses them, they carry no meaning, and the ranks exchange them
 * over the MPI. Sockets carry descriptors; a closed connection means that the peer has ended. Private to team/. */
#ifndef TUTTI_TEAM_SOCKET_H
#define TUTTI_TEAM_SOCKET_H

#include <sys/un.h>

#include "team/node.h"

enum { TUTTI_MESH_SECONDS = 10 };

/* Of a listening socket, as ranks send it to each other. */
struct tutti_socket_name {
    unsigned char length; /* 0: none */
    char bytes[15];
};

/* A Unix socket of this type (SOCK_SEQPACKET, SOCK_DGRAM), not blocking, under a free name that the system chooses: no
 * other process can have taken it before. -1: failed, errno. */
int tutti_socket_named(int type, struct tutti_socket_name *name);
/* Fills *at with a name that has a length; returns the address's length. */
unsigned tutti_socket_address(const struct tutti_socket_name *name, struct sockaddr_un *at);
/* Opens this rank's listening socket and publishes its name. */
int tutti_socket_listen(const struct tutti_node *node, int *listener, struct tutti_socket_name *name);
/* Connects all ranks of the node with each other and maps their pages, within TUTTI_MESH_SECONDS. Strangers (another
 * user, another nonce) are refused and do not disturb. names: by rank of the world. page_fd: of this rank's page. */
int tutti_socket_mesh(struct tutti_node *node, int listener, const struct tutti_socket_name *names, int page_fd);
/* 1 sent, 0 try again, -1 failed. `passed` of -1: no descriptor. */
int tutti_socket_send(int fd, const void *bytes, size_t size, int passed);
/* 1 received, 0 nothing there, -1 closed or not a message of this size. *passed is -1 or a descriptor of the caller's.
 */
int tutti_socket_receive(int fd, void *bytes, size_t size, int *passed);
/* TUTTI_OK if the process at the other end has this user id; *pid is its number, 0 if it cannot be seen. */
int tutti_socket_trusts(int fd, unsigned uid, int *pid);

/* Slots of notes for no team, whose sequence is 0: of endpoints, and of team/pair.h. */
enum { TUTTI_NOTE_ENDPOINT = -1, TUTTI_NOTE_PAIR = -3 };
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
/* Closes descriptors that have arrived for a slot and were not taken; slot -2: for all slots. */
void tutti_socket_purge(struct tutti_node *node, int slot);

#endif
