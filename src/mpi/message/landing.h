/* Receives whose buffers are shorter than an RTS. A message that is too long for its buffer is cut by the MPI, and of
 * an RTS nothing would be left that says whose message it was: nobody could let its sender go. So where errors return,
 * and RTSs may come, such a receive gets memory of its own; what has come is moved from there. */
#ifndef TUTTI_MPI_LANDING_H
#define TUTTI_MPI_LANDING_H

#include <stdatomic.h>

#include "mpi/message/rndv_recv.h"

struct tutti_landing {
    void *buffer; /* of the program */
    size_t capacity;
    int moved;
    MPI_Comm comm;
    unsigned char memory[TUTTI_FAR_RTS_BYTES];
};

extern atomic_int tutti_landing_on; /* 1: a communicator has an error handler that may return */

/* 1 where receives must look whether they need one. */
static inline int tutti_landing_may(void)
{
    return unlikely(atomic_load_explicit(&tutti_landing_on, memory_order_relaxed)) && tutti_lazily();
}
/* NULL: none is needed, or there is no memory. */
struct tutti_landing *tutti_landing_new(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm);
/* The receive is complete, its request may still be there. 0: what has come does not fit. 1: it is where it belongs,
 * and the buffer is the program's again: it is written once. */
int tutti_landing_move(struct tutti_landing *landing, const MPI_Status *status);
/* The receive is complete, with this code: an MPI code. Waits, for what lets the sender of an RTS go. */
int tutti_landing_end(struct tutti_landing *landing, const MPI_Status *status, int code);
/* Looks at the handler of MPI_COMM_WORLD. */
void tutti_landing_open(void);
/* Local: a communicator has this handler from now on. */
void tutti_landing_look(MPI_Errhandler handler);

#endif
