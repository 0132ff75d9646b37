/* What the messages of every transport must do: driven over threads (tests/progress) and over each MPI (tests/mpi). */
#ifndef TUTTI_TESTS_MESSAGES_H
#define TUTTI_TESTS_MESSAGES_H

#include "progress/transport.h"

/* Collective over a transport of at least two ranks; failures are counted by check.h. Returns 0 if there was none.
 */
int messages_run(struct tutti_transport *transport, uint64_t seed, int rounds);
/* The same for a transport whose receives name a tag. */
int messages_run_tagged(struct tutti_transport *transport, uint64_t seed, int rounds);
/* The same of nonblocking collectives, several at a time. */
int collectives_run(struct tutti_transport *transport, uint64_t seed, int rounds);

#endif
