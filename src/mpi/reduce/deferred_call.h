/* Deferred calls: nonblocking collectives that must not overtake a nonblocking reduction of their communicator.
 * While it is not known whether Tutti or the MPI makes that reduction, they are recorded, get a request of Tutti's
 * own, and start in their turn. */
#ifndef TUTTI_MPI_DEFERRED_CALL_H
#define TUTTI_MPI_DEFERRED_CALL_H

#include "mpi/comm/starting.h"
#include "mpi/move/collective.h"

struct tutti_open_call;
struct tutti_open_call_work;
struct tutti_mover_job;
struct tutti_nodes_job;
struct tutti_exchange;
enum { TUTTI_DEFERRED_CALL_LISTS = 6 };

/* A deferred call. A call that moves data is described by `args`; for other calls args.collective is
 * TUTTI_COLLECTIVE_NONE, and the last fields hold their arguments. */
struct tutti_deferred_call {
    struct tutti_deferred_call *next;                /* among those that are not in use */
    int (*start)(struct tutti_deferred_call *later); /* makes the call; an MPI code */
    /* Called with the code of the MPI's own call when it has ended. A status. NULL: there is nothing to do. */
    int (*finish)(struct tutti_deferred_call *later, int code);
    void (*end)(struct tutti_deferred_call *later); /* frees the call */
    const char *name;
    MPI_Request *request;
    struct tutti_collective_args args;
    MPI_Comm comm, *newcomm;
    MPI_Info info;
    /* Objects that the call holds: types are held, lists and the info are copied. */
    int holds, own_info, sendtypes_held, recvtypes_held, lists;
    void *list[TUTTI_DEFERRED_CALL_LISTS];
    size_t list_bytes[TUTTI_DEFERRED_CALL_LISTS];
    /* For a call that the communicator's worker may make (moves.c); work NULL: the MPI makes it. */
    const struct tutti_open_call_work *work;
    struct tutti_mover_job *job;     /* NULL: not described yet */
    int made, code;                  /* made: 1: the call is done, or has failed with `code` */
    int counted;                     /* 1: all ranks count it: it may go over several nodes */
    struct tutti_nodes_job *nodes;   /* NULL: its turn comes later */
    enum tutti_reason reason;        /* why the MPI makes it */
    struct tutti_exchange *exchange; /* the staged buffers, while the MPI's call is under way */
};

/* new: a call that holds nothing yet; NULL without memory. free: with everything that it holds. */
struct tutti_deferred_call *tutti_deferred_call_new(const char *name, int (*start)(struct tutti_deferred_call *later));
void tutti_deferred_call_free(struct tutti_deferred_call *later);
/* A request of Tutti's over it, to be started; NULL without memory. */
struct tutti_open_call *tutti_deferred_call_open(struct tutti_deferred_call *later, MPI_Comm comm, int persistent);

/* deferred_call_held.c: copies and holds, since the program may free types and info, and change the lists, once the
 * call has returned. 0: no memory; let_go is needed all the same. */
int tutti_deferred_call_hold(struct tutti_deferred_call *later);
void tutti_deferred_call_release(struct tutti_deferred_call *later);
/* 1 if the lists of these arguments hold what those of the call do. */
int tutti_deferred_call_has_lists(const struct tutti_deferred_call *later, const struct tutti_collective_args *args);
/* 1 if the program can free none of its types. */
int tutti_deferred_call_is_predefined(const struct tutti_deferred_call *later);

/* Makes a persistent request over `later`: its start() is called at each MPI_Start, its end() with the request's
 * end. `own` is a communicator of this request alone, freed with it; errors are raised on `comm`. Local. 0: no
 * memory, and nothing was taken over. */
int tutti_deferred_call_persistent(struct tutti_deferred_call *later, MPI_Comm own, MPI_Comm comm,
                                   MPI_Request *request);
/* Replaces the MPI's calls by those that may be deferred. */
void tutti_calls_deferred(void);

#endif
