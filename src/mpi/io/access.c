/* One blocking access of a file by way of pinned host memory. An access that may be cut goes in pieces through two
 * buffers: while the MPI accesses the file for one piece, the next piece of a write or the last piece of a read is
 * copied in a stream. So a large access takes pinned memory for two pieces, of TUTTI_STAGING_MB at most each, and about
 * as long as the MPI takes from pinned memory. A collective access may not be cut, since all ranks must make as many
 * calls, nor an access of the shared file pointer, since accesses of other ranks would come between the pieces: their
 * pinned memory is as large as the access.
 */
#include "core/counters.h"
#include "core/settings.h"
#include "core/status.h"
#include "mpi/io/files.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"

static MPI_Count divisor(MPI_Count a, MPI_Count b)
{
    while (b > 0) {
        const MPI_Count rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Bytes of a piece: few pieces cost few calls of the MPI, but the copy of the first or the last one is beside nothing.
 */
static MPI_Count access_room(MPI_Count bytes)
{
    enum { PIECES = 8 };
    const MPI_Count unit = 1 << 20, most = (MPI_Count)tutti_settings()->staging_mb << 20;
    const MPI_Count room = (bytes / PIECES + unit - 1) / unit * unit;
    return room < unit ? unit : room < most ? room : most;
}

/* Sets the most elements of a piece: all, where the access may not be cut. */
static void access_cut(struct tutti_access *access)
{
    MPI_Count lower, bytes;
    int atomic = 1;
    access->most = access->count;
    if (access->cut == TUTTI_ACCESS_WHOLE || access->count < 2)
        return;
    if (tutti_next.MPI_Type_size_x(access->type, &access->size) != MPI_SUCCESS || access->size < 1 ||
        tutti_next.MPI_Type_get_extent_x(access->type, &lower, &access->extent) != MPI_SUCCESS ||
        __builtin_mul_overflow(access->size, access->count, &bytes))
        return;
    const MPI_Count room = access_room(bytes);
    if (bytes <= room || tutti_next.MPI_File_get_atomicity(access->file, &atomic) != MPI_SUCCESS || atomic)
        return;
    /* A piece is a whole number of elementary types. */
    const MPI_Count unit = access->etype / divisor(access->size, access->etype);
    const MPI_Count most = room / access->size / unit * unit;
    access->most = most > 0 ? most : unit < access->count ? unit : access->count;
}

static void access_fail(struct tutti_access *access, int status)
{
    tutti_stage_report(access->call, status);
    if (access->code == MPI_SUCCESS)
        access->code = tutti_error_code(status);
}

static struct tutti_stage *access_other(struct tutti_access *access)
{
    return &access->stage[access->piece == &access->stage[0]];
}

/* Takes memory for the elements from `first` on, and copies them in unless `way` has LATER. How many there are; 0: it
 * failed. */
static MPI_Count access_stage(struct tutti_access *access, struct tutti_stage *stage, MPI_Count first, int way)
{
    const MPI_Count left = access->count - first, elements = left < access->most ? left : access->most;
    const int status =
        tutti_stage_open(stage, access->buffer + first * access->extent, elements, access->type, access->way | way);
    if (status == TUTTI_OK)
        return elements;
    access_fail(access, status);
    *stage = (struct tutti_stage){.given = tutti_handles.byte};
    return 0;
}

/* Copies a stage, in the stream if that is possible. bytes: of a read. */
static void access_copy(struct tutti_access *access, struct tutti_stage *stage, MPI_Count bytes)
{
    const int in = access->way & TUTTI_STAGE_IN;
    struct tutti_file_stream *stream = access->stream;
    int gpu, status;
    if (!stream || !tutti_stage_streams(stage, &gpu)) {
        status = in ? tutti_stage_in(stage) : tutti_stage_out(stage, bytes);
    } else {
        status = in ? tutti_file_stream_in(stream, stage) : tutti_file_stream_out(stream, stage, bytes);
        access->moving = stage;
    }
    if (status != TUTTI_OK)
        access_fail(access, status);
}

/* Waits for the copy that is under way. If it fails, the stream and the memory are not used again: the device may still
 * use them. */
static void access_settle(struct tutti_access *access)
{
    struct tutti_stage *stage = access->moving;
    access->moving = NULL;
    if (!stage)
        return;
    const int status = tutti_file_stream_wait(access->stream, access->call);
    if (status == TUTTI_OK)
        return;
    stage->staged = 0;
    access->stream = NULL;
    access_fail(access, status);
}

/* A write: stages the piece behind the current one. */
static void access_look_ahead(struct tutti_access *access)
{
    const MPI_Count first = access->done + access->elements;
    struct tutti_stage *next = access_other(access);
    access->ahead = 0;
    if (!(access->way & TUTTI_STAGE_IN) || first >= access->count || access->code != MPI_SUCCESS)
        return;
    access->ahead = access_stage(access, next, first, TUTTI_STAGE_LATER);
    if (access->ahead)
        access_copy(access, next, -1);
}

void tutti_access_begin(struct tutti_access *access, enum tutti_access_cut cut, MPI_Offset offset)
{
    int gpu;
    access->cut = cut;
    access->offset = offset;
    access->way |= TUTTI_STAGE_HOST;
    access->piece = &access->stage[0];
    if (tutti_file_is_native(access->file, &access->etype))
        access->way |= TUTTI_STAGE_PACKED;
    else if (access->cut == TUTTI_ACCESS_AT) /* elements have other sizes in the file */
        access->cut = TUTTI_ACCESS_WHOLE;
    access_cut(access);
    /* Not in a stream: this copy waits for earlier work of the program's default stream. */
    access->elements = access_stage(access, access->piece, 0, 0);
    if (access->elements && access->elements < access->count && tutti_stage_streams(access->piece, &gpu))
        access->stream = tutti_file_stream_take(gpu);
    if (access->elements)
        access_look_ahead(access);
}

MPI_Offset tutti_access_offset(const struct tutti_access *access)
{
    return access->offset + (MPI_Offset)(access->done * access->size / access->etype);
}

int tutti_access_out(const char *call, struct tutti_stage *stage, const MPI_Status *status)
{
    const int done = tutti_stage_out(stage, tutti_received(status));
    if (done == TUTTI_OK)
        return MPI_SUCCESS;
    tutti_stage_report(call, done);
    return tutti_error_code(done);
}

/* A read: brings the piece to the program's memory, the first one not in a stream, as in tutti_access_begin(). The
 * other stage is free then. */
static void access_deliver(struct tutti_access *access, MPI_Count bytes)
{
    struct tutti_file_stream *stream = access->stream;
    if (!(access->way & TUTTI_STAGE_OUT))
        return;
    if (access->done == 0)
        access->stream = NULL;
    access_copy(access, access->piece, bytes);
    if (access->done == 0)
        access->stream = stream;
}

static int access_close(struct tutti_access *access)
{
    access_settle(access);
    for (int i = 0; i < 2; i++)
        tutti_stage_close(&access->stage[i]);
    tutti_file_stream_give(access->stream);
    access->stream = NULL;
    return 0;
}

/* The next piece becomes the current one. */
static int access_next(struct tutti_access *access)
{
    struct tutti_stage *next = access_other(access);
    if (access->moving != access->piece)
        tutti_stage_close(access->piece);
    access->piece = next;
    access->elements = access->ahead;
    if (access->way & TUTTI_STAGE_OUT)
        access->elements = access_stage(access, next, access->done, 0);
    if (!access->elements)
        return access_close(access);
    access_look_ahead(access);
    return 1;
}

int tutti_access_more(struct tutti_access *access, int code)
{
    if (!access->elements) /* nothing was staged */
        return access_close(access);
    access_settle(access); /* the copy beside the MPI's call */
    if (access->way & TUTTI_STAGE_OUT)
        tutti_stage_close(access_other(access));
    access->raised = code != MPI_SUCCESS;
    const MPI_Count bytes = access->raised ? 0 : tutti_received(&access->status);
    if (access->raised) {
        access->code = code;
        return access_close(access);
    }
    access_deliver(access, bytes);
    tutti_count_staged(access->call, TUTTI_REASON_FILES, tutti_stage_how(access->piece),
                       tutti_stage_bytes(access->piece));
    access->moved += bytes > 0 ? bytes : 0;
    access->done += access->elements;
    if (access->most == access->count || access->code != MPI_SUCCESS || access->done == access->count ||
        bytes < access->elements * access->size) /* the end of the file */
        return access_close(access);
    return access_next(access);
}

int tutti_access_end(struct tutti_access *access)
{
    if (access->user != MPI_STATUS_IGNORE) {
        if (access->most != access->count)
            tutti_next.MPI_Status_set_elements_x(&access->status, tutti_handles.byte, access->moved);
        *access->user = access->status;
    }
    return access->code != MPI_SUCCESS && !access->raised;
}
