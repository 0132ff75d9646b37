/* When a send ends whose message the transport carries: all of it is given to the transport, and then the transport has
 * sent it; or no other rank is waited for (struct tutti_p2p_send: local); or the transport may take no parts while the
 * receiver is in a call of its own, and has taken none for a while. */
#include "core/clock.h"
#include "p2p/own.h"
#include "support/check.h"

enum { BYTES = 3000, LATE_NS = 200000000 };

/* part: the transport still has one; late: it has taken none for LATE_NS. */
static void ends(int takes_always, int carried, int part, int local, int late, int expected)
{
    static char at; /* nothing looks into a part */
    const struct tutti_p2p_worker worker = {.takes_always = takes_always};
    const struct tutti_p2p_send send = {.bytes = BYTES,
                                        .carried = (uint64_t)carried,
                                        .parts = part ? (struct tutti_carried *)(void *)&at : NULL,
                                        .local = local,
                                        .carried_at = tutti_now_ns() - (late ? LATE_NS : 0)};
    CHECK(tutti_carried_ops.out(&worker, &send) == expected,
          "%d of %d bytes are carried%s%s%s, the transport takes parts %s: the send is%s over", carried, BYTES,
          part ? ", one part is under way" : "", local ? ", of a send that waits for no rank" : "",
          late ? ", nothing was taken for long" : "", takes_always ? "always" : "in its calls", expected ? " not" : "");
}

int main(void)
{
    for (int which = 0; which < 32; which++) {
        const int always = which & 1, part = which >> 1 & 1, local = which >> 2 & 1, late = which >> 3 & 1;
        const int all = which >> 4;
        ends(always, all ? BYTES : BYTES - 1, part, local, late, all && (!part || local || (!always && late)));
    }
    return check_failed() != 0;
}
