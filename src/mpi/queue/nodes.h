/* Matched requests of ranks of two nodes: the host sends and receives, on the communicator of messages, in the
 * stream's order (mpi/reduce/stream_persistent.c). The tag of a request is the receiver's choice, so the two sides know
 * each other as matched requests of one node do. */
#ifndef TUTTI_MPI_QUEUE_NODES_H
#define TUTTI_MPI_QUEUE_NODES_H

#include "mpi/queue/match.h"
#include "progress/transport.h"

struct tutti_persistent_messages;
/* Collective over the ranks of the transport, at set-up: takes tags. transport: NULL: messages go by the MPI alone, and
 * requests reach no other node. */
void tutti_queue_nodes_open(const struct tutti_persistent_messages *how, struct tutti_transport *transport);
/* Local. Before the match: whether the other rank can be reached. An MPI code, with request->why. */
int tutti_queue_nodes_check(struct tutti_mpix_request *request);
/* Local. Takes what the request needs. Its elements are known. An MPI code, with request->code and ->why. */
int tutti_queue_nodes_take(struct tutti_mpix_request *request);
/* Of a receive: the tag that the sender has to use. Of a send: bytes of the pieces in which it moves. */
uint32_t tutti_queue_nodes_tag(const struct tutti_mpix_request *request);
uint32_t tutti_queue_nodes_piece(const struct tutti_mpix_request *request);
/* Once both sides know each other. tag: of the receive; bytes, piece: of the send. An MPI code, with request->code and
 * ->why. */
int tutti_queue_nodes_match(struct tutti_mpix_request *request, uint32_t tag, uint64_t bytes, uint32_t piece);
/* Takes NULL. The stream has passed the request. */
void tutti_queue_nodes_end(struct tutti_queue_nodes *nodes);

/* Local. In the queue's stream: the messages of these requests, all between nodes, are started; later work of the
 * stream waits for them. Statuses. */
int tutti_queue_nodes_start(size_t n, struct tutti_mpix_request *const requests[], struct tutti_stream *stream);
int tutti_queue_nodes_wait(size_t n, struct tutti_mpix_request *const requests[], struct tutti_stream *stream);
/* TUTTI_OK, or why a start has failed. */
int tutti_queue_nodes_fault(const struct tutti_mpix_request *request);

#endif
