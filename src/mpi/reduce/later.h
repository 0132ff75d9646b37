/* Nonblocking collectives that must not overtake a nonblocking reduction of their communicator: while it is not known
 * who makes that, they are written down, get a request of Tutti's own, and are started when their turn comes. */
#ifndef TUTTI_MPI_LATER_H
#define TUTTI_MPI_LATER_H

#include "mpi/move/collective.h"

struct tutti_open;
struct tutti_open_work;
struct tutti_mover_job;
struct tutti_exchange;
enum { TUTTI_LATER_LISTS = 6 };

/* A call that moves data is described by `args`. Of the others `args` names none, and the last arguments are theirs. */
struct tutti_later {
    int (*start)(struct tutti_later *later); /* makes the call; an MPI code */
    /* The MPI's own call has ended with this code. A status. NULL: nothing is to be done. */
    int (*finish)(struct tutti_later *later, int code);
    void (*end)(struct tutti_later *later); /* gives it back */
    const char *name;
    MPI_Request *request;
    struct tutti_collective_args args;
    MPI_Comm comm, *newcomm;
    MPI_Info info;
    /* What it holds: types are held, lists and the info are copies. */
    int holds, own_info, sendtypes_held, recvtypes_held, lists;
    void *list[TUTTI_LATER_LISTS];
    /* Of a call that the communicator's worker may make (moves.c); work NULL: it is the MPI's. */
    const struct tutti_open_work *work;
    struct tutti_mover_job *job;     /* NULL: not described yet */
    enum tutti_reason reason;        /* why the MPI has it */
    struct tutti_exchange *exchange; /* what is staged, while the MPI is at it */
};

/* A call that holds nothing yet; NULL without memory. free: with all that it holds. */
struct tutti_later *tutti_later_new(const char *name, int (*start)(struct tutti_later *later));
void tutti_later_free(struct tutti_later *later);
/* A request of Tutti's over it, to be started; NULL without memory. */
struct tutti_open *tutti_later_open(struct tutti_later *later, MPI_Comm comm, int persistent);
/* Not 0 while this thread gives the MPI a call whose turn has come: one form of it may be made of another (large.c). */
extern __thread int tutti_later_starting;

/* later_held.c: the program may free types and info, and write into the lists, as soon as the call has returned. 0: no
 * memory; let go of it then too. */
int tutti_later_hold(struct tutti_later *later);
void tutti_later_let_go(struct tutti_later *later);

/* A persistent request over `later`, whose start() is called at each MPI_Start and whose end() with the request's.
 * `own` is a communicator of this request alone, which goes with it; errors are raised on `comm`. Local. 0: no memory,
 * and nothing was taken. */
int tutti_later_persistent(struct tutti_later *later, MPI_Comm own, MPI_Comm comm, MPI_Request *request);
/* Replaces the MPI's calls by those that look whose turn it is. */
void tutti_calls_later(void);

#endif
