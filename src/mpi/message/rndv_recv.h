/* Receives that may get an RTS: the program's buffer, and fetching the data of the rendezvous into it. */
#ifndef TUTTI_MPI_RNDV_RECV_H
#define TUTTI_MPI_RNDV_RECV_H

#include "mpi/bounce/stage.h"
#include "mpi/message/endpoints.h"
#include "mpi/message/far.h"
#include "mpi/request/request.h"

enum tutti_recv_state {
    TUTTI_RECV_WAITING,
    TUTTI_RECV_PLAIN,   /* no RTS: the message itself has arrived */
    TUTTI_RECV_RNDV,    /* an RTS whose data have not been fetched yet */
    TUTTI_RECV_FAR,     /* the same from another node */
    TUTTI_RECV_FETCHED, /* the data have been fetched */
    TUTTI_RECV_FAILED
};

struct tutti_recv_request {
    struct tutti_p2p_recv core; /* its elements: the program's buffer; the plan is held */
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Count size, extent;    /* of an element */
    int plan_held;             /* 1: core.elements.plan; those of predefined types stay anyhow */
    int own_type;              /* `type` is held: it has no plan, and the program may free it */
    struct tutti_stage *stage; /* while it is being fetched */
    enum tutti_recv_state state;
    int code; /* FAILED */
    int wide; /* 1: the MPI receives into `text`: an RTS is longer than the program's buffer */
    int kept; /* 1: `text` has the first bytes of the buffer: an RTS that is longer than its message overwrites some */
    unsigned char text[TUTTI_SHORT_RTS_LEAST];
    unsigned char *lent; /* of a wide one: what the MPI gets instead of `text`, may be overrun; NULL: `text` */
    struct tutti_recv_request *next; /* in the list of ended ones */
};

/* The buffer that the MPI gets for a wide receive. If errors return to the program, an MPI may write a message that is
 * too long as a whole. */
unsigned char *tutti_recv_text(struct tutti_recv_request *recv);

/* 1 if an RTS has arrived, and its data have not. */
static inline int tutti_recv_is_open(const struct tutti_recv_request *recv)
{
    return recv->state == TUTTI_RECV_RNDV || recv->state == TUTTI_RECV_FAR;
}

/* How the MPI's memory for a watched receive is taken: RTSs are likely if any peer sends rendezvous here. */
static inline int tutti_lazily(void)
{
    return (tutti_endpoint && tutti_endpoint_listens(tutti_endpoint)) || tutti_far_has_arrived() ? TUTTI_STAGE_LAZY : 0;
}

/* 1 if a message for this buffer may be an RTS: then the receive must be closed. stays: the program may meet its
 * first GPU while the receive is open. */
int tutti_recv_open(struct tutti_recv_request *recv, const void *buffer, MPI_Count count, MPI_Datatype type,
                    MPI_Comm comm, int stays);
/* Keeps what the call has found out about the memory at the buffer's address. */
static inline void tutti_recv_place(struct tutti_recv_request *recv, const struct tutti_there *there)
{
    if (there->staged && recv->core.elements.plan)
        tutti_elements_place(&recv->core.elements, &there->memory);
}
/* What the MPI receives into, in place of `count` elements of the stage. recv: NULL: the message is no RTS. */
struct tutti_recv_target {
    void *buffer;
    MPI_Count count;
    MPI_Datatype type;
};
struct tutti_recv_target tutti_recv_target(struct tutti_recv_request *recv, const struct tutti_stage *stage,
                                           MPI_Count count);
/* Before each start of the receive: saves what an RTS would overwrite in the buffer that tutti_recv_target() has
 * returned. */
void tutti_recv_keep(struct tutti_recv_request *recv, const struct tutti_stage *stage);
void tutti_recv_close(struct tutti_recv_request *recv);
/* The same, allocated; NULL if it is not needed. free: takes NULL. */
struct tutti_recv_request *tutti_recv_new(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm);
void tutti_recv_free(struct tutti_recv_request *recv);
/* A persistent receive is started again. */
static inline void tutti_recv_again(struct tutti_recv_request *recv)
{
    recv->state = TUTTI_RECV_WAITING;
    recv->core.landed = recv->core.demanded = recv->core.asked = recv->core.elements.placed = 0;
    recv->core.met = 0;
    recv->core.taken = recv->core.came = 0;
    recv->core.begun = recv->core.ended = recv->core.truncated = 0;
}

/* The message of `status` lies in the MPI's buffer: in the stage, in the program's buffer, or in recv->text. Finds
 * its kind: recv->state. */
void tutti_recv_arrived(struct tutti_recv_request *recv, const struct tutti_stage *stage, const MPI_Status *status);
/* Fetches as much as can be fetched now, in one launch, or all of it: enum tutti_fetch_how (request.h). stages[i]
 * belongs to recvs[i]. */
void tutti_recv_fetch(struct tutti_recv_request *const recvs[], struct tutti_stage *const stages[], int n, int how);
/* All of it for a receive that is complete. 1 if it was an RTS, and *code; 0: it is an ordinary message. */
int tutti_recv_finish(struct tutti_recv_request *recv, struct tutti_stage *stage, MPI_Status *status, int *code);

#endif
