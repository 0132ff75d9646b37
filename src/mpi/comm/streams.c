/* MPIX_Stream, and communicators made with one. */
#include "mpi/comm/streams.h"
#include "mpi/comm/identity.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "mpi/comm/comms.h"
#include "mpi/real/errors.h"
#include "p2p/lanes.h"
#include "progress/engine.h"

/* ---- streams ---- */

static int streams_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* "[2]" for two bytes of zero, as an MPI's own MPIX_Info_set_hex writes them: how many, with *text behind it; 0: it is
 * not that. */
static size_t read_zeros(const char **text)
{
    char *end;
    const unsigned long zeros = **text == '[' ? strtoul(*text + 1, &end, 10) : 0;
    if (zeros == 0 || zeros > sizeof(void *) || *end != ']')
        return 0;
    *text = end + 1;
    return zeros;
}

/* The bytes of a handle; 1, or 0 where the text is not exactly that. */
static int read_handle(const char *text, void **handle)
{
    unsigned char bytes[sizeof *handle] = {0};
    size_t n = 0;
    while (*text && n < sizeof bytes) {
        const size_t zeros = read_zeros(&text);
        const int high = zeros ? 0 : streams_digit(text[0]), low = zeros || high < 0 ? 0 : streams_digit(text[1]);
        if (high < 0 || low < 0)
            return 0;
        if (!zeros) {
            bytes[n] = (unsigned char)(high << 4 | low);
            text += 2;
        }
        n += zeros ? zeros : 1;
    }
    if (*text || n != sizeof bytes)
        return 0;
    memcpy(handle, bytes, sizeof bytes);
    return 1;
}

static int is_of_device(const char *type)
{
    const struct tutti_device *device = tutti_door.device;
    return strcmp(type, "tutti_stream") == 0 || strcmp(type, device->stream_type) == 0;
}

int tutti_mpix_stream_named(MPI_Info info)
{
    char type[MPI_MAX_INFO_VAL + 1] = "";
    int has_type = 0;
    if (info == tutti_handles.no_info || !tutti_door.device || !tutti_door.device->stream.wrap)
        return 0;
    TUTTI_INSIDE();
    return tutti_next.MPI_Info_get(info, "type", MPI_MAX_INFO_VAL, type, &has_type) == MPI_SUCCESS && has_type &&
           is_of_device(type);
}

/* MPI_SUCCESS and the handle, or what is wrong with the info object. */
static int read_info(MPI_Info info, void **handle)
{
    static const char call[] = "MPIX_Stream_create";
    char type[MPI_MAX_INFO_VAL + 1] = "", value[MPI_MAX_INFO_VAL + 1] = "";
    int has_type = 0, has_value = 0;
    if (info == tutti_handles.no_info) {
        tutti_error("%s needs an info object with the keys \"type\" and \"value\"", call);
        return MPI_ERR_INFO;
    }
    TUTTI_INSIDE();
    int code = tutti_next.MPI_Info_get(info, "type", MPI_MAX_INFO_VAL, type, &has_type);
    if (code == MPI_SUCCESS)
        code = tutti_next.MPI_Info_get(info, "value", MPI_MAX_INFO_VAL, value, &has_value);
    if (code != MPI_SUCCESS)
        return code;
    if (!has_type || !has_value) {
        tutti_error("%s: the info object has no key \"%s\"", call, has_type ? "value" : "type");
        return MPI_ERR_INFO_KEY;
    }
    const struct tutti_device *device = tutti_door.device;
    if (!device || !device->stream.wrap) {
        tutti_error("%s: this process has no device with streams", call);
        return MPI_ERR_UNSUPPORTED_OPERATION;
    }
    if (!is_of_device(type)) {
        tutti_error("%s: streams of device %s are of type %s, or tutti_stream, not \"%.40s\"; see TUTTI_DEVICE", call,
                    device->name, device->stream_type, type);
        return MPI_ERR_INFO_VALUE;
    }
    if (!read_handle(value, handle)) {
        tutti_error("%s: \"value\" is not the %zu bytes of a handle in hexadecimal: set it by MPIX_Info_set_hex", call,
                    sizeof *handle);
        return MPI_ERR_INFO_VALUE;
    }
    return MPI_SUCCESS;
}

int tutti_mpix_stream_create(MPI_Info info, struct tutti_mpix_stream **out)
{
    void *handle = NULL, *same;
    char why[256] = "";
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!out)
        return tutti_fail_self(MPI_ERR_ARG);
    int code = read_info(info, &handle);
    if (code != MPI_SUCCESS)
        return tutti_fail_self(code);
    const struct tutti_device *device = tutti_door.device;
    struct tutti_mpix_stream *made = calloc(1, sizeof *made);
    int status = made ? device->open(why, sizeof why) : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK && (status = device->stream.wrap(-1, handle, &made->stream)) == TUTTI_OK) {
        status = device->stream.identity(made->stream, &made->gpu, &same);
        if (status == TUTTI_OK && device->stream.order)
            status = made->order = device->stream.order(made->stream);
        if (status < 0)
            device->stream.destroy(made->stream);
    }
    if (status >= 0) {
        atomic_init(&made->users, 1);
        *out = made;
        return MPI_SUCCESS;
    }
    free(made);
    tutti_error("MPIX_Stream_create: %p cannot be used as a stream of device %s: %s", handle, device->name,
                why[0] ? why : tutti_status_text(status));
    return tutti_fail_self(status == TUTTI_ERR_ARGUMENT ? MPI_ERR_ARG : tutti_error_code(status));
}

