/* Messages in stream order. This rank checks everything, then puts the kernels into the communicator's stream. A
 * request is a generalized request of the MPI, so no other call returns its handle. */
#include "mpi/enqueue/messages.h"

#include <stdlib.h>

#include "core/log.h"
#include "dtype/pack.h"
#include "mpi/enqueue/bounced_receives.h"
#include "mpi/enqueue/requests.h"
#include "mpi/enqueue/statuses.h"
#include "mpi/message/endpoints.h"
#include "mpi/real/errors.h"
#include "mpi/type/datatypes.h"
#include "p2p/lanes.h"

struct args {
    const char *name;
    int send;
    void *buffer;
    MPI_Count count;
    MPI_Datatype datatype;
    int peer, tag;
    MPI_Comm comm;
};

static int enqueue_refuse(const struct args *args, int code, const char *why)
{
    tutti_error("%s: %s", args->name, why);
    tutti_count(args->name, TUTTI_OUTCOME_REFUSED, why);
    return tutti_fail_comm(args->comm, code);
}

static const char *check_peer(const struct args *args, const struct tutti_team *team, int *code)
{
    *code = MPI_ERR_RANK;
    if ((args->peer < 0 || args->peer >= team->size) && (args->send || args->peer != MPI_ANY_SOURCE))
        return "the other rank is no rank of the communicator";
    *code = MPI_ERR_TAG;
    if (!args->send && args->tag == MPI_ANY_TAG)
        return NULL;
    return args->tag < 0 ? "not a tag" : NULL;
}

static int is_reached(const struct tutti_comm *comm, struct tutti_elements *elements)
{
    const int gpu = comm->stream->gpu;
    struct tutti_memory memory;
    if (elements->whole) {
        const void *const at = tutti_elements_run(elements);
        tutti_door.device->memory.classify(at, &memory);
        return elements->buffer && memory.kind != TUTTI_MEMORY_HOST &&
               (memory.kind != TUTTI_MEMORY_DEVICE || memory.gpu < 0 || gpu < 0 || memory.gpu == gpu);
    }
    const struct tutti_places *places = tutti_elements_places(elements);
    return tutti_places_reached(places) && (gpu < 0 || places->gpu < 0 || places->gpu == gpu);
}

static int is_on_host(const struct tutti_elements *elements)
{
    struct tutti_memory memory;
    if (!elements->whole || !elements->buffer)
        return 0;
    tutti_door.device->memory.classify(tutti_elements_run(elements), &memory);
    return memory.kind == TUTTI_MEMORY_HOST;
}

/* The buffer as elements, and where they are one run of bytes as that. Returns the error, or NULL. */
static const char *read_buffer(const struct args *args, const struct tutti_comm *comm,
                               struct tutti_lane_message *message, struct tutti_enqueued_packed *packed, int *code)
{
    size_t bytes;
    *code = MPI_ERR_COUNT;
    if (args->count < 0)
        return "a negative number of elements";
    *code = MPI_ERR_TYPE;
    struct tutti_layout *layout = args->datatype == tutti_handles.no_type ? NULL : tutti_layout_of(args->datatype);
    if (!layout || !tutti_layout_committed(layout, args->datatype))
        return "not a datatype that has been committed";
    *code = MPI_ERR_COUNT;
    if (__builtin_mul_overflow((size_t)args->count, (size_t)layout->size, &bytes) || bytes > PTRDIFF_MAX)
        return "more elements than any memory has";
    message->bytes = packed->bytes = bytes;
    if (bytes == 0)
        return NULL;
    *code = MPI_ERR_TYPE;
    if (!layout->plan)
        return "kernels cannot pack this datatype: describe the elements by another one";
    packed->elements = tutti_message_elements(args->buffer, args->count, layout);
    if (packed->elements.whole)
        message->buffer = (char *)args->buffer + layout->true_lower;
    *code = MPI_ERR_BUFFER;
    packed->host = is_on_host(&packed->elements);
    return packed->host || is_reached(comm, &packed->elements) ? NULL
                                                               : "the buffer is neither memory that kernels of the "
                                                                 "stream's GPU reach (device, managed or pinned) nor a "
                                                                 "run of bytes in memory of the host";
}

