#include "coll/carry/batch.h"

#include "core/status.h"

enum { BATCH_RUNS = 2 }; /* more runs of bytes go in one launch */

static int batch_copy(struct tutti_carry_batch *batch)
{
    const uint64_t bytes = batch->bytes;
    const int out = batch->direction == TUTTI_PACK;
    batch->bytes = 0;
    batch->posted |= bytes > 0;
    return bytes == 0 ? TUTTI_OK
                      : tutti_device()->stream.copy(batch->port->stream, out ? batch->memory : batch->run,
                                                    out ? batch->run : batch->memory, bytes);
}

static int carry_batch_launch(struct tutti_carry_batch *batch)
{
    const unsigned jobs = batch->jobs;
    batch->jobs = 0;
    batch->posted |= jobs > 0;
    return jobs == 0 ? TUTTI_OK : tutti_pack_enqueue(batch->port->stream, batch->port->gpu, batch->job, jobs);
}

int tutti_carry_batch_add(struct tutti_carry_batch *batch, const struct tutti_elements *elements, uint64_t first,
                          uint64_t bytes, char *memory)
{
    int status = TUTTI_OK;
    if (elements->whole) {
        char *const run = tutti_elements_run(elements) + first;
        if (batch->bytes > 0 && run == batch->run + batch->bytes && memory == batch->memory + batch->bytes) {
            batch->bytes += bytes;
            return TUTTI_OK;
        }
        if (batch->runs < BATCH_RUNS) {
            status = batch_copy(batch);
            batch->run = run;
            batch->memory = memory;
            batch->bytes = bytes;
            batch->runs++;
            return status;
        }
    }
    if (batch->jobs == TUTTI_CARRY_BATCH)
        status = carry_batch_launch(batch);
    batch->job[batch->jobs++] = tutti_elements_job(batch->direction, elements, first, bytes, memory);
    return status;
}

int tutti_carry_batch_end(struct tutti_carry_batch *batch, struct tutti_event *event)
{
    int status = batch_copy(batch);
    if (status == TUTTI_OK)
        status = carry_batch_launch(batch);
    if (status != TUTTI_OK || !batch->posted)
        return status;
    status = tutti_device()->event.record(event, batch->port->stream);
    return status == TUTTI_OK ? 1 : status;
}
