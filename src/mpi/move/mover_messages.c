/* The messages of collectives that move data: posts this rank's blocks as rendezvous, and fetches those of its
 * peers. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/log.h"
#include "mpi/message/rndv_send.h"
#include "mpi/move/mover_own.h"
#include "mpi/real/errors.h"
#include "progress/engine.h"

/* ---- sending ---- */

static struct tutti_send_request *mover_request(struct tutti_p2p_send *core)
{
    return (struct tutti_send_request *)(void *)((char *)core - offsetof(struct tutti_send_request, core));
}

static struct tutti_p2p_send *mover_post(void *with, int i, int peer, struct tutti_pack_job *job)
{
    struct tutti_mover *x = with;
    const struct tutti_mover_block *block = &x->blocks.in[i];
    const struct tutti_message message = {
        .name = x->call->name, .buffer = block->at, .count = block->count, .type = block->type, .comm = x->call->comm};
    struct tutti_send_request *sent = tutti_send_block(&message, peer, block->layout, &x->move.seen, job);
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
    struct tutti_mover *x = with;
    struct tutti_send_request *sent = mover_request(core);
    tutti_send_await(sent);
    if (x->code == MPI_SUCCESS)
        x->code = sent->code;
    tutti_send_let_go(sent);
}

/* ---- receiving ---- */

static void mover_expect(struct tutti_mover *x, int i, const struct tutti_move_arrival *from)
{
    const struct tutti_mover_block *block = &x->blocks.out[i];
    const struct tutti_move_block *what = &x->move.receive[i];
    const struct tutti_layout *layout = block->layout;
    struct tutti_rndv *rndv = from->rndv;
    struct tutti_recv_request *recv = &x->recv[i];
    *recv = (struct tutti_recv_request){.type = block->type, .comm = x->call->comm};
    recv->core.engines = x->move.engines;
    if (layout) {
        recv->size = layout->size;
        recv->extent = layout->extent;
        recv->core.elements = tutti_message_elements(block->at, block->count, layout);
        tutti_plan_hold(layout->plan);
        recv->core.capacity = what->bytes;
        recv->core.elements.placed = 1; /* the algorithm has checked it */
        recv->core.elements.places = (struct tutti_places){.device = 1, .gpu = what->gpu, .id = what->allocation};
    }
    if (!rndv) {
        recv->state = TUTTI_RECV_FAILED;
        recv->code = tutti_error_code(TUTTI_ERR_MISMATCH);
    } else if (rndv->bytes == 0) {
        recv->state = TUTTI_RECV_FETCHED;
        tutti_rndv_move(rndv, TUTTI_RNDV_BOUNCE, TUTTI_RNDV_ATS);
    } else {
        recv->state = TUTTI_RECV_RNDV;
        recv->core.bytes = rndv->bytes;
        recv->core.rts = (struct tutti_rts_head){.sequence = atomic_load(&rndv->sequence),
                                                 .bytes = rndv->bytes,
                                                 .number = (int32_t)from->number,
                                                 .rank = from->peer};
    }
}

/* The received blocks, while they are fetched. */
struct mover_coming {
    struct tutti_mover *mover;
    struct tutti_recv_request **recvs;
    struct tutti_stage **stages;
};

static void mover_fetch_all(struct mover_coming *coming)
{
    tutti_recv_fetch(coming->recvs, coming->stages, coming->mover->blocks.outs, TUTTI_FETCH_ALL);
}

/* The first block from a rank behind this one: where copies follow each other, ranks begin with different peers. */
static int mover_first(const struct tutti_mover *x)
{
    int first = 0;
    while (first < x->blocks.outs && x->blocks.out[first].rank <= x->team->rank)
        first++;
    return first;
}

