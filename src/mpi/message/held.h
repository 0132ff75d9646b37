/* Messages that probes have taken out of the MPI. An RTS is shorter than the message that it stands for, and only its
 * text says how long that is. So a probe that finds what may be an RTS takes it out by a matched probe, with all that
 * its sender has sent before it, reads it, and gives it back to the MPI as a message from this process to itself. Such
 * messages wait in a list, in order; receives and probes look there first. All of this stands below the calls that go
 * to the MPI (tutti_next): what calls those sees an MPI whose probes find the same messages as its receives. */
#ifndef TUTTI_MPI_HELD_H
#define TUTTI_MPI_HELD_H

#include <stdatomic.h>

#include "mpi/message/landing.h"

extern atomic_int tutti_held_count;  /* messages in the list, or given to the program by matched probes */
extern atomic_int tutti_held_guards; /* 1: threads probe and receive at the same time: receives ask, see below */

static inline int tutti_held_on(void)
{
    return unlikely(atomic_load_explicit(&tutti_held_count, memory_order_acquire) != 0 ||
                    atomic_load_explicit(&tutti_held_guards, memory_order_relaxed) != 0);
}
/* 1 where a receive is to be made by its nonblocking form, which looks here. */
static inline int tutti_receives_look(void)
{
    return tutti_held_on() || tutti_landing_may();
}
/* 1 where probes must look here: RTSs may come. */
int tutti_held_may(void);

/* What MPI_Iprobe or, with message not NULL, MPI_Improbe returns. Never waits. Not for MPI_PROC_NULL. */
int tutti_held_probe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status);

/* The communicator is being freed. */
void tutti_held_forget(MPI_Comm comm);
/* The same of requests: a persistent receive gets none of the messages of another one with that handle, and errors are
 * raised elsewhere, by the same error handler. */
void tutti_marks_leave(MPI_Comm comm);
void tutti_held_close(void);
void tutti_marks_close(void);

/* Puts the forms of receives and of completion calls that know of held messages in front of the MPI's. */
void tutti_calls_held(void);

#endif
