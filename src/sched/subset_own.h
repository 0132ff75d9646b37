/* Private to subset*.c. */
#ifndef TUTTI_SCHED_SUBSET_OWN_H
#define TUTTI_SCHED_SUBSET_OWN_H

#include "sched/subset.h"

struct tutti_subset {
    struct tutti_transport base; /* first */
    struct tutti_transport *under;
    int *rank_of, *tag_of; /* of each rank: in `under`; first tag of its context */
};

/* subset_collectives.c: entries of struct tutti_transport_ops. */
int tutti_subset_barrier(struct tutti_transport *transport);
int tutti_subset_allgather(struct tutti_transport *transport, const void *in, void *out, size_t bytes);
int tutti_subset_alltoall(struct tutti_transport *transport, const void *in, void *out, size_t bytes);
int tutti_subset_allreduce(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how);
int tutti_subset_iallgather(struct tutti_transport *transport, const void *in, void *to, size_t bytes,
                            struct tutti_pending *out);
int tutti_subset_iallreduce(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how,
                            struct tutti_pending *out);
int tutti_subset_pending_test(struct tutti_transport *transport, struct tutti_pending *pending, int *done);

#endif