/* Packs the elements in the stream, or unpacks them. */
static int move_packed(const struct tutti_comm *comm, enum tutti_direction direction,
                       const struct tutti_enqueued_packed *packed)
{
    const struct tutti_pack_job job =
        tutti_elements_job(direction, &packed->elements, 0, packed->bytes, packed->memory);
    return tutti_pack_enqueue(comm->stream->stream, comm->team->gpu, &job, 1);
}

/* Elements with gaps, or of the host: gives the message memory of its own. A receive keeps there what the buffer holds,
 * since a shorter message leaves the rest as it is. */
static int message_pack(struct tutti_comm *comm, struct tutti_lane_message *message,
                        struct tutti_enqueued_packed *packed, const char **why)
{
    if (packed->host && !message->send) {
        *why = "no reports of messages, which receives into memory of the host need";
        message->reports = 1;
        return tutti_enqueue_can_report(comm)
                   ? tutti_bounced_receive_take(comm, message->captured, message->buffer, message->bytes,
                                                &packed->bounced, &message->buffer)
                   : TUTTI_ERR_UNAVAILABLE;
    }
    *why = "elements with gaps, or in memory of the host, in a capture: make such a call once before, with as many "
           "elements";
    int status =
        tutti_lanes_scratch_take(comm->lanes, message->captured, packed->bytes, &packed->scratch, &packed->memory);
    if (status == TUTTI_OK && packed->host)
        status = tutti_door.device->stream.copy(comm->stream->stream, packed->memory, message->buffer, packed->bytes);
    else if (status == TUTTI_OK && (status = tutti_lanes_hold_plan(comm->lanes, packed->elements.plan)) == TUTTI_OK)
        status = move_packed(comm, TUTTI_PACK, packed);
    message->buffer = packed->memory;
    return status;
}

/* The communicator's state, if it has a stream and lanes; otherwise NULL, and *code. */
static struct tutti_comm *find_comm(const struct args *args, int *code)
{
    struct tutti_comm *comm = args->comm == tutti_handles.no_comm ? NULL : tutti_comm_find(args->comm);
    if (!comm || !comm->stream) {
        tutti_error("%s: the communicator has no stream: make it by MPIX_Stream_comm_create", args->name);
        *code = args->comm == tutti_handles.no_comm ? tutti_fail_self(MPI_ERR_COMM)
                                                    : tutti_fail_comm(args->comm, MPI_ERR_COMM);
        return NULL;
    }
    if (comm->lanes || comm->proxy)
        return comm;
    *code = enqueue_refuse(args, MPI_ERR_UNSUPPORTED_OPERATION, comm->no_lanes);
    return NULL;
}

/* For the statistics: how the message goes, by the first of these that costs something. */
static const char *message_way(const struct tutti_comm *comm, const struct tutti_lane_message *message,
                               const struct tutti_enqueued_packed *packed, int started)
{
    if (packed->host)
        return packed->bounced ? "lanes, into memory of the host" : "lanes, from memory of the host";
    if (packed->scratch)
        return "lanes, packed";
    if (message->peer == TUTTI_LANES_ANY || message->tag == TUTTI_LANES_ANY)
        return "lanes, matched by kernels";
    return started && tutti_lanes_groups(comm->lanes) ? "lanes, launched by a later call" : "lanes";
}

/* 1: elements with gaps, or a run that only the host reaches. */
static int needs_memory(const struct tutti_lane_message *message, const struct tutti_enqueued_packed *packed)
{
    return message->bytes > 0 && (!packed->elements.whole || packed->host);
}

