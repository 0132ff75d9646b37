/* Requests of partitioned collectives: persistent receives from this process, which the end of a round completes. */
#include <pthread.h>
#include <stdlib.h>
#include <uthash.h>

#include "core/log.h"
#include "mpi/part/coll.h"
#include "mpi/real/errors.h"
#include "mpi/real/lent.h"
#include "mpi/real/self.h"
#include "mpi/request/request.h"

struct tutti_pcoll_entry {
    const char *name;
    struct tutti_pcoll *pcoll;
    struct tutti_request *entry;
    MPI_Request handle;
    int tag; /* that completes the request */
    MPI_Datatype type;
    MPI_Op op; /* type, op: of a reduction */
    int reduces, plans;
    const struct tutti_plan **plan; /* [plans]: of all blocks */
    UT_hash_handle hh;
};

/* By handle: see request.c. */
static struct tutti_pcoll_entry *table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct tutti_pcoll_entry *pcoll_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct tutti_pcoll_entry, entry);
}

struct tutti_pcoll *tutti_pcoll_find(MPI_Request request, MPI_Comm *comm)
{
    struct tutti_pcoll_entry *one;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, &request, sizeof request, one);
    if (one)
        *comm = one->entry->comm;
    pthread_mutex_unlock(&lock);
    return one ? one->pcoll : NULL;
}

int tutti_pcoll_is_started(MPI_Request request)
{
    struct tutti_pcoll_entry *one;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, &request, sizeof request, one);
    const int started = one && one->entry->active;
    pthread_mutex_unlock(&lock);
    return started;
}

static void pcoll_ended(void *with)
{
    const struct tutti_pcoll_entry *one = with;
    tutti_self_complete(one->tag);
}

