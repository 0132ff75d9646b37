/* Receiving what may be a mail: the buffer that the program gave, and fetching the data of the letter into it. */
#ifndef TUTTI_MPI_ARRIVALS_H
#define TUTTI_MPI_ARRIVALS_H

#include "mpi/bounce/stage.h"
#include "mpi/message/far.h"
#include "mpi/message/lanes.h"

enum tutti_watch_state {
    TUTTI_WATCH_WAITING,
    TUTTI_WATCH_PLAIN,   /* no mail: the message itself has come */
    TUTTI_WATCH_LETTER,  /* a mail whose data are not here yet */
    TUTTI_WATCH_FAR,     /* the same from another node */
    TUTTI_WATCH_FETCHED, /* they are */
    TUTTI_WATCH_FAILED
};

struct tutti_watch {
    void *buffer; /* of the program */
    MPI_Count count;
    MPI_Datatype type; /* without a plan: a duplicate, which outlives the program's */
    MPI_Comm comm;
    MPI_Count size, extent; /* of an element */
    int own_type;
    int whole;                     /* 1: the elements are one run of bytes */
    const struct tutti_plan *plan; /* held; NULL: none */
    int placed;                    /* 1: `places` is known */
    struct tutti_places places;
    uint64_t capacity; /* packed bytes that the buffer takes */
    enum tutti_watch_state state;
    struct tutti_mail_head mail;
    struct tutti_pipelined_mail far_mail;
    struct tutti_incoming *far;  /* not NULL: its chunks are coming */
    struct tutti_mailed *mailed; /* not NULL: its data are coming by the MPI */
    int code;                    /* FAILED */
};

/* 1 where a mail has come, and its data have not. */
static inline int tutti_watch_is_open(const struct tutti_watch *watch)
{
    return watch->state == TUTTI_WATCH_LETTER || watch->state == TUTTI_WATCH_FAR;
}

/* How the MPI's memory for a watched receive is taken: mails are likely where any peer sends letters here. */
static inline int tutti_lazily(void)
{
    return (tutti_lane && tutti_lane_listens(tutti_lane)) || tutti_far_hears() ? TUTTI_SPAN_LAZY : 0;
}

/* 1 where a message for this buffer may be a mail: the watch is to be closed. */
int tutti_watch_open(struct tutti_watch *watch, const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm);
void tutti_watch_close(struct tutti_watch *watch);
/* The same, allocated; NULL where none is needed. free: takes NULL. */
struct tutti_watch *tutti_watch_new(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm);
void tutti_watch_free(struct tutti_watch *watch);
/* A persistent receive is started again. */
static inline void tutti_watch_again(struct tutti_watch *watch)
{
    watch->state = TUTTI_WATCH_WAITING;
}

/* The message of `status` lies where the MPI was told: in the span where that is staged, otherwise in the buffer. Says
 * what it is. */
void tutti_watch_arrived(struct tutti_watch *watch, const struct tutti_span *span, const MPI_Status *status);
/* Packed bytes of the message, on the host, into the program's buffer. A status. */
int tutti_watch_unpack(const struct tutti_watch *watch, struct tutti_span *span, char *packed);
/* Fetches the data of letters, all at once as far as they can be fetched now, in one launch; with `wait` all of them.
 * spans[i] belongs to watches[i]. */
void tutti_watch_fetch(struct tutti_watch *const watches[], struct tutti_span *const spans[], int n, int wait);
/* After FETCHED or FAILED: puts the length of the message into the status. An MPI code. */
int tutti_watch_end(const struct tutti_watch *watch, MPI_Status *status);
/* The whole of it for a receive that is complete: 1 where it was a mail, and *code; 0: it is as it was without Tutti.
 */
int tutti_watch_finish(struct tutti_watch *watch, struct tutti_span *span, MPI_Status *status, int *code);

#endif
