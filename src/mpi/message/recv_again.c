/* Receives that have ended are kept whole for the next ones of as many elements of the same predefined type into device
 * memory, as in windows of messages. Their entries and their memory for the MPI are then there, and only what differs
 * is written. With MPI_THREAD_MULTIPLE no receive is kept. */
#include <stddef.h>
#include <string.h>

#include "core/settings.h"
#include "core/trace.h"
#include "mpi/message/recv_request_own.h"
#include "mpi/message/requests.h"

enum {
    KEPT = 64,             /* receives */
    BYTES_MOST = 64 << 10, /* of each */
    PART = 8               /* of TUTTI_BOUNCE_MB, that all of them may take */
};

/* All of one type and count; by `next`. */
static struct tutti_request *first;
static int kept, refused; /* refused: others that have ended since */

static int is_like(const struct tutti_receive *receive, MPI_Count count, MPI_Datatype type)
{
    return receive->recv->type == type && receive->stage.count == count;
}

int tutti_receive_is_kept(const struct tutti_request *entry)
{
    const struct tutti_receive *const receive = tutti_receive_of(entry);
    const struct tutti_recv_request *const recv = receive->recv;
    const struct tutti_stage *const stage = &receive->stage;
    const int predefined = !recv->plan_held && !recv->own_type; /* and in one run: its place is known */
    return tutti_door_alone() && !entry->persistent && recv->state == TUTTI_RECV_FETCHED && stage->lazy &&
           stage->scratch.bounce && stage->places.id != 0 && predefined && stage->bytes <= BYTES_MOST && !recv->wide;
}

/* Frees all. */
static void forget_all(void)
{
    while (first) {
        struct tutti_request *const entry = first;
        first = entry->next;
        tutti_stage_close(&tutti_receive_of(entry)->stage);
        tutti_recv_free(tutti_receive_of(entry)->recv);
        tutti_request_give(entry);
    }
    kept = refused = 0;
}

int tutti_receive_keep(struct tutti_request *entry)
{
    const struct tutti_receive *const receive = tutti_receive_of(entry);
    const size_t most = ((size_t)tutti_settings()->bounce_mb << 20) / PART;
    if (!tutti_receive_is_kept(entry))
        return 0;
    if (first && !is_like(tutti_receive_of(first), receive->stage.count, receive->recv->type)) {
        if (++refused < KEPT)
            return 0;
        forget_all();
    }
    if (kept == KEPT || ((size_t)kept + 1) * receive->stage.scratch.bounce->room > most)
        return 0;
    entry->next = first;
    first = entry;
    kept++;
    return 1;
}

struct tutti_request *tutti_receive_again(const struct tutti_message *like, const struct tutti_there *there)
{
    struct tutti_request *const entry = first;
    struct tutti_receive *const receive = entry ? tutti_receive_of(entry) : NULL;
    const struct tutti_memory *const memory = &there->memory;
    const char *const base = memory->base, *const user = like->buffer;
    if (!entry || !is_like(receive, like->count, like->type) || tutti_inside || !tutti_endpoint ||
        !tutti_endpoint_listens(tutti_endpoint) || !tutti_stage_expects_rts() || memory->kind != TUTTI_MEMORY_DEVICE ||
        memory->id == 0 || user < base || user + receive->stage.bytes > base + memory->bytes)
        return NULL;
    first = entry->next;
    kept--;
    refused = 0;
    tutti_trace(TUTTI_TRACE_RECV, 0);
    tutti_endpoint_poll(tutti_endpoint);
    struct tutti_recv_request *const recv = receive->recv;
    tutti_recv_again(recv);
    recv->comm = like->comm;
    recv->core.elements.buffer = (void *)(uintptr_t)like->buffer;
    recv->core.elements.places = receive->stage.places =
        (struct tutti_places){.device = 1, .gpu = memory->gpu, .id = memory->id};
    recv->core.elements.placed = 1;
    receive->stage.user = (char *)(uintptr_t)like->buffer;
    receive->call = like->name;
    receive->counted = 0;
    const struct tutti_request_kind *const kind = entry->kind;
    memset(entry, 0, offsetof(struct tutti_request, own));
    entry->kind = kind;
    entry->handle = tutti_handles.no_request;
    entry->comm = like->comm;
    return entry;
}

struct tutti_recv_target tutti_receive_target(const struct tutti_request *entry)
{
    const struct tutti_stage *const stage = &tutti_receive_of(entry)->stage;
    return (struct tutti_recv_target){stage->host, stage->count, stage->given};
}

int tutti_receive_again_end(struct tutti_request *entry, int code, MPI_Request request)
{
    if (code == MPI_SUCCESS) {
        tutti_receive_begun(entry);
        return tutti_request_begun(entry, request);
    }
    tutti_stage_close(&tutti_receive_of(entry)->stage);
    tutti_recv_free(tutti_receive_of(entry)->recv);
    tutti_request_give(entry);
    return code;
}

void tutti_receive_again_close(void)
{
    forget_all();
}
