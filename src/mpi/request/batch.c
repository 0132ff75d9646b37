#include "mpi/request/batch.h"

void tutti_batch_add(struct tutti_batch *batch, struct tutti_request *entry, struct tutti_recv_request *recv,
                     struct tutti_stage *stage)
{
    entry->coming = 1;
    if (tutti_batch_full(batch) && batch->how == TUTTI_FETCH_ALL)
        tutti_batch_run(batch);
    if (tutti_batch_full(batch)) /* the next time */
        return;
    batch->recv[batch->n] = recv;
    batch->stage[batch->n] = stage;
    batch->entry[batch->n++] = entry;
}

void tutti_batch_run(struct tutti_batch *batch)
{
    if (batch->n == 0)
        return;
    batch->entry[0]->kind->fetch(batch);
    batch->n = 0;
}
