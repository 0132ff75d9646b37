/* Queues: persistent requests that are matched once and started in a stream, any number of times, also by graphs. The
 * kernels are those of messages in stream order (p2p/lanes.h). A queue has lanes of this rank alone, since its requests
 * know their peers. */
#include <stdio.h>
#include <stdlib.h>

#include "core/log.h"
#include "dtype/pack.h"
#include "mpi/queue/host_run.h"
#include "mpi/queue/nodes.h"
#include "mpi/queue/queue_own.h"
#include "mpi/real/errors.h"
#include "progress/engine.h"
#include "team/watcher.h"

struct tutti_mpix_queue *tutti_queues;
struct tutti_mpix_request *tutti_queue_requests;
pthread_mutex_t tutti_queue_lock = PTHREAD_MUTEX_INITIALIZER;

int tutti_queue_refuse(const char *name, MPI_Comm comm, int code, const char *why)
{
    tutti_error("%s: %s", name, why);
    tutti_count(name, TUTTI_OUTCOME_REFUSED, why);
    return comm == tutti_handles.no_comm ? tutti_fail_self(code) : tutti_fail_comm(comm, code);
}

static int queue_failed(const char *name, int status, const char *why)
{
    if (status == TUTTI_ERR_UNAVAILABLE)
        return tutti_queue_refuse(name, tutti_handles.no_comm, MPI_ERR_UNSUPPORTED_OPERATION, why);
    return tutti_queue_refuse(name, tutti_handles.no_comm, tutti_error_code(status), tutti_status_text(status));
}

/* ---- queues ---- */

static int queue_is_idle(void *with)
{
    return tutti_door.device->stream.query(with);
}

int tutti_queue_drain(const struct tutti_mpix_queue *queue)
{
    int status = tutti_progress_wait(&(const struct tutti_wait){.done = queue_is_idle, .with = queue->stream});
    if (status == TUTTI_OK)
        status = tutti_team_fault(queue->team);
    pthread_mutex_lock(&tutti_queue_lock);
    for (struct tutti_mpix_request *request = tutti_queue_requests; request && status == TUTTI_OK;
         request = request->next) {
        if (request->nodes && request->queue == queue)
            status = tutti_queue_nodes_fault(request);
    }
    pthread_mutex_unlock(&tutti_queue_lock);
    return status;
}

static void queue_close(struct tutti_mpix_queue *queue, int alive, int settled)
{
    tutti_lanes_close(queue->lanes, alive, settled);
    if (queue->team)
        tutti_team_unshare(queue->team);
    tutti_team_free(queue->team);
    if (queue->stream && alive)
        tutti_door.device->stream.destroy(queue->stream);
    free(queue);
}

static int queue_open(struct tutti_mpix_queue *queue, void *handle, const char **why)
{
    const struct tutti_device *device = tutti_door.device;
    static char text[256];
    void *same;
    int gpu, status = device->open(text, sizeof text);
    *why = "the address of no stream of this device";
    if (status != TUTTI_OK || (status = device->stream.wrap(-1, handle, &queue->stream)) != TUTTI_OK) {
        queue->stream = NULL;
        return status;
    }
    status = device->stream.identity(queue->stream, &gpu, &same);
    queue->free_order = !device->stream.order || device->stream.order(queue->stream) == TUTTI_STREAM_FREE;
    tutti_transport_over(&queue->transport, tutti_handles.self);
    snprintf(queue->transport.base.label, sizeof queue->transport.base.label, "a queue of rank %d", tutti_door.rank);
    if (status == TUTTI_OK)
        status = tutti_team_create(tutti_door.node, &queue->transport.base, &queue->team);
    if (status == TUTTI_OK)
        status = tutti_lanes_open_alone(queue->team, gpu, &queue->lanes, why);
    return status == TUTTI_OK ? tutti_pack_prepare(queue->team->gpu, NULL) : status;
}

