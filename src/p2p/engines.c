/* Protocols `engines` and `both`.
 *
 * `engines`: a rendezvous get as `direct`, of a message that is one run of bytes on both sides. Copy engines
 * of the receiver's GPU fetch it: they move large messages faster than kernels do, and take no multiprocessors. A
 * receiver that cannot use them fetches the message as `direct` does. `both`: the same of the first half of a large
 * message, while a kernel fetches the other one. */
#include "p2p/own.h"

/* ---- sender ---- */

/* An agreed message goes by this row though it has gaps: its buffer is shown, and the receiver fetches it as `direct`
 * does. Other messages with gaps are not shown here: the next row does it, and takes the lease. */
static int p2p_engines_can(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
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
    send->rndv->engines = TUTTI_ENGINES_ALL;
    return tutti_direct_ops.post(worker, send, job);
}

static int both_post(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_pack_job *job)
{
    send->rndv->engines = TUTTI_ENGINES_HALF;
    return tutti_direct_ops.post(worker, send, job);
}

const struct tutti_protocol_ops tutti_engines_ops = {.reaches = tutti_rndv_reaches,
                                                     .can = p2p_engines_can,
                                                     .cost = engines_cost,
                                                     .post = engines_post,
                                                     .cancel = tutti_rndv_cancel,
                                                     .instead = TUTTI_PROTOCOL_packed};
const struct tutti_protocol_ops tutti_both_ops = {.reaches = tutti_rndv_reaches,
                                                  .can = p2p_engines_can,
                                                  .cost = engines_cost,
                                                  .post = both_post,
                                                  .cancel = tutti_rndv_cancel,
                                                  .instead = TUTTI_PROTOCOL_packed};

/* ---- receiver ---- */

enum tutti_engines tutti_engines_take(const struct tutti_p2p_fetch *f)
{
    const uint32_t asked = __atomic_load_n(&f->rndv->engines, __ATOMIC_RELAXED);
    if (asked > TUTTI_ENGINES_HALF || f->from || !f->recv->elements.whole || !tutti_fetch_is_near(f))
        return TUTTI_ENGINES_NOT;
    return (enum tutti_engines)asked;
}

enum { CUT = 4096, HALVED_LEAST = 256 << 10 /* bytes: less is done by a kernel before an engine begins */ };

/* Leaves the second half of the job in *job, and the first one in *first. */
static void cut_job(struct tutti_pack_job *job, struct tutti_pack_job *first)
{
    const uint64_t bytes = job->bytes < HALVED_LEAST ? 0 : job->bytes / 2 / CUT * CUT;
    *first = *job;
    first->bytes = bytes;
    job->first += bytes;
    job->bytes -= bytes;
    job->packed = (char *)job->packed + (job->packed ? bytes : 0);
}

int tutti_engines_both(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make, unsigned how)
{
    struct tutti_pack_job first[TUTTI_BATCH], second[TUTTI_BATCH];
    struct tutti_pack_flight flight;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < n; i++) {
        second[i] = jobs[i];
        cut_job(&second[i], &first[i]);
        bytes += first[i].bytes;
    }
    if (bytes == 0)
        return TUTTI_ERR_UNAVAILABLE;
    int status = tutti_pack_begin(gpu, second, n, how, &flight);
    if (status != TUTTI_OK)
        return status;
    status = tutti_pack_copies(gpu, first, n, may_make);
    if (status == TUTTI_ERR_UNAVAILABLE)
        status = tutti_pack_reached(gpu, first, n, how);
    const int ended = tutti_pack_end(&flight);
    return status == TUTTI_OK ? ended : status;
}
