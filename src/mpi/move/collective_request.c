/* A staged collective of device memory. */
#include <stdlib.h>

#include "mpi/bounce/blocks.h"
#include "mpi/move/requests.h"
#include "mpi/real/errors.h"
#include "mpi/request/request.h"

struct collective {
    struct tutti_exchange *exchange;
};

static struct tutti_exchange *exchange_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct collective, entry)->exchange;
}

static int exchange_prepare(struct tutti_request *entry)
{
    int done = tutti_blocks_in(&exchange_of(entry)->in);
    if (done == TUTTI_OK)
        done = tutti_blocks_in(&exchange_of(entry)->out);
    if (done == TUTTI_OK)
        tutti_exchange_count(exchange_of(entry));
    return done == TUTTI_OK ? MPI_SUCCESS : tutti_stage_failed(exchange_of(entry)->name, entry->comm, done);
}

static int exchange_deliver(struct tutti_request *entry, MPI_Status *status)
{
    (void)status;
    if (entry->delivered)
        return MPI_SUCCESS;
    int done = tutti_blocks_out(&exchange_of(entry)->out);
    entry->delivered = done == TUTTI_OK;
    return done == TUTTI_OK ? MPI_SUCCESS : tutti_stage_failed(exchange_of(entry)->name, entry->comm, done);
}

static MPI_Comm *comm_at(struct tutti_request *entry)
{
    return &exchange_of(entry)->comm;
}

static void exchange_close(struct tutti_request *entry)
{
    tutti_blocks_close(&exchange_of(entry)->in);
    tutti_blocks_close(&exchange_of(entry)->out);
    free(exchange_of(entry));
}

static const struct tutti_request_kind collective = {.name = "staged collective",
                                                     .prepare = exchange_prepare,
                                                     .comm = comm_at,
                                                     .deliver = exchange_deliver,
                                                     .close = exchange_close};

struct tutti_request *tutti_collective_entry(struct tutti_exchange *exchange, int persistent)
{
    struct tutti_request *entry = tutti_request_new(&collective, tutti_handles.no_request, exchange->comm);
    if (!entry)
        return NULL;
    TUTTI_REQUEST_OF(struct collective, entry)->exchange = exchange;
    entry->persistent = persistent;
    return entry;
}
