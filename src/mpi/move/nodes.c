/* The door's side of moves over several nodes (coll/carry.h). Ranks on host memory alone take part too, since all ranks
 * of a communicator count the same calls. */
#include <stdlib.h>

#include "mpi/move/mover.h"
#include "mpi/move/nodes_own.h"
#include "mpi/move/pattern.h"
#include "mpi/nodes/over_nodes.h"
#include "mpi/real/errors.h"

uint32_t tutti_mover_nodes;

void tutti_mover_nodes_open(void)
{
    tutti_mover_nodes = 0;
    for (int i = TUTTI_COLLECTIVE_BCAST; i <= TUTTI_COLLECTIVE_NEIGHBOR_ALLTOALLW; i++)
        tutti_mover_nodes |= (uint32_t)tutti_carry_may((enum tutti_collective)i, 0) << i;
}

int tutti_mover_nodes_new(MPI_Comm comm)
{
    TUTTI_INSIDE();
    int inter = 1;
    if (comm == tutti_handles.no_comm || tutti_next.MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter ||
        tutti_whose(comm) != TUTTI_OF_NODES)
        return 0;
    const struct tutti_comm *state = tutti_comm_begin(comm);
    return state && state->over_nodes != NULL;
}

/* ---- what all ranks know ---- */

/* Bytes of blocks of so many elements; -1: the arguments are wrong, and the MPI reports them. */
static int64_t nodes_bytes(MPI_Count count, MPI_Datatype type)
{
    int64_t bytes;
    if (count == 0)
        return 0;
    const struct tutti_layout *layout = count > 0 && type != tutti_handles.no_type ? tutti_layout_of(type) : NULL;
    return !layout || __builtin_mul_overflow((int64_t)count, (int64_t)layout->size, &bytes) ? -1 : bytes;
}

/* The largest block of a list that all ranks have alike. */
static int64_t nodes_largest(const struct tutti_buffer *buffer, int ranks)
{
    int64_t most = 0;
    for (int i = 0; i < ranks && most >= 0; i++) {
        const int64_t bytes = buffer->counts ? nodes_bytes(tutti_buffer_count(buffer, i), buffer->type) : -1;
        most = bytes < 0 || bytes > most ? bytes : most;
    }
    return most;
}

/* 1 if a rank may not know the sizes of the others' blocks. If all ranks receive, and each sends one block to all, each
 * rank has the same list. */
static int nodes_may_differ(enum tutti_collective collective)
{
    const struct tutti_mover_row *row = tutti_mover_row(collective);
    const int same_list = row->to == TUTTI_PEERS_ALL && row->send == TUTTI_HOLDS_BLOCK;
    return tutti_pattern_has_neighbours(collective) || (tutti_pattern_has_lists(collective) && !same_list);
}

/* Bytes of a block, if all ranks know them without the others; 0: they do not. -1: the arguments are wrong. */
static int64_t nodes_known(const struct tutti_collective_args *args, int rank, int ranks)
{
    const struct tutti_mover_row *row = tutti_mover_row(args->collective);
    if (nodes_may_differ(args->collective))
        return 0;
    if (tutti_pattern_has_lists(args->collective))
        return nodes_largest(&args->out, ranks);
    const int sends =
        row->from == TUTTI_PEERS_ROOT ? rank == args->root : row->to == TUTTI_PEERS_ROOT && rank != args->root;
    const struct tutti_buffer *const buffer = sends ? &args->in : &args->out;
    return nodes_bytes(buffer->count, buffer->type);
}

int tutti_mover_nodes_read(const struct tutti_collective_args *args, const struct tutti_team *team,
                           struct tutti_call *call)
{
    *call = (struct tutti_call){
        .collective = args->collective, .root = args->root, .kind = TUTTI_ARRIVAL_HOST, .gpu = -1, .host_ok = 1};
    if (!tutti_carry_knows(args->collective) || args->root < 0 || args->root >= team->size)
        return 0;
    const int64_t bytes = nodes_known(args, team->rank, team->size);
    call->count = bytes > 0 ? (size_t)bytes : 0;
    if (bytes > 0 && !tutti_carry_may(args->collective, (uint64_t)bytes))
        return 0;
    return bytes > 0 || (bytes == 0 && nodes_may_differ(args->collective));
}

/* ---- what this rank brings ---- */

/* The kind of all blocks together. Managed memory counts as device memory: kernels reach it. Blocks of types without a
 * plan count as host memory. */
