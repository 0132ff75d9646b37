/* Nonblocking reductions that the MPI does not make at once. A worker of the communicator runs them over the
 * nonblocking team of its team. If a rank has host memory, or kernels cannot reduce the type, the MPI makes the call,
 * staged.
 *
 * The program's request is a receive from this process on a communicator of Tutti's own, completed by a message. So
 * it is a real request, which any completion call of the MPI takes, among others and in any order. Only threads of
 * the program call the MPI: in starting calls, and through the progress engine wherever they wait or complete. */
#ifndef TUTTI_MPI_NONBLOCKING_H
#define TUTTI_MPI_NONBLOCKING_H

#include <stdatomic.h>

#include "coll/job.h"
#include "mpi/comm/comms.h"
#include "mpi/nodes/over_nodes.h"
#include "mpi/reduce/reduction.h"
#include "progress/engine.h"

enum tutti_open_call_phase {
    TUTTI_OPEN_IDLE,    /* persistent: not started */
    TUTTI_OPEN_NEW,     /* not read yet */
    TUTTI_OPEN_WORKING, /* a job of the communicator's worker */
    TUTTI_OPEN_NODES,   /* a call over several nodes, which advances while it is the first of its communicator */
    TUTTI_OPEN_PASSED,  /* goes to the MPI when its turn comes */
    TUTTI_OPEN_REAL,    /* the MPI's call is under way */
    TUTTI_OPEN_DONE     /* ended with `code`; the message that completes the request is on its way */
};

struct tutti_collective_args;
struct tutti_open_call {
    struct tutti_open_call *next, *previous; /* in its list */
    enum tutti_open_call_phase phase;
    struct tutti_reduction_args args;
    void *counts;                      /* copy of args.recvcounts, or NULL: the program may change its own array */
    struct tutti_deferred_call *later; /* not NULL: not a reduction */
    struct tutti_comm *state;          /* NULL: Tutti does not know the communicator, or it was freed */
    struct tutti_read read;
    struct tutti_reduce_job job;
    struct tutti_over_nodes_call over_nodes;
    struct tutti_staging staging;
    MPI_Request request; /* the program's */
    MPI_Request real;    /* the MPI's own */
    int tag;
    int code;       /* DONE: for the program */
    int status;     /* the status of a failure in Tutti */
    int owed;       /* tutti_coll_owed(), of a call that the MPI makes */
    int gives_up;   /* 1: the worker could not be given it: this rank leaves the nonblocking team when its turn comes */
    int alone;      /* the calls behind it on the communicator start when it has ended */
    int freed;      /* the program has freed the request */
    int lists;      /* counts narrowed by large.c may belong to `real` */
    int persistent; /* args.comm is this request's own */
    /* 1: the worker has made this call, with these arguments: the next start need not describe it again, and the worker
     * finds out what its memory is by then. */
    int repeats;
    uint64_t number; /* of its communicator; 0: Tutti does not know it */
    /* 1: the MPI's request is active, and a message completes it. 0: a completion call has claimed the request, or it
     * is persistent and the MPI knows nothing of its start. */
    int by_mpi;
    atomic_int over;    /* by_mpi 0: 1: the call is DONE, and nothing of it is used any more */
    atomic_int working; /* 1: the phase is WORKING */
    MPI_Comm comm;      /* named by the program, or its substitute: its error handler is called */
};

/* Functions of a `later` call that the communicator's worker may make. The list of open calls calls them, one at a
 * time. */
struct tutti_open_call_work {
    /* The communicator's team is known: gives the call to the worker, unless it goes over nodes. Returns the call's
     * next phase, and a failure in *status. */
    enum tutti_open_call_phase (*read)(struct tutti_open_call *open, int *status);
    /* Of a call over several nodes, the first of its communicator: NODES while it is under way; DONE with *code, or
     * PASSED. */
    enum tutti_open_call_phase (*over_nodes)(struct tutti_open_call *open, int *code);
    /* 1 once the worker has ended the call. */
    int (*done)(const struct tutti_open_call *open);
    /* Afterwards: DONE with *code, or PASSED. */
    enum tutti_open_call_phase (*ended)(struct tutti_open_call *open, int *code);
};

/* Calls that are open and not DONE. */
extern struct tutti_step tutti_nonblocking_step;
static inline int tutti_nonblocking_busy(void)
{
    return tutti_step_busy(&tutti_nonblocking_step);
}

/* Before a communicator is freed: waits until it is known for each call whether Tutti or the MPI makes it. */
void tutti_nonblocking_leave(struct tutti_comm *state);
/* Before MPI_Comm_free: waits until its calls have ended. */
void tutti_nonblocking_before_free(MPI_Comm comm);
/* In MPI_Finalize: waits, bounded, until no call is open; then frees the state of this file. */
void tutti_nonblocking_end(void);

/* A persistent entry has completed: it is idle. */
void tutti_open_call_settle(struct tutti_open_call *open);
/* Frees an entry whose request is gone and whose call has ended. */
void tutti_open_call_close(struct tutti_open_call *open);
/* See struct tutti_request_kind. claim: 1: the call that waits for the entry completes it; 0: the MPI does. */
int tutti_open_call_claim(struct tutti_open_call *open);
void tutti_open_call_unclaim(struct tutti_open_call *open);
/* MPI_Request_free of an entry, in any phase. */
int tutti_open_call_free(struct tutti_open_call *open, MPI_Request *request);

/* again.c. A call that repeats stays with its communicator when its request has ended, until the next call with the
 * same arguments takes it. again: returns it, with a new request, to be started; NULL: it is a new call. Of the
 * arguments one is NULL; state may be. keep: 1: the entry is its communicator's; 0: it is to be freed. forget: the
 * communicator goes. */
struct tutti_open_call *tutti_open_call_again(struct tutti_comm *state, const struct tutti_reduction_args *args,
                                              const struct tutti_collective_args *move);
int tutti_open_call_keep(struct tutti_open_call *open);
void tutti_open_calls_forget(struct tutti_comm *state);

/* For persistent requests: a new entry with a request (a persistent receive if `persistent`), under watch; NULL
 * without memory. start: for an idle entry. */
struct tutti_open_call *tutti_open_call_new(const struct tutti_reduction_args *args, int persistent);
void tutti_open_call_start(struct tutti_open_call *open);
/* nonblocking_step.c. read: reads an entry that is NEW, and gives it to the worker if the team makes it; it stays
 * NEW while the team is being made. step: advances an entry without waiting; a PASSED entry goes to the MPI. Under
 * the lock of nonblocking_progress.c. */
void tutti_open_call_read(struct tutti_open_call *open);
void tutti_open_call_step(struct tutti_open_call *open);
/* Under that lock: the worker cannot be given the call, for a lack of memory. The MPI makes it and all later ones of
 * the communicator, as on all ranks: peers find that this rank has left at the call's turn. Returns its phase. */
enum tutti_open_call_phase tutti_open_call_give_up(struct tutti_open_call *open);
/* Without the lock. 1 while the worker has not ended the call. */
int tutti_open_call_works(const struct tutti_open_call *open);

/* open_request.c; under that lock. done: the entry is DONE and in no list. destroy: no message with its tag will arrive
 * either. */
void tutti_open_call_done(struct tutti_open_call *open);
/* Frees an entry that has no request. request: gives it one; 0: no memory. */
void tutti_open_call_give(struct tutti_open_call *open);
int tutti_open_call_request(struct tutti_open_call *open);
void tutti_open_call_destroy(struct tutti_open_call *open);

/* The _init calls: collective. */
int tutti_persistent(const struct tutti_reduction_args *args, MPI_Request *request);

#endif
