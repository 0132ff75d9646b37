/* Receives in stream order into memory that only the host reaches: kernels receive into pinned memory, and a function
 * of the host that the stream calls copies the message from there. A copy of the device would wait for the message in
 * the call that puts it into the stream, since such memory is copied to while its caller waits. */
#ifndef TUTTI_MPI_BOUNCED_RECEIVES_H
#define TUTTI_MPI_BOUNCED_RECEIVES_H

#include "mpi/comm/streams.h"

struct tutti_bounced_receive;

/* Local. For a receive of up to `most` bytes into `to`, on a communicator with lanes that reports messages. captured:
 * its stream is. *memory: where kernels receive. A status. */
int tutti_bounced_receive_take(struct tutti_comm *comm, int captured, void *to, size_t most,
                               struct tutti_bounced_receive **out, void **memory);
/* Local. Later work of the stream finds the message in the program's memory. op: of the communicator's lanes, see
 * tutti_lanes_reports(). A status. */
int tutti_bounced_receive_enqueue(const struct tutti_comm *comm, struct tutti_bounced_receive *bounced, int op);
/* Nothing of it is in the stream. Takes NULL. */
void tutti_bounced_receive_give(struct tutti_bounced_receive *bounced);

#endif
