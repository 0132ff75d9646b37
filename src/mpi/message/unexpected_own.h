/* Private to unexpected*.c and stamped*.c. */
#ifndef TUTTI_MPI_UNEXPECTED_OWN_H
#define TUTTI_MPI_UNEXPECTED_OWN_H

#include <stdatomic.h>
#include <uthash.h>

#include "mpi/message/unexpected.h"

struct tutti_unexpected;

#define HOLD(call)                                                                                                     \
    just_##call = tutti_next.call;                                                                                     \
    tutti_next.call = stamped_##call;

/* Between these no probe takes messages out of the MPI: a receive looks here, and is made in the right place. */
void tutti_unexpected_enter(void);
void tutti_unexpected_leave(void);
/* Within: claims the first message for such a receive, which no other thread can claim then; NULL: the receive is
 * the MPI's. */
struct tutti_unexpected *tutti_unexpected_claim(int source, int tag, MPI_Comm comm);
/* For a message that a matched probe has given to the program. Called before a receive ends its handle, which
 * another thread's probe may get next; NULL: not an unexpected message. Safe from any thread. */
struct tutti_unexpected *tutti_unexpected_claim_of(MPI_Message message);
/* The receive has failed: another one may claim the message. */
void tutti_unexpected_unclaim(struct tutti_unexpected *unexpected);
/* For a call that receives it, and sets the handle to null. */
MPI_Message *tutti_unexpected_message(struct tutti_unexpected *unexpected);
/* A call has begun to receive it. 1: its status must be corrected, since the message was sent again with another
 * source and tag, and tutti_unexpected_end() follows when it is complete; 0: it is an ordinary message, and was removed
 * from here. */
int tutti_unexpected_begun(struct tutti_unexpected *unexpected);
/* Sets source and tag in the status; `code` of the receive becomes one of the communicator, whose handler is called. */
int tutti_unexpected_end(struct tutti_unexpected *unexpected, MPI_Status *status, int code);
/* Sets source and tag of the message in the status of a request that has not ended yet. */
void tutti_unexpected_show(const struct tutti_unexpected *unexpected, MPI_Status *status);
/* The request was freed before it was complete. */
void tutti_unexpected_orphan(struct tutti_unexpected *unexpected);

/* The MPI's MPI_Imrecv; unexpected_calls.c: the same for an unexpected message. */
extern int (*tutti_unexpected_imrecv)(void *buf, int count, MPI_Datatype type, MPI_Message *message,
                                      MPI_Request *request);
int tutti_unexpected_receive(struct tutti_unexpected *unexpected, void *buf, MPI_Count count, MPI_Datatype type,
                             MPI_Request *request);
/* The MPI's own MPI_Irecv. */
int tutti_unexpected_post(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                          MPI_Request *request);

/* stamped.c: a stamped request. */
struct tutti_stamped {
    MPI_Request request;                 /* the program's */
    struct tutti_unexpected *unexpected; /* the unexpected message that sets its status; NULL: the status is right */
    struct tutti_short_recv *short_recv; /* the message is moved from its memory; NULL: it was received in place */
    int short_open;                      /* 1: short_recv counts among the receives that waits look at */
    int taken;                           /* not in the table */
    int persistent;
    MPI_Request instead; /* for a persistent one, its replacement; null: nothing */
    void *buffer;        /* of a persistent one, from here on */
    MPI_Count count;
    MPI_Datatype type; /* held: the program may free it before a start */
    int source, tag;
    MPI_Comm comm;
    UT_hash_handle hh;
};
extern atomic_int tutti_stamped_open;       /* stamped requests that are under way */
extern atomic_int tutti_stamped_persistent; /* stamped requests that are persistent */

static inline int tutti_stamped_none(void)
{
    return likely(atomic_load_explicit(&tutti_stamped_open, memory_order_acquire) == 0);
}
/* Marks a request that a call has made; one of the two may be NULL. An MPI code. */
int tutti_unexpected_stamp(MPI_Request request, struct tutti_unexpected *unexpected,
                           struct tutti_short_recv *short_recv);
void tutti_stamped_add(struct tutti_stamped *stamped);
struct tutti_stamped *tutti_stamped_find(MPI_Request request);
/* The stamped of this request, or NULL. */
struct tutti_stamped *tutti_stamped_see(MPI_Request request);
/* The same for a call that may complete it: afterwards the MPI may give the handle to other threads.
 * tutti_stamped_end() or tutti_stamped_back() follows. */
struct tutti_stamped *tutti_stamped_take(MPI_Request request);
/* It is not complete. */
void tutti_stamped_back(struct tutti_stamped *stamped);
/* The request that the MPI has for it. */
static inline MPI_Request tutti_stamped_real(const struct tutti_stamped *stamped, MPI_Request request)
{
    return stamped && stamped->persistent ? stamped->instead : request;
}
/* The request is complete, with this code: an MPI code. */
int tutti_stamped_end(struct tutti_stamped *stamped, MPI_Status *status, int code);

/* Put their forms in front of the MPI's: calls on one request, on lists, and of persistent receives. */
void tutti_calls_stamped(void);
void tutti_calls_listed(void);
void tutti_calls_persistent(void);

#endif
