/* Receives that no completion call has to look at, as long as this rank takes no rendezvous: no peer sends an RTS then.
 * The first memory of a GPU that the program passes may meet receives that are still open, and RTSs match those too. So
 * each is noted in a slot of its own, by its handle, and is put under watch before this rank takes rendezvous. A
 * completion call drops the notes of what it has completed. A persistent receive stays noted. Nothing here is locked:
 * with MPI_THREAD_MULTIPLE no receive is noted. All functions are local. */
#ifndef TUTTI_MPI_REQUEST_UNWATCHED_H
#define TUTTI_MPI_REQUEST_UNWATCHED_H

#include "mpi/real/door.h"

/* The arguments of a receive that the MPI has begun. */
struct tutti_unwatched {
    MPI_Request request; /* no_request: the slot is free */
    const char *call;
    void *buffer; /* in host memory */
    MPI_Count count;
    MPI_Datatype type;
    MPI_Comm comm;
    int persistent, active; /* active: a persistent one that was started, and that no call has completed since */
};

extern int tutti_unwatched_on;         /* 1: receives may be noted */
extern int tutti_unwatched_open;       /* slots that are in use */
extern int tutti_unwatched_persistent; /* those of persistent receives */

/* Before the first receive. watch: puts one under watch. */
void tutti_unwatched_begin(int on, void (*watch)(const struct tutti_unwatched *receive));
/* Notes it, or puts it under watch if its slot is in use. */
void tutti_unwatched_put(const struct tutti_unwatched *receive);
/* Puts all of them under watch; or the one of this request, those of this communicator, those of this type. */
void tutti_unwatched_watch(void);
void tutti_unwatched_watch_request(MPI_Request request);
void tutti_unwatched_watch_comm(MPI_Comm comm);
void tutti_unwatched_watch_type(MPI_Datatype type);
/* The same, and none is noted from now on: RTSs may arrive, or several threads may receive. */
void tutti_unwatched_end(void);
/* Nothing is open any more. */
void tutti_unwatched_close(void);

/* The program has started them. */
void tutti_unwatched_started(int n, const MPI_Request requests[]);

/* The MPI's calls, while no request is under watch, with so many requests at most. */
enum { TUTTI_UNWATCHED_MOST = 1024 };
int tutti_unwatched_wait(MPI_Request *request, MPI_Status *status);
int tutti_unwatched_test(MPI_Request *request, int *flag, MPI_Status *status);
int tutti_unwatched_waitall(int count, MPI_Request requests[], MPI_Status *statuses);
int tutti_unwatched_testall(int count, MPI_Request requests[], int *flag, MPI_Status *statuses);
int tutti_unwatched_waitany(int count, MPI_Request requests[], int *which, MPI_Status *status);
int tutti_unwatched_testany(int count, MPI_Request requests[], int *which, int *flag, MPI_Status *status);
int tutti_unwatched_waitsome(int count, MPI_Request requests[], int *out, int which[], MPI_Status *statuses);
int tutti_unwatched_testsome(int count, MPI_Request requests[], int *out, int which[], MPI_Status *statuses);

#endif