static void streams_drop(struct tutti_mpix_stream *stream)
{
    if (atomic_fetch_sub(&stream->users, 1) > 1)
        return;
    tutti_door.device->stream.destroy(stream->stream);
    free(stream);
}

int tutti_mpix_stream_free(struct tutti_mpix_stream **stream)
{
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!stream || !*stream)
        return tutti_fail_self(MPI_ERR_ARG);
    int status = tutti_comms_stream_fault(*stream);
    streams_drop(*stream);
    *stream = NULL;
    if (status == TUTTI_OK)
        return MPI_SUCCESS;
    tutti_error("MPIX_Stream_free: calls in the stream have failed: %s", tutti_status_text(status));
    return tutti_fail_self(tutti_error_code(status));
}

/* ---- communicators ---- */

/* Counts communicators by the order of their streams. Kernels of one on the default stream and of one on a stream that
 * waits for it run one after the other, as they come: where they come in another order on another rank, each waits for
 * a peer's that waits behind the other. */
static void count_order(int order, int by)
{
    static atomic_int counts[TUTTI_STREAM_DEFAULT + 1];
    static atomic_flag said = ATOMIC_FLAG_INIT;
    atomic_fetch_add(&counts[order], by);
    if (by > 0 && order != TUTTI_STREAM_FREE && atomic_load(&counts[TUTTI_STREAM_BLOCKING]) > 0 &&
        atomic_load(&counts[TUTTI_STREAM_DEFAULT]) > 0 && !atomic_flag_test_and_set(&said))
        tutti_warn("MPIX_Stream_comm_create: one communicator has the default stream and another one a stream that "
                   "waits for it: make their calls in the same order on all ranks, or the stream with "
                   "cudaStreamNonBlocking");
}

static int stream_is_idle(void *stream)
{
    return tutti_door.device->stream.query(stream);
}

/* Waits for what is in the communicator's stream; in a fiber the others go on. Polls meanwhile: kernels in the stream
 * wait for kernels of peers, and a peer may put its own into its stream only after a message of this rank. `quiet` does
 * not poll: for callbacks of the MPI. */
static int streams_drain(const struct tutti_comm *comm, int quiet)
{
    return tutti_progress_wait(
        &(const struct tutti_wait){.done = stream_is_idle, .with = comm->stream->stream, .quiet = quiet});
}

/* Once drained: whether all of it has succeeded. */
static int streams_finished(const struct tutti_comm *comm)
{
    int status = streams_drain(comm, 0);
    if (status == TUTTI_OK && comm->proxy)
        return atomic_load(&comm->proxy->failed);
    return status == TUTTI_OK ? tutti_team_fault(comm->team) : status;
}

/* What the reductions of the communicator that are not in stream order wait for. */
int tutti_comm_stream_await(const struct tutti_comm *comm)
{
    const struct tutti_device *device = tutti_door.device;
    struct tutti_stream *stream = comm->stream->stream;
    int capturing = device->stream.capturing(stream);
    if (capturing > 0) {
        tutti_error("a reduction on %s that is not in stream order was called while the communicator's stream is "
                    "captured: call its _enqueue form, or end the capture first",
                    comm->transport.base.label);
        return TUTTI_ERR_UNAVAILABLE;
    }
    return capturing < 0 ? capturing : streams_finished(comm);
}

static int streams_settle(void *with)
{
    return tutti_comm_stream_await(with);
}

int tutti_comm_stream_settle(MPI_Comm handle)
{
    struct tutti_comm *comm = handle == tutti_handles.no_comm ? NULL : tutti_comm_find(handle);
    if (!comm || !comm->stream || comm->team->size == 1)
        return TUTTI_OK;
    if (tutti_door.device->stream.capturing(comm->stream->stream) != 0) /* said when it is closed */
        return TUTTI_OK;
    const char *why = "";
    if (comm->lanes)
        (void)tutti_lanes_flush(comm->lanes, comm->stream->stream, &why); /* a peer may wait for what was started */
    const int status = streams_finished(comm);
    if (comm->proxy) {
        comm->proxy->close(comm->proxy, 0);
        comm->proxy = NULL;
        return status;
    }
    TUTTI_INSIDE(); /* the ranks vote: that wait makes progress, since peers may wait for the MPI's calls of this rank
                     */
    const int settled = comm->lanes && status == TUTTI_OK ? tutti_lanes_settle(comm->lanes) : TUTTI_ERR_UNAVAILABLE;
    comm->lanes_settled = settled == TUTTI_OK;
    return comm->lanes && status == TUTTI_OK ? settled : status;
}

