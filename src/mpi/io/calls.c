/* The calls of MPI-IO that read and write, made from the rows of kind IO of calls.def: a buffer in device memory is
 * staged through pinned host memory. The column of buffers names the form; parameters have the standard's names. */
#include "core/counters.h"
#include "mpi/io/files.h"
#include "mpi/real/errors.h"
#include "mpi/request/request.h"

#define ON_FILE(file) tutti_fail_file(file, code)

/* The MPI's call. An MPI may write and read files by calls that the program could make, such as ROMIO: these are the
 * MPI's own. */
#define REAL(name, arguments)                                                                                          \
    (__extension__({                                                                                                   \
        TUTTI_INSIDE();                                                                                                \
        tutti_next.name arguments;                                                                                     \
    }))

/* ---- blocking ---- */

#define AT_POINTER 0
#define TO_POINTER tutti_access_point(&access)
#define AT_OFFSET  offset
#define TO_OFFSET  offset = tutti_access_offset(&access)

/* move: sets the offset of a piece, where the call has one. */
#define IO_BLOCKING(name, errors, arguments, direction, how, at, move)                                                 \
    {                                                                                                                  \
        struct tutti_there there;                                                                                      \
        if (likely(!tutti_file_stages(buf, datatype, &there)))                                                         \
            return REAL(name, arguments);                                                                              \
        struct tutti_access access = {.call = #name,                                                                   \
                                      .file = fh,                                                                      \
                                      .there = there,                                                                  \
                                      .buffer = (char *)(uintptr_t)buf,                                                \
                                      .type = datatype,                                                                \
                                      .count = count,                                                                  \
                                      .way = direction,                                                                \
                                      .user = status};                                                                 \
        tutti_access_begin(&access, how, at);                                                                          \
        int code;                                                                                                      \
        do {                                                                                                           \
            buf = access.piece->host;                                                                                  \
            datatype = access.piece->given;                                                                            \
            count = (__typeof__(count))access.elements;                                                                \
            status = &access.status;                                                                                   \
            move;                                                                                                      \
            code = REAL(name, arguments);                                                                              \
        } while (tutti_access_more(&access, code));                                                                    \
        const int raise = tutti_access_end(&access);                                                                   \
        code = access.code;                                                                                            \
        return raise ? errors : code;                                                                                  \
    }
#define IO_READ(name, errors, arguments)                                                                               \
    IO_BLOCKING(name, errors, arguments, TUTTI_STAGE_OUT, TUTTI_ACCESS_WHOLE, AT_POINTER, TO_POINTER)
#define IO_READ_PIECES(name, errors, arguments)                                                                        \
    IO_BLOCKING(name, errors, arguments, TUTTI_STAGE_OUT, TUTTI_ACCESS_PIECES, AT_POINTER, TO_POINTER)
#define IO_READ_AT(name, errors, arguments)                                                                            \
    IO_BLOCKING(name, errors, arguments, TUTTI_STAGE_OUT, TUTTI_ACCESS_AT, AT_OFFSET, TO_OFFSET)
#define IO_WRITE(name, errors, arguments)                                                                              \
    IO_BLOCKING(name, errors, arguments, TUTTI_STAGE_IN, TUTTI_ACCESS_WHOLE, AT_POINTER, TO_POINTER)
#define IO_WRITE_PIECES(name, errors, arguments)                                                                       \
    IO_BLOCKING(name, errors, arguments, TUTTI_STAGE_IN, TUTTI_ACCESS_PIECES, AT_POINTER, TO_POINTER)
#define IO_WRITE_AT(name, errors, arguments)                                                                           \
    IO_BLOCKING(name, errors, arguments, TUTTI_STAGE_IN, TUTTI_ACCESS_AT, AT_OFFSET, TO_OFFSET)
/* Collective. */
#define IO_READ_ALL(name, errors, arguments)                                                                           \
    IO_BLOCKING(name, errors, arguments, TUTTI_STAGE_OUT, TUTTI_ACCESS_ALONE, AT_POINTER, TO_POINTER)
