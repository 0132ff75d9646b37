/* Lists of counts, narrowed for an MPI without the large form of a call, which reads them until the call completes; of
 * a persistent call, at each start. */
#include <stdlib.h>

#include "mpi/request/counts.h"
#include "mpi/request/request.h"

struct counts {
    int *list[TUTTI_COUNTS_LISTS];
};

static void counts_close(struct tutti_request *entry)
{
    struct counts *counts = TUTTI_REQUEST_OF(struct counts, entry);
    for (int i = 0; i < TUTTI_COUNTS_LISTS; i++)
        free(counts->list[i]);
}

static const struct tutti_request_kind counts = {.name = "lists of counts", .close = counts_close};

int tutti_counts_put(MPI_Request request, int *const list[], int n, int persistent)
{
    struct tutti_request *entry = tutti_request_new(&counts, request, tutti_handles.world);
    if (!entry) /* the lists stay where they are: the call still reads them */
        return MPI_SUCCESS;
    for (int i = 0; i < n; i++)
        TUTTI_REQUEST_OF(struct counts, entry)->list[i] = list[i];
    entry->persistent = persistent;
    return tutti_request_put(entry);
}
