#include "mpi/move/mover.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/log.h"
#include "dtype/pack.h"
#include "mpi/comm/comms.h"
#include "mpi/message/rndv_recv.h"
#include "mpi/message/rndv_send.h"
#include "mpi/real/errors.h"

enum { PATIENCE_NS = 1000000000 }; /* a receiver may have to map memory first */

struct exchange {
    const struct tutti_collective_args *call;
    struct tutti_team *team;
    struct tutti_mover_blocks blocks;
    struct tutti_send_request **sent; /* of blocks.in; NULL: not posted */
    struct tutti_recv_request *recv;  /* of blocks.out */
    struct tutti_layout *layout_of_last;
    MPI_Datatype last;
    struct tutti_seen seen; /* where the last block lies */
    MPI_Count largest;
    const char *counted; /* the block that fits() has looked at last */
    uint64_t bytes;      /* of all blocks; one that goes to several ranks counts once */
};

/* ---- can this rank take part? ---- */

static struct tutti_layout *layout_of(struct exchange *x, MPI_Datatype type)
{
    if (!x->layout_of_last || type != x->last) {
        x->layout_of_last = tutti_layout_of(type);
        x->last = type;
    }
    return x->layout_of_last;
}

/* 1 where kernels of one GPU reach all of the block: that of the block. */
static int reached(struct exchange *x, struct tutti_mover_block *block, const struct tutti_plan *plan)
{
    const MPI_Count reach = (block->count - 1) * plan->extent;
    const char *first = block->at + plan->true_lower + (reach < 0 ? reach : 0);
    const char *end = block->at + plan->true_end + (reach > 0 ? reach : 0);
    struct tutti_places places;
    if (tutti_seen_holds(&x->seen, first, end)) {
        block->gpu = x->seen.memory.gpu;
        return tutti_endpoint_use(tutti_endpoint, block->gpu) >= 0 ? 1 : TUTTI_NO(OTHER_GPU);
    }
    tutti_places_of(plan, block->count, block->at, &places);
    block->gpu = places.gpu;
    if (!places.device)
        return TUTTI_NO(HOST_SOME);
    if (!tutti_places_reached(&places))
        return places.spread ? TUTTI_NO(TWO_GPUS) : TUTTI_NO(HOST_SOME);
    return tutti_endpoint_use(tutti_endpoint, places.gpu) >= 0 ? 1 : TUTTI_NO(OTHER_GPU);
}

static int fits(struct exchange *x, struct tutti_mover_block *block)
{
    MPI_Count bytes;
    if (block->count == 0)
        return 1;
    struct tutti_layout *layout = layout_of(x, block->type);
    if (!layout || !layout->plan || !tutti_layout_committed(layout, block->type) ||
        __builtin_mul_overflow(block->count, (MPI_Count)layout->plan->size, &bytes))
        return TUTTI_NO(TYPE);
    x->bytes += block->at == x->counted ? 0 : (uint64_t)bytes;
    x->counted = block->at;
    x->largest = bytes > x->largest ? bytes : x->largest;
    return bytes == 0 || reached(x, block, layout->plan);
}

/* Whether a peer has a GPU that it can use is found out when all have arrived. */
static int peers_reach(const struct exchange *x)
{
    for (int i = 0; i < x->blocks.ins; i++) {
        const struct tutti_mover_block *block = &x->blocks.in[i];
        if (block->count > 0 && tutti_endpoint_mapped(tutti_endpoint, tutti_team_peer(x->team, block->rank),
                                                      block->gpu) == TUTTI_MAPS_CANNOT)
            return 0;
    }
    return 1;
}

/* Local. 1 where nothing on this rank stands against it. */
static int can(struct exchange *x)
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
    if (x->blocks.ins > TUTTI_RNDVS / 2)
        return TUTTI_NO(MANY);
    for (int i = 0; i < x->blocks.ins; i++) {
        if (!fits(x, &x->blocks.in[i]))
            return 0;
    }
    x->counted = NULL;
    for (int i = 0; i < x->blocks.outs; i++) {
        if (!fits(x, &x->blocks.out[i]))
            return 0;
    }
    if (!peers_reach(x))
        return TUTTI_NO(SCRATCH_UNREACHED);
    if (x->largest > 0 && !tutti_p2p_first(&tutti_rules_of_messages, 0, (uint64_t)x->largest))
        return 0;
    x->sent = calloc((size_t)x->blocks.ins + 1, sizeof *x->sent);
    x->recv = calloc((size_t)x->blocks.outs + 1, sizeof *x->recv);
    return x->sent && x->recv ? 1 : TUTTI_NO(MEMORY);
}

/* ---- sending ---- */

