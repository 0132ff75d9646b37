#include "mpi/queue/host_run.h"

#include <stdlib.h>
#include <string.h>

#include "bounce/bounce.h"

/* A function of the host gets this one: it stays while a stream, or a graph, may reach it. */
struct tutti_queue_host_run {
    void *run;
    struct tutti_bounce *pinned;
    const struct tutti_lane_match *start; /* of the request: its bytes */
};

int tutti_queue_host_run_take(struct tutti_mpix_request *request)
{
    if (!tutti_door.device->stream.call)
        return TUTTI_ERR_UNAVAILABLE;
    struct tutti_queue_host_run *const host = calloc(1, sizeof *host);
    if (!host)
        return TUTTI_ERR_MEMORY;
    request->host_run = host;
    host->start = &request->start;
    host->run = tutti_elements_run(&request->elements);
    host->pinned = tutti_bounce_take(&tutti_bounce_pinned, -1, request->start.bytes);
    if (!host->pinned)
        return TUTTI_ERR_MEMORY;
    request->elements.buffer = (char *)host->pinned->memory - request->elements.plan->true_lower;
    request->start.from = host->pinned->memory;
    return TUTTI_OK;
}

void tutti_queue_host_run_end(struct tutti_queue_host_run *host)
{
    if (host)
        tutti_bounce_give(host->pinned);
    free(host);
}

static void host_run_in(void *with)
{
    const struct tutti_queue_host_run *const host = with;
    memcpy(host->pinned->memory, host->run, host->start->bytes);
}

static void host_run_out(void *with)
{
    const struct tutti_queue_host_run *const host = with;
    memcpy(host->run, host->pinned->memory, host->start->bytes);
}

int tutti_queue_host_runs_copy(int send, int count, struct tutti_mpix_request *const of[], struct tutti_stream *stream)
{
    int status = TUTTI_OK;
    for (int i = 0; i < count && status == TUTTI_OK; i++) {
        if (of[i]->host_run && of[i]->send == send)
            status = tutti_door.device->stream.call(stream, send ? host_run_in : host_run_out, of[i]->host_run);
    }
    return status;
}