int tutti_door_MPIX_Queue_init(struct tutti_mpix_queue **out, int type, void *stream)
{
    static const char call[] = "MPIX_Queue_init";
    const char *why = "";
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!out || !stream)
        return tutti_queue_refuse(call, tutti_handles.no_comm, MPI_ERR_ARG, "needs the address of a stream");
    *out = NULL;
    if (type != TUTTI_QUEUE_STREAM || !tutti_door.device || !tutti_door.device->stream.wrap || !tutti_door.node)
        return tutti_queue_refuse(call, tutti_handles.no_comm, MPI_ERR_UNSUPPORTED_OPERATION,
                                  type != TUTTI_QUEUE_STREAM ? "there are queues of type MPIX_QUEUE_GPU_MEM_OPS alone"
                                                             : "this process has no device with streams");
    struct tutti_mpix_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return tutti_queue_refuse(call, tutti_handles.no_comm, MPI_ERR_NO_MEM, "out of memory");
    queue->end = &queue->started;
    tutti_inside++;
    const int status = queue_open(queue, *(void **)stream, &why);
    if (status != TUTTI_OK)
        queue_close(queue, 1, 1);
    tutti_inside--;
    if (status != TUTTI_OK)
        return status == TUTTI_ERR_ARGUMENT ? tutti_queue_refuse(call, tutti_handles.no_comm, MPI_ERR_ARG, why)
                                            : queue_failed(call, status, why);
    pthread_mutex_lock(&tutti_queue_lock);
    queue->next = tutti_queues;
    tutti_queues = queue;
    pthread_mutex_unlock(&tutti_queue_lock);
    *out = queue;
    return MPI_SUCCESS;
}

int tutti_door_MPIX_Queue_wait(struct tutti_mpix_queue *queue)
{
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!queue)
        return tutti_fail_self(MPI_ERR_ARG);
    const int status = tutti_queue_drain(queue);
    return status == TUTTI_OK ? MPI_SUCCESS : queue_failed("MPIX_Queue_wait", status, "");
}

int tutti_door_MPIX_Queue_free(struct tutti_mpix_queue **handle)
{
    static const char call[] = "MPIX_Queue_free";
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!handle || !*handle)
        return tutti_fail_self(MPI_ERR_ARG);
    struct tutti_mpix_queue *queue = *handle;
    if (queue->started)
        return tutti_queue_refuse(call, tutti_handles.no_comm, MPI_ERR_REQUEST,
                                  "requests have been started that MPIX_Enqueue_waitall has not been called for");
    const int status = tutti_queue_drain(queue),
              settled = status == TUTTI_OK ? tutti_lanes_settle(queue->lanes) : status;
    pthread_mutex_lock(&tutti_queue_lock);
    for (struct tutti_mpix_queue **at = &tutti_queues; *at; at = &(*at)->next) {
        if (*at == queue) {
            *at = queue->next;
            break;
        }
    }
    for (struct tutti_mpix_request *request = tutti_queue_requests; request; request = request->next)
        request->queue = request->queue == queue ? NULL : request->queue;
    pthread_mutex_unlock(&tutti_queue_lock);
    tutti_inside++;
    queue_close(queue, 1, settled == TUTTI_OK);
    tutti_inside--;
    *handle = NULL;
    return settled == TUTTI_OK ? MPI_SUCCESS : queue_failed(call, settled, "");
}

/* ---- starts and waits in the stream ---- */

static int queue_check(const char *name, const struct tutti_mpix_queue *queue, int count,
                       struct tutti_mpix_request *const handles[])
{
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!queue || count < 0 || (count > 0 && !handles))
        return tutti_fail_self(MPI_ERR_ARG);
    for (int i = 0; i < count; i++) {
        const struct tutti_mpix_request *request = handles[i];
        if (!request || request->of)
            return tutti_queue_refuse(name, tutti_handles.no_comm, MPI_ERR_REQUEST, "not a persistent request");
        if (request->stage != TUTTI_MATCHED)
            return tutti_queue_refuse(name, request->comm, MPI_ERR_REQUEST,
                                      "the request is not matched: call MPIX_Match first");
        if (request->active)
            return tutti_queue_refuse(name, request->comm, MPI_ERR_REQUEST,
                                      "the request is started already: wait for it by MPIX_Enqueue_waitall first");
        if (request->nodes && !queue->free_order)
            return tutti_queue_refuse(name, request->comm, MPI_ERR_UNSUPPORTED_OPERATION,
                                      "the stream of a queue with peers on other nodes must not wait for the default "
                                      "stream: make it with cudaStreamNonBlocking");
        if (request->peer != MPI_PROC_NULL && request->gpu != queue->team->gpu)
            return tutti_queue_refuse(name, request->comm, MPI_ERR_BUFFER,
                                      "the buffer is on another GPU than the queue's stream");
        for (int j = 0; j < i; j++) {
            if (handles[j] == request)
                return tutti_queue_refuse(name, request->comm, MPI_ERR_REQUEST, "the same request twice");
        }
    }
    return MPI_SUCCESS;
}

