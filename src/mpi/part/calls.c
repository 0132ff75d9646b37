/* MPI_Psend_init, MPI_Precv_init, MPI_Pready and its forms, MPI_Parrived. */
#include <limits.h>

#include "core/log.h"
#include "mpi/bounce/stage.h"
#include "mpi/comm/identity.h"
#include "mpi/message/endpoints.h"
#include "mpi/part/coll.h"
#include "mpi/part/partitioned.h"
#include "mpi/part/prequest.h"
#include "mpi/real/errors.h"
#include "mpi/real/self.h"
#include "mpi/type/datatypes.h"

/* ---- life ---- */

static struct tutti_mpi_transport own; /* where messages have none: rules stage them */
static int has_own;

void tutti_partitioned_open(void)
{
    struct tutti_transport *transport = tutti_p2p.transport;
    MPI_Comm comm;
    if (!transport && tutti_next.MPI_Comm_dup(tutti_handles.world, &comm) == MPI_SUCCESS) {
        tutti_next.MPI_Comm_set_errhandler(comm, tutti_handles.errors_return);
        tutti_transport_over(&own, comm);
        const int last = tutti_self_last_tag();
        own.base.tags = last < INT_MAX ? last + 1 : last;
        has_own = 1;
        transport = &own.base;
    }
    if (transport && tutti_part_open(transport, tutti_endpoint, tutti_door.node, tutti_door.aware) == TUTTI_OK)
        tutti_pcoll_open(transport);
}

void tutti_partitioned_close(void)
{
    tutti_pcoll_close();
    tutti_part_close();
    tutti_partitioned_forget();
    tutti_pcoll_forget();
    tutti_comm_identities_close();
    if (has_own)
        tutti_next.MPI_Comm_free(&own.comm);
    has_own = 0;
}

/* ---- MPI_Psend_init, MPI_Precv_init ---- */

/* 1 if the message is Tutti's, which both sides find alike; *world: the peer in MPI_COMM_WORLD, or -1. */
static int is_tuttis(int peer, MPI_Comm comm, int *world)
{
    if (!tutti_part_is_open() || tutti_inside || tutti_comm_identity(comm) == 0)
        return 0;
    int inter = 0, ranks = 0;
    tutti_next.MPI_Comm_test_inter(comm, &inter);
    (inter ? tutti_next.MPI_Comm_remote_size : tutti_next.MPI_Comm_size)(comm, &ranks);
    if (peer < 0 || peer >= ranks) { /* MPI_PROC_NULL, or wrong */
        *world = -1;
        return 1;
    }
    *world = tutti_endpoints_world(comm, peer);
    return *world >= 0;
}

/* An MPI code. world: -1 where no rank has this number. */
static int init_check(const struct tutti_partitioned_args *args, int world, const MPI_Request *request)
{
    if (!request || args->partitions < 0)
        return MPI_ERR_ARG;
    if (args->count < 0)
        return MPI_ERR_COUNT;
    if (world < 0 && args->peer != MPI_PROC_NULL)
        return MPI_ERR_RANK;
    if (args->peer != MPI_PROC_NULL && (args->tag < 0 || args->tag > tutti_self_last_tag()))
        return MPI_ERR_TAG;
    return tutti_type_is_fine(args->type) ? MPI_SUCCESS : MPI_ERR_TYPE;
}

