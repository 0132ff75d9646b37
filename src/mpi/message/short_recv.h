/* Receives whose buffers are shorter than an RTS. The MPI cuts a message that is too long for its buffer, and an RTS
 * would lose the number of its rendezvous: its sender could never be released. So if errors return and RTSs may
 * arrive, such a receive gets memory of its own (a short_recv), from which the message is moved. */
#ifndef TUTTI_MPI_SHORT_RECV_H
#define TUTTI_MPI_SHORT_RECV_H

#include <stdatomic.h>

#include "mpi/message/rndv_recv.h"

struct tutti_short_recv {
    void *buffer; /* of the program */
    size_t capacity;
    int moved;
    MPI_Comm comm;
    struct tutti_recv_request
        *dropping;         /* the RTS of a message that is too long, whose sender is released; NULL: none */
    unsigned char *memory; /* TUTTI_FAR_RTS_BYTES bytes: of tutti_overrun_lend(), or of `own` */
    unsigned char own[];
};

extern atomic_int tutti_short_recv_on; /* 1: a communicator has an error handler that may return */

/* 1 if receives must check whether they need one. */
static inline int tutti_short_recv_may(void)
{
    return unlikely(atomic_load_explicit(&tutti_short_recv_on, memory_order_relaxed)) && tutti_lazily();
}
/* Memory of TUTTI_FAR_RTS_BYTES bytes that may be overrun; NULL: the MPI cuts messages, or enough is lent. */
unsigned char *tutti_short_recv_lend(void);
/* Takes NULL. */
void tutti_short_recv_return(unsigned char *memory);
/* NULL: it is not needed, or there is no memory. */
struct tutti_short_recv *tutti_short_recv_new(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm);
/* Its receive has not begun. NULL: nothing. */
void tutti_short_recv_free(struct tutti_short_recv *short_recv);
/* The receive is complete, its request may still exist. 0: the message does not fit. 1: it is in the program's
 * buffer, which is written once. */
int tutti_short_recv_move(struct tutti_short_recv *short_recv, const MPI_Status *status);
/* The receive is complete, its request may still exist, and move() is 0. Releases the sender of an RTS as far as that
 * needs no wait: the program's next call may need it. Local. */
void tutti_short_recv_drop(struct tutti_short_recv *short_recv, const MPI_Status *status);
/* The receive is complete, with this code: an MPI code. Waits until the sender of an RTS is released. */
int tutti_short_recv_end(struct tutti_short_recv *short_recv, const MPI_Status *status, int code);
/* The program frees the request while the receive is active: the entry for tutti_request_orphan(), which takes over
 * short_recv; NULL: no memory. */
struct tutti_request *tutti_short_recv_freed(struct tutti_short_recv *short_recv, MPI_Request request);
/* stamped.c. Looks at those that the program has not completed: a message that has arrived is moved, and the sender of
 * one that is too long is released. Never waits. */
void tutti_stamped_look(void);
/* Reads the handler of MPI_COMM_WORLD. */
void tutti_short_recv_open(void);
/* Local: a communicator has this handler from now on. */
void tutti_short_recv_look(MPI_Errhandler handler);

#endif