/* Elements with gaps: sends are packed before they start, receives unpacked behind the wait. */
static int queue_pack(const struct tutti_mpix_queue *queue, enum tutti_direction direction, int count,
                      struct tutti_mpix_request *const of[], struct tutti_pack_job jobs[])
{
    unsigned n = 0;
    for (int i = 0; i < count; i++) {
        const struct tutti_mpix_request *request = of[i];
        if (request->peer != MPI_PROC_NULL && request->bounce && request->start.bytes > 0 &&
            request->send == (direction == TUTTI_PACK))
            jobs[n++] = tutti_elements_job(direction, &request->elements, 0, request->start.bytes, request->bounce);
    }
    return n == 0 ? TUTTI_OK : tutti_pack_enqueue(queue->stream, queue->team->gpu, jobs, n);
}

/* Memory for what calls work with, for so many requests. */
struct queue_work {
    struct tutti_lane_match *matches;
    struct tutti_pack_job *jobs;
    struct tutti_mpix_request **of;
    int *ops;
    void *memory;
};

static int queue_work_new(struct queue_work *work, int count)
{
    const size_t n = count > 0 ? (size_t)count : 1;
    work->memory = malloc(n * (sizeof *work->matches + sizeof *work->jobs + sizeof(void *) + sizeof(int)));
    if (!work->memory)
        return 0;
    work->matches = work->memory;
    work->jobs = (struct tutti_pack_job *)(work->matches + n);
    work->of = (struct tutti_mpix_request **)(work->jobs + n);
    work->ops = (int *)(work->of + n);
    return 1;
}

/* The request is started: a wait is to come. */
static void queue_add(struct tutti_mpix_queue *queue, struct tutti_mpix_request *request)
{
    request->active = 1;
    request->queue = queue;
    request->started = NULL;
    *queue->end = request;
    queue->end = &request->started;
}

/* Requests of this node first: their messages move while those of other nodes are put into the stream. */
static int queue_start(struct tutti_mpix_queue *queue, int count, struct tutti_mpix_request *const handles[],
                       struct queue_work *work, const char **why)
{
    int n = 0;
    uint64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        if (handles[i]->peer == MPI_PROC_NULL || handles[i]->nodes)
            continue;
        work->of[n] = handles[i];
        work->matches[n++] = handles[i]->start;
        bytes += handles[i]->start.bytes;
    }
    int status = tutti_queue_host_runs_copy(1, n, work->of, queue->stream);
    if (status == TUTTI_OK)
        status = queue_pack(queue, TUTTI_PACK, n, work->of, work->jobs);
    const int captured = status == TUTTI_OK && n > 0 ? tutti_lanes_captured(queue->lanes, queue->stream) : 0;
    if (status == TUTTI_OK && n > 0)
        status = captured < 0 ? captured
                              : tutti_lanes_start_matched(queue->lanes, queue->stream, captured, n, work->matches,
                                                          work->ops, why);
    for (int i = 0; i < n && status == TUTTI_OK; i++) {
        work->of[i]->op = work->ops[i];
        if (!work->of[i]->watched || work->of[i]->queue != queue)
            tutti_watcher_expect(queue->team, work->of[i]->node_peer);
        work->of[i]->watched = 1;
        queue_add(queue, work->of[i]);
    }
    if (status == TUTTI_OK && n > 0)
        tutti_count_made("MPIX_Enqueue_start", "matched", bytes);
    n = 0;
    for (int i = 0; i < count; i++) {
        if (handles[i]->nodes)
            work->of[n++] = handles[i];
    }
    if (status == TUTTI_OK && n > 0)
        status = tutti_queue_nodes_start((size_t)n, work->of, queue->stream);
    for (int i = 0; i < n && status == TUTTI_OK; i++)
        queue_add(queue, work->of[i]);
    return status;
}

int tutti_door_MPIX_Enqueue_startall(struct tutti_mpix_queue *queue, int count, struct tutti_mpix_request *handles[])
{
    static const char call[] = "MPIX_Enqueue_start";
    struct queue_work work;
    const char *why = "a datatype with a list of blocks has to be used once before it is used in a capture";
    int code = queue_check(call, queue, count, handles);
    if (code != MPI_SUCCESS)
        return code;
    if (!queue_work_new(&work, count))
        return tutti_queue_refuse(call, tutti_handles.no_comm, MPI_ERR_NO_MEM, "out of memory");
    tutti_inside++;
    const int status = queue_start(queue, count, handles, &work, &why);
    tutti_inside--;
    free(work.memory);
    return status == TUTTI_OK ? MPI_SUCCESS : queue_failed(call, status, why);
}

