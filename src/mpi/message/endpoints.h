/* Messages between ranks of a node, and from a rank to itself, that the MPI matches and does not carry
 * (team/endpoint.h). In place of the message the MPI takes a short one, an RTS, which names a rendezvous. Receives
 * recognise RTSs by their length and fetch the data; statuses and probes report the length of the message. */
#ifndef TUTTI_MPI_ENDPOINTS_H
#define TUTTI_MPI_ENDPOINTS_H

#include <stdatomic.h>

#include "mpi/comm/comms.h"
#include "mpi/real/handles.h"
#include "mpi/type/datatypes.h"
#include "p2p/p2p.h"
#include "p2p/short_rts.h"
#include "progress/engine.h"
#include "team/endpoint.h"

/* A multiple of the sizes of all basic types, since an MPI may not take a part of an element. The key distinguishes
 * RTSs from messages of the program that are as long. */
enum { TUTTI_RTS_BYTES = 480 };
/* The same for types whose basic elements all fit in it: no factor of five. MPIs send so few bytes faster. An open
 * receive of the peer may be shorter than the message, and longer than this RTS: so only to ranks all of whose receives
 * look for RTSs. */
enum { TUTTI_LEAN_RTS_BYTES = 96 };
/* The longest RTS of a message: as long as the message where that is below TUTTI_RTS_BYTES, but for the few bytes of
 * which p2p/short_rts.h makes more. */
static inline int tutti_rts_length(uint64_t bytes)
{
    return bytes < TUTTI_RTS_BYTES ? (int)tutti_short_rts_bytes(bytes) : TUTTI_RTS_BYTES;
}

/* REPLACED: as TUTTI_SEND, from a buffer that is received into: the data leave it before the call returns. WAITED: no
 * other send is begun before the call has waited for it. */
enum tutti_send_mode {
    TUTTI_SEND,
    TUTTI_SEND_SYNCHRONOUS,
    TUTTI_SEND_BUFFERED,
    TUTTI_SEND_READY,
    TUTTI_SEND_REPLACED,
    TUTTI_SEND_WAITED
};

/* Arguments of a send. */
struct tutti_message {
    const char *name; /* of the call */
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int dest, tag;
    MPI_Comm comm;
    enum tutti_send_mode mode;
};

extern struct tutti_endpoint *tutti_endpoint; /* NULL: the MPI carries all messages */
extern struct tutti_p2p_worker tutti_p2p;     /* state of the protocols, over tutti_p2p_comm */
extern int tutti_far_on;                      /* 1: messages to other nodes may be pipelined, see far.h */
extern int tutti_far_progresses;              /* 1: on all ranks open steps are polled in blocking calls of the MPI */
extern int tutti_endpoint_everywhere;         /* 1: on all ranks of the node; the same on all of them */

/* Collective over MPI_COMM_WORLD, once the node is known. The close is collective too. */
void tutti_endpoints_open(void);
void tutti_endpoints_close(int alive);
void tutti_endpoints_forget(void);
/* Local. The library's own communicator over MPI_COMM_WORLD: what the program's calls left in MPI_COMM_WORLD does not
 * concern it. MPI_COMM_WORLD itself where the rules stage all messages. */
MPI_Comm tutti_endpoints_own_world(void);

/* The elements of a buffer, whose layout is known; the plan (NULL: none) is not held. */
static inline struct tutti_elements tutti_message_elements(const void *buffer, MPI_Count count,
                                                           const struct tutti_layout *layout)
{
    return (struct tutti_elements){.plan = layout->plan,
                                   .count = count,
                                   .buffer = (void *)(uintptr_t)buffer,
                                   .whole = layout->in_order && (layout->solid || count == 1)};
}

/* The reason for which this process has no endpoint to this rank of the communicator (no_comm: to any), if
 * tutti_endpoint is NULL. */
enum tutti_reason tutti_endpoints_why(MPI_Comm comm, int rank);

/* Node rank of a rank of the communicator (of the other group of an intercommunicator), which may be this process; -1:
 * it is on another node, or there is no such rank. */
int tutti_endpoints_peer(MPI_Comm comm, int rank);
/* The same in MPI_COMM_WORLD, this process too. */
int tutti_endpoints_world(MPI_Comm comm, int rank);
/* Calls tutti_endpoint_poll(); for a buffer on a GPU this rank takes rendezvous from now on. */
void tutti_endpoints_poll(const void *buffer);
/* Collective over the team, quiet: its communicator gets a stream on `gpu`. Afterwards messages between its ranks
 * need no memory to be mapped. */
void tutti_endpoints_connect(struct tutti_team *team, int gpu);
/* Another communicator may get this handle from now on. */
void tutti_endpoints_comm_freed(void);

/* 1 if receives of all lengths look for RTSs: the program has met a GPU. */
static inline int tutti_endpoint_short(void)
{
    return tutti_endpoint && (tutti_endpoint_listens(tutti_endpoint) || tutti_device_active(tutti_door.device));
}
extern atomic_int tutti_endpoint_blinded; /* 1: open receives may ignore short RTSs */
/* A receive that ignores short RTSs may be open from now on, also when the program meets a GPU. 1: it has met one
 * meanwhile, so the receive must look. */
int tutti_endpoints_blind(void);
/* The same for a type that kernels do not reduce, such as the program's own. */
int tutti_endpoint_long_own(MPI_Count count, MPI_Datatype type);
/* 1 if so many elements may have TUTTI_MESSAGE_LOOKED bytes. */
static inline int tutti_endpoint_long(MPI_Count count, MPI_Datatype type)
{
    const struct tutti_type_row *row = tutti_type_find(type);
    if (unlikely(!row))
        return tutti_endpoint_long_own(count, type);
    if (count >= (MPI_Count)TUTTI_MESSAGE_LOOKED)
        return 1;
    return count >= (MPI_Count)(TUTTI_MESSAGE_LOOKED / 32) &&
           (uint64_t)count * tutti_type_size(row->type) >= TUTTI_MESSAGE_LOOKED;
}
/* 1 if a message of so many elements, received at `buffer`, may be an RTS. 0 also where the MPI refuses the buffer.
 * Cheap. */
static inline int tutti_endpoint_may(const void *buffer, MPI_Count count, MPI_Datatype type)
{
    if (likely(!tutti_endpoint && !tutti_far_on) || count <= 0 || tutti_inside ||
        tutti_lacks_buffer(buffer, count, type))
        return 0;
    if (tutti_endpoint_long(count, type) || tutti_endpoint_short())
        return 1;
    return unlikely(tutti_endpoint && !atomic_load_explicit(&tutti_endpoint_blinded, memory_order_relaxed)) &&
           tutti_endpoints_blind();
}
/* The same for a blocking call: without other threads the program meets no GPU meanwhile, unless a step does. Where it
 * has met none, no RTS arrives. */
static inline int tutti_endpoint_may_now(const void *buffer, MPI_Count count, MPI_Datatype type)
{
    if (tutti_door.multiple)
        return tutti_endpoint_may(buffer, count, type);
    if (likely(!tutti_endpoint && !tutti_far_on) || count <= 0 || tutti_inside ||
        tutti_lacks_buffer(buffer, count, type))
        return 0;
    if (tutti_endpoint && tutti_endpoint_listens(tutti_endpoint))
        return 1;
    return (unlikely(tutti_far_on) || tutti_progress_busy()) && tutti_endpoint_long(count, type);
}

#endif