static void nodes_look(struct tutti_move_block *block, int n, int *host, int *device, uint64_t *most)
{
    for (int i = 0; i < n; i++) {
        if (block[i].bytes == 0)
            continue;
        struct tutti_memory memory = {.kind = TUTTI_MEMORY_HOST};
        const char *lowest, *end;
        *most = block[i].bytes > *most ? block[i].bytes : *most;
        if (!block[i].elements.plan) {
            *host = 1;
            continue;
        }
        tutti_elements_span(&block[i].elements, &lowest, &end);
        if (tutti_device_active(tutti_door.device))
            tutti_door.device->memory.classify(lowest, &memory);
        const int reached = memory.kind == TUTTI_MEMORY_DEVICE || memory.kind == TUTTI_MEMORY_MANAGED;
        *device |= reached;
        *host |= !reached;
    }
}

static int nodes_alias(const struct tutti_mover *x)
{
    return x->call->in.buffer == x->call->out.buffer && x->call->collective != TUTTI_COLLECTIVE_BCAST &&
           x->move.sends > 0 && x->move.receives > 0 && tutti_quirks.refuses_alias;
}

uint64_t tutti_mover_nodes_kind(const struct tutti_mover *x, struct tutti_call *call, int described)
{
    int host = 0, device = 0;
    uint64_t most = 0;
    if (described) {
        nodes_look(x->move.send, x->move.sends, &host, &device, &most);
        nodes_look(x->move.receive, x->move.receives, &host, &device, &most);
    }
    if (described && !host && !nodes_alias(x))
        call->kind = device ? TUTTI_ARRIVAL_DEVICE : TUTTI_ARRIVAL_NONE;
    return most;
}

/* Whether all ranks can make the call so. 1, 0, or a status. */
static int nodes_agree(struct tutti_mover *x, struct tutti_comm *state, struct tutti_call *call, int described)
{
    const uint64_t most = tutti_mover_nodes_kind(x, call, described);
    return tutti_over_nodes_move_agree(state, call, most, x->call->name);
}

static int nodes_failed(const struct tutti_mover *x, int status)
{
    const int code = tutti_mover_code(x, status);
    tutti_count(x->call->name, TUTTI_OUTCOME_FAILED,
                status != TUTTI_OK ? tutti_status_text(status) : "the data received were not expected");
    tutti_fail_comm(x->call->comm, code);
    return code;
}

/* A call that all ranks make so. A status. */
static int nodes_move(struct tutti_mover *x, struct tutti_comm *state, struct tutti_call *call, int described,
                      const char **how)
{
    const int packed = described ? tutti_mover_pack(x) : TUTTI_ERR_MEMORY;
    if (packed != TUTTI_OK)
        return tutti_over_nodes_move_break(state, packed);
    call->move = &x->move;
    const int status = tutti_over_nodes_move(state, call, how);
    return status == TUTTI_OK ? tutti_mover_unpack(x) : status;
}

/* As tutti_mover_nodes_run(), for a call that is not the MPI's in any case. */
static int nodes_run(struct tutti_mover *x, struct tutti_comm *state, struct tutti_call *call,
                     enum tutti_nodes_turn turn, int *code)
{
    const char *how = NULL;
    const int described = tutti_mover_describe_blocks(x);
    const int refused = !described && tutti_why_take(TUTTI_REASON_OTHER) != TUTTI_REASON_MEMORY;
    int status = turn == TUTTI_NODES_AGREE ? nodes_agree(x, state, call, described) : 1;
    if (status == 0 || (status > 0 && refused)) /* wrong arguments, which the MPI reports without another rank */
        return 0;
    if (status > 0)
        status = nodes_move(x, state, call, described, &how);
    *code = tutti_mover_code(x, status);
    if (*code != MPI_SUCCESS)
        *code = nodes_failed(x, status);
    else
        tutti_mover_count(x, how);
    return 1;
}

int tutti_mover_nodes_run(const struct tutti_collective_args *args, int *code)
{
    struct tutti_comm *state = tutti_comm_find(args->comm);
    struct tutti_call call;
    struct tutti_mover x;
    enum tutti_nodes_turn turn;
    *code = MPI_SUCCESS;
    if (!tutti_over_nodes_moves(state) || !tutti_mover_nodes_read(args, state->team, &call))
        return 0;
    const int status = tutti_over_nodes_move_turn(state, &call, &turn);
    if (status == TUTTI_OK && turn == TUTTI_NODES_TO_MPI)
        return 0;
    tutti_mover_begin(&x, args, state->team, 0);
    int done = 1;
    if (status != TUTTI_OK)
        *code = nodes_failed(&x, status);
    else
        done = nodes_run(&x, state, &call, turn, code);
    tutti_mover_close(&x);
    return done;
}
