/* Protocol `landed`: the sender's GPU copies a short message into host memory that both processes map
 * (team/endpoint: endpoint_landing.c), and the sender does not wait for it. The receiver takes it from there. It needs
 * no memory of a GPU to be mapped, so the default rules name it behind `direct`: it takes messages that the MPI would
 * carry otherwise. */
#include <string.h>

#include "bounce/bounce.h"
#include "p2p/own.h"

/* A kernel takes 5 us, with four ranks under MPS up to 15, behind the one before it (H200). */
enum { LATE_NS = 25000 };

/* ---- sender ---- */

/* One question for each message: a second one would count its own rendezvous among the open ones. */
static int landed_lands(struct tutti_p2p_worker *worker, int peer, int gpu, struct tutti_p2p_asked *asked)
{
    if (!asked->lands)
        asked->lands = asked->verdict.unwaited && tutti_endpoint_lands_now(worker->endpoint, peer, gpu);
    return asked->lands;
}

static int landed_leaves(struct tutti_p2p_worker *worker, int peer, const struct tutti_memory *memory, uint64_t bytes,
                         struct tutti_p2p_asked *asked)
{
    (void)bytes;
    return asked->verdict.unwaited && !landed_lands(worker, peer, memory->gpu, asked);
}

static int landed_can(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    return landed_lands(worker, (int)send->rndv->to, send->gpu, &send->asked);
}

static enum tutti_protocol_cost landed_cost(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    (void)worker;
    return send->asked.lands ? TUTTI_COST_READY : TUTTI_COST_NEVER;
}

static int landed_post(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_pack_job *job)
{
    (void)job;
    return tutti_endpoint_land(worker->endpoint, send->rndv, send->lowest, send->bytes) == TUTTI_OK &&
           tutti_rndv_move(send->rndv, TUTTI_RNDV_FREE, TUTTI_RNDV_LANDING);
}

static void landed_poll(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_p2p_batch *batch,
                        uint64_t now)
{
    (void)batch;
    if (tutti_endpoint_landed(worker->endpoint, send->rndv)) {
        worker->landed = now;
        return;
    }
    if (now - (send->since > worker->landed ? send->since : worker->landed) <= LATE_NS)
        return;
    tutti_endpoint_landing_late(worker->endpoint, send->rndv);
    if (worker->watches && send->failed == TUTTI_OK)
        send->failed = tutti_endpoint_landing_status(worker->endpoint, send->rndv);
}

static int landed_out(const struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send)
{
    return tutti_endpoint_landed(worker->endpoint, send->rndv);
}

static void landed_cancel(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    tutti_endpoint_landing_await(worker->endpoint, send->rndv);
    tutti_rndv_cancel(worker, send);
}

/* ---- receiver ---- */

/* From where it has landed into the buffer. 1: *job must be run; otherwise a status. */
static int landed_store(struct tutti_p2p_fetch *f, char *data, struct tutti_pack_job *job)
{
    struct tutti_p2p_recv *const recv = f->recv;
    if (!recv->elements.plan || !recv->elements.places.device)
        return tutti_recv_store(recv, data, 0, recv->bytes);
    tutti_fetch_gpus(f);
    f->gpu = f->n > 0 ? f->gpus[0] : -1;
    if (!(recv->assembly = tutti_bounce_take(&tutti_bounce_pinned, -1, recv->bytes)))
        return TUTTI_ERR_MEMORY;
    memcpy(recv->assembly->memory, data, recv->bytes);
    if (f->gpu < 0 || !tutti_fetch_is_direct(f))
        return tutti_recv_store(recv, recv->assembly->memory, 0, recv->bytes);
    if (recv->elements.whole && tutti_fetch_is_near(f) && tutti_endpoint_lands_by_engine(f->worker->endpoint, f->gpu))
        f->engines = 1;
    *job = tutti_elements_job(TUTTI_UNPACK, &recv->elements, 0, recv->bytes, recv->assembly->memory);
    return 1;
}

static enum tutti_reaching landed_look(const struct tutti_p2p_fetch *f, char **data)
{
    const struct tutti_p2p_recv *const recv = f->recv;
    return tutti_endpoint_landing(f->worker->endpoint, recv->rts.rank, f->rndv, recv->rts.sequence, recv->bytes, data);
}

static int landed_fetch(struct tutti_p2p_fetch *f, struct tutti_pack_job *job)
{
    char *data;
    const enum tutti_reaching there = landed_look(f, &data);
    if (there == TUTTI_REACH_LATER)
        return 0;
    f->state = TUTTI_RNDV_LANDING;
    f->recv->landed = 1;
    const int status = there == TUTTI_REACHED ? landed_store(f, data, job) : TUTTI_ERR_ARGUMENT;
    if (status == 1)
        return 1;
    tutti_fetch_end(f, status);
    return -1;
}

/* The GPU may still read the sender's buffer before. */
static int landed_drop(struct tutti_p2p_fetch *f)
{
    char *data;
    return landed_look(f, &data) != TUTTI_REACH_LATER;
}

const struct tutti_protocol_ops tutti_landed_ops = {.reaches = tutti_rndv_reaches,
                                                    .leaves = landed_leaves,
                                                    .can = landed_can,
                                                    .cost = landed_cost,
                                                    .post = landed_post,
                                                    .poll = landed_poll,
                                                    .out = landed_out,
                                                    .cancel = landed_cancel,
                                                    .fetch = landed_fetch,
                                                    .drop = landed_drop,
                                                    .instead = TUTTI_PROTOCOLS};
