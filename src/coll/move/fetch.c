/* fetch: each rank publishes rendezvous (team/rndv.h) of its blocks to their receivers, and fetches all blocks that
 * it receives in one launch, from the senders' buffers or their scratch. Ranks that expect this row publish them before
 * they arrive at the call, so the arrivals show all that a receiver has to know; where some have not, all vote. */
#include <stdlib.h>

#include "coll/move/blocks.h"
#include "core/status.h"

/* ---- can this rank take part? ---- */

static int fetch_reaches(struct tutti_move *move, struct tutti_move_block *block)
{
    if (!tutti_move_reaches(move, block))
        return 0;
    return tutti_endpoint_use(move->worker->endpoint, block->gpu) >= 0 ? 1 : TUTTI_NO(OTHER_GPU);
}

/* *most: bytes of the largest block so far. */
static int fetch_reaches_all(struct tutti_move *move, struct tutti_move_block *blocks, int n, uint64_t *most)
{
    for (int i = 0; i < n; i++) {
        *most = blocks[i].bytes > *most ? blocks[i].bytes : *most;
        if (blocks[i].bytes > 0 && !fetch_reaches(move, &blocks[i]))
            return 0;
    }
    return 1;
}

/* Whether a peer has a usable GPU is known after all have arrived. */
static int fetch_peers_reach(const struct tutti_team *team, const struct tutti_move *move)
{
    for (int i = 0; i < move->sends; i++) {
        const struct tutti_move_block *block = &move->send[i];
        if (block->bytes > 0 && tutti_endpoint_mapped(move->worker->endpoint, tutti_team_peer(team, block->rank),
                                                      block->gpu) == TUTTI_MAPS_CANNOT)
            return 0;
    }
    return 1;
}

static int fetch_can(const struct tutti_team *team, const struct tutti_call *call)
{
    struct tutti_move *move = call->move;
    uint64_t most = 0;
    if (move->aside)
        return TUTTI_NO(IN_PLACE);
    if (move->sends > TUTTI_RNDVS / 2)
        return TUTTI_NO(MANY);
    if (!fetch_reaches_all(move, move->send, move->sends, &most) ||
        !fetch_reaches_all(move, move->receive, move->receives, &most))
        return 0;
    if (!fetch_peers_reach(team, move))
        return TUTTI_NO(SCRATCH_UNREACHED);
    return most == 0 || tutti_p2p_moves_blocks(&tutti_rules_of_messages, most);
}

/* ---- sending ---- */

/* Packs what lies on several GPUs, gpus[i] of jobs[i], in one launch for each GPU. Sorts both arrays. */
static int pack_by_gpu(int gpus[], struct tutti_pack_job jobs[], unsigned n)
{
    for (unsigned first = 0, end; first < n; first = end) {
        end = first + 1;
        for (unsigned i = end; i < n; i++) {
            if (gpus[i] != gpus[first])
                continue;
            const struct tutti_pack_job job = jobs[i];
            gpus[i] = gpus[end];
            jobs[i] = jobs[end];
            gpus[end] = gpus[first];
            jobs[end++] = job;
        }
        const int status = tutti_pack_now(gpus[first], &jobs[first], end - first);
        if (status != TUTTI_OK)
            return status;
    }
    return TUTTI_OK;
}

static int fetch_post(struct tutti_team *team, struct tutti_move *move, uint16_t first[])
{
    struct tutti_rndv *last[TUTTI_MAX_RANKS] = {NULL};
    const int n = move->sends;
    struct tutti_pack_job *jobs = calloc((size_t)n + 1, sizeof *jobs + sizeof(int));
    int *gpus = jobs ? (int *)(void *)(jobs + n + 1) : NULL; /* behind them */
    unsigned used = 0;
    int fine = jobs != NULL;
    for (int r = 0; r < team->size; r++)
        first[r] = TUTTI_RNDVS;
    for (int i = 0; i < n && fine; i++) {
        struct tutti_p2p_send *const sent = &move->posted[i];
        const int rank = move->send[i].rank;
        if (!(fine = tutti_block_post(move, i, tutti_team_peer(team, rank), sent, &jobs[used])))
            break;
        gpus[used] = sent->gpu;
        used += jobs[used].bytes > 0;
        const uint16_t number = (uint16_t)tutti_endpoint_number(move->worker->endpoint, sent->rndv);
        if (last[rank])
            last[rank]->next = number;
        else
            first[rank] = number;
        last[rank] = sent->rndv;
    }
    if (fine && used)
        fine = pack_by_gpu(gpus, jobs, used) == TUTTI_OK;
    free(jobs);
    return fine;
}

