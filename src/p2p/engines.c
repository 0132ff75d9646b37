/* Protocol `engines`: a rendezvous get as `direct`, of a message that is one run of bytes on both sides. Copy engines
 * of the receiver's GPU fetch it: they move large messages faster than kernels do, and take no multiprocessors. A
 * receiver that cannot use them fetches the message as `direct` does. */
#include "core/lives.h"
#include "p2p/own.h"
#include "p2p/turns.h"

/* ---- sender ---- */

/* An agreed message goes by this row though it has gaps: its buffer is shown, and the receiver fetches it as `direct`
 * does. Other messages with gaps are not shown here: the next row does it, and takes the lease. */
int tutti_engines_can(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    if (!send->elements.whole && !send->agreed)
        return 0;
    return tutti_direct_ops.can(worker, send) && send->elements.whole;
}

enum tutti_protocol_cost tutti_engines_cost(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    return tutti_direct_ops.cost(worker, send);
}

static int engines_post(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_pack_job *job)
{
    send->rndv->engines = TUTTI_ENGINES_ALL;
    return tutti_direct_ops.post(worker, send, job);
}

const struct tutti_protocol_ops tutti_engines_ops = {.reaches = tutti_rndv_reaches,
                                                     .can = tutti_engines_can,
                                                     .cost = tutti_engines_cost,
                                                     .post = engines_post,
                                                     .cancel = tutti_rndv_cancel,
                                                     .instead = TUTTI_PROTOCOL_packed};

/* ---- receiver ---- */

/* Of `both`. A kernel would wait for its turn where ranks share the GPU. */
static enum tutti_engines engines_beside_kernel(const struct tutti_p2p_fetch *f)
{
    const int peer = f->recv->rts.rank;
    if (tutti_p2p_is_self(f->worker, peer))
        return TUTTI_ENGINES_NOT;
    return tutti_turns_with(f->worker, peer, f->gpu) || tutti_gpu_takes_turns(f->gpu) ? TUTTI_ENGINES_ALL
                                                                                      : TUTTI_ENGINES_REST;
}

enum tutti_engines tutti_engines_take(const struct tutti_p2p_fetch *f)
{
    const uint32_t asked = __atomic_load_n(&f->rndv->engines, __ATOMIC_RELAXED);
    if (asked > TUTTI_ENGINES_REST || f->from || !f->recv->elements.whole || !tutti_fetch_is_near(f))
        return TUTTI_ENGINES_NOT;
    return asked == TUTTI_ENGINES_REST ? engines_beside_kernel(f) : (enum tutti_engines)asked;
}
