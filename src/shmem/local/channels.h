/* Channels of teams, through which their calls in stream order go (stream/flow.c): each is a team of src/team/ that
 * src/coll/ has opened. They take memory of the GPU and a share of its multiprocessors, so the first few teams that can
 * have one get one: that of all PEs first. */
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
    struct tutti_team *made; /* the same, or one that is not open yet; NULL: `team` is the caller's */
    /* Of the made one: who they are. Nothing of it is called but progress, which is that of `all`. */
    struct tutti_shmem_members {
        struct tutti_transport base;
        struct tutti_transport *all;
    } members;
};

struct tutti_shmem_channels {
    struct tutti_shmem_channel one[TUTTI_SHMEM_CHANNELS];
    int room;        /* 1: there is memory for all, alike on all PEs of the node; 0: begin is not called */
    atomic_int told; /* what is in them has been told to leave, or its error is said */
};

/* Collective over the ranks of `team`, which is there already and stays the caller's. A status; that there can be no
 * channel is none. */
int tutti_shmem_channel_over(struct tutti_shmem_channels *channels, struct tutti_team *team, int number, int gpu);
/* Collective over `near`, a transport of the PEs of this node, after that. The driver's calls that make and map memory
 * may wait for kernels that run, and those for a peer that is still to come. So the memory of channels of teams that
 * are made later is made, and mapped by all, in tshmem_init; what a team gives back stays for the next one. Where the
 * first team has no channel there is none, and no other team gets one. A status; that there is no memory is none. */
int tutti_shmem_channels_room(struct tutti_shmem_channels *channels, struct tutti_node *node,
                              struct tutti_transport *near, int gpu);
/* For a team of `size` PEs of this node, this one its member `me`: begin, local, then all members exchange records
 * (TUTTI_EXCHANGE_BYTES each), then open, collective, with those of all in order of member. Where one has no place, no
 * member gets a channel. all: of all PEs. Begin never fails: what it says in the record does. */
void tutti_shmem_channel_begin(struct tutti_shmem_channels *channels, struct tutti_node *node,
                               struct tutti_transport *all, int number, int me, int size, void *record);
int tutti_shmem_channel_open(struct tutti_shmem_channels *channels, int number, const void *records, int gpu);
/* Local. Nothing of the team's is in a stream any more. Also of one that has none; of all. */
void tutti_shmem_channel_close(struct tutti_shmem_channels *channels, int number);
void tutti_shmem_channels_close(struct tutti_shmem_channels *channels);
/* Local, in a collective of that team. NULL: it has none. */
struct tutti_team *tutti_shmem_channel_of(const struct tutti_shmem_channels *channels, int number);
/* Local, any thread. The first status that kernels have left, TUTTI_OK: none; once: then it is told. */
int tutti_shmem_channels_look(struct tutti_shmem_channels *channels);
/* Local, any thread. Kernels of this PE that wait leave. */
void tutti_shmem_channels_leave(struct tutti_shmem_channels *channels);

#endif
