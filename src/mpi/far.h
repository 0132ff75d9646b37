/* Messages of device memory to ranks of other nodes, chunk by chunk: the sender packs one into pinned memory while the
 * MPI carries the ones before it, the receiver unpacks one while the next ones come. As inside a node (lanes.h) the MPI
 * matches a mail in place of the message; the chunks follow on tutti_lane_box. A mail is sent synchronously, so that a
 * send waits for its receive as one of an MPI does that is as long; what else a send waits for ends without the
 * receiver. */
#ifndef TUTTI_MPI_FAR_H
#define TUTTI_MPI_FAR_H

#include "mpi/lanes.h"

/* Not as long as the mails of letters, and as hardly any message of a program is: a probe that meets one as long waits
 * a moment for word of it. */
enum { TUTTI_FAR_MAIL_BYTES = 7 * TUTTI_MAIL_BYTES };

struct tutti_far_head {
    uint64_t key[2], sequence, bytes, chunk;
    int32_t tag, rank; /* of the chunks; of the sender in MPI_COMM_WORLD */
};

struct tutti_span;
struct tutti_watch;
struct tutti_far_mail; /* what a request of a send stands for */
struct tutti_far_in;   /* a message that comes in chunks */

extern atomic_int tutti_far_moving; /* messages of which chunks are on their way */
extern atomic_int tutti_far_heard;  /* 1: some have come from other nodes */

/* Collective over MPI_COMM_WORLD, once tutti_lane_box is there: sets tutti_far_on, alike on all ranks. alive: the
 * device may be called. */
void tutti_far_open(void);
void tutti_far_close(int alive);

static inline int tutti_far_hears(void)
{
    return unlikely(tutti_far_on) && atomic_load_explicit(&tutti_far_heard, memory_order_relaxed);
}
static inline int tutti_far_busy(void)
{
    return unlikely(atomic_load_explicit(&tutti_far_moving, memory_order_relaxed) != 0);
}
/* Brings on what is on its way, without waiting. Completion calls repeat it. */
void tutti_far_poll(void);
static inline void tutti_far_bring_on(void)
{
    if (tutti_far_busy())
        tutti_far_poll();
}

/* ---- sender ---- */

/* 1 where the message goes in chunks; *code is what the call returns. 0: the MPI takes it. */
int tutti_far_send(const struct tutti_message *message, int *code);
int tutti_far_isend(const struct tutti_message *message, MPI_Request *request, int *code);
/* A persistent one; closes `span`. */
int tutti_far_init(const struct tutti_message *message, struct tutti_span *span, MPI_Request *request, int *code);
int tutti_far_start(struct tutti_far_mail *mail, MPI_Request *request);
/* The request is gone; takes NULL. */
void tutti_far_let_go(struct tutti_far_mail *mail);
/* Takes note of a message that is sent as it is and may be as long as a mail. */
void tutti_far_alike(MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);

/* ---- receiver ---- */

/* 1 where what was received is a mail: no probe can meet it any more. */
int tutti_far_is_mail(const struct tutti_far_head *head);
/* Asks the MPI for the chunks of a watch in state FAR; polling brings them on. */
void tutti_far_begin(struct tutti_watch *watch);
/* Of the watches in state FAR: brings them on, and to FETCHED or FAILED; with `wait` all of them. */
void tutti_far_fetch(struct tutti_watch *const watches[], struct tutti_span *const spans[], int n, int wait);
/* A probe met a message as long as a mail. */
void tutti_far_probed(MPI_Comm comm, MPI_Status *status);

#endif
