/* Channels of teams, which carry their calls in stream order (stream/flow.c): each is a team of src/team/ that
 * src/coll/ has opened. Channels take memory of the GPU and a share of its multiprocessors, so only the first teams
 * get one: that of all PEs first. */
#ifndef TUTTI_SHMEM_LOCAL_CHANNELS_H
#define TUTTI_SHMEM_LOCAL_CHANNELS_H

#include <stdatomic.h>
#include <stddef.h>

#include "progress/transport.h"

struct tutti_node;
struct tutti_team;

enum { TUTTI_SHMEM_CHANNELS = 4 }; /* of one PE */

struct tutti_shmem_channel {
    _Atomic int owner;       /* 1 + number of the team of PEs; 0: free */
    struct tutti_team *team; /* when it is open */
    struct tutti_team *made; /* the same team, also while it is not open yet; NULL: `team` is the caller's */
    /* Transport of a team made here: only its members and its progress function are used, which is that of `all`. */
    struct tutti_shmem_members {
        struct tutti_transport base;
        struct tutti_transport *all;
    } members;
};

struct tutti_shmem_channels {
    struct tutti_shmem_channel one[TUTTI_SHMEM_CHANNELS];
    int room; /* 1: there is memory for all channels, the same on all PEs of the node; 0: begin is not called */
    atomic_int reported; /* the kernels in them have been stopped, or their error has been reported */
};

/* Collective over the ranks of `team`, which exists already and stays the caller's. A status; it is no failure if
 * there can be no channel. */
int tutti_shmem_channel_over(struct tutti_shmem_channels *channels, struct tutti_team *team, int number, int gpu);
/* Collective over `near`, a transport of the PEs of this node, after that. Driver calls that allocate and map memory
 * may wait for running kernels, and those for a peer that has not called yet. So the memory of later channels is
 * allocated, and mapped by all, in tshmem_init; channels that end give it back for the next one. If the first team
 * has no channel, no other team gets one. A status; lack of memory is no failure. */
int tutti_shmem_channels_room(struct tutti_shmem_channels *channels, struct tutti_node *node,
                              struct tutti_transport *near, int gpu);
/* For a team of `size` PEs of this node, this one its member `me`: begin is local, then all members exchange records
 * (TUTTI_EXCHANGE_BYTES each), then open is collective, with the records in order of member. If one member has no
 * place, none gets a channel. all: of all PEs. begin never fails: the record holds its result. */
void tutti_shmem_channel_begin(struct tutti_shmem_channels *channels, struct tutti_node *node,
                               struct tutti_transport *all, int number, int me, int size, void *record);
int tutti_shmem_channel_open(struct tutti_shmem_channels *channels, int number, const void *records, int gpu);
/* Local. No work of the team is in a stream any more. Also for a team without a channel; for all. */
void tutti_shmem_channel_close(struct tutti_shmem_channels *channels, int number);
void tutti_shmem_channels_close(struct tutti_shmem_channels *channels);
/* Local, in a collective of that team. NULL: it has no channel. */
struct tutti_team *tutti_shmem_channel_of(const struct tutti_shmem_channels *channels, int number);
/* Local, any thread. The first status that kernels have left, TUTTI_OK if none exists; once: then it is reported. */
int tutti_shmem_channels_look(struct tutti_shmem_channels *channels);
/* Local, any thread. Makes waiting kernels of this PE leave. */
void tutti_shmem_channels_leave(struct tutti_shmem_channels *channels);

#endif
