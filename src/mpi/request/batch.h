/* Messages that have arrived for several requests of one kind: the kind fetches them together, in one launch. */
#ifndef TUTTI_MPI_REQUEST_BATCH_H
#define TUTTI_MPI_REQUEST_BATCH_H

#include "mpi/request/request.h"

enum { TUTTI_BATCH_MOST = 64 };

struct tutti_stage;
struct tutti_recv_request;
struct tutti_batch {
    enum tutti_fetch_how how;
    unsigned turn; /* of the thread's looks at its requests */
    int failed;    /* looks that have found nothing */
    int passes;    /* 1: further looks are not worth while in this turn */
    int waiting;   /* receives of the call for which nothing has arrived yet */
    int n;
    int plain; /* messages that the MPI has brought, and that are to be copied out */
    struct tutti_recv_request *recv[TUTTI_BATCH_MOST];
    struct tutti_stage *stage[TUTTI_BATCH_MOST];
    struct tutti_request *entry[TUTTI_BATCH_MOST];
    struct tutti_request *plain_entry[TUTTI_BATCH_MOST];
    struct tutti_stage *plain_stage[TUTTI_BATCH_MOST];
    MPI_Count plain_bytes[TUTTI_BATCH_MOST];
};

/* 1 if it takes no more, for now. */
static inline int tutti_batch_full(const struct tutti_batch *batch)
{
    return batch->n == TUTTI_BATCH_MOST;
}
/* The receive is open, of this entry, which is coming until it has been fetched. */
void tutti_batch_add(struct tutti_batch *batch, struct tutti_request *entry, struct tutti_recv_request *recv,
                     struct tutti_stage *stage);
void tutti_batch_run(struct tutti_batch *batch);
/* A message that the MPI has brought into this stage: if the call completes several requests, tutti_batch_out() copies
 * several such messages together, and their entries are delivered. Takes NULL for the batch. */
void tutti_batch_keep(struct tutti_batch *batch, struct tutti_request *entry, struct tutti_stage *stage,
                      const MPI_Status *status);
void tutti_batch_out(struct tutti_batch *batch);

#endif
