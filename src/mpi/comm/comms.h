/* Communicators: the record of each, its team, and the transport over it. */
#ifndef TUTTI_MPI_COMMS_H
#define TUTTI_MPI_COMMS_H

#include <stdatomic.h>

#include "coll/coll.h"
#include "core/kept.h"
#include "mpi/real/door.h"
#include "mpi/real/handles.h"

/* transport.c: the transport over an MPI communicator, which must stay alive as long. */
struct tutti_mpi_transport {
    struct tutti_transport base;
    MPI_Comm comm;
};
void tutti_transport_over(struct tutti_mpi_transport *transport, MPI_Comm comm);

/* stranded.c: tutti_team_on_release() of a communicator's team, `with` its struct tutti_comm. */
void tutti_comm_release(void *with, struct tutti_team *team, const struct tutti_arrival *call, uint64_t in_mpi);

/* comms.c: state of communicators. */
struct tutti_mpix_stream;
struct tutti_stream_proxy;
struct tutti_open_call; /* of reduce/ */
struct tutti_open_queue {
    struct tutti_open_call *first, *last; /* in order of start */
    struct tutti_open_call *unread;       /* the first that has not been read; all behind it have not either */
    int gives_up; /* 1: a call could not be given to the worker: none is any more (tutti_open_call_give_up()) */
    struct tutti_comm *before, *behind;
};
struct tutti_lanes;
struct tutti_bounced_receive;
struct tutti_over_nodes;

struct tutti_comm {
    MPI_Comm handle;
    uint64_t number;         /* of no other communicator in this process, before or after; not 0 */
    const char *passed;      /* not NULL: reductions are passed on, for this reason */
    int alone;               /* 1: passed for a reason of this rank alone */
    int failed;              /* not TUTTI_OK: why reductions fail: a peer died before there was a team */
    struct tutti_team *team; /* where neither */
    _Atomic(struct tutti_comm_opening *)
        opening; /* not NULL: its team is being made; nonblocking calls do not wait for it */
    /* Of one over several nodes; see tutti_comm_hierarchy_begin(). */
    int hierarchy_begun;
    struct tutti_hierarchy_opening *hierarchy_opening; /* not NULL: it is being made */
    struct tutti_hierarchy *hierarchy;
    /* Of its reductions and moves, nodes/over_nodes.h; NULL: it is not of several nodes. */
    struct tutti_over_nodes *over_nodes;
    struct tutti_worker *worker;      /* of nonblocking calls; NULL before the first */
    atomic_int queued;                /* nonblocking calls that are not yet given to the team or to the MPI */
    struct tutti_open_queue calls;    /* these, see nonblocking_progress.c */
    struct tutti_kept kept;           /* see reduce/again.c */
    struct tutti_mpix_stream *stream; /* NULL: none; its team is open then, where it has more than one rank of a node */
    struct tutti_stream_proxy *proxy; /* with a stream, over several nodes; NULL otherwise */
    struct tutti_lanes *lanes;        /* of messages in its stream; NULL: there can be none, for this reason: */
    const char *no_lanes;
    int lanes_settled;                     /* 1: on no rank a kernel uses them any more */
    struct tutti_bounced_receive *bounced; /* enqueue/bounced_receives.h; the lanes hold them */
    struct tutti_mpi_transport transport;
    struct tutti_comm *next;
};
struct tutti_comm_slot {
    _Atomic uint64_t key; /* TUTTI_SLOT_FREE, _GONE or tutti_comm_key() */
    _Atomic(struct tutti_comm *) comm;
};
enum { TUTTI_SLOT_FREE, TUTTI_SLOT_GONE };
struct tutti_comm_table {
    size_t slots, used;             /* a power of two; used: not free */
    struct tutti_comm_table *older; /* readers may still be in it */
    struct tutti_comm_slot slot[];
};
extern _Atomic(struct tutti_comm_table *) tutti_comm_table;

static inline uint64_t tutti_comm_key(MPI_Comm comm)
{
    return (uint64_t)(uintptr_t)comm + 2;
}
/* State of an intracommunicator or intercommunicator; NULL before the first tutti_comm_make(). Lock-free. */
static inline struct tutti_comm *tutti_comm_find(MPI_Comm comm)
{
    struct tutti_comm_table *table = atomic_load_explicit(&tutti_comm_table, memory_order_acquire);
    uint64_t key = tutti_comm_key(comm);
    if (unlikely(!table))
        return NULL;
    for (size_t i = tutti_hash(key, table->slots);; i = (i + 1) & (table->slots - 1)) {
        uint64_t there = atomic_load_explicit(&table->slot[i].key, memory_order_acquire);
        if (likely(there == key))
            return atomic_load_explicit(&table->slot[i].comm, memory_order_acquire);
        if (there == TUTTI_SLOT_FREE)
            return NULL;
    }
}
/* Collective over the communicator at its first reduction; NULL if the handle is not valid (nothing was done). */
struct tutti_comm *tutti_comm_make(MPI_Comm handle);
/* comm_team.c: gives a new one its team, or the reason for having no team. Without `wait` it may return before the
 * ranks' records have arrived. */
