/* Messages like the one before: as long, from the same allocation, as in windows of messages. The protocol that was
 * chosen for the one before, by which the receiver reads the mapped allocation, is taken without asking the rules and
 * the account again, if the peer keeps the allocation mapped. The lease of the peer answers that, so one that was never
 * chosen for is no case of its own. */
#include "p2p/again.h"

#include "core/trace.h"
#include "p2p/own.h"
#include "rules/rules.h"

enum { PEERS = 4 };

/* Of the thread: the last message by a protocol that repeats, from an allocation that its peer keeps mapped. Peers that
 * get messages of different lengths have places of their own, as far as there are places. */
static _Thread_local struct like {
    const struct tutti_endpoint *endpoint; /* NULL: none */
    const struct tutti_protocol_row *row;
    uint64_t bytes, allocation;
    int rules;
} last[PEERS];

void tutti_p2p_again_learn(const struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send, int peer,
                           const struct tutti_protocol_row *row)
{
    struct like *const like = &last[peer % PEERS];
    if (!row->ops->repeats || send->shown != TUTTI_SHOWN_KNOWN || !send->allocation || !send->lowest ||
        !send->elements.whole || send->now || send->agreed || send->memo || tutti_p2p_is_self(worker, peer))
        return;
    *like = (struct like){.endpoint = worker->endpoint,
                          .row = row,
                          .bytes = send->bytes,
                          .allocation = send->allocation,
                          .rules = tutti_rules_in_force()};
}

int tutti_p2p_is_like(const struct tutti_p2p_worker *worker, int peer, uint64_t bytes, uint64_t allocation)
{
    const struct like *const like = &last[peer % PEERS];
    return like->endpoint == worker->endpoint && like->endpoint && like->bytes == bytes &&
           like->allocation == allocation && like->rules == tutti_rules_in_force();
}

const struct tutti_protocol_row *tutti_p2p_again(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, int peer,
                                                 int tag, int short_rts)
{
    const struct like *const like = &last[peer % PEERS];
    if (send->now)
        return NULL;
    struct tutti_rndv *const rndv = tutti_endpoint_rndv_like(worker->endpoint, peer, send->gpu, send->allocation,
                                                             send->lowest, send->bytes, short_rts);
    if (!rndv)
        return NULL;
    rndv->tag = tag;
    rndv->bytes = send->bytes;
    send->rndv = rndv;
    TUTTI_RNDV_SET(rndv->ended, 0);
    TUTTI_RNDV_SET(rndv->posted, tutti_trace_stamp());
    tutti_rndv_move(rndv, TUTTI_RNDV_FREE, TUTTI_RNDV_GET);
    return like->row;
}
