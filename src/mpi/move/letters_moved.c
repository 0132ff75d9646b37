/* Letters of collectives: what is sent, where nobody has to match it. */
#include <stdint.h>
#include <stdlib.h>

#include "core/clock.h"
#include "mpi/message/sent.h"

/* 1 where it is shown: in the program's buffer, or in scratch when `job` has run. */
static int show(struct tutti_sent *sent, const struct tutti_layout *layout, struct tutti_seen *seen,
                struct tutti_pack_job *job)
{
    struct tutti_letter *letter = sent->core.letter;
    const char *lowest;
    int from = 0;
    enum tutti_protocol way = tutti_rules_message(sent->core.bytes, &from);
    int offered = tutti_sent_place(sent, seen, &lowest) && tutti_sent_describe(sent, layout, lowest);
    if (offered && (way != TUTTI_PROTOCOL_packed || sent->core.bytes > INT32_MAX)) {
        tutti_lane_share(tutti_lane, letter, lowest, &seen->memo);
        if (letter->share.shared) {
            tutti_letter_set(letter, TUTTI_LETTER_OFFERED);
            return 1;
        }
    }
    void *scratch = tutti_lane_scratch(tutti_lane, letter, sent->core.bytes);
    letter->share.shared = 0;
    if (scratch) {
        *job = tutti_rendezvous_packing(&sent->core, scratch);
        tutti_letter_set(letter, TUTTI_LETTER_PACKED);
        return 1;
    }
    if (offered)
        tutti_lane_share(tutti_lane, letter, lowest, &seen->memo);
    if (!letter->share.shared)
        return 0;
    tutti_letter_set(letter, TUTTI_LETTER_OFFERED);
    return 1;
}

struct tutti_sent *tutti_sent_parcel(const struct tutti_message *message, int peer, const struct tutti_layout *layout,
                                     struct tutti_seen *seen, struct tutti_pack_job *job)
{
    struct tutti_sent *sent = calloc(1, sizeof *sent);
    *job = (struct tutti_pack_job){.bytes = 0};
    if (!sent)
        return NULL;
    *sent = (struct tutti_sent){.message = *message,
                                .core = {.bytes = layout ? (uint64_t)message->count * layout->plan->size : 0,
                                         .since = tutti_now_ns(),
                                         .letter = tutti_lane_letter(tutti_lane, peer)},
                                .mail = tutti_handles.no_request,
                                .tag = -1};
    if (layout)
        sent->core.elements = tutti_sent_elements(message, layout);
    if (!sent->core.letter) {
        tutti_sent_destroy(sent);
        return NULL;
    }
    sent->core.letter->tag = INT32_MIN; /* no message's: probes do not see it */
    sent->core.letter->next = TUTTI_LETTERS;
    sent->core.letter->bytes = sent->core.bytes;
    if (sent->core.bytes == 0)
        tutti_letter_set(sent->core.letter, TUTTI_LETTER_PACKED);
    else if (!show(sent, layout, seen, job)) {
        tutti_sent_withdraw(sent);
        return NULL;
    }
    return sent;
}

void tutti_sent_withdraw(struct tutti_sent *sent)
{
    tutti_lane_withdraw(tutti_lane, sent->core.letter);
    tutti_sent_destroy(sent);
}
