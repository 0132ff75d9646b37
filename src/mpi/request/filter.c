#include "mpi/request/filter.h"

#include <stdlib.h>

int tutti_any_is_coming(struct tutti_request *const entries[], int n)
{
    for (int i = 0; entries && i < n; i++) {
        if (tutti_is_coming(entries[i]))
            return 1;
    }
    return 0;
}

void tutti_filter_open(struct tutti_filter *filter, struct tutti_request *const entries[], const MPI_Request requests[],
                       int n)
{
    filter->shown = (MPI_Request *)(uintptr_t)requests;
    filter->n = n;
    filter->hidden = 0;
    filter->entries = entries;
    if (!tutti_any_is_coming(entries, n))
        return;
    MPI_Request *copy = n <= TUTTI_VEIL_FEW ? filter->few : malloc((size_t)n * sizeof *copy);
    if (!copy) /* then it may wait */
        return;
    for (int i = 0; i < n; i++) {
        const int coming = tutti_is_coming(entries[i]);
        copy[i] = coming ? tutti_handles.no_request : requests[i];
        filter->hidden += coming;
    }
    filter->shown = copy;
}

void tutti_filter_close(struct tutti_filter *filter, MPI_Request requests[])
{
    for (int i = 0; filter->hidden && requests && i < filter->n; i++) {
        if (!tutti_is_coming(filter->entries[i]))
            requests[i] = filter->shown[i];
    }
    if (filter->hidden && filter->shown != filter->few)
        free(filter->shown);
}

int tutti_filtered_testall(struct tutti_request *const entries[], int count, MPI_Request requests[], int *flag,
                           MPI_Status *statuses)
{
    *flag = 0;
    if (tutti_any_is_coming(entries, count))
        return MPI_SUCCESS;
    return tutti_next.MPI_Testall(count, requests, flag, statuses);
}

int tutti_filtered_testany(struct tutti_request *const entries[], int count, MPI_Request requests[], int *which,
                           int *flag, MPI_Status *status)
{
    struct tutti_filter filter;
    tutti_filter_open(&filter, entries, requests, count);
    int code = tutti_next.MPI_Testany(count, filter.shown, which, flag, status);
    if (code == MPI_SUCCESS && filter.hidden && *which == MPI_UNDEFINED)
        *flag = 0;
    tutti_filter_close(&filter, requests);
    return code;
}

int tutti_filtered_testsome(struct tutti_request *const entries[], int count, MPI_Request requests[], int *out,
                            int which[], MPI_Status *statuses)
{
    struct tutti_filter filter;
    tutti_filter_open(&filter, entries, requests, count);
    int code = tutti_next.MPI_Testsome(count, filter.shown, out, which, statuses);
    if (filter.hidden && *out == MPI_UNDEFINED)
        *out = 0;
    tutti_filter_close(&filter, requests);
    return code;
}
