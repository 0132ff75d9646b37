/* Protocol `direct`: a rendezvous get. The message stays in the sender's buffer, and the receiver's kernel fetches
 * it from there, in the sender's layout. If the receiver has mapped the allocation, it fetches at once. Otherwise
 * the message is offered: the receiver has the allocation mapped on a thread beside, if it can, and asks for the
 * message to be carried meanwhile; or it asks for the message to be packed. */
#include "core/clock.h"
#include "dtype/wire.h"
#include "p2p/own.h"

/* Time in which the receiver may fetch: about that of a packing kernel, and a nanosecond more for so many bytes. The
 * time starts again when the receiver fetches another message, GRACES times at most: a busy receiver will reach this
 * message, and packing it would only take scratch. */
enum { GRACE_NS = 20000, GRACE_BYTES = 100, GRACES = 64 };

/* Besides, where the two ranks take turns on the GPU: packing would wait for one, and the receiver comes later by some.
 */
enum { GRACE_TURNS_NS = 400000 };

/* ---- sender ---- */

/* 1 if the receiver's kernels can read the message in place; the rendezvous describes how. */
static int describe(struct tutti_p2p_send *send)
{
    const struct tutti_elements *elements = &send->elements;
    struct tutti_rndv *rndv = send->rndv;
    rndv->count = (uint64_t)elements->count;
    rndv->lowest = send->lowest - (const char *)elements->buffer;
    rndv->layout_bytes = 0;
    if (elements->whole)
        return 1;
    rndv->layout_bytes = (uint32_t)tutti_plan_write(elements->plan, rndv->layout, sizeof rndv->layout);
    return rndv->layout_bytes > 0;
}

/* Names the allocation. */
static void direct_name(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    const int known = tutti_endpoint_share(worker->endpoint, send->rndv, send->lowest, send->allocation, send->memo);
    send->shown = known ? TUTTI_SHOWN_KNOWN : send->rndv->share.shared ? TUTTI_SHOWN : TUTTI_SHOWN_NOT;
}

/* A message that the MPI is to have, or that is packed, needs no name before mapping pays: then the receiver maps the
 * allocation. */
void tutti_direct_show(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    struct tutti_rndv *rndv = send->rndv;
    send->shown = TUTTI_SHOWN_NOT;
    if (!send->lowest || !describe(send)) {
        TUTTI_RNDV_SET(rndv->share.shared, 0);
        return;
    }
    if (!send->agreed &&
        tutti_endpoint_share_later(worker->endpoint, rndv, send->lowest, send->allocation, send->extent))
        send->shown = TUTTI_SHOWN_BY_ID;
    else
        direct_name(worker, send);
    if ((send->shown != TUTTI_SHOWN && send->shown != TUTTI_SHOWN_BY_ID) || send->agreed)
        return;
    tutti_endpoint_account(worker->endpoint, rndv, &send->asked.verdict);
    if (send->shown == TUTTI_SHOWN_BY_ID && atomic_load_explicit(&rndv->pays, memory_order_relaxed))
        direct_name(worker, send);
}

int tutti_rndv_reaches(struct tutti_p2p_worker *worker, int peer, int gpu)
{
    const struct tutti_endpoint *const endpoint = worker->endpoint;
    if (!tutti_endpoint_is_open(endpoint, peer))
        return TUTTI_NO(GPU_LATE);
    return tutti_endpoint_mapped(endpoint, peer, gpu) != TUTTI_MAPS_CANNOT ? 1 : TUTTI_NO(SCRATCH_UNREACHED);
}

/* The answer that direct_cost() and the row `packed` would give, without a rendezvous. */
static int p2p_direct_leaves(struct tutti_p2p_worker *worker, int peer, const struct tutti_memory *memory,
                             uint64_t bytes, struct tutti_p2p_asked *asked)
{
    return tutti_endpoint_leaves_now(worker->endpoint, peer, memory->gpu, memory->id, memory->bytes, bytes,
                                     &asked->verdict) &&
           !TUTTI_NO(UNMAPPED);
}

static int p2p_direct_can(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    tutti_direct_show(worker, send);
    return send->shown != TUTTI_SHOWN_NOT ? 1 : TUTTI_NO(UNSHARED);
}

int tutti_direct_leaves(const struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send)
{
    return (send->shown == TUTTI_SHOWN || send->shown == TUTTI_SHOWN_BY_ID) &&
           tutti_endpoint_leaves(worker->endpoint, send->rndv);
}

static enum tutti_protocol_cost direct_cost(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    if (send->now || tutti_direct_leaves(worker, send))
        return TUTTI_COST_NEVER;
    return send->shown == TUTTI_SHOWN_KNOWN ? TUTTI_COST_READY : TUTTI_COST_MAP;
}

/* A peer maps the first allocation that it gets instead of the scratch. So the first message needs one mapping, and
 * neither scratch nor packing. */