#define IO_READ_AT_ALL(name, errors, arguments)                                                                        \
    IO_BLOCKING(name, errors, arguments, TUTTI_STAGE_OUT, TUTTI_ACCESS_ALONE_AT, AT_OFFSET, TO_OFFSET)
#define IO_WRITE_ALL(name, errors, arguments)                                                                          \
    IO_BLOCKING(name, errors, arguments, TUTTI_STAGE_IN, TUTTI_ACCESS_ALONE, AT_POINTER, TO_POINTER)
#define IO_WRITE_AT_ALL(name, errors, arguments)                                                                       \
    IO_BLOCKING(name, errors, arguments, TUTTI_STAGE_IN, TUTTI_ACCESS_ALONE_AT, AT_OFFSET, TO_OFFSET)

/* ---- nonblocking, and the beginnings of split collectives ---- */

/* Stages all of a buffer. An MPI code; then the access is to be made of nothing, for the other ranks' sake. */
static int access_open(struct tutti_stage *stage, const char *call, MPI_File file, const void *buffer, MPI_Count count,
                       MPI_Datatype type, int way, const struct tutti_there *there)
{
    MPI_Count size = 0;
    way |= TUTTI_STAGE_HOST;
    if (tutti_next.MPI_Type_size_x(type, &size) == MPI_SUCCESS && size > 0 && count > 0)
        way = tutti_file_stage_way(way, (size_t)size * (size_t)count);
    if (tutti_file_is_native(file, NULL))
        way |= TUTTI_STAGE_PACKED;
    const int status = tutti_stage_open_at(stage, buffer, count, type, way, there);
    if (status == TUTTI_OK)
        return MPI_SUCCESS;
    tutti_stage_report(call, status);
    return tutti_error_code(status);
}

static int access_lost(const char *call, struct tutti_stage *stage)
{
    tutti_stage_report(call, TUTTI_ERR_MEMORY);
    tutti_stage_close(stage);
    return tutti_error_code(TUTTI_ERR_MEMORY);
}

static void access_count(const char *call, const struct tutti_stage *stage)
{
    tutti_count_staged(call, TUTTI_REASON_FILES, tutti_stage_how(stage), tutti_stage_bytes(stage));
}

