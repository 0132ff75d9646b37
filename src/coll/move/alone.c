/* A collective that moves data on a team of one rank: each sent block is a message of the rank to itself, as in
 * `fetch`, and no rank is waited for. */
#include <stdatomic.h>
#include <stdlib.h>

#include "coll/move/blocks.h"
#include "core/settings.h"
#include "core/status.h"

/* What a staged call loses, on H200, and what the first messages of a process to itself cost more than staging. */
enum { LOST_NS = 6000, LOST_BYTES = 6, FIRST_NS = 450000 };
static _Atomic uint64_t lost; /* ns that staged calls have lost */

/* The blocks that are sent, and where each of them is received. */
struct alone_parts {
    struct tutti_p2p_send *sent;
    struct tutti_p2p_recv *recv;
};

static uint64_t alone_largest(const struct tutti_move *move)
{
    uint64_t most = 0;
    for (int i = 0; i < move->sends; i++)
        most = move->send[i].bytes > most ? move->send[i].bytes : most;
    return most;
}

/* 1 if block i is received where block i of those that are sent has as many bytes. Otherwise the MPI finds the error.
 */
static int alone_blocks_match(const struct tutti_move *move)
{
    for (int i = 0; i < move->sends && move->sends == move->receives; i++) {
        if (move->send[i].bytes != move->receive[i].bytes)
            return 0;
    }
    return move->sends == move->receives;
}

/* 1 until the staged calls have lost as much as the first copied one costs, on a device that is slow at first. */
static int alone_is_early(const struct tutti_move *move)
{
    const struct tutti_device *device = tutti_device();
    uint64_t ns = LOST_NS;
    if (!device || !device->share.usual_ns || device->share.usual_ns() == 0 || tutti_settings()->mapping_price_us ||
        atomic_load_explicit(&lost, memory_order_relaxed) >= FIRST_NS)
        return 0;
    for (int i = 0; i < move->sends; i++)
        ns += move->send[i].bytes / LOST_BYTES;
    return atomic_fetch_add_explicit(&lost, ns, memory_order_relaxed) + ns < FIRST_NS;
}

int tutti_move_alone_can(const struct tutti_team *team, const struct tutti_call *call)
{
    const struct tutti_move *move = call->move;
    if (!move || !alone_blocks_match(move))
        return 0;
    if (move->sends == 0)
        return 1;
    const size_t most = (size_t)alone_largest(move);
    if (!(tutti_moves_permitted(call->collective, most, team->size, 0, 0, 0) & UINT32_C(1) << TUTTI_MOVE_fetch))
        return TUTTI_NO(RULES);
    if (alone_is_early(move))
        return TUTTI_NO(FIRST_CALLS);
    return tutti_move_fetch.can(team, call);
}

/* 1: all blocks are posted, and those that the choice of a message packs are in scratch. */
static int alone_post(struct tutti_move *move, int self, struct tutti_p2p_send *sent)
{
    struct tutti_pack_job job;
    for (int i = 0; i < move->sends; i++) {
        if (!tutti_block_post(move, i, self, &sent[i], &job) ||
            (job.bytes > 0 && tutti_pack_now(sent[i].gpu, &job, 1) != TUTTI_OK))
            return 0;
    }
    return 1;
}

static void alone_exchange(struct tutti_move *move, int self, const struct alone_parts *parts)
{
    for (int i = 0; i < move->sends; i++) {
        struct tutti_rndv *rndv = parts->sent[i].rndv;
        const uint32_t number = (uint32_t)tutti_endpoint_number(move->worker->endpoint, rndv);
        tutti_p2p_list(move->worker, &parts->sent[i]);
        tutti_block_expect(move, i, self, rndv, number, &parts->recv[i]);
    }
    tutti_blocks_fetch(move, parts->recv, 0);
    tutti_blocks_await(move, parts->sent);
}

int tutti_move_alone(struct tutti_team *team, const struct tutti_call *call, const char **how)
{
    struct tutti_move *move = call->move;
    const int self = tutti_team_peer(team, team->rank);
    *how = NULL;
    const struct alone_parts parts = {.sent = calloc((size_t)move->sends + 1, sizeof *parts.sent),
                                      .recv = malloc(((size_t)move->receives + 1) * sizeof *parts.recv)};
    const int posted = parts.sent && parts.recv ? alone_post(move, self, parts.sent) : TUTTI_NO(MEMORY);
    if (posted) {
        alone_exchange(move, self, &parts);
        *how = "copied on this rank";
    } else {
        for (int i = 0; i < move->sends && parts.sent; i++)
            tutti_block_withdraw(move, &parts.sent[i]);
    }
    free(parts.sent);
    free(parts.recv);
    return TUTTI_OK;
}
