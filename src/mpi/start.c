/* Starting staged nonblocking calls. */
#include "core/log.h"
#include "mpi/letters.h"
#include "mpi/requests.h"

static int staging_failed(const char *call, MPI_Comm comm, int status)
{
    tutti_error("%s: staging device memory failed: %s", call, tutti_status_text(status));
    return tutti_fail_comm(comm, tutti_error_code(status));
}

static int started(const char *call, MPI_Comm comm, int code, const MPI_Request *request, struct tutti_span *span,
                   struct tutti_watch *watch)
{
    if (span->staged)
        tutti_count(call, "staged", tutti_span_how(span));
    if (code == MPI_SUCCESS && (span->staged || watch))
        return tutti_pending_add(*request, comm, span, watch);
    tutti_watch_free(watch);
    tutti_span_close(span);
    return code;
}

/* A persistent call, whose contents go in at each start. */
static int prepared(const char *call, MPI_Comm comm, int code, const MPI_Request *request, struct tutti_span *span,
                    struct tutti_watch *watch)
{
    if (span->staged)
        tutti_count(call, "staged", tutti_span_how(span));
    if (code == MPI_SUCCESS && (span->staged || watch))
        return tutti_pending_put(*request, comm,
                                 &(struct tutti_pending){.span = *span, .watch = watch, .persistent = 1});
    tutti_watch_free(watch);
    tutti_span_close(span);
    return code;
}

#define WIDTHS_OF "mpi/start.inc"
#include "mpi/widths.inc"