/* Why the communicator cannot have a stream; NULL: it has one now. Alike on all ranks. */
static const char *open_on(struct tutti_comm *comm, struct tutti_mpix_stream *stream)
{
    struct tutti_team *team = comm->team;
    if (!team->whole && !tutti_door.device->host_steps)
        return team->why;
    if (!team->whole)
        return tutti_comms_stream_proxy(comm, stream);
    tutti_comms_connect(team, stream->gpu);
    team->turns = stream->order == TUTTI_STREAM_DEFAULT && !tutti_door.multiple;
    team->stream_of_calls = tutti_door.multiple ? NULL : stream->stream;
    int status = tutti_enqueue_open(team, stream->gpu);
    if (status != TUTTI_OK || team->state != TUTTI_TEAM_OPEN)
        return team->why && status == TUTTI_ERR_UNAVAILABLE ? team->why : tutti_status_text(status);
    status = tutti_lanes_open(team, &comm->lanes, &comm->no_lanes);
    if (status != TUTTI_OK && status != TUTTI_ERR_UNAVAILABLE)
        return tutti_status_text(status);
    return NULL;
}

/* Ranks that gave a stream: 1 all, 0 none, negative: some, or the transport failed; *teams: all ranks have a team. */
static int streams_agree(struct tutti_comm *comm, int given, int *teams)
{
    struct tutti_transport *transport = &comm->transport.base;
    int64_t words[3] = {given, -given, comm->team != NULL};
    if (transport->ops->allreduce(transport, words, 3, TUTTI_COMBINE_MIN) != TUTTI_OK || words[0] != -words[1])
        return -1;
    *teams = (int)words[2];
    return (int)words[0];
}

static int streams_refuse(MPI_Comm comm, MPI_Comm *made, int code, const char *why)
{
    tutti_error("MPIX_Stream_comm_create: %s", why);
    tutti_inside++;
    tutti_next.MPI_Comm_free(made);
    tutti_inside--;
    *made = tutti_handles.no_comm;
    return tutti_fail_comm(comm, code);
}

int tutti_mpix_stream_comm_create(MPI_Comm comm, struct tutti_mpix_stream *stream, MPI_Comm *out)
{
    if (!tutti_door.on)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    const uint64_t identity = tutti_comm_identity_child(comm);
    tutti_inside++;
    int code = tutti_next.MPI_Comm_dup(comm, out);
    tutti_inside--;
    if (code != MPI_SUCCESS)
        return code; /* the MPI has raised it */
    tutti_comm_identity_note(*out, identity);
    struct tutti_comm *state = tutti_comm_make(*out);
    if (!state)
        return streams_refuse(comm, out, MPI_ERR_NO_MEM, "out of memory");
    if (!state->team && !state->alone)
        return streams_refuse(
            comm, out, state->failed != TUTTI_OK ? tutti_error_code(state->failed) : MPI_ERR_UNSUPPORTED_OPERATION,
            state->passed ? state->passed : tutti_status_text(state->failed));
    int teams = 0, given = streams_agree(state, stream != NULL, &teams);
    if (given < 0)
        return streams_refuse(comm, out, MPI_ERR_ARG, "some ranks gave MPIX_STREAM_NULL and some a stream");
    if (given == 0 && state->team)
        return MPI_SUCCESS;
    if (!teams)
        return streams_refuse(comm, out, MPI_ERR_NO_MEM,
                              state->passed ? state->passed : "a rank has no memory for a team");
    const char *why = NULL;
    if (state->team->size > 1) {
        TUTTI_INSIDE();
        why = open_on(state, stream);
    }
    if (why)
        return streams_refuse(comm, out, MPI_ERR_UNSUPPORTED_OPERATION, why);
    if (state->team->size == 1)
        state->no_lanes = "a communicator of one rank has no messages in stream order: copy in the stream";
    atomic_fetch_add(&stream->users, 1);
    state->stream = stream;
    count_order(stream->order, 1);
    tutti_coll_settle_by(state->team, streams_settle, state);
    if (state->team->nonblocking)
        tutti_coll_settle_by(state->team->nonblocking, streams_settle, state);
    return MPI_SUCCESS;
}

int tutti_comm_stream_close(struct tutti_comm *comm, int closing)
{
    const struct tutti_device *device = tutti_door.device;
    int idle = 1;
    if (comm->stream && !closing) {
        int capturing = device->stream.capturing(comm->stream->stream);
        if (capturing > 0) {
            tutti_error("%s was freed while its stream is captured: what it holds is not used again",
                        comm->transport.base.label);
            idle = 0;
        } else if (capturing == 0) {
            streams_drain(comm, 1); /* a free of the program has drained it before it reached the MPI */
        }
    }
    if (comm->proxy)
        comm->proxy->close(comm->proxy, 1);
    comm->proxy = NULL;
    tutti_lanes_close(comm->lanes, !closing && idle, comm->lanes_settled);
    comm->lanes = NULL;
    comm->bounced = NULL;
    if (comm->team)
        tutti_team_unshare(comm->team);
    if (comm->stream) {
        count_order(comm->stream->order, -1);
        streams_drop(comm->stream);
    }
    comm->stream = NULL;
    return idle;
}
