/* The door's side of collectives that move data (coll/move.h): a call's buffers as blocks, and the messages that carry
 * them. */
#include "mpi/move/mover.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "coll/move.h"
#include "core/log.h"
#include "mpi/comm/comms.h"
#include "mpi/message/rndv_recv.h"
#include "mpi/message/rndv_send.h"
#include "mpi/real/errors.h"

enum { FEW = 8 }; /* blocks for which there is room on the stack */

struct mover {
    const struct tutti_collective_args *call;
    struct tutti_team *team;
    struct tutti_mover_blocks blocks;
    struct tutti_move move;          /* the same blocks as elements: in as send, out as receive */
    struct tutti_recv_request *recv; /* of blocks.out */
    struct tutti_move_block *few;    /* [FEW], as few_recv: for few blocks nothing is allocated */
    struct tutti_recv_request *few_recv;
    struct tutti_layout *layout_of_last;
    MPI_Datatype last;
    uint64_t bytes; /* of all blocks; one that goes to several ranks counts once */
    int code;       /* the first failure of a message */
};

/* ---- blocks as elements ---- */

static struct tutti_layout *mover_layout(struct mover *x, MPI_Datatype type)
{
    if (!x->layout_of_last || type != x->last) {
        x->layout_of_last = tutti_layout_of(type);
        x->last = type;
    }
    return x->layout_of_last;
}

/* Blocks of one side. 0 where a type has no plan. */
static int mover_elements(struct mover *x, const struct tutti_mover_block *from, int n, struct tutti_move_block *to)
{
    const char *counted = NULL;
    for (int i = 0; i < n; i++) {
        const struct tutti_mover_block *block = &from[i];
        MPI_Count bytes;
        to[i] = (struct tutti_move_block){.rank = block->rank};
        if (block->count == 0)
            continue;
        struct tutti_layout *layout = mover_layout(x, block->type);
        if (!layout || !layout->plan || !tutti_layout_committed(layout, block->type) ||
            __builtin_mul_overflow(block->count, (MPI_Count)layout->plan->size, &bytes))
            return TUTTI_NO(TYPE);
        to[i].elements = tutti_message_elements(block->at, block->count, layout);
        to[i].bytes = (uint64_t)bytes;
        x->bytes += block->at == counted ? 0 : (uint64_t)bytes;
        counted = block->at;
    }
    return 1;
}

/* Local. 0 where this rank cannot take part, and why. */
static int mover_describe(struct mover *x)
{
    if (!tutti_door.device || !tutti_door.device->active())
        return TUTTI_NO(HOST_SOME);
    if (!tutti_endpoint)
        return TUTTI_NO(APART);
    if (x->call->in.buffer == x->call->out.buffer && x->call->collective != TUTTI_COLLECTIVE_BCAST &&
        tutti_quirks.refuses_alias) /* the MPI refuses it */
        return TUTTI_NO(ALIAS);
    tutti_endpoint_poll(tutti_endpoint);
    tutti_why_set(TUTTI_REASON_EDGES);
    if (!tutti_mover_blocks_open(&x->blocks, x->call, x->team->rank, x->team->size))
        return 0;
    const int ins = x->blocks.ins, outs = x->blocks.outs;
    struct tutti_move *move = &x->move;
    move->send = ins + outs <= FEW ? x->few : malloc(((size_t)ins + (size_t)outs) * sizeof *move->send);
    x->recv = outs <= FEW ? x->few_recv : malloc((size_t)outs * sizeof *x->recv);
    if (!move->send || !x->recv)
        return TUTTI_NO(MEMORY);
    move->receive = move->send + ins;
    move->sends = ins;
    move->receives = outs;
    move->endpoint = tutti_endpoint;
    return mover_elements(x, x->blocks.in, ins, move->send) && mover_elements(x, x->blocks.out, outs, move->receive);
}

/* ---- messages ---- */

