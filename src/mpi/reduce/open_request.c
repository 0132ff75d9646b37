/* Entries of the list of open calls, with a request of Tutti's own, which the completion calls take. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/affinity.h"
#include "core/log.h"
#include "core/reserve.h"
#include "core/spares.h"
#include "mpi/message/endpoints.h"
#include "mpi/real/errors.h"
#include "mpi/real/lent.h"
#include "mpi/real/self.h"
#include "mpi/reduce/deferred_call.h"
#include "mpi/reduce/nonblocking.h"
#include "mpi/request/request.h"

struct of_open {
    struct tutti_open_call *open;
};

static struct tutti_open_call *open_request_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct of_open, entry)->open;
}

static int open_request_start(struct tutti_request *entry, MPI_Request *unused)
{
    struct tutti_open_call *open = open_request_of(entry);
    (void)unused;
    if (open->phase != TUTTI_OPEN_IDLE || !open->persistent) {
        tutti_error("%s: MPI_Start of a request that is active", open->args.name);
        return tutti_fail_comm(open->comm, MPI_ERR_REQUEST);
    }
    tutti_open_call_start(open); /* the MPI's request is started when the MPI is to complete it */
    return MPI_SUCCESS;
}

static void open_request_claim(struct tutti_request *const entries[], int n)
{
    for (int i = 0; i < n; i++)
        entries[i]->claimed = tutti_open_call_claim(open_request_of(entries[i]));
    tutti_progress_poll(); /* most have ended if the program has computed for long enough */
}

static void open_request_unclaim(struct tutti_request *entry)
{
    tutti_open_call_unclaim(open_request_of(entry));
}

static int open_request_claimed_done(const struct tutti_request *entry)
{
    return atomic_load_explicit(&open_request_of(entry)->over, memory_order_acquire);
}

static int has_own_core(const struct tutti_node *node)
{
    return node &&
           (2 * tutti_node_size(node) <= tutti_node_cores(node) || tutti_thread_cpus_apart() >= tutti_node_size(node));
}

static int open_request_claimed_works(const struct tutti_request *entry, int here)
{
    return (here || has_own_core(tutti_p2p.node)) && tutti_open_call_works(open_request_of(entry));
}

static int open_request_cancel(struct tutti_request *entry, MPI_Request *request)
{
    (void)request;
    tutti_error("MPI_Cancel: %s cannot be cancelled", open_request_of(entry)->args.name);
    return tutti_fail_comm(open_request_of(entry)->comm, MPI_ERR_REQUEST);
}

static int open_request_free(struct tutti_request *entry, MPI_Request *request)
{
    return tutti_open_call_free(open_request_of(entry), request);
}

static MPI_Comm *open_request_comm_at(struct tutti_request *entry)
{
    return &open_request_of(entry)->comm;
}

static int open_request_deliver(struct tutti_request *entry, MPI_Status *status)
{
    const struct tutti_open_call *open = open_request_of(entry);
    (void)status;
    if (open->phase != TUTTI_OPEN_DONE || open->code == MPI_SUCCESS)
        return MPI_SUCCESS;
    return tutti_fail_comm(open->comm, open->code);
}

static void open_request_settle(struct tutti_request *entry)
{
    tutti_open_call_settle(open_request_of(entry));
}

static void open_request_close(struct tutti_request *entry)
{
    tutti_open_call_close(open_request_of(entry));
}

static const struct tutti_request_kind kind = {.name = "open call",
                                               .fills = 1,
                                               .stays = 1,
                                               .comm = open_request_comm_at,
                                               .start = open_request_start,
                                               .cancel = open_request_cancel,
                                               .free = open_request_free,
                                               .claim = open_request_claim,
                                               .unclaim = open_request_unclaim,
                                               .begins_claimed = 1,
                                               .claimed_done = open_request_claimed_done,
                                               .claimed_works = open_request_claimed_works,
                                               .deliver = open_request_deliver,
                                               .settle = open_request_settle,
                                               .close = open_request_close};

