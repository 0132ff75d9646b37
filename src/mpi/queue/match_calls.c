/* The calls that make persistent requests for queues, match them and free them. */
#include <stdlib.h>

#include "core/log.h"
#include "mpi/message/endpoints.h"
#include "mpi/queue/nodes.h"
#include "mpi/queue/queue_own.h"
#include "mpi/real/errors.h"
#include "progress/engine.h"

/* ---- requests ---- */

static struct tutti_mpix_request *request_new(void)
{
    struct tutti_mpix_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    pthread_mutex_lock(&tutti_queue_lock);
    request->next = tutti_queue_requests;
    tutti_queue_requests = request;
    pthread_mutex_unlock(&tutti_queue_lock);
    return request;
}

static int request_init(const char *name, const struct tutti_mpix_request *what, struct tutti_mpix_request **out)
{
    int size = 0;
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!out)
        return tutti_fail_self(MPI_ERR_ARG);
    *out = NULL;
    if (what->comm == tutti_handles.no_comm)
        return tutti_fail_self(MPI_ERR_COMM);
    tutti_next.MPI_Comm_size(what->comm, &size);
    if (!what->send && what->peer == MPI_ANY_SOURCE)
        return tutti_queue_refuse(name, what->comm, MPI_ERR_RANK,
                                  "MPI_ANY_SOURCE: name the source, since a match is for all starts");
    if (what->peer != MPI_PROC_NULL && (what->peer < 0 || what->peer >= size))
        return tutti_queue_refuse(name, what->comm, MPI_ERR_RANK, "the other rank is no rank of the communicator");
    if (what->tag < 0)
        return tutti_queue_refuse(name, what->comm, MPI_ERR_TAG,
                                  !what->send && what->tag == MPI_ANY_TAG
                                      ? "MPI_ANY_TAG: name the tag, since a match is for all starts"
                                      : "not a tag");
    struct tutti_mpix_request *request = request_new();
    if (!request)
        return tutti_queue_refuse(name, what->comm, MPI_ERR_NO_MEM, "out of memory");
    struct tutti_mpix_request *const next = request->next;
    *request = *what;
    request->next = next;
    *out = request;
    return MPI_SUCCESS;
}

int tutti_door_MPIX_Send_init(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                              MPI_Info info, struct tutti_mpix_request **out)
{
    (void)info;
    return request_init("MPIX_Send_init",
                        &(const struct tutti_mpix_request){.send = 1,
                                                           .buffer = (void *)(uintptr_t)buffer,
                                                           .count = count,
                                                           .type = type,
                                                           .peer = dest,
                                                           .tag = tag,
                                                           .comm = comm},
                        out);
}

int tutti_door_MPIX_Rsend_init(const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                               MPI_Info info, struct tutti_mpix_request **out)
{
    return tutti_door_MPIX_Send_init(buffer, count, type, dest, tag, comm, info, out);
}

int tutti_door_MPIX_Recv_init(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                              MPI_Info info, struct tutti_mpix_request **out)
{
    (void)info;
    return request_init("MPIX_Recv_init",
                        &(const struct tutti_mpix_request){
                            .buffer = buffer, .count = count, .type = type, .peer = source, .tag = tag, .comm = comm},
                        out);
}

void tutti_queue_request_free(struct tutti_mpix_request *request)
{
    pthread_mutex_lock(&tutti_queue_lock);
    struct tutti_mpix_request **at = &tutti_queue_requests;
    while (*at && *at != request)
        at = &(*at)->next;
    if (*at)
        *at = request->next;
    if (!request->of)
        tutti_match_end(request);
    pthread_mutex_unlock(&tutti_queue_lock);
    free(request);
}

int tutti_door_MPIX_Request_free(struct tutti_mpix_request **handle)
{
    static const char call[] = "MPIX_Request_free";
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!handle)
        return tutti_fail_self(MPI_ERR_ARG);
    struct tutti_mpix_request *request = *handle;
    if (!request)
        return MPI_SUCCESS;
    if (!request->of && (request->active || request->matching))
        return tutti_queue_refuse(call, request->comm, MPI_ERR_REQUEST,
                                  request->active ? "the request is started: call MPIX_Enqueue_waitall first"
                                                  : "the request is being matched: complete that first");
    if (request->queue && tutti_door.device->stream.capturing(request->queue->stream) == 0)
        (void)tutti_queue_drain(request->queue); /* its kernels use the port; later calls report failures */
    tutti_inside++;
    tutti_queue_request_free(request);
    tutti_inside--;
    *handle = NULL;
    return MPI_SUCCESS;
}

