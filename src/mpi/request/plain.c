/* Calls that complete requests, for a program that has met no GPU: nothing is open, and they go to the MPI. They hold
 * no registers and no memory, since such a program makes nothing else. */
#include <stdatomic.h>

#include "mpi/request/completion.h"
#include "mpi/request/request.h"
#include "mpi/request/unwatched.h"
#include "progress/engine.h"

static inline int plain_is(void)
{
    return likely(tutti_requests_none() && !tutti_progress_busy() &&
                  !atomic_load_explicit(&tutti_files_advance, memory_order_relaxed));
}

#define PLAIN(call, lower, n, fine, parameters, arguments)                                                             \
    int tutti_door_MPI_##call parameters                                                                               \
    {                                                                                                                  \
        if (plain_is() && likely(!tutti_unwatched_open))                                                               \
            return tutti_next.MPI_##call arguments;                                                                    \
        if (plain_is() && (n) <= TUTTI_UNWATCHED_MOST && (fine))                                                       \
            return tutti_unwatched_##lower arguments;                                                                  \
        return tutti_completion_##lower arguments;                                                                     \
    }
PLAIN(Wait, wait, 1, request != NULL, (MPI_Request * request, MPI_Status *status), (request, status))
PLAIN(Test, test, 1, request != NULL, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
PLAIN(Waitall, waitall, n, 1, (int n, MPI_Request requests[], MPI_Status *statuses), (n, requests, statuses))
PLAIN(Testall, testall, n, 1, (int n, MPI_Request requests[], int *flag, MPI_Status *statuses),
      (n, requests, flag, statuses))
PLAIN(Waitany, waitany, n, 1, (int n, MPI_Request requests[], int *which, MPI_Status *status),
      (n, requests, which, status))
PLAIN(Testany, testany, n, 1, (int n, MPI_Request requests[], int *which, int *flag, MPI_Status *status),
      (n, requests, which, flag, status))
PLAIN(Waitsome, waitsome, n, 1, (int n, MPI_Request requests[], int *out, int which[], MPI_Status *statuses),
      (n, requests, out, which, statuses))
PLAIN(Testsome, testsome, n, 1, (int n, MPI_Request requests[], int *out, int which[], MPI_Status *statuses),
      (n, requests, out, which, statuses))
#undef PLAIN
