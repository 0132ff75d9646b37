/* The transport of everything below the door, over real calls of the MPI on one communicator. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/reserve.h"
#include "core/settings.h"
#include "core/status.h"
#include "mpi/comm/comms.h"
#include "mpi/comm/transfers.h"
#include "mpi/real/door.h"
#include "mpi/real/self.h"
#include "progress/engine.h"
#include "progress/fiber.h"

enum {
    PIECE = 1 << 30,   /* bytes of one block of one real call */
    WATCHED = 1 << 20, /* bytes of all blocks up to which a call is watched, see await() */
    FEW = 256          /* words of an allreduce up to which it is watched */
};

static MPI_Comm transport_comm_of(struct tutti_transport *transport)
{
    return ((struct tutti_mpi_transport *)transport)->comm;
}

static int transport_result(int code)
{
    return code == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_TRANSPORT;
}

struct ending {
    MPI_Request *request;
    int code;
};

static int transport_ended(void *with)
{
    struct ending *e = with;
    int flag = 0;
    e->code = tutti_next.MPI_Test(e->request, &flag, MPI_STATUS_IGNORE);
    return flag || e->code != MPI_SUCCESS;
}

/* Completes a nonblocking call. A plain MPI waits forever for a process that has died; here the wait ends with
 * TUTTI_ERR_PEER. Then the request is lost, and the MPI may still use its buffers. A stall is reported once, without
 * the missing rank, which is unknown before the ranks have met. There is no time limit, as in the MPI's own call: a
 * program on host memory must not fail for it. */