static struct tutti_send_request *mover_request(struct tutti_p2p_send *core)
{
    return (struct tutti_send_request *)(void *)((char *)core - offsetof(struct tutti_send_request, core));
}

static struct tutti_p2p_send *mover_post(void *with, int i, int peer, struct tutti_pack_job *job)
{
    struct mover *x = with;
    const struct tutti_mover_block *block = &x->blocks.in[i];
    const struct tutti_message message = {
        .name = x->call->name, .buffer = block->at, .count = block->count, .type = block->type, .comm = x->call->comm};
    const struct tutti_layout *layout = block->count > 0 ? mover_layout(x, block->type) : NULL;
    struct tutti_send_request *sent = tutti_send_block(&message, peer, layout, &x->move.seen, job);
    return sent ? &sent->core : NULL;
}

static void mover_withdraw(void *with, struct tutti_p2p_send *core)
{
    (void)with;
    tutti_send_withdraw(mover_request(core));
}

static void mover_list(void *with, struct tutti_p2p_send *core)
{
    (void)with;
    tutti_send_list(mover_request(core));
}

static void mover_await(void *with, struct tutti_p2p_send *core)
{
    struct mover *x = with;
    struct tutti_send_request *sent = mover_request(core);
    tutti_send_await(sent);
    if (x->code == MPI_SUCCESS)
        x->code = sent->code;
    tutti_send_let_go(sent);
}

static void mover_expect(struct mover *x, int i, const struct tutti_move_arrival *from)
{
    const struct tutti_mover_block *block = &x->blocks.out[i];
    const struct tutti_move_block *what = &x->move.receive[i];
    const struct tutti_layout *layout = block->count > 0 ? mover_layout(x, block->type) : NULL;
    struct tutti_rndv *rndv = from->rndv;
    struct tutti_recv_request *recv = &x->recv[i];
    *recv = (struct tutti_recv_request){.type = block->type, .comm = x->call->comm};
    if (layout) {
        recv->size = layout->size;
        recv->extent = layout->extent;
        recv->core.elements = tutti_message_elements(block->at, block->count, layout);
        tutti_plan_hold(layout->plan);
        recv->core.capacity = what->bytes;
        recv->core.elements.placed = 1; /* the algorithm has looked */
        recv->core.elements.places = (struct tutti_places){.device = 1, .gpu = what->gpu};
    }
    if (!rndv) {
        recv->state = TUTTI_RECV_FAILED;
        recv->code = tutti_error_code(TUTTI_ERR_MISMATCH);
    } else if (rndv->bytes == 0) {
        recv->state = TUTTI_RECV_FETCHED;
        tutti_rndv_set(rndv, TUTTI_RNDV_ATS);
    } else {
        recv->state = TUTTI_RECV_RNDV;
        recv->core.bytes = rndv->bytes;
        recv->core.rts = (struct tutti_rts_head){.sequence = atomic_load(&rndv->sequence),
                                                 .bytes = rndv->bytes,
                                                 .number = (int32_t)from->number,
                                                 .rank = from->peer};
    }
}

static void mover_fetch(void *with, const struct tutti_move_arrival *from)
{
    static struct tutti_stage as_it_is;
    struct mover *x = with;
    const int n = x->blocks.outs;
    struct tutti_recv_request **recvs = calloc((size_t)n + 1, sizeof *recvs);
    struct tutti_stage **stages = calloc((size_t)n + 1, sizeof *stages);
    const int room = recvs && stages;
    x->code = room ? MPI_SUCCESS : tutti_error_code(TUTTI_ERR_MEMORY);
    for (int i = 0; i < n; i++) {
        mover_expect(x, i, &from[i]);
        if (room) {
            recvs[i] = &x->recv[i];
            stages[i] = &as_it_is;
        }
    }
    if (room)
        tutti_recv_fetch(recvs, stages, n, 1);
    for (int i = 0; i < n; i++) {
        if (x->code == MPI_SUCCESS && x->recv[i].state == TUTTI_RECV_FAILED) {
            x->code = x->recv[i].code;
            tutti_error("%s: what comes from rank %d is not what was asked for: %llu bytes for a buffer of %llu",
                        x->call->name, x->blocks.out[i].rank, (unsigned long long)x->recv[i].core.bytes,
                        (unsigned long long)x->recv[i].core.capacity);
        }
        tutti_recv_close(&x->recv[i]);
    }
    free(recvs);
    free(stages);
}