void tutti_comm_team(struct tutti_comm *comm, int wait);
/* As tutti_comm_make(), without waiting: where it is collective, `opening` is set on return. */
struct tutti_comm *tutti_comm_begin(MPI_Comm handle);
/* Local: completes a team whose records have arrived; with `wait`, waits for them. 1 if `opening` is NULL on return.
 * Safe from several threads. */
int tutti_comm_ready(struct tutti_comm *comm, int wait);
/* Local: the team of a communicator whose records have not all arrived. NULL: no such team, or it is complete now. */
struct tutti_team *tutti_comm_early(struct tutti_comm *comm);
/* Local: no thread completes the team in between. If its ranks share no memory, the completion frees the nonblocking
 * team.
 */
void tutti_comm_hold(struct tutti_comm *comm);
void tutti_comm_unlend(struct tutti_comm *comm);
/* Local. Announces a blocking call of host memory on the team that tutti_comm_early() gave. */
void tutti_comm_announce(struct tutti_comm *comm, struct tutti_team *team, enum tutti_collective collective, int type,
                         int op, uint64_t count, uint64_t detail);
/* hierarchy.c. Collective over a communicator of TUTTI_OF_NODES or TUTTI_OURS, at a point that all its ranks agree on:
 * inside a collective call of the program on it. Never waits. The first call begins it, others do nothing. */
void tutti_comm_hierarchy_begin(struct tutti_comm *comm);
/* Local; by one thread at a time. NULL: not begun, not made yet, or, on all ranks, not possible: then
 * comm->hierarchy_opening is NULL. Never waits. */
struct tutti_hierarchy *tutti_comm_hierarchy(struct tutti_comm *comm);
/* The communicator goes. */
void tutti_comm_hierarchy_end(struct tutti_comm *comm);
/* Contexts for the transports of hierarchies, over a communicator of the world's ranks; NULL: not made. Set when that
 * communicator is made, freed by tutti_comms_close(). */
extern struct tutti_contexts *tutti_comm_contexts;
struct tutti_comm_opening {
    struct tutti_team *team;
    struct tutti_pending pending;
    char mine[TUTTI_EXCHANGE_BYTES];
    char exchanges[]; /* TUTTI_EXCHANGE_BYTES of each rank */
};
/* Local. Ranks in MPI_COMM_WORLD of those that messages on `comm` go to (of an intercommunicator, the other group), or
 * MPI_UNDEFINED; the caller frees them. NULL without memory or for a handle that is not valid. */
int *tutti_world_ranks(MPI_Comm comm, int *n);
/* Whose ranks a communicator has, as each of them knows without the others. Those of another MPI_COMM_WORLD may not
 * even have Tutti in front. The node must be known. */
enum tutti_whose { TUTTI_OURS, TUTTI_OF_NODES, TUTTI_OF_OTHERS };
enum tutti_whose tutti_whose(MPI_Comm comm);
/* The same, and tutti_world_ranks(). */
enum tutti_whose tutti_whose_ranks(MPI_Comm comm, int **ranks, int *n);
/* Users of a communicator, which are called before it is freed. */
struct tutti_comm_users {
    void (*leave)(
        struct tutti_comm *comm); /* waits until each of its nonblocking calls was given to the team or to the MPI */
    int (*close_stream)(struct tutti_comm *comm, int closing); /* see tutti_comm_stream_close() */
    void (*connect)(struct tutti_team *team, int gpu);         /* see tutti_endpoints_connect() */
    struct tutti_over_nodes *(*over_nodes)(int ranks);         /* of a communicator over several nodes */
    void (*over_nodes_free)(struct tutti_over_nodes *over);    /* takes NULL */
    /* Collective over a communicator over several nodes: sets comm->proxy. NULL, or why there is no proxy, which is the
     * same on all ranks. */
    const char *(*stream_proxy)(struct tutti_comm *comm, const struct tutti_mpix_stream *stream);
};
/* Local: what reductions over several nodes keep; NULL without memory. */
struct tutti_over_nodes *tutti_comms_over_nodes(int ranks);
/* See stream_proxy above. */
const char *tutti_comms_stream_proxy(struct tutti_comm *comm, const struct tutti_mpix_stream *stream);
/* Collective: the communicator of the team gets a stream on `gpu`, and no kernel waits in it yet. */
void tutti_comms_connect(struct tutti_team *team, int gpu);
int tutti_comms_open(const struct tutti_comm_users *users);
void tutti_comms_close(void);
int tutti_comms_broken(void);      /* 1 if a team has failed */
int tutti_comms_have_stream(void); /* 1 if a communicator has a stream */
/* Local, in MPI_Finalize, when all ranks are there: ends the making of teams that are still made. Bounded. */
void tutti_comms_settle(void);
void tutti_comms_forget(void);

#endif
