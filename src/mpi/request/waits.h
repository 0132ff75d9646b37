/* Waiting for requests while something of Tutti's may need this thread: calls of the MPI that wait are made of those
 * that look, by the progress engine, and end with the waiting call where nothing is open any more. */
#ifndef TUTTI_MPI_REQUEST_WAITS_H
#define TUTTI_MPI_REQUEST_WAITS_H

#include "mpi/request/filter.h"

/* Requests of a call, and the entries that were taken out for it (NULL: none). */
struct tutti_call_requests {
    int n;
    struct tutti_request *const *entries;
    const MPI_Request *requests;
};
extern const struct tutti_call_requests tutti_no_call_requests;

/* 1 while the thread waits in a call for requests that it completes by itself, such as sends. */
extern __thread int tutti_waits_for_claimed;

/* Polls all open steps, and the operations that these requests wait for. */
void tutti_call_requests_poll(const struct tutti_call_requests *mine);

/* The MPI's own calls, which poll meanwhile. MPI codes. */
int tutti_progressing_wait(const struct tutti_call_requests *mine, MPI_Request *request, MPI_Status *status);
/* *unreturned: 1 if a request has failed and the MPI returns no error from a call whose error handler has returned:
 * the code is nevertheless MPI_ERR_IN_STATUS. */
int tutti_progressing_waitall(const struct tutti_call_requests *mine, int count, MPI_Request requests[],
                              MPI_Status *statuses, int *unreturned);
int tutti_progressing_waitany(const struct tutti_call_requests *mine, int count, MPI_Request requests[], int *which,
                              MPI_Status *status);
int tutti_progressing_waitsome(const struct tutti_call_requests *mine, int count, MPI_Request requests[], int *out,
                               int which[], MPI_Status *statuses);
int tutti_progressing_testsome(const struct tutti_call_requests *mine, int count, MPI_Request requests[], int *out,
                               int which[], MPI_Status *statuses);

#endif
