/* Sending by letters: what is on its way, and bringing it on. A send is done when the data have left the program's
 * buffer, which never takes the receiver: where it does not fetch them soon, they are packed into scratch. */
#ifndef TUTTI_MPI_LETTERS_H
#define TUTTI_MPI_LETTERS_H

#include "mpi/far.h"
#include "mpi/lanes.h"

struct tutti_sent;

extern atomic_int tutti_letters_open; /* sends that are not done, also those whose requests the program has freed */
static inline int tutti_letters_busy(void)
{
    return unlikely(atomic_load_explicit(&tutti_letters_open, memory_order_relaxed) != 0);
}

/* 1 where the message is sent by a letter; *code is what a blocking call returns, after all of it. 0: the MPI takes it.
 */
int tutti_letter_send(const struct tutti_message *message, int *code);
/* The same of a nonblocking call: *request is the program's, under watch. */
int tutti_letter_isend(const struct tutti_message *message, MPI_Request *request, int *code);

/* Takes note of a message to be sent as it is: it may be as long as a mail. */
void tutti_letter_alike(MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
static inline void tutti_letter_note(MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    if (unlikely(tutti_lane) && count > 0 && count <= TUTTI_MAIL_BYTES && TUTTI_MAIL_BYTES % count == 0 &&
        !tutti_inside)
        tutti_letter_alike(count, type, dest, tag, comm);
    if (unlikely(tutti_far_on) && count > 0 && count <= TUTTI_FAR_MAIL_BYTES && TUTTI_FAR_MAIL_BYTES % count == 0 &&
        !tutti_inside)
        tutti_far_alike(count, type, dest, tag, comm);
}

/* 1 where a mail ends between two basic elements of the message: MPICH takes no part of one. */
int tutti_mail_fits(const struct tutti_message *message, const struct tutti_layout *layout);

/* Brings sends on, without waiting but for packing kernels. Completion calls repeat it. */
void tutti_letters_poll(void);
/* In MPI_Finalize: waits, bounded, for what is not done. */
void tutti_letters_end(void);

/* The request has completed: an MPI code. let_go: the program is through with it; free: MPI_Request_free. */
int tutti_sent_deliver(const struct tutti_sent *sent);
void tutti_sent_let_go(struct tutti_sent *sent);
int tutti_sent_free(struct tutti_sent *sent, MPI_Request *request);

#endif
