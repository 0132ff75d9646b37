/* Calls in stream order on a communicator over several nodes. The stream waits in a step of the host
 * (ring/host_step.h); meanwhile the host makes the call as a nonblocking one, on a communicator of the proxy's own. So
 * the algorithms over nodes, their agreements and the MPI's own calls are those of nonblocking calls, with their bits,
 * and calls of the program on its communicator have another order. */
#ifndef TUTTI_MPI_STREAM_PROXY_H
#define TUTTI_MPI_STREAM_PROXY_H

#include "mpi/comm/streams.h"

/* For tutti_comms_open(). */
const char *tutti_stream_proxy_open(struct tutti_comm *comm, const struct tutti_mpix_stream *stream);

/* stream_persistent.c: for tutti_queue_nodes_open(). */
extern const struct tutti_persistent_messages tutti_persistent_messages;

#endif