static int transport_await(struct tutti_transport *transport, int code, MPI_Request *request)
{
    char what[160];
    struct ending e = {request, code};
    if (code != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    snprintf(what, sizeof what, "not all ranks have arrived at a reduction on %s, where they meet for the first time",
             transport->label);
    int status = tutti_progress_wait(
        &(const struct tutti_wait){.done = transport_ended, .with = &e, .what = what, .watched = 1});
    return status != TUTTI_OK ? status : transport_result(e.code);
}

/* allgather or alltoall of few bytes, watched. The buffers are this function's own, as the MPI may use them after a
 * failure: then they are never freed. */
static int transport_watched(struct tutti_transport *transport, const void *in, size_t in_bytes, void *out,
                             size_t bytes, int all)
{
    size_t size = (size_t)transport->size, out_bytes = bytes * size;
    char *room = malloc(in_bytes + out_bytes + 1);
    MPI_Request request = tutti_handles.no_request;
    const void *from = room ? room : in; /* a rank that stays away would leave the others waiting in the exchange */
    void *to = room ? room + in_bytes : out;
    if (room)
        memcpy(room, in, in_bytes);
    int status = transport_await(transport,
                                 (all ? tutti_next.MPI_Ialltoall : tutti_next.MPI_Iallgather)(
                                     from, (int)bytes, tutti_handles.byte, to, (int)bytes, tutti_handles.byte,
                                     transport_comm_of(transport), &request),
                                 &request);
    if (status == TUTTI_ERR_PEER || !room)
        return status; /* cppcheck-suppress memleak */
    memcpy(out, room + in_bytes, out_bytes);
    free(room);
    return status;
}

static int is_turn(void *with)
{
    struct tutti_comm *state = with;
    return atomic_load_explicit(&state->queued, memory_order_acquire) == 0;
}

/* Waits until the MPI has been given what was started before on the communicator. */
static void await_turn(MPI_Comm comm)
{
    struct tutti_comm *state = likely(!tutti_progress_busy()) ? NULL : tutti_comm_find(comm);
    if (state)
        tutti_progress_wait(&(const struct tutti_wait){.done = is_turn, .with = state, .watched = 1});
}

static int transport_barrier(struct tutti_transport *transport)
{
    TUTTI_INSIDE();
    await_turn(transport_comm_of(transport));
    MPI_Request request = tutti_handles.no_request;
    return transport_await(transport, tutti_next.MPI_Ibarrier(transport_comm_of(transport), &request), &request);
}

/* A type of `piece` bytes whose copies lie `stride` bytes apart, so that blocks beyond 2^31 bytes go in pieces. */
static int piece_type(size_t piece, size_t stride, MPI_Datatype *out)
{
    MPI_Datatype bytes;
    int code = tutti_next.MPI_Type_contiguous((int)piece, tutti_handles.byte, &bytes);
    if (code != MPI_SUCCESS)
        return code;
    code = tutti_next.MPI_Type_create_resized(bytes, 0, (MPI_Aint)stride, out);
    tutti_next.MPI_Type_free(&bytes);
    return code == MPI_SUCCESS ? tutti_next.MPI_Type_commit(out) : code;
}

/* Blocks of `bytes` bytes from all ranks to all ranks: a block for each rank (each), or one for all of them. */
static int transport_exchange(struct tutti_transport *transport, const void *in, void *out, size_t bytes, int each)
{
    TUTTI_INSIDE();
    await_turn(transport_comm_of(transport));
    MPI_Comm comm = transport_comm_of(transport);
    const MPI_Datatype byte = tutti_handles.byte;
    if (bytes <= WATCHED / (size_t)transport->size)
        return transport_watched(transport, in, each ? bytes * (size_t)transport->size : bytes, out, bytes, each);
    if (bytes <= PIECE)
        return transport_result(each ? tutti_next.MPI_Alltoall(in, (int)bytes, byte, out, (int)bytes, byte, comm)
                                     : tutti_next.MPI_Allgather(in, (int)bytes, byte, out, (int)bytes, byte, comm));
    for (size_t at = 0; at < bytes; at += PIECE) {
        const size_t piece = bytes - at < PIECE ? bytes - at : PIECE;
        const char *const from = (const char *)in + at;
        MPI_Datatype type;
        int code = piece_type(piece, bytes, &type);
        if (code != MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
        code = each ? tutti_next.MPI_Alltoall(from, 1, type, (char *)out + at, 1, type, comm)
                    : tutti_next.MPI_Allgather(from, (int)piece, byte, (char *)out + at, 1, type, comm);
        tutti_next.MPI_Type_free(&type);
        if (code != MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
    }
    return TUTTI_OK;
}

static int transport_allgather(struct tutti_transport *transport, const void *in, void *out, size_t bytes)
{
    if (transport->size > 1)
        return transport_exchange(transport, in, out, bytes, 0);
    memcpy(out, in, bytes);
    return TUTTI_OK;
}

static int transport_alltoall(struct tutti_transport *transport, const void *in, void *out, size_t bytes)
{
    return transport_exchange(transport, in, out, bytes, 1);
}

static int transport_allreduce(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how)
{
    TUTTI_INSIDE();
    await_turn(transport_comm_of(transport));
    const MPI_Op op = tutti_transport_op(how);
    if (count <= FEW) {
        static struct tutti_reserve reserve;
        int64_t *room = tutti_reserve_take(&reserve, 2 * FEW * sizeof *room);
        MPI_Request request = tutti_handles.no_request;
        if (!room)
            return TUTTI_ERR_MEMORY;
        memcpy(room, words, count * sizeof *words);
        int status = transport_await(transport,
                                     tutti_next.MPI_Iallreduce(room, room + FEW, (int)count, tutti_handles.int64, op,
                                                               transport_comm_of(transport), &request),
                                     &request);
        if (status == TUTTI_ERR_PEER)
            return status; /* the room is the MPI's, see watched(). cppcheck-suppress memleak */
        memcpy(words, room + FEW, count * sizeof *words);
        free(room);
        return status;
    }
    for (size_t at = 0; at < count; at += PIECE / sizeof *words) {
        size_t piece = count - at < PIECE / sizeof *words ? count - at : PIECE / sizeof *words;
        if (tutti_next.MPI_Allreduce(MPI_IN_PLACE, words + at, (int)piece, tutti_handles.int64, op,
                                     transport_comm_of(transport)) != MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
    }
    return TUTTI_OK;
}

/* Called from waits, also from threads of the host device: those may not call an MPI that is not MPI_THREAD_MULTIPLE.
 */
static void transport_progress(struct tutti_transport *transport)
{
    (void)transport;
    if ((!tutti_door.multiple && !tutti_inside) || tutti_fiber_here())
        return;
    TUTTI_INSIDE();
    tutti_self_progress();
    if (!tutti_waiting_now()) /* then all have arrived; before, a peer may need progress of this rank */
        tutti_progress_poll();
}

/* The lowest rank of the transport on this machine names the machine. */
static int node_color(struct tutti_transport *transport, int64_t *color)
{
    TUTTI_INSIDE();
    MPI_Comm node;
    int lowest = transport->rank, mine = transport->rank;
    if (tutti_next.MPI_Comm_split_type(transport_comm_of(transport), MPI_COMM_TYPE_SHARED, mine, tutti_handles.no_info,
                                       &node) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    int64_t word = mine;
    int code = tutti_next.MPI_Allreduce(MPI_IN_PLACE, &word, 1, tutti_handles.int64, tutti_handles.min, node);
    if (code == MPI_SUCCESS)
        lowest = (int)word;
    tutti_next.MPI_Comm_free(&node);
    *color = lowest;
    return transport_result(code);
}

static const struct tutti_transport_ops ops = {
    .barrier = transport_barrier,
    .allgather = transport_allgather,
    .alltoall = transport_alltoall,
    .allreduce = transport_allreduce,
    .progress = transport_progress,
    .node_color = node_color,
    .iallgather = tutti_transport_iallgather,
    .iallreduce = tutti_transport_iallreduce,
    .pending_test = tutti_transport_pending_test,
    .send = tutti_transport_send,
    .receive = tutti_transport_receive,
    .probe = tutti_transport_probe,
    .receive_caught = tutti_transport_receive_caught,
    .test = tutti_transport_test,
    .cancel = tutti_transport_cancel,
};

/* snprintf() would take longer than the rest of tutti_transport_over(), and programs make many communicators. */
static void transport_label_unnamed(char *label, int size)
{
    char digits[12], *at = stpcpy(label, "unnamed communicator of ");
    int n = 0;
    for (; size > 0; size /= 10)
        digits[n++] = (char)('0' + size % 10);
    while (n > 0)
        *at++ = digits[--n];
    stpcpy(at, " ranks");
}

void tutti_transport_over(struct tutti_mpi_transport *transport, MPI_Comm comm)
{
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int length = 0;
    transport->base.ops = &ops;
    transport->comm = comm;
    transport->base.any_thread = tutti_door.multiple;
    transport->base.tags = TUTTI_TAGS_LEAST;
    transport->base.tags_taken = 0;
    tutti_next.MPI_Comm_rank(comm, &transport->base.rank);
    tutti_next.MPI_Comm_size(comm, &transport->base.size);
    if (tutti_next.MPI_Comm_get_name)
        tutti_next.MPI_Comm_get_name(comm, name, &length);
    const size_t shown = length > 0 ? strnlen(name, sizeof transport->base.label - 1) : 0;
    memcpy(transport->base.label, name, shown);
    transport->base.label[shown] = 0;
    if (shown == 0)
        transport_label_unnamed(transport->base.label, transport->base.size);
}
