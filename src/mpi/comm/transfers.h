/* Messages and nonblocking collectives of the transport over the MPI: entries of struct tutti_transport_ops. */
#ifndef TUTTI_MPI_TRANSFERS_H
#define TUTTI_MPI_TRANSFERS_H

#include "mpi/real/door.h"
#include "progress/transport.h"

int tutti_transport_send(struct tutti_transport *transport, const void *memory, size_t bytes, int to, int tag,
                         int synchronous, struct tutti_transfer *out);
int tutti_transport_receive(struct tutti_transport *transport, void *memory, size_t room, int from, int tag,
                            struct tutti_transfer *out);
int tutti_transport_probe(struct tutti_transport *transport, int from, int tag, struct tutti_caught *out, int *flag);
int tutti_transport_receive_caught(struct tutti_transport *transport, struct tutti_caught *caught, void *memory,
                                   size_t room, struct tutti_transfer *out);
int tutti_transport_test(struct tutti_transport *transport, struct tutti_transfer *transfer,
                         struct tutti_transfer_status *came, int *done);
int tutti_transport_cancel(struct tutti_transport *transport, struct tutti_transfer *transfer, int *cancelled);
int tutti_transport_iallgather(struct tutti_transport *transport, const void *in, void *to, size_t bytes,
                               struct tutti_pending *out);
int tutti_transport_iallreduce(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how,
                               struct tutti_pending *out);
int tutti_transport_pending_test(struct tutti_transport *transport, struct tutti_pending *pending, int *done);
/* The operator of the MPI for `how`. */
MPI_Op tutti_transport_op(enum tutti_combine how);

#endif
