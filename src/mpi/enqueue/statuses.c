#include "mpi/enqueue/statuses.h"

#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "p2p/lanes.h"

/* What one call of the host writes. */
struct batch {
    int kept; /* 1: a graph may write it again; the lanes free it */
    int n;
    const struct tutti_lanes *lanes;
    struct tutti_enqueued_status status[];
};

void tutti_enqueue_status_set(MPI_Status *status, int source, int tag, size_t bytes)
{
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    tutti_next.MPI_Status_set_elements_x(status, tutti_handles.byte, (MPI_Count)bytes);
    tutti_next.MPI_Status_set_cancelled(status, 0);
}

void tutti_enqueue_status_empty(MPI_Status *status)
{
    tutti_enqueue_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
}

int tutti_enqueue_can_report(const struct tutti_comm *comm)
{
    return tutti_door.device->stream.call && tutti_lanes_reports(comm->lanes);
}

static void status_of(const struct tutti_lanes *lanes, const struct tutti_enqueued_status *one)
{
    const volatile struct tutti_lane_report *report = &tutti_lanes_reports(lanes)[one->op];
    const size_t bytes = report->bytes;
    const int source = one->source == MPI_ANY_SOURCE ? (int)report->peer : one->source;
    const int tag = one->tag == MPI_ANY_TAG ? tutti_lanes_tag(lanes, report->peer, report->lane) : one->tag;
    tutti_enqueue_status_set(one->to, source, tag, bytes < one->most ? bytes : one->most);
}

/* On a thread of the device. Setting a status is all that it asks of the MPI: that is local, and takes no lock. */
static void batch_write(void *with)
{
    struct batch *batch = with;
    tutti_inside++;
    for (int i = 0; i < batch->n; i++) {
        const struct tutti_enqueued_status *one = &batch->status[i];
        if (one->source == MPI_PROC_NULL)
            tutti_enqueue_status_set(one->to, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        else
            status_of(batch->lanes, one);
    }
    tutti_inside--;
    if (!batch->kept)
        free(batch);
}

int tutti_enqueue_statuses(struct tutti_comm *comm, int captured, int n, const struct tutti_enqueued_status statuses[])
{
    const struct tutti_device *device = tutti_door.device;
    struct tutti_stream *stream = comm->stream->stream;
    if (captured < 0)
        return captured;
    struct batch *batch = malloc(sizeof *batch + (size_t)n * sizeof *statuses);
    if (!batch)
        return TUTTI_ERR_MEMORY;
    batch->kept = captured;
    batch->n = n;
    batch->lanes = comm->lanes;
    memcpy(batch->status, statuses, (size_t)n * sizeof *statuses);
    int status = captured ? tutti_lanes_keep(comm->lanes, free, batch) : TUTTI_OK;
    if (status != TUTTI_OK) {
        free(batch);
        return status;
    }
    status = device->stream.call(stream, batch_write, batch);
    if (status != TUTTI_OK && !captured)
        free(batch);
    return status;
}
