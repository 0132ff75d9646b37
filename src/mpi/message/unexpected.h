/* Messages that probes have taken out of the MPI. An RTS is shorter than its message, and only its text has the
 * length. So a probe that finds a possible RTS takes it out by a matched probe, with all earlier messages of its
 * sender, reads it, and sends it again from this process to itself. Such messages wait in a list, in order; receives
 * and probes look there first. All of this lies below the calls that go to the MPI (tutti_next): above it, probes
 * find the same messages as receives. */
#ifndef TUTTI_MPI_UNEXPECTED_H
#define TUTTI_MPI_UNEXPECTED_H

#include <stdatomic.h>

#include "mpi/message/short_recv.h"

extern atomic_int tutti_unexpected_count; /* messages in the list, or given to the program by matched probes */
extern atomic_int
    tutti_unexpected_guards; /* 1: threads probe and receive at the same time: receives check, see below */

static inline int tutti_unexpected_on(void)
{
    return unlikely(atomic_load_explicit(&tutti_unexpected_count, memory_order_acquire) != 0 ||
                    atomic_load_explicit(&tutti_unexpected_guards, memory_order_relaxed) != 0);
}
/* 1 if a receive must be made by its nonblocking form, which looks in the list. */
static inline int tutti_receives_look(void)
{
    return tutti_unexpected_on() || tutti_short_recv_may();
}
/* 1 if probes must look here: RTSs may arrive. */
int tutti_unexpected_may(void);

/* The result of MPI_Iprobe or, with message not NULL, MPI_Improbe. Never waits. Not for MPI_PROC_NULL. */
int tutti_unexpected_probe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status);

/* RTSs may arrive from now on, or several threads receive: persistent receives that were recorded are stamped. */
void tutti_persistent_stamp(void);
/* stamped_persistent.c: 1 if another receive replaces this persistent one until it is complete. */
int tutti_persistent_is_replaced(MPI_Request request);

/* Called before a communicator is freed. */
void tutti_unexpected_forget(MPI_Comm comm);
/* The same for requests: a persistent receive gets no message of another communicator with that handle, and errors
 * are raised elsewhere, by the same error handler. */
void tutti_stamped_leave(MPI_Comm comm);
void tutti_unexpected_close(void);
void tutti_stamped_close(void);

/* Puts the forms of receives and completion calls that know unexpected messages in front of the MPI's. */
void tutti_calls_unexpected(void);

#endif