static int direct_post(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_pack_job *job)
{
    (void)job;
    if (send->shown == TUTTI_SHOWN_BY_ID)
        direct_name(worker, send);
    if (send->agreed)
        tutti_endpoint_offer(worker->endpoint, send->gpu);
    else if (send->shown == TUTTI_SHOWN_NOT ||
             (send->shown == TUTTI_SHOWN && tutti_endpoint_needs_scratch(worker->endpoint, send->rndv)))
        tutti_endpoint_offer_soon(worker->endpoint, send->gpu);
    tutti_rndv_move(send->rndv, TUTTI_RNDV_FREE, TUTTI_RNDV_GET);
    return 1;
}

/* 1 if this rank itself was busy for so long that it cannot know whether its receiver is at work, as behind long
 * copies into its own memory: the receiver's time starts again, once. */
static int direct_spares(const struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, uint64_t grace,
                         uint64_t now)
{
    if (send->spared || worker->away <= grace)
        return 0;
    send->spared = 1;
    send->since = now;
    return 1;
}

/* The offer was not fetched in time. */
static void direct_poll(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_p2p_batch *batch,
                        uint64_t now)
{
    const uint64_t waited = now - send->since, grace = GRACE_NS + send->extra_grace + send->bytes / GRACE_BYTES;
    const uint64_t fetched = tutti_endpoint_fetched(worker->endpoint, (int)send->rndv->to);
    const int at_work = fetched != 0 && now - fetched <= grace && waited <= GRACES * grace;
    const int late = waited > grace && !at_work &&
                     (waited > grace + GRACE_TURNS_NS ||
                      !tutti_endpoint_takes_turns(worker->endpoint, (int)send->rndv->to, send->gpu));
    if (tutti_send_asked(send) != TUTTI_MUST_NOT || (late && !direct_spares(worker, send, grace, now)))
        tutti_packed_urge(worker, send, batch, waited);
}

void tutti_rndv_cancel(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    tutti_endpoint_withdraw(worker->endpoint, send->rndv);
    send->rndv = NULL;
}

/* ---- receiver ---- */

/* The sender's memory is not mapped. */
static void direct_meets(struct tutti_p2p_recv *recv)
{
    if (recv->met == 0)
        recv->met = tutti_now_ns();
}

static void direct_wait(struct tutti_p2p_fetch *f)
{
    struct tutti_p2p_recv *recv = f->recv;
    direct_meets(recv);
    tutti_endpoint_meanwhile(f->worker->endpoint, recv->rts.rank, f->rndv, recv->bytes, recv->met);
}

static int direct_fetch(struct tutti_p2p_fetch *f, struct tutti_pack_job *job)
{
    struct tutti_p2p_recv *recv = f->recv;
    const int peer = recv->rts.rank;
    char *data = NULL;
    tutti_fetch_gpus(f);
    if (tutti_put_ask(f))
        return 0;
    enum tutti_reaching there = TUTTI_REACH_NOT;
    if (f->like && f->n > 0 && !recv->demanded &&
        tutti_endpoint_reach_like(f->worker->endpoint, peer, f->rndv, f->gpu = f->gpus[0], recv->bytes, f->like, &data,
                                  &f->held))
        there = TUTTI_REACHED;
    const int unanswered = recv->met != 0 && tutti_endpoint_unanswered(f->worker->endpoint, f->rndv, recv->met);
    for (int i = 0; i < f->n && there == TUTTI_REACH_NOT && (!recv->demanded || unanswered); i++) {
        there = tutti_endpoint_reach(f->worker->endpoint, peer, f->rndv, f->gpu = f->gpus[i], recv->bytes, unanswered,
                                     &data, &f->held);
    }
    if (there == TUTTI_REACH_NOT) {
        recv->demanded = 1;
        direct_meets(recv);
        if (!tutti_endpoint_demand(f->worker->endpoint, peer, f->rndv, f->gpus, f->n))
            there = TUTTI_REACH_LATER;
    }
    if (there == TUTTI_REACH_LATER)
        direct_wait(f);
    if (there != TUTTI_REACHED || !tutti_rndv_win(f->rndv, TUTTI_RNDV_GETTING)) {
        tutti_fetch_release(f);
        return 0;
    }
    f->state = TUTTI_RNDV_GETTING;
    struct tutti_elements theirs = {.plan = NULL};
    int status = f->rndv->layout_bytes > 0
                     ? tutti_endpoint_elements(f->worker->endpoint, peer, f->rndv, f->held, data, recv->bytes, &theirs)
                     : TUTTI_OK;
    f->from = theirs.plan;
    if (status == TUTTI_OK)
        status = tutti_fetch_move(f, &theirs, data, 0, recv->bytes, job);
    f->engines = status == 1 && tutti_engines_take(f);
    if (status == 1)
        return 1;
    tutti_fetch_end(f, status);
    return -1;
}

const struct tutti_protocol_ops tutti_direct_ops = {.reaches = tutti_rndv_reaches,
                                                    .leaves = p2p_direct_leaves,
                                                    .can = p2p_direct_can,
                                                    .cost = direct_cost,
                                                    .post = direct_post,
                                                    .poll = direct_poll,
                                                    .cancel = tutti_rndv_cancel,
                                                    .fetch = direct_fetch,
                                                    .drop = tutti_fetch_drop,
                                                    .repeats = 1,
                                                    .instead = TUTTI_PROTOCOL_packed};