#define IO_NONBLOCKING(name, errors, arguments, direction)                                                             \
    {                                                                                                                  \
        atomic_store_explicit(&tutti_files_advance, 1, memory_order_relaxed);                                          \
        struct tutti_there there;                                                                                      \
        if (likely(!tutti_file_stages(buf, datatype, &there)))                                                         \
            return REAL(name, arguments);                                                                              \
        struct tutti_stage stage;                                                                                      \
        struct tutti_request *entry = NULL;                                                                            \
        int code = access_open(&stage, #name, fh, buf, count, datatype, direction, &there);                            \
        if (code == MPI_SUCCESS && !(entry = tutti_file_entry(fh, #name, &stage)))                                     \
            code = access_lost(#name, &stage);                                                                         \
        if (!entry) {                                                                                                  \
            buf = NULL;                                                                                                \
            count = 0;                                                                                                 \
            if (REAL(name, arguments) == MPI_SUCCESS)                                                                  \
                tutti_next.MPI_Request_free(request);                                                                  \
            return errors;                                                                                             \
        }                                                                                                              \
        buf = stage.host;                                                                                              \
        datatype = stage.given;                                                                                        \
        if ((code = REAL(name, arguments)) != MPI_SUCCESS) {                                                           \
            tutti_request_destroy(entry);                                                                              \
            return code;                                                                                               \
        }                                                                                                              \
        access_count(#name, &stage);                                                                                   \
        return tutti_request_begun(entry, *request);                                                                   \
    }
#define IO_IREAD(name, errors, arguments)  IO_NONBLOCKING(name, errors, arguments, TUTTI_STAGE_OUT)
#define IO_IWRITE(name, errors, arguments) IO_NONBLOCKING(name, errors, arguments, TUTTI_STAGE_IN)

#define IO_BEGINNING(name, errors, arguments, direction)                                                               \
    {                                                                                                                  \
        struct tutti_there there;                                                                                      \
        if (likely(!tutti_file_stages(buf, datatype, &there)))                                                         \
            return REAL(name, arguments);                                                                              \
        struct tutti_stage stage;                                                                                      \
        int code = access_open(&stage, #name, fh, buf, count, datatype, direction, &there);                            \
        const int open = code == MPI_SUCCESS;                                                                          \
        buf = open ? stage.host : NULL;                                                                                \
        datatype = open ? stage.given : datatype;                                                                      \
        count = open ? count : 0;                                                                                      \
        const int made = REAL(name, arguments);                                                                        \
        if (open && made != MPI_SUCCESS)                                                                               \
            tutti_stage_close(&stage);                                                                                 \
        if (!open || made != MPI_SUCCESS)                                                                              \
            return open ? made : errors;                                                                               \
        access_count(#name, &stage);                                                                                   \
        if (!tutti_file_split(fh, &stage)) {                                                                           \
            code = access_lost(#name, &stage);                                                                         \
            return errors;                                                                                             \
        }                                                                                                              \
        return MPI_SUCCESS;                                                                                            \
    }
#define IO_READ_BEGIN(name, errors, arguments)  IO_BEGINNING(name, errors, arguments, TUTTI_STAGE_OUT)
#define IO_WRITE_BEGIN(name, errors, arguments) IO_BEGINNING(name, errors, arguments, TUTTI_STAGE_IN)

/* An end names no type: whether its buffer is in device memory is known from the beginning. */
#define IO_END(name, errors, arguments)                                                                                \
    {                                                                                                                  \
        struct tutti_stage stage;                                                                                      \
        if (likely(!tutti_file_joined(fh, &stage)))                                                                    \
            return REAL(name, arguments);                                                                              \
        MPI_Status own, *user = status;                                                                                \
        buf = stage.host;                                                                                              \
        status = &own;                                                                                                 \
        int code = REAL(name, arguments);                                                                              \
        if (code == MPI_SUCCESS && (code = tutti_access_out(#name, &stage, &own)) != MPI_SUCCESS)                      \
            errors;                                                                                                    \
        tutti_stage_close(&stage);                                                                                     \
        if (user != MPI_STATUS_IGNORE)                                                                                 \
            *user = own;                                                                                               \
        return code;                                                                                                   \
    }

#define GENERATE_SEE(name, errors, buffers, parameters, arguments)
#define GENERATE_TAKE(name, errors, buffers, parameters, arguments)
#define GENERATE_MEET(name, errors, buffers, parameters, arguments)
#define GENERATE_PASS(name, errors, buffers, parameters, arguments)
#define GENERATE_RMA(name, errors, buffers, parameters, arguments)
#define GENERATE_IO(name, errors, buffers, parameters, arguments)                                                      \
    int tutti_door_##name parameters IO_##buffers(name, errors, arguments)
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    GENERATE_##kind(name, errors, buffers, parameters, arguments)
#include "mpi/real/calls.inc"

/* ---- file handles ---- */

int tutti_door_MPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                                 const char *datarep, MPI_Info info)
{
    const int code = REAL(MPI_File_set_view, (fh, disp, etype, filetype, datarep, info));
    if (code == MPI_SUCCESS)
        tutti_file_viewed(fh, etype, datarep);
    return code;
}

int tutti_door_MPI_File_close(MPI_File *fh)
{
    const MPI_File file = fh ? *fh : MPI_FILE_NULL;
    const int code = REAL(MPI_File_close, (fh));
    if (code == MPI_SUCCESS)
        tutti_file_forget(file);
    return code;
}