static int post_all(struct exchange *x)
{
    uint16_t *const first = tutti_team_rndvs(x->team, x->team->rank);
    struct tutti_rndv *last[TUTTI_MAX_RANKS] = {NULL};
    const int n = x->blocks.ins;
    struct tutti_pack_job *jobs = calloc((size_t)n + 1, sizeof *jobs + sizeof(int));
    int *gpus = jobs ? (int *)(void *)(jobs + n + 1) : NULL; /* behind them */
    unsigned used = 0;
    int fine = jobs != NULL;
    for (int r = 0; r < x->team->size; r++)
        first[r] = TUTTI_RNDVS;
    for (int i = 0; i < n && fine; i++) {
        const struct tutti_mover_block *block = &x->blocks.in[i];
        const struct tutti_message message = {.name = x->call->name,
                                              .buffer = block->at,
                                              .count = block->count,
                                              .type = block->type,
                                              .comm = x->call->comm};
        const struct tutti_layout *layout = block->count > 0 ? layout_of(x, block->type) : NULL;
        struct tutti_send_request *sent =
            tutti_send_block(&message, tutti_team_peer(x->team, block->rank), layout, &x->seen, &jobs[used]);
        if (!(fine = (x->sent[i] = sent) != NULL))
            break;
        gpus[used] = sent->core.gpu;
        used += jobs[used].bytes > 0;
        uint16_t number = (uint16_t)tutti_endpoint_number(tutti_endpoint, sent->core.rndv);
        if (last[block->rank])
            last[block->rank]->next = number;
        else
            first[block->rank] = number;
        last[block->rank] = sent->core.rndv;
        sent->core.patience = PATIENCE_NS;
    }
    if (fine && used)
        fine = tutti_pack_on(gpus, jobs, used) == TUTTI_OK;
    free(jobs);
    return fine;
}

/* Nobody was told of the rendezvous. */
static void withdraw_all(struct exchange *x)
{
    for (int i = 0; i < x->blocks.ins; i++) {
        if (x->sent[i])
            tutti_send_withdraw(x->sent[i]);
        x->sent[i] = NULL;
    }
}

/* All that this rank sends has left its buffers. The first failure. */
static int await_all(struct exchange *x)
{
    int code = MPI_SUCCESS;
    for (int i = 0; i < x->blocks.ins; i++) {
        tutti_send_await(x->sent[i]);
        if (code == MPI_SUCCESS)
            code = x->sent[i]->code;
        tutti_send_let_go(x->sent[i]);
    }
    return code;
}

/* ---- receiving ---- */

/* The next rendezvous of a rank for this one; NULL: there is none, which is an error of the program. */
static struct tutti_rndv *next_rndv(struct exchange *x, int rank, uint32_t *next)
{
    struct tutti_rndv *rndv =
        *next < TUTTI_RNDVS ? tutti_endpoint_at(tutti_endpoint, tutti_team_peer(x->team, rank), (int)*next) : NULL;
    *next = rndv ? rndv->next : TUTTI_RNDVS;
    return rndv;
}

static void expect(struct exchange *x, const struct tutti_mover_block *block, struct tutti_rndv *rndv, uint32_t number,
                   struct tutti_recv_request *recv)
{
    const struct tutti_layout *layout = block->count > 0 ? layout_of(x, block->type) : NULL;
    *recv = (struct tutti_recv_request){.type = block->type, .comm = x->call->comm};
    if (layout) {
        recv->size = layout->size;
        recv->extent = layout->extent;
        recv->core.elements = tutti_message_elements(block->at, block->count, layout);
        tutti_plan_hold(layout->plan);
        recv->core.capacity = tutti_elements_bytes(&recv->core.elements);
        recv->core.elements.placed = 1; /* can() has looked */
        recv->core.elements.places = (struct tutti_places){.device = 1, .gpu = block->gpu};
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
                                                 .number = (int32_t)number,
                                                 .rank = tutti_team_peer(x->team, block->rank)};
    }
}

static int fetch_all(struct exchange *x)
{
    static struct tutti_stage as_it_is;
    const int n = x->blocks.outs;
    uint32_t next[TUTTI_MAX_RANKS];
    struct tutti_recv_request **recvs = malloc(((size_t)n + 1) * sizeof *recvs);
    struct tutti_stage **stages = malloc(((size_t)n + 1) * sizeof *stages);
    int code = recvs && stages ? MPI_SUCCESS : tutti_error_code(TUTTI_ERR_MEMORY);
    for (int r = 0; r < x->team->size; r++)
        next[r] = tutti_team_rndvs(x->team, r)[x->team->rank];
    for (int i = 0; i < n; i++) {
        const struct tutti_mover_block *block = &x->blocks.out[i];
        uint32_t number = next[block->rank];
        expect(x, block, next_rndv(x, block->rank, &next[block->rank]), number, &x->recv[i]);
        if (code == MPI_SUCCESS) {
            recvs[i] = &x->recv[i];
            stages[i] = &as_it_is;
        }
    }
    if (code == MPI_SUCCESS)
        tutti_recv_fetch(recvs, stages, n, 1);
    for (int i = 0; i < n; i++) {
        if (code == MPI_SUCCESS && x->recv[i].state == TUTTI_RECV_FAILED) {
            code = x->recv[i].code;
            tutti_error("%s: what comes from rank %d is not what was asked for: %llu bytes for a buffer of %llu",
                        x->call->name, x->blocks.out[i].rank, (unsigned long long)x->recv[i].core.bytes,
                        (unsigned long long)x->recv[i].core.capacity);
        }
        tutti_recv_close(&x->recv[i]);
    }
    free(recvs);
    free(stages);
    return code;
}

