/* A staged collective of device memory. */
#include <stdlib.h>

#include "mpi/bounce/blocks.h"
#include "mpi/move/requests.h"
#include "mpi/real/errors.h"
#include "mpi/request/request.h"

struct collective {
    struct tutti_exchange *exchange;
};

static struct tutti_exchange *of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct collective, entry)->exchange;
}

static int prepare(struct tutti_request *entry)
{
    int done = tutti_blocks_in(&of(entry)->in);
    if (done == TUTTI_OK)
        done = tutti_blocks_in(&of(entry)->out);
    if (done == TUTTI_OK)
        tutti_exchange_count(of(entry));
    return done == TUTTI_OK ? MPI_SUCCESS : tutti_stage_failed(of(entry)->name, entry->comm, done);
}

static int deliver(struct tutti_request *entry, MPI_Status *status)
{
    (void)status;
    if (entry->delivered)
        return MPI_SUCCESS;
    int done = tutti_blocks_out(&of(entry)->out);
    entry->delivered = done == TUTTI_OK;
    return done == TUTTI_OK ? MPI_SUCCESS : tutti_stage_failed(of(entry)->name, entry->comm, done);
}

static MPI_Comm *comm_at(struct tutti_request *entry)
{
    return &of(entry)->comm;
}

static void close(struct tutti_request *entry)
{
    tutti_blocks_close(&of(entry)->in);
    tutti_blocks_close(&of(entry)->out);
    free(of(entry));
}

static const struct tutti_request_kind collective = {
    .name = "staged collective", .prepare = prepare, .comm = comm_at, .deliver = deliver, .close = close};

struct tutti_request *tutti_collective_entry(struct tutti_exchange *exchange, int persistent)
{
    struct tutti_request *entry = tutti_request_new(&collective, tutti_handles.no_request, exchange->comm);
    if (!entry)
        return NULL;
    TUTTI_REQUEST_OF(struct collective, entry)->exchange = exchange;
    entry->persistent = persistent;
    return entry;
}
