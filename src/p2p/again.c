/* Messages like the one before: as long, to the same peer, from the same allocation, as in windows of messages. The
 * protocol that was chosen for the one before, by which the receiver reads the mapped allocation, is taken without
 * asking the rules and the account again, if the peer still keeps the allocation mapped. */
#include "p2p/again.h"

#include "core/trace.h"
#include "p2p/own.h"
#include "rules/rules.h"

enum { PEERS = 4 };

/* Of the thread, by peer: the last message by a protocol that repeats, from an allocation that the peer keeps mapped.
 */
static _Thread_local struct like {
    const struct tutti_endpoint *endpoint; /* NULL: none */
    const struct tutti_protocol_row *row;
    uint64_t bytes, allocation;
    int peer, gpu, rules;
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
                          .peer = peer,
                          .gpu = send->gpu,
                          .rules = tutti_rules_in_force()};
}

int tutti_p2p_is_like(const struct tutti_p2p_worker *worker, int peer, uint64_t bytes, uint64_t allocation)
{
    const struct like *const like = &last[peer % PEERS];
    return like->endpoint == worker->endpoint && like->endpoint && like->peer == peer && like->bytes == bytes &&
           like->allocation == allocation && like->rules == tutti_rules_in_force();
}

const struct tutti_protocol_row *tutti_p2p_again(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, int peer,
                                                 int tag, int short_rts)
{
    const struct like *const like = &last[peer % PEERS];
    if (send->now || like->gpu != send->gpu || (send->verdict.single && tutti_direct_may_wait_for_turn(send->bytes)))
        return NULL;
    struct tutti_rndv *const rndv = tutti_endpoint_rndv_like(worker->endpoint, peer, send->gpu, send->allocation,
                                                             send->lowest, send->bytes, short_rts);
    if (!rndv)
        return NULL;
    rndv->tag = tag;
    rndv->bytes = send->bytes;
    rndv->count = (uint64_t)send->elements.count;
    rndv->lowest = send->lowest - (const char *)send->elements.buffer;
    send->rndv = rndv;
    send->shown = TUTTI_SHOWN_KNOWN;
    TUTTI_RNDV_SET(rndv->ended, 0);
    TUTTI_RNDV_SET(rndv->posted, tutti_trace_stamp());
    tutti_rndv_move(rndv, TUTTI_RNDV_FREE, TUTTI_RNDV_GET);
    return like->row;
}