/* Puts the message into the stream; started: NULL for a call that the stream waits for. */
static int enqueue_put(const struct args *args, struct tutti_comm *comm, struct tutti_lane_message *message,
                       struct tutti_enqueued_packed *packed, struct tutti_enqueued *started)
{
    const char *why = "";
    TUTTI_INSIDE();
    const int packs = needs_memory(message, packed);
    if (packs || started || message->reports)
        message->captured = tutti_lanes_captured(comm->lanes, comm->stream->stream);
    int status = message->captured < 0 ? message->captured : TUTTI_OK;
    if (status == TUTTI_OK && packs)
        status = message_pack(comm, message, packed, &why);
    if (status == TUTTI_OK)
        status = started ? tutti_lanes_start(comm->lanes, comm->stream->stream, message, &started->op, &why)
                         : tutti_lanes_do(comm->lanes, comm->stream->stream, message, &why);
    if (status == TUTTI_OK && started)
        started->packed = *packed; /* until the wait */
    else if (status == TUTTI_OK && packed->scratch && !args->send)
        status = move_packed(comm, TUTTI_UNPACK, packed);
    else if (status == TUTTI_OK && packed->bounced)
        status = tutti_bounced_receive_enqueue(comm, packed->bounced, 0);
    if (status != TUTTI_OK || !started)
        tutti_lanes_scratch_give(packed->scratch);
    if (status != TUTTI_OK)
        tutti_bounced_receive_give(packed->bounced);
    if (status == TUTTI_OK) {
        tutti_count_made(args->name, message_way(comm, message, packed, started != NULL), message->bytes);
        return MPI_SUCCESS;
    }
    return status == TUTTI_ERR_UNAVAILABLE ? enqueue_refuse(args, MPI_ERR_UNSUPPORTED_OPERATION, why)
                                           : enqueue_refuse(args, tutti_error_code(status), tutti_status_text(status));
}

/* The host moves the message, while the stream waits if it must; see comm/streams.h. */
static int enqueue_far(const struct args *args, struct tutti_comm *comm, const struct tutti_lane_message *message,
                       const struct tutti_enqueued_packed *packed, struct tutti_enqueued *started, MPI_Status *status)
{
    const struct tutti_stream_message far = {.name = args->name,
                                             .send = args->send,
                                             .peer = args->peer,
                                             .tag = args->tag,
                                             .bytes = message->bytes,
                                             .run = message->buffer,
                                             .elements = &packed->elements,
                                             .on_host = packed->host,
                                             .status = status};
    TUTTI_INSIDE();
    const int put = comm->proxy->message(comm, &far, started ? &started->far : NULL);
    return put == TUTTI_OK ? MPI_SUCCESS : enqueue_refuse(args, tutti_error_code(put), tutti_status_text(put));
}

static const char no_report[] = "no memory for statuses: give MPI_STATUS_IGNORE";

static int enqueue_report(const struct args *args, struct tutti_comm *comm, int captured, int n,
                          const struct tutti_enqueued_status statuses[])
{
    const int status = n > 0 ? tutti_enqueue_statuses(comm, captured, n, statuses) : TUTTI_OK;
    return status == TUTTI_OK ? MPI_SUCCESS : enqueue_refuse(args, tutti_error_code(status), tutti_status_text(status));
}

static int message_enqueue(const struct args *args, MPI_Request *request, MPI_Status *status)
{
    const int reports = status != MPI_STATUS_IGNORE;
    struct tutti_lane_message message = {.send = args->send,
                                         .peer = args->peer == MPI_ANY_SOURCE ? TUTTI_LANES_ANY : args->peer,
                                         .tag = args->tag == MPI_ANY_TAG ? TUTTI_LANES_ANY : args->tag,
                                         .reports = reports,
                                         .captured = TUTTI_LANES_ASK};
    struct tutti_enqueued *started = NULL;
    struct tutti_enqueued_packed packed = {.scratch = NULL};
    int code;
    if (unlikely(!tutti_door.on))
        return MPI_ERR_UNSUPPORTED_OPERATION;
    struct tutti_comm *comm = find_comm(args, &code);
    if (!comm)
        return code;
    if (reports && !comm->proxy && !tutti_enqueue_can_report(comm))
        return enqueue_refuse(args, MPI_ERR_NO_MEM, no_report);
    const int to_null = args->peer == MPI_PROC_NULL;
    const char *wrong = to_null ? NULL : check_peer(args, comm->team, &code);
    if (!wrong && !to_null)
        wrong = read_buffer(args, comm, &message, &packed, &code);
    if (wrong)
        return enqueue_refuse(args, code, wrong);
    if (request && (started = tutti_enqueued_new(comm, args->send, args->peer, args->tag)) == NULL)
        return enqueue_refuse(args, MPI_ERR_NO_MEM, "no memory for a request");
    if (to_null)
        code = MPI_SUCCESS;
    else if (comm->proxy)
        code = enqueue_far(args, comm, &message, &packed, started, reports ? status : NULL);
    else
        code = enqueue_put(args, comm, &message, &packed, started);
    if (reports && code == MPI_SUCCESS && comm->proxy && to_null) {
        tutti_enqueue_status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    } else if (reports && code == MPI_SUCCESS && !comm->proxy) {
        const struct tutti_enqueued_status one = {status, args->peer, args->tag, message.bytes, 0};
        if (to_null)
            message.captured = tutti_lanes_captured(comm->lanes, comm->stream->stream);
        code = enqueue_report(args, comm, message.captured, 1, &one);
    }
    if (started && code == MPI_SUCCESS)
        *request = started->handle;
    else if (started)
        tutti_enqueued_end(started);
    return code;
}

