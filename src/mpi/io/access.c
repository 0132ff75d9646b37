/* One blocking access of a file by way of pinned host memory. An access that may be cut goes in pieces, so that a large
 * one takes no more pinned memory than TUTTI_STAGING_MB. A collective access may not be cut, since all ranks must make
 * as many calls, nor an access of the shared file pointer, since accesses of other ranks would come between the pieces.
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

/* Sets the most elements of a piece: all, where the access may not be cut. */
static void access_cut(struct tutti_access *access)
{
    const MPI_Count room = (MPI_Count)tutti_settings()->staging_mb << 20;
    MPI_Count lower, bytes;
    int atomic = 1;
    access->most = access->count;
    if (access->cut == TUTTI_ACCESS_WHOLE || access->count < 2)
        return;
    if (tutti_next.MPI_Type_size_x(access->type, &access->size) != MPI_SUCCESS || access->size < 1 ||
        tutti_next.MPI_Type_get_extent_x(access->type, &lower, &access->extent) != MPI_SUCCESS ||
        __builtin_mul_overflow(access->size, access->count, &bytes) || bytes <= room)
        return;
    if (tutti_next.MPI_File_get_atomicity(access->file, &atomic) != MPI_SUCCESS || atomic)
        return;
    /* A piece is a whole number of elementary types. */
    const MPI_Count unit = access->etype / divisor(access->size, access->etype);
    const MPI_Count most = room / access->size / unit * unit;
    access->most = most > 0 ? most : unit < access->count ? unit : access->count;
}

/* Stages the next piece. */
static void access_stage(struct tutti_access *access)
{
    const MPI_Count left = access->count - access->done;
    access->elements = left < access->most ? left : access->most;
    const int status = tutti_stage_open(&access->stage, access->buffer + access->done * access->extent,
                                        access->elements, access->type, access->way);
    if (status == TUTTI_OK)
        return;
    tutti_stage_report(access->call, status);
    access->code = tutti_error_code(status);
    access->stage.host = NULL;
    access->stage.given = tutti_handles.byte;
    access->elements = 0;
}

void tutti_access_begin(struct tutti_access *access, enum tutti_access_cut cut, MPI_Offset offset)
{
    access->cut = cut;
    access->offset = offset;
    if (tutti_file_is_native(access->file, &access->etype))
        access->way |= TUTTI_STAGE_PACKED;
    else if (access->cut == TUTTI_ACCESS_AT) /* elements have other sizes in the file */
        access->cut = TUTTI_ACCESS_WHOLE;
    access_cut(access);
    access_stage(access);
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

int tutti_access_more(struct tutti_access *access, int code)
{
    const int whole = access->most == access->count;
    if (access->code != MPI_SUCCESS) /* nothing was staged */
        return 0;
    access->raised = code != MPI_SUCCESS;
    const MPI_Count bytes = access->raised ? 0 : tutti_received(&access->status);
    if (access->raised)
        access->code = code;
    else
        access->code = tutti_access_out(access->call, &access->stage, &access->status);
    if (!access->raised)
        tutti_count_staged(access->call, TUTTI_REASON_FILES, tutti_stage_how(&access->stage),
                           tutti_stage_bytes(&access->stage));
    tutti_stage_close(&access->stage);
    access->moved += bytes > 0 ? bytes : 0;
    access->done += access->elements;
    if (whole || access->code != MPI_SUCCESS || access->done == access->count ||
        bytes < access->elements * access->size) /* the end of the file */
        return 0;
    access_stage(access);
    return 1;
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
