/* Protocol `engines`: a rendezvous get as `direct`, of a message that is one run of bytes on both sides. Copy engines
 * of the receiver's GPU fetch it: they move large messages faster than kernels do, and take no multiprocessors. A
 * receiver that cannot use them fetches the message as `direct` does. */
#include "p2p/own.h"

/* ---- sender ---- */

/* An agreed message goes by this row though it has gaps: its buffer is shown, and the receiver fetches it as `direct`
 * does. Other messages with gaps are not shown here: the next row does it, and takes the lease. */
static int engines_can(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    if (!send->elements.whole && !send->agreed)
        return 0;
    return tutti_direct_ops.can(worker, send) && send->elements.whole;
}

static enum tutti_protocol_cost engines_cost(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    return tutti_direct_ops.cost(worker, send);
}

static int engines_post(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_pack_job *job)
{
    send->rndv->engines = 1;
    return tutti_direct_ops.post(worker, send, job);
}

const struct tutti_protocol_ops tutti_engines_ops = {.reaches = tutti_rndv_reaches,
                                                     .can = engines_can,
                                                     .cost = engines_cost,
                                                     .post = engines_post,
                                                     .cancel = tutti_rndv_cancel,
                                                     .instead = TUTTI_PROTOCOL_packed};

/* ---- receiver ---- */

int tutti_engines_take(const struct tutti_p2p_fetch *f)
{
    return __atomic_load_n(&f->rndv->engines, __ATOMIC_RELAXED) == 1 && !f->from && f->recv->elements.whole &&
           tutti_fetch_is_near(f);
}
