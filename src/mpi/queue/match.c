/* The match of two persistent requests. Each side sends a message with the request's tag on its communicator: its kind,
 * and names of its port and, of a receive, its memory. Each side maps what the other one has named and sends a
 * second message: whether it could. So both sides succeed or none. The messages of a tag, communicator and peer come in
 * the order of the matches, and are given to the matches in that order. One receive at a time is posted for them. */
#include "mpi/queue/match.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "dtype/pack.h"
#include "mpi/message/endpoints.h"
#include "mpi/queue/host_run.h"
#include "mpi/queue/nodes.h"
#include "mpi/type/datatypes.h"
#include "p2p/ports.h"
#include "team/deferred_free.h"
#include "team/pair.h"

enum match_kind { MATCH_RECEIVE, MATCH_SEND, MATCH_ACK };
/* What the two sides send to each other. Plain bytes. */
struct match_note {
    uint32_t kind, fine; /* fine: 0: this side cannot */
    uint32_t tag, piece; /* between nodes: of a receive; of a send, bytes */
    uint64_t id, to;     /* id: of the sender's request; to: ACK: of the peer's request */
    uint64_t bytes;
    unsigned char uuid[16]; /* of the GPU */
    struct tutti_share port, memory;
};

struct match_group; /* matches of one peer, tag and communicator */
struct tutti_matching {
    struct tutti_mpix_request *request;
    struct match_group *group;
    struct tutti_matching *next; /* of the group, in order */
    uint64_t id;
    int informed, acknowledged; /* 1: `info` is there, or the peer's ack, which says `peer_fine` */
    int peer_fine;
    struct match_note info, out, ack;
    MPI_Request sent[2];
};

struct match_early {
    struct match_early *next;
    struct match_note note;
};
struct match_group {
    struct match_group *next;
    MPI_Comm comm;
    int peer, tag;
    struct tutti_matching *first;
    struct match_early *early; /* infos for matches that have not begun, in order */
    int posted;
    MPI_Request receive;
    struct match_note note; /* that is received */
};
static struct match_group *groups;

static const char why_memory[] = "no memory for a matched request";
static const char why_peer[] = "the other rank could not match its request: its standard error says why";

/* ---- this side ---- */

static int match_wrong(struct tutti_mpix_request *request, int code, const char *why)
{
    request->code = code;
    request->why = why;
    return code;
}

/* *direct: 1 if the peer's kernels may store into the buffer itself, if it can be mapped. */
static int match_read(struct tutti_mpix_request *request, int gpu, int *direct)
{
    struct tutti_layout *layout = request->type == tutti_handles.no_type ? NULL : tutti_layout_of(request->type);
    MPI_Count bytes = 0;
    if (request->count < 0)
        return match_wrong(request, MPI_ERR_COUNT, "a negative number of elements");
    if (!layout || !tutti_layout_committed(layout, request->type))
        return match_wrong(request, MPI_ERR_TYPE, "not a datatype that has been committed");
    if (__builtin_mul_overflow(request->count, layout->size, &bytes) || bytes > PTRDIFF_MAX)
        return match_wrong(request, MPI_ERR_COUNT, "more elements than any memory has");
    request->start.bytes = (uint64_t)bytes;
    request->gpu = gpu;
    if (bytes == 0)
        return MPI_SUCCESS;
    if (!layout->plan)
        return match_wrong(request, MPI_ERR_TYPE,
                           "kernels cannot pack this datatype: describe the elements by another "
                           "one");
    request->elements = tutti_message_elements(request->buffer, request->count, layout);
    tutti_plan_hold(layout->plan);
    struct tutti_memory memory = {.kind = TUTTI_MEMORY_HOST};
    if (request->buffer)
        tutti_door.device->memory.classify((char *)request->buffer + layout->true_lower, &memory);
    if (memory.kind == TUTTI_MEMORY_HOST && (!request->elements.whole || !request->buffer))
        return match_wrong(request, MPI_ERR_BUFFER,
                           "the buffer is neither memory that kernels reach (device, managed or pinned) nor a run of "
                           "bytes in memory of the host");
    if (memory.kind == TUTTI_MEMORY_DEVICE && memory.gpu >= 0)
        request->gpu = memory.gpu;
    *direct = request->elements.whole &&
              (memory.kind == TUTTI_MEMORY_DEVICE || (request->send && memory.kind != TUTTI_MEMORY_HOST));
    request->on_host =
        request->elements.whole && (memory.kind == TUTTI_MEMORY_HOST || memory.kind == TUTTI_MEMORY_PINNED);
    request->beyond_kernels = memory.kind == TUTTI_MEMORY_HOST;
    if (request->elements.whole)
        request->start.from = (char *)request->buffer + layout->true_lower;
    return MPI_SUCCESS;
}