/* ---- waiting ---- */

/* The statuses of the receives of a communicator from `at` on. */
static int wait_report(const struct args *args, struct tutti_comm *comm, int captured, int count,
                       struct tutti_enqueued *of[], int at, MPI_Status statuses[])
{
    struct tutti_enqueued_status *list = malloc((size_t)(count - at) * sizeof *list);
    int n = 0;
    if (!list)
        return enqueue_refuse(args, MPI_ERR_NO_MEM, no_report);
    for (int i = at; i < count; i++) {
        if (of[i] && of[i]->comm == comm && !of[i]->send)
            list[n++] =
                (struct tutti_enqueued_status){&statuses[i], of[i]->peer, of[i]->tag, of[i]->packed.bytes, of[i]->op};
    }
    const int code = enqueue_report(args, comm, captured, n, list);
    free(list);
    return code;
}

/* The request is over, and its handle null. */
static void wait_end(MPI_Request *request, struct tutti_enqueued **of)
{
    tutti_enqueued_end(*of);
    *of = NULL;
    *request = tutti_handles.no_request;
}

/* Of messages between nodes. status: NULL if it is not wanted. */
static int wait_far(const char *name, MPI_Request *request, struct tutti_enqueued **of, MPI_Status *status)
{
    struct tutti_comm *const comm = (*of)->comm;
    const struct args args = {.name = name, .comm = comm->handle};
    if ((*of)->peer == MPI_PROC_NULL && status && !(*of)->send)
        tutti_enqueue_status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    TUTTI_INSIDE();
    const int put = comm->proxy->wait(comm, (*of)->far, (*of)->send ? NULL : status);
    if (put != TUTTI_OK)
        return enqueue_refuse(&args, tutti_error_code(put), tutti_status_text(put));
    wait_end(request, of);
    return MPI_SUCCESS;
}

/* Waits for the requests from `at` on that belong to the same communicator. */
static int wait_some(const char *name, int count, MPI_Request requests[], struct tutti_enqueued *of[], int ops[],
                     int at, MPI_Status statuses[])
{
    struct tutti_comm *const comm = of[at]->comm;
    const struct args args = {.name = name, .comm = comm->handle};
    const char *why = "";
    int n = 0, reports = statuses != NULL;
    if (comm->proxy)
        return wait_far(name, &requests[at], &of[at], statuses ? &statuses[at] : NULL);
    for (int i = at; i < count; i++) {
        if (of[i] && of[i]->comm == comm && of[i]->op != 0)
            ops[n++] = of[i]->op;
        reports |= of[i] && of[i]->comm == comm && of[i]->packed.bounced;
    }
    tutti_inside++;
    const int captured = tutti_lanes_captured(comm->lanes, comm->stream->stream);
    int together = 0, status = captured < 0 ? captured : TUTTI_OK;
    if (status == TUTTI_OK && n > 0)
        status = tutti_lanes_wait(comm->lanes, comm->stream->stream, captured, n, ops, reports, &together, &why);
    for (int i = at; i < count && status == TUTTI_OK; i++) {
        if (of[i] && of[i]->comm == comm && of[i]->packed.scratch && !of[i]->send)
            status = move_packed(comm, TUTTI_UNPACK, &of[i]->packed);
        else if (of[i] && of[i]->comm == comm && of[i]->packed.bounced)
            status = tutti_bounced_receive_enqueue(comm, of[i]->packed.bounced, of[i]->op);
    }
    tutti_inside--;
    if (status != TUTTI_OK)
        return status == TUTTI_ERR_UNAVAILABLE
                   ? enqueue_refuse(&args, MPI_ERR_REQUEST, why)
                   : enqueue_refuse(&args, tutti_error_code(status), tutti_status_text(status));
    const int code = statuses ? wait_report(&args, comm, captured, count, of, at, statuses) : MPI_SUCCESS;
    for (int i = at; i < count; i++) {
        if (of[i] && of[i]->comm == comm)
            wait_end(&requests[i], &of[i]);
    }
    tutti_count_made(name, together ? "lanes, in one launch with what it waits for" : "lanes", 0);
    return code;
}

