/* Matched requests of one node whose buffers only the host reaches: kernels send from pinned memory and receive into
 * it. Functions of the host, which the stream calls, copy between that and the buffer. */
#ifndef TUTTI_MPI_QUEUE_HOST_RUN_H
#define TUTTI_MPI_QUEUE_HOST_RUN_H

#include "mpi/queue/match.h"

struct tutti_queue_host_run;
/* Local. Takes pinned memory for request->elements, which are a run of bytes, and puts it in their place. A status. */
int tutti_queue_host_run_take(struct tutti_mpix_request *request);
/* Takes NULL. The stream has passed the request. */
void tutti_queue_host_run_end(struct tutti_queue_host_run *host);
/* Local. In the stream: for the sends among the requests, before their starts; for the receives, behind their wait. A
 * status. */
int tutti_queue_host_runs_copy(int send, int count, struct tutti_mpix_request *const of[], struct tutti_stream *stream);

#endif
