/* Arguments of partitioned collectives become blocks. */
#include <stdlib.h>

#include "core/log.h"
#include "core/settings.h"
#include "mpi/bounce/stage.h"
#include "mpi/comm/comms.h"
#include "mpi/comm/identity.h"
#include "mpi/part/coll.h"
#include "mpi/real/errors.h"
#include "mpi/type/datatypes.h"
#include "team/team.h"

int tutti_pcoll_begin(struct tutti_pcoll_call *call, const char *name, MPI_Comm comm, const MPI_Request *request)
{
    int inter = 0;
    *call = (struct tutti_pcoll_call){.name = name, .comm = comm};
    if (!tutti_part_is_open())
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (!request)
        return tutti_fail_comm(comm, MPI_ERR_ARG);
    int code = comm == tutti_handles.no_comm ? MPI_ERR_COMM : tutti_next.MPI_Comm_test_inter(comm, &inter);
    if (code == MPI_SUCCESS && (inter || tutti_comm_identity(comm) == 0)) {
        tutti_error("%s: the communicator is an intercommunicator, or reaches processes outside MPI_COMM_WORLD", name);
        code = MPI_ERR_COMM;
    }
    if (code != MPI_SUCCESS)
        return tutti_fail_comm(comm, code);
    tutti_next.MPI_Comm_rank(comm, &call->rank);
    tutti_next.MPI_Comm_size(comm, &call->size);
    return MPI_SUCCESS;
}

/* ---- blocks ---- */

/* Block i of a side. An MPI code. */
static int block_fill(const struct tutti_pcoll_buffer *from, int i, struct tutti_pcoll_block *out)
{
    const MPI_Datatype type = from->types ? from->types[i] : from->type;
    const MPI_Count count = from->counts ? from->counts[i] : from->count;
    int64_t all;
    if (count < 0)
        return MPI_ERR_COUNT;
    if (!tutti_type_is_fine(type))
        return MPI_ERR_TYPE;
    const struct tutti_layout *layout = tutti_layout_of(type);
    if (!layout || !layout->plan) {
        tutti_error("a datatype has no plan: %s", layout ? layout->why : "out of memory");
        return layout ? MPI_ERR_TYPE : MPI_ERR_NO_MEM;
    }
    if (__builtin_mul_overflow((int64_t)count, (int64_t)from->partitions, &all))
        return MPI_ERR_COUNT;
    *out = (struct tutti_pcoll_block){.peer = from->peers ? from->peers[i] : i,
                                      .label = from->labels ? from->labels[i] : 0,
                                      .count = count,
                                      .plan = layout->plan,
                                      .in_order = layout->in_order,
                                      .solid = layout->solid};
    if (!from->displs)
        out->offset = from->shared ? 0 : i * all * layout->plan->extent;
    else
        out->offset = from->types ? from->displs[i] : from->displs[i] * layout->plan->extent;
    return MPI_SUCCESS;
}

/* The segments of a reduce-scatter lie one behind the other, and have different lengths. */
static void segments_place(const struct tutti_pcoll_buffer *from, struct tutti_pcoll_side *side)
{
    int64_t offset = 0;
    for (int i = 0; from->counts && !from->displs && i < side->blocks; i++) {
        side->block[i].offset = offset;
        offset += side->block[i].count * from->partitions * side->block[i].plan->extent;
    }
}

/* An MPI code; the caller frees side->block. */
static int side_fill(const struct tutti_pcoll_call *call, const struct tutti_pcoll_buffer *from,
                     struct tutti_pcoll_side *side)
{
    *side = (struct tutti_pcoll_side){
        .used = from->used, .buffer = (void *)(uintptr_t)from->buffer, .partitions = from->partitions};
    if (!from->used)
        side->partitions = 0;
    if (from->used && from->partitions < 0)
        return MPI_ERR_ARG;
    side->block = calloc((size_t)from->blocks + 1, sizeof *side->block);
    if (!side->block)
        return MPI_ERR_NO_MEM;
    for (int i = 0; from->used && i < from->blocks; i++) {
        struct tutti_pcoll_block *block = &side->block[side->blocks];
        const int code = block_fill(from, i, block);
        if (code != MPI_SUCCESS)
            return code;
        if (!from->skips || block->peer != call->rank)
            side->blocks++;
    }
    segments_place(from, side);
    return MPI_SUCCESS;
}

