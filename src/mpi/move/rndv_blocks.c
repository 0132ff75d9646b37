/* Rendezvous of collectives: what is sent, where nobody has to match it. */
#include <stdint.h>
#include <stdlib.h>

#include "core/clock.h"
#include "mpi/message/rndv_send.h"

/* 1 where it is shown: in the program's buffer, or in scratch when `job` has run. */
static int show(struct tutti_send_request *sent, const struct tutti_layout *layout, struct tutti_seen *seen,
                struct tutti_pack_job *job)
{
    struct tutti_rndv *rndv = sent->core.rndv;
    const char *lowest;
    int from = 0;
    enum tutti_protocol way = tutti_rules_message(sent->core.bytes, &from);
    int offered = tutti_send_place(sent, seen, &lowest) && tutti_send_describe(sent, layout, lowest);
    if (offered && (way != TUTTI_PROTOCOL_packed || sent->core.bytes > INT32_MAX)) {
        tutti_endpoint_share(tutti_endpoint, rndv, lowest, &seen->memo);
        if (rndv->share.shared) {
            tutti_rndv_set(rndv, TUTTI_RNDV_GET);
            return 1;
        }
    }
    void *scratch = tutti_endpoint_scratch(tutti_endpoint, rndv, sent->core.bytes);
    rndv->share.shared = 0;
    if (scratch) {
        *job = tutti_rendezvous_packing(&sent->core, scratch);
        tutti_rndv_set(rndv, TUTTI_RNDV_BOUNCE);
        return 1;
    }
    if (offered)
        tutti_endpoint_share(tutti_endpoint, rndv, lowest, &seen->memo);
    if (!rndv->share.shared)
        return 0;
    tutti_rndv_set(rndv, TUTTI_RNDV_GET);
    return 1;
}

struct tutti_send_request *tutti_send_block(const struct tutti_message *message, int peer,
                                            const struct tutti_layout *layout, struct tutti_seen *seen,
                                            struct tutti_pack_job *job)
{
    struct tutti_send_request *sent = calloc(1, sizeof *sent);
    *job = (struct tutti_pack_job){.bytes = 0};
    if (!sent)
        return NULL;
    *sent = (struct tutti_send_request){.message = *message,
                                        .core = {.bytes = layout ? (uint64_t)message->count * layout->plan->size : 0,
                                                 .since = tutti_now_ns(),
                                                 .rndv = tutti_endpoint_rndv(tutti_endpoint, peer)},
                                        .rts = tutti_handles.no_request,
                                        .tag = -1};
    if (layout)
        sent->core.elements = tutti_send_elements(message, layout);
    if (!sent->core.rndv) {
        tutti_send_destroy(sent);
        return NULL;
    }
    sent->core.rndv->tag = INT32_MIN; /* no message's: probes do not see it */
    sent->core.rndv->next = TUTTI_RNDVS;
    sent->core.rndv->bytes = sent->core.bytes;
    if (sent->core.bytes == 0)
        tutti_rndv_set(sent->core.rndv, TUTTI_RNDV_BOUNCE);
    else if (!show(sent, layout, seen, job)) {
        tutti_send_withdraw(sent);
        return NULL;
    }
    return sent;
}

void tutti_send_withdraw(struct tutti_send_request *sent)
{
    tutti_endpoint_withdraw(tutti_endpoint, sent->core.rndv);
    tutti_send_destroy(sent);
}
