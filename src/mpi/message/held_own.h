/* Private to held*.c. */
#ifndef TUTTI_MPI_HELD_OWN_H
#define TUTTI_MPI_HELD_OWN_H

#include <stdatomic.h>
#include <uthash.h>

#include "mpi/message/held.h"

struct tutti_held;

#define HOLD(call)                                                                                                     \
    just_##call = tutti_next.call;                                                                                     \
    tutti_next.call = held_##call;

/* Between these no probe takes messages out of the MPI: a receive looks here, and is made in the right place. */
void tutti_held_enter(void);
void tutti_held_leave(void);
/* Within: claims the first message for such a receive, which no other thread can claim then; NULL: the receive is
 * the MPI's. */
struct tutti_held *tutti_held_claim(int source, int tag, MPI_Comm comm);
/* For a message that a matched probe has given to the program. Called before a receive ends its handle, which
 * another thread's probe may get next; NULL: not a held message. Safe from any thread. */
struct tutti_held *tutti_held_claim_of(MPI_Message message);
/* The receive has failed: another one may claim the message. */
void tutti_held_unclaim(struct tutti_held *held);
/* For a call that receives it, and sets the handle to null. */
MPI_Message *tutti_held_message(struct tutti_held *held);
/* A call has begun to receive it. 1: its status must be corrected, since the message was sent again with another
 * source and tag, and tutti_held_end() follows when it is complete; 0: it is an ordinary message, and was removed
 * from here. */
int tutti_held_begun(struct tutti_held *held);
/* Sets source and tag in the status; `code` of the receive becomes one of the communicator, whose handler is called. */
int tutti_held_end(struct tutti_held *held, MPI_Status *status, int code);
/* Sets source and tag of the message in the status of a request that has not ended yet. */
void tutti_held_show(const struct tutti_held *held, MPI_Status *status);
/* The request was freed before it was complete. */
void tutti_held_orphan(struct tutti_held *held);

/* The MPI's MPI_Imrecv; held_calls.c: the same for a held message. */
extern int (*tutti_held_imrecv)(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request);
int tutti_held_receive(struct tutti_held *held, void *buf, MPI_Count count, MPI_Datatype type, MPI_Request *request);

/* held_marks.c: a marked request. */
struct tutti_mark {
    MPI_Request request;           /* the program's */
    struct tutti_held *held;       /* the held message that sets its status; NULL: the status is right */
    struct tutti_landing *landing; /* the landing from which the message is moved; NULL: it was received in place */
    int taken;                     /* not in the table */
    int persistent;
    MPI_Request instead; /* for a persistent one, its replacement; null: nothing */
    void *buffer;        /* of a persistent one, from here on */
    MPI_Count count;
    MPI_Datatype type; /* held: the program may free it before a start */
    int source, tag;
    MPI_Comm comm;
    struct tutti_mark *next; /* among the freed ones */
    UT_hash_handle hh;
};
extern atomic_int tutti_marks_open; /* marks of requests under way */

static inline int tutti_mark_none(void)
{
    return likely(atomic_load_explicit(&tutti_marks_open, memory_order_acquire) == 0);
}
/* Marks a request that a call has made; one of the two may be NULL. An MPI code. */
int tutti_held_stamp(MPI_Request request, struct tutti_held *held, struct tutti_landing *landing);
void tutti_mark_add(struct tutti_mark *mark);
struct tutti_mark *tutti_mark_find(MPI_Request request);
/* The mark of this request, or NULL. */
struct tutti_mark *tutti_mark_see(MPI_Request request);
/* The same for a call that may complete it: afterwards the MPI may give the handle to other threads.
 * tutti_mark_end() or tutti_mark_back() follows. */
struct tutti_mark *tutti_mark_take(MPI_Request request);
/* It is not complete. */
void tutti_mark_back(struct tutti_mark *mark);
/* The request that the MPI has for it. */
static inline MPI_Request tutti_mark_real(const struct tutti_mark *mark, MPI_Request request)
{
    return mark && mark->persistent ? mark->instead : request;
}
/* The request is complete, with this code: an MPI code. */
int tutti_mark_end(struct tutti_mark *mark, MPI_Status *status, int code);

/* Put their forms in front of the MPI's: calls on one request, on lists, and of persistent receives. */
void tutti_calls_marked(void);
void tutti_calls_listed(void);
void tutti_calls_persistent(void);

#endif
