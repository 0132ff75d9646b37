/* Messages in stream order: what the parts of the test share. */
#ifndef TUTTI_TESTS_MESSAGES_H
#define TUTTI_TESTS_MESSAGES_H

#include "queue.h"

enum { MESSAGES_MOST = 20 << 20 };

struct messages {
    MPI_Comm comm;
    MPIX_Stream mpix;
    void *stream;
    char *memory; /* device, twice MESSAGES_MOST */
};

#define FINE(call)                                                                                                     \
    do {                                                                                                               \
        int error_ = (call);                                                                                           \
        CHECK(error_ == 0, "%s: %d (class %d)", #call, error_, error_ > 0 ? kit_class(error_) : 0);                    \
    } while (0)

/* Collective. fails: the communicator is known to have failed. */
void messages_open(struct messages *m);
void messages_close(struct messages *m, int fails);
/* Collective. Messages that are started wait for their launch until a wait, or another call. */
void messages_group(struct messages *m);
/* Local. 1 if the status is of a message of so many bytes. */
int messages_status(const MPI_Status *status, int source, int tag, int bytes);
/* What is refused. */
void messages_errors(struct messages *m);
/* Receives into memory of the host. */
void messages_into_host(struct messages *m);
/* Collective. So many random programs. */
void messages_programs(struct messages *m, long programs);
/* Collective. So many random programs of receives from any source or with any tag. */
void messages_any(struct messages *m, long programs);
/* Collective. So many random exchanges of messages that are waited for together. */
void messages_exchanges(struct messages *m, long exchanges);
/* Collective. A message longer than its receive is reported; is_long: one that may be stored into the receiver's
 * buffer. */
void messages_truncated(struct messages *m, int is_long);
/* Local. 1 if it fails on this rank: between nodes at the receiver alone. */
int messages_truncated_fails(void);
/* Collective. Elements with gaps. */
void messages_types(struct messages *m);

#endif