int tutti_door_MPIX_Request_freeall(int count, struct tutti_mpix_request *handles[])
{
    int code = MPI_SUCCESS;
    for (int i = 0; i < count && code == MPI_SUCCESS; i++)
        code = tutti_door_MPIX_Request_free(&handles[i]);
    return code;
}

/* ---- matches ---- */

/* A GPU for requests whose buffers are on none. */
static int match_gpu(const struct tutti_mpix_queue *queue)
{
    int gpu = -1;
    if (queue || tutti_queues)
        return queue ? queue->team->gpu : tutti_queues->team->gpu;
    if (tutti_door.device->gpu.current(&gpu) != TUTTI_OK || gpu < 0)
        gpu = tutti_node_rank(tutti_door.node) %
              (tutti_door.device->gpu.count() > 0 ? tutti_door.device->gpu.count() : 1);
    return gpu;
}

static int match_start(const char *name, const struct tutti_mpix_queue *queue, struct tutti_mpix_request *request)
{
    char text[256];
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!request || request->of)
        return tutti_fail_self(MPI_ERR_REQUEST);
    if (request->stage != TUTTI_MATCH_NOT)
        return tutti_queue_refuse(name, request->comm, MPI_ERR_REQUEST,
                                  "the request is matched, or its match has failed");
    if (request->peer == MPI_PROC_NULL) {
        request->stage = TUTTI_MATCHED;
        return MPI_SUCCESS;
    }
    request->node_peer = tutti_door.node ? tutti_endpoints_peer(request->comm, request->peer) : -1;
    if (request->node_peer < 0 && tutti_queue_nodes_check(request) != MPI_SUCCESS)
        return tutti_queue_refuse(name, request->comm, request->code, request->why);
    if (tutti_door.device->open(text, sizeof text) != TUTTI_OK)
        return tutti_queue_refuse(name, request->comm, MPI_ERR_UNSUPPORTED_OPERATION, "this process has no device");
    tutti_inside++;
    pthread_mutex_lock(&tutti_queue_lock);
    const int code = tutti_match_begin(request, match_gpu(queue));
    pthread_mutex_unlock(&tutti_queue_lock);
    tutti_inside--;
    return code == MPI_SUCCESS ? code : tutti_queue_refuse(name, request->comm, code, request->why);
}

static int match_has_ended(void *with)
{
    struct tutti_mpix_request *request = with;
    tutti_inside++;
    pthread_mutex_lock(&tutti_queue_lock);
    const int ended =
        request->stage == TUTTI_MATCHED || request->stage == TUTTI_MATCH_FAILED || tutti_match_test(request);
    pthread_mutex_unlock(&tutti_queue_lock);
    tutti_inside--;
    return ended;
}

/* What the match has found: the message of each start. */
static void match_status(const struct tutti_mpix_request *request, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    const int null = request->peer == MPI_PROC_NULL;
    status->MPI_SOURCE = request->send && !null ? MPI_ANY_SOURCE : request->peer;
    status->MPI_TAG = null ? MPI_ANY_TAG : request->tag;
    status->MPI_ERROR = MPI_SUCCESS;
    tutti_next.MPI_Status_set_elements_x(status, tutti_handles.byte, null ? 0 : request->came);
    tutti_next.MPI_Status_set_cancelled(status, 0);
}

static int match_wait(const char *name, struct tutti_mpix_request *request, MPI_Status *status)
{
    const struct tutti_wait wait = {.done = match_has_ended,
                                    .with = request,
                                    .what = "the other rank has not matched its persistent request",
                                    .watched = 1};
    const int waited = match_has_ended(request) ? TUTTI_OK : tutti_progress_wait(&wait);
    if (waited != TUTTI_OK)
        return tutti_queue_refuse(name, request->comm, tutti_error_code(waited), tutti_status_text(waited));
    if (request->stage == TUTTI_MATCH_FAILED)
        return tutti_queue_refuse(name, request->comm, request->code, request->why);
    match_status(request, status);
    return MPI_SUCCESS;
}

