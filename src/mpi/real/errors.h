/* Errors as the MPI has them, raised where the MPI would raise them. */
#ifndef TUTTI_MPI_ERRORS_H
#define TUTTI_MPI_ERRORS_H

#include "mpi/real/door.h"

int tutti_mpi_version(void); /* of the standard: 301, 400 ... */
/* Depth of work of this thread for requests that the program has freed: no handler is called, as the MPI calls none. */
extern __thread int tutti_unraised __attribute__((tls_model("initial-exec")));
int tutti_fail_comm(MPI_Comm comm, int code);
int tutti_fail_win(MPI_Win win, int code);
int tutti_fail_file(MPI_File file, int code);
int tutti_fail_self(int code);
/* Says that device memory of `call` could not be staged: a status of Tutti. The second one raises it on `comm` too, and
 * returns the code. */
void tutti_stage_report(const char *call, int status);
int tutti_stage_failed(const char *call, MPI_Comm comm, int status);
/* Says that `call` cannot take device memory in `argument`. */
void tutti_refuse(const char *call, const char *argument);
/* MPI error code of a status of Tutti. open: once, in MPI_Init, so that the MPI knows the texts. */
void tutti_errors_open(void);
void tutti_errors_close(void);
int tutti_error_code(int status);

#endif
