#include "mpi/request/veil.h"

#include <stdlib.h>

int tutti_any_is_coming(struct tutti_request *const entries[], int n)
{
    for (int i = 0; entries && i < n; i++) {
        if (tutti_is_coming(entries[i]))
            return 1;
    }
    return 0;
}

void tutti_veil_open(struct tutti_veil *veil, struct tutti_request *const entries[], const MPI_Request requests[],
                     int n)
{
    veil->shown = (MPI_Request *)(uintptr_t)requests;
    veil->n = n;
    veil->hidden = 0;
    veil->entries = entries;
    if (!tutti_any_is_coming(entries, n))
        return;
    MPI_Request *copy = n <= TUTTI_VEIL_FEW ? veil->few : malloc((size_t)n * sizeof *copy);
    if (!copy) /* then it may wait */
        return;
    for (int i = 0; i < n; i++) {
        const int coming = tutti_is_coming(entries[i]);
        copy[i] = coming ? tutti_handles.no_request : requests[i];
        veil->hidden += coming;
    }
    veil->shown = copy;
}

void tutti_veil_close(struct tutti_veil *veil, MPI_Request requests[])
{
    for (int i = 0; veil->hidden && requests && i < veil->n; i++) {
        if (!tutti_is_coming(veil->entries[i]))
            requests[i] = veil->shown[i];
    }
    if (veil->hidden && veil->shown != veil->few)
        free(veil->shown);
}

int tutti_veiled_testall(struct tutti_request *const entries[], int count, MPI_Request requests[], int *flag,
                         MPI_Status *statuses)
{
    *flag = 0;
    if (tutti_any_is_coming(entries, count))
        return MPI_SUCCESS;
    return tutti_next.MPI_Testall(count, requests, flag, statuses);
}

int tutti_veiled_testany(struct tutti_request *const entries[], int count, MPI_Request requests[], int *which,
                         int *flag, MPI_Status *status)
{
    struct tutti_veil veil;
    tutti_veil_open(&veil, entries, requests, count);
    int code = tutti_next.MPI_Testany(count, veil.shown, which, flag, status);
    if (code == MPI_SUCCESS && veil.hidden && *which == MPI_UNDEFINED)
        *flag = 0;
    tutti_veil_close(&veil, requests);
    return code;
}

int tutti_veiled_testsome(struct tutti_request *const entries[], int count, MPI_Request requests[], int *out,
                          int which[], MPI_Status *statuses)
{
    struct tutti_veil veil;
    tutti_veil_open(&veil, entries, requests, count);
    int code = tutti_next.MPI_Testsome(count, veil.shown, out, which, statuses);
    if (veil.hidden && *out == MPI_UNDEFINED)
        *out = 0;
    tutti_veil_close(&veil, requests);
    return code;
}
