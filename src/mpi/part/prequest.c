/* MPIX_Pbuf_prepare, MPIX_Pbuf_prepareall, MPIX_Prequest_create, MPIX_Prequest_free. */
#include "mpi/part/prequest.h"

#include "mpi/part/coll.h"

#include <stdlib.h>

#include "core/log.h"
#include "mpi/real/errors.h"
#include "progress/helper.h"

enum { FEW = 8 }; /* requests of a call without an allocation */

int tutti_prequest_transports(const char *name, const struct tutti_partitioned_args *args, int *transports)
{
    static const char key[] = "tutti_transport_partitions";
    char value[32];
    int has = 0;
    *transports = 0;
    if (!args->send || args->info == tutti_handles.no_info || !tutti_next.MPI_Info_get)
        return MPI_SUCCESS;
    if (tutti_next.MPI_Info_get(args->info, key, (int)sizeof value - 1, value, &has) != MPI_SUCCESS || !has)
        return MPI_SUCCESS;
    char *end;
    const long n = strtol(value, &end, 10);
    if (end == value || *end != '\0' || n < 1 || n > args->partitions) {
        tutti_error(
            "%s: info key %s is \"%s\": it is a number of transport partitions from 1 to the number of partitions, %d",
            name, key, value, args->partitions);
        return MPI_ERR_INFO_VALUE;
    }
    *transports = (int)n;
    return MPI_SUCCESS;
}

/* Requests of collectives need no preparation. An MPI code. */
static int collective_prepare(const char *name, MPI_Request request, MPI_Comm comm)
{
    if (tutti_pcoll_is_started(request))
        return MPI_SUCCESS;
    tutti_error("%s: the request is not active: MPI_Start comes before", name);
    return tutti_fail_comm(comm, MPI_ERR_REQUEST);
}

/* The partitioned request; NULL: an error is raised, and *code is it. */
static struct tutti_part *find(const char *name, MPI_Request request, MPI_Comm *comm, int *code)
{
    struct tutti_part *part = tutti_partitioned_find(request, comm);
    if (!part) {
        tutti_error("%s: the request was not created by MPI_Psend_init or MPI_Precv_init of Tutti", name);
        *code = tutti_fail_comm(tutti_handles.world, MPI_ERR_REQUEST);
    }
    return part;
}

int tutti_door_MPIX_Pbuf_prepareall(int count, MPI_Request requests[])
{
    static const char name[] = "MPIX_Pbuf_prepare";
    MPI_Comm comm = tutti_handles.world;
    int code = MPI_SUCCESS;
    if (count < 0 || (count > 0 && !requests))
        return tutti_fail_comm(comm, MPI_ERR_ARG);
    struct tutti_part *few[FEW], **parts = count < FEW ? few : malloc(((size_t)count + 1) * sizeof(void *));
    if (!parts)
        return tutti_fail_comm(comm, MPI_ERR_NO_MEM);
    int n = 0;
    for (int i = 0; i < count && code == MPI_SUCCESS; i++) {
        if (tutti_pcoll_find(requests[i], &comm)) {
            code = collective_prepare(name, requests[i], comm);
            continue;
        }
        parts[n] = find(name, requests[i], &comm, &code);
        if (!parts[n++] || tutti_partitioned_is_started(requests[i]))
            continue;
        tutti_error("%s: the request is not active: MPI_Start comes before", name);
        code = tutti_fail_comm(comm, MPI_ERR_REQUEST);
    }
    if (code == MPI_SUCCESS) {
        TUTTI_INSIDE();
        const int status = tutti_part_prepare(parts, n);
        if (status != TUTTI_OK)
            code = tutti_fail_comm(comm, tutti_error_code(status));
    }
    if (parts != few)
        free(parts);
    return code;
}

int tutti_door_MPIX_Pbuf_prepare(MPI_Request request)
{
    return tutti_door_MPIX_Pbuf_prepareall(1, &request);
}

int tutti_door_MPIX_Prequest_create(MPI_Request request, MPIX_Prequest *prequest)
{
    static const char name[] = "MPIX_Prequest_create";
    MPI_Comm comm;
    int code = MPI_SUCCESS;
    struct tutti_pcoll *coll = tutti_pcoll_find(request, &comm);
    struct tutti_part *part = coll ? NULL : find(name, request, &comm, &code);
    if (!part && !coll)
        return code;
    if (!prequest)
        return tutti_fail_comm(comm, MPI_ERR_ARG);
    TUTTI_INSIDE();
    const int status = coll ? tutti_pcoll_prequest_new(coll, prequest) : tutti_part_prequest_new(part, prequest);
    if (status == TUTTI_OK) {
        prequest->own = coll ? (void *)coll : part;
        return MPI_SUCCESS;
    }
    if (status == TUTTI_ERR_ARGUMENT)
        tutti_error("%s: the request has a device request already", name);
    else
        tutti_error("%s: %s", name, tutti_status_text(status));
    return tutti_fail_comm(comm, status == TUTTI_ERR_ARGUMENT ? MPI_ERR_REQUEST : tutti_error_code(status));
}

int tutti_door_MPIX_Prequest_free(MPIX_Prequest *prequest)
{
    if (!prequest || !prequest->own)
        return tutti_fail_comm(tutti_handles.world, MPI_ERR_ARG);
    TUTTI_INSIDE();
    const int status =
        prequest->collective ? tutti_pcoll_prequest_end(prequest->own) : tutti_part_prequest_end(prequest->own);
    if (status != TUTTI_OK) {
        tutti_error("MPIX_Prequest_free: the request is active");
        return tutti_fail_comm(tutti_handles.world, MPI_ERR_REQUEST);
    }
    *prequest = (MPIX_Prequest){.own = NULL};
    return MPI_SUCCESS;
}