int tutti_blocks_post(struct tutti_team *team, struct tutti_move *move, uint16_t first[])
{
    move->posted = malloc(((size_t)move->sends + 1) * sizeof *move->posted +
                          ((size_t)move->receives + 1) * sizeof(struct tutti_p2p_recv));
    if (!move->posted)
        return TUTTI_NO(MEMORY);
    for (int i = 0; i < move->sends; i++)
        move->posted[i].rndv = NULL;
    if (fetch_post(team, move, first))
        return 1;
    tutti_blocks_unpost(move);
    return 0;
}

void tutti_blocks_unpost(struct tutti_move *move)
{
    for (int i = 0; i < move->sends && move->posted; i++)
        tutti_block_withdraw(move, &move->posted[i]);
    free(move->posted);
    move->posted = NULL;
}

/* ---- receiving ---- */

/* Finds the rendezvous of each block. `recv` has room for all. */
static void fetch_find(const struct tutti_team *team, struct tutti_move *move, struct tutti_p2p_recv *recv)
{
    uint32_t next[TUTTI_MAX_RANKS];
    for (int r = 0; r < team->size; r++)
        next[r] = tutti_team_rndvs(team, r)[team->rank];
    for (int i = 0; i < move->receives; i++) {
        uint32_t *number = &next[move->receive[i].rank];
        const int peer = tutti_team_peer(team, move->receive[i].rank);
        struct tutti_rndv *rndv =
            *number < TUTTI_RNDVS ? tutti_endpoint_at(move->worker->endpoint, peer, (int)*number) : NULL;
        const uint32_t after = rndv ? rndv->next : TUTTI_RNDVS; /* an empty one may be used again */
        tutti_block_expect(move, i, peer, rndv, *number, &recv[i]);
        *number = after;
    }
}

/* The first block from a rank behind this one: where copies follow each other, ranks begin with different peers. */
static int fetch_first(const struct tutti_team *team, const struct tutti_move *move)
{
    int first = 0;
    while (first < move->receives && move->receive[first].rank <= team->rank)
        first++;
    return first;
}

/* ---- the call ---- */

/* Agrees that all ranks have posted; does so, if this one has not. */
static int fetch_agree(struct tutti_team *team, struct tutti_move *move, int *fits)
{
    const int posted = move->posted || tutti_blocks_post(team, move, tutti_team_rndvs(team, team->rank));
    uint32_t fine = posted ? TUTTI_REASONS : (uint32_t)tutti_why_take(TUTTI_REASON_MANY);
    const int status = tutti_team_vote(team, fine, &fine);
    *fits = status == TUTTI_OK && fine == TUTTI_REASONS;
    if (*fits)
        return status;
    tutti_why_set(fine < TUTTI_REASONS ? (enum tutti_reason)fine : TUTTI_REASON_OTHER);
    tutti_blocks_unpost(move);
    return status;
}

static int move_fetch_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    struct tutti_move *move = call->move;
    int status = TUTTI_OK;
    *fits = 1;
    if (!move->all_posted)
        status = fetch_agree(team, move, fits);
    if (!*fits)
        return status;
    struct tutti_p2p_recv *const recv = (struct tutti_p2p_recv *)(void *)(move->posted + move->sends + 1);
    for (int i = 0; i < move->sends; i++)
        tutti_p2p_list(move->worker, &move->posted[i]);
    fetch_find(team, move, recv);
    tutti_blocks_fetch(move, recv, fetch_first(team, move));
    tutti_blocks_await(move, move->posted);
    free(move->posted);
    move->posted = NULL;
    return status;
}

const struct tutti_algorithm tutti_move_fetch = {
    .name = "fetch",
    .collectives = TUTTI_ON_MOVES,
    .posts = 1,
    .last_resort = 1,
    .can = fetch_can,
    .run = move_fetch_run,
    .how = "fetched from each other",
};
