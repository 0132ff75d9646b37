/* One blocking access of a file by way of pinned host memory. An access that may be cut goes in pieces through two
 * buffers: while the MPI accesses the file for one piece, the next piece of a write or the last piece of a read is
 * copied in a stream. Nothing runs beside the copy of the first piece of a write, nor beside that of the first and the
 * last piece of a read. So these pieces are small. By the rules (dtype/file_ways.h) the pieces between are as long, or
 * they grow and shrink by factors of two: a copy has the time of an access of half its bytes. A large access takes
 * pinned memory for two pieces, of TUTTI_STAGING_MB at most each.
 *
 * A collective access of a file of several ranks may not be cut, since all ranks must make as many calls; an agreement
 * on their number would cost every collective access a reduction, of host memory too. Nor may an access of the shared
 * file pointer be cut, since accesses of other ranks would come between the pieces. Their pinned memory is as large as
 * the access.
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

enum { LEAST = 256 << 10 }; /* bytes of a piece that is copied beside nothing: about what a copy costs at any length */

/* 1 if this process alone has opened the file: then each of its collective calls is this process's own. */
static int file_is_alone(MPI_File file)
{
    MPI_Group group;
    int ranks = 0;
    if (tutti_next.MPI_File_get_group(file, &group) != MPI_SUCCESS)
        return 0;
    if (tutti_next.MPI_Group_size(group, &ranks) != MPI_SUCCESS)
        ranks = 0;
    tutti_next.MPI_Group_free(&group);
    return ranks == 1;
}

/* 1 if the MPI may be called for one piece after the other. Sets the offset of the first one. */
static int access_may_be_cut(struct tutti_access *access)
{
    const int at = access->cut == TUTTI_ACCESS_AT || access->cut == TUTTI_ACCESS_ALONE_AT,
              mine = access->cut == TUTTI_ACCESS_AT || access->cut == TUTTI_ACCESS_PIECES;
    int atomic = 1;
    if (access->cut == TUTTI_ACCESS_WHOLE || access->count < 2)
        return 0;
    if (tutti_next.MPI_File_get_atomicity(access->file, &atomic) != MPI_SUCCESS || atomic)
        return 0;
    if (!mine && !file_is_alone(access->file))
        return 0;
    return at || tutti_next.MPI_File_get_position(access->file, &access->offset) == MPI_SUCCESS;
}

/* Elements of `bytes` bytes, a whole number of elementary types. */
static MPI_Count access_elements(const struct tutti_access *access, MPI_Count bytes)
{
    const MPI_Count elements = bytes / access->size / access->unit * access->unit;
    return elements > 0 ? elements : access->unit;
}

/* Sets the fewest and the most elements of a piece: all, where the access may not be cut. */
static void access_cut(struct tutti_access *access)
{
    MPI_Count lower, bytes;
    access->least = access->most = access->count;
    if (tutti_next.MPI_Type_size_x(access->type, &access->size) != MPI_SUCCESS || access->size < 1 ||
        tutti_next.MPI_Type_get_extent_x(access->type, &lower, &access->extent) != MPI_SUCCESS ||
        __builtin_mul_overflow(access->size, access->count, &bytes))
        return;
    const enum tutti_file_way how = tutti_file_way((access->way & TUTTI_STAGE_IN) != 0, (size_t)bytes);
    const int cut = how >= TUTTI_FILE_PIECES && bytes >= 2 * LEAST && access_may_be_cut(access);
    access->way = tutti_file_stage_way(access->way, cut ? LEAST : (size_t)bytes);
    if (!cut)
        return;
    const MPI_Count most = (MPI_Count)tutti_settings()->staging_mb << 20;
    access->unit = access->etype / divisor(access->size, access->etype);
    access->least = access_elements(access, LEAST);
    access->most = how == TUTTI_FILE_EVEN ? access->least : access_elements(access, most);
}

/* Elements of the piece that begins with element `first`. */
static MPI_Count access_piece(const struct tutti_access *access, MPI_Count first)
{
    const MPI_Count left = access->count - first;
    const int grows = first == 0 || access->way & TUTTI_STAGE_IN;
    if (access->most == access->count)
        return left;
    MPI_Count piece = grows ? first + access->least : (left + access->least) / 2 / access->unit * access->unit;
    piece = piece > access->most ? access->most : piece > access->unit ? piece : access->unit;
    /* A short rest goes along, if it costs no larger piece than those that are copied beside something. */
    const int along = left <= piece + piece / 2 && left <= access->most && first > 0;
    return along || piece > left ? left : piece;
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
    const MPI_Count elements = access_piece(access, first);
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
    else if (access->cut == TUTTI_ACCESS_AT ||
             access->cut == TUTTI_ACCESS_ALONE_AT) /* elements have other sizes in the file */
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

/* An MPI may leave a wrong file pointer where an access ends between the blocks of a view. */
static void access_seek(struct tutti_access *access, MPI_Count bytes)
{
    if (access->most == access->count || access->cut == TUTTI_ACCESS_AT || access->cut == TUTTI_ACCESS_ALONE_AT)
        return;
    const MPI_Offset to = access->offset + (MPI_Offset)(bytes / access->etype);
    const int code = tutti_next.MPI_File_seek(access->file, to, MPI_SEEK_SET);
    if (access->code == MPI_SUCCESS)
        access->code = code;
}

void tutti_access_point(struct tutti_access *access)
{
    if (access->done > 0)
        access_seek(access, access->done * access->size);
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
static void io_access_deliver(struct tutti_access *access, MPI_Count bytes)
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

static int io_access_close(struct tutti_access *access)
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
        return io_access_close(access);
    access_look_ahead(access);
    return 1;
}

int tutti_access_more(struct tutti_access *access, int code)
{
    if (!access->elements) /* nothing was staged */
        return io_access_close(access);
    access_settle(access); /* the copy beside the MPI's call */
    if (access->way & TUTTI_STAGE_OUT)
        tutti_stage_close(access_other(access));
    access->raised = code != MPI_SUCCESS;
    const MPI_Count bytes = access->raised ? 0 : tutti_received(&access->status);
    if (access->raised) {
        access->code = code;
        return io_access_close(access);
    }
    io_access_deliver(access, bytes);
    tutti_count_staged(access->call, TUTTI_REASON_FILES, tutti_stage_how(access->piece),
                       tutti_stage_bytes(access->piece));
    access->moved += bytes > 0 ? bytes : 0;
    access->done += access->elements;
    if (access->code != MPI_SUCCESS || access->done == access->count ||
        bytes < access->elements * access->size) /* the end of the file */
        return io_access_close(access);
    return access_next(access);
}

int tutti_access_end(struct tutti_access *access)
{
    if (!access->raised)
        access_seek(access, access->moved);
    if (access->user != MPI_STATUS_IGNORE) {
        if (access->most != access->count)
            tutti_next.MPI_Status_set_elements_x(&access->status, tutti_handles.byte, access->moved);
        *access->user = access->status;
    }
    return access->code != MPI_SUCCESS && !access->raised;
}