/* Takes device memory for the whole message. An MPI code. */
static int match_bounce(struct tutti_mpix_request *request)
{
    const struct tutti_device *device = tutti_door.device;
    if (device->memory.alloc(request->gpu, request->start.bytes, &request->bounce) != TUTTI_OK)
        return match_wrong(request, MPI_ERR_NO_MEM, why_memory);
    if (tutti_pack_prepare(request->gpu, request->elements.plan) != TUTTI_OK)
        return match_wrong(request, MPI_ERR_OTHER, "the kernels that pack elements could not be loaded");
    request->start.from = request->bounce;
    return MPI_SUCCESS;
}

static int match_prepare(struct tutti_mpix_request *request, int gpu)
{
    int direct = 0, code = match_read(request, gpu, &direct);
    if (request->node_peer < 0)
        return code == MPI_SUCCESS ? tutti_queue_nodes_take(request) : code;
    if (code == MPI_SUCCESS && request->beyond_kernels && tutti_queue_host_run_take(request) != TUTTI_OK)
        code = match_wrong(request, MPI_ERR_NO_MEM, why_memory);
    if (code == MPI_SUCCESS && request->start.bytes > 0 && !direct && !(request->send && request->host_run))
        code = match_bounce(request);
    if (code == MPI_SUCCESS && !(request->port = tutti_ports_take(request->gpu)))
        code = match_wrong(request, MPI_ERR_NO_MEM, why_memory);
    return code;
}

/* ---- messages ---- */

static struct match_group *match_group_of(const struct tutti_mpix_request *request)
{
    for (struct match_group *group = groups; group; group = group->next) {
        if (group->comm == request->comm && group->peer == request->peer && group->tag == request->tag)
            return group;
    }
    struct match_group *group = calloc(1, sizeof *group);
    if (group) {
        *group =
            (struct match_group){.next = groups, .comm = request->comm, .peer = request->peer, .tag = request->tag};
        groups = group;
    }
    return group;
}

static void match_send(struct tutti_matching *m, int which, const struct match_note *note)
{
    if (tutti_next.MPI_Isend(note, sizeof *note, tutti_handles.byte, m->group->peer, m->group->tag, m->group->comm,
                             &m->sent[which]) != MPI_SUCCESS)
        m->sent[which] = tutti_handles.no_request;
}

/* Gives an info to the first match that waits for one of its kind; 1 if there is one. */
static int match_give(struct match_group *group, const struct match_note *note)
{
    for (struct tutti_matching *m = group->first; m; m = m->next) {
        if (m->informed || (note->kind == MATCH_SEND) == (m->request->send != 0))
            continue;
        m->info = *note;
        m->informed = 1;
        return 1;
    }
    return 0;
}

/* Of a note that has arrived. */
static void match_came(struct match_group *group)
{
    const struct match_note *note = &group->note;
    if (note->kind == MATCH_ACK) {
        for (struct tutti_matching *m = group->first; m; m = m->next) {
            if (m->id == note->to) {
                m->acknowledged = 1;
                m->peer_fine = (int)note->fine;
            }
        }
        return;
    }
    if (match_give(group, note))
        return;
    struct match_early **at = &group->early, *early = malloc(sizeof *early);
    if (!early) {
        tutti_error("out of memory: a match of persistent requests is lost");
        return;
    }
    *early = (struct match_early){NULL, *note};
    while (*at)
        at = &(*at)->next;
    *at = early;
}