/* ---- reductions ---- */

/* The kernel's type and operator, if there is a kernel. An MPI code. */
static int reduction_fill(const struct tutti_pcoll_call *call, struct tutti_pcoll_args *args)
{
    const MPI_Datatype type = call->send.used ? call->send.type : call->recv.type;
    const struct tutti_type_row *row = tutti_type_find(type);
    const int op = tutti_op_find(call->op);
    args->type = TUTTI_TYPE_NONE;
    if (!call->reduces)
        return MPI_SUCCESS;
    if (call->op == tutti_handles.no_op)
        return MPI_ERR_OP;
    if (op == TUTTI_OP_NONE) /* the program's */
        return MPI_SUCCESS;
    if (row ? !(row->legal >> op & 1) : tutti_layout_of(type)->derived)
        return MPI_ERR_OP;
    if (row) {
        args->type = row->type;
        args->op = op;
    }
    return MPI_SUCCESS;
}

/* The node of each rank, if the order of contributions depends on it. NULL: it does not, or is not known. */
static int *nodes_of(const struct tutti_pcoll_args *args)
{
    if (args->type == TUTTI_TYPE_NONE || !tutti_door.node || tutti_settings()->order == TUTTI_SET_ORDER_RANKS)
        return NULL;
    const int world = tutti_node_world_size(tutti_door.node);
    int *lowest = malloc((size_t)world * sizeof *lowest), *node = malloc((size_t)args->size * sizeof *node);
    const int known = lowest && node && tutti_node_map(tutti_door.node, lowest) == TUTTI_OK;
    for (int r = 0; known && r < args->size; r++)
        node[r] = lowest[args->world[r]];
    free(lowest);
    if (known)
        return node;
    free(node);
    return NULL;
}

/* ---- the request ---- */

static int create(const struct tutti_pcoll_call *call, struct tutti_pcoll_args *args, MPI_Request *request)
{
    int n = 0, *world = NULL, *node = NULL, code = side_fill(call, &call->send, &args->send);
    if (code == MPI_SUCCESS)
        code = side_fill(call, &call->recv, &args->recv);
    if (code == MPI_SUCCESS)
        code = reduction_fill(call, args);
    if (code == MPI_SUCCESS && !(world = tutti_world_ranks(call->comm, &n)))
        code = MPI_ERR_NO_MEM;
    for (int r = 0; code == MPI_SUCCESS && r < n; r++)
        code = world[r] < 0 ? MPI_ERR_COMM : MPI_SUCCESS;
    if (code == MPI_SUCCESS) {
        args->world = world;
        args->node = node = nodes_of(args);
        code = tutti_pcoll_request(call, args, request);
    }
    free(node);
    free(world);
    free(args->send.block);
    free(args->recv.block);
    return code;
}

int tutti_pcoll_create(const struct tutti_pcoll_call *call, MPI_Request *request)
{
    struct tutti_pcoll_args args = {.kind = call->kind,
                                    .rank = call->rank,
                                    .size = call->size,
                                    .root = call->root,
                                    .comm = tutti_comm_identity(call->comm),
                                    .in_place = call->in_place};
    int code = MPI_SUCCESS;
    if (call->root < 0 || call->root >= call->size)
        code = MPI_ERR_ROOT;
    if (code == MPI_SUCCESS)
        code = create(call, &args, request);
    return code == MPI_SUCCESS ? code : tutti_fail_comm(call->comm, code);
}
