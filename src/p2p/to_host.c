/* Short messages that their receiver takes into memory of the host. A kernel of the receiver stores them there, which
 * takes longer than a copy out of the sender's GPU whose end the sender sees by the data (two H200, 8 bytes: 10.4 and
 * 6.1 us). Once the receiver has fetched some such messages in a row, the sender leaves the next ones to the MPI.
 *
 * Rules of the section `message_to_host` say for which messages. */
#include <stdatomic.h>

#include "p2p/own.h"
#include "rules/rules.h"

enum { DIRECT, STAGED }; /* in the order of the names */
TUTTI_RULES_SECTION(to_host_rules, "message_to_host", .what = "way of messages into memory of the host",
                    .known = "direct staged")

/* 1 if the rules stage a message of so many bytes. */
static int to_host_rule(uint64_t bytes)
{
    static _Thread_local struct tutti_rules_last last;
    return tutti_rules_first(to_host_rules.first, bytes, &last) == STAGED;
}

int tutti_p2p_goes_to_host(struct tutti_p2p_worker *worker, int peer, uint64_t bytes)
{
    return to_host_rule(bytes) && tutti_endpoint_goes_to_host(worker->endpoint, peer);
}

void tutti_to_host_note(const struct tutti_p2p_fetch *f)
{
    const struct tutti_p2p_recv *const recv = f->recv;
    const struct tutti_places *const places = &recv->elements.places; /* managed memory is no memory of the host */
    if (recv->elements.plan && to_host_rule(recv->bytes) && !tutti_p2p_is_self(f->worker, recv->rts.rank))
        tutti_endpoint_note_to_host(f->worker->endpoint, recv->rts.rank, !places->device && places->gpu < 0);
}
