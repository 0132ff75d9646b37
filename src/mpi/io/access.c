/* One blocking access of a file by way of pinned host memory. An access that may be cut goes in pieces through two or
 * three buffers: while the MPI accesses the file for one piece, the next pieces of a write or the last piece of a read
 * are copied. The copy of the first piece of a write and that of the last piece of a read run beside no access. So
 * these pieces are small. By the rules (dtype/file_ways.h) the pieces between are as long, or they grow and shrink by a
 * factor that is less than the ratio of an access's time to that of a copy. A large access takes pinned memory for the
 * buffers alone.
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

/* How an access is cut. A piece of a write has (growth - 1) times as many bytes as all before it, and `least` more. */
struct tutti_file_pace {
    MPI_Count least, most; /* bytes of a piece, at most TUTTI_STAGING_MB */
    MPI_Count growth;
};
static const struct tutti_file_pace paces[] = {
    [TUTTI_FILE_PIECES] = {128 << 10, 1 << 20, 2}, [TUTTI_FILE_EVEN] = {256 << 10, 256 << 10, 1}};
enum { AHEAD = TUTTI_FILE_SLOTS - 1 }; /* pieces of a write that are copied ahead of the MPI's call */

/* 1 if this process alone has opened the file: then each of its collective calls is this process's own. */
static int access_is_alone(MPI_File file)
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
    if (!mine && !access_is_alone(access->file))
        return 0;
    return at || tutti_next.MPI_File_get_position(access->file, &access->offset) == MPI_SUCCESS;
}

/* Elements of `bytes` bytes, a whole number of elementary types. */
static MPI_Count access_elements(const struct tutti_access *access, MPI_Count bytes)
{
    const MPI_Count elements = bytes / access->size / access->unit * access->unit;
    return elements > 0 ? elements : access->unit;
}

/* Sets the fewest and the most elements of a piece, where the access is cut. */
static void access_cut(struct tutti_access *access)
{
    MPI_Count lower, bytes;
    if (tutti_next.MPI_Type_size_x(access->type, &access->size) != MPI_SUCCESS || access->size < 1 ||
        tutti_next.MPI_Type_get_extent_x(access->type, &lower, &access->extent) != MPI_SUCCESS ||
        __builtin_mul_overflow(access->size, access->count, &bytes))
        return;
    const enum tutti_file_way how = tutti_file_way((access->way & TUTTI_STAGE_IN) != 0, (size_t)bytes);
    const struct tutti_file_pace *pace = how >= TUTTI_FILE_PIECES ? &paces[how] : NULL;
    const int cut = pace && bytes >= 2 * pace->least && access_may_be_cut(access);
    access->way = tutti_file_stage_way(access->way, cut ? (size_t)pace->least : (size_t)bytes);
    if (!cut)
        return;
    const MPI_Count room = (MPI_Count)tutti_settings()->staging_mb << 20;
    access->pace = pace;
    access->unit = access->etype / divisor(access->size, access->etype);
    access->least = access_elements(access, pace->least);
    access->most = access_elements(access, pace->most < room ? pace->most : room);
}