static const struct tutti_move_ops mover_ops = {
    .post = mover_post, .withdraw = mover_withdraw, .list = mover_list, .await = mover_await, .fetch = mover_fetch};

/* ---- the call ---- */

/* Of this communicator; NULL where calls are simply the MPI's, and why. */
static struct tutti_team *mover_team(MPI_Comm comm)
{
    struct tutti_comm *state = tutti_comm_find(comm);
    if (!state && !(state = tutti_comm_make(comm)))
        return NULL;
    if (state->opening)
        tutti_comm_ready(state, 1);
    struct tutti_team *team = state->team;
    if (team && team->size > 1 && team->whole && team->state != TUTTI_TEAM_BROKEN)
        return team;
    tutti_why_set(team && team->size > 1 && !team->whole ? tutti_reason_of(team->why) : TUTTI_REASON_COMM);
    return NULL;
}

void tutti_mover_pass_new(enum tutti_collective collective, int root, MPI_Comm comm)
{
    struct tutti_comm *state = tutti_comm_find(comm);
    struct tutti_team *team = NULL;
    if (!state && !(state = tutti_comm_begin(comm)))
        return;
    if (state->opening && !tutti_comm_ready(state, 0) && (team = tutti_comm_early(state)) != NULL) {
        tutti_comm_announce(state, team, collective, 0, 0, 0, (uint64_t)(unsigned)root);
        return;
    }
    team = mover_team(comm);
    if (team)
        tutti_team_announce(team, collective, 0, 0, 0, (uint64_t)(unsigned)root);
}

static int mover_call(struct mover *x, const char **how)
{
    TUTTI_INSIDE();
    const struct tutti_call call = {
        .collective = x->call->collective, .root = x->call->root, .move = mover_describe(x) ? &x->move : NULL};
    return tutti_move_run(x->team, &call, how);
}

int tutti_mover_run(const struct tutti_collective_args *call, int *code)
{
    struct tutti_move_block few[FEW];
    struct tutti_recv_request few_recv[FEW];
    struct mover x = {.call = call, .few = few, .few_recv = few_recv, .code = MPI_SUCCESS};
    const char *how = NULL;
    x.move = (struct tutti_move){.seen = {.memory = {.kind = TUTTI_MEMORY_HOST}}, .ops = &mover_ops, .with = &x};
    *code = MPI_SUCCESS;
    if (tutti_inside || !tutti_endpoint_everywhere) {
        tutti_why_set(tutti_endpoint ? TUTTI_REASON_APART : tutti_endpoints_why(tutti_handles.no_comm, -1));
        return 0;
    }
    if (!(x.team = mover_team(call->comm)))
        return 0;
    int status = mover_call(&x, &how);
    tutti_mover_blocks_close(&x.blocks);
    if (x.move.send != few)
        free(x.move.send);
    if (x.recv != few_recv)
        free(x.recv);
    *code = status != TUTTI_OK ? tutti_error_code(status) : x.code;
    if (*code != MPI_SUCCESS) {
        tutti_count(call->name, TUTTI_OUTCOME_FAILED,
                    status != TUTTI_OK ? tutti_status_text(status) : "what came was not expected");
        tutti_fail_comm(call->comm, *code);
        return 1;
    }
    if (how)
        tutti_count_made(call->name, how, x.bytes);
    return how != NULL;
}
