/* The calls that complete a request, or return its status, as a list: of the library, or of the MPI itself. */
#ifndef TUTTI_TESTS_COMPLETION_H
#define TUTTI_TESTS_COMPLETION_H

#include <mpi.h>

enum completion {
    COMPLETION_WAIT,
    COMPLETION_TEST,
    COMPLETION_WAITALL,
    COMPLETION_TESTALL,
    COMPLETION_WAITANY,
    COMPLETION_TESTANY,
    COMPLETION_WAITSOME,
    COMPLETION_TESTSOME,
    COMPLETION_GET_STATUS,
    COMPLETION_GET_STATUS_ALL,
    COMPLETION_GET_STATUS_ANY,
    COMPLETION_GET_STATUS_SOME,
    COMPLETIONS
};
/* "MPI_Wait" */
extern const char *const completion_names[COMPLETIONS];

/* NULL: not in this MPI's header. */
struct completion_calls {
    int (*wait)(MPI_Request *, MPI_Status *);
    int (*test)(MPI_Request *, int *, MPI_Status *);
    int (*waitall)(int, MPI_Request[], MPI_Status *);
    int (*testall)(int, MPI_Request[], int *, MPI_Status *);
    int (*waitany)(int, MPI_Request[], int *, MPI_Status *);
    int (*testany)(int, MPI_Request[], int *, int *, MPI_Status *);
    int (*waitsome)(int, MPI_Request[], int *, int[], MPI_Status *);
    int (*testsome)(int, MPI_Request[], int *, int[], MPI_Status *);
    int (*get_status)(MPI_Request, int *, MPI_Status *);
    int (*get_status_all)(int, const MPI_Request[], int *, MPI_Status *);
    int (*get_status_any)(int, const MPI_Request[], int *, int *, MPI_Status *);
    int (*get_status_some)(int, const MPI_Request[], int *, int[], MPI_Status *);
};
extern const struct completion_calls completion_library;
/* Those of the MPI itself, up to get_status. */
struct completion_calls completion_of_mpi(void);

struct completed {
    int code, flag;   /* flag: 1 after calls that have none */
    int index, count; /* -5 after calls that have none */
    MPI_Status status;
};
/* Makes the call once. Calls of lists get the request behind an empty one. */
struct completed completion_make(const struct completion_calls *calls, enum completion call, MPI_Request *request);
/* 1 if the MPI has the call. */
int completion_is_there(const struct completion_calls *calls, enum completion call);
/* 1 if the call leaves the request as it is. */
int completion_looks(enum completion call);
/* 1 if the call waits. */
int completion_waits(enum completion call);

#endif
