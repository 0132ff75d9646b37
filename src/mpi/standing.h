/* Persistent sends to ranks of the node: the request is Tutti's own, and every start sends by a letter where it can,
 * otherwise as a staged message. */
#ifndef TUTTI_MPI_STANDING_H
#define TUTTI_MPI_STANDING_H

#include "mpi/letters.h"
#include "mpi/stage.h"

struct tutti_standing;

/* 1 where the message is one for a letter some day: *request is under watch, and *code; takes over `span`, which is to
 * be filled at each start. 0: the MPI makes the request. */
int tutti_standing_new(const struct tutti_message *message, struct tutti_span *span, MPI_Request *request, int *code);
/* MPI_Start. An MPI code. */
int tutti_standing_start(struct tutti_standing *standing);
/* Completed: an MPI code. settle: may be started again. */
int tutti_standing_deliver(const struct tutti_standing *standing);
void tutti_standing_settle(struct tutti_standing *standing);
/* Frees what is not started. */
void tutti_standing_free(struct tutti_standing *standing);

#endif
