/* Errors of receives that the library looks at, or completes, for the program. An MPI may raise the error of a request
 * each time that it is looked at, and not on the communicator of the receive (tutti_quirks.looks_raise,
 * .waits_raise_on_world). The program must see one error, raised where the call that it has made would raise it. */
#ifndef TUTTI_MPI_QUIET_H
#define TUTTI_MPI_QUIET_H

#include <stdatomic.h>

#include "mpi/real/door.h"

extern atomic_int tutti_errors_return; /* 1: a communicator has had an error handler that may return */

/* MPI_Request_get_status, whose error no handler sees. An MPI code. Safe from any thread. */
int tutti_look(MPI_Request request, int *flag, MPI_Status *status);
/* MPI_Testsome of one request, whose error no handler sees: neither those of MPI_COMM_WORLD and MPI_COMM_SELF, nor that
 * of `comm`, on which the request's error may be raised; the null handle: it is not known. */
int tutti_testsome_quietly(MPI_Comm comm, MPI_Request *request, int *n, int *which, MPI_Status *status);

/* 1 if a blocking call must not be made of a nonblocking one and MPI_Wait: its error would be raised elsewhere. */
static inline int tutti_waits_raise_elsewhere(void)
{
    return unlikely(tutti_quirks.waits_raise_on_world) &&
           atomic_load_explicit(&tutti_errors_return, memory_order_relaxed);
}
/* MPI_Test of a receive on `comm`, which is where an error is raised. *flag is 1 on an error too. An MPI code. */
int tutti_test_on(MPI_Comm comm, MPI_Request *request, int *flag, MPI_Status *status);

/* MPI_Comm_set_errhandler as the program calls it. */
int tutti_quiet_set(MPI_Comm comm, MPI_Errhandler handler);
/* In MPI_Init: the handler that MPI_COMM_WORLD begins with. */
void tutti_quiet_begin(MPI_Errhandler handler);

#endif
