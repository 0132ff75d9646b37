/* The kinds of requests, one file each, and what puts a request of each under watch. All local; MPI codes unless said
 * otherwise. `persistent`: the request is, and has not been started. */
#ifndef TUTTI_MPI_REQUEST_KINDS_H
#define TUTTI_MPI_REQUEST_KINDS_H

#include "mpi/request/request.h"

struct tutti_exchange;
struct tutti_far_mail;
struct tutti_message;
struct tutti_open;
struct tutti_sent;
struct tutti_span;
struct tutti_watch;

/* staged.c: a message by way of host memory. Takes over `span`. */
int tutti_staged_put(MPI_Request request, MPI_Comm comm, const struct tutti_span *span, int persistent);
/* What came with this status goes to the program's memory; and, of a persistent one, what is sent into the span. */
int tutti_staged_out(struct tutti_span *span, MPI_Comm comm, const MPI_Status *status);
int tutti_staged_in(struct tutti_span *span, MPI_Comm comm);

/* receive.c: a receive that may get a mail, staged or not. Takes over `span` and `watch`. */
int tutti_receive_put(MPI_Request request, MPI_Comm comm, const struct tutti_span *span, struct tutti_watch *watch,
                      int persistent);

/* letter.c: a send by letter, of which the request is Tutti's own. Takes over `sent`. */
int tutti_letter_put(MPI_Request request, MPI_Comm comm, struct tutti_sent *sent);

/* pipelined.c: the mail of a send to another node. Takes over `mail`. */
int tutti_pipelined_put(MPI_Request request, MPI_Comm comm, struct tutti_far_mail *mail, int persistent);

/* persistent_send.c: a persistent send to a rank of the node. The request is Tutti's own, and every start sends by a
 * letter where it can, otherwise as a staged message. 1 where the message is one for a letter some day: *request and
 * *code; takes over `span`, which is to be filled at each start. 0: the MPI makes the request. */
int tutti_persistent_send_new(const struct tutti_message *message, struct tutti_span *span, MPI_Request *request,
                              int *code);

/* sendrecv.c: one request for two calls of Tutti that are under way. Takes over `memory`, which is freed at the end. */
int tutti_sendrecv_new(MPI_Comm comm, MPI_Request receive, MPI_Request send, void *memory, MPI_Request *request);

/* collective.c: a staged collective. Takes over `exchange`, which was allocated. */
int tutti_collective_put(MPI_Request request, struct tutti_exchange *exchange, int persistent);

/* counts.c: lists of counts that a call reads as long as it is in flight. Takes over `n` allocated ones. */
enum { TUTTI_COUNTS_LISTS = 4 };
int tutti_counts_put(MPI_Request request, int *const list[], int n, int persistent);

/* open.c: a nonblocking or persistent call that stands in Tutti's own list of open calls. A status. */
int tutti_open_put(MPI_Request request, struct tutti_open *open, int persistent);

#endif
