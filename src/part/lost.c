/* Rounds that cannot be completed end with an error: a process of the node has died, or the sender gives up. */
#include "core/clock.h"
#include "part/own.h"

/* What needs nothing more of a dead process arrives before. */
static const uint64_t grace_ns = 2000000000;
enum { LOOK_POLLS = 16 }; /* one look in so many polls: short rounds must not pay for it */

int tutti_part_look(struct tutti_part *part)
{
    const struct tutti_p2p_worker *worker = &tutti_part_engine.worker;
    if (part->lost)
        return TUTTI_ERR_PEER;
    if (part->looks++ % LOOK_POLLS != 0 || !worker->endpoint || part->args.peer < 0)
        return TUTTI_OK;
    const int rank = tutti_node_find(worker->node, part->args.peer);
    if (rank < 0 || rank == tutti_node_rank(worker->node) ||
        tutti_endpoint_watch(worker->endpoint, rank) != TUTTI_ERR_PEER)
        return TUTTI_OK;
    const uint64_t now = tutti_now_ns();
    if (part->dead_since == 0)
        part->dead_since = now;
    part->lost = now - part->dead_since > grace_ns;
    return part->lost ? TUTTI_ERR_PEER : TUTTI_OK;
}

int tutti_part_must_stay(const struct tutti_part *part)
{
    return part->lost && (part->out > 0 || part->rndvs > 0 || !tutti_part_pieces_idle(&part->pieces));
}

int tutti_part_has_failed(const struct tutti_part *part)
{
    return !atomic_load_explicit(&part->active, memory_order_acquire) && part->status != TUTTI_OK;
}

void tutti_part_give_up(struct tutti_part *part, int status)
{
    pthread_mutex_lock(&tutti_part_engine.lock);
    if (part->args.send && part->status == TUTTI_OK && atomic_load_explicit(&part->active, memory_order_relaxed)) {
        const struct tutti_part_head head = {
            .way = TUTTI_PART_GIVEN_UP, .id = part->id, .round = part->round, .tag = status};
        if (part->args.peer >= 0)
            (void)tutti_part_channel_send(part->args.peer, &head, part);
        tutti_part_fail(part, status);
    }
    pthread_mutex_unlock(&tutti_part_engine.lock);
}
