/* Rendezvous of collectives, which need no matching. */
#include <stdint.h>

#include "core/clock.h"
#include "mpi/message/rndv_send.h"

/* The block stays in the program's buffer, or is in scratch when `job` has run. The receiver fetches at once, and
 * asks if it cannot reach the memory. */
static const struct tutti_protocol_row *post_block(struct tutti_send_request *sent, const char *lowest,
                                                   struct tutti_seen *seen, struct tutti_pack_job *job)
{
    sent->core.agreed = 1;
    sent->core.lowest = lowest;
    sent->core.memo = &seen->memo;
    return tutti_p2p_choose(&tutti_p2p, &sent->core, &tutti_rules_of_messages, job);
}

struct tutti_send_request *tutti_send_block(const struct tutti_message *message, int peer,
                                            const struct tutti_layout *layout, struct tutti_seen *seen,
                                            struct tutti_pack_job *job)
{
    struct tutti_send_request *sent = tutti_send_new(message);
    *job = (struct tutti_pack_job){.bytes = 0};
    if (!sent)
        return NULL;
    sent->core.bytes = layout ? (uint64_t)message->count * layout->plan->size : 0;
    sent->core.gpu = TUTTI_NO_GPU;
    sent->core.since = tutti_now_ns();
    const char *lowest = NULL;
    if (layout) {
        sent->core.elements = tutti_message_elements(message->buffer, message->count, layout);
        tutti_plan_hold(layout->plan);
    }
    const int place = sent->core.bytes > 0 ? tutti_send_place(sent, seen, &lowest) : TUTTI_PLACE_ONE;
    if (place != TUTTI_PLACE_NONE)
        sent->core.rndv = tutti_endpoint_rndv(tutti_endpoint, peer, sent->core.gpu);
    if (!sent->core.rndv) {
        tutti_send_destroy(sent);
        return NULL;
    }
    sent->core.rndv->tag = INT32_MIN; /* no message: probes do not see it */
    sent->core.rndv->next = TUTTI_RNDVS;
    sent->core.rndv->bytes = sent->core.bytes;
    if (sent->core.bytes == 0)
        tutti_rndv_move(sent->core.rndv, TUTTI_RNDV_FREE, TUTTI_RNDV_BOUNCE);
    else
        sent->row = post_block(sent, place == TUTTI_PLACE_ONE ? lowest : NULL, seen, job);
    if (sent->core.bytes == 0 || sent->row)
        return sent;
    tutti_send_withdraw(sent);
    return NULL;
}

void tutti_send_withdraw(struct tutti_send_request *sent)
{
    tutti_endpoint_withdraw(tutti_endpoint, sent->core.rndv);
    tutti_send_destroy(sent);
}
