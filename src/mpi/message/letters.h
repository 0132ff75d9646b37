/* Sending by letters: what is on its way, and bringing it on. A send is done when the data have left the program's
 * buffer, which never takes the receiver: where it does not fetch them soon, they are packed into scratch. */
#ifndef TUTTI_MPI_LETTERS_H
#define TUTTI_MPI_LETTERS_H

#include "mpi/message/far.h"
#include "mpi/message/lanes.h"

struct tutti_sent;

/* 1 where the message is sent by a letter; *code is what a blocking call returns, after all of it. 0: the MPI takes it.
 */
int tutti_letter_send(const struct tutti_message *message, int *code);
/* The same of a nonblocking call: *request is the program's, under watch. */
int tutti_letter_isend(const struct tutti_message *message, MPI_Request *request, int *code);

/* 1 where a mail ends between two basic elements of the message: MPICH takes no part of one. */
int tutti_mail_fits(const struct tutti_message *message, const struct tutti_layout *layout);

/* In MPI_Finalize: waits, bounded, for what is not done. */
void tutti_letters_end(void);

/* The request has completed: an MPI code. let_go: the program is through with it; free: MPI_Request_free. */
int tutti_sent_deliver(const struct tutti_sent *sent);
void tutti_sent_let_go(struct tutti_sent *sent);
int tutti_sent_free(struct tutti_sent *sent, MPI_Request *request);

#endif
