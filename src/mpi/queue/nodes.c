#include "mpi/queue/nodes.h"

#include <stdlib.h>

#include "mpi/comm/streams.h"
#include "mpi/message/endpoints.h"

enum { TAGS = 4096 };

struct tutti_queue_nodes {
    struct tutti_persistent_message *message;
    int peer; /* on the communicator of messages */
    int tag;  /* of a receive; -1: none */
};

/* Under tutti_queue_lock. */
static struct {
    int first, count;
    unsigned char used[TAGS];
} tags = {.first = -1};

static const struct tutti_persistent_messages *messages;

void tutti_queue_nodes_open(const struct tutti_persistent_messages *how, struct tutti_transport *transport)
{
    messages = how;
    if (!transport)
        return;
    const int left = transport->tags - transport->tags_taken;
    tags.count = left < TAGS ? left : TAGS;
    tags.first = tutti_transport_tags(transport, tags.count);
}

static int nodes_tag_take(void)
{
    for (int i = 0; tags.first >= 0 && i < tags.count; i++) {
        if (tags.used[i])
            continue;
        tags.used[i] = 1;
        return tags.first + i;
    }
    return -1;
}

static int nodes_wrong(struct tutti_mpix_request *request, int code, const char *why)
{
    request->code = code;
    request->why = why;
    return code;
}

/* The rank of the peer in MPI_COMM_WORLD; negative: it is not there. */
static int nodes_peer(const struct tutti_mpix_request *request)
{
    int n = 0, *const ranks = tutti_world_ranks(request->comm, &n);
    const int peer = ranks && request->peer < n ? ranks[request->peer] : -1;
    free(ranks);
    return peer;
}

int tutti_queue_nodes_check(struct tutti_mpix_request *request)
{
    if (!tutti_door.multiple)
        return nodes_wrong(
            request, MPI_ERR_UNSUPPORTED_OPERATION,
            "messages of queues between nodes need MPI_THREAD_MULTIPLE: ask MPI_Init_thread for it, or set "
            "TUTTI_ASYNC_PROGRESS=1");
    if (tags.first < 0 || nodes_peer(request) < 0)
        return nodes_wrong(request, MPI_ERR_UNSUPPORTED_OPERATION,
                           "the other rank is on another node, and not one that messages in stream order reach");
    return MPI_SUCCESS;
}

int tutti_queue_nodes_take(struct tutti_mpix_request *request)
{
    struct tutti_queue_nodes *const nodes = calloc(1, sizeof *nodes);
    if (!nodes)
        return nodes_wrong(request, MPI_ERR_NO_MEM, "no memory for a matched request");
    request->nodes = nodes;
    nodes->peer = nodes_peer(request);
    nodes->tag = request->send ? -1 : nodes_tag_take();
    if (!request->send && nodes->tag < 0)
        return nodes_wrong(request, MPI_ERR_OTHER, "too many receives from other nodes are matched");
    const struct tutti_stream_message message = {.name = request->send ? "MPIX_Send_init" : "MPIX_Recv_init",
                                                 .send = request->send,
                                                 .peer = nodes->peer,
                                                 .tag = nodes->tag,
                                                 .bytes = request->start.bytes,
                                                 .run = request->start.from,
                                                 .elements = &request->elements,
                                                 .on_host = request->on_host};
    const int status =
        messages->open(tutti_door.node, request->gpu, tutti_endpoints_own_world(), &message, &nodes->message);
    return status == TUTTI_OK
               ? MPI_SUCCESS
               : nodes_wrong(request, MPI_ERR_OTHER, "no memory or no thread for messages of queues between nodes");
}

uint32_t tutti_queue_nodes_tag(const struct tutti_mpix_request *request)
{
    return (uint32_t)request->nodes->tag;
}

uint32_t tutti_queue_nodes_piece(const struct tutti_mpix_request *request)
{
    return request->send ? (uint32_t)messages->piece(request->start.bytes) : 0;
}

int tutti_queue_nodes_match(struct tutti_mpix_request *request, uint32_t tag, uint64_t bytes, uint32_t piece)
{
    const int status = messages->match(request->nodes->message, (int)tag, bytes, piece);
    return status == TUTTI_OK ? MPI_SUCCESS
                              : nodes_wrong(request, MPI_ERR_NO_MEM, "no memory for the pieces of a matched request");
}

static int nodes_put(size_t n, struct tutti_mpix_request *const requests[], struct tutti_stream *stream,
                     int (*put)(size_t n, struct tutti_persistent_message *const of[], struct tutti_stream *stream))
{
    struct tutti_persistent_message **const of = malloc(n * sizeof(struct tutti_persistent_message *));
    if (!of)
        return TUTTI_ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        of[i] = requests[i]->nodes->message;
    const int status = put(n, of, stream);
    free(of);
    return status;
}

int tutti_queue_nodes_start(size_t n, struct tutti_mpix_request *const requests[], struct tutti_stream *stream)
{
    return nodes_put(n, requests, stream, messages->start);
}

int tutti_queue_nodes_wait(size_t n, struct tutti_mpix_request *const requests[], struct tutti_stream *stream)
{
    return nodes_put(n, requests, stream, messages->wait);
}

int tutti_queue_nodes_fault(const struct tutti_mpix_request *request)
{
    return messages->fault(request->nodes->message);
}

void tutti_queue_nodes_end(struct tutti_queue_nodes *nodes)
{
    if (!nodes)
        return;
    messages->close(nodes->message);
    if (nodes->tag >= 0)
        tags.used[nodes->tag - tags.first] = 0;
    free(nodes);
}