static int init(const char *name, const struct tutti_partitioned_args *args, const void *buffer, int world,
                MPI_Request *request)
{
    int code = init_check(args, world, request);
    if (code != MPI_SUCCESS)
        return tutti_fail_comm(args->comm, code);
    const struct tutti_layout *layout = tutti_layout_of(args->type);
    int64_t elements;
    if (!layout || !layout->plan) {
        tutti_error("%s: the datatype has no plan: %s", name, layout ? layout->why : "out of memory");
        return tutti_fail_comm(args->comm, layout ? MPI_ERR_TYPE : MPI_ERR_NO_MEM);
    }
    if (__builtin_mul_overflow((int64_t)args->count, (int64_t)args->partitions, &elements))
        return tutti_fail_comm(args->comm, MPI_ERR_COUNT);
    int transports;
    if ((code = tutti_prequest_transports(name, args, &transports)) != MPI_SUCCESS)
        return tutti_fail_comm(args->comm, code);
    struct tutti_part_args part = {.send = args->send,
                                   .transports = transports,
                                   .peer = world,
                                   .tag = args->tag,
                                   .comm = tutti_comm_identity(args->comm),
                                   .partitions = args->partitions,
                                   .count = args->count,
                                   .plan = layout->plan,
                                   .buffer = (void *)(uintptr_t)buffer,
                                   .in_order = layout->in_order,
                                   .solid = layout->solid};
    if ((code = tutti_partitioned_new(args, &part, request)) == MPI_SUCCESS)
        return MPI_SUCCESS;
    tutti_error("%s: out of memory", name);
    return tutti_fail_comm(args->comm, code);
}

/* Of a message that the MPI is to carry. */
static int is_refused(const char *name, const void *buffer, int peer)
{
    if (tutti_inside || peer == MPI_PROC_NULL || !tutti_must_stage(buffer))
        return 0;
    tutti_refuse(name, "buf");
    return 1;
}

int tutti_door_MPI_Psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                              int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    int world;
    if (is_tuttis(dest, comm, &world))
        return init("MPI_Psend_init",
                    &(const struct tutti_partitioned_args){1, partitions, dest, tag, count, datatype, comm, info}, buf,
                    world, request);
    if (is_refused("MPI_Psend_init", buf, dest))
        return tutti_fail_comm(comm, MPI_ERR_BUFFER);
    return tutti_next.MPI_Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request);
}

int tutti_door_MPI_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                              MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    int world;
    if (is_tuttis(source, comm, &world))
        return init("MPI_Precv_init",
                    &(const struct tutti_partitioned_args){0, partitions, source, tag, count, datatype, comm, info},
                    buf, world, request);
    if (is_refused("MPI_Precv_init", buf, source))
        return tutti_fail_comm(comm, MPI_ERR_BUFFER);
    return tutti_next.MPI_Precv_init(buf, partitions, count, datatype, source, tag, comm, info, request);
}

/* ---- partitions ---- */

/* Reports what is wrong with a call on partitions, and raises it. status: why a partition could not be sent. An MPI
 * code. */
static int wrong_result(const char *name, MPI_Comm comm, enum tutti_part_wrong wrong, int status)
{
    static const struct {
        const char *text;
        int code;
    } wrongs[] = {[TUTTI_PART_NO_SEND] = {"this rank sends nothing by the request", MPI_ERR_REQUEST},
                  [TUTTI_PART_NO_RECEIVE] = {"this rank receives nothing by the request", MPI_ERR_REQUEST},
                  [TUTTI_PART_INACTIVE] = {"the request is not active", MPI_ERR_REQUEST},
                  [TUTTI_PART_RANGE] = {"the request has no such partition", MPI_ERR_ARG},
                  [TUTTI_PART_TWICE] = {"a partition is marked ready a second time", MPI_ERR_ARG}};
    if (likely(wrong == TUTTI_PART_FINE))
        return MPI_SUCCESS;
    if (wrong == TUTTI_PART_FAILED) {
        tutti_error("%s: the partition could not be sent: %s", name, tutti_status_text(status));
        return tutti_fail_comm(comm, tutti_error_code(status));
    }
    tutti_error("%s: %s", name, wrongs[wrong].text);
    return tutti_fail_comm(comm, wrongs[wrong].code);
}

static int partitions_result(const char *name, const struct tutti_part *part, MPI_Comm comm,
                             enum tutti_part_wrong wrong)
{
    return wrong_result(name, comm, wrong, tutti_part_status(part));
}