/* Receives the notes that have arrived, as long as matches of the group need more. */
static void match_receive(struct match_group *group)
{
    for (;;) {
        int needed = 0, done = 0;
        for (const struct tutti_matching *m = group->first; m; m = m->next)
            needed |= !m->informed || !m->acknowledged;
        if (!group->posted && needed)
            group->posted = tutti_next.MPI_Irecv(&group->note, sizeof group->note, tutti_handles.byte, group->peer,
                                                 group->tag, group->comm, &group->receive) == MPI_SUCCESS;
        if (!group->posted || tutti_next.MPI_Test(&group->receive, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done)
            return;
        group->posted = 0;
        match_came(group);
    }
}

/* ---- the other side ---- */

/* What this side must find wrong with the peer's info before it maps anything. */
static void match_check(struct tutti_matching *m)
{
    struct tutti_mpix_request *request = m->request;
    const int same = memcmp(m->info.uuid, m->out.uuid, sizeof m->out.uuid) == 0;
    if (request->code != MPI_SUCCESS)
        return;
    const uint64_t sent = request->send ? request->start.bytes : m->info.bytes;
    const uint64_t room = request->send ? m->info.bytes : request->start.bytes;
    if (!m->info.fine)
        match_wrong(request, MPI_ERR_OTHER, why_peer);
    else if (same && request->node_peer >= 0 && request->node_peer != tutti_node_rank(tutti_door.node))
        match_wrong(request, MPI_ERR_UNSUPPORTED_OPERATION,
                    "two processes that share a GPU have no messages in stream order");
    else if (sent > room)
        match_wrong(request, MPI_ERR_TRUNCATE, "the matching send is longer than the receive");
}

/* Both notes together describe the message. */
static void match_nodes(struct tutti_matching *m)
{
    const int send = m->request->send;
    const struct match_note *const sender = send ? &m->out : &m->info, *const receiver = send ? &m->info : &m->out;
    (void)tutti_queue_nodes_match(m->request, receiver->tag, sender->bytes, sender->piece);
}

/* 1: not yet. */
static int match_map(struct tutti_matching *m)
{
    struct tutti_mpix_request *request = m->request;
    const struct tutti_device *device = tutti_door.device;
    void *far = NULL, *to = NULL;
    match_check(m);
    if (request->code == MPI_SUCCESS && request->nodes)
        match_nodes(m);
    if (request->code != MPI_SUCCESS || request->nodes)
        return 0;
    int status = tutti_pair_map(tutti_door.node, device, request->node_peer, request->gpu, &m->info.port,
                                sizeof(struct tutti_lane_port), &request->mapped[0], &far);
    if (status == TUTTI_OK && request->send && request->start.bytes > 0) {
        status = tutti_pair_map(tutti_door.node, device, request->node_peer, request->gpu, &m->info.memory,
                                request->start.bytes, &request->mapped[1], &to);
        if (status == 1) {
            tutti_pair_release(tutti_door.node, device, request->mapped[0]);
            request->mapped[0] = NULL;
        }
    }
    if (status == 1)
        return 1;
    request->start.far = far;
    request->start.to = to;
    if (status != TUTTI_OK)
        match_wrong(request, MPI_ERR_UNSUPPORTED_OPERATION,
                    "the other rank's memory cannot be mapped for kernels of this GPU");
    return 0;
}

/* Names the port and, of a receive, where the message is to go. 1: not yet. */
static int match_show(struct tutti_matching *m)
{
    struct tutti_mpix_request *request = m->request;
    const struct tutti_device *device = tutti_door.device;
    struct tutti_node *node = tutti_door.node;
    int status = request->code == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE;
    if (status == TUTTI_OK && request->nodes) {
        m->out.tag = tutti_queue_nodes_tag(request);
        m->out.piece = tutti_queue_nodes_piece(request);
        return 0;
    }
    if (status == TUTTI_OK && !m->out.port.shared)
        status = tutti_pair_show(node, device, request->node_peer, request->port, &m->out.port);
    if (status == TUTTI_OK && !request->send && request->start.bytes > 0) {
        status = tutti_pair_show(node, device, request->node_peer, request->start.from, &m->out.memory);
        const uint64_t room = m->out.memory.shared ? m->out.memory.what.bytes - m->out.memory.offset : 0;
        if (status <= 0 && room < request->start.bytes && !request->bounce) {
            if (match_bounce(request) != MPI_SUCCESS)
                return 0;
            status = tutti_pair_show(node, device, request->node_peer, request->bounce, &m->out.memory);
        }
    }
    if (status < 0 && request->code == MPI_SUCCESS)
        match_wrong(request, MPI_ERR_UNSUPPORTED_OPERATION, "the GPU's memory cannot be shared with other processes");
    return status == 1;
}

static int match_sent(struct tutti_matching *m)
{
    int done = 1, one;
    for (int i = 0; i < 2; i++) {
        if (m->sent[i] == tutti_handles.no_request)
            continue;
        if (tutti_next.MPI_Test(&m->sent[i], &one, MPI_STATUS_IGNORE) == MPI_SUCCESS && !one)
            done = 0;
    }
    return done;
}

static void match_finish(struct tutti_matching *m)
{
    struct tutti_mpix_request *request = m->request;
    struct tutti_matching **at = &m->group->first;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    if (!m->peer_fine && request->code == MPI_SUCCESS)
        match_wrong(request, MPI_ERR_OTHER, why_peer);
    request->stage = request->code == MPI_SUCCESS ? TUTTI_MATCHED : TUTTI_MATCH_FAILED;
    request->came = (MPI_Count)(request->send ? request->start.bytes : m->info.bytes);
    if (!request->send && request->stage == TUTTI_MATCHED)
        request->start.bytes = m->info.bytes;
    request->start.own = request->port;
    request->start.send = (uint32_t)request->send;
    request->start.peer = (uint32_t)request->peer;
    request->matching = NULL;
    free(m);
}

static void match_step(struct tutti_matching *m)
{
    struct tutti_mpix_request *request = m->request;
    if (request->stage == TUTTI_MATCH_SHOW) {
        if (match_show(m))
            return;
        m->out.fine = request->code == MPI_SUCCESS;
        match_send(m, 0, &m->out);
        request->stage = TUTTI_MATCH_INFO;
    }
    if (request->stage == TUTTI_MATCH_INFO && m->informed)
        request->stage = TUTTI_MATCH_MAP;
    if (request->stage == TUTTI_MATCH_MAP) {
        if (match_map(m))
            return;
        m->ack =
            (struct match_note){.kind = MATCH_ACK, .fine = request->code == MPI_SUCCESS, .id = m->id, .to = m->info.id};
        match_send(m, 1, &m->ack);
        request->stage = TUTTI_MATCH_ACK;
    }
    if (request->stage == TUTTI_MATCH_ACK && m->acknowledged && match_sent(m))
        match_finish(m);
}

/* A group without matches, and without early notes, is not kept. */
static void match_sweep(void)
{
    for (struct match_group **at = &groups; *at;) {
        struct match_group *group = *at;
        if (group->first || group->posted || group->early) {
            at = &group->next;
            continue;
        }
        *at = group->next;
        free(group);
    }
}

int tutti_match_test(struct tutti_mpix_request *request)
{
    for (struct match_group *group = groups; group && request->matching; group = group->next) {
        match_receive(group);
        if (group->first && group->first->request->node_peer >= 0)
            tutti_pair_poll(tutti_door.node, group->first->request->node_peer);
        for (struct tutti_matching *m = group->first, *next; m; m = next) {
            const struct tutti_mpix_request *of = m->request;
            next = m->next;
            match_step(m);
            if (of->stage == TUTTI_MATCH_SHOW)
                break; /* notes are sent in the order of the matches */
        }
    }
    if (request->matching)
        return 0;
    match_sweep();
    return 1;
}

int tutti_match_begin(struct tutti_mpix_request *request, int gpu)
{
    static uint64_t ids;
    struct tutti_matching *m = calloc(1, sizeof *m);
    struct match_group *group = m ? match_group_of(request) : NULL;
    if (!group) {
        free(m);
        return match_wrong(request, MPI_ERR_NO_MEM, why_memory);
    }
    request->code = MPI_SUCCESS;
    (void)match_prepare(request, gpu); /* the note notifies the peer of an error */
    *m = (struct tutti_matching){.request = request, .group = group, .id = ++ids};
    m->sent[0] = m->sent[1] = tutti_handles.no_request;
    m->out = (struct match_note){
        .kind = request->send ? MATCH_SEND : MATCH_RECEIVE, .id = m->id, .bytes = request->start.bytes};
    if (request->code == MPI_SUCCESS && tutti_door.device->gpu.uuid(request->gpu, m->out.uuid) != TUTTI_OK)
        match_wrong(request, MPI_ERR_OTHER, "the GPU has no name");
    struct tutti_matching **at = &group->first;
    while (*at)
        at = &(*at)->next;
    *at = m;
    request->matching = m;
    request->stage = TUTTI_MATCH_SHOW;
    for (struct match_early **early = &group->early; *early; early = &(*early)->next) {
        struct match_early *one = *early;
        if (!match_give(group, &one->note))
            continue;
        *early = one->next;
        free(one);
        break;
    }
    return MPI_SUCCESS;
}

void tutti_match_end(struct tutti_mpix_request *request)
{
    for (int i = 0; i < 2; i++)
        tutti_pair_release(tutti_door.node, tutti_door.device, request->mapped[i]);
    tutti_queue_nodes_end(request->nodes);
    tutti_queue_host_run_end(request->host_run);
    tutti_ports_give(request->port);
    tutti_deferred_free_memory(tutti_door.node, request->bounce);
    if (request->elements.plan)
        tutti_plan_drop(request->elements.plan);
}