int tutti_door_MPIX_Queue_match(struct tutti_mpix_queue *queue, struct tutti_mpix_request **handle, MPI_Status *status)
{
    static const char call[] = "MPIX_Match";
    if (!handle)
        return tutti_door.on ? tutti_fail_self(MPI_ERR_REQUEST) : MPI_ERR_UNSUPPORTED_OPERATION;
    const int code = match_start(call, queue, *handle);
    return code == MPI_SUCCESS ? match_wait(call, *handle, status) : code;
}

int tutti_door_MPIX_Match(struct tutti_mpix_request **handle, MPI_Status *status)
{
    return tutti_door_MPIX_Queue_match(NULL, handle, status);
}

int tutti_door_MPIX_Matchall(int count, struct tutti_mpix_request *handles[], MPI_Status *statuses)
{
    static const char call[] = "MPIX_Matchall";
    int code = tutti_door.on ? MPI_SUCCESS : MPI_ERR_UNSUPPORTED_OPERATION, one;
    for (int i = 0; i < count && code == MPI_SUCCESS; i++)
        code = match_start(call, NULL, handles[i]);
    for (int i = 0; i < count && code != MPI_ERR_UNSUPPORTED_OPERATION; i++) { /* all that have begun end */
        if (!handles[i] || handles[i]->stage == TUTTI_MATCH_NOT)
            continue;
        one = match_wait(call, handles[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
        code = code == MPI_SUCCESS ? one : code;
    }
    return code;
}

int tutti_door_MPIX_Imatch(struct tutti_mpix_request **handle, struct tutti_mpix_request **out)
{
    static const char call[] = "MPIX_Imatch";
    if (!handle || !out)
        return tutti_door.on ? tutti_fail_self(MPI_ERR_REQUEST) : MPI_ERR_UNSUPPORTED_OPERATION;
    const int code = match_start(call, NULL, *handle);
    if (code != MPI_SUCCESS)
        return code;
    struct tutti_mpix_request *request = request_new();
    if (!request)
        return tutti_queue_refuse(call, (*handle)->comm, MPI_ERR_NO_MEM, "out of memory");
    request->of = *handle;
    request->comm = (*handle)->comm;
    *out = request;
    return MPI_SUCCESS;
}

int tutti_door_MPIX_Is_matched(struct tutti_mpix_request **handle, int *flag)
{
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!handle || !*handle || !flag)
        return tutti_fail_self(MPI_ERR_REQUEST);
    struct tutti_mpix_request *request = (*handle)->of ? (*handle)->of : *handle;
    if (request->matching) {
        tutti_progress_poll();
        (void)match_has_ended(request);
    }
    *flag = request->stage == TUTTI_MATCHED;
    return MPI_SUCCESS;
}

int tutti_door_MPIX_Wait(struct tutti_mpix_request **handle, MPI_Status *status)
{
    static const char call[] = "MPIX_Wait";
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!handle)
        return tutti_fail_self(MPI_ERR_REQUEST);
    struct tutti_mpix_request *request = *handle;
    if (!request)
        return MPI_SUCCESS;
    if (!request->of)
        return tutti_queue_refuse(call, request->comm, MPI_ERR_REQUEST,
                                  "not a request of MPIX_Imatch: started ones are waited for by MPIX_Enqueue_wait");
    const int code = match_wait(call, request->of, status);
    tutti_queue_request_free(request);
    *handle = NULL;
    return code;
}

int tutti_door_MPIX_Waitall(int count, struct tutti_mpix_request *handles[], MPI_Status *statuses)
{
    int code = tutti_door.on ? MPI_SUCCESS : MPI_ERR_UNSUPPORTED_OPERATION, one;
    for (int i = 0; i < count && tutti_door.on; i++) {
        one = tutti_door_MPIX_Wait(&handles[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
        code = code == MPI_SUCCESS ? one : code;
    }
    return code;
}
