/* Blocks of a move as messages. The waits of a fiber poll no steps, since steps call the MPI. So each wait serves the
 * call's own blocks between two tests: peers may ask for data to be packed, or for descriptors of this rank's memory.
 */
#include "coll/move/blocks.h"

#include <stdatomic.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/status.h"
#include "progress/engine.h"

enum { EXTRA_GRACE_NS = 1000000000 }; /* a receiver may have to map memory first */

/* ---- sending ---- */

/* The block stays in the program's buffer, or is in scratch when `job` has run. */
int tutti_block_post(struct tutti_move *move, int i, int peer, struct tutti_p2p_send *send, struct tutti_pack_job *job)
{
    struct tutti_move_block *block = &move->send[i];
    *job = (struct tutti_pack_job){.bytes = 0};
    *send = (struct tutti_p2p_send){.elements = block->elements,
                                    .bytes = block->bytes,
                                    .gpu = TUTTI_NO_GPU,
                                    .since = tutti_now_ns(),
                                    .extra_grace = EXTRA_GRACE_NS,
                                    .agreed = 1,
                                    .memo = &move->seen.memo};
    if (block->bytes > 0) {
        if (!tutti_move_reaches(move, block))
            return 0;
        send->gpu = block->gpu;
        send->lowest = block->lowest;
        send->allocation = block->allocation;
    }
    struct tutti_rndv *rndv = tutti_endpoint_rndv_of_call(move->worker->endpoint, peer, send->gpu);
    if (!rndv)
        return 0;
    send->rndv = rndv;
    rndv->tag = INT32_MIN; /* no message: probes do not see it */
    rndv->next = TUTTI_RNDVS;
    rndv->bytes = block->bytes;
    if (block->bytes == 0) {
        TUTTI_RNDV_SET(rndv->share.shared, 0);
        tutti_rndv_move(rndv, TUTTI_RNDV_FREE, TUTTI_RNDV_BOUNCE);
    } else if (!tutti_p2p_choose(move->worker, send, &tutti_rules_of_messages, job)) {
        tutti_block_withdraw(move, send);
    }
    return send->rndv != NULL;
}

void tutti_block_withdraw(struct tutti_move *move, struct tutti_p2p_send *send)
{
    if (send->rndv)
        tutti_endpoint_withdraw(move->worker->endpoint, send->rndv);
    send->rndv = NULL;
}

static void blocks_serve(struct tutti_move *move)
{
    tutti_p2p_poll(move->worker);
    tutti_endpoint_poll(move->worker->endpoint);
}

struct blocks_leaving {
    struct tutti_move *move;
    struct tutti_p2p_send *send;
};

/* 1 once the data of all are out. Parts of a message to a dead process stay with the transport. */
static int blocks_are_out(void *with)
{
    const struct blocks_leaving *all = with;
    struct tutti_p2p_worker *worker = all->move->worker;
    int left = 0;
    for (int i = 0; i < all->move->sends; i++) {
        struct tutti_p2p_send *send = &all->send[i];
        int status = TUTTI_OK;
        const int out = tutti_p2p_data_out(worker, send, &status);
        if (status != TUTTI_OK)
            send->failed = status;
        left += !out || (send->failed == TUTTI_OK && !tutti_p2p_send_done(worker, send));
    }
    if (left)
        blocks_serve(all->move);
    return left == 0;
}

void tutti_blocks_await(struct tutti_move *move, struct tutti_p2p_send *send)
{
    struct blocks_leaving all = {move, send};
    tutti_progress_wait(&(const struct tutti_wait){
        .done = blocks_are_out, .with = &all, .what = "for a rank that has not fetched its part of a collective"});
    for (int i = 0; i < move->sends && move->failed == TUTTI_OK; i++)
        move->failed = send[i].failed;
}

/* ---- receiving ---- */

void tutti_block_expect(struct tutti_move *move, int i, int peer, struct tutti_rndv *rndv, uint32_t number,
                        struct tutti_p2p_recv *recv)
{
    const struct tutti_move_block *block = &move->receive[i];
    *recv = (struct tutti_p2p_recv){
        .elements = block->elements, .capacity = block->bytes, .engines = move->engines, .fetched = 1};
    if (block->bytes > 0) { /* can() has checked where it lies */
        recv->elements.placed = 1;
        recv->elements.places = (struct tutti_places){.device = 1, .gpu = block->gpu, .id = block->allocation};
    }
    if (!rndv) {
        recv->ended = 1;
        recv->status = TUTTI_ERR_MISMATCH;
        return;
    }
    recv->bytes = rndv->bytes;
    recv->ended = rndv->bytes == 0;
    recv->rts = (struct tutti_rts_head){
        .sequence = atomic_load(&rndv->sequence), .bytes = rndv->bytes, .number = (int32_t)number, .rank = peer};
    if (recv->ended)
        tutti_rndv_move(rndv, TUTTI_RNDV_BOUNCE, TUTTI_RNDV_ATS);
}

struct blocks_fetching {
    struct tutti_p2p_fetching base;
    struct tutti_move *move;
    struct tutti_p2p_recv *recv;
    int first;
};

static struct tutti_p2p_recv *blocks_at(const struct tutti_p2p_fetching *fetching, int i)
{
    const struct blocks_fetching *all = (const struct blocks_fetching *)(const void *)fetching;
    return &all->recv[(i + all->first) % fetching->n];
}

/* Fetches what can be fetched now. 1: all blocks have arrived. */
static int blocks_fetch_some(struct blocks_fetching *all)
{
    int left = 0;
    tutti_p2p_fetch_all(&all->base, 0);
    for (int i = 0; i < all->base.n; i++)
        left += !all->recv[i].ended;
    return left == 0;
}

static int blocks_have_arrived(void *with)
{
    struct blocks_fetching *all = with;
    blocks_serve(all->move);
    return blocks_fetch_some(all);
}

/* Keeps the first failure. */
static void block_end(struct tutti_move *move, const struct tutti_move_block *block, const struct tutti_p2p_recv *recv)
{
    if (recv->status == TUTTI_OK || move->failed != TUTTI_OK)
        return;
    move->failed = recv->status;
    move->truncated = recv->truncated;
    if (recv->status == TUTTI_ERR_MISMATCH || recv->truncated)
        tutti_error("%s: rank %d sends what was not asked for: %llu bytes for a buffer of %llu", move->name,
                    block->rank, (unsigned long long)recv->bytes, (unsigned long long)recv->capacity);
    else
        tutti_error("%s: the data of rank %d are not received: %s", move->name, block->rank,
                    tutti_status_text(recv->status));
}

void tutti_blocks_fetch(struct tutti_move *move, struct tutti_p2p_recv *recv, int first)
{
    struct blocks_fetching all = {.base = {.worker = move->worker, .at = blocks_at, .n = move->receives},
                                  .move = move,
                                  .recv = recv,
                                  .first = first};
    if (!blocks_fetch_some(&all))
        tutti_progress_wait(&(const struct tutti_wait){
            .done = blocks_have_arrived, .with = &all, .what = "for the data of a collective of the node"});
    for (int i = 0; i < move->receives; i++)
        block_end(move, &move->receive[i], &recv[i]);
}
