/* Persistent messages of MPI_PROC_NULL with a buffer in device memory. The MPI gets the program's own buffer, which it
 * does not touch. The entry counts the starts, so there is one only while calls are counted. */
#include "mpi/request/request.h"

struct null_message {
    const char *call;
};

static int null_prepare(struct tutti_request *entry)
{
    tutti_count(TUTTI_REQUEST_OF(struct null_message, entry)->call, TUTTI_OUTCOME_PASSED, "MPI_PROC_NULL");
    return MPI_SUCCESS;
}

static const struct tutti_request_kind null_kind = {.name = "persistent message of MPI_PROC_NULL",
                                                    .prepare = null_prepare};

int tutti_null_begun(const char *call, MPI_Comm comm, int code, const MPI_Request *request)
{
    struct tutti_request *entry =
        code == MPI_SUCCESS && tutti_counting ? tutti_request_new(&null_kind, *request, comm) : NULL;
    if (!entry) /* without memory the starts are not counted */
        return code;
    TUTTI_REQUEST_OF(struct null_message, entry)->call = call;
    entry->persistent = 1;
    return tutti_request_put(entry);
}
