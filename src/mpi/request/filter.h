/* Lists of requests for the MPI without those whose data have not arrived: the MPI would complete them, and a call that
 * must not wait would have to wait for the data. */
#ifndef TUTTI_MPI_REQUEST_VEIL_H
#define TUTTI_MPI_REQUEST_VEIL_H

#include "mpi/request/request.h"

enum { TUTTI_VEIL_FEW = 64 };
struct tutti_filter {
    MPI_Request *shown; /* the program's list, or a copy */
    int n, hidden;      /* requests; of them those that are not shown */
    struct tutti_request *const *entries;
    MPI_Request few[TUTTI_VEIL_FEW];
};

/* 1 if any of them is not to be completed yet; entries: may be NULL. */
int tutti_any_is_coming(struct tutti_request *const entries[], int n);

/* entries: of the requests, as tutti_requests_progress() has left them; NULL: none. */
void tutti_filter_open(struct tutti_filter *filter, struct tutti_request *const entries[], const MPI_Request requests[],
                       int n);
/* requests: the list itself, which gets what the MPI has made of those that were shown; NULL: it stays as it is. */
void tutti_filter_close(struct tutti_filter *filter, MPI_Request requests[]);

/* MPI_Testall, Testany and Testsome, after tutti_requests_progress(): data that have not arrived yet do not count. */
int tutti_filtered_testall(struct tutti_request *const entries[], int count, MPI_Request requests[], int *flag,
                           MPI_Status *statuses);
int tutti_filtered_testany(struct tutti_request *const entries[], int count, MPI_Request requests[], int *which,
                           int *flag, MPI_Status *status);
int tutti_filtered_testsome(struct tutti_request *const entries[], int count, MPI_Request requests[], int *out,
                            int which[], MPI_Status *statuses);

#endif