static int open_request_put(MPI_Request request, struct tutti_open_call *open, int persistent)
{
    struct tutti_request *entry = tutti_request_new(&kind, request, tutti_handles.world);
    if (!entry)
        return TUTTI_ERR_MEMORY;
    TUTTI_REQUEST_OF(struct of_open, entry)->open = open;
    entry->persistent = persistent;
    return tutti_request_put(entry) == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

/* ---- entries ---- */

/* 0: no memory. */
static int copy_counts(struct tutti_open_call *open)
{
    struct tutti_reduction_args *args = &open->args;
    size_t each = args->large ? sizeof(MPI_Count) : sizeof(int);
    int ranks = 0;
    if (!args->recvcounts)
        return 1;
    tutti_next.MPI_Comm_size(args->comm, &ranks);
    if (!(open->counts = malloc((size_t)ranks * each + 1)))
        return 0;
    memcpy(open->counts, args->recvcounts, (size_t)ranks * each);
    args->recvcounts = open->counts;
    return 1;
}

static struct tutti_spares unused;

/* NULL without memory. */
static struct tutti_open_call *open_request_take(void)
{
    static struct tutti_reserve reserve;
    struct tutti_open_call *const open =
        tutti_spares_take(&unused, offsetof(struct tutti_open_call, next), tutti_door_alone());
    return open ? memset(open, 0, sizeof *open) : tutti_reserve_take(&reserve, sizeof *open);
}

int tutti_open_call_request(struct tutti_open_call *open)
{
    TUTTI_INSIDE();
    return tutti_self_request(open->persistent, &open->request, &open->tag) == 0 &&
           open_request_put(open->request, open, open->persistent) == TUTTI_OK;
}

struct tutti_open_call *tutti_open_call_new(const struct tutti_reduction_args *args, int persistent)
{
    struct tutti_open_call *open = open_request_take();
    if (!open)
        return NULL;
    open->args = *args;
    open->comm = args->comm;
    open->persistent = persistent;
    open->real = tutti_handles.no_request;
    TUTTI_INSIDE();
    const int held = copy_counts(open) && tutti_handles_hold(args->datatype, args->op);
    if (!held || !tutti_open_call_request(open)) {
        if (held)
            tutti_handles_release(args->datatype, args->op);
        free(open->counts);
        tutti_spares_give(&unused, open, offsetof(struct tutti_open_call, next), tutti_door_alone());
        return NULL;
    }
    return open;
}

/* No completion call has the request any more. */
static void end_request(struct tutti_open_call *open)
{
    if (!open->by_mpi && !open->persistent) {
        tutti_self_keep(open->tag, open->request);
        return;
    }
    if (open->freed && open->by_mpi)
        tutti_self_end(open->persistent, &open->request);
    else if (open->freed)
        tutti_next.MPI_Request_free(&open->request);
    tutti_self_release(open->tag);
}

void tutti_open_call_give(struct tutti_open_call *open)
{
    tutti_handles_release(open->args.datatype, open->args.op);
    if (open->later)
        open->later->end(open->later);
    tutti_read_end(&open->read);
    free(open->counts);
    tutti_spares_give(&unused, open, offsetof(struct tutti_open_call, next), tutti_door_alone());
}

void tutti_open_call_destroy(struct tutti_open_call *open)
{
    tutti_sweeps_off++; /* the frees below may sweep, and end requests of this kind */
    end_request(open);
    if (open->persistent && open->args.comm != tutti_handles.no_comm)
        tutti_next.MPI_Comm_free(&open->args.comm);
    if (!tutti_open_call_keep(open))
        tutti_open_call_give(open);
    tutti_sweeps_off--;
}

void tutti_open_call_done(struct tutti_open_call *open)
{
    const int by_mpi = open->by_mpi, freed = open->freed;
    if (by_mpi)
        tutti_self_complete(open->tag); /* before the list is empty: see self.h */
    tutti_step_close(&tutti_nonblocking_step);
    if (freed)
        tutti_open_call_destroy(open);
    else if (!by_mpi)
        atomic_store_explicit(&open->over, 1, memory_order_release);
}
