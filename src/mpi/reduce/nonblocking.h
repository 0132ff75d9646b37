/* Nonblocking reductions that are not simply the MPI's. A worker thread of the communicator runs them over the
 * nonblocking team of its team. Where some rank brings host memory, or kernels cannot reduce the type, the MPI does,
 * through host memory.
 *
 * The program's request is a receive from this process on a communicator of Tutti's own, which a message completes: so
 * it is a real request, that any completion call of the MPI takes, among others and in any order. The MPI is called on
 * the program's threads alone: from starting calls, and wherever they wait or complete, by the progress engine. */
#ifndef TUTTI_MPI_NONBLOCKING_H
#define TUTTI_MPI_NONBLOCKING_H

#include "coll/job.h"
#include "mpi/comm/comms.h"
#include "mpi/reduce/reduction.h"
#include "progress/engine.h"

enum tutti_open_phase {
    TUTTI_OPEN_IDLE,    /* persistent: not started */
    TUTTI_OPEN_NEW,     /* not read yet */
    TUTTI_OPEN_WORKING, /* a job of the communicator's worker */
    TUTTI_OPEN_PASSED,  /* to be given to the MPI when its turn comes */
    TUTTI_OPEN_REAL,    /* the MPI is at it */
    TUTTI_OPEN_DONE     /* with `code`; the message that completes the request is on its way */
};

struct tutti_open {
    struct tutti_open *next, *previous; /* in its list */
    enum tutti_open_phase phase;
    struct tutti_reduction_args args;
    void *counts;              /* args.recvcounts, where there are some: a program may use its own for something else */
    struct tutti_later *later; /* not NULL: another call than a reduction */
    struct tutti_comm *state;  /* NULL: the communicator is not known to Tutti, or has been freed since */
    struct tutti_read read;
    struct tutti_reduce_job job;
    struct tutti_staging staging;
    MPI_Request request; /* the program's */
    MPI_Request real;    /* the MPI's own */
    int tag;
    int code;       /* DONE: for the program */
    int status;     /* why, where the failure is Tutti's */
    int freed;      /* the program has given the request up */
    int lists;      /* counts narrowed by large.c may belong to `real` */
    int persistent; /* args.comm is this request's own */
    MPI_Comm comm;  /* that the program named, or what stands in for it: its error handler is called */
};

/* Of a `later` call that the communicator's worker may make; called by the list of open calls, one at a time. */
struct tutti_open_work {
    /* The communicator's team is known: gives the call to the worker. Returns the call's next phase; a failure is in
     * *status. */
    enum tutti_open_phase (*read)(struct tutti_open *open, int *status);
    /* 1 where the worker is through with it. */
    int (*done)(const struct tutti_open *open);
    /* Then: DONE with *code, or PASSED. */
    enum tutti_open_phase (*ended)(struct tutti_open *open, int *code);
};

/* Calls that are open and not DONE. */
extern struct tutti_step tutti_nonblocking_step;
static inline int tutti_nonblocking_busy(void)
{
    return tutti_step_busy(&tutti_nonblocking_step);
}

/* Before a communicator is freed: waits until it is known who makes each of its calls. */
void tutti_nonblocking_leave(struct tutti_comm *state);
/* Before MPI_Comm_free: waits until its calls have ended. */
void tutti_nonblocking_before_free(MPI_Comm comm);
/* In MPI_Finalize: waits, bounded, until nothing is open; then frees what this file holds. */
void tutti_nonblocking_end(void);

/* An entry whose request has completed: raises the error of the call on its communicator. Returns the code. */
int tutti_open_deliver(const struct tutti_open *open);
/* A persistent entry has completed: it is idle. */
void tutti_open_settle(struct tutti_open *open);
/* The program is through with an entry whose request is gone, and nothing is under way: frees it. */
void tutti_open_close(struct tutti_open *open);
/* MPI_Request_free of an entry, in any phase. */
int tutti_open_free(struct tutti_open *open, MPI_Request *request);

/* For persistent requests: a new entry with a request (a persistent receive where `persistent`), under watch; NULL
 * without memory. start: once it is idle. */
struct tutti_open *tutti_open_new(const struct tutti_reduction_args *args, int persistent);
void tutti_open_start(struct tutti_open *open);
/* nonblocking_step.c: an entry that is NEW is read, and given to the worker where it is a team's; it stays NEW while
 * the team is being made. step: as far as it goes without waiting; one that is PASSED is given to the MPI. Under the
 * lock of nonblocking_progress.c. */
void tutti_open_read(struct tutti_open *open);
void tutti_open_step(struct tutti_open *open);

/* open_request.c: puts the request of an entry under watch. A status. */
int tutti_open_put(MPI_Request request, struct tutti_open *open, int persistent);

/* The _init calls: collective. */
int tutti_persistent(const struct tutti_reduction_args *args, MPI_Request *request);

#endif
