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

/* Between these no probe takes anything out of the MPI: a receive looks here, and is made where it is to be. */
void tutti_held_enter(void);
void tutti_held_leave(void);
/* Within: the first message that such a receive gets, which no other thread's gets any more; NULL: it is the MPI's. */
struct tutti_held *tutti_held_claim(int source, int tag, MPI_Comm comm);
/* Of a message that a matched probe has given to the program, before a receive ends its handle, which another thread's
 * probe may be given next; NULL: it needs no care. Safe from any thread. */
struct tutti_held *tutti_held_claim_of(MPI_Message message);
/* The receive has failed: another one may get it. */
void tutti_held_unclaim(struct tutti_held *held);
/* For a call that receives it, and makes the handle null. */
MPI_Message *tutti_held_message(struct tutti_held *held);
/* A call has begun to receive it. 1: its request is to be stamped, since what was read has another source and tag, and
 * tutti_held_end() follows when it is complete; 0: it is a message as any, and gone from here. */
int tutti_held_begun(struct tutti_held *held);
/* Puts source and tag into the status; `code` as received, now of the communicator, whose handler is called. */
int tutti_held_end(struct tutti_held *held, MPI_Status *status, int code);
/* Puts source and tag of the message into the status of a request that is not ended yet. */
void tutti_held_show(const struct tutti_held *held, MPI_Status *status);
/* The request was freed before it was complete. */
void tutti_held_orphan(struct tutti_held *held);

/* MPI_Imrecv as the MPI has it; held_calls.c: the same of a held message. */
extern int (*tutti_held_imrecv)(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request);
int tutti_held_receive(struct tutti_held *held, void *buf, MPI_Count count, MPI_Datatype type, MPI_Request *request);

/* held_marks.c: a request that is not what the program asked for. */
struct tutti_mark {
    MPI_Request request;           /* the program's */
    struct tutti_held *held;       /* of which its status is to be; NULL: that is right */
    struct tutti_landing *landing; /* from where what has come is to be moved; NULL: it is where it belongs */
    int taken;                     /* not in the table */
    int persistent;
    MPI_Request instead; /* of a persistent one: what stands in; null: nothing */
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
/* Marks a request that a call has made, of which either is not NULL. An MPI code. */
int tutti_held_stamp(MPI_Request request, struct tutti_held *held, struct tutti_landing *landing);
void tutti_mark_add(struct tutti_mark *mark);
struct tutti_mark *tutti_mark_find(MPI_Request request);
/* The mark that a call on this request has to look at, or NULL. */
struct tutti_mark *tutti_mark_see(MPI_Request request);
/* The same for a call that may complete it: once it has, the MPI gives the handle to other threads. tutti_mark_end() or
 * tutti_mark_back() follows. */
struct tutti_mark *tutti_mark_take(MPI_Request request);
/* It is not complete. */
void tutti_mark_back(struct tutti_mark *mark);
/* What the MPI is to be asked about. */
static inline MPI_Request tutti_mark_real(const struct tutti_mark *mark, MPI_Request request)
{
    return mark && mark->persistent ? mark->instead : request;
}
/* The request is complete, with this code: an MPI code. */
int tutti_mark_end(struct tutti_mark *mark, MPI_Status *status, int code);

/* Put their forms in front of the MPI's: of calls on one request, on lists, and of persistent receives. */
void tutti_calls_marked(void);
void tutti_calls_listed(void);
void tutti_calls_persistent(void);

#endif
