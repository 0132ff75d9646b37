/* Calls in stream order on a communicator over several nodes. The stream waits in a step of the host
 * (ring/host_step.h); meanwhile the host makes the call as a nonblocking one, on a communicator of the proxy's own. So
 * the algorithms over nodes, their agreements and the MPI's own calls are those of nonblocking calls, with their bits,
 * and calls of the program on its communicator have another order. */
#ifndef TUTTI_MPI_STREAM_PROXY_H
#define TUTTI_MPI_STREAM_PROXY_H

#include "mpi/comm/streams.h"

/* For tutti_comms_open(). */
const char *tutti_stream_proxy_open(struct tutti_comm *comm, const struct tutti_mpix_stream *stream);

/* A message that is started again and again, on `comm`, in any streams of the GPU, also by graphs. open: local; the tag
 * and the bytes of args are those of match(). A stream that has started it waits for it before it starts it again.
 * close: no stream uses it; takes NULL. Statuses. */
struct tutti_persistent_message;
int tutti_persistent_message_open(struct tutti_node *node, int gpu, MPI_Comm comm,
                                  const struct tutti_stream_message *args, struct tutti_persistent_message **out);
void tutti_persistent_message_match(struct tutti_persistent_message *message, int tag, size_t bytes);
int tutti_persistent_message_start(struct tutti_persistent_message *message, struct tutti_stream *stream);
int tutti_persistent_message_wait(struct tutti_persistent_message *message, struct tutti_stream *stream);
int tutti_persistent_message_fault(const struct tutti_persistent_message *message);
void tutti_persistent_message_close(struct tutti_persistent_message *message);

#endif
