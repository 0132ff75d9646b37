/* Calls that Tutti gives to the MPI in their turn on a communicator. */
#ifndef TUTTI_MPI_STARTING_H
#define TUTTI_MPI_STARTING_H

/* Not 0 while this thread gives a deferred call to the MPI: one form of a call may be made of another (large.c). */
extern __thread int tutti_deferred_call_starting;

#endif
