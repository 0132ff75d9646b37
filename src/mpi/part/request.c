/* Requests of partitioned messages: persistent receives from this process, which the end of a round completes. */
#include <pthread.h>
#include <uthash.h>

#include "core/log.h"
#include "mpi/part/partitioned.h"
#include "mpi/real/errors.h"
#include "mpi/real/lent.h"
#include "mpi/real/self.h"
#include "mpi/request/request.h"

struct tutti_partitioned {
    struct tutti_partitioned_args args;
    struct tutti_part *part;
    struct tutti_request *entry;
    MPI_Request handle;
    int tag; /* that completes the request */
    const struct tutti_plan *plan;
    UT_hash_handle hh;
};

/* By handle. A completion call takes a request's entry out of the table of all requests, while other threads mark its
 * partitions: so there is another table of these. */
static struct tutti_partitioned *table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct tutti_partitioned *partitioned_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct tutti_partitioned, entry);
}

struct tutti_part *tutti_partitioned_find(MPI_Request request, MPI_Comm *comm)
{
    struct tutti_partitioned *one;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, &request, sizeof request, one);
    if (one)
        *comm = one->entry->comm;
    pthread_mutex_unlock(&lock);
    return one ? one->part : NULL;
}

int tutti_partitioned_is_started(MPI_Request request)
{
    const struct tutti_partitioned *one;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, &request, sizeof request, one);
    const int started = one && one->entry->active;
    pthread_mutex_unlock(&lock);
    return started;
}

static void partitioned_ended(void *with)
{
    const struct tutti_partitioned *one = with;
    tutti_self_complete(one->tag);
}

static const char *partitioned_name(const struct tutti_partitioned *one)
{
    return one->args.send ? "MPI_Psend_init" : "MPI_Precv_init";
}

static int partitioned_start(struct tutti_request *entry, MPI_Request *unused)
{
    struct tutti_partitioned *one = partitioned_of(entry);
    (void)unused;
    if (entry->active) {
        tutti_error("%s: MPI_Start of a request that is active", partitioned_name(one));
        return tutti_fail_comm(entry->comm, MPI_ERR_REQUEST);
    }
    TUTTI_INSIDE();
    MPI_Request request = one->handle;
    int code = tutti_next.MPI_Start(&request);
    if (code == MPI_SUCCESS && tutti_part_start(one->part) != TUTTI_OK)
        code = tutti_fail_comm(entry->comm, MPI_ERR_REQUEST);
    return code;
}

static int partitioned_cancel(struct tutti_request *entry, MPI_Request *request)
{
    (void)request;
    tutti_error("MPI_Cancel: a partitioned message cannot be cancelled");
    return tutti_fail_comm(entry->comm, MPI_ERR_REQUEST);
}

static void partitioned_status(const struct tutti_partitioned *one, MPI_Status *status)
{
    const int null = one->args.peer == MPI_PROC_NULL;
    status->MPI_SOURCE = one->args.peer;
    status->MPI_TAG = null ? MPI_ANY_TAG : one->args.tag;
    tutti_next.MPI_Status_set_elements_x(status, tutti_handles.byte,
                                         null || one->args.send ? 0 : (MPI_Count)tutti_part_bytes(one->part));
}

static int partitioned_deliver(struct tutti_request *entry, MPI_Status *status)
{
    const struct tutti_partitioned *one = partitioned_of(entry);
    const int failed = tutti_part_status(one->part);
    partitioned_status(one, status);
    if (failed != TUTTI_OK) {
        tutti_error("%s: the message failed: %s", partitioned_name(one), tutti_status_text(failed));
        return tutti_fail_comm(entry->comm, failed == TUTTI_ERR_ARGUMENT ? MPI_ERR_ARG : tutti_error_code(failed));
    }
    return tutti_part_truncated(one->part) ? tutti_fail_comm(entry->comm, MPI_ERR_TRUNCATE) : MPI_SUCCESS;
}

static void partitioned_end(struct tutti_partitioned *one)
{
    tutti_part_free(one->part);
    tutti_self_release(one->tag);
    tutti_plan_drop(one->plan);
    tutti_type_release(one->args.type);
}

/* Another request may have got the handle by now: its entry is found first. */
static void partitioned_close(struct tutti_request *entry)
{
    struct tutti_partitioned *one = partitioned_of(entry);
    pthread_mutex_lock(&lock);
    HASH_DEL(table, one);
    pthread_mutex_unlock(&lock);
    partitioned_end(one);
}

static const struct tutti_request_kind kind = {.name = "partitioned message",
                                               .stays = 1,
                                               .start = partitioned_start,
                                               .cancel = partitioned_cancel,
                                               .deliver = partitioned_deliver,
                                               .close = partitioned_close};

int tutti_partitioned_new(const struct tutti_partitioned_args *args, struct tutti_part_args *part, MPI_Request *request)
{
    MPI_Request handle;
    int tag = -1;
    TUTTI_INSIDE();
    if (!tutti_type_hold(args->type))
        return MPI_ERR_NO_MEM;
    if (tutti_self_request(1, &handle, &tag) != 0) {
        tutti_type_release(args->type);
        return MPI_ERR_NO_MEM;
    }
    struct tutti_request *entry = tutti_request_new(&kind, handle, args->comm);
    struct tutti_partitioned *one = entry ? partitioned_of(entry) : NULL;
    if (one) {
        *one = (struct tutti_partitioned){.args = *args, .entry = entry, .handle = handle, .tag = tag};
        part->ended = partitioned_ended;
        part->with = one;
        one->part = tutti_part_new(part);
    }
    if (!one || !one->part) {
        tutti_next.MPI_Request_free(&handle);
        tutti_self_release(tag);
        tutti_type_release(args->type);
        if (entry)
            tutti_request_give(entry);
        return MPI_ERR_NO_MEM;
    }
    one->plan = tutti_plan_hold(part->plan);
    entry->persistent = 1;
    pthread_mutex_lock(&lock);
    HASH_ADD(hh, table, handle, sizeof one->handle, one);
    pthread_mutex_unlock(&lock);
    *request = handle;
    return tutti_request_put(entry);
}

void tutti_partitioned_forget(void)
{
    pthread_mutex_lock(&lock);
    HASH_CLEAR(hh, table);
    pthread_mutex_unlock(&lock);
}