int tutti_door_MPIX_Enqueue_start(struct tutti_mpix_queue *queue, struct tutti_mpix_request **handle)
{
    return tutti_door_MPIX_Enqueue_startall(queue, handle ? 1 : -1, handle);
}

/* The requests are started no more. */
static void queue_end(struct tutti_mpix_queue *queue, const struct tutti_mpix_request *only)
{
    struct tutti_mpix_request **at = &queue->started;
    while (*at) {
        struct tutti_mpix_request *const request = *at;
        if (only && request != only) {
            at = &request->started;
            continue;
        }
        request->active = 0;
        *at = request->started;
    }
    queue->end = at;
}

/* Those of this node, or of others, that are waited for. */
static int queue_waited(const struct tutti_mpix_queue *queue, const struct tutti_mpix_request *only, int nodes,
                        struct queue_work *work)
{
    int n = 0;
    for (struct tutti_mpix_request *request = queue->started; request; request = request->started) {
        if ((only && request != only) || (request->nodes != NULL) != nodes)
            continue;
        work->of[n] = request;
        work->ops[n++] = request->op;
    }
    return n;
}

/* Messages of this node are unpacked while those of other nodes are under way. */
static int queue_put_waits(struct tutti_mpix_queue *queue, const struct tutti_mpix_request *only,
                           struct queue_work *work, const char **why)
{
    int n = queue_waited(queue, only, 0, work), together = 0;
    const int captured = n == 0 ? 0 : tutti_lanes_captured(queue->lanes, queue->stream);
    int status = captured < 0 ? captured : TUTTI_OK;
    if (status == TUTTI_OK && n > 0)
        status = tutti_lanes_wait(queue->lanes, queue->stream, captured, n, work->ops, 0, &together, why);
    if (status != TUTTI_OK)
        return status;
    status = queue_pack(queue, TUTTI_UNPACK, n, work->of, work->jobs);
    if (status == TUTTI_OK)
        status = tutti_queue_host_runs_copy(0, n, work->of, queue->stream);
    n = queue_waited(queue, only, 1, work);
    const int waited = n > 0 ? tutti_queue_nodes_wait((size_t)n, work->of, queue->stream) : TUTTI_OK;
    queue_end(queue, only);
    return status == TUTTI_OK ? waited : status;
}

/* Waits for all that has been started, or for one of them. */
static int queue_wait(const char *name, struct tutti_mpix_queue *queue, struct tutti_mpix_request *only)
{
    struct queue_work work;
    const char *why = "a datatype with a list of blocks has to be used once before it is used in a capture";
    int n = 0;
    for (struct tutti_mpix_request *request = queue->started; request; request = request->started)
        n++;
    if (!queue_work_new(&work, n))
        return tutti_queue_refuse(name, tutti_handles.no_comm, MPI_ERR_NO_MEM, "out of memory");
    tutti_inside++;
    const int status = queue_put_waits(queue, only, &work, &why);
    tutti_inside--;
    free(work.memory);
    return status == TUTTI_OK ? MPI_SUCCESS : queue_failed(name, status, why);
}

int tutti_door_MPIX_Enqueue_waitall(struct tutti_mpix_queue *queue)
{
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    return queue ? queue_wait("MPIX_Enqueue_waitall", queue, NULL) : tutti_fail_self(MPI_ERR_ARG);
}

int tutti_door_MPIX_Enqueue_wait(struct tutti_mpix_queue *queue, struct tutti_mpix_request **handle)
{
    static const char call[] = "MPIX_Enqueue_wait";
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!queue || !handle)
        return tutti_fail_self(MPI_ERR_ARG);
    if (!*handle || (*handle)->peer == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (!(*handle)->active || (*handle)->queue != queue)
        return tutti_queue_refuse(call, (*handle)->comm, MPI_ERR_REQUEST, "the request is not started in this queue");
    return queue_wait(call, queue, *handle);
}

void tutti_queues_close(int alive)
{
    while (tutti_queues) {
        struct tutti_mpix_queue *queue = tutti_queues;
        tutti_queues = queue->next;
        const int settled = alive && !queue->started && tutti_queue_drain(queue) == TUTTI_OK;
        queue_close(queue, alive, settled);
    }
    while (tutti_queue_requests) {
        tutti_queue_requests->queue = NULL;
        tutti_queue_request_free(tutti_queue_requests);
    }
    tutti_ports_close(alive);
}