/* statuses: NULL if they are not wanted; those of sends and of null requests are set at once. */
static int find_all(const char *name, int count, const MPI_Request requests[], MPI_Status statuses[],
                    struct tutti_enqueued *of[])
{
    for (int i = 0; i < count; i++) {
        of[i] = requests[i] == tutti_handles.no_request ? NULL : tutti_enqueued_find(requests[i]);
        if (requests[i] != tutti_handles.no_request && !of[i]) {
            tutti_error("%s: request %d was not made by MPIX_Isend_enqueue or MPIX_Irecv_enqueue", name, i);
            return tutti_fail_self(MPI_ERR_REQUEST);
        }
        if (of[i] && !of[i]->comm && (of[i]->lost || (statuses && !of[i]->send))) {
            tutti_error("%s: the communicator of request %d has been freed: wait for its messages before", name, i);
            return tutti_fail_self(MPI_ERR_REQUEST);
        }
        if (statuses && (!of[i] || of[i]->send))
            tutti_enqueue_status_empty(&statuses[i]);
        else if (statuses && !of[i]->comm->proxy && !tutti_enqueue_can_report(of[i]->comm))
            return enqueue_refuse(&(struct args){.name = name, .comm = of[i]->comm->handle}, MPI_ERR_NO_MEM, no_report);
    }
    return MPI_SUCCESS;
}

static int wait_all(const char *name, int count, MPI_Request requests[], MPI_Status statuses[])
{
    enum { FEW = 64 };
    struct tutti_enqueued *few[FEW], **of = few;
    int few_ops[FEW], *ops = few_ops;
    if (unlikely(!tutti_door.on))
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (count < 0 || (count > 0 && !requests))
        return tutti_fail_self(count < 0 ? MPI_ERR_COUNT : MPI_ERR_REQUEST);
    if (count > FEW) {
        of = malloc((size_t)count * sizeof *of);
        ops = malloc((size_t)count * sizeof *ops);
    }
    int code = of && ops ? find_all(name, count, requests, statuses, of) : tutti_fail_self(MPI_ERR_NO_MEM);
    for (int i = 0; i < count && code == MPI_SUCCESS; i++) {
        if (of[i] && !of[i]->comm)
            wait_end(&requests[i], &of[i]);
        else if (of[i])
            code = wait_some(name, count, requests, of, ops, i, statuses);
    }
    if (of != few)
        free(of);
    if (ops != few_ops)
        free(ops);
    return code;
}

int tutti_door_MPIX_Wait_enqueue(MPI_Request *request, MPI_Status *status)
{
    return wait_all("MPIX_Wait_enqueue", 1, request, status == MPI_STATUS_IGNORE ? NULL : status);
}

int tutti_door_MPIX_Waitall_enqueue(int count, MPI_Request requests[], MPI_Status *statuses)
{
    return wait_all("MPIX_Waitall_enqueue", count, requests, statuses == MPI_STATUSES_IGNORE ? NULL : statuses);
}

#define WIDTHS_OF "mpi/enqueue/messages.inc"
#include "mpi/real/widths.inc"