/* Fetches all blocks by `fetch_all`, which waits for them. */
static void mover_fetch_by(struct tutti_mover *x, const struct tutti_move_arrival *from,
                           void (*fetch_all)(struct mover_coming *coming))
{
    static struct tutti_stage as_it_is;
    const int n = x->blocks.outs, first = mover_first(x);
    struct mover_coming coming = {x, calloc((size_t)n + 1, sizeof *coming.recvs),
                                  calloc((size_t)n + 1, sizeof *coming.stages)};
    const int room = coming.recvs && coming.stages;
    x->code = room ? MPI_SUCCESS : tutti_error_code(TUTTI_ERR_MEMORY);
    for (int i = 0; i < n; i++) {
        mover_expect(x, i, &from[i]);
        if (room) {
            coming.recvs[(i + n - first) % n] = &x->recv[i];
            coming.stages[i] = &as_it_is;
        }
    }
    if (room)
        fetch_all(&coming);
    for (int i = 0; i < n; i++) {
        if (x->code == MPI_SUCCESS && x->recv[i].state == TUTTI_RECV_FAILED) {
            x->code = x->recv[i].code;
            tutti_error("%s: what comes from rank %d is not what was asked for: %llu bytes for a buffer of %llu",
                        x->call->name, x->blocks.out[i].rank, (unsigned long long)x->recv[i].core.bytes,
                        (unsigned long long)x->recv[i].core.capacity);
        }
        tutti_recv_close(&x->recv[i]);
    }
    free(coming.recvs);
    free(coming.stages);
}

static void mover_fetch(void *with, const struct tutti_move_arrival *from)
{
    mover_fetch_by(with, from, mover_fetch_all);
}

const struct tutti_move_ops tutti_mover_polled = {
    .post = mover_post, .withdraw = mover_withdraw, .list = mover_list, .await = mover_await, .fetch = mover_fetch};

/* ---- in a fiber ----
 *
 * Waits of a fiber poll no steps, since steps call the MPI. Peers need two things of this rank meanwhile: its blocks
 * may have to be packed, and they may ask for descriptors of its memory. Both are done here between two tests. If
 * the data must go through the MPI after all, a thread of the program carries them (p2p/deferred.h). */

static void mover_serve(struct tutti_mover *x)
{
    tutti_p2p_poll(x->p2p);
    tutti_endpoint_poll(tutti_endpoint);
}

static void mover_list_alone(void *with, struct tutti_p2p_send *core)
{
    struct tutti_mover *x = with;
    tutti_p2p_list(x->p2p, core);
}

struct mover_leaving {
    struct tutti_mover *mover;
    struct tutti_p2p_send *core;
    int status;
};

/* 1 once the data are out. Parts of a message to a dead process stay with the transport. */
static int mover_is_out(void *with)
{
    struct mover_leaving *leaving = with;
    struct tutti_p2p_worker *p2p = leaving->mover->p2p;
    mover_serve(leaving->mover);
    return tutti_p2p_data_out(p2p, leaving->core, &leaving->status) &&
           (leaving->status != TUTTI_OK || tutti_p2p_send_done(p2p, leaving->core));
}

static void mover_await_alone(void *with, struct tutti_p2p_send *core)
{
    struct tutti_mover *x = with;
    struct mover_leaving leaving = {x, core, TUTTI_OK};
    tutti_progress_wait(&(const struct tutti_wait){
        .done = mover_is_out, .with = &leaving, .what = "for a rank that has not fetched its part of a collective"});
    if (leaving.status != TUTTI_OK && x->code == MPI_SUCCESS)
        x->code = tutti_error_code(leaving.status);
    if (!core->parts)
        tutti_send_destroy(mover_request(core));
}

static int mover_has_come(void *with)
{
    struct mover_coming *coming = with;
    int left = 0;
    mover_serve(coming->mover);
    tutti_recv_fetch_by(coming->mover->p2p, coming->recvs, coming->stages, coming->mover->blocks.outs, TUTTI_FETCH_NOW);
    for (int i = 0; i < coming->mover->blocks.outs; i++)
        left += tutti_recv_is_open(coming->recvs[i]);
    return left == 0;
}

static void mover_fetch_all_alone(struct mover_coming *coming)
{
    tutti_progress_wait(&(const struct tutti_wait){
        .done = mover_has_come, .with = coming, .what = "for the data of a collective of the node"});
}

static void mover_fetch_alone(void *with, const struct tutti_move_arrival *from)
{
    mover_fetch_by(with, from, mover_fetch_all_alone);
}

const struct tutti_move_ops tutti_mover_alone = {.post = mover_post,
                                                 .withdraw = mover_withdraw,
                                                 .list = mover_list_alone,
                                                 .await = mover_await_alone,
                                                 .fetch = mover_fetch_alone};