/* Elements of the piece that begins with element `first`. */
static MPI_Count access_piece(const struct tutti_access *access, MPI_Count first)
{
    const MPI_Count left = access->count - first;
    const struct tutti_file_pace *pace = access->pace;
    if (!pace)
        return left;
    const int grows = access->way & TUTTI_STAGE_IN;
    const MPI_Count more = pace->growth - 1;
    MPI_Count piece = grows ? more * first + access->least
                            : (more * left + access->least) / pace->growth / access->unit * access->unit;
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

/* The slot of the piece that is so many behind the current one. */
static struct tutti_file_slot *access_slot(struct tutti_access *access, unsigned behind)
{
    return &access->slot[(access->current + behind) % TUTTI_FILE_SLOTS];
}

/* Takes memory for the next elements that are not staged, and copies them in unless `way` has LATER. 0: it failed. */
static int access_stage(struct tutti_access *access, struct tutti_file_slot *slot, int way)
{
    const MPI_Count first = access->reached;
    slot->elements = access_piece(access, first);
    const int status = tutti_stage_open_at(&slot->stage, access->buffer + first * access->extent, slot->elements,
                                           access->type, access->way | way | TUTTI_STAGE_STAYS, &access->there);
    if (status == TUTTI_OK) {
        access->reached += slot->elements;
        return 1;
    }
    access_fail(access, status);
    slot->stage = (struct tutti_stage){.given = tutti_handles.byte};
    slot->elements = 0;
    return 0;
}

/* Begins the copy of a slot's piece. bytes: of a read. */
static void access_copy(struct tutti_access *access, struct tutti_file_slot *slot, int first, MPI_Count bytes)
{
    int status;
    if (access->pace)
        status = tutti_file_copy_begin(&slot->copy, &slot->stage, first, bytes);
    else
        status = access->way & TUTTI_STAGE_IN ? tutti_stage_in(&slot->stage) : tutti_stage_out(&slot->stage, bytes);
    if (status != TUTTI_OK)
        access_fail(access, status);
}

/* Waits for the copy of a slot's piece. */
static void access_settle(struct tutti_access *access, struct tutti_file_slot *slot)
{
    const int status = tutti_file_copy_wait(&slot->copy, &slot->stage, access->call);
    if (status != TUTTI_OK)
        access_fail(access, status);
}

/* The slot is free then. */
static void access_clear(struct tutti_access *access, struct tutti_file_slot *slot)
{
    access_settle(access, slot);
    tutti_stage_close(&slot->stage);
}

/* A write: copies the pieces behind the current one. */
static void access_look_ahead(struct tutti_access *access)
{
    if (!(access->way & TUTTI_STAGE_IN) || !access->pace)
        return;
    while (access->ahead < AHEAD && access->reached < access->count && access->code == MPI_SUCCESS) {
        struct tutti_file_slot *next = access_slot(access, access->ahead + 1);
        if (!access_stage(access, next, TUTTI_STAGE_LATER))
            return;
        access->ahead++;
        access_copy(access, next, 0, -1);
    }
}

/* The current slot's piece is what the MPI gets, if it could be copied. */
static void access_give(struct tutti_access *access)
{
    struct tutti_file_slot *slot = access_slot(access, 0);
    if (access->way & TUTTI_STAGE_IN)
        access_settle(access, slot);
    if (access->code != MPI_SUCCESS && slot->elements) {
        access_clear(access, slot);
        slot->stage = (struct tutti_stage){.given = tutti_handles.byte};
        slot->elements = 0;
    }
    access->piece = &slot->stage;
    access->elements = slot->elements;
}

void tutti_access_begin(struct tutti_access *access, enum tutti_access_cut cut, MPI_Offset offset)
{
    struct tutti_file_slot *first = &access->slot[0];
    access->cut = cut;
    access->offset = offset;
    access->way |= TUTTI_STAGE_HOST;
    if (tutti_file_is_native(access->file, &access->etype))
        access->way |= TUTTI_STAGE_PACKED;
    else if (access->cut == TUTTI_ACCESS_AT ||
             access->cut == TUTTI_ACCESS_ALONE_AT) /* elements have other sizes in the file */
        access->cut = TUTTI_ACCESS_WHOLE;
    access_cut(access);
    const int later = access->pace && access->way & TUTTI_STAGE_IN;
    if (access_stage(access, first, later ? TUTTI_STAGE_LATER : 0)) {
        if (later)
            access_copy(access, first, 1, -1);
        access_look_ahead(access);
    }
    access_give(access);
}

MPI_Offset tutti_access_offset(const struct tutti_access *access)
{
    return access->offset + (MPI_Offset)(access->done * access->size / access->etype);
}

/* An MPI may leave a wrong file pointer where an access ends between the blocks of a view. */
static void access_seek(struct tutti_access *access, MPI_Count bytes)
{
    if (!access->pace || access->cut == TUTTI_ACCESS_AT || access->cut == TUTTI_ACCESS_ALONE_AT)
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

static int io_access_close(struct tutti_access *access)
{
    for (unsigned i = 0; i < TUTTI_FILE_SLOTS; i++)
        access_clear(access, access_slot(access, i + 1));
    return 0;
}

/* The next piece becomes the current one. */
static int access_next(struct tutti_access *access)
{
    struct tutti_file_slot *slot = access_slot(access, 0), *next = access_slot(access, 1);
    if (access->way & TUTTI_STAGE_IN) {
        access_clear(access, slot);
        if (!access->ahead)
            return io_access_close(access);
        access->ahead--;
    } else {
        access_clear(access, next);
        if (access->code != MPI_SUCCESS || !access_stage(access, next, 0))
            return io_access_close(access);
    }
    access->current = (access->current + 1) % TUTTI_FILE_SLOTS;
    access_look_ahead(access);
    access_give(access);
    return access->elements ? 1 : io_access_close(access);
}

int tutti_access_more(struct tutti_access *access, int code)
{
    if (!access->elements) /* nothing was staged */
        return io_access_close(access);
    access->raised = code != MPI_SUCCESS;
    const MPI_Count bytes = access->raised ? 0 : tutti_received(&access->status);
    if (access->raised) {
        access->code = code;
        return io_access_close(access);
    }
    if (access->way & TUTTI_STAGE_OUT)
        access_copy(access, access_slot(access, 0), access->done == 0, bytes);
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
        if (access->pace)
            tutti_next.MPI_Status_set_elements_x(&access->status, tutti_handles.byte, access->moved);
        *access->user = access->status;
    }
    return access->code != MPI_SUCCESS && !access->raised;
}
