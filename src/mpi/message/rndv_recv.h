/* Receiving what may be an RTS: the buffer that the program gave, and fetching the data of the rendezvous into it. */
#ifndef TUTTI_MPI_ARRIVALS_H
#define TUTTI_MPI_ARRIVALS_H

#include "mpi/bounce/stage.h"
#include "mpi/message/endpoints.h"
#include "mpi/message/far.h"

enum tutti_recv_state {
    TUTTI_RECV_WAITING,
    TUTTI_RECV_PLAIN,   /* no RTS: the message itself has come */
    TUTTI_RECV_RNDV,    /* an RTS whose data are not here yet */
    TUTTI_RECV_FAR,     /* the same from another node */
    TUTTI_RECV_FETCHED, /* they are */
    TUTTI_RECV_FAILED
};

struct tutti_recv_request {
    void *buffer; /* of the program */
    MPI_Count count;
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Count size, extent;        /* of an element */
    int own_type;                  /* `type` is held: it has no plan, and the program may free it */
    int whole;                     /* 1: the elements are one run of bytes */
    const struct tutti_plan *plan; /* held; NULL: none */
    int placed;                    /* 1: `places` is known */
    struct tutti_places places;
    uint64_t capacity; /* packed bytes that the buffer takes */
    enum tutti_recv_state state;
    struct tutti_rts_head rts;
    struct tutti_pipelined_rts far_rts;
    struct tutti_incoming *far; /* not NULL: its chunks are coming */
    int demanded;               /* 1: the sender is asked to pack: its buffer is not tried any more */
    uint64_t taken;             /* pieces of a rendezvous that have been taken */
    uint64_t came;              /* bytes that the MPI has carried */
    struct tutti_rndv_am *am;   /* not NULL: a part is coming by the MPI */
    char *assembly;             /* not NULL: the packed message, of a type that only the MPI can unpack */
    int code;                   /* FAILED */
};

/* 1 where an RTS has come, and its data have not. */
static inline int tutti_recv_is_open(const struct tutti_recv_request *recv)
{
    return recv->state == TUTTI_RECV_RNDV || recv->state == TUTTI_RECV_FAR;
}

/* How the MPI's memory for a watched receive is taken: RTSs are likely where any peer sends rendezvous here. */
static inline int tutti_lazily(void)
{
    return (tutti_endpoint && tutti_endpoint_listens(tutti_endpoint)) || tutti_far_hears() ? TUTTI_STAGE_LAZY : 0;
}

/* 1 where a message for this buffer may be an RTS: the receive is to be closed. */
int tutti_recv_open(struct tutti_recv_request *recv, const void *buffer, MPI_Count count, MPI_Datatype type,
                    MPI_Comm comm);
void tutti_recv_close(struct tutti_recv_request *recv);
/* The same, allocated; NULL where none is needed. free: takes NULL. */
struct tutti_recv_request *tutti_recv_new(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm);
void tutti_recv_free(struct tutti_recv_request *recv);
/* A persistent receive is started again. */
static inline void tutti_recv_again(struct tutti_recv_request *recv)
{
    recv->state = TUTTI_RECV_WAITING;
    recv->demanded = recv->placed = 0;
    recv->taken = recv->came = 0;
}

/* The message of `status` lies where the MPI was told: in the stage where that is staged, otherwise in the buffer. Says
 * what it is. */
void tutti_recv_arrived(struct tutti_recv_request *recv, const struct tutti_stage *stage, const MPI_Status *status);
/* rndv_parts.c. Bytes [first, first + bytes) of the packed message, on the host, into the program's buffer. Of a type
 * without a plan they are collected, and unpacked with the last of them. A status. */
int tutti_recv_store(struct tutti_recv_request *recv, struct tutti_stage *stage, char *packed, uint64_t first,
                     uint64_t bytes);
/* Takes the parts that the MPI has brought; `keep`: into the buffer. 1: all have come; 0: not yet; negative: a status.
 */
int tutti_recv_parts(struct tutti_recv_request *recv, struct tutti_stage *stage, int keep);
/* All of the packed message, on the host, into the program's buffer. A status. */
int tutti_recv_unpack(const struct tutti_recv_request *recv, struct tutti_stage *stage, char *packed);
/* rndv_fetch.c. Fetches the data of rendezvous, all at once as far as they can be fetched now, in one launch; with
 * `wait` all of them. stages[i] belongs to recvs[i]. */
void tutti_recv_fetch(struct tutti_recv_request *const recvs[], struct tutti_stage *const stages[], int n, int wait);
/* The whole of it for a receive that is complete: 1 where it was an RTS, and *code; 0: it is as it was without Tutti.
 */
int tutti_recv_finish(struct tutti_recv_request *recv, struct tutti_stage *stage, MPI_Status *status, int *code);

#endif
