/* Nonblocking accesses of files by way of host memory. Their errors are the file's. */
#include "core/counters.h"
#include "mpi/io/files.h"
#include "mpi/real/errors.h"
#include "mpi/request/request.h"

struct access {
    const char *call;
    MPI_File file;
    struct tutti_stage stage;
};

static struct access *file_request_access_of(const struct tutti_request *entry)
{
    return TUTTI_REQUEST_OF(struct access, entry);
}

static int file_request_access_deliver(struct tutti_request *entry, MPI_Status *status)
{
    struct access *access = file_request_access_of(entry);
    if (entry->delivered) /* an access cannot be cancelled, and an MPI may leave that part of the status undefined */
        return MPI_SUCCESS;
    const int code = tutti_access_out(access->call, &access->stage, status);
    if (code != MPI_SUCCESS)
        return tutti_fail_file(access->file, code);
    entry->delivered = 1;
    return MPI_SUCCESS;
}

static void file_request_access_close(struct tutti_request *entry)
{
    tutti_stage_close(&file_request_access_of(entry)->stage);
}

/* stays: an MPI may end the access when it is asked for its status, and fail when it is completed later. */
static const struct tutti_request_kind kind = {.name = "staged file access",
                                               .stays = 1,
                                               .deliver = file_request_access_deliver,
                                               .close = file_request_access_close};

struct tutti_request *tutti_file_entry(MPI_File file, const char *call, const struct tutti_stage *stage)
{
    struct tutti_request *entry = tutti_request_new(&kind, tutti_handles.no_request, tutti_handles.self);
    if (entry)
        *file_request_access_of(entry) = (struct access){.call = call, .file = file, .stage = *stage};
    return entry;
}