/* ---- the course of a call ---- */

/* Of this communicator; NULL where calls are simply the MPI's, and why. */
static struct tutti_team *team_of(MPI_Comm comm)
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
    team = team_of(comm);
    if (team)
        tutti_team_announce(team, collective, 0, 0, 0, (uint64_t)(unsigned)root);
}

/* *taken: all ranks can, and have shown their rendezvous. */
static int agree(struct exchange *x, int able, int *taken)
{
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    const struct tutti_arrival mine = {.collective = (uint32_t)x->call->collective,
                                       .kind = able ? TUTTI_ARRIVAL_DEVICE : TUTTI_ARRIVAL_HOST,
                                       .blocks = able ? 0 : (uint32_t)tutti_why_take(TUTTI_REASON_OTHER),
                                       .detail = (uint64_t)(unsigned)x->call->root};
    struct tutti_team *team = x->team;
    uint32_t fine = 1;
    *taken = 0;
    team->offered = 0;
    tutti_team_arrive(team, &mine);
    if (!able) {
        tutti_why_set((enum tutti_reason)mine.blocks);
        return TUTTI_OK;
    }
    int status = tutti_team_await(team, all);
    for (int r = 0; r < team->size && status == TUTTI_OK; r++) {
        if (all[r]->kind == TUTTI_ARRIVAL_DEVICE)
            continue;
        fine = 0;
        tutti_why_set(all[r]->blocks > 0 && all[r]->blocks < TUTTI_REASONS ? (enum tutti_reason)all[r]->blocks
                                                                           : TUTTI_REASON_HOST_SOME);
    }
    if (status != TUTTI_OK || !fine)
        return status;
    fine = post_all(x) ? TUTTI_REASONS : (uint32_t)tutti_why_take(TUTTI_REASON_MANY);
    status = tutti_team_vote(team, fine, &fine);
    *taken = status == TUTTI_OK && fine == TUTTI_REASONS;
    if (!*taken) {
        tutti_why_set(fine < TUTTI_REASONS ? (enum tutti_reason)fine : TUTTI_REASON_OTHER);
        withdraw_all(x);
    }
    return status;
}

/* TUTTI_OK, with *taken; *code where it is taken. */
static int run(struct exchange *x, int *taken, int *code)
{
    TUTTI_INSIDE();
    int able = can(x), status = able && x->team->settle ? x->team->settle(x->team->settle_with) : TUTTI_OK;
    if (status == TUTTI_OK)
        status = agree(x, able, taken);
    if (status != TUTTI_OK || !*taken)
        return status;
    for (int i = 0; i < x->blocks.ins; i++)
        tutti_send_list(x->sent[i]);
    int received = fetch_all(x), left = await_all(x);
    *code = received != MPI_SUCCESS ? received : left;
    return TUTTI_OK;
}

int tutti_mover_run(const struct tutti_collective_args *call, int *code)
{
    struct exchange x = {.call = call, .seen = {.memory = {.kind = TUTTI_MEMORY_HOST}}};
    int taken = 0;
    *code = MPI_SUCCESS;
    if (tutti_inside || !tutti_endpoint_everywhere) {
        tutti_why_set(tutti_endpoint ? TUTTI_REASON_APART : tutti_endpoints_why(tutti_handles.no_comm, -1));
        return 0;
    }
    if (!(x.team = team_of(call->comm)))
        return 0;
    int status = run(&x, &taken, code);
    tutti_mover_blocks_close(&x.blocks);
    free(x.sent);
    free(x.recv);
    if (status != TUTTI_OK)
        *code = tutti_error_code(status);
    if (*code != MPI_SUCCESS) {
        tutti_count(call->name, TUTTI_OUTCOME_FAILED,
                    status != TUTTI_OK ? tutti_status_text(status) : "what came was not expected");
        tutti_fail_comm(call->comm, *code);
        return 1;
    }
    if (taken)
        tutti_count_made(call->name, "fetched from each other", x.bytes);
    return taken;
}