/* By the MPI: of types and operators that kernels do not combine. */
static int pcoll_combine(void *with, const void *in, void *inout, int64_t count)
{
    const struct tutti_pcoll_entry *one = with;
    enum { PIECE = 1 << 30 };
    const struct tutti_plan *plan = one->plan[0];
    TUTTI_INSIDE();
    for (int64_t first = 0; first < count; first += PIECE) {
        const int n = count - first < PIECE ? (int)(count - first) : PIECE;
        const int64_t at = first * plan->extent;
        if (tutti_next.MPI_Reduce_local((const char *)in + at, (char *)inout + at, n, one->type, one->op) !=
            MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
    }
    return TUTTI_OK;
}

static int pcoll_start(struct tutti_request *entry, MPI_Request *unused)
{
    struct tutti_pcoll_entry *one = pcoll_of(entry);
    (void)unused;
    if (entry->active) {
        tutti_error("%s: MPI_Start of a request that is active", one->name);
        return tutti_fail_comm(entry->comm, MPI_ERR_REQUEST);
    }
    TUTTI_INSIDE();
    MPI_Request request = one->handle;
    int code = tutti_next.MPI_Start(&request);
    if (code != MPI_SUCCESS)
        return code;
    const int status = tutti_pcoll_start(one->pcoll);
    if (status == TUTTI_OK) {
        tutti_count_made(one->name, tutti_pcoll_algorithm(one->pcoll), tutti_pcoll_bytes(one->pcoll));
        return MPI_SUCCESS;
    }
    tutti_error("%s: the round could not be started: %s", one->name, tutti_status_text(status));
    tutti_self_complete(one->tag); /* the MPI's request is active: it completes with nothing */
    tutti_next.MPI_Wait(&request, MPI_STATUS_IGNORE);
    return tutti_fail_comm(entry->comm, tutti_error_code(status));
}

static int pcoll_cancel(struct tutti_request *entry, MPI_Request *request)
{
    (void)request;
    tutti_error("MPI_Cancel: a partitioned collective cannot be cancelled");
    return tutti_fail_comm(entry->comm, MPI_ERR_REQUEST);
}

static int pcoll_deliver(struct tutti_request *entry, MPI_Status *status)
{
    const struct tutti_pcoll_entry *one = pcoll_of(entry);
    const int failed = tutti_pcoll_status(one->pcoll);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    tutti_next.MPI_Status_set_elements_x(status, tutti_handles.byte, 0);
    if (failed == TUTTI_OK)
        return MPI_SUCCESS;
    if (failed > 0) {
        tutti_error("%s: a block is longer than its receiver has room for", one->name);
        return tutti_fail_comm(entry->comm, MPI_ERR_TRUNCATE);
    }
    tutti_error("%s: the round failed: %s", one->name, tutti_status_text(failed));
    return tutti_fail_comm(entry->comm, tutti_error_code(failed));
}

static void pcoll_end(struct tutti_pcoll_entry *one)
{
    tutti_pcoll_free(one->pcoll);
    tutti_self_release(one->tag);
    for (int i = 0; i < one->plans; i++)
        tutti_plan_drop(one->plan[i]);
    free(one->plan);
    if (one->reduces)
        tutti_handles_release(one->type, one->op);
}

/* Another request may have got the handle by now: its entry is found first. */
static void pcoll_close(struct tutti_request *entry)
{
    struct tutti_pcoll_entry *one = pcoll_of(entry);
    pthread_mutex_lock(&lock);
    HASH_DEL(table, one);
    pthread_mutex_unlock(&lock);
    pcoll_end(one);
}

static const struct tutti_request_kind kind = {.name = "partitioned collective",
                                               .stays = 1,
                                               .start = pcoll_start,
                                               .cancel = pcoll_cancel,
                                               .deliver = pcoll_deliver,
                                               .close = pcoll_close};

/* Holds the plans of all blocks. 0 without memory. */
static int plans_hold(struct tutti_pcoll_entry *one, const struct tutti_pcoll_args *args)
{
    const struct tutti_pcoll_side *sides[] = {&args->send, &args->recv};
    one->plan = malloc(((size_t)args->send.blocks + (size_t)args->recv.blocks + 1) * sizeof *one->plan);
    for (int s = 0; one->plan && s < 2; s++) {
        for (int i = 0; i < sides[s]->blocks; i++)
            one->plan[one->plans++] = tutti_plan_hold(sides[s]->block[i].plan);
    }
    return one->plan != NULL;
}

int tutti_pcoll_request(const struct tutti_pcoll_call *call, struct tutti_pcoll_args *args, MPI_Request *request)
{
    MPI_Request handle;
    int tag = -1;
    const MPI_Datatype type = call->send.used ? call->send.type : call->recv.type;
    TUTTI_INSIDE();
    if (call->reduces && !tutti_handles_hold(type, call->op))
        return MPI_ERR_NO_MEM;
    if (tutti_self_request(1, &handle, &tag) != 0) {
        if (call->reduces)
            tutti_handles_release(type, call->op);
        return MPI_ERR_NO_MEM;
    }
    struct tutti_request *entry = tutti_request_new(&kind, handle, call->comm);
    struct tutti_pcoll_entry own = {.name = call->name,
                                    .entry = entry,
                                    .handle = handle,
                                    .tag = tag,
                                    .type = type,
                                    .op = call->op,
                                    .reduces = call->reduces};
    struct tutti_pcoll_entry *one = entry ? pcoll_of(entry) : &own;
    *one = own;
    args->combine = pcoll_combine;
    args->ended = pcoll_ended;
    args->with = one;
    if (entry && plans_hold(one, args))
        one->pcoll = tutti_pcoll_new(args);
    if (!one->pcoll) {
        tutti_next.MPI_Request_free(&handle);
        pcoll_end(one);
        if (entry)
            tutti_request_give(entry);
        return MPI_ERR_NO_MEM;
    }
    entry->persistent = 1;
    pthread_mutex_lock(&lock);
    HASH_ADD(hh, table, handle, sizeof one->handle, one);
    pthread_mutex_unlock(&lock);
    *request = handle;
    return tutti_request_put(entry);
}

void tutti_pcoll_forget(void)
{
    pthread_mutex_lock(&lock);
    HASH_CLEAR(hh, table);
    pthread_mutex_unlock(&lock);
}