/* The request is of a partitioned collective. An MPI code. */
static int range_of_collective(const char *name, struct tutti_pcoll *coll, MPI_Comm comm, int first, int last)
{
    TUTTI_INSIDE();
    return wrong_result(name, comm, tutti_pcoll_ready(coll, first, last), TUTTI_OK);
}

static int list_of_collective(const char *name, struct tutti_pcoll *coll, MPI_Comm comm, int n, const int partitions[])
{
    if (n < 0 || (n > 0 && !partitions))
        return tutti_fail_comm(comm, MPI_ERR_ARG);
    TUTTI_INSIDE();
    return wrong_result(name, comm, tutti_pcoll_ready_list(coll, n, partitions), TUTTI_OK);
}

static int arrived_of_collective(const char *name, struct tutti_pcoll *coll, MPI_Comm comm, int partition, int *flag)
{
    if (!flag)
        return tutti_fail_comm(comm, MPI_ERR_ARG);
    TUTTI_INSIDE();
    return wrong_result(name, comm, tutti_pcoll_arrived(coll, partition, flag), TUTTI_OK);
}

int tutti_door_MPI_Pready(int partition, MPI_Request request)
{
    MPI_Comm comm;
    struct tutti_part *part = tutti_inside ? NULL : tutti_partitioned_find(request, &comm);
    struct tutti_pcoll *coll = part || tutti_inside ? NULL : tutti_pcoll_find(request, &comm);
    if (coll)
        return range_of_collective("MPI_Pready", coll, comm, partition, partition);
    if (!part)
        return tutti_next.MPI_Pready(partition, request);
    TUTTI_INSIDE();
    return partitions_result("MPI_Pready", part, comm, tutti_part_ready(part, partition, partition));
}

int tutti_door_MPI_Pready_range(int partition_low, int partition_high, MPI_Request request)
{
    MPI_Comm comm;
    struct tutti_part *part = tutti_inside ? NULL : tutti_partitioned_find(request, &comm);
    struct tutti_pcoll *coll = part || tutti_inside ? NULL : tutti_pcoll_find(request, &comm);
    if (coll)
        return range_of_collective("MPI_Pready_range", coll, comm, partition_low, partition_high);
    if (!part)
        return tutti_next.MPI_Pready_range(partition_low, partition_high, request);
    TUTTI_INSIDE();
    return partitions_result("MPI_Pready_range", part, comm, tutti_part_ready(part, partition_low, partition_high));
}

int tutti_door_MPI_Pready_list(int length, const int array_of_partitions[], MPI_Request request)
{
    MPI_Comm comm;
    struct tutti_part *part = tutti_inside ? NULL : tutti_partitioned_find(request, &comm);
    struct tutti_pcoll *coll = part || tutti_inside ? NULL : tutti_pcoll_find(request, &comm);
    if (coll)
        return list_of_collective("MPI_Pready_list", coll, comm, length, array_of_partitions);
    if (!part)
        return tutti_next.MPI_Pready_list(length, array_of_partitions, request);
    if (length < 0 || (length > 0 && !array_of_partitions))
        return tutti_fail_comm(comm, MPI_ERR_ARG);
    TUTTI_INSIDE();
    return partitions_result("MPI_Pready_list", part, comm, tutti_part_ready_list(part, length, array_of_partitions));
}

int tutti_door_MPI_Parrived(MPI_Request request, int partition, int *flag)
{
    MPI_Comm comm;
    tutti_self_look();
    struct tutti_part *part = tutti_inside ? NULL : tutti_partitioned_find(request, &comm);
    struct tutti_pcoll *coll = part || tutti_inside ? NULL : tutti_pcoll_find(request, &comm);
    if (coll)
        return arrived_of_collective("MPI_Parrived", coll, comm, partition, flag);
    if (!part)
        return tutti_next.MPI_Parrived(request, partition, flag);
    if (!flag)
        return tutti_fail_comm(comm, MPI_ERR_ARG);
    TUTTI_INSIDE();
    return partitions_result("MPI_Parrived", part, comm, tutti_part_arrived(part, partition, flag));
}
