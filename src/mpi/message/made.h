/* Persistent receives that were made before any RTS can arrive. No probe takes messages out until then, so they need no
 * stamp (unexpected_own.h). Each lies in a slot that its handle gives, without an allocation. All functions are local.
 * Nothing here is locked: with MPI_THREAD_MULTIPLE no receive is recorded here. */
#ifndef TUTTI_MPI_MADE_H
#define TUTTI_MPI_MADE_H

#include "mpi/real/door.h"

struct tutti_made_receive {
    int used;
    MPI_Request request;
    void *buffer;
    MPI_Count count;
    MPI_Datatype type; /* held: the program may free it before a start */
    int source, tag;
    MPI_Comm comm;
};

extern int tutti_made_open; /* slots that are in use */

/* 0: its slots are in use. */
int tutti_made_put(const struct tutti_made_receive *made);
/* The program frees this request. */
void tutti_made_freed(MPI_Request request);
/* The communicator goes: a start of its receives takes no message of another one with that handle. */
void tutti_made_leave(MPI_Comm comm);
/* Empties the slots; each receive, with its hold of the type, goes to `take`. NULL: they are dropped. */
void tutti_made_end(void (*take)(const struct tutti_made_receive *made));

#endif
