#include "mpi/request/batch.h"

#include "mpi/bounce/stage.h"

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

void tutti_batch_keep(struct tutti_batch *batch, struct tutti_request *entry, struct tutti_stage *stage,
                      const MPI_Status *status)
{
    if (!batch || batch->how != TUTTI_FETCH_ALL || entry->delivered || entry->under || !stage->staged)
        return;
    if (batch->plain == TUTTI_BATCH_MOST)
        tutti_batch_out(batch);
    batch->plain_stage[batch->plain] = stage;
    batch->plain_bytes[batch->plain] = tutti_received(status);
    batch->plain_entry[batch->plain++] = entry;
}

void tutti_batch_out(struct tutti_batch *batch)
{
    unsigned char done[TUTTI_BATCH_MOST];
    _Static_assert((int)TUTTI_BATCH_MOST <= (int)TUTTI_TOGETHER, "stages_out() takes all");
    if (batch->plain > 1) {
        tutti_stages_out(batch->plain_stage, batch->plain_bytes, (unsigned)batch->plain, done);
        for (int i = 0; i < batch->plain; i++)
            batch->plain_entry[i]->delivered |= done[i];
    }
    batch->plain = 0;
}
